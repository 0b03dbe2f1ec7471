package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// patience is the most a test waits for what must happen.
const patience = 30 * time.Second

// do is a worker made of functions.
type do struct {
	work   func(ctx context.Context, job queue.Job) error
	giveUp func(ctx context.Context, job queue.Job, last error) error
}

func (d do) Work(ctx context.Context, job queue.Job) error { return d.work(ctx, job) }

func (d do) GiveUp(ctx context.Context, job queue.Job, last error) error {
	return d.giveUp(ctx, job, last)
}

// logTo sends the log to the test as long as that runs.
type logTo struct{ t testing.TB }

func (l logTo) Write(p []byte) (int, error) {
	l.t.Log(string(p))
	return len(p), nil
}

// world is a database, and a look at it from beside.
type world struct {
	db  *storage.DB
	raw *sql.DB
}

func each(t *testing.T, f func(t *testing.T, w world)) {
	t.Helper()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) { f(t, open(t, o)) })
}

func open(t testing.TB, o storage.Options) world {
	t.Helper()
	db, err := storage.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return world{db, storagetest.Raw(t, o)}
}

func config(t testing.TB, db *storage.DB) queue.Config {
	return queue.Config{Database: db, Store: storage.Jobs{}, Log: slog.New(slog.NewTextHandler(logTo{t}, nil)), Workers: 8,
		Wait: func(int) time.Duration { return 0 }}
}

// begin starts a queue that is stopped when the test ends.
func begin(t testing.TB, c queue.Config, w queue.Worker) *queue.Queue {
	t.Helper()
	q := create(t, c)
	if err := q.Start(t.Context(), w); err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := q.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return q
}

func create(t testing.TB, c queue.Config) *queue.Queue {
	t.Helper()
	q, err := queue.New(t.Context(), c)
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	return q
}

// enqueue queues rounds in one unit of work.
func enqueue(t testing.TB, db *storage.DB, q *queue.Queue, rounds ...queue.Round) {
	t.Helper()
	err := db.Write(t.Context(), func(tx access.Tx) error {
		for _, r := range rounds {
			if err := q.Enqueue(t.Context(), tx, r.TaskID, r.Number); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("enqueue %v: %v", rounds, err)
	}
}

// completed completes a job in a unit of work of its own.
func completed(db *storage.DB, job queue.Job) error {
	return db.Write(context.Background(), func(tx access.Tx) error { return job.Complete(context.Background(), tx) })
}

// await waits for something on a channel.
func await[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not happen in %v", what, patience)
		panic("unreachable")
	}
}

// jobs lists the jobs in the database as "state attempt task/round", in order.
func jobs(t testing.TB, w world) (all []string) {
	t.Helper()
	rows, err := w.raw.Query(`SELECT state, attempt, args->>'task_id', args->>'number' FROM river_job ORDER BY 3, 4, id`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var state, task, number string
		var attempt int
		if err := rows.Scan(&state, &attempt, &task, &number); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %d %s/%s", state, attempt, task, number))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAJobExistsExactlyIfItsUnitOfWorkCommits(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		db := w.db
		ran := make(chan queue.Job, 10)
		q := begin(t, config(t, db), do{work: func(_ context.Context, job queue.Job) error {
			ran <- job
			return completed(db, job)
		}})
		wrong := errors.New("wrong")
		err := db.Write(t.Context(), func(tx access.Tx) error {
			if err := q.Enqueue(t.Context(), tx, "lost", 1); err != nil {
				return err
			}
			return wrong
		})
		if !errors.Is(err, wrong) {
			t.Fatalf("got error %v", err)
		}
		enqueue(t, db, q, queue.Round{TaskID: "kept", Number: 1})
		got := await(t, ran, "the job")
		if got.Round != (queue.Round{TaskID: "kept", Number: 1}) || got.Attempt != 1 || got.Node != q.Node() {
			t.Errorf("got job %+v", got)
		}
		select {
		case extra := <-ran:
			t.Errorf("a job of a unit of work that was rolled back ran: %+v", extra)
		case <-time.After(1500 * time.Millisecond): // longer than the queue goes without looking
		}
	})
}

func TestARoundIsQueuedOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		db := w.db
		q := create(t, config(t, db))
		r := queue.Round{TaskID: "task", Number: 1}
		enqueue(t, db, q, r, r)
		enqueue(t, db, q, r, queue.Round{TaskID: "task", Number: 2})
		if got, want := fmt.Sprint(jobs(t, w)), "[available 0 task/1 available 0 task/2]"; got != want {
			t.Errorf("got jobs %s, want %s", got, want)
		}
	})
}

func TestARoundThatIsOverCanBeQueuedAgain(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		db := w.db
		ran := make(chan int, 10)
		var q *queue.Queue
		again := true
		q = begin(t, config(t, db), do{work: func(ctx context.Context, job queue.Job) error {
			err := db.Write(ctx, func(tx access.Tx) error {
				if err := job.Complete(ctx, tx); err != nil || !again {
					return err
				}
				return q.Enqueue(ctx, tx, job.TaskID, job.Number)
			})
			again = false
			ran <- job.Attempt
			return err
		}})
		enqueue(t, db, q, queue.Round{TaskID: "task", Number: 1})
		for range 2 {
			if attempt := await(t, ran, "a run"); attempt != 1 {
				t.Errorf("got attempt %d, want 1", attempt)
			}
		}
	})
}

func TestCompletionIsPartOfTheUnitOfWork(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		db := w.db
		ran := make(chan int, 10)
		wrong := errors.New("wrong")
		q := begin(t, config(t, db), do{work: func(ctx context.Context, job queue.Job) error {
			err := db.Write(ctx, func(tx access.Tx) error {
				err := job.Complete(ctx, tx)
				if err == nil && job.Attempt == 1 {
					err = wrong
				}
				return err
			})
			ran <- job.Attempt
			return err
		}})
		enqueue(t, db, q, queue.Round{TaskID: "task", Number: 1})
		for _, want := range []int{1, 2} {
			if got := await(t, ran, "an attempt"); got != want {
				t.Errorf("got attempt %d, want %d", got, want)
			}
		}
	})
}
