package queue

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Round names the work of one job: a round of a task. It is the job's whole
// content; everything else is read from the database when the job runs.
type Round struct {
	TaskID string `json:"task_id"`
	Number int64  `json:"number"`
}

// Kind is what the database calls these jobs.
func (Round) Kind() string { return "round" }

// Job is a round that a worker was given.
type Job struct {
	Round
	Node    string // that runs it
	Attempt int    // 1 for the first; one that was given back unharmed is not counted
	// Complete marks the job as done in tx, which commits the round. It fails with
	// ErrLost if the job was taken away meanwhile, and so must the unit of work.
	Complete func(ctx context.Context, tx access.Tx) error
}

// ErrLost says that a job does not belong to its worker any more: its node was
// silent for so long that another one has the round.
var ErrLost = access.Refuse(access.Unavailable, "Another server has taken this round over.")

// Worker takes rounds. Its context ends when the queue stops, when the job was lost
// (its cause is then ErrLost), or after Config.RoundTime.
type Worker interface {
	// Work works on a round. It returns nil when it completed the job, or found that
	// nothing is left to do; the job is then over. An error gives the job back: after
	// its delay for a *Later, at once where the queue is stopping or the job was
	// lost, and otherwise after a delay that grows with the attempts.
	Work(ctx context.Context, job Job) error
	// GiveUp is called instead of Work once Config.Attempts attempts have failed; an
	// attempt whose node died counts. It ends the task with a reason, and completes
	// the job. last is what the last attempt returned, nil if that is not known. An
	// error gives the job back, and GiveUp is called again, a bounded number of times.
	GiveUp(ctx context.Context, job Job, last error) error
}

// Later gives a job back until its delay has passed. It counts as no attempt.
type Later struct{ Delay time.Duration }

func (l *Later) Error() string { return "later: " + l.Delay.String() }

// Database is what the queue asks of the database itself.
type Database interface {
	access.Work
	// WithSQLTx runs f with the transaction of tx as database/sql knows one.
	WithSQLTx(tx access.Tx, f func(*sql.Tx) error) error
	// EnginePools are the connections for River's own statements. A nil listener
	// says that this process is the only one, on SQLite.
	EnginePools(ctx context.Context) (pool *sql.DB, listener *pgxpool.Pool, err error)
}

// Store keeps nodes and looks at jobs. All times are the database's.
type Store interface {
	See(ctx context.Context, tx access.Tx, node string) (known bool, err error)
	Bury(ctx context.Context, tx access.Tx, node string, silence time.Duration) error
	Leave(ctx context.Context, tx access.Tx, node string) error
	Orphans(ctx context.Context, tx access.Tx) ([]int64, error)
	Held(ctx context.Context, tx access.Tx, node string) ([]int64, error)
	Hold(ctx context.Context, tx access.Tx, job int64, attempt int, node string) (bool, error)
	Rescue(ctx context.Context, tx access.Tx, job int64) (bool, error)
	OpenRounds(ctx context.Context, tx access.Tx, f func(taskID string, round int64)) error
}

// Config is what a queue is made of. Zero figures take the defaults.
type Config struct {
	Database Database
	Store    Store
	Log      *slog.Logger

	Node      string        // unique among running nodes; by default made up
	Workers   int           // rounds at a time; default 16
	Attempts  int           // of a round, before it is given up; default 20
	RoundTime time.Duration // most that one attempt may take; default 1 h
	Heartbeat time.Duration // between signs of life; default 2 s
	Silence   time.Duration // after which a node is taken for dead; default 10 s
	// Wait is the delay after a failed attempt, the number of which it is given.
	// By default it doubles from 1 s to 1 minute.
	Wait func(attempt int) time.Duration
}

const (
	queueName = "rounds"

	// mercy is how many attempts a job has beyond those of Config, in which GiveUp
	// is called.
	mercy = 20

	// poll is how often the queue looks for jobs that nobody woke it up for: those
	// whose delay has passed, and those of other nodes.
	poll = time.Second

	// keepFinished is how long River keeps jobs that are over.
	keepFinished = time.Minute
)

// Queue brings rounds to workers. It is a workspace.Queue.
type Queue struct {
	config    Config
	log       *slog.Logger
	client    *river.Client[*sql.Tx]
	alone     bool // no other process uses the database
	listening *listener
	worker    Worker

	mu     sync.Mutex
	held   map[int64]*held     // by job; guarded by mu
	closed map[int64]struct{}  // jobs whose completion is committed, but River does not know; guarded by mu
	absent map[int64]time.Time // jobs that should be held, and since when they are not; only used by the heartbeat

	end     context.CancelFunc // of the heartbeat
	beating sync.WaitGroup
}

// held is a job that this node has.
type held struct {
	q      *Queue
	since  time.Time
	cancel context.CancelCauseFunc // nil until the work begins; guarded by q.mu
}

var _ workspace.Queue = (*Queue)(nil)

// New makes a queue, which can enqueue at once and works after Start.
func New(ctx context.Context, c Config) (*Queue, error) {
	c.Node = cmp.Or(c.Node, "node-"+strings.ToLower(rand.Text()))
	c.Workers = cmp.Or(c.Workers, 16)
	c.Attempts = cmp.Or(c.Attempts, 20)
	c.RoundTime = cmp.Or(c.RoundTime, time.Hour)
	c.Heartbeat = cmp.Or(c.Heartbeat, 2*time.Second)
	c.Silence = cmp.Or(c.Silence, 10*time.Second)
	if c.Wait == nil {
		c.Wait = func(attempt int) time.Duration { return min(time.Second<<min(attempt-1, 6), time.Minute) }
	}
	q := &Queue{config: c, log: c.Log, held: map[int64]*held{}, closed: map[int64]struct{}{}, absent: map[int64]time.Time{}}
	pool, listener, err := c.Database.EnginePools(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the connections of the queue: %w", err)
	}
	q.alone = listener == nil
	q.listening = newListener()
	var driver riverdriver.Driver[*sql.Tx] = riversqlite.New(pool)
	if !q.alone {
		driver = riverdatabasesql.NewWithPgxListener(pool, listener)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &rounds{q: q})
	q.client, err = river.NewClient[*sql.Tx](&engine{driver, q}, &river.Config{
		ID:      c.Node,
		Queues:  map[string]river.QueueConfig{queueName: {MaxWorkers: c.Workers}},
		Workers: workers,
		Logger:  slog.New(quiet{c.Log.Handler()}),

		// The cooldown of a queue alone would leave the client's in force for
		// notifications, which would be lost (100 ms).
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: poll,

		MaxAttempts: c.Attempts + mercy,
		JobTimeout:  c.RoundTime,
		// By age River takes a job away from a worker that may be alive. Dead nodes are
		// found by their silence instead.
		RescueStuckJobsAfter: c.RoundTime + 24*time.Hour,
		RetryPolicy:          retries(c.Wait),

		CancelledJobRetentionPeriod: keepFinished,
		CompletedJobRetentionPeriod: keepFinished,
		DiscardedJobRetentionPeriod: 24 * time.Hour,
	})
	if err != nil {
		return nil, fmt.Errorf("make the queue's engine: %w", err)
	}
	return q, nil
}

// Node is the name under which this queue works.
func (q *Queue) Node() string { return q.config.Node }

// alive are the states in which a job keeps others of its round out. One that is
// over does not: a round can be queued again, as when a person lets a task go on.
var alive = river.UniqueOpts{ByArgs: true, ByState: []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable, rivertype.JobStateRunning, rivertype.JobStateScheduled,
}}

// Enqueue implements workspace.Queue. Where the round has a job already, that is not
// over, it adds none: in the unit of work that completes a job, Complete comes first.
func (q *Queue) Enqueue(ctx context.Context, tx access.Tx, taskID string, round int64) error {
	if taskID == "" || round < 1 {
		return fmt.Errorf("a job needs a task and a round, not %q and %d", taskID, round)
	}
	err := q.config.Database.WithSQLTx(tx, func(sqlTx *sql.Tx) error {
		_, err := q.client.InsertTx(context.WithoutCancel(ctx), sqlTx, Round{taskID, round}, &river.InsertOpts{Queue: queueName, UniqueOpts: alive})
		return err
	})
	if err != nil {
		return fmt.Errorf("queue round %d of task %s: %w", round, taskID, err)
	}
	tx.AfterCommit(q.listening.Wake)
	return nil
}

// Start begins to work. Where this process is the only one, or nodes have died,
// their jobs are taken over; open rounds without a job, as after a restore, get one.
func (q *Queue) Start(ctx context.Context, w Worker) error {
	if w == nil {
		return errors.New("a queue needs a worker")
	}
	q.worker = w
	silence := q.config.Silence
	if q.alone {
		silence = 0
	}
	err := q.config.Database.Write(ctx, func(tx access.Tx) error {
		if _, err := q.config.Store.See(ctx, tx, q.config.Node); err != nil {
			return err
		}
		if _, err := q.takeOver(ctx, tx, silence); err != nil {
			return err
		}
		return q.enqueueOpen(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("register this node: %w", err)
	}
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start the queue: %w", err)
	}
	beat, end := context.WithCancel(context.WithoutCancel(ctx))
	q.end = end
	q.beating.Go(func() { q.beat(beat) })
	return nil
}

func (q *Queue) enqueueOpen(ctx context.Context, tx access.Tx) error {
	var open []Round
	err := q.config.Store.OpenRounds(ctx, tx, func(taskID string, round int64) { open = append(open, Round{taskID, round}) })
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := q.Enqueue(ctx, tx, r.TaskID, r.Number); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends the work: the contexts of running jobs end, and those jobs are available
// again at once, for other nodes or after the next Start. If ctx ends first, Stop
// returns its error and leaves the jobs that still run to be taken over.
func (q *Queue) Stop(ctx context.Context) error {
	if q.end == nil { // never started
		return nil
	}
	err := q.client.StopAndCancel(ctx)
	if err != nil {
		err = fmt.Errorf("stop the queue: %w", err)
	}
	q.end()
	q.beating.Wait()
	left := q.config.Database.Write(context.WithoutCancel(ctx), func(tx access.Tx) error {
		return q.config.Store.Leave(ctx, tx, q.config.Node)
	})
	return errors.Join(err, left)
}

// retries is river.ClientRetryPolicy.
type retries func(attempt int) time.Duration

func (r retries) NextRetry(job *rivertype.JobRow) time.Time {
	return time.Now().Add(r(job.Attempt))
}

// quiet lets River log what an operator must know: not the course of its business.
type quiet struct{ slog.Handler }

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && q.Handler.Enabled(ctx, level)
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
