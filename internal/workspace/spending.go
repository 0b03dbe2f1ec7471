package workspace

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Spent is what agents of a session, and of its workspace, used on one day.
type Spent struct {
	Session   Use
	Workspace Use
	Limit     Budget // of the workspace; the session has its own
}

// SpendingStore keeps what sessions and workspaces use on a day.
type SpendingStore interface {
	// DebitRound adds to what the task's session and workspace used on the day (UTC,
	// 2026-01-31) and says what they used by now, this too. Who debits waits for
	// others who do, so that no two see the last round of a budget as theirs.
	DebitRound(ctx context.Context, tx access.Tx, t Task, day string, use Use) (Spent, error)
	// SpentOn is what the session and its workspace used on the day.
	SpentOn(ctx context.Context, tx access.Tx, workspaceID, sessionID, day string) (Spent, error)
}
