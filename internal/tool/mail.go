package tool

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// mailLimit is how much mail a page has when the caller does not say.
const mailLimit = 20

// outsideAssistant is the label of connections wherever they stand beside people
// and agents.
const outsideAssistant = "outside assistant"

type mailArguments struct {
	SessionType string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID   string `json:"session_id"`
	Limit       int64  `json:"limit,omitzero" arg:"min=1,max=20"`
	BeforeID    string `json:"before_id,omitzero"`
}

type postArguments struct {
	SessionType    string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID      string `json:"session_id"`
	Subject        string `json:"subject" arg:"len=..200"`
	Body           string `json:"body" arg:"len=..10000"`
	ReplyToID      string `json:"reply_to_id,omitzero"`
	IdempotencyKey string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

// correspondent is who wrote mail, or gets it.
type correspondent struct {
	Kind  string `json:"kind"` // agent, team, connection or person
	Name  string `json:"name,omitzero"`
	Slug  string `json:"slug,omitzero"` // to answer to
	Label string `json:"label,omitzero"`
}

// letter is mail that the connection may read.
type letter struct {
	ID        string        `json:"id"`
	From      correspondent `json:"from"`
	To        correspondent `json:"to"`
	ByMe      bool          `json:"by_me"`
	Subject   string        `json:"subject"`
	Body      string        `json:"body"`
	ReplyToID string        `json:"reply_to_id,omitzero"`
	TaskID    string        `json:"task_id,omitzero"` // in which an agent wrote it
	CreatedAt time.Time     `json:"created_at"`
}

type letterList struct {
	Items        []letter `json:"items"`
	NextBeforeID string   `json:"next_before_id,omitzero"` // before_id for older mail
}

// posted is the answer of post_session_note.
type posted struct {
	NoteID             string `json:"note_id"`
	ExternalSenderSlug string `json:"external_sender_slug"` // agents answer to it
}

// Mail are the tools about the mail of sessions.
func Mail(mails *workspace.Mails) []*Tool {
	t := mailTools{mails}
	return []*Tool{
		define(Tool{
			Name:        "read_session_mail",
			Title:       "Session mail",
			Description: "Notes addressed to this connection and notes it posted, newest first. Agents' internal analysis is left out.",
			Needs:       observing,
			Hints:       Hints{ReadOnly: true},
		}, func(a mailArguments) []access.Ref { return sessionRefs(a.SessionType, a.SessionID) }, t.read),
		define(Tool{
			Name:        "post_session_note",
			Title:       "Post session note",
			Description: "Leave an attributed note in a session; its agents can answer to the returned external sender slug. A note never starts a run.",
			Needs:       contributing,
			Hints:       Hints{Idempotent: true},
		}, func(a postArguments) []access.Ref { return sessionRefs(a.SessionType, a.SessionID) }, t.post),
	}
}

type mailTools struct{ mails *workspace.Mails }

func (t mailTools) read(ctx context.Context, c *Run, a mailArguments) (letterList, error) {
	list, err := t.mails.Own(ctx, c.Tx, c.Permit(), workspace.Page{After: a.BeforeID, Limit: limitOf(a.Limit, mailLimit)})
	if err != nil {
		return letterList{}, err
	}
	answer := letterList{Items: make([]letter, len(list.Items)), NextBeforeID: list.Next}
	for i, m := range list.Items {
		answer.Items[i] = letterOf(m, c.Permit().Principal().ConnectionID)
	}
	return answer, nil
}

func (t mailTools) post(ctx context.Context, c *Run, a postArguments) (posted, error) {
	m, err := t.mails.Post(ctx, c.Tx, c.Permit(), a.Subject, a.Body, a.ReplyToID)
	return posted{m.ID, m.FromSlug}, err
}

// letterOf shows mail to a connection that may read it: it posted the mail, or it
// is whom the mail is for.
func letterOf(m workspace.Mail, me string) letter {
	l := letter{
		ID: m.ID, ByMe: m.FromKind == workspace.FromConnection && m.FromID == me, Subject: m.Subject, Body: m.Body, ReplyToID: m.ReplyTo,
		TaskID: m.TaskID, CreatedAt: m.CreatedAt, From: correspondent{Kind: string(m.FromKind), Name: m.FromName, Slug: m.FromSlug},
	}
	if m.FromKind == workspace.FromConnection {
		l.From.Label = outsideAssistant
	}
	switch {
	case m.ToConnection != "":
		l.To = correspondent{"connection", m.ToName, m.ToSlug, outsideAssistant}
	case m.ToAgent != "":
		l.To = correspondent{Kind: "agent", Name: m.ToAgent, Slug: m.ToAgent}
	default:
		l.To.Kind = "team"
	}
	return l
}
