package storage

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/osfoundry/osfoundry/internal/access"
)

const (
	// statementTime is the most that one statement may take. An answer that does
	// not come in answerTime will not come: the network or the server is gone.
	statementTime = 20 * time.Second
	answerTime    = 25 * time.Second

	// standstill is how long a transaction may stay open without a statement.
	standstill = 15 * time.Second

	// tries is how often a transaction that lost against another one is run.
	tries = 8
)

// openPostgres opens a pool of connections to the primary.
func openPostgres(ctx context.Context, o Options) (*DB, error) {
	config, err := postgresConfig(o.DatabaseURL)
	if err != nil {
		return nil, err
	}
	boundPostgres(config)
	// Planning the join of the check costs more than running it, and its plan does
	// not depend on the values.
	config.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	n := cmp.Or(o.Connections, max(10, 4*runtime.GOMAXPROCS(0)))
	pool := stdlib.OpenDB(*config, stdlib.OptionAfterConnect(acceptPostgres))
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	pool.SetConnMaxIdleTime(10 * time.Minute)
	db := &DB{dialect: postgres, readers: pool, free: make(chan struct{}, n), url: o.DatabaseURL}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open PostgreSQL at %s: %w", config.Host, err), db.Close())
	}
	return db, nil
}

// postgresConfig reads the URL. Statements are always prepared by the server and
// values always travel apart from them: the client never writes a value into SQL
// (CVE-2026-41889 was that).
func postgresConfig(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	config.StatementCacheCapacity = maxStatements
	config.ConnectTimeout = cmp.Or(config.ConnectTimeout, lockWait*time.Millisecond)
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "osfoundry"
	}
	return config, nil
}

// boundPostgres bounds how long a statement takes, waits, and blocks others. A unit
// of work never waits for anything but the database, so one that stands still
// belongs to a process that does; its locks must be gone before others take its
// work over.
func boundPostgres(config *pgx.ConnConfig) {
	for name, value := range map[string]string{
		"lock_timeout":                        strconv.Itoa(lockWait),
		"statement_timeout":                   strconv.FormatInt(statementTime.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt(standstill.Milliseconds(), 10),
	} {
		config.RuntimeParams[name] = value
	}
	config.DialFunc = impatient(config.DialFunc)
}

// acceptPostgres asserts on a new connection what durability rests on, as the
// server, the database, the role and the URL together have set it.
func acceptPostgres(ctx context.Context, c *pgx.Conn) error {
	var fsync, commit, encoding string
	var standby, readOnly bool
	err := c.QueryRow(ctx, `SELECT current_setting('fsync'), current_setting('synchronous_commit'), pg_is_in_recovery(),
		current_setting('default_transaction_read_only')::boolean, current_setting('server_encoding')`).
		Scan(&fsync, &commit, &standby, &readOnly, &encoding)
	if err != nil {
		return err
	}
	switch {
	case fsync != "on":
		return fmt.Errorf("%w: fsync is %s; acknowledged writes would be lost with the power", ErrUnsafe, fsync)
	case commit != "on" && commit != "remote_apply":
		return fmt.Errorf("%w: synchronous_commit is %s; set it to on, or acknowledged writes can be lost", ErrUnsafe, commit)
	case standby:
		return fmt.Errorf("%w: this server is a read-only standby; connect to the primary", ErrUnsafe)
	case readOnly:
		return fmt.Errorf("%w: default_transaction_read_only is on", ErrUnsafe)
	case encoding != "UTF8":
		return fmt.Errorf("%w: the database's encoding is %s; create it with UTF8", ErrUnsafe, encoding)
	}
	return nil
}

// impatient makes connections on which an answer must come within answerTime, so
// that a cut network is noticed although statements have no context.
func impatient(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &impatientConn{Conn: c}, nil
	}
}

type impatientConn struct {
	net.Conn
	mu    sync.Mutex
	limit time.Time // set by pgx when the context of a statement is done; guarded by mu
}

// SetDeadline is how pgx ends a statement early.
func (c *impatientConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = t
	return c.Conn.SetDeadline(t)
}

func (c *impatientConn) Read(p []byte) (int, error) {
	if err := c.await(); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *impatientConn) await() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limit.IsZero() {
		return nil
	}
	return c.SetReadDeadline(time.Now().Add(answerTime))
}

// postgresWrite runs f in a READ COMMITTED transaction, again if the database
// chose it as the loser of a conflict.
func (db *DB) postgresWrite(ctx context.Context, f func(access.Tx) error) error {
	for n := 1; ; n++ {
		u, err := db.postgresTry(ctx, f)
		if err == nil {
			u.committed()
			return nil
		}
		if !conflict(err) || n == tries {
			return err
		}
		if err := pause(ctx, n); err != nil {
			return err
		}
	}
}

func (db *DB) postgresTry(ctx context.Context, f func(access.Tx) error) (*unit, error) {
	conn, release, err := db.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	u := &unit{db: db, conn: conn, writable: true}
	return u, inTransaction(u, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", f)
}

// conflict reports whether the transaction was rolled back in favour of another
// one: serialization_failure or deadlock_detected.
func conflict(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code == "40001" || e.Code == "40P01")
}

// pause waits a little longer, and a little differently, after each try.
func pause(ctx context.Context, n int) error {
	most := min(time.Millisecond<<n, 100*time.Millisecond)
	timer := time.NewTimer(most/2 + rand.N(most/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inTransaction runs f between begin and COMMIT, or ROLLBACK. A connection whose
// state is in doubt is not used again.
func inTransaction(u *unit, begin string, f func(access.Tx) error) (err error) {
	ctx := context.Background()
	if _, err := u.conn.ExecContext(ctx, begin); err != nil {
		discard(u.conn)
		return err
	}
	ended := false
	defer func() { // also when f ends the goroutine
		u.over = true
		if ended {
			return
		}
		if _, undone := u.conn.ExecContext(ctx, "ROLLBACK"); undone != nil {
			discard(u.conn)
		}
	}()
	if err := u.run(f); err != nil {
		return err
	}
	ended = true
	if err := commit(u); err != nil {
		discard(u.conn)
		return err
	}
	return nil
}

// commit ends the transaction. PostgreSQL answers COMMIT with ROLLBACK where a
// statement had failed, and calls that a success.
func commit(u *unit) error {
	if u.db.dialect == sqlite {
		_, err := u.conn.ExecContext(context.Background(), "COMMIT")
		return err
	}
	return u.conn.Raw(func(c any) error {
		tag, err := c.(*stdlib.Conn).Conn().Exec(context.Background(), "COMMIT")
		if err != nil {
			return err
		}
		if tag.String() != "COMMIT" {
			return fmt.Errorf("COMMIT was answered with %s", tag)
		}
		return nil
	})
}

// discard closes the connection instead of giving it back to its pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	_ = conn.Close()
}
