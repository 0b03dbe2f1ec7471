package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	sqlite3 "modernc.org/sqlite"
	sqlite3lib "modernc.org/sqlite/lib"

	"github.com/osfoundry/osfoundry/internal/access"
)

// unavailable is the answer while the database cannot do what was asked, or
// cannot say whether it did. A repeat with the same idempotency key settles it.
func unavailable(cause error) *access.Error {
	return access.Refuse(access.Unavailable, "The database cannot do this at the moment. Try again in a moment, with the same idempotency key if there is one.").Because(cause)
}

// judged turns an error into what callers are told; see the function of that name. Where one connection broke, the idle
// ones broke with it, most likely, and are not worth an error each.
func (db *DB) judged(err error) error {
	if err != nil && db.dialect == postgres && broken(err) {
		db.readers.SetMaxIdleConns(0)
		db.readers.SetMaxIdleConns(cap(db.free))
	}
	return judged(err)
}

// judged turns an error of a unit of work into what callers are told: a refusal
// stays what it is, a fault of the database is Unavailable, anything else is a
// mistake of ours and stays as it is.
func judged(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*access.Error](err); ok && e.Code != access.Internal {
		return err
	}
	if lost(err) {
		return unavailable(err)
	}
	return err
}

// lost reports whether err says that the database is away, full or overloaded,
// rather than that a statement is wrong.
func lost(err error) bool {
	if e, ok := errors.AsType[*sqlite3.Error](err); ok {
		return sqliteLost(e.Code())
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return postgresLost(e.Code)
	}
	return broken(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// broken reports whether err says that the connection is gone, not what became of
// the statement on it.
func broken(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return strings.HasPrefix(e.Code, "57P") // the server shut down, or ended the session
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, sign := range []error{driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, sql.ErrConnDone} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return strings.HasSuffix(err.Error(), "conn closed") // pgx has no value for it
}

func sqliteLost(code int) bool {
	switch code & 0xff {
	case sqlite3lib.SQLITE_FULL, sqlite3lib.SQLITE_IOERR, sqlite3lib.SQLITE_READONLY, sqlite3lib.SQLITE_CANTOPEN,
		sqlite3lib.SQLITE_BUSY, sqlite3lib.SQLITE_LOCKED, sqlite3lib.SQLITE_NOMEM, sqlite3lib.SQLITE_PROTOCOL,
		sqlite3lib.SQLITE_INTERRUPT, sqlite3lib.SQLITE_ABORT:
		return true
	}
	return false
}

// full reports whether SQLite had no room, which it notices before it writes the
// mark that makes a commit valid.
func full(err error) bool {
	e, ok := errors.AsType[*sqlite3.Error](err)
	return ok && e.Code()&0xff == sqlite3lib.SQLITE_FULL
}

// postgresLost judges an SQLSTATE by its class where the class is clear
// (PostgreSQL manual, appendix A).
func postgresLost(code string) bool {
	switch code[:min(2, len(code))] {
	case "08", // connection exception
		"40", // transaction rollback: tried often enough
		"53", // insufficient resources: disk full, too many connections
		"57", // operator intervention: shutdown, terminated, cancelled
		"58": // system error: I/O
		return true
	}
	switch code {
	case "55P03", // lock not available within lock_timeout
		"25006", // read-only transaction: the primary became a standby
		"25P03": // idle in transaction for too long
		return true
	}
	return false
}
