package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// correspondent is who wrote mail, or gets it.
type correspondent struct {
	Kind  string `json:"kind"`           // agent, team, connection or person
	ID    string `json:"id,omitzero"`    // of a connection or person
	Name  string `json:"name,omitzero"`  // display name
	Slug  string `json:"slug,omitzero"`  // of an agent, or the external sender slug of a connection
	Label string `json:"label,omitzero"` // "outside assistant" for a connection
}

type mail struct {
	ID        string        `json:"id"`
	From      correspondent `json:"from"`
	To        correspondent `json:"to"`
	Subject   string        `json:"subject"`
	Body      string        `json:"body"`
	Internal  bool          `json:"internal"` // between agents; no connection ever sees it
	ReplyToID string        `json:"reply_to_id,omitzero"`
	TaskID    string        `json:"task_id,omitzero"` // in which an agent wrote it
	CreatedAt time.Time     `json:"created_at"`
}

type mailBody struct {
	ToAgent string `json:"to_agent,omitzero"` // slug; without one it is for the whole team
	Subject string `json:"subject"`
	Body    string `json:"body"`
}

type mailCalls struct{ mails *workspace.Mails }

// MailRoutes are the mail of a session, for people.
func MailRoutes(mails *workspace.Mails) []Route {
	s := mailCalls{mails}
	const path = "/api/v1/agent-sessions/{session}/mail"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "mail.list", Summary: "All mail of a session, newest first",
			Kind: access.KindSession, Right: access.RightView, Paged: true}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: path, Operation: "mail.post", Summary: "Write to an agent, or to the whole team; mail never starts a run",
			Kind: access.KindSession, Right: access.RightEdit, Status: http.StatusCreated}, s.post),
	}
}

func (s mailCalls) list(ctx context.Context, c *Call, _ Nothing) (List[mail], error) {
	l, err := s.mails.List(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, mailOf), err
}

func (s mailCalls) post(ctx context.Context, c *Call, in mailBody) (mail, error) {
	m, err := s.mails.PostByPerson(ctx, c.Tx, c.Permit, in.ToAgent, in.Subject, in.Body)
	c.Entry.Detail = map[string]any{"mail_id": m.ID}
	return mailOf(m), err
}

func mailOf(m workspace.Mail) mail {
	out := mail{
		ID: m.ID, From: correspondent{Kind: string(m.FromKind), Name: m.FromName, Slug: m.FromSlug}, Subject: m.Subject, Body: m.Body,
		Internal: m.Internal, ReplyToID: m.ReplyTo, TaskID: m.TaskID, CreatedAt: m.CreatedAt,
	}
	switch m.FromKind {
	case workspace.FromConnection:
		out.From.ID, out.From.Label = m.FromID, outsideAssistant
	case workspace.FromPerson:
		out.From.ID = m.FromID
	}
	switch {
	case m.ToConnection != "":
		out.To = correspondent{"connection", m.ToConnection, m.ToName, m.ToSlug, outsideAssistant}
	case m.ToAgent != "":
		out.To = correspondent{Kind: "agent", Name: m.ToAgent, Slug: m.ToAgent}
	default:
		out.To.Kind = "team"
	}
	return out
}
