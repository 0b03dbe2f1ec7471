package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Entry is one line of the audit: who asked for what, and what was answered. It
// never holds a token, a key, or the text of anything.
type Entry struct {
	ID           string // UUIDv7; the order of entries
	WorkspaceID  string
	ProjectID    string // of the thing at that moment
	UserID       string
	ConnectionID string
	Tool         string // the tool, or the owner API's operation such as project.create
	Kind         access.Kind
	ResourceID   string
	Code         access.Code // the true reason of a denial; "" means allowed
	Detail       map[string]any
	Duration     time.Duration
	CreatedAt    time.Time
}

// AuditStore keeps entries.
type AuditStore interface {
	// AppendAudit writes entries in tx, all or none.
	AppendAudit(ctx context.Context, tx access.Tx, entries ...Entry) error
	// WorkspaceAudit and ProjectAudit list entries, newest first.
	WorkspaceAudit(ctx context.Context, tx access.Tx, workspaceID string, filter AuditFilter, page Page) ([]Entry, error)
	ProjectAudit(ctx context.Context, tx access.Tx, workspaceID, projectID string, filter AuditFilter, page Page) ([]Entry, error)
}

// AuditFilter narrows a list of entries; zero fields do not.
type AuditFilter struct {
	ConnectionID string
	Tool         string
	Decision     string // allowed, denied
	Since, Until time.Time
}
