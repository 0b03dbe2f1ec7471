package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The figures of the published experiment (product.md §4).
const (
	runRequests = 1000
	runSeed     = 7
	runRetries  = 3

	unkeyedRequests = 200 // of the check itself, which needs no more to find duplicates
)

// runner requests runs, loses a part of the answers and asks again.
type runner struct {
	t        *testing.T
	session  *probe.Session
	random   *rand.Rand
	in       string
	fixedKey bool // the same key on a retry, as the contract wants
	sent     int
	lost     int // answers that a retry followed
}

// request asks for one run until it is answered or the retries are used up.
func (r *runner) request(i int) {
	r.t.Helper()
	for try := range 1 + runRetries {
		key := fmt.Sprintf("run-%v-%08d", r.fixedKey, i)
		if !r.fixedKey {
			key = fmt.Sprintf("run-%v-%08d-%d", r.fixedKey, i, try)
		}
		got := testkit.Call(r.t, r.session, "request_session_run", testkit.Object{
			"session_type": "agent", "session_id": r.in, "goal": fmt.Sprintf("Goal %d", i), "max_rounds": 1, "idempotency_key": key,
		})
		r.sent++
		if said(got) != "200" {
			r.t.Fatalf("run %d: got %s (%s), want 200", i, said(got), got.Text)
		}
		if r.random.Float64() >= dropped {
			return
		}
		if try < runRetries {
			r.lost++
		}
	}
}

func TestLostAnswersDoNotDoubleRuns(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		h := testkit.OpenWith(t, o, func(c *config.Config) { c.QueuedTasks = 100_000 })
		project := h.Owner.Project("Alpha", false)
		session, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		for _, fixedKey := range []bool{true, false} {
			in := h.Owner.Session(project, "agent", "Research", "rehearsal").ID
			h.Owner.Seat(in, connection, "runner")
			requests := runRequests
			if !fixedKey {
				requests = unkeyedRequests
			}
			r := &runner{t: t, session: session, random: rand.New(rand.NewPCG(runSeed, 0)), in: in, fixedKey: fixedKey}
			for i := range requests {
				r.request(i)
			}
			tasks, goals := tasksIn(t, h, in)
			want := requests
			if !fixedKey { // the check itself: without keys the duplicates are there, and are found
				want += r.lost
			}
			if tasks != want || goals != requests || r.lost == 0 {
				t.Errorf("same key %v: %d calls with %d lost answers left %d tasks of %d goals, want %d of %d", fixedKey, r.sent, r.lost, tasks, goals, want, requests)
			}
			t.Logf("same key %v: %d calls, %d lost answers, %d tasks", fixedKey, r.sent, r.lost, tasks)
		}
	})
}

// tasksIn counts the tasks of a session, and how many different goals they have.
func tasksIn(t *testing.T, h *testkit.House, session string) (tasks, goals int) {
	t.Helper()
	err := h.Raw().QueryRow(`SELECT count(*), count(DISTINCT goal) FROM tasks WHERE session_id = $1`, session).Scan(&tasks, &goals)
	if err != nil {
		t.Fatal(err)
	}
	return tasks, goals
}

// A handoff goes its whole way: proposed, shown, accepted, run, and read back by
// who proposed it and by nobody else.
func TestAHandoffIsAcceptedRunAndReadBack(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		h.Owner.Note(project, "Plan", "First thought.\n")
		s := h.Owner.Session(project, "agent", "Research", "rehearsal").ID
		assistant, connection := h.Owner.Connect(probe.Version20251125)
		other, second := h.Owner.Connect(probe.Version20251125)
		for _, c := range []string{connection, second} {
			h.Owner.AddConnection(project, c)
			h.Owner.Seat(s, c, "runner")
		}
		handoff := propose(t, assistant, s, 1)
		var shown struct {
			Items []struct {
				ID     string `json:"id"`
				Digest string `json:"digest"`
				Goal   string `json:"goal"`
			} `json:"items"`
		}
		h.Owner.Must("GET", "/agent-sessions/"+s+"/external-handoffs", nil, &shown)
		if len(shown.Items) != 1 || shown.Items[0].ID != handoff || shown.Items[0].Goal != "Goal 1" || shown.Items[0].Digest == "" {
			t.Fatalf("the owner sees %+v, want the one handoff with its digest", shown.Items)
		}
		decide := "/agent-sessions/" + s + "/external-handoffs/" + handoff + "/decision"
		h.Owner.Must("PATCH", "/agent-sessions/"+s, testkit.Object{"title": "Other title", "expected_version": 1}, nil)
		status, body := h.Owner.Do("POST", decide, testkit.Object{"decision": "accept", "digest": shown.Items[0].Digest})
		if status != 409 || codeIn(t, body) != "changed" {
			t.Errorf("accepting what was shown before a change: got %d %s, want 409 changed", status, body)
		}
		h.Owner.Must("GET", "/agent-sessions/"+s+"/external-handoffs", nil, &shown)
		var accepted struct {
			TaskID string `json:"task_id"`
		}
		h.Owner.Must("POST", decide, testkit.Object{"decision": "accept", "digest": shown.Items[0].Digest}, &accepted)
		result := awaitResult(t, assistant, s, accepted.TaskID)
		if result.Status != "succeeded" || result.Result == "" {
			t.Errorf("got %+v, want a task that succeeded with a result", result)
		}
		r := testkit.Call(t, other, "read_session_task_result", testkit.Object{"session_type": "agent", "session_id": s, "task_id": accepted.TaskID})
		if said(r) != "200 not_yours" {
			t.Errorf("another connection reads the task: got %s (%s), want not_yours", said(r), r.Text)
		}
		r = testkit.Call(t, assistant, "cancel_session_handoff", testkit.Object{"handoff_id": handoff})
		if said(r) != "200 already_decided" {
			t.Errorf("cancel after accept: got %s (%s), want already_decided", said(r), r.Text)
		}
	})
}

// taskResult is what read_session_task_result says of a task.
type taskResult struct {
	Status string `json:"status"`
	Reason string `json:"reason"`
	Result string `json:"result"`
}

// awaitResult asks until the task is over.
func awaitResult(t *testing.T, s *probe.Session, session, task string) (result taskResult) {
	t.Helper()
	for began := time.Now(); time.Since(began) < time.Minute; wait(20 * time.Millisecond) {
		r := testkit.Call(t, s, "read_session_task_result", testkit.Object{"session_type": "agent", "session_id": session, "task_id": task})
		if err := json.Unmarshal(r.Structured, &result); err != nil || said(r) != "200" {
			t.Fatalf("read the result: got %s (%s)", said(r), r.Text)
		}
		if result.Status == "succeeded" || result.Status == "failed" || result.Status == "stopped" || result.Status == "waiting" {
			return result
		}
	}
	t.Fatalf("task %s is still %s after a minute (%s)", task, result.Status, result.Reason)
	return result
}

// An agent whose tools nobody named can read; one with an empty list can do nothing.
func TestAnAgentWithoutNamedToolsReads(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		for _, c := range []struct {
			name  string
			tools any
			has   []string
			not   []string
		}{
			{"left out", nil, []string{"list_project_resources", "search", "read_note_tab"}, []string{"create_note", "list_granted_resources", "request_session_run"}},
			{"empty", []string{}, nil, []string{"list_project_resources"}},
			{"one", []string{"create_note"}, []string{"create_note"}, []string{"read_note"}},
		} {
			agent := testkit.Object{"slug": "worker", "instructions": "Read.", "provider": "rehearsal"}
			if c.tools != nil {
				agent["tools"] = c.tools
			}
			var made struct {
				Agents []struct {
					Tools []string `json:"tools"`
				} `json:"agents"`
			}
			h.Owner.Must("POST", "/projects/"+project+"/agent-sessions", testkit.Object{"type": "agent", "title": c.name, "agents": []testkit.Object{agent}}, &made)
			for _, tool := range c.has {
				if !slices.Contains(made.Agents[0].Tools, tool) {
					t.Errorf("%s: got %v, want %s among them", c.name, made.Agents[0].Tools, tool)
				}
			}
			for _, tool := range c.not {
				if slices.Contains(made.Agents[0].Tools, tool) {
					t.Errorf("%s: got %v, want no %s", c.name, made.Agents[0].Tools, tool)
				}
			}
		}
	})
}
