package storage

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrations are numbered SQL files, applied in order and never taken back. A
// file in migrations/ is for both databases. Where they must differ, as in
// full-text search, the step is two files of the same number and name, one in
// migrations/sqlite/ and one in migrations/postgres/:
//
//	migrations/00001_init.sql
//	migrations/sqlite/00002_search.sql
//	migrations/postgres/00002_search.sql
//
// Each step runs in one transaction together with the note that it was applied,
// so a process that is killed leaves the old schema or the new one.
//
//go:embed migrations
var migrationFiles embed.FS

// migrationSet is the steps of one dialect as one folder.
func migrationSet(d dialect) (fs.FS, error) {
	shared, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	own, err := fs.Sub(migrationFiles, path.Join("migrations", d.String()))
	if err != nil {
		return nil, err
	}
	return overlay{shared, own}, nil
}

// overlay is folders of files seen as one. A name is in one of them only.
type overlay []fs.FS

func (o overlay) Open(name string) (fs.File, error) {
	for _, layer := range o {
		f, err := layer.Open(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (o overlay) ReadDir(name string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for _, layer := range o {
		entries, err := fs.ReadDir(layer, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() })...)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// Migrate brings the schema up to date and returns its version before and after.
// Processes that do it at the same time wait for each other.
func Migrate(ctx context.Context, o Options) (from, to int64, err error) {
	db, err := connect(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if from, _, err = db.version(ctx); err != nil {
		return 0, 0, err
	}
	if err = db.migrate(ctx); err != nil {
		return from, from, err
	}
	to, _, err = db.version(ctx)
	return from, to, err
}

// Version returns the version of the database's schema, 0 for an empty database,
// and the version that this program needs. It changes nothing in the schema.
func Version(ctx context.Context, o Options) (have, want int64, err error) {
	db, err := connect(ctx, o)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return db.version(ctx)
}

func (db *DB) migrate(ctx context.Context) error {
	have, want, err := db.version(ctx)
	if err != nil {
		return err
	}
	if have < want {
		if err := db.migrateUp(ctx); err != nil {
			return fmt.Errorf("migrate the schema from version %d to %d: %w", have, want, err)
		}
		if have, _, err = db.version(ctx); err != nil {
			return err
		}
	}
	if have > want {
		return fmt.Errorf("%w (its schema has version %d, this program knows %d)", ErrNewer, have, want)
	}
	return nil
}

func (db *DB) migrateUp(ctx context.Context) error {
	steps, err := migrationSet(db.dialect)
	if err != nil {
		return err
	}
	if db.dialect == sqlite { // the lock on the file makes this process the only one
		return gooseUp(ctx, goose.DialectSQLite3, db.writer.db, steps)
	}
	pool, err := db.patient()
	if err != nil {
		return err
	}
	defer pool.Close()
	session, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600)) // seconds, tries
	if err != nil {
		return err
	}
	return gooseUp(ctx, goose.DialectPostgres, pool, steps, goose.WithSessionLocker(session))
}

func gooseUp(ctx context.Context, d goose.Dialect, pool *sql.DB, steps fs.FS, options ...goose.ProviderOption) error {
	provider, err := goose.NewProvider(d, pool, steps, append(options, goose.WithDisableGlobalRegistry(true))...)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// gooseUpTo applies the steps up to a version.
func gooseUpTo(ctx context.Context, d goose.Dialect, pool *sql.DB, steps fs.FS, version int64) error {
	provider, err := goose.NewProvider(d, pool, steps, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}

// patient is a pool of PostgreSQL connections on which a statement may take as
// long as it takes: for migrations, backup and restore.
func (db *DB) patient() (*sql.DB, error) {
	config, err := postgresConfig(db.url)
	if err != nil {
		return nil, err
	}
	return stdlib.OpenDB(*config, stdlib.OptionAfterConnect(acceptPostgres)), nil
}

func (db *DB) version(ctx context.Context) (have, want int64, err error) {
	if want, err = wanted(db.dialect); err != nil {
		return 0, 0, err
	}
	pool := db.readers
	exists := `SELECT COUNT(*) FROM sqlite_schema WHERE name = 'goose_db_version'`
	if db.dialect == postgres {
		exists = `SELECT COUNT(*) FROM pg_class WHERE oid = to_regclass('goose_db_version')`
	}
	var n int64
	if err := pool.QueryRowContext(ctx, exists).Scan(&n); err != nil || n == 0 {
		return 0, want, err
	}
	err = pool.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`).Scan(&have)
	return have, want, err
}

// wanted is the version that this program needs: the highest number of a step.
func wanted(d dialect) (int64, error) {
	steps, err := migrationSet(d)
	if err != nil {
		return 0, err
	}
	entries, err := fs.ReadDir(steps, ".")
	if err != nil {
		return 0, err
	}
	var most int64
	for _, e := range entries {
		n, err := goose.NumericComponent(e.Name())
		if err != nil {
			return 0, err
		}
		most = max(most, n)
	}
	return most, nil
}
