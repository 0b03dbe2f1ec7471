// Package storagetest gives tests fresh databases: a file for SQLite, and a
// database in a throwaway PostgreSQL server that this test process starts for
// itself and that ends with it. What is tested with them is the matter of the
// tests; nothing here is part of the program.
package storagetest

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/osfoundry/osfoundry/internal/storage"
)

// Each runs f as a subtest on a fresh, empty database of each dialect, named
// sqlite and postgres.
func Each(t *testing.T, f func(t *testing.T, db *storage.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, Postgres(t)) })
}

// EachOptions is Each for tests that open the database themselves.
func EachOptions(t *testing.T, f func(t *testing.T, o storage.Options)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, storage.Options{Path: SQLiteFile(t)}) })
	t.Run("postgres", func(t *testing.T) { f(t, storage.Options{DatabaseURL: PostgresURL(t)}) })
}

// SQLite opens a fresh SQLite database and closes it when the test ends.
func SQLite(t testing.TB) *storage.DB {
	t.Helper()
	return open(t, storage.Options{Path: SQLiteFile(t)})
}

// Postgres opens a fresh PostgreSQL database and closes it when the test ends.
func Postgres(t testing.TB) *storage.DB {
	t.Helper()
	return open(t, storage.Options{DatabaseURL: PostgresURL(t)})
}

func open(t testing.TB, o storage.Options) *storage.DB {
	t.Helper()
	db, err := storage.Open(context.Background(), o)
	if err != nil {
		t.Fatalf("open a fresh database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// SQLiteFile is the name of a fresh SQLite database with the current schema, in a
// directory of its own.
func SQLiteFile(t testing.TB) string {
	t.Helper()
	blank, err := blankSQLite()
	if err != nil {
		t.Fatalf("make a blank SQLite database: %v", err)
	}
	file := filepath.Join(t.TempDir(), "osfoundry.db")
	if err := os.WriteFile(file, blank, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// blankSQLite is the content of a database with the current schema.
var blankSQLite = sync.OnceValues(func() (content []byte, err error) {
	dir, err := os.MkdirTemp("", "osfoundry-blank-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "blank.db")
	db, err := storage.Open(context.Background(), storage.Options{Path: file})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
})
