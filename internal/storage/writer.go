package storage

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Group commit. SQLite has one writer at a time, and a commit costs an fsync.
// Units of work take turns on the one connection for writing; as long as others
// wait for their turn, the transaction stays open for them, and the last one of
// the group commits for all. Each unit runs in its own goroutine and in its own
// savepoint, so that what goes wrong in one is undone alone:
//
//	BEGIN IMMEDIATE
//	  SAVEPOINT unit → f of the first  → RELEASE
//	  SAVEPOINT unit → f of the second → ROLLBACK TO, RELEASE (it failed)
//	  SAVEPOINT unit → f of the third  → RELEASE
//	COMMIT, one fsync; then the first and the third are acknowledged
const (
	groupUnits = 256                  // most units of a group
	groupTime  = 5 * time.Millisecond // longest a group stays open for more; it bounds what the first one waits
)

// errGroupLost says that the transaction ended because of another unit; nothing
// of it was committed, so the unit can be tried again.
var errGroupLost = errors.New("the transaction was rolled back because of another unit of work")

// writerQueue is the turns of the writer.
type writerQueue struct {
	db *sql.DB // one connection

	mu    sync.Mutex
	taken bool            // somebody has the turn; guarded by mu
	line  []chan struct{} // who waits for it, in order; guarded by mu

	open *group // belongs to whoever has the turn
}

// group is one transaction.
type group struct {
	conn  *sql.Conn
	since time.Time
	units int
	lost  error         // it was rolled back; set before done is closed
	done  chan struct{} // closed when the outcome is known
	err   error         // the outcome; set before done is closed
}

// write runs one unit of work and returns when it is durable.
func (w *writerQueue) write(ctx context.Context, db *DB, f func(access.Tx) error) error {
	u, err := w.try(ctx, db, f, false)
	if errors.Is(err, errGroupLost) {
		u, err = w.try(ctx, db, f, true)
	}
	if err != nil {
		return err
	}
	u.committed()
	return nil
}

// try runs the unit once, in a group, or alone in a transaction of its own.
func (w *writerQueue) try(ctx context.Context, db *DB, f func(access.Tx) error, alone bool) (*unit, error) {
	if err := w.takeTurn(ctx); err != nil {
		return nil, err
	}
	u := &unit{db: db, writable: true}
	var g *group
	err := func() (err error) {
		// Also when f ends the goroutine: the turn must go on in any case.
		defer func() { w.endTurn(alone) }()
		if alone {
			w.commit()
		}
		if g, err = w.join(); err != nil {
			return err
		}
		return w.run(g, u, f)
	}()
	if err != nil {
		return nil, err
	}
	<-g.done
	switch {
	case g.lost != nil && g.units > 1:
		return nil, errGroupLost
	case g.err != nil:
		return nil, g.err
	}
	return u, nil
}

// takeTurn waits for the turn, at most lockWait.
func (w *writerQueue) takeTurn(ctx context.Context) error {
	w.mu.Lock()
	if !w.taken {
		w.taken = true
		w.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	w.line = append(w.line, mine)
	w.mu.Unlock()

	timeout := time.NewTimer(lockWait * time.Millisecond)
	defer timeout.Stop()
	cause := errors.New("waited too long for the writer")
	select {
	case <-mine:
		return nil
	case <-timeout.C:
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	if w.leave(mine) {
		return unavailable(cause)
	}
	<-mine // the turn came in the same moment
	w.endTurn(false)
	return unavailable(cause)
}

// leave takes a waiter out of the line; false if it is not there any more.
func (w *writerQueue) leave(mine chan struct{}) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.line, mine)
	if i < 0 {
		return false
	}
	w.line = slices.Delete(w.line, i, i+1)
	return true
}

// endTurn gives the turn to the next in line, in the same transaction if that may
// stay open, or else commits it first.
func (w *writerQueue) endTurn(alone bool) {
	if g := w.open; g != nil && !alone && g.lost == nil && g.units < groupUnits && time.Since(g.since) < groupTime && w.pass() {
		return
	}
	w.commit()
	if w.pass() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.line) > 0 { // somebody came meanwhile
		w.passLocked()
		return
	}
	w.taken = false
}

func (w *writerQueue) pass() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passLocked()
}

func (w *writerQueue) passLocked() bool {
	if len(w.line) == 0 {
		return false
	}
	next := w.line[0]
	w.line = slices.Delete(w.line, 0, 1)
	close(next)
	return true
}

// join is the open group, or a new one.
func (w *writerQueue) join() (*group, error) {
	if w.open != nil {
		w.open.units++
		return w.open, nil
	}
	conn, err := w.db.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(context.Background(), "BEGIN IMMEDIATE"); err != nil {
		discard(conn)
		return nil, err
	}
	w.open = &group{conn: conn, since: time.Now(), units: 1, done: make(chan struct{})}
	return w.open, nil
}

// run runs f in a savepoint and ends the savepoint.
func (w *writerQueue) run(g *group, u *unit, f func(access.Tx) error) (err error) {
	ctx := context.Background()
	u.conn = g.conn
	if _, err := g.conn.ExecContext(ctx, "SAVEPOINT unit"); err != nil {
		g.lost = err
		return err
	}
	finished := false
	defer func() {
		u.over = true
		if finished && err == nil {
			if _, err = g.conn.ExecContext(ctx, "RELEASE unit"); err == nil {
				return
			}
		}
		if lost := undo(g.conn); lost != nil {
			g.lost = lost
		}
	}()
	err = u.run(f)
	finished = true
	return err
}

// undo rolls back to the savepoint. It fails where SQLite ended the whole
// transaction, as it does when the disk is full.
func undo(conn *sql.Conn) error {
	for _, step := range []string{"ROLLBACK TO unit", "RELEASE unit"} {
		if _, err := conn.ExecContext(context.Background(), step); err != nil {
			return err
		}
	}
	return nil
}

// commit ends the open group, if there is one, and says so to all its units.
func (w *writerQueue) commit() {
	g := w.open
	if g == nil {
		return
	}
	w.open = nil
	defer close(g.done)
	if g.lost == nil {
		_, g.err = g.conn.ExecContext(context.Background(), "COMMIT")
	} else {
		g.err = g.lost
	}
	if g.err == nil {
		_ = g.conn.Close() // back to the pool; the commit stands
		return
	}
	// A commit that failed is rolled back. It may be retried only where SQLite
	// never reached the point of writing it.
	if full(g.err) {
		g.lost = g.err
	}
	if !idle(g.conn) {
		discard(g.conn)
		return
	}
	_ = g.conn.Close()
}

// idle brings the connection out of any transaction; false if that is in doubt.
func idle(conn *sql.Conn) bool {
	ctx := context.Background()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err == nil {
		return true
	}
	// Either SQLite had rolled back by itself, and the next works, or not.
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return false
	}
	_, err := conn.ExecContext(ctx, "ROLLBACK")
	return err == nil
}
