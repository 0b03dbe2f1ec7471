package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
)

// WithSQLTx runs f with the transaction of a unit of work as a *sql.Tx, for a
// library that knows no other kind. What f does is part of the unit: it is kept or
// rolled back with it, and an error of a statement fails the unit. Commit and
// Rollback of the *sql.Tx do nothing. Inside f, tx itself must not be used: its
// connection is lent.
func (db *DB) WithSQLTx(tx access.Tx, f func(*sql.Tx) error) error {
	u := tx.(*unit)
	if !u.writable {
		return errors.New("a unit of work that only reads has no transaction to lend")
	}
	var panicked any
	err := u.conn.Raw(func(c any) (err error) {
		// A panic that went through Raw would cost the whole group its connection.
		defer func() { panicked = recover() }()
		base, ok := c.(lendable)
		if !ok {
			return fmt.Errorf("a %T cannot be lent", c)
		}
		return lend(&lentConn{lendable: base, unit: u}, f)
	})
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// lend makes a pool of the one connection for as long as f runs.
func lend(c *lentConn, f func(*sql.Tx) error) error {
	pool := sql.OpenDB(c)
	defer pool.Close() // the connection stays open, see lentConn.Close
	tx, err := pool.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// lendable is what both drivers' connections can do.
type lendable interface {
	driver.Conn
	driver.ExecerContext
	driver.QueryerContext
	driver.ConnPrepareContext
}

// lentConn is the connection of a unit of work as the only one of a pool, which
// can neither end the transaction nor close the connection.
type lentConn struct {
	lendable
	unit *unit
}

var errPrepared = errors.New("statements are prepared by the connection, not by its user")

// Connect and Driver make it the connector of its pool.
func (c *lentConn) Connect(context.Context) (driver.Conn, error) { return c, nil }

func (c *lentConn) Driver() driver.Driver { return nil }

func (c *lentConn) Close() error { return nil }

// BeginTx is the beginning of a transaction that is open already.
func (c *lentConn) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) { return c, nil }

func (c *lentConn) Commit() error { return nil }

func (c *lentConn) Rollback() error { return nil }

func (c *lentConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.unit.statement(); err != nil {
		return nil, err
	}
	result, err := c.lendable.ExecContext(context.Background(), query, args)
	c.unit.broken = err
	return result, err
}

func (c *lentConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.unit.statement(); err != nil {
		return nil, err
	}
	rows, err := c.lendable.QueryContext(context.Background(), query, args)
	c.unit.broken = err
	return rows, err
}

func (c *lentConn) PrepareContext(context.Context, string) (driver.Stmt, error) {
	return nil, errPrepared
}

// CheckNamedValue takes the values that the driver itself takes.
func (c *lentConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.lendable.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
