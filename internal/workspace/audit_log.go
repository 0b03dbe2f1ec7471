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
	waiting []Entry   // guarded by mu; removed by who holds writing
	stopped bool      // guarded by mu

	writing sync.Mutex      // held by the one who writes
	due     chan struct{}   // there is a first entry, or a full batch
	flushes chan chan error // requests of Flush
	quit    chan struct{}   // closed by Stop
	ended   chan struct{}   // closed when run has ended
}

// NewAuditLog makes the log and starts to write. Stop ends it.
func NewAuditLog(work access.Work, store AuditStore, log *slog.Logger) *AuditLog {
	l := &AuditLog{
		work: work, store: store, log: log,
		due: make(chan struct{}, 1), flushes: make(chan chan error), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	l.room.L = &l.mu
	go l.run()
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
		_ = l.writeLast() // which says so in the log
	case n == 1 || n == auditBatch: // the first starts the clock, a full batch does not wait for it
		l.wake()
	}
}

func (l *AuditLog) wake() {
	select {
	case l.due <- struct{}{}:
	default: // it will look anyway
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

// Stop writes what waits and ends the log; call it once. What can't be written
// within 10 s is lost, and the log says how much that is.
func (l *AuditLog) Stop() error {
	l.mu.Lock()
	l.stopped = true
	l.room.Broadcast()
	l.mu.Unlock()
	close(l.quit)
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

// run writes at the right moments until Stop.
func (l *AuditLog) run() {
	defer close(l.ended)
	timer := time.NewTimer(auditDelay)
	timer.Stop()
	away := false // the last try failed: the timer says when to try again
	for {
		var flush chan error
		select {
		case <-l.quit:
			return
		case flush = <-l.flushes:
		case <-l.due:
			if away {
				continue
			}
			if l.count() < auditBatch {
				timer.Reset(auditDelay)
				continue
			}
		case <-timer.C:
		}
		err := l.write(context.Background())
		if flush != nil {
			flush <- err
		}
		if err == nil {
			away = false
			continue
		}
		if !away {
			l.log.Warn("audit of reads waits for the database", "entries", l.count(), "err", err)
		}
		away = true
		timer.Reset(auditRetry)
	}
}

// write writes all that waits, a batch at a time. What fails waits on.
func (l *AuditLog) write(ctx context.Context) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	for {
		l.mu.Lock()
		batch := l.waiting[:min(len(l.waiting), auditBatch)]
		l.mu.Unlock()
		if len(batch) == 0 {
			return nil
		}
		if err := l.append(ctx, batch); err != nil {
			return err
		}
		l.mu.Lock()
		if l.waiting = l.waiting[len(batch):]; len(l.waiting) == 0 {
			l.waiting = nil // let go of what was written
		}
		l.room.Broadcast()
		l.mu.Unlock()
	}
}

// append writes a batch. If the database is there but refuses it, the entries are
// written one by one, so that a single bad one can't hold up the rest.
func (l *AuditLog) append(ctx context.Context, batch []Entry) error {
	err := l.try(ctx, batch)
	if err == nil || access.CodeOf(err) == access.Unavailable || ctx.Err() != nil {
		return err
	}
	for i := range batch {
		err := l.try(ctx, batch[i:i+1])
		if access.CodeOf(err) == access.Unavailable || ctx.Err() != nil {
			return err
		}
		if err != nil {
			l.log.Error("audit entry can't be written", "tool", batch[i].Tool, "connection", batch[i].ConnectionID, "err", err)
		}
	}
	return nil
}

func (l *AuditLog) try(ctx context.Context, entries []Entry) error {
	ctx, cancel := context.WithTimeout(ctx, auditFailing)
	defer cancel()
	err := l.work.Write(ctx, func(tx access.Tx) error { return l.store.AppendAudit(ctx, tx, entries...) })
	if err != nil && ctx.Err() != nil {
		return access.Refuse(access.Unavailable, "The database does not answer.").Because(err)
	}
	return err
}
