package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
)

// unit is a unit of work. It is the access.Tx that stores are given, and the
// connection that their statements run on. It belongs to one goroutine.
type unit struct {
	db       *DB
	conn     *sql.Conn
	writable bool
	single   bool // no transaction: its one statement is its own snapshot
	begun    int  // statements so far
	over     bool
	broken   error // a statement failed, or broke the rules: the unit fails, whatever f returns
	hooks    []func()
}

// Writable reports whether the unit of work can change anything.
func (u *unit) Writable() bool { return u.writable }

// AfterCommit runs f once the unit of work is durable, in the goroutine that ran
// the unit of work.
func (u *unit) AfterCommit(f func()) { u.hooks = append(u.hooks, f) }

// committed runs the hooks.
func (u *unit) committed() {
	for _, f := range u.hooks {
		f()
	}
}

// on gives the generated queries bound to the unit of work.
func on(tx access.Tx) *gen.Queries { return gen.New(tx.(*unit)) }

// raw gives the connection of the unit of work, and the dialect it speaks, for
// statements that are put together by hand. Values always travel as parameters
// ($1, $2 … on both databases).
func raw(tx access.Tx) (gen.DBTX, dialect) {
	u := tx.(*unit)
	return u, u.db.dialect
}

// long is raw for the few statements whose work grows with the data, such as a
// search: they end with ctx. All others run to their end, because a context that
// can be cancelled costs a goroutine for each statement.
func long(tx access.Tx) (gen.DBTX, dialect) {
	u := tx.(*unit)
	return cancellable{u}, u.db.dialect
}

var (
	errOver   = errors.New("unit of work used after its end")
	errSingle = errors.New("second statement in a unit of work for one")
	errBroken = errors.New("a statement of this unit of work failed before")
)

// neverRuns is a context that is done, for the one method of database/sql that
// cannot return an error of ours.
var neverRuns = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// statement counts a statement, or says why there may be none. After one that
// failed there may be none: PostgreSQL has given up the transaction by then, and
// SQLite may have rolled it back, so that the next would stand alone.
func (u *unit) statement() error {
	if u.over {
		return errOver
	}
	if u.broken != nil {
		return errBroken
	}
	if u.begun++; u.single && u.begun > 1 {
		u.broken = errSingle
		return errSingle
	}
	return nil
}

func (u *unit) exec(ctx context.Context, query string, args []any) (sql.Result, error) {
	if err := u.statement(); err != nil {
		return nil, err
	}
	result, err := u.conn.ExecContext(ctx, query, args...)
	u.broken = err
	return result, err
}

func (u *unit) query(ctx context.Context, query string, args []any) (*sql.Rows, error) {
	if err := u.statement(); err != nil {
		return nil, err
	}
	rows, err := u.conn.QueryContext(ctx, query, args...)
	u.broken = err
	return rows, err
}

func (u *unit) queryRow(ctx context.Context, query string, args []any) *sql.Row {
	if u.statement() != nil {
		return u.conn.QueryRowContext(neverRuns, query, args...)
	}
	row := u.conn.QueryRowContext(ctx, query, args...)
	u.broken = row.Err()
	return row
}

// run runs f in the unit. A panic is the unit's error.
func (u *unit) run(f func(access.Tx) error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = access.Refuse(access.Internal, "The call failed, and nothing of it was kept.").
				Because(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	if err = f(u); err == nil {
		err = u.broken
	}
	return err
}

// ExecContext, QueryContext, QueryRowContext and PrepareContext make a unit the
// gen.DBTX of the generated queries. They do not watch the context; see long.
func (u *unit) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	return u.exec(context.Background(), query, args)
}

func (u *unit) QueryContext(_ context.Context, query string, args ...any) (*sql.Rows, error) {
	return u.query(context.Background(), query, args)
}

func (u *unit) QueryRowContext(_ context.Context, query string, args ...any) *sql.Row {
	return u.queryRow(context.Background(), query, args)
}

func (u *unit) PrepareContext(context.Context, string) (*sql.Stmt, error) {
	return nil, errors.New("statements are prepared by the connection, not by its user")
}

// cancellable is a unit whose statements end with their context.
type cancellable struct{ *unit }

func (c cancellable) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return c.exec(ctx, query, args)
}

func (c cancellable) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.query(ctx, query, args)
}

func (c cancellable) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return c.queryRow(ctx, query, args)
}
