package storage

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	sqlite3 "modernc.org/sqlite"
)

// maxStatements is how many prepared statements one connection keeps. The
// program has fewer texts than this, apart from those whose IN-lists vary.
const maxStatements = 512

// sqliteConnector opens connections that prepare each text once, and refuses a
// connection that is not as durable as the database promises to be.
type sqliteConnector struct {
	driver.Connector
	accept func(ctx context.Context, c *sqliteConn) error
}

// Connect opens and accepts one connection.
func (s sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	base, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := base.(driverConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks an interface of database/sql"), base.Close())
	}
	c := &sqliteConn{driverConn: full, statements: map[string]*sqliteStatement{}}
	if err := s.accept(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// driverConn is what a connection of the driver can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteConn is one connection with its prepared statements. As any driver.Conn
// it is used by one goroutine at a time.
type sqliteConn struct {
	driverConn
	statements map[string]*sqliteStatement
}

type sqliteStatement struct {
	driver.Stmt
	busy bool // its rows are still being read
}

// Unwrap gives the connection of the driver, which sqlite3.Limit asks for.
func (c *sqliteConn) Unwrap() driver.Conn { return c.driverConn }

var _ = sqlite3.Limit // the user of Unwrap

// prepared finds or makes the statement of a text. It returns nil while the one
// there is has rows open; the text is then prepared for that one use.
func (c *sqliteConn) prepared(ctx context.Context, query string) (*sqliteStatement, error) {
	if s := c.statements[query]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	if len(c.statements) >= maxStatements {
		c.forgetOne()
	}
	base, err := c.driverConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s := &sqliteStatement{Stmt: base}
	c.statements[query] = s
	return s, nil
}

func (c *sqliteConn) forgetOne() {
	for query, s := range c.statements {
		if s.busy {
			continue
		}
		s.Close()
		delete(c.statements, query)
		return
	}
}

// ExecContext runs a statement that returns nothing.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.driverConn.ExecContext(ctx, query, args)
	}
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext runs a statement that returns rows.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.driverConn.QueryContext(ctx, query, args)
	}
	base, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &sqliteRows{Rows: base, statement: s}, nil
}

// Close closes the connection and its statements.
func (c *sqliteConn) Close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.Close())
	}
	clear(c.statements)
	return errors.Join(append(errs, c.driverConn.Close())...)
}

// one reads a single value.
func (c *sqliteConn) one(ctx context.Context, query string) (driver.Value, error) {
	rows, err := c.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	value := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(value); errors.Is(err, io.EOF) {
		return nil, errors.New("no answer to " + query)
	} else if err != nil {
		return nil, err
	}
	return value[0], nil
}

// sqliteRows gives the statement back when it is closed.
type sqliteRows struct {
	driver.Rows
	statement *sqliteStatement
}

func (r *sqliteRows) Close() error {
	r.statement.busy = false
	return r.Rows.Close()
}
