package storage

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Events implements workspace.EventStore.
type Events struct{}

var _ workspace.EventStore = Events{}

// AppendEvent is workspace.EventStore.AppendEvent.
func (Events) AppendEvent(ctx context.Context, tx access.Tx, e workspace.Event) error {
	data, err := objectOf(e.Data)
	if err != nil {
		return fmt.Errorf("event %s: %w", e.Type, err)
	}
	return on(tx).AppendEvent(ctx, gen.AppendEventParams{
		ID: e.ID, WorkspaceID: e.WorkspaceID, ProjectID: e.ProjectID, Type: e.Type, Kind: string(e.Kind),
		ResourceID: e.ResourceID, Version: e.Version, UserID: e.UserID, ConnectionID: e.ConnectionID,
		Data: data, CreatedAt: msOf(e.CreatedAt),
	})
}

// EventsAfter is workspace.EventStore.EventsAfter. An empty after is the
// beginning, which is always known.
func (Events) EventsAfter(ctx context.Context, tx access.Tx, workspaceID, after string, limit int) (events []workspace.Event, known bool, err error) {
	q := on(tx)
	if after != "" {
		_, err := q.EventKnown(ctx, workspaceID, after)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	rows, err := q.EventsAfter(ctx, workspaceID, after, int32(limit))
	if err != nil {
		return nil, false, err
	}
	events = make([]workspace.Event, len(rows))
	for i, row := range rows {
		if events[i], err = eventOf(row); err != nil {
			return nil, false, err
		}
	}
	return events, true, nil
}

func eventOf(row gen.Event) (workspace.Event, error) {
	e := workspace.Event{
		ID: row.ID, WorkspaceID: row.WorkspaceID, ProjectID: row.ProjectID, Type: row.Type, Kind: access.Kind(row.Kind),
		ResourceID: row.ResourceID, Version: row.Version, UserID: row.UserID, ConnectionID: row.ConnectionID,
		CreatedAt: timeOf(row.CreatedAt),
	}
	if err := readObject(row.Data, &e.Data); err != nil {
		return workspace.Event{}, fmt.Errorf("event %s: %w", row.ID, err)
	}
	return e, nil
}

// objectOf is how details are stored: a JSON object, {} for none.
func objectOf(details map[string]any) (string, error) {
	if len(details) == 0 {
		return "{}", nil
	}
	text, err := json.Marshal(details)
	return string(text), err
}

// readObject reads what objectOf wrote; {} leaves the map nil.
func readObject(text string, details *map[string]any) error {
	if text == "{}" {
		return nil
	}
	return json.Unmarshal([]byte(text), details)
}

// EventsSince is api.EventLog.EventsSince. An event is listed once no other with a
// smaller ID can still appear; see settled.
func (Events) EventsSince(ctx context.Context, tx access.Tx, workspaceID, after string, limit int) ([]workspace.Event, error) {
	db, dialect := raw(tx)
	var s statement
	s.add(`SELECT e.id, e.workspace_id, e.project_id, e.type, e.kind, e.resource_id, e.version, e.user_id, e.connection_id, e.data, e.created_at
		FROM events e WHERE e.workspace_id = ? AND e.id > ?`, workspaceID, after)
	settled(&s, dialect)
	s.add(` ORDER BY e.id LIMIT ?`, limit)
	rows, err := db.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	defer rows.Close()
	var found []workspace.Event
	for rows.Next() {
		var r gen.Event
		err := rows.Scan(&r.ID, &r.WorkspaceID, &r.ProjectID, &r.Type, &r.Kind, &r.ResourceID, &r.Version, &r.UserID, &r.ConnectionID, &r.Data, &r.CreatedAt)
		if err != nil {
			return nil, fmt.Errorf("read event of list: %w", err)
		}
		e, err := eventOf(r)
		if err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return found, rows.Err()
}

// EventExists is api.EventLog.EventExists.
func (Events) EventExists(ctx context.Context, tx access.Tx, workspaceID, id string) (bool, error) {
	_, err := on(tx).EventKnown(ctx, workspaceID, id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}
