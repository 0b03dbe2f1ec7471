package queue_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// TestRoundsOutliveTheDatabase crashes PostgreSQL while workers have rounds in hand.
// Once it is back, those and new ones are completed once each.
func TestRoundsOutliveTheDatabase(t *testing.T) {
	const inHand, after = 8, 8
	server := storagetest.NewServer(t)
	w := withRecords(t, open(t, storage.Options{DatabaseURL: server.Create(t)}))
	c := config(t, w.db)
	c.Workers, c.Heartbeat, c.Silence = inHand, 200*time.Millisecond, 2*time.Second
	has, goOn, done := make(chan queue.Job, 1000), make(chan struct{}), make(chan string, 1000)
	q := begin(t, c, do{work: func(_ context.Context, job queue.Job) error {
		has <- job
		<-goOn
		err := record(w.db, job)
		if err == nil {
			done <- job.TaskID
		}
		return err
	}})
	var some []queue.Round
	for i := range inHand {
		some = append(some, queue.Round{TaskID: fmt.Sprint("in hand ", i), Number: 1})
	}
	enqueue(t, w.db, q, some...)
	for range inHand {
		await(t, has, "the start of a round")
	}
	server.Stop(t, syscall.SIGQUIT)
	close(goOn)
	err := w.db.Write(t.Context(), func(tx access.Tx) error { return q.Enqueue(t.Context(), tx, "nowhere", 1) })
	if access.CodeOf(err) != access.Unavailable {
		t.Errorf("enqueue without a database: got error %v, want %s", err, access.Unavailable)
	}
	server.Start(t)
	for i := range after {
		enqueue(t, w.db, q, queue.Round{TaskID: fmt.Sprint("after ", i), Number: 1})
	}
	for range inHand + after {
		await(t, done, "the completion of all rounds")
	}
	if rows, tasks := records(t, w); rows != inHand+after || tasks != inHand+after {
		t.Errorf("got %d completions of %d rounds, want %d of each", rows, tasks, inHand+after)
	}
}
