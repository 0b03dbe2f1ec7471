package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type auditEntry struct {
	ID           string         `json:"id"`
	At           time.Time      `json:"at"`
	ProjectID    string         `json:"project_id,omitzero"`
	UserID       string         `json:"user_id"`
	ConnectionID string         `json:"connection_id,omitzero"`
	Tool         string         `json:"tool"`
	Kind         access.Kind    `json:"kind,omitzero"`
	ResourceID   string         `json:"resource_id,omitzero"`
	Decision     string         `json:"decision"` // allowed or denied
	Code         access.Code    `json:"code,omitzero"`
	Detail       map[string]any `json:"detail,omitzero"`
	DurationUS   int64          `json:"duration_us"` // microseconds
}

func auditEntryOf(e workspace.Entry) auditEntry {
	out := auditEntry{
		ID: e.ID, At: e.CreatedAt, ProjectID: e.ProjectID, UserID: e.UserID, ConnectionID: e.ConnectionID, Tool: e.Tool, Kind: e.Kind,
		ResourceID: e.ResourceID, Decision: "allowed", Code: e.Code, Detail: e.Detail, DurationUS: e.Duration.Microseconds(),
	}
	if e.Code != "" {
		out.Decision = "denied"
	}
	return out
}

// Flusher writes entries that still wait in memory, so that who asks sees what
// was answered before.
type Flusher interface {
	Flush(ctx context.Context) error
}

type auditCalls struct {
	store   workspace.AuditStore
	waiting Flusher
}

var auditFilters = []Query{
	{"connection", "", "Only this connection's calls"},
	{"tool", "", "Only this tool, or operation of the owner API"},
	{"decision", "enum=allowed|denied", "Only what was allowed, or denied"},
	{"since", "format=date-time", "Not before"},
	{"until", "format=date-time", "Before"},
}

// AuditRoutes are who asked for what, and what was answered.
func AuditRoutes(store workspace.AuditStore, waiting Flusher) []Route {
	s := auditCalls{store, waiting}
	return []Route{
		HandlePrepared(Rule{Method: http.MethodGet, Path: "/api/v1/workspaces/{workspace}/audit", Operation: "audit.list",
			Summary: "What was asked for in the workspace, newest first", Kind: access.KindWorkspace, Right: access.RightManage,
			Paged: true, Filters: auditFilters}, s.flush, s.ofWorkspace),
		HandlePrepared(Rule{Method: http.MethodGet, Path: "/api/v1/projects/{project}/audit", Operation: "project.audit.list",
			Summary: "What was asked for in the project, newest first", Kind: access.KindProject, Right: access.RightManage,
			Paged: true, Filters: auditFilters}, s.flush, s.ofProject),
	}
}

// flush comes before the snapshot of the list, which would not see it otherwise.
func (s auditCalls) flush(ctx context.Context, _ *Nothing) error { return s.waiting.Flush(ctx) }

func (s auditCalls) ofWorkspace(ctx context.Context, c *Call, _ Nothing) (List[auditEntry], error) {
	rows, err := s.store.WorkspaceAudit(ctx, c.Tx, c.Permit.Workspace(), filterOf(c), morePage(c))
	return entriesOf(c, rows), err
}

func (s auditCalls) ofProject(ctx context.Context, c *Call, _ Nothing) (List[auditEntry], error) {
	rows, err := s.store.ProjectAudit(ctx, c.Tx, c.Permit.Workspace(), c.Permit.ID(), filterOf(c), morePage(c))
	return entriesOf(c, rows), err
}

func morePage(c *Call) workspace.Page {
	return workspace.Page{After: c.Page.After, Limit: c.Page.Limit + 1}
}

func entriesOf(c *Call, rows []workspace.Entry) List[auditEntry] {
	return listOf(c, workspace.Cut(rows, c.Page.Limit, func(e workspace.Entry) string { return e.ID }), auditEntryOf)
}

// filterOf reads the filters, whose form the gate has judged.
func filterOf(c *Call) workspace.AuditFilter {
	since, _ := time.Parse(time.RFC3339, c.Query("since"))
	until, _ := time.Parse(time.RFC3339, c.Query("until"))
	return workspace.AuditFilter{
		ConnectionID: c.Query("connection"), Tool: c.Query("tool"), Decision: c.Query("decision"), Since: since, Until: until,
	}
}
