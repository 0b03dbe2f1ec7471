package storage

import (
	"context"
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Sessions implements workspace.SessionStore.
type Sessions struct{}

var _ workspace.SessionStore = Sessions{}

// InsertSession is workspace.SessionStore.InsertSession.
func (Sessions) InsertSession(ctx context.Context, tx access.Tx, s workspace.Session) error {
	agents, done, err := sessionSetup(s)
	if err != nil {
		return err
	}
	return on(tx).InsertSession(ctx, gen.InsertSessionParams{
		ID: s.ID, WorkspaceID: s.WorkspaceID, ProjectID: s.ProjectID, Type: string(s.Type), Title: s.Title, OwnerID: s.OwnerID, Version: s.Version,
		Agents: agents, Done: done, MaxRounds: s.MaxRounds, DayRounds: s.Budget.Rounds, DayTokens: s.Budget.Tokens, DayMinutes: s.Budget.Minutes,
		CreatedAt: msOf(s.CreatedAt), CreatedBy: s.CreatedBy, UpdatedAt: msOf(s.UpdatedAt), UpdatedBy: s.UpdatedBy,
	})
}

// UpdateSession is workspace.SessionStore.UpdateSession.
func (Sessions) UpdateSession(ctx context.Context, tx access.Tx, s workspace.Session, from string, was int64) (bool, error) {
	agents, done, err := sessionSetup(s)
	if err != nil {
		return false, err
	}
	n, err := on(tx).UpdateSession(ctx, gen.UpdateSessionParams{
		Title: s.Title, ToProjectID: s.ProjectID, Version: s.Version, Agents: agents, Done: done, MaxRounds: s.MaxRounds,
		DayRounds: s.Budget.Rounds, DayTokens: s.Budget.Tokens, DayMinutes: s.Budget.Minutes, ArchivedAt: msOf(s.ArchivedAt),
		UpdatedAt: msOf(s.UpdatedAt), UpdatedBy: s.UpdatedBy, ID: s.ID, WorkspaceID: s.WorkspaceID, ProjectID: from, Was: was,
	})
	return n == 1, err
}

// ProjectSessions is workspace.SessionStore.ProjectSessions.
func (Sessions) ProjectSessions(ctx context.Context, tx access.Tx, workspaceID, projectID, userID string, archived bool, page workspace.Page) ([]workspace.Session, error) {
	rows, err := on(tx).ProjectSessions(ctx, gen.ProjectSessionsParams{
		WorkspaceID: workspaceID, ProjectID: projectID, UserID: userID, Archived: flagOf(archived), After: page.After, Most: int32(page.Limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions of project: %w", err)
	}
	sessions := make([]workspace.Session, len(rows))
	for i, r := range rows {
		if sessions[i], err = agentSessionOf(r); err != nil {
			return nil, err
		}
	}
	return sessions, nil
}

func agentSessionOf(r gen.Session) (workspace.Session, error) {
	s := workspace.Session{
		ID: r.ID, WorkspaceID: r.WorkspaceID, ProjectID: r.ProjectID, Type: workspace.SessionType(r.Type), Title: r.Title, OwnerID: r.OwnerID,
		Version: r.Version, MaxRounds: r.MaxRounds, Budget: workspace.Budget{Rounds: r.DayRounds, Tokens: r.DayTokens, Minutes: r.DayMinutes},
		LocalOnly: r.LocalOnly != 0, HasACL: r.HasAcl != 0, ArchivedAt: timeOf(r.ArchivedAt), CreatedAt: timeOf(r.CreatedAt), CreatedBy: r.CreatedBy,
		UpdatedAt: timeOf(r.UpdatedAt), UpdatedBy: r.UpdatedBy,
	}
	return s, readSessionSetup(r.Agents, r.Done, &s)
}

// visibleSession appends the condition that the scope's connection may see the
// session s: the same that CheckConnection demands of a call on it (product.md §3).
func visibleSession(q *statement, in workspace.Scope) {
	q.add(`s.workspace_id = ? AND s.local_only = 0 AND s.project_id IN `, in.WorkspaceID)
	q.list(in.ProjectIDs)
	q.add(` AND (s.has_acl = 0 OR EXISTS (SELECT 1 FROM resource_acl a
		WHERE a.resource_id = s.id AND a.user_id = ? AND a.access = 'edit'))
		AND EXISTS (SELECT 1 FROM session_seats v WHERE v.session_id = s.id AND v.connection_id = ?)`, in.UserID, in.ConnectionID)
}

// JoinedSessions is workspace.SessionStore.JoinedSessions.
func (Sessions) JoinedSessions(ctx context.Context, tx access.Tx, in workspace.Scope, f workspace.JoinedFilter, page workspace.Page) ([]workspace.JoinedSession, error) {
	var q statement
	q.add(`SELECT s.id, s.type, s.title, s.project_id, s.version, e.seat, s.archived_at, s.updated_at
		FROM session_seats e JOIN sessions s ON s.id = e.session_id
		WHERE e.connection_id = ? AND s.id > ? AND `, in.ConnectionID, page.After)
	visibleSession(&q, in)
	if f.Types != nil {
		types := make([]string, len(f.Types))
		for i, t := range f.Types {
			types[i] = string(t)
		}
		q.add(` AND s.type IN `)
		q.list(types)
	}
	if f.Active != nil {
		q.add(` AND (s.archived_at = 0) = (CAST(? AS BIGINT) <> 0)`, flagOf(*f.Active))
	}
	q.add(` ORDER BY s.id LIMIT ?`, page.Limit)
	return collect(ctx, tx, &q, "list joined sessions", func(scan func(...any) error) (j workspace.JoinedSession, err error) {
		var seat string
		var archivedAt, updatedAt int64
		err = scan(&j.ID, &j.Type, &j.Title, &j.ProjectID, &j.Version, &seat, &archivedAt, &updatedAt)
		j.Seat, j.Archived, j.UpdatedAt = access.ParseSeat(seat), archivedAt != 0, timeOf(updatedAt)
		return j, err
	})
}

// collect runs a statement and reads all its rows.
func collect[T any](ctx context.Context, tx access.Tx, q *statement, doing string, read func(scan func(...any) error) (T, error)) ([]T, error) {
	db, _ := raw(tx)
	rows, err := db.QueryContext(ctx, q.String(), q.args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	defer rows.Close()
	var found []T
	for rows.Next() {
		one, err := read(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		found = append(found, one)
	}
	return found, rows.Err()
}

// SessionStates is workspace.SessionStore.SessionStates.
func (Sessions) SessionStates(ctx context.Context, tx access.Tx, workspaceID string, ids []string) (map[string]workspace.SessionState, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	urgency := []workspace.SessionState{workspace.SessionWaiting, workspace.SessionRunning, workspace.SessionQueued}
	var q statement
	q.add(`SELECT k.session_id, MIN(CASE k.state WHEN ? THEN 0 WHEN ? THEN 1 ELSE 2 END) FROM tasks k
		WHERE k.workspace_id = ? AND k.state IN (?, ?, ?) AND k.session_id IN `,
		string(urgency[0]), string(urgency[1]), workspaceID, string(urgency[0]), string(urgency[1]), string(urgency[2]))
	q.list(ids)
	q.add(` GROUP BY k.session_id`)
	type row struct {
		id   string
		rank int
	}
	rows, err := collect(ctx, tx, &q, "read states of sessions", func(scan func(...any) error) (r row, err error) {
		return r, scan(&r.id, &r.rank)
	})
	states := map[string]workspace.SessionState{}
	for _, r := range rows {
		states[r.id] = urgency[r.rank]
	}
	return states, err
}

// RecentTasks is workspace.SessionStore.RecentTasks.
func (Sessions) RecentTasks(ctx context.Context, tx access.Tx, workspaceID, sessionID string, limit int) ([]workspace.Task, error) {
	rows, err := on(tx).RecentTasks(ctx, workspaceID, sessionID, int32(limit))
	return each(rows, func(r gen.RecentTasksRow) workspace.Task {
		return workspace.Task{
			ID: r.ID, WorkspaceID: workspaceID, SessionID: sessionID, HandoffID: r.HandoffID.String, ConnectionID: r.ConnectionID, UserID: r.UserID,
			Goal: r.Goal, MaxRounds: r.MaxRounds, State: workspace.TaskState(r.State), Reason: r.Reason, Rounds: r.Rounds,
			CreatedAt: timeOf(r.CreatedAt), StartedAt: timeOf(r.StartedAt), EndedAt: timeOf(r.EndedAt),
		}
	}), err
}
