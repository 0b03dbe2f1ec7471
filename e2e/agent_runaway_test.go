package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// many are so many calls of a tool.
func many(n int) []agent.Call {
	all := make([]agent.Call, n)
	for i := range all {
		all[i] = call("search", testkit.Object{"query": fmt.Sprintf("word%d", i)})
	}
	return all
}

// A model that never comes to an end is stopped by its limit within a step, and the
// reason says by which (security.md TH25).
func TestARunawayModelIsStoppedWithinAStep(t *testing.T) {
	loud := strings.Repeat("noise ", 1<<14)
	eachModel(t, func(t *testing.T, s *studio, m *model, provider string) {
		for name, c := range map[string]struct {
			move   providertest.Move
			reason string
			turns  int // that it may take
		}{
			"loops":                    {calls(call("search", testkit.Object{"query": "x"})), "limit_rounds: ", 6},
			"writes 10 MB":             {says(slices.Repeat([]string{loud}, 100)...), "limit_output: ", 1},
			"asks for 1,000 tools":     {calls(many(1000)...), "limit_tools: ", 1},
			"asks for too many in all": {calls(many(30)...), "limit_tools: ", 7},
			"reads too much":           {providertest.Move{Calls: many(1), In: 1_200_000, Out: 10}, "limit_tokens: ", 2},
		} {
			t.Run(name, func(t *testing.T) {
				m.play(providertest.Always(c.move))
				rounds := 6
				if c.turns > rounds {
					rounds = 10
				}
				k := s.run(s.session("loop", testkit.Object{"done": testkit.Object{"phrase": "never said"}}, worker("runaway", provider, "search")), "Go.", rounds)
				k.wants(t, "stopped", c.reason)
				if n := len(m.asked()); n > c.turns || k.ToolCalls > 200 || len(k.Result) > 1<<20+1000 {
					t.Errorf("stopped after %d turns and %d calls with %d bytes, want at most %d, 200 and 1 MiB", n, k.ToolCalls, len(k.Result), c.turns)
				}
			})
		}
		t.Run("never ends", func(t *testing.T) {
			hold := make(chan struct{})
			defer close(hold)
			m.play(providertest.Always(providertest.Move{Text: []string{"…", "…"}, Pause: hold}))
			session := s.session("agent", nil, worker("runaway", provider))
			id := s.queue(s.Owner, session, "Go.", 1)
			s.until(session, id, "speaking", func(k task) bool { return len(k.Rounds) > 0 && k.Rounds[0].Text != "" })
			began := time.Now()
			s.Owner.Must("POST", "/agent-sessions/"+session+"/tasks/"+id+"/stop", testkit.Object{}, nil)
			s.ended(session, id).wants(t, "stopped", "stopped_by_person: ")
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("stopping took %v", took)
			}
		})
	})
}

// spend makes a session with a budget and runs a task of it that would use more.
func (s *studio) spend(m *model, provider string, budget testkit.Object) (session string, k task) {
	s.Helper()
	more := testkit.Object{"done": testkit.Object{"phrase": "never said"}}
	if budget != nil {
		more["budget"] = budget
	}
	m.play(providertest.Always(says("More.")))
	session = s.session("loop", more, worker("spender", provider))
	return session, s.run(session, "Spend.", 8)
}

func TestBudgetsOfADayHoldForASessionAndAWorkspaceAndComeBackWithTheNext(t *testing.T) {
	eachModel(t, func(t *testing.T, s *studio, m *model, provider string) {
		session, k := s.spend(m, provider, testkit.Object{"rounds": 3})
		k.wants(t, "stopped", "limit_rounds: The session's budget of 3 rounds a day is used up.")
		if n := len(m.asked()); n != 3 {
			t.Errorf("a budget of 3 rounds gave %d turns", n)
		}
		again := s.run(session, "Once more.", 8)
		again.wants(t, "stopped", "limit_rounds: ")
		if again.Tokens != 0 {
			t.Errorf("a task without budget used %d tokens", again.Tokens)
		}
		_, k = s.spend(m, provider, testkit.Object{"tokens": 250}) // 110 each, of which 10 are the answer
		k.wants(t, "stopped", "limit_tokens: ")
		if n := len(m.asked()); n != 3 {
			t.Errorf("a budget of 250 tokens gave %d turns, want the 3 that begin below it", n)
		}
		if last := m.asked()[2]; last.MaxTokens != 30 {
			t.Errorf("the last turn may answer with %d tokens, want the 30 that are left", last.MaxTokens)
		}

		s.Pass(24 * time.Hour)
		s.Owner.Must("POST", "/sign-in", testkit.Object{"email": s.Owner.Email, "password": testkit.Password}, nil)
		k = s.run(session, "Next day.", 2)
		k.wants(t, "stopped", "limit_rounds: All 2 rounds")

		s.Pass(24 * time.Hour)
		s.Owner.Must("POST", "/sign-in", testkit.Object{"email": s.Owner.Email, "password": testkit.Password}, nil)
		figures := "/workspaces/" + s.Workspace + "/figures"
		s.Owner.Must("PATCH", figures, testkit.Object{"budget": testkit.Object{"rounds": 4}}, nil)
		_, k = s.spend(m, provider, nil)
		k.wants(t, "stopped", "limit_rounds: The workspace's budget of 4 rounds a day is used up.")
		_, k = s.spend(m, provider, nil)
		k.wants(t, "stopped", "limit_rounds: ")
		if n := len(m.asked()); n != 0 {
			t.Errorf("another session of a workspace without budget took %d turns", n)
		}
		s.Owner.Must("PATCH", figures, testkit.Object{"budget": testkit.Object{}}, nil)
		s.Pass(24 * time.Hour)
		s.Owner.Must("POST", "/sign-in", testkit.Object{"email": s.Owner.Email, "password": testkit.Password}, nil)
	})
}

// What was used stays used when the server is killed in the middle of a turn.
func TestABudgetIsDebitedBeforeTheTurnAndSurvivesAKill(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		m := newModel(t, providertest.OpenAI)
		p := newProcess(t, o)
		p.args = append(p.args, "--provider-hosts", m.Host())
		h := testkit.At(t, p.base, p.start(true), o)
		s := &studio{House: h, project: h.Owner.Project("Alpha", false)}
		s.provider("openai", testkit.Object{"kind": "openai", "base_url": m.BaseURL(), "model": "stub-1"})
		hold := make(chan struct{})
		reached := make(chan struct{}, 16)
		m.play(func(r providertest.Request) providertest.Move {
			reached <- struct{}{}
			if r.Number == 1 {
				return providertest.Move{Hold: hold}
			}
			return says("More.")
		})
		session := s.session("loop", testkit.Object{"budget": testkit.Object{"rounds": 3}, "done": testkit.Object{"phrase": "never said"}}, worker("spender", "openai"))
		id := s.queue(s.Owner, session, "Spend.", 8)
		<-reached
		p.kill()
		close(hold)
		p.start(false)
		k := s.ended(session, id)
		k.wants(t, "stopped", "limit_rounds: The session's budget of 3 rounds")
		if n := len(m.asked()); n != 3 {
			t.Errorf("the model was asked %d times, want 3: the turn that was cut counts", n)
		}
	})
}

// While agents of one workspace run away, people and assistants are served.
func TestRunawaysSlowNobodyElseDown(t *testing.T) {
	eachStudio(t, func(t *testing.T, s *studio) {
		m := s.models[providertest.OpenAI]
		hold := make(chan struct{})
		m.play(func(r providertest.Request) providertest.Move {
			if r.Number%2 == 0 {
				return providertest.Move{Text: []string{"…", "…"}, Pause: hold}
			}
			return calls(many(20)...)
		})
		assistant, connection := s.Owner.Connect(probe.Version20251125)
		s.Owner.AddConnection(s.project, connection)
		pace := func() time.Duration {
			var took []time.Duration
			for range 40 {
				began := time.Now()
				if r := testkit.Call(t, assistant, "list_project_resources", testkit.Object{"project_id": s.project}); said(r) != "200" {
					t.Fatalf("got %s (%s)", said(r), r.Text)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			return took[len(took)/2]
		}
		before := pace()
		session := s.session("loop", testkit.Object{"done": testkit.Object{"phrase": "never said"}}, worker("runaway", "openai", "search"))
		var ids []string
		for range 30 {
			ids = append(ids, s.queue(s.Owner, session, "Go.", 10))
		}
		during := pace()
		t.Logf("a read took %v before, %v during", before, during)
		if during > 20*before+100*time.Millisecond {
			t.Errorf("a read took %v before and %v while agents ran away", before, during)
		}
		for _, id := range ids {
			s.Owner.Do("POST", "/agent-sessions/"+session+"/tasks/"+id+"/stop", testkit.Object{})
		}
		close(hold)
		for _, id := range ids {
			if k := s.ended(session, id); k.State != "stopped" {
				t.Errorf("got %v, want a task that was stopped", k)
			}
		}
	})
}
