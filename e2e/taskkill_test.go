package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The crash test of the runtime: tasks of several rounds are in hand while the
// server is killed. At the end every task is over, every round is there once, and
// what the rounds did through tools was done once.

const (
	killTasks   = 100
	killRounds  = 5
	takeOver    = 30 * time.Second // most that a round may lie still because its node died
	tasksFinish = 3 * time.Minute
)

func TestKilledTasksFinishAndNoRoundIsTakenTwice(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		kills := rounds(t, 2)
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d, %d kills", seed, kills)
		p := newProcess(t, o)
		p.args = append(p.args, "--queued-tasks", "1000")
		h := testkit.At(t, p.base, p.start(true), o)
		if o.DatabaseURL != "" { // two more nodes, which are not killed
			for range 2 {
				other := newProcess(t, o)
				other.start(false)
			}
		}
		project := h.Owner.Project("Alpha", false)
		h.Owner.Note(project, "Plan", "First thought.\n")
		session := h.Owner.Session(project, "agent", "Research", "rehearsal").ID
		h.Owner.Must("PATCH", "/agent-sessions/"+session, testkit.Object{"max_rounds": 10, "expected_version": 1}, nil)
		assistant, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		h.Owner.Seat(session, connection, "runner")
		random := rand.New(rand.NewPCG(seed, 0))
		inHand := 0
		for i := range kills {
			for n := i * killTasks / kills; n < (i+1)*killTasks/kills; n++ {
				requestRun(t, assistant, session, n)
			}
			wait(time.Duration(random.Int64N(int64(30 * time.Millisecond))))
			inHand += open(t, h)
			p.kill()
			p.start(false)
		}
		t.Logf("%d tasks were in hand when the server was killed", inHand)
		if inHand == 0 {
			t.Error("no task was in hand when the server was killed: the test tried nothing")
		}
		last := time.Now()
		for open(t, h) > 0 {
			if time.Since(last) > tasksFinish {
				t.Fatalf("%d tasks are not over %v after the last kill", open(t, h), tasksFinish)
			}
			wait(50 * time.Millisecond)
		}
		t.Logf("all tasks were over %v after the last kill", time.Since(last).Round(time.Millisecond))
		if o.DatabaseURL == "" && time.Since(last) > takeOver {
			t.Errorf("the last task was over %v after the last kill, want a take-over within %v", time.Since(last), takeOver)
		}
		for what, query := range map[string]string{
			"tasks that did not succeed":        `SELECT count(*) FROM tasks WHERE state <> 'succeeded'`,
			"tasks without five rounds":         `SELECT count(*) FROM tasks k WHERE (SELECT count(*) FROM rounds r WHERE r.task_id = k.id AND r.state = 'done') <> 5`,
			"tasks that count their rounds ill": `SELECT count(*) FROM tasks WHERE rounds <> 5`,
			"rounds that are not done":          `SELECT count(*) FROM rounds WHERE state <> 'done'`,
		} {
			var n int
			if err := h.Raw().QueryRow(query).Scan(&n); err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			if n != 0 {
				t.Errorf("%s: %d, want 0", what, n)
			}
		}
	})
}

// requestRun queues the n-th task.
func requestRun(t *testing.T, s *probe.Session, session string, n int) {
	t.Helper()
	r := testkit.Call(t, s, "request_session_run", testkit.Object{
		"session_type": "agent", "session_id": session, "goal": fmt.Sprintf("Goal %d", n), "max_rounds": killRounds, "idempotency_key": fmt.Sprintf("task-%08d", n),
	})
	if said(r) != "200" {
		t.Fatalf("request a run: got %s (%s)", said(r), r.Text)
	}
}

// open counts the tasks that are not over.
func open(t *testing.T, h *testkit.House) (n int) {
	t.Helper()
	err := h.Raw().QueryRow(`SELECT count(*) FROM tasks WHERE state IN ('queued', 'running', 'waiting')`).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
