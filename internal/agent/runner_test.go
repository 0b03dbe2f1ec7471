package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/tool"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// script answers turn by turn: an agent.Reply, an error, or a function of Take's
// form. The last answer is for all turns that follow.
func (w *world) script(answers ...any) {
	n := 0
	w.take = func(ctx context.Context, t agent.Turn, say func(string)) (agent.Reply, error) {
		answer := answers[min(n, len(answers)-1)]
		n++
		switch a := answer.(type) {
		case agent.Reply:
			say(a.Text)
			return a, nil
		case error:
			return agent.Reply{}, a
		case func(context.Context, agent.Turn, func(string)) (agent.Reply, error):
			return a(ctx, t, say)
		}
		panic(fmt.Sprintf("no answer: %T", answer))
	}
}

// text is a turn without calls, and calls one with them: each is a name, or a name
// and its arguments.
func text(s string) agent.Reply { return agent.Reply{Text: s, TokensIn: 10, TokensOut: 5} }

func calls(text string, calls ...string) agent.Reply {
	r := agent.Reply{Text: text, TokensIn: 10, TokensOut: 5}
	for i, c := range calls {
		name, arguments, ok := strings.Cut(c, " ")
		if !ok {
			arguments = "{}"
		}
		r.Calls = append(r.Calls, agent.Call{ID: fmt.Sprint("c", i+1), Name: name, Arguments: jsontext.Value(arguments)})
	}
	return r
}

func fault(kind agent.FaultKind) error { return &agent.Fault{Kind: kind, Text: "It said no."} }

func silent(ctx context.Context, _ agent.Turn, _ func(string)) (agent.Reply, error) {
	<-ctx.Done()
	return agent.Reply{}, ctx.Err()
}

func TestATaskEndsAsItsTypeSays(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, test := range []struct {
		name    string
		kind    workspace.SessionType
		agents  int
		rounds  int64
		done    workspace.Done
		script  []any
		state   workspace.TaskState
		reason  string // how it begins
		result  string
		by      string
		commits int
		effects []string
	}{
		{name: "an answer", kind: "agent", agents: 1, rounds: 3, script: []any{text("12 trees")},
			state: "succeeded", result: "12 trees", by: "ann", commits: 1},
		{name: "tools, then an answer", kind: "agent", agents: 1, rounds: 3, script: []any{calls("look", "read", `write {"a":1}`), text("done")},
			state: "succeeded", result: "done", by: "ann", commits: 2, effects: []string{`1.2 {"a":1}`}},
		{name: "an agent that never ends", kind: "agent", agents: 1, rounds: 3, script: []any{calls("on and on", "write")},
			state: "stopped", reason: "limit_rounds: ", result: "on and on", by: "ann", commits: 3, effects: []string{"1.1 {}", "2.1 {}"}},
		{name: "one round has no tools", kind: "agent", agents: 1, rounds: 1, script: []any{calls("", "write")},
			state: "stopped", reason: "limit_rounds: ", commits: 1},
		{name: "more rounds than any task may have", kind: "loop", agents: 1, rounds: 99, script: []any{text("again")}, done: workspace.Done{Phrase: "ready"},
			state: "stopped", reason: "limit_rounds: ", result: "again", by: "ann", commits: 50},
		{name: "a loop says the phrase", kind: "loop", agents: 1, rounds: 5, done: workspace.Done{Phrase: "all counted"}, script: []any{text("one"), text("two"), text("and all counted.")},
			state: "succeeded", result: "and all counted.", by: "ann", commits: 3},
		{name: "a loop gives its verdict", kind: "loop", agents: 1, rounds: 5, done: workspace.Done{Verdict: true}, script: []any{text("one"), calls("", `finish {"result":"two"}`)},
			state: "succeeded", result: "two", by: "ann", commits: 2},
		{name: "a loop without a verdict can't finish", kind: "loop", agents: 1, rounds: 2, done: workspace.Done{Phrase: "x"}, script: []any{calls("", `finish {"result":"two"}`)},
			state: "stopped", reason: "limit_rounds: ", commits: 2},
		{name: "a loop's command exits with 0", kind: "loop", agents: 1, rounds: 5, done: workspace.Done{Command: []string{"check"}}, script: []any{text("one"), text("two"), text("three")},
			state: "succeeded", result: "two", by: "ann", commits: 2},
		{name: "a loop without a condition", kind: "loop", agents: 1, rounds: 2, script: []any{text("one"), calls("", "write")},
			state: "succeeded", result: "one", by: "ann", commits: 2, effects: []string{"2.1 {}"}},
		{name: "a team's leader finishes", kind: "team", agents: 3, rounds: 9,
			script: []any{text("go"), text("ben here"), text("cid here"), calls("so", `finish {"result":"12"}`)},
			state:  "succeeded", result: "12", by: "ann", commits: 4},
		{name: "a team's member can't finish", kind: "team", agents: 2, rounds: 3, script: []any{text("go"), calls("", `finish {"result":"mine"}`), text("not yet")},
			state: "stopped", reason: "limit_rounds: ", result: "not yet", by: "ann", commits: 3},
		{name: "a result that is not in the schema ends nothing", kind: "team", agents: 2, rounds: 2, script: []any{calls("", `finish {"results":"x"}`)},
			state: "stopped", reason: "limit_rounds: ", commits: 2},
		{name: "a provider that refuses", kind: "agent", agents: 1, rounds: 3, script: []any{fault("refused")},
			state: "failed", reason: "provider_refused: It said no."},
		{name: "a provider that stays down", kind: "agent", agents: 1, rounds: 3, script: []any{fault("down")},
			state: "failed", reason: "provider_down: It said no."},
		{name: "a stream that is cut, then not", kind: "agent", agents: 1, rounds: 3, script: []any{fault("cut"), fault("slow"), fault("busy"), fault("failed"), text("at last")},
			state: "succeeded", result: "at last", by: "ann", commits: 1},
		{name: "arguments that are no object", kind: "agent", agents: 1, rounds: 3, script: []any{calls("", "write [1]"), calls("", `write {"a"`), text("well")},
			state: "succeeded", result: "well", by: "ann", commits: 1},
		{name: "arguments that never are", kind: "agent", agents: 1, rounds: 3, script: []any{calls("", "write nonsense")},
			state: "failed", reason: "provider_garbage: "},
		{name: "an error that is no fault", kind: "agent", agents: 1, rounds: 3, script: []any{errors.New("oops")},
			state: "failed", reason: "provider_failed: The provider failed."},
		{name: "a provider that panics", kind: "agent", agents: 1, rounds: 3, script: []any{func(context.Context, agent.Turn, func(string)) (agent.Reply, error) { panic("oops") }},
			state: "failed", reason: "provider_failed: "},
		{name: "a thousand tools", kind: "agent", agents: 1, rounds: 3, script: []any{calls("many", slices.Repeat([]string{"write"}, 1000)...)},
			state: "stopped", reason: "limit_tools: ", result: "many", by: "ann"},
		{name: "too much in one turn", kind: "agent", agents: 1, rounds: 3, script: []any{text(long + "x")},
			state: "stopped", reason: "limit_output: ", result: long, by: "ann"},
		{name: "too much in arguments", kind: "agent", agents: 1, rounds: 3, script: []any{calls("", `write {"a":"`+long+`"}`)},
			state: "stopped", reason: "limit_output: "},
		{name: "too much in all turns", kind: "loop", agents: 1, rounds: 3, script: []any{text(long[:1<<19]), text(long[:1<<19+1])},
			state: "stopped", reason: "limit_output: ", result: long[:1<<19], by: "ann", commits: 1},
		{name: "more than a provider allows", kind: "agent", agents: 1, rounds: 3, script: []any{fault("large")},
			state: "stopped", reason: "limit_output: It said no."},
		{name: "all tokens", kind: "loop", agents: 1, rounds: 3, script: []any{agent.Reply{Text: "dear", TokensIn: 3_000_000}},
			state: "stopped", reason: "limit_tokens: ", result: "dear", by: "ann", commits: 1},
		{name: "all tokens with the answer", kind: "agent", agents: 1, rounds: 3, script: []any{agent.Reply{Text: "dear", TokensIn: 3_000_000}},
			state: "succeeded", result: "dear", by: "ann", commits: 1},
		{name: "all the time there is", kind: "agent", agents: 1, rounds: 3, script: []any{silent},
			state: "stopped", reason: "limit_time: "},
		{name: "no model at all", kind: "agent", agents: 1, rounds: 3, script: []any{agent.Reply{Text: "played", Rehearsed: true}},
			state: "succeeded", result: "This is a rehearsal: no model was involved.\n\nplayed", by: "ann", commits: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, test.kind, test.agents, test.rounds)
				w.rows.task.Done = test.done
				w.holds = func(round int64) (bool, error) { return round == 2, nil }
				w.script(test.script...)
				got := w.run()
				if got.State != test.state || !strings.HasPrefix(got.Reason, test.reason) || test.reason == "" && got.Reason != "" {
					t.Errorf("the task is %s, %q; want %s, %q", got.State, got.Reason, test.state, test.reason)
				}
				if got.Result != test.result || got.ResultBy != test.by {
					t.Errorf("its result is %.60q by %q; want %.60q by %q", got.Result, got.ResultBy, test.result, test.by)
				}
				if len(w.rows.commits) != test.commits || got.Rounds != int64(test.commits) {
					t.Errorf("rounds %v were committed, the task says %d; want %d", w.rows.commits, got.Rounds, test.commits)
				}
				if !slices.Equal(w.rows.effects, test.effects) {
					t.Errorf("the effects are %q, want %q", w.rows.effects, test.effects)
				}
			})
		})
	}
}

func TestATurnThatFailedIsTakenAgainAfterPauses(t *testing.T) {
	for _, test := range []struct {
		name   string
		after  time.Duration
		pauses []time.Duration
	}{
		{"that grow", 0, []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}},
		{"that the provider asks for", 3 * time.Second, []time.Duration{3 * time.Second, 3 * time.Second, 4 * time.Second, 8 * time.Second}},
		{"that are not for ever", time.Hour, slices.Repeat([]time.Duration{10 * time.Minute}, 4)},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "agent", 1, 3)
				var asked []time.Time
				w.take = func(context.Context, agent.Turn, func(string)) (agent.Reply, error) {
					asked = append(asked, time.Now())
					return agent.Reply{}, &agent.Fault{Kind: agent.FaultBusy, Text: "Busy.", After: test.after}
				}
				if got := w.run(); got.State != workspace.TaskFailed {
					t.Errorf("the task is %s, want failed", got.State)
				}
				var pauses []time.Duration
				for i := range asked[1:] {
					pauses = append(pauses, asked[i+1].Sub(asked[i]))
				}
				if !slices.Equal(pauses, test.pauses) {
					t.Errorf("the pauses are %v, want %v", pauses, test.pauses)
				}
				if got := w.rows.spent["2000-01-01"].Rounds; got != int64(len(asked)) {
					t.Errorf("the day was debited %d rounds for %d turns", got, len(asked))
				}
			})
		})
	}
}

func TestATurnWithEffectsOutsideIsNotRepeated(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  agent.FaultKind
		state  workspace.TaskState
		reason string
		turns  int
	}{
		{"not reached", agent.FaultDown, "failed", "provider_down: ", 5},
		{"ended by itself", agent.FaultFailed, "failed", "provider_failed: ", 1},
		{"ended without sense", agent.FaultGarbage, "failed", "provider_garbage: ", 1},
		{"refused", agent.FaultRefused, "failed", "provider_refused: ", 1},
		{"killed while it wrote", agent.FaultLarge, "stopped", "limit_output: ", 1},
		{"killed because it was slow", agent.FaultSlow, "waiting", "unknown_outcome: ", 1},
		{"cut", agent.FaultCut, "waiting", "unknown_outcome: ", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "agent", 1, 3)
				w.external = true
				w.script(fault(test.fault))
				got := w.run()
				if got.State != test.state || !strings.HasPrefix(got.Reason, test.reason) {
					t.Errorf("the task is %s, %q; want %s, %q", got.State, got.Reason, test.state, test.reason)
				}
				if len(w.turns) != test.turns {
					t.Errorf("%d turns were taken, want %d", len(w.turns), test.turns)
				}
			})
		})
	}
}

func TestANodeThatDiesInATurnWithEffectsOutsideLeavesItToAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.external = true
		first := &node{world: w}
		w.script(func(context.Context, agent.Turn, func(string)) (agent.Reply, error) {
			first.die()
			return text("did it"), nil
		}, text("did it twice"))
		nodes := []*node{first, {world: w}}
		w.work(func() *node { n := nodes[0]; nodes = nodes[1:]; return n })
		if got := w.rows.task; got.State != workspace.TaskWaiting || !strings.HasPrefix(got.Reason, "unknown_outcome: ") || len(w.turns) != 1 {
			t.Fatalf("the task is %s, %q, after %d turns; want waiting after 1", got.State, got.Reason, len(w.turns))
		}

		// A person looked, and says that it may be done again.
		w.rows.task.State, w.rows.rounds[0].EffectAt, w.rows.jobs[1] = workspace.TaskQueued, time.Time{}, time.Now()
		if got := w.run(); got.State != workspace.TaskSucceeded || got.Result != "did it twice" {
			t.Errorf("then the task is %s, %q; want succeeded", got.State, got.Result)
		}
	})
}

func TestAKeptTurnIsNotAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.external = true
		first := &node{world: w, units: 5} // begin, look, mark, keep; the first call is the last
		w.script(calls("x", `write {"a":1}`, `write {"b":2}`), text("done"))
		nodes := []*node{first, {world: w}}
		w.work(func() *node { n := nodes[0]; nodes = nodes[1:]; return n })
		if got := w.rows.task; got.State != workspace.TaskSucceeded || len(w.turns) != 2 || got.ToolCalls != 2 {
			t.Errorf("the task is %s, %q, after %d turns and %d calls; want succeeded after 2 and 2", got.State, got.Reason, len(w.turns), got.ToolCalls)
		}
		if want := []string{`1.1 {"a":1}`, `1.2 {"b":2}`}; !slices.Equal(w.rows.effects, want) {
			t.Errorf("the effects are %q, want %q", w.rows.effects, want)
		}
	})
}

func TestStoppingATaskEndsItsTurnWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		var stopped, ended time.Time
		w.script(func(ctx context.Context, _ agent.Turn, _ func(string)) (agent.Reply, error) {
			time.AfterFunc(7*time.Second, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.rows.task.State, w.rows.rounds[0].State = workspace.TaskStopped, workspace.RoundStopped
				stopped = time.Now()
			})
			<-ctx.Done()
			ended = time.Now()
			return agent.Reply{}, ctx.Err()
		})
		got := w.run()
		if took := ended.Sub(stopped); took < 0 || took > time.Second {
			t.Errorf("the turn ended %s after the stop, want within a second", took)
		}
		if got.State != workspace.TaskStopped || len(w.rows.commits) != 0 || len(w.rows.jobs) != 0 {
			t.Errorf("the task is %s with rounds %v and jobs %v; want it stopped, with none", got.State, w.rows.commits, w.rows.jobs)
		}
	})
}

func TestAFaultOfATaskThatWasStoppedEndsItsJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.script(func(context.Context, agent.Turn, func(string)) (agent.Reply, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.rows.task.State, w.rows.rounds[0].State = workspace.TaskStopped, workspace.RoundStopped
			return agent.Reply{}, fault("down")
		})
		n := &node{world: w}
		if err := n.runner().Work(t.Context(), job(1)); err != nil {
			t.Errorf("Work gives %v, want nil: nothing is left to do", err)
		}
	})
}

func TestAServerThatStopsGivesTheRoundBack(t *testing.T) {
	for _, external := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "agent", 1, 3)
			w.external = external
			w.script(silent, text("done"))
			n := &node{world: w}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			if err := n.runner().Work(ctx, job(1)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Work gives %v, want the end of its context", err)
			}
			r := w.rows.rounds[0]
			if r.State != workspace.RoundQueued || r.Faults != 0 || len(w.rows.jobs) != 1 {
				t.Errorf("the round is %s with %d faults and jobs %v; want it queued, without faults, its job there", r.State, r.Faults, w.rows.jobs)
			}
			if w.rows.task.Spent != 5*time.Second {
				t.Errorf("the task spent %s, want 5 s", w.rows.task.Spent)
			}
			want := workspace.TaskSucceeded
			if external {
				want = workspace.TaskWaiting
			}
			if got := w.run(); got.State != want {
				t.Errorf("external %t: the task is %s after that, want %s", external, got.State, want)
			}
		})
	}
}

func TestTextIsShownTenTimesASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.script(func(_ context.Context, _ agent.Turn, say func(string)) (agent.Reply, error) {
			for range 1500 {
				time.Sleep(time.Millisecond)
				say("é"[:1])
				time.Sleep(time.Millisecond)
				say("é"[1:])
			}
			return text(strings.Repeat("é", 1500)), nil
		})
		if got := w.run(); got.Result != strings.Repeat("é", 1500) {
			t.Errorf("the result has %d bytes, want 3000", len(got.Result))
		}
		if n := len(w.rows.appends); n < 20 || n > 30 {
			t.Errorf("text was appended %d times in 3 s, want 20 to 30", n)
		}
		for _, shown := range w.rows.shown {
			if !utf8.ValidString(shown) {
				t.Fatalf("half a character was shown: %q", shown)
			}
		}
		for i := range w.rows.appends[1:] {
			if gap := w.rows.appends[i+1].Sub(w.rows.appends[i]); gap < 100*time.Millisecond {
				t.Fatalf("text was appended after %s", gap)
			}
		}
	})
}

func TestBudgetsOfADayStopTasksBeforeTheirRound(t *testing.T) {
	for _, test := range []struct {
		name       string
		of, limit  workspace.Budget
		spent      workspace.Use
		reason     string
		turns      int
		spentAfter workspace.Use
	}{
		{"rounds of the session", workspace.Budget{Rounds: 2}, workspace.Budget{}, workspace.Use{}, "limit_rounds: The session's budget of 2 rounds", 2, workspace.Use{Rounds: 2, Tokens: 30}},
		{"rounds of the workspace", workspace.Budget{}, workspace.Budget{Rounds: 7}, workspace.Use{Rounds: 7}, "limit_rounds: The workspace's", 0, workspace.Use{Rounds: 7}},
		{"tokens", workspace.Budget{Tokens: 40}, workspace.Budget{}, workspace.Use{Tokens: 20}, "limit_tokens: The session's", 2, workspace.Use{Rounds: 2, Tokens: 50}},
		{"minutes", workspace.Budget{}, workspace.Budget{Minutes: 3}, workspace.Use{Took: 3 * time.Minute}, "limit_time: The workspace's", 0, workspace.Use{Took: 3 * time.Minute}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "loop", 1, 10)
				w.rows.session.Budget, w.rows.limit = test.of, test.limit
				day := time.Now().UTC().Format(time.DateOnly)
				w.rows.spent[day] = test.spent
				w.script(text("x"))
				got := w.run()
				if got.State != workspace.TaskStopped || !strings.HasPrefix(got.Reason, test.reason) {
					t.Errorf("the task is %s, %q; want stopped, %q", got.State, got.Reason, test.reason)
				}
				if len(w.turns) != test.turns || w.rows.spent[day] != test.spentAfter {
					t.Errorf("after %d turns the day has spent %+v; want %d turns and %+v", len(w.turns), w.rows.spent[day], test.turns, test.spentAfter)
				}
			})
		})
	}
}

func TestATurnIsAskedForNoMoreThanIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.rows.session.Budget = workspace.Budget{Tokens: 1000, Minutes: 2}
		begun := time.Now()
		w.script(silent)
		got := w.run()
		if w.turns[0].MaxTokens != 1000 {
			t.Errorf("the turn may use %d tokens, want 1000", w.turns[0].MaxTokens)
		}
		if took := time.Since(begun); took != 2*time.Minute || !strings.HasPrefix(got.Reason, "limit_time: The session's") {
			t.Errorf("the task ended after %s with %q, want after the 2 minutes of the session", took, got.Reason)
		}
	})
}

func TestTheDebitOfATurnWhoseNodeDiedStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.rows.session.Budget.Tokens = 100_000
		first := &node{world: w}
		w.script(func(context.Context, agent.Turn, func(string)) (agent.Reply, error) {
			first.die()
			return agent.Reply{}, fault("cut")
		}, text("done"))
		nodes := []*node{first, {world: w}}
		w.work(func() *node { n := nodes[0]; nodes = nodes[1:]; return n })
		want := workspace.Use{Rounds: 2, Tokens: agent.DefaultCaps().Answer + 15}
		if got := w.rows.spent["2000-01-01"]; got != want {
			t.Errorf("the day has spent %+v, want %+v", got, want)
		}
	})
}

func TestARefusedCallIsToldToTheAgentAndEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.refuse = map[string]error{
			"write": access.Refuse(access.ACLDenied, "Not for you."),
			"steal": tool.ErrUnknown,
			"break": errors.New("secret cause"),
		}
		w.script(calls("", "read", "write", "steal", "break", "other", "finish"), text("so be it"))
		if got := w.run(); got.State != workspace.TaskSucceeded {
			t.Fatalf("the task is %s, %q", got.State, got.Reason)
		}
		var got []string
		for _, m := range w.turns[1].Messages {
			if m.Role == agent.RoleTool {
				got = append(got, fmt.Sprintf("%s %t %s", m.CallID, m.Failed, m.Text))
			}
		}
		want := []string{
			`c1 false {"data":{"did":"read"},"ok":true}`,
			`c2 true {"error":{"code":"acl_denied","message":"Not for you."},"ok":false}`,
			`c3 true {"error":{"code":"forbidden","message":"There is no tool \"steal\" here."},"ok":false}`,
			`c4 true {"error":{"code":"internal","message":"The call failed and nothing was changed."},"ok":false}`,
			`c5 true {"error":{"code":"forbidden","message":"The session does not give this agent the tool other."},"ok":false}`,
			`c6 true {"error":{"code":"forbidden","message":"The session does not give this agent the tool finish."},"ok":false}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("the agent is told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestACallWithoutADatabaseIsMadeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.outages = 2
		w.script(calls("", "write"), text("done"))
		if got := w.run(); got.State != workspace.TaskSucceeded || len(w.turns) != 2 || len(w.rows.effects) != 1 {
			t.Errorf("the task is %s after %d turns with effects %q; want succeeded after 2 with one", got.State, len(w.turns), w.rows.effects)
		}
		if w.rows.rounds[0].Calls[0].Failed {
			t.Error("the agent was told that its call failed")
		}
	})
}

func TestTeamsTakeTurnsAndTheirLeaderHasTheLast(t *testing.T) {
	for _, test := range []struct {
		agents int
		rounds int64
		want   []string
	}{
		{1, 2, []string{"ann", "ann"}},
		{2, 2, []string{"ann", "ann"}},
		{2, 4, []string{"ann", "ben", "ann", "ann"}},
		{3, 5, []string{"ann", "ben", "cid", "ann", "ann"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, "team", test.agents, test.rounds)
			w.script(text("hm"))
			w.run()
			var got []string
			for _, turn := range w.turns {
				got = append(got, turn.Agent)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%d agents took %d turns as %v, want %v", test.agents, test.rounds, got, test.want)
			}
			if got := offered(w.turns[len(w.turns)-1]); !slices.Equal(got, []string{"finish"}) {
				t.Errorf("in the last round %v are offered, want finish alone", got)
			}
		})
	}
}

func TestAToolThatTheSessionTookBackIsNotOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.rows.session.Agents = []workspace.Agent{{Slug: "ann", Tools: []string{"read", "delete"}}}
		w.script(text("done"))
		w.run()
		if got := offered(w.turns[0]); !slices.Equal(got, []string{"read"}) {
			t.Errorf("offered are %q, want read alone: write was taken back, delete was not approved", got)
		}
	})
}

func TestAProviderThatIsNotThereFailsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		w.missing = &agent.Fault{Kind: agent.FaultRefused, Text: "There is no provider p."}
		if got := w.run(); got.State != workspace.TaskFailed || got.Reason != "provider_refused: There is no provider p." {
			t.Errorf("the task is %s, %q", got.State, got.Reason)
		}
	})
}

func TestGivingUpFailsTheTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 3)
		n := &node{world: w}
		if err := n.runner().GiveUp(t.Context(), job(1), access.Refuse(access.Unavailable, "The disk is full.")); err != nil {
			t.Fatal(err)
		}
		if got := w.rows.task; got.State != workspace.TaskFailed || !strings.HasSuffix(got.Reason, "The disk is full.") || len(w.rows.jobs) != 0 {
			t.Errorf("the task is %s, %q, with jobs %v", got.State, got.Reason, w.rows.jobs)
		}
	})
}

// offered are the names of the tools of a turn.
func offered(t agent.Turn) (names []string) {
	for _, o := range t.Tools {
		names = append(names, o.Name)
	}
	return names
}
