package storage

import (
	"context"
	"testing"

	"github.com/pressly/goose/v3"

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

// MigrateTo brings an empty database to an older version of the schema.
func MigrateTo(t *testing.T, o Options, version int64) {
	t.Helper()
	db, err := connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	steps, err := migrationSet(db.dialect)
	if err != nil {
		t.Fatal(err)
	}
	pool, d := db.readers, goose.DialectPostgres
	if db.dialect == sqlite {
		pool, d = db.writer.db, goose.DialectSQLite3
	}
	if err := gooseUpTo(t.Context(), d, pool, steps, version); err != nil {
		t.Fatalf("migrate to version %d: %v", version, err)
	}
}
