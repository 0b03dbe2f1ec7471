package agent

import "github.com/osfoundry/osfoundry/internal/workspace"

// course is how the agents of one type of session go about a task.
type course interface {
	// agent is whose turn the round is.
	agent(agents []workspace.Agent, number, last int64) workspace.Agent
	// tools reports whether the round may use the tools of its session, and finish
	// whether it may end the task by the tool of that name.
	tools(number, last int64) bool
	finish(a *attempt) bool
	// advice is what the agent is told about how its session works.
	advice(a *attempt) string
	// over is how a committed round ends its task; nil where it goes on.
	over(a *attempt) *workspace.TaskEnd
}

// courseOf is the course of a type of sessions.
func courseOf(t workspace.SessionType) course {
	switch t {
	case workspace.SessionTeam:
		return team{}
	case workspace.SessionLoop:
		return loop{}
	}
	return single{}
}

// single is one agent that works until it has nothing left to call. Its last
// round has no tools, so that it must come to an end.
type single struct{}

func (single) agent(agents []workspace.Agent, _, _ int64) workspace.Agent { return leader(agents) }

func (single) tools(number, last int64) bool { return number < last }

func (single) finish(*attempt) bool { return false }

func (single) advice(a *attempt) string {
	if a.round.Number == a.last {
		return "This is your last round: answer in text. What you say is the result of the task."
	}
	return "Use tools where they help. When you answer without calling a tool, the task is over and your answer is its result."
}

func (single) over(a *attempt) *workspace.TaskEnd {
	if len(a.turn.Calls) > 0 {
		return nil
	}
	return a.succeeded(a.turn.Text)
}

// leader is the agent that leads; the zero Agent leads where there is none.
func leader(agents []workspace.Agent) workspace.Agent {
	if len(agents) == 0 {
		return workspace.Agent{}
	}
	return agents[0]
}

// succeeded ends the task with a result, or with what was said last where that is
// empty.
func (a *attempt) succeeded(result string) *workspace.TaskEnd {
	by := a.agent.Slug
	if result == "" {
		result, by = a.lastWord()
	}
	return &workspace.TaskEnd{State: workspace.TaskSucceeded, Result: result, ResultBy: by}
}
