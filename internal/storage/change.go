package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Changes reads events as changes. It implements workspace.ChangeStore.
type Changes struct{}

// settled appends the condition that no event with a smaller ID can still appear.
// In PostgreSQL units of work that run side by side commit in another order than
// they made their IDs in; whoever goes on behind an event would miss those that
// come later. So an event counts once every transaction that began before its own
// ended is over. SQLite has one writer.
func settled(s *statement, d dialect) {
	if d == postgres {
		s.add(` AND age(e.xmin) > age(pg_snapshot_xmin(pg_current_snapshot())::xid)`)
	}
}

// LastEvent is workspace.ChangeStore.LastEvent.
func (Changes) LastEvent(ctx context.Context, tx access.Tx, workspaceID string) (string, error) {
	db, dialect := raw(tx)
	var s statement
	s.add(`SELECT e.id FROM events e WHERE e.workspace_id = ?`, workspaceID)
	settled(&s, dialect)
	s.add(` ORDER BY e.id DESC LIMIT 1`)
	var id string
	err := db.QueryRowContext(ctx, s.String(), s.args...).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read last event: %w", err)
	}
	return id, nil
}

// Changes is workspace.ChangeStore.Changes.
func (Changes) Changes(ctx context.Context, tx access.Tx, in workspace.Scope, f workspace.ChangeFilter, page workspace.Page) ([]workspace.Change, error) {
	db, dialect := long(tx)
	var s statement
	s.add(`SELECT e.id, e.type, COALESCE(n.id, p.id), COALESCE(n.title, p.name), COALESCE(n.project_id, p.id),
			CASE WHEN n.id IS NULL THEN p.version ELSE e.version END,
			e.user_id, COALESCE(u.name, ''), e.connection_id, COALESCE(c.name, ''), e.created_at
		FROM events e
		LEFT JOIN notes n ON e.kind = 'note' AND n.id = e.resource_id
		LEFT JOIN projects p ON e.type = 'connection.added_to_project' AND p.id = e.project_id AND p.workspace_id = e.workspace_id
		LEFT JOIN users u ON u.id = e.user_id
		LEFT JOIN connections c ON c.id = e.connection_id AND c.workspace_id = e.workspace_id
		WHERE e.workspace_id = ? AND e.id > ? AND e.created_at >= ? AND e.type <> 'note.left'`,
		in.WorkspaceID, page.After, msOf(f.Since))
	switch f.By {
	case "me":
		s.add(` AND e.connection_id = ?`, f.ConnectionID)
	case "others":
		s.add(` AND e.connection_id <> ?`, f.ConnectionID)
	}
	s.add(` AND (`)
	visible(&s, in)
	s.add(` OR e.resource_id = ? AND p.id IN `, f.ConnectionID) // it was given a project
	s.list(in.ProjectIDs)
	s.add(`)`)
	settled(&s, dialect)
	s.add(` ORDER BY e.id LIMIT ?`, page.Limit)
	rows, err := db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return nil, fmt.Errorf("list changes: %w", err)
	}
	defer rows.Close()
	var found []workspace.Change
	for rows.Next() {
		var c workspace.Change
		var eventType string
		var at int64
		err := rows.Scan(&c.EventID, &eventType, &c.ID, &c.Title, &c.ProjectID, &c.Version,
			&c.By.UserID, &c.By.UserName, &c.By.ConnectionID, &c.By.ConnectionName, &at)
		if err != nil {
			return nil, fmt.Errorf("read change: %w", err)
		}
		c.What, c.Kind, c.At = workspace.ChangeWord(eventType), access.KindNote, timeOf(at)
		if eventType == "connection.added_to_project" {
			c.Kind = access.KindProject
		}
		found = append(found, c)
	}
	return found, rows.Err()
}
