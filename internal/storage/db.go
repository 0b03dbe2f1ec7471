package storage

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Errors of Open, Migrate, Backup and Restore that callers tell apart.
var (
	ErrInUse  = errors.New("the database is in use by another osFoundry process")
	ErrNewer  = errors.New("the database was written by a newer osFoundry; install that version, or restore a backup of this one")
	ErrUnsafe = errors.New("the database would not keep what it acknowledges")
)

// Options say where the database is. Exactly one of Path and DatabaseURL is set.
type Options struct {
	// Path is the SQLite file. It is made with mode 0600; a directory that is
	// missing or empty becomes 0700. One process uses a file at a time.
	Path string
	// DatabaseURL is a PostgreSQL URL, postgres://user:password@host:5432/name.
	// The database must exist. Several processes can share it.
	DatabaseURL string

	// Readers is the number of SQLite connections for reading; 0 means 2 for each
	// core, more do not help.
	Readers int
	// Connections is the most connections to PostgreSQL; 0 means 4 for each core,
	// and at least 10.
	Connections int
}

type dialect uint8

const (
	sqlite dialect = iota + 1
	postgres
)

func (d dialect) String() string { return [...]string{"", "sqlite", "postgres"}[d] }

// DB is the open database. It is an access.Work and an access.Source.
type DB struct {
	dialect dialect
	readers *sql.DB       // on PostgreSQL, for writing too
	free    chan struct{} // one place for each connection of readers

	// SQLite only.
	path   string
	lock   *os.File // held as long as the database is open
	writer *writerQueue

	// PostgreSQL only.
	url      string
	engine   *sql.DB       // of the queue; see EnginePools
	listener *pgxpool.Pool // likewise
}

var (
	_ access.Work   = (*DB)(nil)
	_ access.Source = (*DB)(nil)
)

// Open opens the database and brings its schema up to date. It refuses a file
// that another process uses (ErrInUse), a schema of a newer version (ErrNewer),
// and a database that could lose acknowledged writes (ErrUnsafe).
func Open(ctx context.Context, o Options) (*DB, error) {
	db, err := connect(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := db.migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// connect opens the database as it is.
func connect(ctx context.Context, o Options) (*DB, error) {
	switch {
	case o.Path != "" && o.DatabaseURL != "":
		return nil, errors.New("both a file and a database URL are given")
	case o.DatabaseURL != "":
		return openPostgres(ctx, o)
	case o.Path != "":
		return openSQLite(ctx, o)
	}
	return nil, errors.New("neither a file nor a database URL is given")
}

// Close closes the database. Units of work that still run fail.
func (db *DB) Close() error {
	var errs []error
	if db.engine != nil {
		db.listener.Close()
		errs = append(errs, db.engine.Close())
	}
	if db.readers != nil {
		errs = append(errs, db.readers.Close())
	}
	if db.writer != nil { // last, so that it folds the log into the file
		errs = append(errs, db.writer.db.Close())
	}
	if db.lock != nil {
		errs = append(errs, db.lock.Close())
	}
	return errors.Join(errs...)
}

// Ping returns nil if the database answers and accepts reads.
func (db *DB) Ping(ctx context.Context) error {
	return db.ReadOne(ctx, func(tx access.Tx) error {
		c, _ := raw(tx)
		var one int64
		return c.QueryRowContext(ctx, "SELECT 1").Scan(&one)
	})
}

// Read runs f on one consistent snapshot: REPEATABLE READ on PostgreSQL.
func (db *DB) Read(ctx context.Context, f func(tx access.Tx) error) error {
	begin := "BEGIN"
	if db.dialect == postgres {
		begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	return db.read(ctx, false, f, func(u *unit) error { return inTransaction(u, begin, f) })
}

// ReadOne is Read for an f that makes at most one statement. That statement is
// its own snapshot, so there is no transaction around it: on PostgreSQL one round
// trip instead of three. A second statement fails, and the unit of work with it.
func (db *DB) ReadOne(ctx context.Context, f func(tx access.Tx) error) error {
	return db.read(ctx, true, f, func(u *unit) error {
		defer func() { u.over = true }()
		return u.run(f)
	})
}

func (db *DB) read(ctx context.Context, single bool, f func(access.Tx) error, run func(u *unit) error) error {
	conn, release, err := db.take(ctx)
	if err != nil {
		return db.judged(err)
	}
	u := &unit{db: db, conn: conn, single: single}
	func() {
		defer release()
		err = run(u)
	}()
	if err != nil {
		return db.judged(err)
	}
	u.committed()
	return nil
}

// Write runs f in one transaction and returns nil only when it is durable. On
// SQLite units of work that come together share one fsync, each rolled back alone
// (writer.go); on PostgreSQL they run side by side at READ COMMITTED.
func (db *DB) Write(ctx context.Context, f func(tx access.Tx) error) error {
	if db.dialect == postgres {
		return db.judged(db.postgresWrite(ctx, f))
	}
	return db.judged(db.writer.write(ctx, db, f))
}

// take takes a connection out of the pool, waiting at most lockWait for one.
func (db *DB) take(ctx context.Context) (conn *sql.Conn, release func(), err error) {
	select {
	case db.free <- struct{}{}:
	default:
		if err := db.awaitFree(ctx); err != nil {
			return nil, nil, err
		}
	}
	conn, err = db.readers.Conn(context.Background())
	if err != nil {
		<-db.free
		return nil, nil, err
	}
	return conn, func() {
		_ = conn.Close() // gives it back, or says that it was discarded
		<-db.free
	}, nil
}

func (db *DB) awaitFree(ctx context.Context) error {
	timeout := time.NewTimer(lockWait * time.Millisecond)
	defer timeout.Stop()
	select {
	case db.free <- struct{}{}:
		return nil
	case <-timeout.C:
		return unavailable(errors.New("waited too long for a connection"))
	case <-ctx.Done():
		return unavailable(context.Cause(ctx))
	}
}
