package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/osfoundry/osfoundry/internal/workspace"
)

// loop is one agent that is asked again until the done-condition of its session
// holds, or the rounds are used up.
type loop struct{}

func (loop) agent(agents []workspace.Agent, _, _ int64) workspace.Agent { return leader(agents) }

func (loop) tools(int64, int64) bool { return true }

func (loop) finish(a *attempt) bool { return a.task.Done.Verdict }

func (loop) advice(a *attempt) string {
	done := a.task.Done
	switch {
	case done.Phrase != "":
		return fmt.Sprintf("You are asked again until the task is done. When it is, say exactly: %s", done.Phrase)
	case done.Verdict:
		return fmt.Sprintf("You are asked again until the task is done. When it is, call the tool %s with its result.", toolFinish)
	case len(done.Command) > 0:
		return "You are asked again until a command, which is run after each round, finds the task done."
	}
	return "You are asked again until all rounds are used. What you say in the last one is the result of the task."
}

func (loop) over(a *attempt) *workspace.TaskEnd {
	done := a.task.Done
	switch {
	case a.finished != nil:
		return a.succeeded(a.finished.Result)
	case done.Phrase != "" && strings.Contains(a.turn.Text, done.Phrase), a.holds:
		return a.succeeded(a.turn.Text)
	}
	endless := done.Phrase == "" && !done.Verdict && len(done.Command) == 0
	if endless && a.round.Number >= a.last {
		return a.succeeded(a.turn.Text)
	}
	return nil
}

// tryCondition runs the command that tells whether the loop is done. One that
// can't be started will not do better in the next round.
func (a *attempt) tryCondition(ctx context.Context) error {
	holds, err := a.Condition.Holds(ctx, a.task.ID, a.task.Done.Command)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return &Fault{Kind: FaultRefused, Text: "The command that tells whether the loop is done could not be started.", Cause: err}
	}
	a.holds = holds
	return nil
}
