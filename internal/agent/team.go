package agent

import (
	"fmt"

	"github.com/osfoundry/osfoundry/internal/workspace"
)

// team is several agents that take turns in their order. The first one leads: it
// begins, has the last round, and alone can finish.
type team struct{}

func (team) agent(agents []workspace.Agent, number, last int64) workspace.Agent {
	if number >= last || len(agents) == 0 {
		return leader(agents)
	}
	return agents[(number-1)%int64(len(agents))]
}

func (team) tools(number, last int64) bool { return number < last }

func (team) finish(a *attempt) bool { return a.leads() }

// leads reports whether the agent of the round leads its team.
func (a *attempt) leads() bool { return a.agent.Slug == leader(a.task.Agents).Slug }

func (team) advice(a *attempt) string {
	mates := ""
	for _, mate := range a.task.Agents {
		if mate.Slug != a.agent.Slug {
			mates += " " + mate.Slug
		}
	}
	text := fmt.Sprintf("You work in a team that takes turns. Your team mates:%s. Write to them with the tool %s; an answer comes in a later round.", mates, toolSendMail)
	if !a.leads() {
		return text + fmt.Sprintf(" %s leads the team and decides when the task is done.", leader(a.task.Agents).Slug)
	}
	text += fmt.Sprintf(" You lead the team. When the task is done, call the tool %s with its result.", toolFinish)
	if a.round.Number == a.last {
		text += " This is the last round: finish now."
	}
	return text
}

func (team) over(a *attempt) *workspace.TaskEnd {
	if a.finished == nil {
		return nil
	}
	return a.succeeded(a.finished.Result)
}
