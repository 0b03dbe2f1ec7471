package workspace

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Bounds of an AuditLog.
const (
	auditDelay   = 100 * time.Millisecond // the most that an entry waits before it is written
	auditBatch   = 500                    // entries of one transaction
	auditHeld    = 50_000                 // entries held in memory while the database is away: some 20 MB
	auditRetry   = time.Second            // between tries while the database is away
	auditAtStop  = 10 * time.Second       // for the last try at Stop
	auditFailing = 5 * time.Second        // a try that takes longer has failed
)

// AuditLog writes the entries of allowed reads in batches, so that a read does
// not wait for a disk. Entries of what changed something, and of denials, do not
// pass through it: AuditStore.AppendAudit writes them in a transaction of theirs.
//
// While the database is away entries wait in memory; beyond auditHeld Later waits
// too, so that nothing is read that is not recorded.
type AuditLog struct {
	work  access.Work
	store AuditStore
	log   *slog.Logger

	mu      sync.Mutex
	room    sync.Cond // of mu: entries were written, or the log stopped
	waiting []Entry   // guarded by mu
	stopped bool      // guarded by mu

	full    chan struct{}      // a batch is full: write now
	flushes chan chan error    // requests of Flush
	stop    context.CancelFunc // ends run
	ended   chan struct{}      // closed when run has ended
}

// NewAuditLog makes the log and starts to write. Stop ends it.
func NewAuditLog(work access.Work, store AuditStore, log *slog.Logger) *AuditLog {
	ctx, stop := context.WithCancel(context.Background())
	l := &AuditLog{
		work: work, store: store, log: log,
		full: make(chan struct{}, 1), flushes: make(chan chan error), stop: stop, ended: make(chan struct{}),
	}
	l.room.L = &l.mu
	go l.run(ctx)
	return l
}

// Later takes an entry to be written within 100 ms. It does not block unless the
// database has been away for long. After Stop it writes the entry at once.
func (l *AuditLog) Later(e Entry) {
	l.mu.Lock()
	for len(l.waiting) >= auditHeld && !l.stopped {
		l.room.Wait()
	}
	l.waiting = append(l.waiting, e)
	n, stopped := len(l.waiting), l.stopped
	l.mu.Unlock()
	switch {
	case stopped:
		<-l.ended
		l.writeLast()
	case n == 1 || n == auditBatch: // the first starts the clock, a full batch does not wait for it
		l.wake()
	}
}

func (l *AuditLog) wake() {
	select {
	case l.full <- struct{}{}:
	default: // it is awake
	}
}

// Flush writes what waits and returns once that is durable, or says why not.
func (l *AuditLog) Flush(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case l.flushes <- done:
	case <-l.ended:
		return l.write(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop writes what waits and ends the log. What can't be written within 10 s is
// lost, and the error says how much that is.
func (l *AuditLog) Stop() error {
	l.mu.Lock()
	l.stopped = true
	l.room.Broadcast()
	l.mu.Unlock()
	l.stop()
	<-l.ended
	return l.writeLast()
}

func (l *AuditLog) writeLast() error {
	ctx, cancel := context.WithTimeout(context.Background(), auditAtStop)
	defer cancel()
	err := l.write(ctx)
	if err != nil {
		l.log.Error("audit of reads is lost", "entries", l.count(), "err", err)
	}
	return err
}

func (l *AuditLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// run is the only one that writes until it ends.
func (l *AuditLog) run(ctx context.Context) {
	defer close(l.ended)
	timer := time.NewTimer(auditDelay)
	timer.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case done := <-l.flushes:
			done <- l.write(ctx)
			continue
		case <-l.full:
			if n := l.count(); n < auditBatch || failing {
				if !failing {
					timer.Reset(auditDelay)
				}
				continue
			}
		case <-timer.C:
		}
		err := l.write(ctx)
		switch {
		case err == nil:
			failing = false
			timer.Stop()
		case ctx.Err() == nil:
			if !failing {
				l.log.Warn("audit of reads waits for the database", "err", err)
			}
			failing = true
			timer.Reset(auditRetry)
		}
	}
}

// write writes all that waits, a batch at a time. What fails waits on.
func (l *AuditLog) write(ctx context.Context) error {
	for {
		l.mu.Lock()
		batch := l.waiting[:min(len(l.waiting), auditBatch)]
		l.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		try, cancel := context.WithTimeout(ctx, auditFailing)
		err := l.work.Write(try, func(tx access.Tx) error { return l.store.AppendAudit(try, tx, batch...) })
		cancel()
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.waiting = append([]Entry(nil), l.waiting[len(batch):]...)
		l.room.Broadcast()
		l.mu.Unlock()
	}
}
