package queue_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

func benchEach(b *testing.B, f func(b *testing.B, w world)) {
	b.Run("sqlite", func(b *testing.B) { f(b, open(b, storage.Options{Path: storagetest.SQLiteFile(b)})) })
	b.Run("postgres", func(b *testing.B) { f(b, open(b, storage.Options{DatabaseURL: storagetest.PostgresURL(b)})) })
}

// BenchmarkEnqueueToStart measures from the commit of the unit of work that queues a
// round to the call of the worker, one round at a time.
func BenchmarkEnqueueToStart(b *testing.B) {
	benchEach(b, func(b *testing.B, w world) {
		started := make(chan time.Time, 1)
		q := begin(b, config(b, w.db), do{work: func(_ context.Context, job queue.Job) error {
			started <- time.Now()
			return completed(w.db, job)
		}})
		var all []time.Duration
		for b.Loop() {
			enqueue(b, w.db, q, queue.Round{TaskID: fmt.Sprint(len(all)), Number: 1})
			committed := time.Now()
			all = append(all, await(b, started, "the start").Sub(committed))
		}
		slices.Sort(all)
		b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "ms-median")
		b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "ms-p99")
	})
}

// BenchmarkRounds measures rounds from being queued, one unit of work each, to their
// committed completion.
func BenchmarkRounds(b *testing.B) {
	benchEach(b, func(b *testing.B, w world) {
		var open sync.WaitGroup
		c := config(b, w.db)
		c.Workers = 16
		q := begin(b, c, do{work: func(_ context.Context, job queue.Job) error {
			err := completed(w.db, job)
			if err == nil {
				open.Done()
			}
			return err
		}})
		n := 0
		for b.Loop() {
			open.Add(1)
			n++
			enqueue(b, w.db, q, queue.Round{TaskID: fmt.Sprint(n), Number: 1})
		}
		open.Wait()
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "rounds/s")
	})
}

// BenchmarkEnqueue measures the statement that queues a round, within one unit of
// work.
func BenchmarkEnqueue(b *testing.B) {
	benchEach(b, func(b *testing.B, w world) {
		q, n := create(b, config(b, w.db)), 0
		err := w.db.Write(b.Context(), func(tx access.Tx) error {
			for b.Loop() {
				n++
				if err := q.Enqueue(b.Context(), tx, fmt.Sprint(n), 1); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	})
}
