package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Backup writes a backup of the database to the file dst, which must not exist.
// The database stays in use meanwhile, by this process or another; the backup
// shows one moment of it. The file gets mode 0600 and its name only once it is
// whole and on disk. It holds what the database holds: keep it as well as that.
func Backup(ctx context.Context, o Options, dst string) (err error) {
	if _, err := os.Lstat(dst); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists already: %w", dst, errors.Join(fs.ErrExist, err))
	}
	partial := dst + ".partial"
	if err := clearAway(partial); err != nil { // of a backup that was killed
		return err
	}
	defer func() { err = errors.Join(err, clearAway(partial)) }()
	backup := backupSQLite
	if o.DatabaseURL != "" {
		backup = backupPostgres
	}
	if err := backup(ctx, o, partial); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return publish(partial, dst)
}

// backupSQLite copies the file as of one moment. It needs no lock of ours: SQLite
// lets other processes read.
func backupSQLite(ctx context.Context, o Options, partial string) (err error) {
	file, err := filepath.Abs(o.Path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); err != nil {
		return err
	}
	source, err := sqlitePool(file, false)
	if err != nil {
		return err
	}
	defer source.Close()
	db := &DB{dialect: sqlite, readers: source}
	have, want, err := db.version(ctx)
	if err != nil {
		return err
	}
	if have == 0 {
		return fmt.Errorf("%s holds no osFoundry database", o.Path)
	}
	if have > want {
		return fmt.Errorf("%w (its schema has version %d, this program knows %d)", ErrNewer, have, want)
	}
	if err := privateFile(partial); err != nil {
		return err
	}
	if err := vacuumInto(ctx, source, partial); err != nil {
		return err
	}
	target, err := openBackup(partial)
	if err != nil {
		return err
	}
	return errors.Join(seal(ctx, target, sqlite), target.Close())
}

// vacuumInto copies a database. The copy must be allowed to write its own file, so
// for this one statement the connection is not query_only.
func vacuumInto(ctx context.Context, source *sql.DB, partial string) error {
	conn, err := source.Conn(ctx)
	if err != nil {
		return err
	}
	defer discard(conn)
	if _, err := conn.ExecContext(ctx, "PRAGMA query_only = 0"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "VACUUM INTO $1", partial)
	return err
}

// backupPostgres copies all rows as of one snapshot into a SQLite file with the
// same schema.
func backupPostgres(ctx context.Context, o Options, partial string) error {
	db := &DB{dialect: postgres, url: o.DatabaseURL}
	source, err := db.patient()
	if err != nil {
		return err
	}
	defer source.Close()
	snapshot, err := source.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = snapshot.Rollback() }() // it only read
	var have int64
	if err := snapshot.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version`).Scan(&have); err != nil {
		return fmt.Errorf("the database holds no osFoundry schema: %w", err)
	}
	want, err := wanted(postgres)
	if err != nil {
		return err
	}
	if have > want {
		return fmt.Errorf("%w (its schema has version %d, this program knows %d)", ErrNewer, have, want)
	}
	target, err := makeSchema(ctx, partial, have)
	if err != nil {
		return err
	}
	err = copyRows(ctx, snapshot, target)
	if err == nil {
		err = seal(ctx, target, postgres)
	}
	return errors.Join(err, target.Close())
}

func copyRows(ctx context.Context, source *sql.Tx, target *sql.DB) error {
	tables, err := tablesOf(ctx, target)
	if err != nil {
		return err
	}
	tx, err := target.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, t := range tables {
		if err := copyTable(ctx, source, tx, t); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return tx.Commit()
}

func copyTable(ctx context.Context, source, target *sql.Tx, t table) error {
	rows, err := source.QueryContext(ctx, t.selection())
	if err != nil {
		return err
	}
	insert, err := target.PrepareContext(ctx, "INSERT INTO "+t.name+" ("+strings.Join(t.columns, ", ")+") VALUES (?"+strings.Repeat(", ?", len(t.columns)-1)+")")
	if err != nil {
		return errors.Join(err, rows.Close())
	}
	err = eachRow(rows, len(t.columns), func(values []any) error {
		_, err := insert.ExecContext(ctx, values...)
		return err
	})
	return errors.Join(err, insert.Close())
}
