package workspace

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Limits of a workspace's figures.
const (
	MaxHandoffMinutes = 366 * 24 * 60
	MaxBudget         = 1_000_000_000 // rounds, tokens or minutes a day
)

// Figures are a workspace's own settings of the agent runtime. The zero value is
// what a workspace has that never set any.
type Figures struct {
	HandoffMinutes int64  // a handoff proposed from now on is cancelled when nobody decides it for so long; 0: never
	Budget         Budget // of all sessions together
}

// FiguresStore keeps figures.
type FiguresStore interface {
	// Figures are the workspace's; the zero value if it never set any.
	Figures(ctx context.Context, tx access.Tx, workspaceID string) (Figures, error)
	PutFigures(ctx context.Context, tx access.Tx, workspaceID string, f Figures) error
}

// FiguresChange says what to change; nil leaves it as it is.
type FiguresChange struct {
	HandoffMinutes *int64
	Budget         *Budget
}

// WorkspaceFigures is what people may do with the figures of a workspace.
type WorkspaceFigures struct {
	store  FiguresStore
	events *Events
}

// NewWorkspaceFigures makes the service on its store and the events.
func NewWorkspaceFigures(store FiguresStore, events *Events) *WorkspaceFigures {
	return &WorkspaceFigures{store, events}
}

// Get reads the figures of the permit's workspace.
func (s *WorkspaceFigures) Get(ctx context.Context, tx access.Tx, p access.Permit) (Figures, error) {
	if err := p.Covers(access.KindWorkspace, access.RightView); err != nil {
		return Figures{}, err
	}
	return s.store.Figures(ctx, tx, p.Workspace())
}

// Change writes the figures of the permit's workspace.
func (s *WorkspaceFigures) Change(ctx context.Context, tx access.Tx, p access.Permit, c FiguresChange) (Figures, error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Figures{}, err
	}
	if c.HandoffMinutes == nil && c.Budget == nil {
		return Figures{}, refuseFaults(faultf("/handoff_minutes", "or budget is required"))
	}
	f, err := s.store.Figures(ctx, tx, p.Workspace())
	if err != nil {
		return Figures{}, err
	}
	var faults []Fault
	if c.HandoffMinutes != nil {
		if f.HandoffMinutes = *c.HandoffMinutes; f.HandoffMinutes < 0 || f.HandoffMinutes > MaxHandoffMinutes {
			faults = append(faults, faultf("/handoff_minutes", "takes 0 to %d, got %d", MaxHandoffMinutes, f.HandoffMinutes))
		}
	}
	if c.Budget != nil {
		f.Budget = *c.Budget
		faults = append(faults, f.Budget.faults()...)
	}
	if faults != nil {
		return Figures{}, refuseFaults(faults...)
	}
	if err := s.store.PutFigures(ctx, tx, p.Workspace(), f); err != nil {
		return Figures{}, err
	}
	return f, s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: p.Workspace(), Type: "workspace.figures_changed", Kind: access.KindWorkspace, ResourceID: p.Workspace(),
	})
}

func (b Budget) faults() (faults []Fault) {
	for _, f := range []struct {
		name string
		n    int64
	}{{"rounds", b.Rounds}, {"tokens", b.Tokens}, {"minutes", b.Minutes}} {
		if f.n < 0 || f.n > MaxBudget {
			faults = append(faults, faultf("/budget/"+f.name, "takes 0 to %d, got %d", MaxBudget, f.n))
		}
	}
	return faults
}
