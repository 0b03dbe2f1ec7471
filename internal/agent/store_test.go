package agent_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// store implements agent.Store on the rows of a world.
type store struct{}

var _ agent.Store = store{}

var errOpen = errors.New("the round ends, and its job does not")

// held is the round of the attempt, if that attempt is the one that runs.
func (r *rows) held(ref access.RoundRef) (*workspace.Round, bool) {
	if r.task.State != workspace.TaskRunning || ref.Number > int64(len(r.rounds)) {
		return nil, false
	}
	round := &r.rounds[ref.Number-1]
	return round, round.State == workspace.RoundRunning && round.Attempt == ref.Attempt
}

func (r *rows) count(u workspace.Use) {
	r.task.Rounds += u.Rounds
	r.task.ToolCalls += u.ToolCalls
	r.task.Tokens += u.Tokens
	r.task.Spent += u.Took
}

func (store) BeginRound(_ context.Context, unit access.Tx, _ string, number int64, node string) (b workspace.Begun, ok bool, err error) {
	r := unit.(tx).rows
	if r.task.State != workspace.TaskQueued && r.task.State != workspace.TaskRunning || number > int64(len(r.rounds)) {
		return b, false, nil
	}
	round := &r.rounds[number-1]
	if round.State != workspace.RoundQueued && round.State != workspace.RoundRunning {
		return b, false, nil
	}
	if r.task.State == workspace.TaskQueued {
		r.task.State = workspace.TaskRunning
		if r.task.StartedAt.IsZero() {
			r.task.StartedAt = time.Now()
		}
	}
	round.State, round.Node = workspace.RoundRunning, node
	round.Attempt++
	if len(round.Calls) == 0 && round.EffectAt.IsZero() {
		round.Text = ""
	}
	from := workspace.Author{UserID: r.task.UserID, UserName: "Mara"}
	if r.task.ConnectionID != "" {
		from.ConnectionID, from.ConnectionName = r.task.ConnectionID, "Claude"
	}
	b = workspace.Begun{Task: r.task, Session: r.session, Round: *round, From: from}
	b.Round.Calls = slices.Clone(round.Calls)
	return b, true, nil
}

func (store) RoundHeld(_ context.Context, unit access.Tx, ref access.RoundRef) (bool, error) {
	_, ok := unit.(tx).held(ref)
	return ok, nil
}

func (store) RoundsOf(_ context.Context, unit access.Tx, _ string) (over []workspace.Round, err error) {
	for _, r := range unit.(tx).rounds {
		if r.State != workspace.RoundQueued && r.State != workspace.RoundRunning {
			over = append(over, r)
		}
	}
	return over, nil
}

func (store) DebitRound(_ context.Context, unit access.Tx, _ workspace.Task, day string, use workspace.Use) (workspace.Spent, error) {
	r := unit.(tx).rows
	was := r.spent[day]
	was.Rounds, was.Tokens, was.Took = was.Rounds+use.Rounds, was.Tokens+use.Tokens, was.Took+use.Took
	r.spent[day] = was
	return workspace.Spent{Session: was, Workspace: was, Limit: r.limit}, nil
}

func (store) MarkEffect(_ context.Context, unit access.Tx, ref access.RoundRef) (bool, error) {
	round, ok := unit.(tx).held(ref)
	if ok {
		round.EffectAt = time.Now()
	}
	return ok, nil
}

func (store) AppendText(_ context.Context, unit access.Tx, ref access.RoundRef, text string) (bool, error) {
	r := unit.(tx).rows
	round, ok := r.held(ref)
	if ok {
		round.Text += text
		r.appends = append(r.appends, time.Now())
		r.shown = append(r.shown, text)
	}
	return ok, nil
}

func (store) KeepTurn(_ context.Context, unit access.Tx, ref access.RoundRef, turn workspace.Turn, use workspace.Use) (bool, error) {
	r := unit.(tx).rows
	round, ok := r.held(ref)
	if ok {
		setTurn(round, turn)
		round.EffectAt = time.Time{}
		r.count(use)
	}
	return ok, nil
}

func setTurn(r *workspace.Round, t workspace.Turn) {
	r.Text, r.Calls, r.Model, r.TokensIn, r.TokensOut = t.Text, slices.Clone(t.Calls), t.Model, t.TokensIn, t.TokensOut
}

func (store) EndRound(_ context.Context, unit access.Tx, ref access.RoundRef, end workspace.RoundEnd, use workspace.Use) (bool, error) {
	r := unit.(tx).rows
	round, ok := r.held(ref)
	if !ok {
		return false, nil
	}
	if _, open := r.jobs[ref.Number]; open {
		return false, errOpen
	}
	setTurn(round, end.Turn)
	round.State, round.Reason, round.EndedAt = end.State, end.Reason, time.Now()
	r.count(use)
	if end.State == workspace.RoundDone {
		r.commits = append(r.commits, ref.Number)
	}
	return true, nil
}

func (store) NextRound(_ context.Context, unit access.Tx, t workspace.Task, number int64, slug string) error {
	r := unit.(tx).rows
	r.rounds = append(r.rounds, workspace.Round{TaskID: t.ID, Number: number, Agent: slug, State: workspace.RoundQueued})
	r.jobs[number] = time.Now()
	return nil
}

func (store) EndTask(_ context.Context, unit access.Tx, _ workspace.Task, end workspace.TaskEnd) error {
	r := unit.(tx).rows
	r.task.State, r.task.Reason, r.task.Result, r.task.ResultBy = end.State, end.Reason, end.Result, end.ResultBy
	r.task.EndedAt = time.Now()
	return nil
}

func (store) GiveBack(_ context.Context, unit access.Tx, ref access.RoundRef, faults int64, reason string, effect bool, use workspace.Use) (bool, error) {
	r := unit.(tx).rows
	round, ok := r.held(ref)
	if !ok {
		return false, nil
	}
	round.State, round.Faults, round.Reason = workspace.RoundQueued, faults, reason
	if !effect {
		round.EffectAt = time.Time{}
	}
	r.count(use)
	return true, nil
}

func (store) WaitTask(_ context.Context, unit access.Tx, _ workspace.Task, ref access.RoundRef, reason string) (bool, error) {
	r := unit.(tx).rows
	round, ok := r.held(ref)
	if !ok {
		return false, nil
	}
	if _, open := r.jobs[ref.Number]; open {
		return false, errOpen
	}
	round.State, round.Reason = workspace.RoundQueued, reason
	r.task.State, r.task.Reason = workspace.TaskWaiting, reason
	return true, nil
}

func (store) MailFor(_ context.Context, unit access.Tx, t workspace.Task, slug string, until time.Time, limit int) (mail []workspace.Mail, err error) {
	for _, m := range unit.(tx).mail {
		mine := m.ToAgent == slug || m.ToAgent == ""
		own := m.FromKind == workspace.FromAgent && m.FromID == slug && m.ToConnection == ""
		behind := m.Internal || t.ConnectionID == "" || m.ToConnection == t.ConnectionID || m.FromID == t.ConnectionID
		if mine && !own && behind && !m.CreatedAt.After(until) && (!m.Internal || m.TaskID == t.ID) {
			mail = append(mail, m)
		}
	}
	return mail[max(0, len(mail)-limit):], nil
}

func (store) MailAddress(_ context.Context, unit access.Tx, _ workspace.Task, slug string) (string, bool, error) {
	id, ok := unit.(tx).slugs[slug]
	return id, ok, nil
}

func (store) SendMail(_ context.Context, unit access.Tx, m workspace.Mail) error {
	r := unit.(tx).rows
	m.ID, m.CreatedAt = "mail"+string(rune('1'+len(r.mail))), time.Now()
	r.mail = append(r.mail, m)
	return nil
}
