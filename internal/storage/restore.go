package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// ErrNotEmpty says that a restore would overwrite data.
var ErrNotEmpty = errors.New("the database holds data already; restore into an empty one")

// voided are the tables of what lets somebody in. A copy must not: whoever holds a
// backup holds no key to what is restored from it, and a token that was revoked
// after the backup stays dead (security.md TH32).
var voided = []string{"access_tokens", "refresh_tokens", "authorization_codes", "authorize_requests",
	"browser_sessions", "personal_tokens", "invitations"}

// Restore verifies the backup in the file src and makes an empty database of it,
// in the current schema. All tokens, sessions, codes and invitations of the copy
// are void: people sign in again, and assistants connect again. A restore that
// fails leaves the database empty; the backup itself is never changed.
func Restore(ctx context.Context, src string, o Options) error {
	if o.DatabaseURL != "" {
		return restorePostgres(ctx, src, o)
	}
	return restoreSQLite(ctx, src, o)
}

func restoreSQLite(ctx context.Context, src string, o Options) (err error) {
	file, lock, err := claim(o.Path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for _, name := range []string{file, file + "-wal", file + "-journal"} {
		if info, err := os.Stat(name); err == nil && info.Size() > 0 {
			return fmt.Errorf("%w: %s", ErrNotEmpty, name)
		}
	}
	partial := file + ".restoring"
	defer func() { err = errors.Join(err, clearAway(partial)) }()
	m, copied, err := prepare(ctx, src, partial)
	if err != nil {
		return err
	}
	if m.source != sqlite {
		err = reindexAlone(ctx, &DB{dialect: sqlite}, copied)
	}
	if err = errors.Join(err, copied.Close()); err != nil {
		return err
	}
	return replace(partial, file)
}

// prepare copies the backup, verifies the copy, voids it and brings its schema up
// to date.
func prepare(ctx context.Context, src, partial string) (manifest, *sql.DB, error) {
	if err := copyFile(src, partial); err != nil {
		return manifest{}, nil, err
	}
	pool, err := openBackup(partial)
	if err != nil {
		return manifest{}, nil, err
	}
	m, err := verify(ctx, pool)
	if err == nil {
		err = void(ctx, pool)
	}
	if err == nil {
		err = upToDate(ctx, pool)
	}
	if err == nil {
		err = forgetRunning(ctx, pool)
	}
	if err != nil {
		return m, nil, errors.Join(fmt.Errorf("restore %s: %w", src, err), pool.Close())
	}
	return m, pool, nil
}

// copyFile copies to a fresh file of mode 0600.
func copyFile(src, dst string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := clearAway(dst); err != nil { // of a restore that was killed
		return err
	}
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// void deletes what lets somebody in. The pages that held it are overwritten
// (secure_delete, see openBackup).
func void(ctx context.Context, pool *sql.DB) error {
	for _, name := range voided {
		if _, err := pool.ExecContext(ctx, "DELETE FROM "+name); err != nil {
			return err
		}
	}
	_, err := pool.ExecContext(ctx, "DROP TABLE backup_manifest")
	return err
}

// running are the tables of what runs where, which is no part of a backup (and of no
// checksum), although a copy of a SQLite file has it.
var running = []string{"nodes", "river_job", "river_leader", "river_queue", "river_notification"}

// forgetRunning deletes what ran when the backup was made. The queue makes the jobs
// of open tasks anew when a server starts.
func forgetRunning(ctx context.Context, pool *sql.DB) error {
	for _, name := range running {
		if _, err := pool.ExecContext(ctx, "DELETE FROM "+name); err != nil {
			return err
		}
	}
	return nil
}

func upToDate(ctx context.Context, pool *sql.DB) error {
	want, err := wanted(sqlite)
	if err != nil {
		return err
	}
	steps, err := migrationSet(sqlite)
	if err != nil {
		return err
	}
	return gooseUpTo(ctx, goose.DialectSQLite3, pool, steps, want)
}

// restorePostgres makes the schema, and then loads all rows in one transaction.
func restorePostgres(ctx context.Context, src string, o Options) (err error) {
	dir, err := os.MkdirTemp("", "osfoundry-restore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	_, copied, err := prepare(ctx, src, filepath.Join(dir, "copy.db"))
	if err != nil {
		return err
	}
	defer copied.Close()
	tables, err := tablesOf(ctx, copied)
	if err != nil {
		return err
	}
	db := &DB{dialect: postgres, url: o.DatabaseURL}
	pool, err := db.patient()
	if err != nil {
		return err
	}
	db.readers = pool
	defer func() { err = errors.Join(err, pool.Close()) }()
	if err := db.migrate(ctx); err != nil {
		return err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	for _, t := range tables {
		if err := holdEmpty(ctx, tx, t.name); err != nil {
			return err
		}
	}
	for _, t := range tables {
		if err := load(ctx, copied, conn, t); err != nil {
			return fmt.Errorf("restore table %s: %w", t.name, err)
		}
	}
	if err := reindexOn(ctx, db, conn); err != nil {
		return err
	}
	return tx.Commit()
}

// holdEmpty makes sure that a table is empty, and stays so for others until the
// end of the transaction.
func holdEmpty(ctx context.Context, tx *sql.Tx, name string) error {
	if _, err := tx.ExecContext(ctx, "LOCK TABLE "+name+" IN ACCESS EXCLUSIVE MODE"); err != nil {
		return err
	}
	var filled bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+name+")").Scan(&filled); err != nil {
		return err
	}
	if filled {
		return fmt.Errorf("%w: table %s", ErrNotEmpty, name)
	}
	return nil
}

// load copies a table by PostgreSQL's COPY, in the transaction that is open on
// conn.
func load(ctx context.Context, source *sql.DB, conn *sql.Conn, t table) error {
	rows, err := source.QueryContext(ctx, t.selection())
	if err != nil {
		return err
	}
	defer rows.Close()
	values, dests := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range values {
		dests[i] = &values[i]
	}
	next := func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err()
		}
		return values, rows.Scan(dests...)
	}
	return conn.Raw(func(c any) error {
		_, err := c.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromFunc(next))
		return err
	})
}

// reindexAlone makes the full-text index of a database in a transaction of its own.
func reindexAlone(ctx context.Context, db *DB, pool *sql.DB) error {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := reindexOn(ctx, db, conn); err != nil {
		return errors.Join(err, conn.Close())
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

// reindexOn makes the full-text index from the notes, in the transaction that is
// open on conn.
func reindexOn(ctx context.Context, db *DB, conn *sql.Conn) error {
	u := &unit{db: db, conn: conn, writable: true}
	type place struct{ workspaceID, noteID string }
	var notes []place
	rows, err := u.query(ctx, `SELECT workspace_id, id FROM notes ORDER BY id`, nil)
	if err != nil {
		return err
	}
	err = eachRow(rows, 2, func(values []any) error {
		notes = append(notes, place{values[0].(string), values[1].(string)})
		return nil
	})
	if err != nil {
		return err
	}
	for _, n := range notes {
		if err := (Search{}).IndexNote(ctx, u, n.workspaceID, n.noteID); err != nil {
			return fmt.Errorf("index note %s: %w", n.noteID, err)
		}
	}
	return nil
}
