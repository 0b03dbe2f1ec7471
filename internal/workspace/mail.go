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
	store     MailStore
	events    *Events
	now       func() time.Time
	publicURL string
}

// NewMails makes the service on its store, the events and the clock. PublicURL is
// the origin under which people reach the web app, without a slash at the end.
func NewMails(store MailStore, events *Events, now func() time.Time, publicURL string) *Mails {
	return &Mails{store, events, now, publicURL}
}

// Own lists mail of the permit's session that its connection posted or that is
// addressed to it, newest first, before the mail with the ID page.After: one that
// it could read itself.
func (s *Mails) Own(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Mail], error) {
	if err := p.Seated(access.KindSession, access.SeatObserver); err != nil {
		return Listing[Mail]{}, err
	}
	if page.After != "" {
		if _, err := s.readable(ctx, tx, p, "/before_id", page.After); err != nil {
			return Listing[Mail]{}, err
		}
	}
	rows, err := s.store.ConnectionMail(ctx, tx, p.Workspace(), p.ID(), p.Principal().ConnectionID, Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, mailID), err
}

// readable is mail of the session that the permit's connection may read. To it, all
// other mail is mail that never was.
func (s *Mails) readable(ctx context.Context, tx access.Tx, p access.Permit, pointer, id string) (Mail, error) {
	m, ok, err := s.store.OneMail(ctx, tx, p.Workspace(), p.ID(), id)
	if err != nil {
		return Mail{}, err
	}
	if !ok || !m.readableBy(p.Principal().ConnectionID) {
		return Mail{}, refuseFaults(faultf(pointer, "is not the ID of mail that this connection posted here or got"))
	}
	return m, nil
}

func (m Mail) readableBy(connectionID string) bool {
	return connectionID != "" && !m.Internal &&
		(m.ToConnection == connectionID || m.FromKind == FromConnection && m.FromID == connectionID)
}

// Post leaves a note of the permit's connection in the session: for the agent that
// wrote what it replies to, for the whole team without one. Nothing is queued.
func (s *Mails) Post(ctx context.Context, tx access.Tx, p access.Permit, subject, body, replyTo string) (Mail, error) {
	if err := p.Seated(access.KindSession, access.SeatContributor); err != nil {
		return Mail{}, err
	}
	who := p.Principal()
	m := Mail{FromKind: FromConnection, FromID: who.ConnectionID, FromName: who.ConnectionName, FromSlug: who.ConnectionSlug,
		ReplyTo: replyTo, Subject: subject, Body: body}
	if replyTo != "" {
		old, err := s.readable(ctx, tx, p, "/reply_to_id", replyTo)
		if err != nil {
			return Mail{}, err
		}
		m.ToAgent = old.ToAgent
		if old.FromKind == FromAgent {
			m.ToAgent = old.FromID
		}
	}
	return s.post(ctx, tx, p, m)
}

// List lists all mail of the permit's session for people, newest first.
func (s *Mails) List(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Mail], error) {
	if err := p.Covers(access.KindSession, access.RightView); err != nil {
		return Listing[Mail]{}, err
	}
	if p.Principal().IsConnection() { // which reads its own only
		return Listing[Mail]{}, access.Refuse(access.HumanRequired, "Only a person can do this, in the web app.")
	}
	rows, err := s.store.SessionMail(ctx, tx, p.Workspace(), p.ID(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, mailID), err
}

// PostByPerson posts mail of the person to an agent of the permit's session, or to
// its whole team where toAgent is "". Nothing is queued.
func (s *Mails) PostByPerson(ctx context.Context, tx access.Tx, p access.Permit, toAgent, subject, body string) (Mail, error) {
	if err := p.Covers(access.KindSession, access.RightEdit); err != nil {
		return Mail{}, err
	}
	if p.Principal().IsConnection() {
		return Mail{}, access.Refuse(access.HumanRequired, "Only a person can do this, in the web app.")
	}
	session, err := loadedSession(p)
	if err != nil {
		return Mail{}, err
	}
	if toAgent != "" && session.Agent(toAgent).Slug == "" {
		return Mail{}, refuseFaults(faultf("/to_agent", "is not the slug of an agent of this session"))
	}
	who := p.Principal()
	return s.post(ctx, tx, p, Mail{FromKind: FromPerson, FromID: who.UserID, FromName: who.UserName, ToAgent: toAgent, Subject: subject, Body: body})
}

// post keeps mail of the permit's principal in the permit's session.
func (s *Mails) post(ctx context.Context, tx access.Tx, p access.Permit, m Mail) (Mail, error) {
	session, err := loadedSession(p)
	if err != nil {
		return Mail{}, err
	}
	faults := append(proseFaults("/subject", m.Subject, MaxMailSubject), proseFaults("/body", m.Body, MaxMailBody)...)
	if faults != nil {
		return Mail{}, refuseFaults(faults...)
	}
	if err := takesWork(session, p.Principal(), s.publicURL); err != nil {
		return Mail{}, err
	}
	m.ID, m.CreatedAt, m.WorkspaceID, m.SessionID = NewID(), s.now(), p.Workspace(), p.ID()
	if err := s.store.AddMail(ctx, tx, m); err != nil {
		return Mail{}, err
	}
	return m, s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: m.WorkspaceID, ProjectID: p.Project(), Type: "mail.posted", Kind: access.KindSession, ResourceID: m.SessionID,
		Data: map[string]any{"mail_id": m.ID},
	})
}

func mailID(m Mail) string { return m.ID }

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
