package storage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Mails implements workspace.MailStore.
type Mails struct{}

var _ workspace.MailStore = Mails{}

// AddMail is workspace.MailStore.AddMail.
func (Mails) AddMail(ctx context.Context, tx access.Tx, m workspace.Mail) error {
	return on(tx).AddMail(ctx, gen.AddMailParams{
		ID: m.ID, WorkspaceID: m.WorkspaceID, SessionID: m.SessionID, TaskID: m.TaskID, FromKind: string(m.FromKind), FromID: m.FromID,
		ToAgent: m.ToAgent, ToConnection: m.ToConnection, Internal: number(m.Internal), ReplyTo: m.ReplyTo, Subject: m.Subject, Body: m.Body,
		CreatedAt: msOf(m.CreatedAt),
	})
}

// SessionMail is workspace.MailStore.SessionMail.
func (Mails) SessionMail(ctx context.Context, tx access.Tx, workspaceID, sessionID string, page workspace.Page) ([]workspace.Mail, error) {
	return mailRows(ctx, tx, gen.SessionMailParams{SessionID: sessionID, WorkspaceID: workspaceID, Before: page.After, Most: int32(page.Limit)})
}

// ConnectionMail is workspace.MailStore.ConnectionMail. Without a connection there
// is none, rather than all.
func (Mails) ConnectionMail(ctx context.Context, tx access.Tx, workspaceID, sessionID, connectionID string, page workspace.Page) ([]workspace.Mail, error) {
	if connectionID == "" {
		return nil, nil
	}
	return mailRows(ctx, tx, gen.SessionMailParams{
		SessionID: sessionID, WorkspaceID: workspaceID, Before: page.After, Reader: connectionID, Most: int32(page.Limit),
	})
}

// OneMail is workspace.MailStore.OneMail.
func (Mails) OneMail(ctx context.Context, tx access.Tx, workspaceID, sessionID, mailID string) (workspace.Mail, bool, error) {
	if mailID == "" {
		return workspace.Mail{}, false, nil
	}
	found, err := mailRows(ctx, tx, gen.SessionMailParams{SessionID: sessionID, WorkspaceID: workspaceID, ID: mailID, Most: 1})
	if err != nil || len(found) == 0 {
		return workspace.Mail{}, false, err
	}
	return found[0], true, nil
}

func mailRows(ctx context.Context, tx access.Tx, p gen.SessionMailParams) ([]workspace.Mail, error) {
	rows, err := on(tx).SessionMail(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list mail of session: %w", err)
	}
	return each(rows, mailOf), nil
}

func mailOf(r gen.SessionMailRow) workspace.Mail {
	m := workspace.Mail{
		ID: r.ID, WorkspaceID: r.WorkspaceID, SessionID: r.SessionID, TaskID: r.TaskID, FromKind: workspace.SenderKind(r.FromKind), FromID: r.FromID,
		ToAgent: r.ToAgent, ToConnection: r.ToConnection, ToName: r.ToName, ToSlug: r.ToSlug, Internal: r.Internal != 0, ReplyTo: r.ReplyTo,
		Subject: r.Subject, Body: r.Body, CreatedAt: timeOf(r.CreatedAt),
	}
	switch m.FromKind {
	case workspace.FromAgent:
		m.FromName, m.FromSlug = r.FromID, r.FromID
	case workspace.FromConnection:
		m.FromName, m.FromSlug = r.ConnectionName, r.ConnectionSlug
	case workspace.FromPerson:
		m.FromName = r.UserName
	}
	return m
}

// AgentMail is workspace.MailStore.AgentMail.
func (Mails) AgentMail(ctx context.Context, tx access.Tx, t workspace.Task, agent string, until time.Time, limit int) ([]workspace.Mail, error) {
	rows, err := on(tx).AgentMail(ctx, gen.AgentMailParams{
		SessionID: t.SessionID, Until: msOf(until), TaskID: t.ID, Agent: agent, Behind: t.ConnectionID, Most: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list mail of agent: %w", err)
	}
	slices.Reverse(rows) // the newest were asked for
	return each(rows, func(r gen.AgentMailRow) workspace.Mail { return mailOf(gen.SessionMailRow(r)) }), nil
}

// MailAddress is workspace.MailStore.MailAddress.
func (Mails) MailAddress(ctx context.Context, tx access.Tx, sessionID, slug string) (string, bool, error) {
	id, err := on(tx).MailAddress(ctx, sessionID, slug)
	found, err := foundRow(err, "find address of mail")
	return id, found, err
}
