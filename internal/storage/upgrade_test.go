package storage_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// released are the versions of the schema that people may have, each with the
// tables it brought that the scene fills.
var released = []struct {
	version int64
	without []string // tables that it did not have yet
}{
	{2, []string{"sessions", "session_seats", "handoffs", "tasks"}},
}

var insertedInto = regexp.MustCompile(`^INSERT INTO ([a-z_]+) `)

// A database of every released version comes up to date with each row as it was,
// and the check goes on as before.
func TestEveryReleasedSchemaComesUpToDateWithItsData(t *testing.T) {
	for _, release := range released {
		t.Run(fmt.Sprint(release.version), func(t *testing.T) {
			eachEmpty(t, func(t *testing.T, o storage.Options) {
				storage.MigrateTo(t, o, release.version)
				raw := storagetest.Raw(t, o)
				tables := fill(t, raw, release.without)
				before := rowsOf(t, raw, tables)
				if err := raw.Close(); err != nil {
					t.Fatal(err)
				}
				db, err := storage.Open(t.Context(), o)
				if err != nil {
					t.Fatalf("open a database of version %d: %v", release.version, err)
				}
				defer db.Close()
				if after := rowsOf(t, storagetest.Raw(t, o), tables); after != before {
					t.Errorf("version %d: the rows are\n%s\nwant as before\n%s", release.version, after, before)
				}
				f, err := ask(t, db, "token", access.Ref{Kind: access.KindNote, ID: "note"})
				if err != nil || !f.TokenKnown || !f.Found || !f.ProjectGranted {
					t.Errorf("version %d: the check sees %+v, %v, want the note of the scene", release.version, f, err)
				}
			})
		})
	}
}

// fill puts the scene into an older schema and returns the tables it filled.
func fill(t *testing.T, raw *sql.DB, without []string) (tables []string) {
	t.Helper()
	for _, statement := range scene {
		into := insertedInto.FindStringSubmatch(statement)[1]
		if slices.Contains(without, into) {
			continue
		}
		storagetest.Exec(t, raw, statement)
		if !slices.Contains(tables, into) {
			tables = append(tables, into)
		}
	}
	return tables
}

// rowsOf prints all rows of the tables.
func rowsOf(t *testing.T, raw *sql.DB, tables []string) string {
	t.Helper()
	var all []string
	for _, table := range tables {
		rows, err := raw.Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatal(err)
		}
		columns, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values := make([]any, len(columns))
			for i := range values {
				values[i] = new(any)
			}
			if err := rows.Scan(values...); err != nil {
				t.Fatal(err)
			}
			line := table
			for i, v := range values {
				line += fmt.Sprintf(" %s=%v", columns[i], *v.(*any))
			}
			all = append(all, line)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}
