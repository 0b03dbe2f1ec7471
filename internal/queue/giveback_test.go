package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

func TestARoundThatKeepsFailingIsGivenUp(t *testing.T) {
	failures := map[string]func() error{
		"error":   func() error { return errors.New("secret of the cause") },
		"refusal": func() error { return access.Refuse(access.Unavailable, "The provider is down.") },
		"panic":   func() error { panic("secret of the cause") },
	}
	each(t, func(t *testing.T, w world) {
		for name, fail := range failures {
			t.Run(name, func(t *testing.T) {
				storagetest.Exec(t, w.raw, `DELETE FROM river_job`)
				c := config(t, w.db)
				c.Attempts = 3
				attempts, given, n := make(chan int, 100), make(chan error, 100), 0
				q := begin(t, c, do{
					work: func(_ context.Context, job queue.Job) error {
						attempts <- job.Attempt
						return fail()
					},
					giveUp: func(_ context.Context, job queue.Job, last error) error {
						given <- last
						if n++; n == 1 {
							return errors.New("the task could not be ended at first")
						}
						return completed(w.db, job)
					},
				})
				enqueue(t, w.db, q, queue.Round{TaskID: "task", Number: 1})
				for want := 1; want <= 3; want++ {
					if got := await(t, attempts, "an attempt"); got != want {
						t.Errorf("got attempt %d, want %d", got, want)
					}
				}
				for range 2 {
					if last := await(t, given, "giving up"); last == nil {
						t.Error("giving up does not know the last error")
					}
				}
				stop(t, q)
				if got, want := fmt.Sprint(jobs(t, w)), "[completed 4 task/1]"; got != want || len(attempts) > 0 {
					t.Errorf("got jobs %s and %d more attempts, want %s", got, len(attempts), want)
				}
				var kept string
				if err := w.raw.QueryRow(`SELECT CAST(` + errorsText(w) + ` AS TEXT) FROM river_job`).Scan(&kept); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(kept, "secret") || !strings.Contains(kept, "attempt") {
					t.Errorf("the database keeps the errors as %s", kept)
				}
			})
		}
	})
}

// errorsText is the column of errors as text.
func errorsText(w world) string {
	var one int
	if w.raw.QueryRow(`SELECT 1 FROM pg_class LIMIT 1`).Scan(&one) == nil {
		return "errors"
	}
	return "json(errors)"
}

// A round whose worker takes its node down with it never returns an error.
func TestARoundThatKillsItsNodesIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		c := config(t, w.db)
		c.Attempts = 5
		enqueue(t, w.db, create(t, c), queue.Round{TaskID: "task", Number: 1})
		running(t, w, "dead")
		storagetest.Exec(t, w.raw, `UPDATE river_job SET attempt = 5`)
		given := make(chan queue.Job, 1)
		begin(t, c, do{
			work: func(context.Context, queue.Job) error {
				t.Error("it was tried once more")
				return nil
			},
			giveUp: func(_ context.Context, job queue.Job, last error) error {
				if last != nil {
					t.Errorf("got last error %v, want none", last)
				}
				given <- job
				return completed(w.db, job)
			},
		})
		await(t, given, "giving up")
	})
}

func TestLaterCountsAsNoAttempt(t *testing.T) {
	const delay = 700 * time.Millisecond
	each(t, func(t *testing.T, w world) {
		c := config(t, w.db)
		c.Attempts = 1
		type run struct {
			at      time.Time
			attempt int
		}
		runs, n := make(chan run, 10), 0
		q := begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
			runs <- run{time.Now(), job.Attempt}
			if n++; n < 3 {
				return fmt.Errorf("the provider asks for patience: %w", &queue.Later{Delay: delay})
			}
			return completed(w.db, job)
		}})
		enqueue(t, w.db, q, queue.Round{TaskID: "task", Number: 1})
		var all []run
		for range 3 {
			all = append(all, await(t, runs, "a run"))
		}
		for i, r := range all {
			if r.attempt != 1 {
				t.Errorf("run %d: got attempt %d, want 1", i, r.attempt)
			}
			if i > 0 && r.at.Sub(all[i-1].at) < delay {
				t.Errorf("run %d came %v after the one before, want at least %v", i, r.at.Sub(all[i-1].at), delay)
			}
		}
	})
}
