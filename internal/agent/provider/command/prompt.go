package command

import (
	"fmt"
	"strings"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// Prompt writes a turn as plain text: who is asked, the instructions, and what was
// said, in order.
func Prompt(t agent.Turn) string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "# %s\n\n%s\n\n", title, strings.TrimRight(text, "\n"))
		}
	}
	if t.Agent != "" {
		section("Agent", fmt.Sprintf("You are %s. This is round %d of at most %d.", t.Agent, t.Round, t.LastRound))
	}
	section("Instructions", t.Instructions)
	names := map[string]string{}
	for _, m := range t.Messages {
		switch m.Role {
		case agent.RoleAgent:
			section("You said", m.Text)
		case agent.RoleTool:
			title := "Result"
			if m.Failed {
				title = "Refused"
			}
			if name := names[m.CallID]; name != "" {
				title += " of " + name
			}
			section(title, m.Text)
		default:
			section("You are asked", m.Text)
		}
		for _, c := range m.Calls {
			names[c.ID] = c.Name
			section("You called "+c.Name, string(c.Arguments))
		}
	}
	return b.String()
}
