package queue

import (
	"context"
	"database/sql"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"
)

// engine is River's driver for the database, with what the queue knows better.
type engine struct {
	riverdriver.Driver[*sql.Tx]
	q *Queue
}

// GetExecutor runs River's own statements.
func (e *engine) GetExecutor() riverdriver.Executor { return executor{e.Driver.GetExecutor(), e.q} }

// GetListener is the ear of this process.
func (e *engine) GetListener(params *riverdriver.GetListenenerParams) riverdriver.Listener {
	if e.q.alone {
		return silent{e.q.listening}
	}
	e.q.listening.Listener = e.Driver.GetListener(params)
	return e.q.listening
}

// SupportsListener is true: River need not look twenty times a second.
func (e *engine) SupportsListener() bool { return true }

// SupportsListenNotify is false on SQLite, where a notification would be a row.
func (e *engine) SupportsListenNotify() bool { return !e.q.alone && e.Driver.SupportsListenNotify() }

// executor runs River's statements outside of units of work.
type executor struct {
	riverdriver.Executor
	q *Queue
}

// JobGetAvailable takes jobs for this node, and notes that it has them.
func (e executor) JobGetAvailable(ctx context.Context, params *riverdriver.JobGetAvailableParams) (*riverdriver.JobGetAvailableResult, error) {
	result, err := e.Executor.JobGetAvailable(ctx, params)
	if err != nil {
		return nil, err
	}
	for _, job := range result.Jobs {
		if result.DecodeErrors[job.ID] == nil {
			e.q.take(job.ID)
		}
	}
	return result, nil
}

// JobSetStateIfRunningMany notes how jobs ended. Those that were completed in a unit
// of work have ended already.
func (e executor) JobSetStateIfRunningMany(ctx context.Context, params *riverdriver.JobSetStateIfRunningManyParams) ([]*rivertype.JobRow, error) {
	rest := e.q.notClosed(params)
	if len(rest.ID) > 0 {
		rows, err := e.Executor.JobSetStateIfRunningMany(ctx, rest)
		if err != nil {
			return nil, err
		}
		e.q.forget(params.ID)
		return rows, nil
	}
	e.q.forget(params.ID)
	return nil, nil
}

// LeaderAttemptReelect keeps who leads River's upkeep. Where no other process uses
// the database nobody else can: that is no reason to write to it every five seconds.
func (e executor) LeaderAttemptReelect(ctx context.Context, params *riverdriver.LeaderReelectParams) (*riverdriver.Leader, error) {
	if !e.q.alone {
		return e.Executor.LeaderAttemptReelect(ctx, params)
	}
	return &riverdriver.Leader{ElectedAt: params.ElectedAt, ExpiresAt: time.Now().Add(params.TTL), LeaderID: params.LeaderID}, nil
}

// notClosed is params without the jobs that were completed in a unit of work.
func (q *Queue) notClosed(params *riverdriver.JobSetStateIfRunningManyParams) *riverdriver.JobSetStateIfRunningManyParams {
	q.mu.Lock()
	defer q.mu.Unlock()
	rest := &riverdriver.JobSetStateIfRunningManyParams{Now: params.Now, Schema: params.Schema}
	for i, id := range params.ID {
		if _, closed := q.closed[id]; closed {
			continue
		}
		rest.ID = append(rest.ID, id)
		rest.Attempt = append(rest.Attempt, params.Attempt[i])
		rest.ErrData = append(rest.ErrData, params.ErrData[i])
		rest.FinalizedAt = append(rest.FinalizedAt, params.FinalizedAt[i])
		rest.MetadataDoMerge = append(rest.MetadataDoMerge, params.MetadataDoMerge[i])
		rest.MetadataUpdates = append(rest.MetadataUpdates, params.MetadataUpdates[i])
		rest.ScheduledAt = append(rest.ScheduledAt, params.ScheduledAt[i])
		rest.State = append(rest.State, params.State[i])
	}
	return rest
}

// forget ends what is known about completed jobs.
func (q *Queue) forget(jobs []int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range jobs {
		delete(q.closed, id)
	}
}
