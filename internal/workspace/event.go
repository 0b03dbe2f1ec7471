package workspace

import (
	"context"
	"sync"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Event says that something happened to one thing. It is written in the unit of
// work of its cause and told to listeners once that is durable.
type Event struct {
	ID           string // UUIDv7; the order of events
	WorkspaceID  string
	ProjectID    string // where the thing lies after the event; "" for none
	Type         string // such as note.created, note.moved, connection.revoked
	Kind         access.Kind
	ResourceID   string
	Version      int64
	UserID       string // who did it; the approver where a connection did
	ConnectionID string // "" for a person
	Data         map[string]any
	CreatedAt    time.Time
}

// EventStore keeps events.
type EventStore interface {
	AppendEvent(ctx context.Context, tx access.Tx, e Event) error
	// EventsAfter lists events of the workspace in order, after the event with ID
	// after; known is false when that event is no longer kept.
	EventsAfter(ctx context.Context, tx access.Tx, workspaceID, after string, limit int) (events []Event, known bool, err error)
}

// Events records what happened and wakes whoever waits for it.
type Events struct {
	store EventStore
	now   func() time.Time

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each event; guarded by mu
}

// NewEvents makes the service on its store and clock.
func NewEvents(store EventStore, now func() time.Time) *Events {
	return &Events{store: store, now: now, changed: make(chan struct{})}
}

// Record writes an event in tx and, once that is durable, wakes the listeners.
// ID and CreatedAt are set here; who did it comes from p.
func (s *Events) Record(ctx context.Context, tx access.Tx, p access.Principal, e Event) error {
	e.ID, e.CreatedAt = NewID(), s.now()
	e.UserID, e.ConnectionID = p.UserID, p.ConnectionID
	if err := s.store.AppendEvent(ctx, tx, e); err != nil {
		return err
	}
	tx.AfterCommit(s.Wake)
	return nil
}

// Wake tells all listeners that there may be something new. A node that shares
// its database with others also calls it when one of them wrote.
func (s *Events) Wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed is closed at the next event. Take it before reading, or one is missed.
func (s *Events) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}
