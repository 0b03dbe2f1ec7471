package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Caps bound every task, whatever its session says (security.md TH25). Sessions
// and workspaces have budgets for a day besides.
type Caps struct {
	Rounds    int64
	ToolCalls int64
	Tokens    int64 // in and out, of all rounds
	Answer    int64 // tokens of one turn's answer
	Time      time.Duration
	Output    int64 // bytes of text and arguments that its agents write
}

// DefaultCaps are the caps where nobody set others.
func DefaultCaps() Caps {
	return Caps{Rounds: workspace.MaxRounds, ToolCalls: 200, Tokens: 2_000_000, Answer: 8192, Time: 30 * time.Minute, Output: 1 << 20}
}

// A limitError stops a task: a cap or a budget is used up. Its word begins the
// reason of the task.
type limitError struct{ word, text string }

func (e *limitError) Error() string { return e.word + ": " + e.text }

// The words of limits.
const (
	limitRounds = "limit_rounds"
	limitTools  = "limit_tools"
	limitTokens = "limit_tokens"
	limitTime   = "limit_time"
	limitOutput = "limit_output"
)

func limitf(word, format string, args ...any) *limitError {
	return &limitError{word, fmt.Sprintf(format, args...)}
}

// allowance is what caps and budgets leave to one turn.
type allowance struct {
	tokens int64 // of its answer
	time   time.Duration
	late   *limitError // what is used up when the time is over
	// booked is how many tokens of the day were debited before the turn; what it did
	// not use is given back.
	booked int64
}

// narrow lowers the allowance to what a budget leaves, or says that it leaves
// nothing. Spent holds the round that is about to begin.
func (a *allowance) narrow(whose string, b workspace.Budget, spent workspace.Use) error {
	if b.Rounds > 0 && spent.Rounds > b.Rounds {
		return limitf(limitRounds, "The %s's budget of %d rounds a day is used up.", whose, b.Rounds)
	}
	if b.Tokens > 0 && spent.Tokens >= b.Tokens {
		return limitf(limitTokens, "The %s's budget of %d tokens a day is used up.", whose, b.Tokens)
	}
	if b.Tokens > 0 {
		a.tokens = min(a.tokens, b.Tokens-spent.Tokens)
	}
	if b.Minutes == 0 {
		return nil
	}
	late := limitf(limitTime, "The %s's budget of %d minutes a day is used up.", whose, b.Minutes)
	left := time.Duration(b.Minutes)*time.Minute - spent.Took
	if left <= 0 {
		return late
	}
	if left < a.time {
		a.time, a.late = left, late
	}
	return nil
}

// within is what the caps leave to the next turn of the task.
func (c Caps) within(t workspace.Task) (allowance, error) {
	late := c.timeOver()
	a := allowance{tokens: min(c.Answer, c.Tokens-t.Tokens), time: c.Time - t.Spent, late: late}
	if a.tokens <= 0 {
		return a, limitf(limitTokens, "The task used %d tokens, the most a task may.", c.Tokens)
	}
	if a.time <= 0 {
		return a, late
	}
	return a, nil
}

func (c Caps) timeOver() *limitError {
	return limitf(limitTime, "The task ran for %s, the most a task may.", c.Time)
}

// rounds is the number of the task's last round.
func (c Caps) rounds(t workspace.Task) int64 { return max(1, min(t.MaxRounds, c.Rounds)) }

// debit takes the round from today's budgets, before it begins, and with it the
// tokens of its answer where a budget counts them. A *limitError says that they
// leave nothing; then nothing was taken.
func (a *attempt) debit(ctx context.Context, tx access.Tx) error {
	allowed, err := a.Caps.within(a.task)
	if err != nil {
		return err
	}
	spent, err := a.Store.DebitRound(ctx, tx, a.task, a.day, workspace.Use{Rounds: 1})
	if err != nil {
		return err
	}
	of := a.session.Budget
	err = allowed.narrow("session", of, spent.Session)
	if err == nil {
		err = allowed.narrow("workspace", spent.Limit, spent.Workspace)
	}
	if err != nil {
		if _, undo := a.Store.DebitRound(ctx, tx, a.task, a.day, workspace.Use{Rounds: -1}); undo != nil {
			return undo
		}
		return err
	}
	a.allowed = allowed
	if of.Tokens == 0 && spent.Limit.Tokens == 0 {
		return nil
	}
	a.allowed.booked = allowed.tokens
	_, err = a.Store.DebitRound(ctx, tx, a.task, a.day, workspace.Use{Tokens: a.allowed.booked})
	return err
}

// account settles with the day what was booked before the turn, and counts what
// was used. It leaves alone what used nothing.
func (a *attempt) account(ctx context.Context, tx access.Tx, use workspace.Use) error {
	use.Rounds, use.ToolCalls = 0, 0 // debited before, and not counted by the day
	use.Tokens -= a.allowed.booked
	if use == (workspace.Use{}) {
		return nil
	}
	_, err := a.Store.DebitRound(ctx, tx, a.task, a.day, use)
	return err
}
