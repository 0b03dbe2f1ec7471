package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"

	"github.com/osfoundry/osfoundry/internal/access"
)

// rounds is River's worker.
type rounds struct {
	river.WorkerDefaults[Round]
	q *Queue
}

// Work gives a job to the worker of the queue.
func (r *rounds) Work(ctx context.Context, job *river.Job[Round]) error {
	q := r.q
	mine, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.take(job.ID).cancelWith(cancel)
	defer q.release(job.ID)
	err := q.run(mine, ctx, job)
	return q.judge(mine, ctx, job, err)
}

// run calls the worker. engine is the context that River gave.
func (q *Queue) run(ctx, engine context.Context, job *river.Job[Round]) error {
	given := Job{Round: job.Args, Node: q.config.Node, Attempt: job.Attempt, Complete: func(ctx context.Context, tx access.Tx) error {
		return q.complete(ctx, tx, engine, job)
	}}
	giveUp := func(last error) error {
		return caught(func() error { return q.worker.GiveUp(ctx, given, last) })
	}
	if job.Attempt > q.config.Attempts {
		return giveUp(lastError(job))
	}
	err := caught(func() error { return q.worker.Work(ctx, given) })
	if err == nil || job.Attempt < q.config.Attempts || unharmed(ctx, engine, err) || q.isClosed(job.ID) {
		return err
	}
	q.log.Error("a round failed for the last time", "task_id", job.Args.TaskID, "round", job.Args.Number, "attempt", job.Attempt, "error", err)
	return giveUp(err)
}

// caught is f whose panics are errors.
func caught(f func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return f()
}

// unharmed reports whether a job that was given back with err is not to blame.
func unharmed(ctx, engine context.Context, err error) bool {
	_, later := errors.AsType[*Later](err)
	return later || stopping(engine) || lost(ctx, err)
}

// stopping reports whether River ended the context that it gave, other than because
// the round took too long.
func stopping(engine context.Context) bool { return errors.Is(engine.Err(), context.Canceled) }

// lost reports whether the job was taken away.
func lost(ctx context.Context, err error) bool {
	return errors.Is(context.Cause(ctx), ErrLost) || errors.Is(err, ErrLost)
}

// judge tells River what becomes of the job. It keeps the text of an error to
// itself, because River keeps what it is told in the database.
func (q *Queue) judge(ctx, engine context.Context, job *river.Job[Round], err error) error {
	if err == nil || q.isClosed(job.ID) {
		return nil
	}
	if later, ok := errors.AsType[*Later](err); ok {
		q.wakeIn(later.Delay)
		return river.JobSnooze(max(0, later.Delay))
	}
	if stopping(engine) {
		return context.Canceled // River makes it available again at once, and counts no attempt
	}
	if lost(ctx, err) {
		return river.JobSnooze(0) // meant for the case that nobody else took it
	}
	wait := q.config.Wait(job.Attempt)
	q.log.Warn("a round failed and will be tried again", "task_id", job.Args.TaskID, "round", job.Args.Number,
		"attempt", job.Attempt, "wait", wait, "error", err)
	q.wakeIn(wait)
	return errors.New(public(err))
}

// public is what may be kept of an error.
func public(err error) string {
	if refusal, ok := errors.AsType[*access.Error](err); ok {
		return refusal.Message
	}
	return "unexpected error"
}

// lastError is what River kept of the last attempt.
func lastError(job *river.Job[Round]) error {
	if len(job.Errors) == 0 {
		return nil
	}
	return errors.New(job.Errors[len(job.Errors)-1].Error)
}

// complete is Job.Complete. engine is the context in which River finds itself.
func (q *Queue) complete(ctx context.Context, tx access.Tx, engine context.Context, job *river.Job[Round]) error {
	mine, err := q.config.Store.Hold(ctx, tx, job.ID, job.Attempt, q.config.Node)
	if err != nil {
		return err
	}
	if !mine {
		return ErrLost
	}
	err = q.config.Database.WithSQLTx(tx, func(sqlTx *sql.Tx) error {
		_, err := river.JobCompleteTx[riverdriver.Driver[*sql.Tx]](context.WithoutCancel(engine), sqlTx, job)
		return err
	})
	if err != nil {
		return fmt.Errorf("complete round %d of task %s: %w", job.Args.Number, job.Args.TaskID, err)
	}
	tx.AfterCommit(func() { q.close(job.ID) })
	return nil
}

// wakeIn looks for jobs when a delay has passed, and River has noted it: it does so
// every quarter of a second.
func (q *Queue) wakeIn(delay time.Duration) {
	time.AfterFunc(delay+300*time.Millisecond, q.listening.Wake)
}

// take notes that this node has a job.
func (q *Queue) take(job int64) *held {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.held[job] == nil {
		q.held[job] = &held{q: q, since: time.Now()}
	}
	return q.held[job]
}

// cancelWith says how to end the work on the job.
func (h *held) cancelWith(cancel context.CancelCauseFunc) {
	h.q.mu.Lock()
	defer h.q.mu.Unlock()
	h.cancel = cancel
}

func (q *Queue) release(job int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.held, job)
}

// close notes that the completion of a job is durable.
func (q *Queue) close(job int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed[job] = struct{}{}
}

func (q *Queue) isClosed(job int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, closed := q.closed[job]
	return closed
}

// lose ends the work on jobs that belong to somebody else now.
func (q *Queue) lose(taken func(job int64) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, h := range q.held {
		if _, closed := q.closed[id]; closed || h.cancel == nil || !taken(id) {
			continue
		}
		q.log.Warn("lost a round", slog.Int64("job", id))
		h.cancel(ErrLost)
	}
}
