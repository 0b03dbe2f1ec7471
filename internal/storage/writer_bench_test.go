package storage_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// BenchmarkWrite measures durable writes of one and of sixteen writers. Where a sync
// costs milliseconds, sixteen writers of SQLite must get at least five times as far
// as one, because they share it.
func BenchmarkWrite(b *testing.B) {
	for _, open := range []struct {
		name string
		open func(b *testing.B) *storage.DB
	}{
		{"sqlite", func(b *testing.B) *storage.DB { return storagetest.SQLite(b) }},
		{"postgres", func(b *testing.B) *storage.DB { return storagetest.Postgres(b) }},
	} {
		for _, writers := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/writers=%d", open.name, writers), func(b *testing.B) {
				benchmarkWrite(b, open.open(b), writers)
			})
		}
	}
}

func benchmarkWrite(b *testing.B, db *storage.DB, writers int) {
	ctx := b.Context()
	var next atomic.Int64
	b.ResetTimer()
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, fmt.Sprint(i%1000), "x") })
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
