package queue_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// A round starts because its commit wakes the queue up, here and on other nodes, not
// because the queue happens to look. The bound is far above what it takes, and far
// below the second between two looks.
func TestACommitWakesTheQueueUp(t *testing.T) {
	const rounds, bound = 50, 250 * time.Millisecond
	tests := map[string]func(t *testing.T) (here, there world){
		"sqlite": func(t *testing.T) (here, there world) {
			w := open(t, storage.Options{Path: storagetest.SQLiteFile(t)})
			return w, w
		},
		"postgres": func(t *testing.T) (here, there world) {
			w := open(t, storage.Options{DatabaseURL: storagetest.PostgresURL(t)})
			return w, w
		},
		"postgres, another node": func(t *testing.T) (here, there world) {
			o := storage.Options{DatabaseURL: storagetest.PostgresURL(t)}
			return open(t, o), open(t, o)
		},
	}
	for name, worlds := range tests {
		t.Run(name, func(t *testing.T) {
			here, there := worlds(t)
			started := make(chan time.Time, 1)
			q := begin(t, config(t, there.db), do{work: func(_ context.Context, job queue.Job) error {
				started <- time.Now()
				return completed(there.db, job)
			}})
			if here.db != there.db {
				q = create(t, config(t, here.db))
			}
			var all []time.Duration
			for i := range rounds {
				enqueue(t, here.db, q, queue.Round{TaskID: fmt.Sprint(i), Number: 1})
				committed := time.Now()
				all = append(all, await(t, started, "the start").Sub(committed))
			}
			slices.Sort(all)
			t.Logf("from commit to start: median %v, most %v", all[rounds/2], all[rounds-1])
			if all[rounds/2] > bound {
				t.Errorf("got a median of %v from commit to start, want less than %v", all[rounds/2], bound)
			}
		})
	}
}
