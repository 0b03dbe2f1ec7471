package workspace

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// ledger is a database of audit entries that can be away, refuse an entry, or
// write without saying so.
type ledger struct {
	AuditStore

	mu      sync.Mutex
	away    bool
	hidden  bool // what is written is acknowledged as Unavailable
	bad     string
	written []string
	batches []int
	known   map[string]bool
}

func (l *ledger) Read(context.Context, func(access.Tx) error) error {
	panic("an audit log only writes")
}

func (l *ledger) ReadOne(context.Context, func(access.Tx) error) error {
	panic("an audit log only writes")
}

func (l *ledger) Write(ctx context.Context, f func(access.Tx) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return access.Refuse(access.Unavailable, "away")
	}
	if err := f(nil); err != nil {
		return err
	}
	if l.hidden {
		return access.Refuse(access.Unavailable, "nobody knows")
	}
	return nil
}

func (l *ledger) AppendAudit(_ context.Context, _ access.Tx, entries ...Entry) error {
	for _, e := range entries {
		if e.ID == l.bad {
			return errors.New("this entry can't be written")
		}
	}
	l.batches = append(l.batches, len(entries))
	for _, e := range entries {
		if !l.known[e.ID] {
			l.known[e.ID] = true
			l.written = append(l.written, e.ID)
		}
	}
	return nil
}

func (l *ledger) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.written)
}

// withLog runs f with a log in a bubble with a clock of its own.
func withLog(t *testing.T, f func(t *testing.T, l *ledger, log *AuditLog)) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{known: map[string]bool{}}
		log := NewAuditLog(l, l, slog.New(slog.NewTextHandler(io.Discard, nil)))
		f(t, l, log)
	})
}

func enter(log *AuditLog, from, to int) {
	for i := from; i < to; i++ {
		log.Later(Entry{ID: strconv.Itoa(i)})
	}
}

func stop(t *testing.T, l *ledger, log *AuditLog, want int) {
	t.Helper()
	if err := log.Stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if got := l.count(); got != want {
		t.Errorf("got %d entries after the stop, want %d", got, want)
	}
}

func TestEntriesAreWrittenWithinTheDelay(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		enter(log, 0, 3)
		time.Sleep(auditDelay - time.Millisecond)
		synctest.Wait()
		if n := l.count(); n != 0 {
			t.Errorf("%d entries were written too early to share a transaction", n)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if n := l.count(); n != 3 || len(l.batches) != 1 {
			t.Errorf("got %d entries in batches of %v, want 3 in one", n, l.batches)
		}
		enter(log, 3, 4)
		time.Sleep(auditDelay)
		synctest.Wait()
		if n := l.count(); n != 4 {
			t.Errorf("got %d entries, want the second delay to work as the first", n)
		}
		stop(t, l, log, 4)
	})
}

func TestAFullBatchDoesNotWait(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		enter(log, 0, auditBatch)
		synctest.Wait()
		if n := l.count(); n != auditBatch {
			t.Errorf("got %d entries, want %d at once", n, auditBatch)
		}
		stop(t, l, log, auditBatch)
	})
}

func TestNothingIsLostAtStop(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { enter(log, i*100, i*100+100) })
		}
		wg.Wait()
		stop(t, l, log, 2000)
		enter(log, 5000, 5001) // a call that was still on its way
		if n := l.count(); n != 2001 {
			t.Errorf("got %d entries, want the late one too", n)
		}
		for _, n := range l.batches {
			if n > auditBatch {
				t.Errorf("got a batch of %d, want at most %d", n, auditBatch)
			}
		}
	})
}

func TestFlushIsDurable(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		enter(log, 0, 7)
		if err := log.Flush(t.Context()); err != nil || l.count() != 7 {
			t.Errorf("got %d entries and %v", l.count(), err)
		}
		l.set(func() { l.away = true })
		enter(log, 7, 8)
		if err := log.Flush(t.Context()); access.CodeOf(err) != access.Unavailable {
			t.Errorf("got %v from a database that is away", err)
		}
		l.set(func() { l.away = false })
		time.Sleep(auditRetry)
		synctest.Wait()
		if l.count() != 8 {
			t.Errorf("got %d entries, want the failed flush to be tried again", l.count())
		}
		stop(t, l, log, 8)
	})
}

func TestAnOutageLosesNothing(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		l.set(func() { l.away = true })
		for i := range 20 {
			enter(log, i*100, i*100+100)
			time.Sleep(3 * auditDelay)
		}
		l.set(func() { l.away, l.hidden = false, true }) // back, but each answer is lost
		time.Sleep(3 * auditRetry)
		l.set(func() { l.hidden = false })
		time.Sleep(auditRetry)
		synctest.Wait()
		if n := l.count(); n != 2000 {
			t.Errorf("got %d entries after the outage, want 2000, each once", n)
		}
		enter(log, 2000, 2001)
		time.Sleep(auditDelay)
		synctest.Wait()
		if n := l.count(); n != 2001 {
			t.Errorf("got %d entries, want the usual delay again", n)
		}
		stop(t, l, log, 2001)
	})
}

func TestOneBadEntryHoldsNothingUp(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		l.bad = "13"
		enter(log, 0, 50)
		stop(t, l, log, 49)
	})
}

func TestMemoryIsBounded(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		l.set(func() { l.away = true })
		enter(log, 0, auditHeld)
		entered := make(chan struct{})
		go func() {
			enter(log, auditHeld, auditHeld+1)
			close(entered)
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		select {
		case <-entered:
			t.Error("an entry beyond the bound was taken while the database is away")
		default:
		}
		l.set(func() { l.away = false })
		<-entered
		stop(t, l, log, auditHeld+1)
	})
}

func TestStopSaysWhatIsLost(t *testing.T) {
	withLog(t, func(t *testing.T, l *ledger, log *AuditLog) {
		l.set(func() { l.away = true })
		enter(log, 0, 5)
		if err := log.Stop(); access.CodeOf(err) != access.Unavailable {
			t.Errorf("got %v, want the reason", err)
		}
	})
}
