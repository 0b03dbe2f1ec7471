package storagetest

import (
	"database/sql"
	"net/url"
	"testing"

	_ "modernc.org/sqlite" // database/sql driver "sqlite"

	"github.com/osfoundry/osfoundry/internal/storage"
)

// Raw opens the database beside the one under test, to put rows into it or to look
// at them without the stores that are tested. It closes when the test ends. $1, $2 …
// are parameters on both databases.
func Raw(t testing.TB, o storage.Options) *sql.DB {
	t.Helper()
	driver, source := "pgx", o.DatabaseURL
	if o.Path != "" {
		driver, source = "sqlite", "file:"+url.PathEscape(o.Path)+"?_pragma=busy_timeout(10000)&_txlock=immediate"
	}
	raw, err := sql.Open(driver, source)
	if err != nil {
		t.Fatalf("open the database beside: %v", err)
	}
	raw.SetMaxOpenConns(2)
	t.Cleanup(func() { _ = raw.Close() })
	return raw
}

// Exec runs one statement on a database that Raw opened.
func Exec(t testing.TB, raw *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := raw.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}
