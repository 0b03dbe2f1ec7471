package storage

import (
	"context"
	"fmt"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Handoffs implements workspace.HandoffStore.
type Handoffs struct{}

var _ workspace.HandoffStore = Handoffs{}

// CountPending is workspace.HandoffStore.CountPending.
func (Handoffs) CountPending(ctx context.Context, tx access.Tx, connectionID string, now time.Time) (int64, time.Time, error) {
	r, err := on(tx).CountPendingHandoffs(ctx, connectionID, msOf(now))
	return r.Waiting, timeOf(r.Soonest), err
}

// InsertHandoff is workspace.HandoffStore.InsertHandoff.
func (Handoffs) InsertHandoff(ctx context.Context, tx access.Tx, h workspace.Handoff) error {
	return on(tx).InsertHandoff(ctx, gen.InsertHandoffParams{
		ID: h.ID, WorkspaceID: h.WorkspaceID, SessionID: h.SessionID, ConnectionID: h.ConnectionID,
		Goal: h.Goal, ContextSummary: h.ContextSummary, RequestedOutput: h.RequestedOutput, MaxRounds: h.MaxRounds,
		State: string(h.State), CreatedAt: msOf(h.CreatedAt), ExpiresAt: msOf(h.ExpiresAt),
	})
}

// Handoff is workspace.HandoffStore.Handoff.
func (Handoffs) Handoff(ctx context.Context, tx access.Tx, workspaceID, handoffID string) (workspace.Handoff, bool, error) {
	r, err := on(tx).Handoff(ctx, workspaceID, handoffID)
	if found, err := foundRow(err, "read handoff"); !found {
		return workspace.Handoff{}, false, err
	}
	return handoffOf(r), true, nil
}

func handoffOf(r gen.HandoffRow) workspace.Handoff {
	return workspace.Handoff{
		ID: r.ID, WorkspaceID: r.WorkspaceID, SessionID: r.SessionID, SessionType: workspace.SessionType(r.Type),
		ProjectID: r.ProjectID, ConnectionID: r.ConnectionID, Connection: r.ConnectionName, Slug: r.Slug, Host: r.RedirectHost,
		Approver: workspace.Named{ID: r.ApproverID, Name: r.Approver},
		Goal:     r.Goal, ContextSummary: r.ContextSummary, RequestedOutput: r.RequestedOutput, MaxRounds: r.MaxRounds,
		State: workspace.HandoffState(r.State), Reason: r.Reason, CreatedAt: timeOf(r.CreatedAt), ExpiresAt: timeOf(r.ExpiresAt),
		DecidedAt: timeOf(r.DecidedAt), DecidedBy: workspace.Named{ID: r.DecidedBy, Name: r.Decider}, TaskID: r.TaskID,
	}
}

// selectHandoffs reads the columns of gen.HandoffRow.
const selectHandoffs = `SELECT h.id, h.workspace_id, h.session_id, h.connection_id, h.goal, h.context_summary, h.requested_output, h.max_rounds,
		h.state, h.reason, h.created_at, h.expires_at, h.decided_at, h.decided_by, s.type, s.project_id,
		c.name, c.slug, c.redirect_host, c.approver_id, v.name, COALESCE(u.name, ''), COALESCE(k.id, '')
	FROM handoffs h
	JOIN sessions s ON s.id = h.session_id
	JOIN connections c ON c.id = h.connection_id
	JOIN users v ON v.id = c.approver_id
	LEFT JOIN users u ON u.id = h.decided_by
	LEFT JOIN tasks k ON k.handoff_id = h.id
	WHERE `

func scanHandoff(scan func(...any) error) (workspace.Handoff, error) {
	var r gen.HandoffRow
	err := scan(&r.ID, &r.WorkspaceID, &r.SessionID, &r.ConnectionID, &r.Goal, &r.ContextSummary, &r.RequestedOutput, &r.MaxRounds,
		&r.State, &r.Reason, &r.CreatedAt, &r.ExpiresAt, &r.DecidedAt, &r.DecidedBy, &r.Type, &r.ProjectID,
		&r.ConnectionName, &r.Slug, &r.RedirectHost, &r.ApproverID, &r.Approver, &r.Decider, &r.TaskID)
	return handoffOf(r), err
}

// narrowHandoffs appends the filter, the page and the order, newest first.
func narrowHandoffs(q *statement, f workspace.HandoffFilter, page workspace.Page) {
	if page.After != "" {
		q.add(` AND h.id < ?`, page.After)
	}
	if f.SessionID != "" {
		q.add(` AND h.session_id = ?`, f.SessionID)
	}
	if f.SessionType != "" {
		q.add(` AND s.type = ?`, string(f.SessionType))
	}
	const expired = `h.state = 'pending' AND h.expires_at > 0 AND h.expires_at <= ?`
	switch f.State {
	case "":
	case workspace.HandoffCancelled:
		q.add(` AND (h.state = 'cancelled' OR `+expired+`)`, msOf(f.Now))
	case workspace.HandoffPending:
		q.add(` AND h.state = 'pending' AND NOT (`+expired+`)`, msOf(f.Now))
	default:
		q.add(` AND h.state = ?`, string(f.State))
	}
	q.add(` ORDER BY h.id DESC LIMIT ?`, page.Limit)
}

// SessionHandoffs is workspace.HandoffStore.SessionHandoffs.
func (Handoffs) SessionHandoffs(ctx context.Context, tx access.Tx, workspaceID, sessionID string, f workspace.HandoffFilter, page workspace.Page) ([]workspace.Handoff, error) {
	var q statement
	q.add(selectHandoffs+`h.workspace_id = ?`, workspaceID)
	f.SessionID = sessionID
	narrowHandoffs(&q, f, page)
	return collect(ctx, tx, &q, "list handoffs of session", scanHandoff)
}

// DecidableHandoffs is workspace.HandoffStore.DecidableHandoffs. It asks what
// access.CheckPerson asks of an edit of the session.
func (Handoffs) DecidableHandoffs(ctx context.Context, tx access.Tx, userID string, f workspace.HandoffFilter, page workspace.Page) ([]workspace.Handoff, error) {
	var q statement
	q.add(selectHandoffs+`h.workspace_id IN (SELECT m.workspace_id FROM memberships m WHERE m.user_id = ? AND m.role IN (?, ?))`,
		userID, string(access.RoleOwner), string(access.RoleEditor))
	if f.WorkspaceID != "" {
		q.add(` AND h.workspace_id = ?`, f.WorkspaceID)
	}
	q.add(` AND EXISTS (SELECT 1 FROM projects p WHERE p.id = s.project_id AND (p.private = 0 OR EXISTS (
			SELECT 1 FROM project_members pm WHERE pm.project_id = p.id AND pm.user_id = ?)))
		AND (s.has_acl = 0 OR EXISTS (SELECT 1 FROM resource_acl a WHERE a.resource_id = s.id AND a.user_id = ? AND a.access = 'edit'))`, userID, userID)
	narrowHandoffs(&q, f, page)
	return collect(ctx, tx, &q, "list handoffs that a person may decide", scanHandoff)
}

// SessionsOf is workspace.HandoffStore.SessionsOf.
func (Handoffs) SessionsOf(ctx context.Context, tx access.Tx, handoffs []workspace.Handoff) (map[string]workspace.Session, error) {
	sessions := make(map[string]workspace.Session)
	for _, h := range handoffs {
		if _, read := sessions[h.SessionID]; read {
			continue
		}
		r, err := on(tx).SessionRow(ctx, h.SessionID, h.WorkspaceID)
		if err != nil {
			return nil, fmt.Errorf("read session of handoff %s: %w", h.ID, err)
		}
		if sessions[h.SessionID], err = agentSessionOf(r); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

// OwnHandoffs is workspace.HandoffStore.OwnHandoffs.
func (Handoffs) OwnHandoffs(ctx context.Context, tx access.Tx, in workspace.Scope, f workspace.HandoffFilter, page workspace.Page) ([]workspace.Handoff, error) {
	var q statement
	q.add(selectHandoffs+`h.connection_id = ? AND `, in.ConnectionID)
	visibleSession(&q, in)
	narrowHandoffs(&q, f, page)
	return collect(ctx, tx, &q, "list own handoffs", scanHandoff)
}

// WaitingRequests is workspace.HandoffStore.WaitingRequests.
func (Handoffs) WaitingRequests(ctx context.Context, tx access.Tx, in workspace.Scope, now time.Time, page workspace.Page) ([]workspace.WaitingRequest, error) {
	var q statement
	q.add(`SELECT x.id, x.run, x.session_id, x.type, x.goal, x.reason, x.created_at, x.expires_at FROM (
		SELECT h.id, 0 AS run, h.session_id, s.type, h.goal, h.reason, h.created_at, h.expires_at
		FROM handoffs h JOIN sessions s ON s.id = h.session_id
		WHERE h.connection_id = ? AND h.state = 'pending' AND (h.expires_at = 0 OR h.expires_at > ?) AND `, in.ConnectionID, msOf(now))
	visibleSession(&q, in)
	q.add(` UNION ALL SELECT k.id, 1 AS run, k.session_id, s.type, k.goal, k.reason, k.created_at, 0 AS expires_at
		FROM tasks k JOIN sessions s ON s.id = k.session_id
		WHERE k.connection_id = ? AND k.state = 'waiting' AND `, in.ConnectionID)
	visibleSession(&q, in)
	q.add(`) x WHERE (CAST(? AS TEXT) = '' OR x.id < ?) ORDER BY x.id DESC LIMIT ?`, page.After, page.After, page.Limit)
	return collect(ctx, tx, &q, "list requests that wait", func(scan func(...any) error) (r workspace.WaitingRequest, err error) {
		var run, createdAt, expiresAt int64
		err = scan(&r.ID, &run, &r.SessionID, &r.SessionType, &r.Goal, &r.Reason, &createdAt, &expiresAt)
		r.Run, r.CreatedAt, r.ExpiresAt = run != 0, timeOf(createdAt), timeOf(expiresAt)
		return r, err
	})
}

// DecideHandoff is workspace.HandoffStore.DecideHandoff.
func (Handoffs) DecideHandoff(ctx context.Context, tx access.Tx, v workspace.HandoffVerdict) (bool, error) {
	n, err := on(tx).DecideHandoff(ctx, gen.DecideHandoffParams{
		ToState: string(v.State), Reason: v.Reason, Now: msOf(v.Now), DecidedBy: v.By, HandoffID: v.HandoffID, WorkspaceID: v.WorkspaceID,
	})
	return n == 1, err
}

// Expired is workspace.HandoffStore.Expired.
func (Handoffs) Expired(ctx context.Context, tx access.Tx, now time.Time, limit int) ([]workspace.ExpiredHandoff, error) {
	rows, err := on(tx).ExpiredHandoffs(ctx, msOf(now), int32(limit))
	return each(rows, func(r gen.ExpiredHandoffsRow) workspace.ExpiredHandoff {
		return workspace.ExpiredHandoff{ID: r.ID, WorkspaceID: r.WorkspaceID, ProjectID: r.ProjectID, SessionID: r.SessionID}
	}), err
}

// ExpireHandoff is workspace.HandoffStore.ExpireHandoff.
func (Handoffs) ExpireHandoff(ctx context.Context, tx access.Tx, workspaceID, handoffID, reason string, now time.Time) (bool, error) {
	n, err := on(tx).ExpireHandoff(ctx, gen.ExpireHandoffParams{Reason: reason, HandoffID: handoffID, WorkspaceID: workspaceID, Now: msOf(now)})
	return n == 1, err
}

// ProposerFacts is workspace.HandoffStore.ProposerFacts.
func (Handoffs) ProposerFacts(ctx context.Context, tx access.Tx, connectionID string, ref access.Ref) (access.Facts, error) {
	f, err := tx.(*unit).db.approvedFacts(ctx, tx, connectionID, ref)
	return *f, err
}
