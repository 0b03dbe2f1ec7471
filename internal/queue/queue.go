package queue

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Round names the work of one job: a round of a task. It is the job's whole
// content; everything else is read from the database when the job runs.
type Round struct {
	TaskID string `json:"task_id"`
	Number int64  `json:"number"`
}

// Job is a round that a worker was given.
type Job struct {
	Round
	Node string // that runs it
	// Complete marks the job as done in tx, which commits the round. It fails if the
	// job was taken away meanwhile, and so must the unit of work.
	Complete func(ctx context.Context, tx access.Tx) error
}

// Worker takes rounds. Work returns nil when it completed the job, or found that
// nothing is left to do; the job is then over. An error gives the job back: after
// its delay for a *Later, at once where the queue is stopping, and with a delay that
// grows for any other.
type Worker interface {
	Work(ctx context.Context, job Job) error
}

// Giving a job back.
type (
	// Later gives the job back until its delay has passed. It is no failure.
	Later struct{ Delay time.Duration }
)

func (l *Later) Error() string { return "later: " + l.Delay.String() }
