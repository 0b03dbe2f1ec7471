package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// NoticeType says what a person is told.
type NoticeType string

// The types of notices.
const (
	NoticeHandoffProposed NoticeType = "handoff.proposed" // to the session's owner
	NoticeTaskWaiting     NoticeType = "task.waiting"     // to the session's owner and whoever queued the task
	NoticeTaskEnded       NoticeType = "task.ended"       // to the person who queued the task
)

// Notice is something that a person is told in the app.
type Notice struct {
	ID          string
	WorkspaceID string
	UserID      string // who is told
	Type        NoticeType
	About       NoticeAbout
	CreatedAt   time.Time
	ReadAt      time.Time // zero: not yet
}

// NoticeAbout is what a notice is about. It holds no words of the session, which
// the person may not be able to see any more.
type NoticeAbout struct {
	SessionID    string    `json:"session_id,omitzero"`
	HandoffID    string    `json:"handoff_id,omitzero"`
	TaskID       string    `json:"task_id,omitzero"`
	State        TaskState `json:"state,omitzero"`         // of the task
	ConnectionID string    `json:"connection_id,omitzero"` // whose doing it is
	Connection   string    `json:"connection,omitzero"`    // its display name then
}

// Text is the notice in one line.
func (n Notice) Text() string {
	who := n.About.Connection
	if who == "" {
		who = "An assistant"
	}
	switch n.Type {
	case NoticeHandoffProposed:
		return who + " requests a handoff"
	case NoticeTaskWaiting:
		return "A task waits for a person"
	case NoticeTaskEnded:
		return "A task " + endWord(n.About.State)
	}
	return string(n.Type)
}

// endWord is how a task ended.
func endWord(state TaskState) string {
	if state == "" {
		return "ended"
	}
	return string(state)
}

// MaxNoticesRead is how many notices can be named at once.
const MaxNoticesRead = 200

// NoticeStore keeps notices. People see those of workspaces they are in.
type NoticeStore interface {
	InsertNotice(ctx context.Context, tx access.Tx, n Notice) error
	// NoticesOf lists a person's, newest first, before the one with ID page.After.
	NoticesOf(ctx context.Context, tx access.Tx, userID string, unread bool, page Page) ([]Notice, error)
	CountUnread(ctx context.Context, tx access.Tx, userID string) (int64, error)
	// MarkRead marks those of the person's with these IDs as read, or all of them if
	// ids is nil.
	MarkRead(ctx context.Context, tx access.Tx, userID string, ids []string, now time.Time) error
}

// Notices tells people what waits for them.
type Notices struct {
	store  NoticeStore
	events *Events
	now    func() time.Time
}

// NewNotices makes the service on its store, the events and the clock.
func NewNotices(store NoticeStore, events *Events, now func() time.Time) *Notices {
	return &Notices{store, events, now}
}

// Tell keeps a notice in tx and lets the person's own stream know. ID and CreatedAt
// are set here; by is who caused it.
func (s *Notices) Tell(ctx context.Context, tx access.Tx, by access.Principal, n Notice) error {
	n.ID, n.CreatedAt = NewID(), s.now()
	if err := s.store.InsertNotice(ctx, tx, n); err != nil {
		return err
	}
	return s.events.Record(ctx, tx, by, Event{
		WorkspaceID: n.WorkspaceID, Type: EventNoticeCreated, Kind: access.KindSession, ResourceID: n.About.SessionID,
		Data: map[string]any{"notice_id": n.ID, EventFor: n.UserID},
	})
}

// EventNoticeCreated is the type of the event of a new notice, and EventFor the
// member of its data that names the one person who hears of it.
const (
	EventNoticeCreated = "notice.created"
	EventFor           = "for_user_id"
)

// List lists the person's own notices, newest first.
func (s *Notices) List(ctx context.Context, tx access.Tx, who access.Principal, unread bool, page Page) (Listing[Notice], error) {
	rows, err := s.store.NoticesOf(ctx, tx, who.UserID, unread, Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(n Notice) string { return n.ID }), err
}

// Read marks the person's own notices as read, all of them if ids is nil, and says
// how many are left. Those of others are passed over.
func (s *Notices) Read(ctx context.Context, tx access.Tx, who access.Principal, ids []string) (unread int64, err error) {
	if len(ids) > MaxNoticesRead {
		return 0, refuseFaults(faultf("/ids", "takes at most %d IDs, got %d", MaxNoticesRead, len(ids)))
	}
	if err := s.store.MarkRead(ctx, tx, who.UserID, ids, s.now()); err != nil {
		return 0, err
	}
	return s.store.CountUnread(ctx, tx, who.UserID)
}
