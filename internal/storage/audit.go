package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Audit implements workspace.AuditStore.
type Audit struct{}

var _ workspace.AuditStore = Audit{}

const (
	auditAllowed = "allowed"
	auditDenied  = "denied"
)

// AppendAudit is workspace.AuditStore.AppendAudit. An entry that is there already
// is left as it is. An allowed call is also a use of its connection, to the minute.
func (Audit) AppendAudit(ctx context.Context, tx access.Tx, entries ...workspace.Entry) error {
	q := on(tx)
	for _, e := range entries {
		detail, err := objectOf(e.Detail)
		if err != nil {
			return fmt.Errorf("audit of %s: %w", e.Tool, err)
		}
		decision := auditAllowed
		if e.Code != "" {
			decision = auditDenied
		}
		err = q.AppendAudit(ctx, gen.AppendAuditParams{
			ID: e.ID, WorkspaceID: e.WorkspaceID, ProjectID: e.ProjectID, UserID: e.UserID, ConnectionID: e.ConnectionID,
			Tool: e.Tool, Kind: string(e.Kind), ResourceID: e.ResourceID, Decision: decision, Code: string(e.Code),
			Detail: detail, DurationUs: e.Duration.Microseconds(), CreatedAt: msOf(e.CreatedAt),
		})
		if err != nil {
			return err
		}
	}
	return stampUse(ctx, tx, entries)
}

// usedEvery is how exactly the last use of a connection is known.
const usedEvery = time.Minute

// stampUse notes when the connections of the entries were last used. They are
// taken in one order, so that two batches cannot wait for each other.
func stampUse(ctx context.Context, tx access.Tx, entries []workspace.Entry) error {
	last := map[string]workspace.Entry{}
	for _, e := range entries {
		if e.ConnectionID != "" && e.Code == "" && e.CreatedAt.After(last[e.ConnectionID].CreatedAt) {
			last[e.ConnectionID] = e
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		e := last[id]
		_, err := on(tx).UseConnection(ctx, gen.UseConnectionParams{
			Now: msOf(e.CreatedAt), ID: id, WorkspaceID: e.WorkspaceID, Before: msOf(e.CreatedAt.Add(-usedEvery)),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// WorkspaceAudit is workspace.AuditStore.WorkspaceAudit.
func (Audit) WorkspaceAudit(ctx context.Context, tx access.Tx, workspaceID string, filter workspace.AuditFilter, page workspace.Page) ([]workspace.Entry, error) {
	return auditWhere(ctx, tx, workspaceID, "", filter, page)
}

// ProjectAudit is workspace.AuditStore.ProjectAudit.
func (Audit) ProjectAudit(ctx context.Context, tx access.Tx, workspaceID, projectID string, filter workspace.AuditFilter, page workspace.Page) ([]workspace.Entry, error) {
	if projectID == "" {
		return nil, nil
	}
	return auditWhere(ctx, tx, workspaceID, projectID, filter, page)
}

// auditWhere lists entries, newest first. Since is the first moment, Until the
// first one after.
func auditWhere(ctx context.Context, tx access.Tx, workspaceID, projectID string, filter workspace.AuditFilter, page workspace.Page) ([]workspace.Entry, error) {
	var s statement
	s.add(`SELECT id, workspace_id, project_id, user_id, connection_id, tool, kind, resource_id, code, detail, duration_us, created_at
		FROM audit WHERE workspace_id = ?`, workspaceID)
	for _, f := range []struct {
		condition string
		value     any
		set       bool
	}{
		{` AND project_id = ?`, projectID, projectID != ""},
		{` AND connection_id = ?`, filter.ConnectionID, filter.ConnectionID != ""},
		{` AND tool = ?`, filter.Tool, filter.Tool != ""},
		{` AND decision = ?`, filter.Decision, filter.Decision != ""},
		{` AND created_at >= ?`, msOf(filter.Since), !filter.Since.IsZero()},
		{` AND created_at < ?`, msOf(filter.Until), !filter.Until.IsZero()},
		{` AND id < ?`, page.After, page.After != ""},
	} {
		if f.set {
			s.add(f.condition, f.value)
		}
	}
	s.add(` ORDER BY id DESC LIMIT ?`, page.Limit)
	c, _ := long(tx)
	rows, err := c.QueryContext(ctx, s.String(), s.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var entries []workspace.Entry
	for rows.Next() {
		var e workspace.Entry
		var detail string
		var took, created int64
		if err := rows.Scan(&e.ID, &e.WorkspaceID, &e.ProjectID, &e.UserID, &e.ConnectionID, &e.Tool, &e.Kind, &e.ResourceID,
			&e.Code, &detail, &took, &created); err != nil {
			return nil, err
		}
		if err := readObject(detail, &e.Detail); err != nil {
			return nil, fmt.Errorf("audit entry %s: %w", e.ID, err)
		}
		e.Duration, e.CreatedAt = time.Duration(took)*time.Microsecond, timeOf(created)
		entries = append(entries, e)
	}
	return entries, rows.Err()
}
