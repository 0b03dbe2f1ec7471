package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Tasks implements workspace.TaskStore.
type Tasks struct{}

var _ workspace.TaskStore = Tasks{}

// AddTask is workspace.TaskStore.AddTask.
func (Tasks) AddTask(ctx context.Context, tx access.Tx, t workspace.Task, agent string) (bool, error) {
	agents, done, err := sessionSetup(workspace.Session{Agents: t.Agents, Done: t.Done})
	if err != nil {
		return false, fmt.Errorf("agents of task %s: %w", t.ID, err)
	}
	n, err := on(tx).AddTask(ctx, gen.AddTaskParams{
		ID: t.ID, WorkspaceID: t.WorkspaceID, SessionID: t.SessionID, HandoffID: sql.NullString{String: t.HandoffID, Valid: t.HandoffID != ""},
		ConnectionID: t.ConnectionID, UserID: t.UserID, Goal: t.Goal, MaxRounds: t.MaxRounds, Agents: agents, Done: done, Type: string(t.Type),
		CreatedAt: msOf(t.CreatedAt),
	})
	if err != nil || n == 0 {
		return false, err
	}
	return true, Rounds{}.AddRound(ctx, tx, t, 1, agent)
}

// QueuePosition is workspace.TaskStore.QueuePosition.
func (Tasks) QueuePosition(ctx context.Context, tx access.Tx, sessionID, taskID string) (int64, error) {
	return on(tx).QueuePosition(ctx, sessionID, taskID)
}

// QueuedRequests is workspace.TaskStore.QueuedRequests.
func (Tasks) QueuedRequests(ctx context.Context, tx access.Tx, connectionID string) (int64, error) {
	return on(tx).QueuedRequests(ctx, connectionID)
}

// TasksOf is workspace.TaskStore.TasksOf.
func (Tasks) TasksOf(ctx context.Context, tx access.Tx, workspaceID, sessionID string, f workspace.TaskFilter, page workspace.Page) ([]workspace.ListedTask, error) {
	rows, err := on(tx).TasksOfSession(ctx, gen.TasksOfSessionParams{
		SessionID: sessionID, WorkspaceID: workspaceID, Before: page.After, ConnectionID: f.ConnectionID, Open: number(f.Open), Most: int32(page.Limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list tasks of session: %w", err)
	}
	return each(rows, listedTask), nil
}

func listedTask(r gen.TasksOfSessionRow) workspace.ListedTask {
	t := workspace.ListedTask{Slug: r.ConnectionSlug, QueuePosition: int64(r.QueuePosition)}
	t.Task = workspace.Task{
		ID: r.ID, WorkspaceID: r.WorkspaceID, SessionID: r.SessionID, HandoffID: r.HandoffID, ConnectionID: r.ConnectionID, UserID: r.UserID,
		Goal: r.Goal, MaxRounds: r.MaxRounds, Type: workspace.SessionType(r.Type), State: workspace.TaskState(r.State), Reason: r.Reason,
		Rounds: r.Rounds, ToolCalls: r.ToolCalls, Tokens: r.Tokens, Spent: spent(r.Millis), ResultBy: r.ResultBy, Chars: r.Chars,
		CreatedAt: timeOf(r.CreatedAt), StartedAt: timeOf(r.StartedAt), EndedAt: timeOf(r.EndedAt), StoppedBy: r.StoppedBy,
	}
	for _, who := range []struct {
		to       *workspace.Named
		id, name string
	}{{&t.Connection, r.ConnectionID, r.ConnectionName}, {&t.User, r.UserID, r.UserName}, {&t.Stopper, r.StoppedBy, r.StopperName}} {
		if who.id != "" {
			*who.to = workspace.Named{ID: who.id, Name: who.name}
		}
	}
	return t
}

// OneTask is workspace.TaskStore.OneTask.
func (Tasks) OneTask(ctx context.Context, tx access.Tx, key workspace.TaskKey) (workspace.ListedTask, bool, error) {
	r, err := on(tx).OneTask(ctx, key.TaskID, key.SessionID, key.WorkspaceID)
	if found, err := foundRow(err, "read task"); !found {
		return workspace.ListedTask{}, false, err
	}
	t := listedTask(gen.TasksOfSessionRow{
		ID: r.ID, WorkspaceID: r.WorkspaceID, SessionID: r.SessionID, HandoffID: r.HandoffID, ConnectionID: r.ConnectionID, UserID: r.UserID,
		Goal: r.Goal, MaxRounds: r.MaxRounds, Type: r.Type, State: r.State, Reason: r.Reason, Rounds: r.Rounds, ToolCalls: r.ToolCalls,
		Tokens: r.Tokens, Millis: r.Millis, ResultBy: r.ResultBy, Chars: r.Chars, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		StoppedBy: r.StoppedBy, ConnectionName: r.ConnectionName, ConnectionSlug: r.ConnectionSlug, UserName: r.UserName, StopperName: r.StopperName,
		QueuePosition: r.QueuePosition,
	})
	t.Result = r.Result
	return t, true, readTaskSetup(r.Agents, r.Done, &t.Task)
}

// readTaskSetup reads what the session was when the task was queued.
func readTaskSetup(agents, done string, t *workspace.Task) error {
	err := errors.Join(json.Unmarshal([]byte(agents), &t.Agents), json.Unmarshal([]byte(done), &t.Done))
	if err != nil {
		return fmt.Errorf("agents of task %s: %w", t.ID, err)
	}
	return nil
}

// TaskRounds is workspace.TaskStore.TaskRounds.
func (Tasks) TaskRounds(ctx context.Context, tx access.Tx, key workspace.TaskKey, after int64, limit int) ([]workspace.Round, error) {
	rows, err := on(tx).TaskRounds(ctx, gen.TaskRoundsParams{
		TaskID: key.TaskID, SessionID: key.SessionID, WorkspaceID: key.WorkspaceID, After: after, Most: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list rounds of task: %w", err)
	}
	return roundsOf(rows)
}

// StopTask is workspace.TaskStore.StopTask.
func (Tasks) StopTask(ctx context.Context, tx access.Tx, key workspace.TaskKey, userID, reason string, now time.Time) (bool, error) {
	q := on(tx)
	n, err := q.StopTask(ctx, gen.StopTaskParams{
		Reason: reason, Now: msOf(now), UserID: userID, ID: key.TaskID, SessionID: key.SessionID, WorkspaceID: key.WorkspaceID,
	})
	if err != nil || n == 0 {
		return false, err
	}
	return true, q.CloseRounds(ctx, gen.CloseRoundsParams{
		State: string(workspace.RoundStopped), Reason: reason, Now: msOf(now), TaskID: key.TaskID,
	})
}

// ResumeTask is workspace.TaskStore.ResumeTask.
func (Tasks) ResumeTask(ctx context.Context, tx access.Tx, key workspace.TaskKey) (int64, bool, error) {
	q := on(tx)
	n, err := q.ResumeTask(ctx, key.TaskID, key.SessionID, key.WorkspaceID)
	if err != nil || n == 0 {
		return 0, false, err
	}
	round, err := q.ReleaseRound(ctx, key.TaskID)
	if err != nil {
		return 0, false, fmt.Errorf("round of waiting task %s: %w", key.TaskID, err)
	}
	return round, true, nil
}

// spent is a time that was kept in milliseconds.
func spent(millis int64) time.Duration { return time.Duration(millis) * time.Millisecond }
