package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Spending implements workspace.SpendingStore. The session's row is always taken
// before the workspace's.
type Spending struct{}

var _ workspace.SpendingStore = Spending{}

// DebitRound is workspace.SpendingStore.DebitRound.
func (Spending) DebitRound(ctx context.Context, tx access.Tx, t workspace.Task, day string, use workspace.Use) (s workspace.Spent, err error) {
	q := on(tx)
	for _, scope := range []struct {
		id string
		to *workspace.Use
	}{{t.SessionID, &s.Session}, {t.WorkspaceID, &s.Workspace}} {
		r, err := q.Debit(ctx, gen.DebitParams{Scope: scope.id, Day: day, Rounds: use.Rounds, Tokens: use.Tokens, Millis: use.Took.Milliseconds()})
		if err != nil {
			return workspace.Spent{}, fmt.Errorf("debit the day: %w", err)
		}
		*scope.to = workspace.Use{Rounds: r.Rounds, Tokens: r.Tokens, Took: spent(r.Millis)}
	}
	s.Limit, err = dayBudget(ctx, q, t.WorkspaceID)
	return s, err
}

// SpentOn is workspace.SpendingStore.SpentOn.
func (Spending) SpentOn(ctx context.Context, tx access.Tx, workspaceID, sessionID, day string) (s workspace.Spent, err error) {
	q := on(tx)
	for _, scope := range []struct {
		id string
		to *workspace.Use
	}{{sessionID, &s.Session}, {workspaceID, &s.Workspace}} {
		r, err := q.SpentOn(ctx, scope.id, day)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return workspace.Spent{}, fmt.Errorf("read what the day used: %w", err)
		}
		*scope.to = workspace.Use{Rounds: r.Rounds, Tokens: r.Tokens, Took: spent(r.Millis)}
	}
	s.Limit, err = dayBudget(ctx, q, workspaceID)
	return s, err
}

// dayBudget is the workspace's own; the zero Budget where it set none.
func dayBudget(ctx context.Context, q *gen.Queries, workspaceID string) (workspace.Budget, error) {
	r, err := q.DayBudget(ctx, workspaceID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return workspace.Budget{}, fmt.Errorf("read budget of workspace: %w", err)
	}
	return workspace.Budget{Rounds: r.DayRounds, Tokens: r.DayTokens, Minutes: r.DayMinutes}, nil
}
