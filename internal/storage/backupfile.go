package storage

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"
	sqlite3 "modernc.org/sqlite"
)

// A backup is one SQLite file, whichever database it was made from, so that it can
// be restored into either. Besides the tables it holds a manifest: the form of the
// file, the version of the schema, and a SHA-256 of all rows. The full-text index is
// in it only as SQLite has it; elsewhere it is made anew from the notes. The jobs of
// the queue are no part of it: a restored server makes them anew from the tasks.

// ErrDamaged says that a file is not a whole backup.
var ErrDamaged = errors.New("this is not a whole backup")

// backupForm is the number of the form described above.
const backupForm = 1

// manifest is what a backup says about itself.
type manifest struct {
	form    int64
	version int64   // of the schema
	source  dialect // of the database it was made from
	digest  string  // SHA-256 of the rows of all tables, hex
}

const createManifest = `CREATE TABLE backup_manifest (form BIGINT NOT NULL, version BIGINT NOT NULL, source TEXT NOT NULL, digest TEXT NOT NULL)`

// openBackup opens a backup file, or a file that will be one. Nothing of it is
// trusted: its schema cannot run code of its own.
func openBackup(file string) (*sql.DB, error) {
	q := url.Values{"mode": {"rw"}, "_error_rc": {"1"}, "_dqs": {"0"}, "_defensive": {"1"}}
	for _, pragma := range []string{"trusted_schema(0)", "cell_size_check(1)", "secure_delete(1)", "synchronous(FULL)"} {
		q.Add("_pragma", pragma)
	}
	base, err := sqlite3.NewConnector("file:" + (&url.URL{Path: file}).EscapedPath() + "?" + q.Encode())
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(base)
	pool.SetMaxOpenConns(1)
	return pool, nil
}

// seal writes the manifest, which makes the file a backup.
func seal(ctx context.Context, pool *sql.DB, source dialect) error {
	m := manifest{form: backupForm, source: source}
	var err error
	if m.version, err = schemaVersion(ctx, pool); err != nil {
		return err
	}
	if m.digest, err = digest(ctx, pool); err != nil {
		return err
	}
	if _, err := pool.ExecContext(ctx, createManifest); err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, `INSERT INTO backup_manifest (form, version, source, digest) VALUES ($1, $2, $3, $4)`,
		m.form, m.version, m.source.String(), m.digest)
	return err
}

func schemaVersion(ctx context.Context, pool *sql.DB) (version int64, err error) {
	err = pool.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`).Scan(&version)
	return version, err
}

// verify checks that the file is a whole backup that this program can read.
func verify(ctx context.Context, pool *sql.DB) (manifest, error) {
	var m manifest
	var source string
	err := pool.QueryRowContext(ctx, `SELECT form, version, source, digest FROM backup_manifest`).Scan(&m.form, &m.version, &source, &m.digest)
	if err != nil {
		return m, fmt.Errorf("%w: it has no manifest (%w)", ErrDamaged, err)
	}
	if source == postgres.String() {
		m.source = postgres
	} else {
		m.source = sqlite
	}
	want, err := wanted(sqlite)
	if err != nil {
		return m, err
	}
	if m.form > backupForm || m.version > want {
		return m, fmt.Errorf("%w (the backup has form %d and schema version %d, this program knows %d and %d)", ErrNewer, m.form, m.version, backupForm, want)
	}
	for _, check := range []struct{ pragma, good string }{{"integrity_check", "ok"}, {"foreign_key_check", ""}} {
		if err := sound(ctx, pool, check.pragma, check.good); err != nil {
			return m, err
		}
	}
	if version, err := schemaVersion(ctx, pool); err != nil || version != m.version {
		return m, fmt.Errorf("%w: its schema has version %d, its manifest says %d (%w)", ErrDamaged, version, m.version, err)
	}
	if err := verifySchema(ctx, pool, m.version); err != nil {
		return m, err
	}
	got, err := digest(ctx, pool)
	if err != nil {
		return m, err
	}
	if got != m.digest {
		return m, fmt.Errorf("%w: its rows have the checksum %s, its manifest says %s", ErrDamaged, got, m.digest)
	}
	return m, nil
}

// sound runs a check of SQLite, which answers with good, or no row at all, or else
// with what is wrong.
func sound(ctx context.Context, pool *sql.DB, pragma, good string) error {
	rows, err := pool.QueryContext(ctx, "PRAGMA "+pragma)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, pragma, err)
	}
	defer rows.Close()
	for rows.Next() {
		var said sql.NullString
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		rest := make([]any, len(columns))
		for i := range rest {
			rest[i] = new(any)
		}
		rest[0] = &said
		if err := rows.Scan(rest...); err != nil {
			return err
		}
		if said.String != good {
			return fmt.Errorf("%w: %s: %s", ErrDamaged, pragma, said.String)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, pragma, err)
	}
	return nil
}

// verifySchema compares the schema with the one that the migrations make, so that
// a backup brings rows and nothing that acts on them.
func verifySchema(ctx context.Context, pool *sql.DB, version int64) error {
	got, err := schemaOf(ctx, pool)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "osfoundry-schema-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	model, err := makeSchema(ctx, filepath.Join(dir, "model.db"), version)
	if err != nil {
		return err
	}
	defer model.Close()
	want, err := schemaOf(ctx, model)
	if err != nil {
		return err
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: its schema is not that of version %d", ErrDamaged, version)
	}
	return nil
}

// makeSchema makes a file with the schema of a version and no rows.
func makeSchema(ctx context.Context, file string, version int64) (*sql.DB, error) {
	if err := privateFile(file); err != nil {
		return nil, err
	}
	pool, err := openBackup(file)
	if err != nil {
		return nil, err
	}
	steps, err := migrationSet(sqlite)
	if err == nil {
		err = gooseUpTo(ctx, goose.DialectSQLite3, pool, steps, version)
	}
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

func schemaOf(ctx context.Context, pool *sql.DB) ([]string, error) {
	return texts(ctx, pool, `SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_schema
		WHERE name NOT IN ('backup_manifest', 'sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4') ORDER BY 1`)
}

// texts reads a column of texts.
func texts(ctx context.Context, pool *sql.DB, query string, args ...any) ([]string, error) {
	rows, err := pool.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// table is a table that both databases have, with its columns in order.
type table struct {
	name    string
	columns []string
}

// tablesOf lists the tables of a backup, each after the ones it refers to. The
// tables of full-text search and of the queue's engine, which each database has in
// its own way, are no part.
func tablesOf(ctx context.Context, pool *sql.DB) ([]table, error) {
	names, err := texts(ctx, pool, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND name NOT LIKE 'search\_%' ESCAPE '\' AND name NOT LIKE 'river\_%' ESCAPE '\' AND name NOT IN ('goose_db_version', 'backup_manifest') ORDER BY name`)
	if err != nil {
		return nil, err
	}
	refers := map[string][]string{}
	for _, name := range names {
		if refers[name], err = texts(ctx, pool, `SELECT DISTINCT "table" FROM pragma_foreign_key_list($1)`, name); err != nil {
			return nil, err
		}
	}
	var ordered []table
	placed := func(name string) bool {
		return slices.ContainsFunc(ordered, func(t table) bool { return t.name == name })
	}
	for len(ordered) < len(names) {
		next := slices.IndexFunc(names, func(name string) bool {
			waits := slices.ContainsFunc(refers[name], func(to string) bool { return to != name && !placed(to) })
			return !placed(name) && !waits
		})
		if next < 0 {
			return nil, errors.New("the tables refer to each other in a circle")
		}
		columns, err := texts(ctx, pool, `SELECT name FROM pragma_table_info($1) ORDER BY cid`, names[next])
		if err != nil {
			return nil, err
		}
		ordered = append(ordered, table{names[next], columns})
	}
	return ordered, nil
}

func (t table) selection() string {
	return "SELECT " + strings.Join(t.columns, ", ") + " FROM " + t.name
}

// eachRow calls f with the values of each row; the slice is used again.
func eachRow(rows *sql.Rows, n int, f func(values []any) error) error {
	defer rows.Close()
	values, dests := make([]any, n), make([]any, n)
	for i := range values {
		dests[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dests...); err != nil {
			return err
		}
		if err := f(values); err != nil {
			return err
		}
	}
	return rows.Err()
}

// digest is the SHA-256 of all rows.
func digest(ctx context.Context, pool *sql.DB) (string, error) {
	tables, err := tablesOf(ctx, pool)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, t := range tables {
		fmt.Fprintf(sum, "table %s %q\n", t.name, t.columns)
		rows, err := pool.QueryContext(ctx, t.selection()+" ORDER BY rowid")
		if err != nil {
			return "", err
		}
		if err := eachRow(rows, len(t.columns), func(values []any) error { return addRow(sum, values) }); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// addRow writes values so that no two rows look the same.
func addRow(sum hash.Hash, values []any) error {
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			_, _ = io.WriteString(sum, "n,")
		case int64:
			fmt.Fprintf(sum, "i%d,", v)
		case string:
			fmt.Fprintf(sum, "t%d:", len(v))
			_, _ = io.WriteString(sum, v)
		default:
			return fmt.Errorf("%w: a value is a %T", ErrDamaged, v)
		}
	}
	_, err := io.WriteString(sum, "\n")
	return err
}

// clearAway removes a file that was not finished, with what SQLite put beside it. A
// journal that stayed behind would be played into the next file of that name.
func clearAway(name string) error {
	var errs []error
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
		if err := os.Remove(name + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// publish makes a finished file durable and gives it its name, unless that is
// taken.
func publish(partial, name string) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: %w", name, errors.Join(fs.ErrExist, err))
	}
	return replace(partial, name)
}

// replace makes a finished file durable and puts it in the place of name.
func replace(partial, name string) error {
	if err := syncFile(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, name); err != nil {
		return err
	}
	return syncFile(filepath.Dir(name))
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
