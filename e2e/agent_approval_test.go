package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// shownHandoff is a handoff as a person is shown it.
type shownHandoff struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Digest  string `json:"digest"`
	TaskID  string `json:"task_id"`
	Version int64  `json:"session_version"`
}

// handoff reads a handoff of a session.
func (s *studio) handoff(session, id string) (h shownHandoff) {
	s.Helper()
	s.Owner.Must("GET", "/agent-sessions/"+session+"/external-handoffs/"+id, nil, &h)
	return h
}

// refusal is an error of the owner API.
type refusal struct {
	Error struct {
		Code    string `json:"code"`
		Digest  string `json:"digest"`
		State   string `json:"state"`
		Details struct {
			Digest string `json:"digest"`
			State  string `json:"state"`
		} `json:"details"`
	} `json:"error"`
}

// What a person was shown is what they approve: any change of it voids the digest,
// nothing is queued, and the answer says what there is now (security.md part M).
func TestOnlyWhatWasShownIsApproved(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		s := openStudio(t, o, func(c *config.Config) { c.AgentPrograms = []string{"/bin/true", "/bin/false"} })
		s.provider("program", testkit.Object{"kind": "command", "command": []string{"/bin/true"}})
		assistant, connection := s.Owner.Connect(probe.Version20251125)
		s.Owner.AddConnection(s.project, connection)
		agents := func(change func(a testkit.Object)) []testkit.Object {
			all := []testkit.Object{worker("lead", "openai", "read_note"), worker("hand", "program")}
			change(all[0])
			return all
		}
		var m testkit.Made
		s.Owner.Must("POST", "/projects/"+s.project+"/agent-sessions", testkit.Object{"type": "team", "title": "Session", "agents": agents(func(testkit.Object) {})}, &m)
		session := m.ID
		s.Owner.Seat(session, connection, "contributor")
		var made, second struct {
			ID string `json:"handoff_id"`
		}
		for i, into := range []any{&made, &second} {
			r := testkit.Call(t, assistant, "propose_session_handoff", testkit.Object{"session_type": "team", "session_id": session, "goal": "Go.",
				"context_summary": "", "requested_output": "", "max_rounds": 4, "idempotency_key": fmt.Sprintf("approve-%d", i)})
			if err := r.Read(into); err != nil {
				t.Fatalf("propose: %s (%s)", said(r), r.Text)
			}
		}
		decision := "/agent-sessions/" + session + "/external-handoffs/" + made.ID + "/decision"
		stale := func(what, digest string) {
			t.Helper()
			status, body := s.Owner.Do("POST", decision, testkit.Object{"decision": "accept", "digest": digest})
			var e refusal
			if err := json.Unmarshal(body, &e); err != nil || status != http.StatusConflict || e.Error.Code != "changed" {
				t.Errorf("accepting after %s: got %d %s, want 409 changed", what, status, body)
				return
			}
			if now := s.handoff(session, made.ID); e.Error.Digest+e.Error.Details.Digest != now.Digest || now.Digest == digest || now.State != "pending" || e.Error.State+e.Error.Details.State != "pending" {
				t.Errorf("after %s the answer is %s, and the handoff %+v: want its new digest, and that it is pending", what, body, now)
			}
		}
		setup := func(name string, value any) func() {
			return func() {
				version := s.handoff(session, made.ID).Version
				s.Owner.Must("PATCH", "/agent-sessions/"+session, testkit.Object{name: value, "expected_version": version}, nil)
			}
		}
		openai := s.models[providertest.OpenAI].BaseURL()
		for what, change := range map[string]func(){
			"another title":      setup("title", "Other"),
			"other instructions": setup("agents", agents(func(a testkit.Object) { a["instructions"] = "Delete everything." })),
			"another tool":       setup("agents", agents(func(a testkit.Object) { a["tools"] = []string{"read_note", "archive_note"} })),
			"another model":      setup("agents", agents(func(a testkit.Object) { a["model"] = "stub-2" })),
			"another provider":   setup("agents", agents(func(a testkit.Object) { a["provider"] = "anthropic" })),
			"a lower cap":        setup("max_rounds", 2),
			"a budget":           setup("budget", testkit.Object{"tokens": 1000}),
			"another command":    func() { s.provider("program", testkit.Object{"kind": "command", "command": []string{"/bin/false"}}) },
			"another argument": func() {
				s.provider("program", testkit.Object{"kind": "command", "command": []string{"/bin/true", "-x"}})
			},
			"another provider's model": func() { s.provider("openai", testkit.Object{"kind": "openai", "base_url": openai, "model": "stub-3"}) },
			"another model server": func() {
				s.provider("openai", testkit.Object{"kind": "openai", "base_url": "https://models.example/v1", "model": "stub-1", "key": modelKey})
			},
			"the provider's end": func() { s.Owner.Must("DELETE", "/workspaces/"+s.Workspace+"/providers/program", nil, nil) },
		} {
			// Back to the beginning, where the change is one.
			s.provider("program", testkit.Object{"kind": "command", "command": []string{"/bin/true"}})
			s.provider("openai", testkit.Object{"kind": "openai", "base_url": openai, "model": "stub-1", "key": modelKey})
			setup("agents", agents(func(testkit.Object) {}))()
			setup("max_rounds", 10)()
			digest := s.handoff(session, made.ID).Digest
			change()
			stale(what, digest)
		}
		s.provider("program", testkit.Object{"kind": "command", "command": []string{"/bin/true"}})
		stale("the other handoff was shown", s.handoff(session, second.ID).Digest)
		s.refusesOthers(session, made.ID)
		var tasks int
		if err := s.Raw().QueryRow(`SELECT count(*) FROM tasks`).Scan(&tasks); err != nil || tasks != 0 {
			t.Errorf("%d tasks were queued (%v), want none", tasks, err)
		}
		s.Owner.Must("POST", decision, testkit.Object{"decision": "accept", "digest": s.handoff(session, made.ID).Digest}, nil)
	})
}

// refusesOthers has everybody decide who must not.
func (s *studio) refusesOthers(session, handoff string) {
	s.Helper()
	decision := "/agent-sessions/" + session + "/external-handoffs/" + handoff + "/decision"
	accept := testkit.Object{"decision": "accept", "digest": s.handoff(session, handoff).Digest}
	viewer := s.Invite("viewer@example.com", "viewer")
	if status, body := viewer.Do("POST", decision, accept); status != http.StatusForbidden {
		s.Errorf("a viewer accepts: got %d %s, want 403", status, body)
	}
	elsewhere := s.session("agent", nil, worker("lead", "rehearsal"))
	if status, body := s.Owner.Do("POST", "/agent-sessions/"+elsewhere+"/external-handoffs/"+handoff+"/decision", accept); status != http.StatusNotFound {
		s.Errorf("accepting in another session: got %d %s, want 404", status, body)
	}
	var token struct {
		Token string `json:"token"`
	}
	s.Owner.Must("POST", "/personal-tokens", testkit.Object{"name": "script"}, &token)
	text, err := json.Marshal(accept)
	if err != nil {
		s.Fatal(err)
	}
	r, err := http.NewRequest(http.MethodPost, s.Base+"/api/v1"+decision, strings.NewReader(string(text)))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token.Token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusForbidden {
		s.Errorf("a personal token accepts: got %d %s, want 403", answer.StatusCode, body)
	}
}

// Work that a person approved is not done by a provider that was changed since.
func TestAProviderThatChangedAfterTheApprovalDoesNotTakeTheWork(t *testing.T) {
	eachModel(t, func(t *testing.T, s *studio, m *model, provider string) {
		note := s.Owner.Note(s.project, "Plan", "Text.\n")
		session := s.session("agent", nil, worker("reader", provider, "read_note"))
		assistant, connection := s.Owner.Connect(probe.Version20251125)
		s.Owner.AddConnection(s.project, connection)
		s.Owner.Seat(session, connection, "runner")
		m.play(func(r providertest.Request) providertest.Move {
			if r.Number%2 == 0 {
				return says("Done.")
			}
			s.Pass(time.Second)
			body, _ := json.Marshal(testkit.Object{"kind": provider, "base_url": m.BaseURL(), "model": "stub-" + workspaceID()[:8]})
			if status, answer := s.Owner.Do("PUT", "/workspaces/"+s.Workspace+"/providers/"+provider, json.RawMessage(body)); status >= 300 {
				t.Errorf("change the provider: %d %s", status, answer)
			}
			return calls(call("read_note", testkit.Object{"note_id": note.ID}))
		})
		s.ended(session, s.accept(session, s.propose(assistant, session, "Go."))).wants(t, "failed", "provider_refused: ")
		if n := len(m.asked()); n != 1 {
			t.Errorf("the model was asked %d times, want once", n)
		}
		m.play(providertest.Always(says("Done.")))
		s.ended(session, s.accept(session, s.propose(assistant, session, "Go again."))).wants(t, "succeeded", "")
	})
}

// Many press Accept at once, a part of the answers is lost, and the server is killed
// after the first of them: one task, one decision, and whoever asks again is told.
func TestManyAcceptsAndAKillAreOneDecisionAndOneTask(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		p := newProcess(t, o)
		h := testkit.At(t, p.base, p.start(true), o)
		s := &studio{House: h, project: h.Owner.Project("Alpha", false)}
		session := s.session("agent", nil, worker("lead", "rehearsal"))
		assistant, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(s.project, connection)
		h.Owner.Seat(session, connection, "contributor")
		decision := "/agent-sessions/" + session + "/external-handoffs/%s/decision"
		for round := range rounds(t, 3) {
			handoff := s.propose(assistant, session, "Go.")
			path := fmt.Sprintf(decision, handoff)
			var won, told, lost atomic.Int64
			var answered atomic.Int64
			enough := make(chan struct{}) // answers before the kill: one, then more
			var all sync.WaitGroup
			start := make(chan struct{})
			for i := range parallel {
				all.Go(func() {
					<-start
					status, code := acceptAt(h, path)
					if status != 0 && answered.Add(1) == int64(1+24*(round%3)) {
						close(enough)
					}
					switch {
					case i%5 == 1 || status == 0:
						lost.Add(1)
					case status == 200:
						won.Add(1)
					case status == 409 && code == "already_decided":
						told.Add(1)
					default:
						t.Errorf("accept: got %d %s", status, code)
					}
				})
			}
			close(start)
			<-enough
			p.kill()
			all.Wait()
			p.start(false)
			t.Logf("round %d: %d won, %d told, %d lost", round, won.Load(), told.Load(), lost.Load())
			for range lost.Load() {
				if status, code := acceptAt(h, path); status != 409 || code != "already_decided" {
					t.Errorf("asking again: got %d %s, want 409 already_decided", status, code)
				}
			}
			if won.Load() > 1 {
				t.Errorf("%d accepts won", won.Load())
			}
			k := s.ended(session, s.handoff(session, handoff).TaskID)
			k.wants(t, "succeeded", "")
			var tasks int
			if err := h.Raw().QueryRow(`SELECT count(*) FROM tasks WHERE handoff_id = $1`, handoff).Scan(&tasks); err != nil || tasks != 1 {
				t.Errorf("%d tasks (%v), want one", tasks, err)
			}
			decided := 0
			for _, e := range s.audited("handoff.decide") {
				if e.Detail.HandoffID == handoff && e.Decision == "allowed" {
					decided++
				}
			}
			if decided != 1 {
				t.Errorf("the audit has %d decisions, want one", decided)
			}
		}
	})
}

// acceptAt presses Accept; status 0 is no answer.
func acceptAt(h *testkit.House, path string) (status int, code string) {
	r, err := http.NewRequest(http.MethodPost, h.Base+"/api/v1"+path, strings.NewReader(`{"decision":"accept"}`))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", h.Base)
	r.Header.Set("Cookie", h.Owner.Cookie())
	answer, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}, Timeout: time.Minute}).Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	var e refusal
	body, err := io.ReadAll(answer.Body)
	if err != nil || json.Unmarshal(body, &e) != nil {
		return 0, "cut"
	}
	return answer.StatusCode, e.Error.Code
}
