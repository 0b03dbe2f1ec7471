package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Limits of mail, in Unicode code points.
const (
	MaxMailSubject = 200
	MaxMailBody    = 10_000
)

// SenderKind says who wrote mail.
type SenderKind string

// The senders of mail.
const (
	FromAgent      SenderKind = "agent"
	FromConnection SenderKind = "connection"
	FromPerson     SenderKind = "person"
)

// Mail is a note in a session, from one of its agents, a connection or a person. It
// is mail only: it never starts a run.
type Mail struct {
	ID           string // UUIDv7; the order of mail
	WorkspaceID  string
	SessionID    string
	TaskID       string // "" outside tasks
	FromKind     SenderKind
	FromID       string // slug, connection or user
	FromName     string // as it is shown; of a connection its display name
	FromSlug     string // to answer to: of an agent, or the external sender slug of a connection
	ToAgent      string // slug; "" is the whole team, unless ToConnection is set
	ToConnection string // "", or the connection that may read it
	ToName       string // display name of that connection
	ToSlug       string // its external sender slug
	Internal     bool   // agents' own analysis, which no connection ever sees
	ReplyTo      string // ID of mail of the same session
	Subject      string
	Body         string
	CreatedAt    time.Time
}

// MailStore keeps mail. Lists are newest first and go on before the ID page.After.
type MailStore interface {
	AddMail(ctx context.Context, tx access.Tx, m Mail) error
	// SessionMail lists all mail of the session.
	SessionMail(ctx context.Context, tx access.Tx, workspaceID, sessionID string, page Page) ([]Mail, error)
	// ConnectionMail lists what the connection posted in the session, and what is
	// addressed to it there; nothing internal.
	ConnectionMail(ctx context.Context, tx access.Tx, workspaceID, sessionID, connectionID string, page Page) ([]Mail, error)
	// OneMail finds mail of the session by its ID.
	OneMail(ctx context.Context, tx access.Tx, workspaceID, sessionID, mailID string) (m Mail, ok bool, err error)
	// AgentMail lists, in order, the mail that a round of the task may show to the
	// agent: what other agents of the task wrote to it or to the whole team, what
	// people and connections wrote to it or to all, and the answers that agents gave
	// to connections, in all tasks. Where a connection is behind the task, of the
	// latter two only what that connection may read itself. At most limit until the
	// moment, the newest.
	AgentMail(ctx context.Context, tx access.Tx, t Task, agent string, until time.Time, limit int) ([]Mail, error)
	// MailAddress finds the active connection with this external sender slug and a
	// seat in the session that has an effect, as its project is given to it.
	MailAddress(ctx context.Context, tx access.Tx, sessionID, slug string) (connectionID string, ok bool, err error)
}

// Mails is what can be done with the mail of sessions.
type Mails struct {
	store  MailStore
	events *Events
	now    func() time.Time
}

// NewMails makes the service on its store, the events and the clock.
func NewMails(store MailStore, events *Events, now func() time.Time) *Mails {
	return &Mails{store, events, now}
}

// sendFromTask keeps mail that an agent wrote in a task. What it says is the
// agent's; where it lies is the task's.
func (s *Mails) sendFromTask(ctx context.Context, tx access.Tx, place TaskPlace, m Mail) error {
	m.Subject, m.Body = clip(storable(m.Subject), MaxMailSubject), clip(storable(m.Body), MaxMailBody)
	m.ID, m.CreatedAt = NewID(), s.now()
	m.WorkspaceID, m.SessionID, m.TaskID, m.FromKind = place.WorkspaceID, place.SessionID, place.TaskID, FromAgent
	if err := s.store.AddMail(ctx, tx, m); err != nil {
		return err
	}
	return s.events.Record(ctx, tx, place.principal(), place.event("mail.posted", map[string]any{"mail_id": m.ID}))
}
