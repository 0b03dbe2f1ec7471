package queue

import (
	"context"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// orphaned is for how long a job is this node's in the database, but nobody's here,
// before it is given back. River may be about to note its end.
const orphaned = 3 * time.Second

// beat gives signs of life until ctx ends, takes over the jobs of nodes that give
// none, and ends the work on jobs that others took over.
func (q *Queue) beat(ctx context.Context) {
	interval := q.config.Heartbeat
	if q.alone { // nobody listens
		interval = max(interval, q.config.Silence)
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := q.heartbeat(ctx)
		if err == nil {
			last = time.Now()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		silent := time.Since(last)
		q.log.Warn("no sign of life could be given", "node", q.config.Node, "silent", silent, "error", err)
		if silent > q.config.Silence && !q.alone {
			q.lose(func(int64) bool { return true }) // to whoever the database is reachable for
		}
	}
}

// heartbeat gives one sign of life.
func (q *Queue) heartbeat(ctx context.Context) error {
	var held []int64
	var taken int
	before := time.Now()
	if q.alone {
		// The lock on the file is the sign of life.
		err := q.config.Database.Read(ctx, func(tx access.Tx) (err error) {
			held, err = q.config.Store.Held(ctx, tx, q.config.Node)
			return err
		})
		if err != nil {
			return err
		}
		return q.compare(ctx, held, before)
	}
	err := q.config.Database.Write(ctx, func(tx access.Tx) (err error) {
		if _, err := q.config.Store.See(ctx, tx, q.config.Node); err != nil {
			return err
		}
		if taken, err = q.takeOver(ctx, tx, q.config.Silence); err != nil {
			return err
		}
		held, err = q.config.Store.Held(ctx, tx, q.config.Node)
		return err
	})
	if err != nil {
		return err
	}
	if taken > 0 {
		q.log.Warn("took over rounds of nodes that are gone", "rounds", taken)
	}
	return q.compare(ctx, held, before)
}

// takeOver makes the jobs of nodes that are gone available again.
func (q *Queue) takeOver(ctx context.Context, tx access.Tx, silence time.Duration) (rescued int, err error) {
	if err := q.config.Store.Bury(ctx, tx, q.config.Node, silence); err != nil {
		return 0, err
	}
	jobs, err := q.config.Store.Orphans(ctx, tx)
	if err != nil {
		return 0, err
	}
	return q.rescue(ctx, tx, jobs)
}

func (q *Queue) rescue(ctx context.Context, tx access.Tx, jobs []int64) (rescued int, err error) {
	for _, job := range jobs {
		done, err := q.config.Store.Rescue(ctx, tx, job)
		if err != nil {
			return 0, err
		}
		if done {
			rescued++
		}
	}
	if rescued > 0 {
		tx.AfterCommit(q.listening.Wake)
	}
	return rescued, nil
}

// compare compares what the database says this node has with what it has. since is a
// moment before the database was asked.
func (q *Queue) compare(ctx context.Context, inDatabase []int64, since time.Time) error {
	q.lose(func(job int64) bool { return !slices.Contains(inDatabase, job) && q.held[job].since.Before(since) })

	var back []int64
	absent := map[int64]time.Time{}
	q.mu.Lock()
	for _, job := range inDatabase {
		if q.held[job] != nil {
			continue
		}
		first, known := q.absent[job]
		if !known {
			first = since
		}
		if absent[job] = first; since.Sub(first) >= orphaned {
			back = append(back, job)
		}
	}
	q.mu.Unlock()
	q.absent = absent
	if len(back) == 0 {
		return nil
	}
	return q.config.Database.Write(ctx, func(tx access.Tx) error {
		_, err := q.rescue(ctx, tx, back)
		return err
	})
}
