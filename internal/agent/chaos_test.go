package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// chance is a source of small numbers that a property was given beforehand.
type chance struct {
	numbers []int
	next    int
}

func (c *chance) of(n int) int {
	if len(c.numbers) == 0 {
		return 0
	}
	c.next++
	return c.numbers[(c.next-1)%len(c.numbers)] % n
}

// node is a process that may die after some units of work.
func (c *chance) node(w *world, deaths *int) *node {
	n := &node{world: w}
	if *deaths > 0 {
		*deaths--
		n.units, n.late = 1+c.of(8), c.of(2) == 0
	}
	return n
}

// turn is any turn that a provider could give: it answers, calls, fails, says
// nonsense, or dies with its node.
func (c *chance) turn(t agent.Turn, n *node) (agent.Reply, error) {
	arguments := fmt.Sprintf(`{"n":%d}`, c.of(1000)) // other ones each time it is asked
	switch c.of(10) {
	case 0:
		return agent.Reply{}, fault([]agent.FaultKind{"down", "slow", "busy", "failed", "garbage", "cut"}[c.of(6)])
	case 1:
		return calls("", "write nonsense"), nil
	case 2:
		n.die()
		return calls("", "write "+arguments), nil
	case 3:
		return text("done"), nil
	case 4:
		return calls("", "steal", "write "+arguments, `finish {"result":"12"}`), nil
	}
	return calls("go on", "write "+arguments, "read", "write "+arguments), nil
}

// chaos runs a task among faults and deaths, and gives what broke its promises.
func chaos(t *testing.T, c *chance, deaths int, external bool) (broken []string) {
	kind := []workspace.SessionType{"agent", "team", "loop"}[c.of(3)]
	w := newWorld(t, kind, 1+c.of(3), int64(1+c.of(9)))
	w.rows.task.Done = []workspace.Done{{}, {Phrase: "done"}, {Verdict: true}}[c.of(3)]
	w.external = external
	var n *node
	asked, effects := map[int64]int{}, map[int64]int{}
	w.take = func(_ context.Context, turn agent.Turn, _ func(string)) (agent.Reply, error) {
		asked[turn.Round]++
		reply, err := c.turn(turn, n)
		if f, ok := err.(*agent.Fault); err == nil || ok && f.Kind != agent.FaultDown && f.Kind != agent.FaultBusy {
			effects[turn.Round]++
		}
		return reply, err
	}
	w.work(func() *node { n = c.node(w, &deaths); return n })

	wrong := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	task := w.rows.task
	if !task.State.Over() && !(external && task.State == workspace.TaskWaiting) {
		wrong("the task is %s", task.State)
	}
	if task.State != workspace.TaskSucceeded && task.Reason == "" {
		wrong("the task is %s without a reason", task.State)
	}
	for i, number := range w.rows.commits {
		if number != int64(i+1) {
			wrong("the rounds were committed as %v", w.rows.commits)
			break
		}
	}
	if task.Rounds != int64(len(w.rows.commits)) || task.Rounds > task.MaxRounds {
		wrong("the task says %d rounds of %d, %d were committed", task.Rounds, task.MaxRounds, len(w.rows.commits))
	}
	seen := map[string]bool{}
	for _, e := range w.rows.effects {
		key, _, _ := strings.Cut(e, " ")
		if seen[key] {
			wrong("the call %s acted twice: %q", key, w.rows.effects)
		}
		seen[key] = true
	}
	for _, r := range w.rows.rounds { // what is told is what was done
		for i, call := range r.Calls {
			effect := fmt.Sprintf("%d.%d %s", r.Number, i+1, call.Arguments)
			if r.State == workspace.RoundDone && call.Name == "write" && !call.Failed && !slices.Contains(w.rows.effects, effect) {
				wrong("round %d tells of a call that was not made: %s", r.Number, effect)
			}
		}
	}
	for number, times := range effects {
		if external && times > 1 {
			wrong("the turn of round %d acted outside %d times", number, times)
		}
	}
	var debited int64
	for _, use := range w.rows.spent {
		debited += use.Rounds
	}
	var turns int64
	for _, times := range asked {
		turns += int64(times)
	}
	if debited < turns {
		wrong("%d rounds were debited for %d turns", debited, turns)
	}
	return broken
}

// Whatever fails and whoever dies: every task ends, no round is committed twice,
// no tool call acts twice, and nothing outside does.
func TestTasksKeepTheirPromisesAmongFaultsAndDeaths(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		c := &chance{numbers: rapid.SliceOfN(rapid.IntRange(0, 9999), 20, 200).Draw(r, "chances")}
		deaths := rapid.IntRange(0, 12).Draw(r, "deaths")
		external := rapid.Bool().Draw(r, "external")
		var broken []string
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			broken = chaos(t, c, deaths, external)
			if took := time.Since(begun); took > 2*time.Hour {
				broken = append(broken, fmt.Sprintf("it took %s", took))
			}
		})
		if len(broken) > 0 {
			r.Fatalf("%s", strings.Join(broken, "\n"))
		}
	})
}
