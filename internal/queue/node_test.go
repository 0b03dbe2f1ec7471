package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// record completes a job together with a row that says who did it.
func record(db *storage.DB, job queue.Job) error {
	ctx := context.Background()
	return db.Write(ctx, func(tx access.Tx) error {
		err := db.WithSQLTx(tx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO done (task, node) VALUES ($1, $2)`, job.TaskID, job.Node)
			return err
		})
		if err != nil {
			return err
		}
		return job.Complete(ctx, tx)
	})
}

// records counts the rows of record, and the tasks that they name.
func records(t testing.TB, w world) (rows, tasks int) {
	t.Helper()
	if err := w.raw.QueryRow(`SELECT COUNT(*), COUNT(DISTINCT task) FROM done`).Scan(&rows, &tasks); err != nil {
		t.Fatal(err)
	}
	return rows, tasks
}

func withRecords(t testing.TB, w world) world {
	t.Helper()
	storagetest.Exec(t, w.raw, `CREATE TABLE done (task TEXT NOT NULL, node TEXT NOT NULL)`)
	return w
}

// nodes opens one PostgreSQL database as several processes would.
func nodes(t testing.TB, n int) (all []world) {
	t.Helper()
	o := storage.Options{DatabaseURL: storagetest.PostgresURL(t)}
	for range n {
		all = append(all, open(t, o))
	}
	withRecords(t, all[0])
	return all
}

// TestEachRoundIsCompletedOnce lets three nodes work off 2,000 rounds, while rounds
// are taken from live workers at random as if those were dead.
func TestEachRoundIsCompletedOnce(t *testing.T) {
	const rounds = 2000
	all := nodes(t, 3)
	var lost, tries atomic.Int64
	done := make(chan string, 2*rounds)
	work := func(w world) do {
		return do{
			work: func(ctx context.Context, job queue.Job) error {
				tries.Add(1)
				err := record(w.db, job)
				switch {
				case err == nil:
					done <- job.TaskID
				case errors.Is(err, queue.ErrLost):
					lost.Add(1)
				}
				if rand.N(10) == 0 {
					return nil // although it may be lost
				}
				return err
			},
			giveUp: func(context.Context, queue.Job, error) error { return errors.New("never in this test") },
		}
	}
	var first *queue.Queue
	for _, w := range all {
		c := config(t, w.db)
		c.Attempts = 1000
		q := begin(t, c, work(w))
		if first == nil {
			first = q
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var thief sync.WaitGroup
	thief.Go(func() { steal(ctx, t, all[0]) })
	for i := range rounds / 100 {
		var some []queue.Round
		for j := range 100 {
			some = append(some, queue.Round{TaskID: fmt.Sprint(i*100 + j), Number: 1})
		}
		enqueue(t, all[0].db, first, some...)
	}
	for range rounds {
		await(t, done, "the completion of all rounds")
	}
	cancel()
	thief.Wait()
	if rows, tasks := records(t, all[0]); rows != rounds || tasks != rounds {
		t.Errorf("got %d completions of %d rounds, want %d of each", rows, tasks, rounds)
	}
	if lost.Load() == 0 {
		t.Error("no worker lost its round: this test has shown nothing")
	}
	t.Logf("%d rounds in %d attempts, %d of them lost", rounds, tries.Load(), lost.Load())
}

// runningJobs lists the running jobs.
func runningJobs(db *storage.DB, tx access.Tx) (all []int64, err error) {
	err = db.WithSQLTx(tx, func(tx *sql.Tx) error {
		rows, err := tx.Query(`SELECT id FROM river_job WHERE state = 'running'`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			all = append(all, id)
		}
		return rows.Err()
	})
	return all, err
}

// steal takes running jobs away from their workers until ctx ends.
func steal(ctx context.Context, t testing.TB, w world) {
	for ctx.Err() == nil {
		err := w.db.Write(ctx, func(tx access.Tx) error {
			running, err := runningJobs(w.db, tx)
			if err != nil || len(running) == 0 {
				return err
			}
			_, err = storage.Jobs{}.Rescue(ctx, tx, running[rand.N(len(running))])
			return err
		})
		if err != nil && ctx.Err() == nil {
			t.Errorf("steal: %v", err)
		}
	}
}

// TestADeadNodeLosesItsRounds lets a node fall silent with a round in its hands. It
// wakes up while another one works on the round, and must neither commit it nor
// disturb the other, whatever it returns.
func TestADeadNodeLosesItsRounds(t *testing.T) {
	for _, returned := range []error{nil, errors.New("wrong"), &queue.Later{Delay: time.Hour}} {
		t.Run(fmt.Sprint(returned), func(t *testing.T) {
			all := nodes(t, 2)
			has, wake, late := make(chan queue.Job, 1), make(chan struct{}), make(chan error, 1)
			c := config(t, all[0].db)
			c.Heartbeat = time.Hour // it never says that it lives
			c.Workers = 1           // and has its hands full
			dead := begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
				has <- job
				<-wake
				late <- record(all[0].db, job)
				return returned
			}})
			enqueue(t, all[0].db, dead, queue.Round{TaskID: "task", Number: 1})
			await(t, has, "the first run")

			c = config(t, all[1].db)
			c.Heartbeat, c.Silence = 50*time.Millisecond, 500*time.Millisecond
			taken, goOn, over := make(chan queue.Job, 1), make(chan struct{}), make(chan error, 1)
			begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
				taken <- job
				<-goOn
				err := record(all[1].db, job)
				over <- err
				return err
			}})
			job := await(t, taken, "the take-over")
			if job.Attempt != 2 || job.TaskID != "task" {
				t.Errorf("got job %+v, want the second attempt of the task", job)
			}
			close(wake)
			if err := await(t, late, "the late waker's try"); !errors.Is(err, queue.ErrLost) {
				t.Errorf("the late waker's unit of work: got error %v, want %v", err, queue.ErrLost)
			}
			stop(t, dead) // and River has noted what it wanted to note
			close(goOn)
			if err := await(t, over, "the other's completion"); err != nil {
				t.Errorf("the node that took over could not complete the round: %v", err)
			}
			if rows, _ := records(t, all[0]); rows != 1 {
				t.Errorf("got %d completions, want 1", rows)
			}
			if got, want := fmt.Sprint(jobs(t, all[0])), "[completed 2 task/1]"; got != want {
				t.Errorf("got jobs %s, want %s", got, want)
			}
		})
	}
}

func stop(t testing.TB, q *queue.Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func TestAWorkerIsToldThatItLostItsRound(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		c := config(t, w.db)
		c.Heartbeat, c.Silence = 20*time.Millisecond, 20*time.Millisecond
		attempts := make(chan int, 10)
		causes := make(chan error, 10)
		q := begin(t, c, do{work: func(ctx context.Context, job queue.Job) error {
			attempts <- job.Attempt
			if job.Attempt > 1 {
				return completed(w.db, job)
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}})
		enqueue(t, w.db, q, queue.Round{TaskID: "task", Number: 1})
		await(t, attempts, "the first run")
		err := w.db.Write(t.Context(), func(tx access.Tx) error {
			running, err := runningJobs(w.db, tx)
			if err != nil || len(running) != 1 {
				return fmt.Errorf("got running jobs %v, %w", running, err)
			}
			_, err = storage.Jobs{}.Rescue(t.Context(), tx, running[0])
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := await(t, causes, "the end of the context"); !errors.Is(err, queue.ErrLost) {
			t.Errorf("got cause %v, want %v", err, queue.ErrLost)
		}
		if got := await(t, attempts, "the second run"); got != 2 {
			t.Errorf("got attempt %d, want 2", got)
		}
	})
}

// cut is a database that can be out of reach.
type cut struct {
	*storage.DB
	off atomic.Bool
}

func (c *cut) Write(ctx context.Context, f func(access.Tx) error) error {
	if c.off.Load() {
		return access.Refuse(access.Unavailable, "cut off")
	}
	return c.DB.Write(ctx, f)
}

func TestANodeThatIsCutOffStopsItsWorkers(t *testing.T) {
	w := nodes(t, 1)[0]
	db := &cut{DB: w.db}
	c := config(t, w.db)
	c.Database, c.Heartbeat, c.Silence = db, 20*time.Millisecond, 200*time.Millisecond
	has, causes := make(chan queue.Job, 10), make(chan error, 10)
	q := begin(t, c, do{work: func(ctx context.Context, job queue.Job) error {
		has <- job
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}})
	enqueue(t, w.db, q, queue.Round{TaskID: "task", Number: 1})
	await(t, has, "the run")
	db.off.Store(true)
	if err := await(t, causes, "the end of the context"); !errors.Is(err, queue.ErrLost) {
		t.Errorf("got cause %v, want %v", err, queue.ErrLost)
	}
	db.off.Store(false)
	if again := await(t, has, "the next run"); again.Attempt != 1 {
		t.Errorf("got attempt %d, want 1: nobody else took the round", again.Attempt)
	}
}

// running makes the only job one that runs on a node.
func running(t testing.TB, w world, node string) {
	t.Helper()
	by := `jsonb('["` + node + `"]')`
	var one int
	if w.raw.QueryRow(`SELECT 1 FROM pg_class LIMIT 1`).Scan(&one) == nil {
		by = `'{` + node + `}'`
	}
	storagetest.Exec(t, w.raw, `UPDATE river_job SET state = 'running', attempt = 1, attempted_at = created_at, attempted_by = `+by)
}

func TestRoundsOfDeadProcessesRunAtTheNextStart(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		c := config(t, w.db)
		enqueue(t, w.db, create(t, c), queue.Round{TaskID: "task", Number: 1})
		running(t, w, "dead")
		ran := make(chan int, 1)
		begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
			ran <- job.Attempt
			return completed(w.db, job)
		}})
		if got := await(t, ran, "the run"); got != 2 {
			t.Errorf("got attempt %d, want 2", got)
		}
	})
}

// A job that this node has according to the database, but not according to itself,
// was forgotten when the database was away.
func TestAForgottenRoundRunsAgain(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		c := config(t, w.db)
		c.Heartbeat, c.Silence, c.Node = 20*time.Millisecond, 20*time.Millisecond, "me"
		enqueue(t, w.db, create(t, c), queue.Round{TaskID: "task", Number: 1})
		running(t, w, "me")
		ran := make(chan int, 1)
		begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
			ran <- job.Attempt
			return completed(w.db, job)
		}})
		if got := await(t, ran, "the run"); got != 2 {
			t.Errorf("got attempt %d, want 2", got)
		}
	})
}

func TestStopGivesRoundsBack(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		has := make(chan queue.Job, 1)
		c := config(t, w.db)
		c.Attempts = 1 // which being stopped does not use up
		q := create(t, c)
		err := q.Start(t.Context(), do{work: func(ctx context.Context, job queue.Job) error {
			has <- job
			<-ctx.Done()
			return fmt.Errorf("ask the model: %w", errors.New("its answer was cut off"))
		}})
		if err != nil {
			t.Fatal(err)
		}
		enqueue(t, w.db, q, queue.Round{TaskID: "task", Number: 1})
		await(t, has, "the run")
		stop(t, q)
		if got, want := fmt.Sprint(jobs(t, w)), "[available 0 task/1]"; got != want {
			t.Errorf("got jobs %s, want %s", got, want)
		}
		begin(t, config(t, w.db), do{work: func(_ context.Context, job queue.Job) error {
			has <- job
			return completed(w.db, job)
		}})
		if got := await(t, has, "the run after the restart"); got.Attempt != 1 {
			t.Errorf("got attempt %d, want 1", got.Attempt)
		}
	})
}

func TestStopWaitsNoLongerThanItsContext(t *testing.T) {
	w := nodes(t, 1)[0]
	has, end := make(chan queue.Job, 1), make(chan struct{})
	q := create(t, config(t, w.db))
	err := q.Start(t.Context(), do{work: func(_ context.Context, job queue.Job) error {
		has <- job
		<-end // deaf
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, w.db, q, queue.Round{TaskID: "task", Number: 1})
	await(t, has, "the run")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := q.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop with a deaf worker: got error %v", err)
	}
	// The node is gone, so whoever is left takes the round at the next heartbeat.
	c := config(t, w.db)
	c.Heartbeat = 20 * time.Millisecond
	taken := make(chan int, 1)
	begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
		taken <- job.Attempt
		return completed(w.db, job)
	}})
	if got := await(t, taken, "the take-over"); got != 2 {
		t.Errorf("got attempt %d, want 2", got)
	}
	close(end)
}
