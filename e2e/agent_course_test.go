package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// heard is everything that a request tells the model besides its instructions.
func heard(r providertest.Request) string {
	var all []string
	for _, m := range r.Messages {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}

func TestAnAgentReadsAndAnswersAndTheAssistantReadsItBack(t *testing.T) {
	eachModel(t, func(t *testing.T, s *studio, m *model, provider string) {
		note := s.Owner.Note(s.project, "Plan", "Launch in May.\n")
		session := s.session("agent", nil, worker("reader", provider, "read_note_tab", "search"))
		assistant, connection := s.Owner.Connect(probe.Version20251125)
		s.Owner.AddConnection(s.project, connection)
		s.Owner.Seat(session, connection, "contributor")
		pause := make(chan struct{})
		read := calls(call("read_note_tab", testkit.Object{"note_id": note.ID, "tab_id": note.Tabs[0].ID}))
		read.Text, read.Pause = []string{"I look é", " it up."}, pause
		m.play(providertest.Moves(read, says("It is ", "in May.")))
		e := listen(t, s.House, s.Owner)
		id := s.accept(session, s.propose(assistant, session, "Find the date."))
		e.untilSaid(id, 1, "I look é")
		if k := s.look(session, id); k.State != "running" || k.Rounds[0].Text != "I look é" || k.Rounds[0].State != "running" {
			t.Errorf("while the agent speaks the task is %v", k)
		}
		close(pause)
		if r := awaitResult(t, assistant, session, id); r.Status != "succeeded" || r.Result != "It is in May." {
			t.Errorf("the assistant reads %+v, want the answer", r)
		}
		k := s.look(session, id)
		k.wants(t, "succeeded", "")
		if k.Tokens != 220 || k.ToolCalls != 1 || k.RoundsN != 2 || k.ResultBy != "reader" || len(k.Rounds) != 2 {
			t.Fatalf("want 220 tokens, one call and two rounds of reader: %v", k)
		}
		first := k.Rounds[0]
		if first.Text != "I look é it up." || first.Model != "stub-1" || first.TokensIn != 100 || first.TokensOut != 10 || first.Attempt != 1 ||
			len(first.Calls) != 1 || first.Calls[0].Failed || !strings.Contains(first.Calls[0].Result, "Launch in May.") {
			t.Errorf("the first round is %+v", first)
		}
		asked := m.asked()
		if len(asked) != 2 || !asked[0].Stream || !strings.Contains(heard(asked[0]), "Find the date.") || !strings.Contains(heard(asked[1]), "Launch in May.") {
			t.Errorf("the model was asked %d times, want twice: with the goal, and with the note", len(asked))
		}
		if got := asked[0].Tools; !slices.Equal(slices.Sorted(slices.Values(got)), []string{"read_note_tab", "search"}) {
			t.Errorf("the model was offered %q, want the session's tools", got)
		}
		e.untilTold("task.ended")
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, want := range []string{"handoff.accepted", "task.queued", "task.started", "round.started", "round.ended", "task.ended"} {
			if !slices.Contains(e.types, want) {
				t.Errorf("the stream told %q, want %s too", e.types, want)
			}
		}
	})
}

// letterBox is the mail of a session as people and assistants read it.
type letterBox struct {
	Items []struct {
		From struct {
			Name  string `json:"name"`
			Slug  string `json:"slug"`
			Label string `json:"label"`
		} `json:"from"`
		To struct {
			Kind string `json:"kind"`
			Slug string `json:"slug"`
		} `json:"to"`
		Body     string `json:"body"`
		Internal bool   `json:"internal"`
	} `json:"items"`
}

func TestATeamWritesMailAndItsLeadFinishes(t *testing.T) {
	eachModel(t, func(t *testing.T, s *studio, m *model, provider string) {
		session := s.session("team", nil, worker("lead", provider), worker("scout", provider))
		assistant, connection := s.Owner.Connect(probe.Version20251125)
		s.Owner.AddConnection(s.project, connection)
		s.Owner.Seat(session, connection, "runner")
		var posted struct {
			Slug string `json:"external_sender_slug"`
		}
		in := testkit.Object{"session_type": "team", "session_id": session}
		note := testkit.Object{"session_type": "team", "session_id": session, "subject": "A wish", "body": "Tell me of the sea.", "idempotency_key": "team-note-1"}
		if err := testkit.Call(t, assistant, "post_session_note", note).Read(&posted); err != nil || posted.Slug == "" {
			t.Fatalf("post a note: %+v, %v", posted, err)
		}
		write := func(to, body string) agent.Call {
			return call("send_mail", testkit.Object{"to": to, "subject": "On it", "body": body})
		}
		m.play(providertest.Moves(
			calls(write("scout", "Private: look at the sea."), write(posted.Slug, "We look.")),
			calls(write("lead", "Private: it is blue.")),
			calls(call("finish", testkit.Object{"result": "The sea is blue."})),
		))
		r := testkit.Call(t, assistant, "request_session_run", testkit.Object{"session_type": "team", "session_id": session, "goal": "Look.", "max_rounds": 9, "idempotency_key": "team-run-01"})
		var queued struct {
			TaskID string `json:"task_id"`
		}
		if err := r.Read(&queued); err != nil {
			t.Fatalf("request a run: %s (%s)", said(r), r.Text)
		}
		k := s.ended(session, queued.TaskID)
		var got taskResult
		r = testkit.Call(t, assistant, "read_session_task_result", testkit.Object{"session_type": "team", "session_id": session, "task_id": k.ID})
		if err := r.Read(&got); err != nil || got.Status != "succeeded" || got.Result != "The sea is blue." {
			t.Errorf("the assistant reads %s", r.Text)
		}
		if len(k.Rounds) != 3 || k.Rounds[0].Agent != "lead" || k.Rounds[1].Agent != "scout" || k.Rounds[2].Agent != "lead" || k.ResultBy != "lead" {
			t.Fatalf("want rounds of lead, scout and lead: %v", k)
		}
		asked := m.asked()
		for i, want := range []string{"Tell me of the sea.", "Private: look at the sea.", "Private: it is blue."} {
			if !strings.Contains(heard(asked[i]), want) {
				t.Errorf("request %d does not hold the mail %q: %s", i+1, want, heard(asked[i]))
			}
		}
		if strings.Contains(heard(asked[0]), "Private") || slices.Contains(asked[1].Tools, "finish") || !slices.Contains(asked[2].Tools, "finish") {
			t.Errorf("only the lead may finish; the tools were %q, %q, %q", asked[0].Tools, asked[1].Tools, asked[2].Tools)
		}
		var shown letterBox
		s.Owner.Must("GET", "/agent-sessions/"+session+"/mail", nil, &shown)
		if len(shown.Items) != 4 || shown.Items[3].From.Label != "outside assistant" {
			t.Errorf("people see %+v, want four letters, the first from an outside assistant", shown)
		}
		r = testkit.Call(t, assistant, "read_session_mail", in)
		if err := r.Read(&shown); err != nil || len(shown.Items) != 2 || shown.Items[0].Body != "We look." || strings.Contains(r.Text, "Private") {
			t.Errorf("the assistant sees %s, want its note and the answer", r.Text)
		}
	})
}

func TestALoopEndsWhenItsConditionHoldsOrItsRoundsAreUsed(t *testing.T) {
	flag := filepath.Join(t.TempDir(), "done")
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		s := openStudio(t, o, func(c *config.Config) { c.AgentPrograms = []string{"/bin/sh"} })
		command := testkit.Object{"command": []string{"/bin/sh", "-c", "cat >/dev/null; test -e " + flag}}
		for _, p := range protocols {
			m := s.models[p]
			for name, c := range map[string]struct {
				done   testkit.Object
				move   func(r providertest.Request) providertest.Move
				state  string
				reason string
				result string
				rounds int64
			}{
				"by its phrase": {testkit.Object{"phrase": "ALL DONE"}, func(r providertest.Request) providertest.Move {
					return says([]string{"", "Not yet.", "It is ALL DONE now."}[r.Number])
				}, "succeeded", "", "It is ALL DONE now.", 2},
				"by the verdict of its agent": {testkit.Object{"verdict": true}, func(r providertest.Request) providertest.Move {
					if r.Number == 2 {
						return calls(call("finish", testkit.Object{"result": "Good enough."}))
					}
					return says("I go on.")
				}, "succeeded", "", "Good enough.", 2},
				"by its command": {command, func(r providertest.Request) providertest.Move {
					if r.Number == 3 {
						if err := os.WriteFile(flag, nil, 0o600); err != nil {
							t.Error(err)
						}
					}
					return says("Turn.")
				}, "succeeded", "", "Turn.", 3},
				"by its cap":                     {testkit.Object{"phrase": "ALL DONE"}, providertest.Always(says("Never.")), "stopped", "limit_rounds: ", "Never.", 4},
				"by its cap where nothing is it": {nil, providertest.Always(says("Again.")), "succeeded", "", "Again.", 4},
				"by its cap, not by its command": {testkit.Object{"command": []string{"/bin/sh", "-c", "exit 1"}}, providertest.Always(says("No.")), "stopped", "limit_rounds: ", "No.", 4},
			} {
				t.Run(string(p)+" ends "+name, func(t *testing.T) {
					_ = os.Remove(flag)
					m.play(c.move)
					more := testkit.Object{}
					if c.done != nil {
						more["done"] = c.done
					}
					k := s.run(s.session("loop", more, worker("looper", string(p))), "Go round.", 4)
					k.wants(t, c.state, c.reason)
					if k.Result != c.result || k.RoundsN != c.rounds {
						t.Errorf("got %q after %d rounds, want %q after %d: %v", k.Result, k.RoundsN, c.result, c.rounds, k)
					}
				})
			}
		}
	})
}
