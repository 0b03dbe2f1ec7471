package storage

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Rounds implements workspace.RoundStore. A unit of work that changes a task and a
// round takes the task first, as all others do (see hold.go).
type Rounds struct{}

var _ workspace.RoundStore = Rounds{}

// AddRound is workspace.RoundStore.AddRound.
func (Rounds) AddRound(ctx context.Context, tx access.Tx, t workspace.Task, number int64, agent string) error {
	return on(tx).AddRound(ctx, gen.AddRoundParams{
		TaskID: t.ID, Number: number, WorkspaceID: t.WorkspaceID, SessionID: t.SessionID, Agent: agent,
	})
}

// BeginRound is workspace.RoundStore.BeginRound.
func (Rounds) BeginRound(ctx context.Context, tx access.Tx, taskID string, number int64, node string, now time.Time) (b workspace.Begun, started, ok bool, err error) {
	q := on(tx)
	n, err := q.StartTask(ctx, msOf(now), taskID, number)
	if err != nil {
		return b, false, false, err
	}
	if started = n == 1; !started {
		if n, err = q.HoldTaskAt(ctx, taskID, number); err != nil || n == 0 {
			return b, false, false, err
		}
	}
	row, err := q.BeginRound(ctx, gen.BeginRoundParams{Node: node, Now: msOf(now), TaskID: taskID, Number: number})
	if found, err := foundRow(err, "begin round"); !found {
		return b, false, false, err
	}
	if b.Round, err = roundOf(row); err != nil {
		return b, false, false, err
	}
	if err := toRun(ctx, q, taskID, &b); err != nil {
		return b, false, false, fmt.Errorf("read task of round: %w", err)
	}
	return b, started, true, nil
}

// toRun reads the task, its session, and who is behind it.
func toRun(ctx context.Context, q *gen.Queries, taskID string, b *workspace.Begun) error {
	r, err := q.TaskToRun(ctx, taskID)
	if err != nil {
		return err
	}
	b.Task = workspace.Task{
		ID: r.ID, WorkspaceID: r.WorkspaceID, SessionID: r.SessionID, HandoffID: r.HandoffID.String, ConnectionID: r.ConnectionID, UserID: r.UserID,
		Goal: r.Goal, MaxRounds: r.MaxRounds, Type: workspace.SessionType(r.Type), State: workspace.TaskState(r.State), Reason: r.Reason,
		Rounds: r.Rounds, ToolCalls: r.ToolCalls, Tokens: r.Tokens, Spent: spent(r.Millis), Result: r.Result, ResultBy: r.ResultBy, Chars: r.Chars,
		CreatedAt: timeOf(r.CreatedAt), StartedAt: timeOf(r.StartedAt), EndedAt: timeOf(r.EndedAt), StoppedBy: r.StoppedBy,
	}
	if err := readTaskSetup(r.Agents, r.Done, &b.Task); err != nil {
		return err
	}
	b.From = workspace.Author{UserID: r.UserID, UserName: r.UserName, ConnectionID: r.ConnectionID, ConnectionName: r.ConnectionName}
	s, err := q.SessionToRun(ctx, r.SessionID)
	if err != nil {
		return err
	}
	b.Session = workspace.Session{
		ID: s.ID, WorkspaceID: s.WorkspaceID, ProjectID: s.ProjectID, Type: workspace.SessionType(s.Type), Title: s.Title, OwnerID: s.OwnerID,
		Version: s.Version, MaxRounds: s.MaxRounds, Budget: workspace.Budget{Rounds: s.DayRounds, Tokens: s.DayTokens, Minutes: s.DayMinutes},
		LocalOnly: s.LocalOnly != 0, HasACL: s.HasAcl != 0, ArchivedAt: timeOf(s.ArchivedAt),
		CreatedAt: timeOf(s.CreatedAt), CreatedBy: s.CreatedBy, UpdatedAt: timeOf(s.UpdatedAt), UpdatedBy: s.UpdatedBy,
	}
	return readSessionSetup(s.Agents, s.Done, &b.Session)
}

// RoundHeld is workspace.RoundStore.RoundHeld.
func (Rounds) RoundHeld(ctx context.Context, tx access.Tx, ref access.RoundRef) (bool, error) {
	n, err := on(tx).RoundHeld(ctx, ref.TaskID, ref.Number, ref.Attempt)
	return n == 1, err
}

// RoundsOf is workspace.RoundStore.RoundsOf.
func (Rounds) RoundsOf(ctx context.Context, tx access.Tx, taskID string) ([]workspace.Round, error) {
	rows, err := on(tx).RoundsOfTask(ctx, taskID)
	if err != nil {
		return nil, fmt.Errorf("list rounds of task: %w", err)
	}
	return roundsOf(rows)
}

// MarkEffect is workspace.RoundStore.MarkEffect.
func (Rounds) MarkEffect(ctx context.Context, tx access.Tx, ref access.RoundRef, now time.Time) (bool, error) {
	n, err := on(tx).MarkEffect(ctx, gen.MarkEffectParams{Now: msOf(now), TaskID: ref.TaskID, Number: ref.Number, Attempt: ref.Attempt})
	return n == 1, err
}

// AppendText is workspace.RoundStore.AppendText.
func (Rounds) AppendText(ctx context.Context, tx access.Tx, ref access.RoundRef, text string) (bool, error) {
	n, err := on(tx).AppendText(ctx, gen.AppendTextParams{Text: text, TaskID: ref.TaskID, Number: ref.Number, Attempt: ref.Attempt})
	return n == 1, err
}

// KeepTurn is workspace.RoundStore.KeepTurn.
func (Rounds) KeepTurn(ctx context.Context, tx access.Tx, ref access.RoundRef, t workspace.Turn, use workspace.Use) (bool, error) {
	calls, err := callsText(t.Calls)
	if err != nil {
		return false, err
	}
	return onHeldTask(ctx, tx, ref, use, func(q *gen.Queries) (int64, error) {
		return q.KeepTurn(ctx, gen.KeepTurnParams{
			Text: t.Text, Calls: calls, Model: t.Model, TokensIn: t.TokensIn, TokensOut: t.TokensOut,
			TaskID: ref.TaskID, Number: ref.Number, Attempt: ref.Attempt,
		})
	})
}

// EndRound is workspace.RoundStore.EndRound.
func (Rounds) EndRound(ctx context.Context, tx access.Tx, ref access.RoundRef, end workspace.RoundEnd, use workspace.Use, now time.Time) (bool, error) {
	calls, err := callsText(end.Calls)
	if err != nil {
		return false, err
	}
	return onHeldTask(ctx, tx, ref, use, func(q *gen.Queries) (int64, error) {
		return q.EndRound(ctx, gen.EndRoundParams{
			State: string(end.State), Text: end.Text, Calls: calls, Model: end.Model, TokensIn: end.TokensIn, TokensOut: end.TokensOut,
			Reason: end.Reason, Now: msOf(now), TaskID: ref.TaskID, Number: ref.Number, Attempt: ref.Attempt,
		})
	})
}

// GiveBack is workspace.RoundStore.GiveBack.
func (Rounds) GiveBack(ctx context.Context, tx access.Tx, ref access.RoundRef, g workspace.GivenBack) (bool, error) {
	return onHeldTask(ctx, tx, ref, g.Use, func(q *gen.Queries) (int64, error) {
		return q.GiveBackRound(ctx, gen.GiveBackRoundParams{
			Faults: g.Faults, Reason: g.Reason, Effect: number(g.Effect), TaskID: ref.TaskID, Number: ref.Number, Attempt: ref.Attempt,
		})
	})
}

// WaitTask is workspace.RoundStore.WaitTask.
func (Rounds) WaitTask(ctx context.Context, tx access.Tx, ref access.RoundRef, reason string) (bool, error) {
	ok, err := onHeldTask(ctx, tx, ref, workspace.Use{}, func(q *gen.Queries) (int64, error) {
		return q.ParkRound(ctx, gen.ParkRoundParams{Reason: reason, TaskID: ref.TaskID, Number: ref.Number, Attempt: ref.Attempt})
	})
	if err != nil || !ok {
		return false, err
	}
	n, err := on(tx).WaitTask(ctx, reason, ref.TaskID)
	return n == 1, err
}

// onHeldTask changes a round of a running task by one conditional statement, and
// adds to the figures of the task if that found the round.
func onHeldTask(ctx context.Context, tx access.Tx, ref access.RoundRef, use workspace.Use, change func(*gen.Queries) (int64, error)) (bool, error) {
	q := on(tx)
	n, err := q.HoldTask(ctx, ref.TaskID)
	if err != nil || n == 0 {
		return false, err
	}
	if n, err = change(q); err != nil || n == 0 {
		return false, err
	}
	if use == (workspace.Use{}) {
		return true, nil
	}
	n, err = q.CountUse(ctx, gen.CountUseParams{
		Rounds: use.Rounds, ToolCalls: use.ToolCalls, Tokens: use.Tokens, Millis: use.Took.Milliseconds(), ID: ref.TaskID,
	})
	return n == 1, err
}

// EndTask is workspace.RoundStore.EndTask.
func (Rounds) EndTask(ctx context.Context, tx access.Tx, taskID string, end workspace.TaskEnd, now time.Time) (bool, error) {
	q := on(tx)
	n, err := q.EndTask(ctx, gen.EndTaskParams{
		State: string(end.State), Reason: end.Reason, Result: end.Result, ResultBy: end.ResultBy, Chars: int64(utf8.RuneCountInString(end.Result)),
		Now: msOf(now), ID: taskID,
	})
	if err != nil || n == 0 {
		return false, err
	}
	state := workspace.RoundStopped
	if end.State == workspace.TaskFailed {
		state = workspace.RoundFailed
	}
	return true, q.CloseRounds(ctx, gen.CloseRoundsParams{State: string(state), Reason: end.Reason, Now: msOf(now), TaskID: taskID})
}

// TaskPlace is workspace.RoundStore.TaskPlace.
func (Rounds) TaskPlace(ctx context.Context, tx access.Tx, taskID string) (workspace.TaskPlace, error) {
	r, err := on(tx).TaskPlace(ctx, taskID)
	if err != nil {
		return workspace.TaskPlace{}, fmt.Errorf("read place of task %s: %w", taskID, err)
	}
	return workspace.TaskPlace{
		TaskID: r.ID, WorkspaceID: r.WorkspaceID, ProjectID: r.ProjectID, SessionID: r.SessionID, OwnerID: r.OwnerID,
		UserID: r.UserID, ConnectionID: r.ConnectionID, Connection: r.ConnectionName,
	}, nil
}

// RunningRounds is api.EventLog.RunningRounds.
func (Events) RunningRounds(ctx context.Context, tx access.Tx, workspaceID string, limit int) ([]workspace.Round, error) {
	rows, err := on(tx).RunningRounds(ctx, workspaceID, int32(limit))
	return each(rows, func(r gen.RunningRoundsRow) workspace.Round {
		return workspace.Round{TaskID: r.TaskID, SessionID: r.SessionID, Number: r.Number, Attempt: r.Attempt, State: workspace.RoundRunning}
	}), err
}

// RoundText is api.EventLog.RoundText.
func (Events) RoundText(ctx context.Context, tx access.Tx, taskID string, number, after int64) (workspace.Round, error) {
	r, err := on(tx).RoundText(ctx, int32(after), taskID, number)
	if err != nil {
		return workspace.Round{}, fmt.Errorf("read text of round: %w", err)
	}
	return workspace.Round{TaskID: taskID, Number: number, State: workspace.RoundState(r.State), Attempt: r.Attempt, Text: r.Text}, nil
}

func roundsOf(rows []gen.Round) ([]workspace.Round, error) {
	rounds := make([]workspace.Round, len(rows))
	for i, row := range rows {
		var err error
		if rounds[i], err = roundOf(row); err != nil {
			return nil, err
		}
	}
	return rounds, nil
}

func roundOf(r gen.Round) (workspace.Round, error) {
	round := workspace.Round{
		TaskID: r.TaskID, Number: r.Number, WorkspaceID: r.WorkspaceID, SessionID: r.SessionID, Agent: r.Agent, State: workspace.RoundState(r.State),
		Attempt: r.Attempt, Faults: r.Faults, Node: r.Node, EffectAt: timeOf(r.EffectAt), Text: r.Text, Model: r.Model,
		TokensIn: r.TokensIn, TokensOut: r.TokensOut, Reason: r.Reason, StartedAt: timeOf(r.StartedAt), EndedAt: timeOf(r.EndedAt),
	}
	if err := json.Unmarshal([]byte(r.Calls), &round.Calls); err != nil {
		return workspace.Round{}, fmt.Errorf("calls of round %d of task %s: %w", r.Number, r.TaskID, err)
	}
	return round, nil
}

// callsText is how tool calls are stored; none are "[]", which queries rely on.
func callsText(calls []workspace.ToolCall) (string, error) {
	if len(calls) == 0 {
		return "[]", nil
	}
	text, err := json.Marshal(calls)
	return string(text), err
}
