package storage_test

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// Our migrations make what River's own migrations make, so that a new version of
// River, with further migrations, finds what it expects.
func TestRiversTablesAreAsRiverMakesThem(t *testing.T) {
	tests := []struct {
		name   string
		ours   storage.Options
		theirs storage.Options
		driver func(*sql.DB) riverdriver.Driver[*sql.Tx]
		schema []string // queries that describe it
	}{
		{
			"sqlite", storage.Options{Path: storagetest.SQLiteFile(t)}, storage.Options{Path: filepath.Join(t.TempDir(), "river.db")},
			func(db *sql.DB) riverdriver.Driver[*sql.Tx] { return riversqlite.New(db) },
			[]string{
				`SELECT m.name || ' ' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || COALESCE(c.dflt_value, '') || ' ' || c.pk
					FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name LIKE 'river%'`,
				`SELECT sql FROM sqlite_schema WHERE type = 'index' AND tbl_name LIKE 'river%' AND sql IS NOT NULL`,
				`SELECT name || CASE WHEN sql LIKE '%AUTOINCREMENT%' THEN ' counts' ELSE '' END FROM sqlite_schema WHERE type <> 'index' AND name LIKE 'river%'`,
				`SELECT name || ' checks ' || (length(sql) - length(replace(sql, 'CHECK', ''))) FROM sqlite_schema WHERE name LIKE 'river%' AND type = 'table'`,
			},
		},
		{
			"postgres", storage.Options{DatabaseURL: storagetest.PostgresURL(t)}, storage.Options{DatabaseURL: storagetest.EmptyPostgresURL(t)},
			func(db *sql.DB) riverdriver.Driver[*sql.Tx] { return riverdatabasesql.New(db) },
			[]string{
				`SELECT table_name || ' ' || column_name || ' ' || udt_name || ' ' || is_nullable || ' ' || COALESCE(column_default, '') || ' ' || COALESCE(character_maximum_length, 0)
					FROM information_schema.columns WHERE table_name LIKE 'river%'`,
				`SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'river%'`,
				`SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid::regclass::text LIKE 'river%'`,
				`SELECT relname || ' ' || CAST(relpersistence AS text) || ' ' || CAST(relkind AS text) FROM pg_class WHERE relname LIKE 'river%'`,
				`SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE 'river%'`,
				`SELECT enumlabel FROM pg_enum JOIN pg_type t ON t.oid = enumtypid WHERE typname LIKE 'river%' ORDER BY enumsortorder`,
				`SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgname LIKE 'river%'`,
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			theirs := storagetest.Raw(t, test.theirs)
			migrator, err := rivermigrate.New(test.driver(theirs), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil); err != nil {
				t.Fatal(err)
			}
			ours := storagetest.Raw(t, test.ours)
			for _, query := range append(test.schema, `SELECT line || ' ' || version FROM river_migration`) {
				got, want := describe(t, ours, query), describe(t, theirs, query)
				if !slices.Equal(got, want) {
					t.Errorf("%s:\n got %s\nwant %s", query, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
				}
				if len(want) == 0 && !strings.Contains(query, "pg_trigger") {
					t.Errorf("%s: nothing to compare", query)
				}
			}
			if migrator, err = rivermigrate.New(test.driver(ours), nil); err != nil {
				t.Fatal(err)
			}
			if answer, err := migrator.Validate(t.Context(), nil); err != nil || !answer.OK {
				t.Errorf("River does not take our schema for its own: %+v, %v", answer, err)
			}
		})
	}
}

// describe is the rows of a query, in order, without the space that does not matter,
// and without the name that PostgreSQL gave an index because the table that River
// replaced still had the other.
func describe(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	plain := strings.NewReplacer(`"`, "", "river_migration_pkey1", "river_migration_pkey")
	for _, row := range scan(t, db, query) {
		all = append(all, strings.Join(strings.Fields(plain.Replace(row[0])), " "))
	}
	if !strings.Contains(query, "ORDER BY") {
		slices.Sort(all)
	}
	return all
}
