package storage

import (
	"context"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

// What the tests of this package see besides what everyone sees.
var (
	Raw       = raw
	On        = on
	ErrSingle = errSingle
)

// OnWriter runs SQL on SQLite's connection for writing, outside any unit of work.
func OnWriter(t *testing.T, db *DB, query string) {
	t.Helper()
	if _, err := db.writer.db.ExecContext(context.Background(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// OnEachConnection runs f on every connection that the pool for reading can have,
// all open at the same time.
func OnEachConnection(t *testing.T, db *DB, f func(tx access.Tx)) {
	t.Helper()
	for range cap(db.free) {
		conn, release, err := db.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		f(&unit{db: db, conn: conn})
	}
}
