package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The decision race: the owner accepts and declines, and the assistant cancels, all
// at once and on several nodes. What everybody was answered is a history, and it
// must be one that a single decision at a time could have made.

// decision is one call of the race.
type decision struct {
	handoff string
	verb    string // accept, decline, cancel, read
}

// outcome is what it was answered: won, or the state that it lost to. An answer
// that did not come may be either.
type outcome struct {
	won   bool
	state string
	lost  bool // no answer came
}

// result is the state that a verb brings a pending handoff into.
var result = map[string]string{"accept": "accepted", "decline": "declined", "cancel": "cancelled"}

// handoffModel is a handoff as the contract has it (product.md §4): the first
// decision stands, and everybody after it is told the state. Cancelling what is
// cancelled is idempotent.
var handoffModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := map[string][]porcupine.Operation{}
		for _, op := range history {
			id := op.Input.(decision).handoff
			parts[id] = append(parts[id], op)
		}
		var all [][]porcupine.Operation
		for _, part := range parts {
			all = append(all, essential(part))
		}
		return all
	},
	Init: func() any { return "pending" },
	Step: func(state, input, output any) (bool, any) {
		now, in, out := state.(string), input.(decision), output.(outcome)
		switch {
		case in.verb == "read":
			return out.lost || out.state == now, now
		case now == "pending" && (out.won || out.lost):
			return true, result[in.verb]
		case out.lost:
			return true, now
		case in.verb == "cancel" && now == "cancelled":
			return out.won, now
		}
		return !out.won && now != "pending" && out.state == now, now
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %+v", input, output) },
}

// essential leaves out what cannot make a difference, because the search for an
// order takes time that is exponential in calls that could stand anywhere. A handoff
// is decided once, so of the calls that were told the same final state, the one
// that returned first says most, and of those that saw it pending, the one that began
// last. Of cancels that won, one is the decision and needs to begin early, one is the
// first to return. Without an answer, a call had no effect for certain where somebody
// else was told to have accepted or declined.
func essential(part []porcupine.Operation) []porcupine.Operation {
	kept := map[string]porcupine.Operation{}
	var lost []porcupine.Operation
	decided := false
	keep := func(key string, op porcupine.Operation, better bool) {
		if _, ok := kept[key]; !ok || better {
			kept[key] = op
		}
	}
	for _, op := range part {
		in, out := op.Input.(decision), op.Output.(outcome)
		key := fmt.Sprint(in.verb, out)
		switch {
		case out.lost:
			lost = append(lost, op)
		case out.won && in.verb != "cancel":
			decided = true
			keep(fmt.Sprint(key, len(kept)), op, true) // each: there must be one
		case out.state == "pending":
			keep(key, op, op.Call > kept[key].Call)
		default:
			keep(key, op, op.Return < kept[key].Return)
			keep(key+" early", op, op.Call < kept[key+" early"].Call)
		}
	}
	if decided {
		lost = nil
	}
	return slices.AppendSeq(lost, maps.Values(kept))
}

// Of so many calls at once, one is a read, and one loses its answer.
const (
	readers = 16
	losers  = 13
)

func TestAcceptCancelAndDeclineAreOneDecision(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		n := 5 * rounds(t, 8)
		h := testkit.OpenWith(t, o, func(c *config.Config) { c.PendingHandoffs, c.QueuedTasks = 100_000, 100_000 })
		nodes := []*testkit.House{h}
		if o.DatabaseURL != "" {
			nodes = append(nodes, h.Beside(), h.Beside())
		}
		project := h.Owner.Project("Alpha", false)
		session := h.Owner.Session(project, "agent", "Research", "rehearsal").ID
		assistant, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		h.Owner.Seat(session, connection, "contributor")
		seed := uint64(time.Now().UnixNano())
		t.Logf("%d handoffs on %d nodes, seed %d", n, len(nodes), seed)
		record := &history{began: time.Now()}
		for i := range n {
			raceOne(t, nodes, record, assistant, session, propose(t, assistant, session, i), rand.New(rand.NewPCG(seed, uint64(i))))
		}
		for _, fault := range judgeHistory(t, h, record.ops, session) {
			t.Error(fault)
		}
		// The judge itself: a task that was queued outside the transaction of its accept,
		// and so stayed when that came to nothing, is found.
		last := propose(t, assistant, session, n)
		plantTask(h, session, last, connection)
		if faults := judgeHistory(t, h, record.ops, session); len(faults) == 0 {
			t.Error("a task of a handoff that nobody accepted was not found")
		}
	})
}

// plantTask puts the task of a handoff into the database, beside the server.
func plantTask(h *testkit.House, session, handoff, connection string) {
	h.Helper()
	_, err := h.Raw().Exec(`INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason,
		rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
		VALUES ($1, $2, $3, $4, $5, $6, 'g', 3, '[]', '{}', 'agent', 'stopped', '', 0, 0, 0, 0, '', '', 0, $7, $7, $7, '')`,
		workspaceID(), h.Workspace, session, handoff, connection, h.Owner.ID, time.Now().UnixMilli())
	if err != nil {
		h.Fatalf("plant a task: %v", err)
	}
}

// propose offers one handoff and returns its ID.
func propose(t *testing.T, s *probe.Session, session string, i int) string {
	t.Helper()
	var made struct {
		ID     string `json:"handoff_id"`
		Status string `json:"status"`
	}
	r := testkit.Call(t, s, "propose_session_handoff", testkit.Object{
		"session_type": "agent", "session_id": session, "goal": fmt.Sprintf("Goal %d", i), "context_summary": "Some context.",
		"requested_output": "A page.", "max_rounds": 1, "idempotency_key": fmt.Sprintf("handoff-%08d", i),
	})
	if err := r.Read(&made); err != nil || made.Status != "pending" {
		t.Fatalf("propose: got %s (%s), want a pending handoff", said(r), r.Text)
	}
	return made.ID
}

// history is what everybody did and was answered.
type history struct {
	began time.Time
	mu    sync.Mutex
	ops   []porcupine.Operation // guarded by mu
}

func (h *history) do(client int, in decision, call func() outcome) {
	from := time.Since(h.began).Nanoseconds()
	out := call()
	to := time.Since(h.began).Nanoseconds()
	if out.lost { // it may still have its effect, at any time
		to = 1 << 62
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: from, Return: to})
}

// raceOne has many decide about one handoff.
func raceOne(t *testing.T, nodes []*testkit.House, record *history, assistant *probe.Session, session, handoff string, random *rand.Rand) {
	t.Helper()
	verbs := []string{"accept", "decline", "cancel"}
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range parallel {
		in := decision{handoff, verbs[random.IntN(len(verbs))]}
		node, dropped := nodes[i%len(nodes)], i%losers == 1
		if i%readers == 0 {
			in.verb, dropped = "read", false // a read without an answer says nothing
		}
		at := *assistant
		at.Endpoint = node.Base + testkit.Mounts[0]
		all.Go(func() {
			<-start
			record.do(i, in, func() outcome {
				out := decide(t, node, &at, session, in)
				if dropped {
					return outcome{lost: true}
				}
				return out
			})
		})
	}
	close(start)
	all.Wait()
}

// decide makes one call.
func decide(t *testing.T, node *testkit.House, assistant *probe.Session, session string, in decision) outcome {
	switch in.verb {
	case "cancel":
		r, err := assistant.Call(context.WithoutCancel(t.Context()), "cancel_session_handoff", testkit.Object{"handoff_id": in.handoff})
		if err != nil {
			t.Errorf("cancel: %v", err)
			return outcome{lost: true}
		}
		var lost struct {
			State string `json:"state"`
		}
		if err := json.Unmarshal(r.Structured, &lost); err != nil || r.IsError && r.Code != "already_decided" {
			t.Errorf("cancel: got %s (%s)", said(r), r.Text)
		}
		return outcome{won: !r.IsError, state: lost.State}
	case "read":
		return outcome{state: stateOf(t, node, session, in.handoff)}
	}
	status, body := node.Owner.Do("POST", "/agent-sessions/"+session+"/external-handoffs/"+in.handoff+"/decision", testkit.Object{"decision": in.verb})
	if status == 409 {
		var e struct {
			Error struct {
				Code    string `json:"code"`
				State   string `json:"state"`
				Details struct {
					State string `json:"state"`
				} `json:"details"`
			} `json:"error"`
		}
		if err := json.Unmarshal(body, &e); err != nil || e.Error.Code != "already_decided" {
			t.Errorf("%s: got %d %s, want already_decided", in.verb, status, body)
		}
		return outcome{state: e.Error.State + e.Error.Details.State}
	}
	if status != 200 {
		t.Errorf("%s: got %d %s, want 200 or 409", in.verb, status, body)
	}
	return outcome{won: status == 200}
}

// stateOf reads one handoff's state as its owner sees it.
func stateOf(t *testing.T, node *testkit.House, session, handoff string) string {
	t.Helper()
	var one struct {
		State  string `json:"state"`
		Status string `json:"status"`
	}
	status, body := node.Owner.Do("GET", "/agent-sessions/"+session+"/external-handoffs/"+handoff, nil)
	if err := json.Unmarshal(body, &one); status != 200 || err != nil {
		t.Errorf("read: got %d %s", status, body)
	}
	return one.State + one.Status
}

// judgeHistory checks the history, and that every accepted handoff has its task. It
// returns what is wrong.
func judgeHistory(t *testing.T, h *testkit.House, ops []porcupine.Operation, session string) (faults []string) {
	t.Helper()
	if verdict := porcupine.CheckOperationsTimeout(handoffModel, ops, time.Minute); verdict != porcupine.Ok {
		faults = append(faults, fmt.Sprintf("the history of %d calls is %s, want %s", len(ops), verdict, porcupine.Ok))
	}
	count := func(query string) (n int) {
		t.Helper()
		if err := h.Raw().QueryRow(query, session).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	accepted := count(`SELECT count(*) FROM handoffs WHERE session_id = $1 AND state = 'accepted'`)
	tasks := count(`SELECT count(*) FROM tasks WHERE session_id = $1`)
	both := count(`SELECT count(*) FROM tasks k JOIN handoffs h ON h.id = k.handoff_id WHERE h.session_id = $1 AND h.state = 'accepted'`)
	if accepted != tasks || both != tasks || accepted == 0 {
		faults = append(faults, fmt.Sprintf("%d handoffs were accepted and %d tasks queued, %d of them theirs; want as many, and some", accepted, tasks, both))
	}
	return faults
}

// The model is no yes-man: histories with a fault that a wrong server could make
// are refused.
func TestTheModelOfHandoffsRefusesWhatMustNotHappen(t *testing.T) {
	op := func(from, to int64, verb string, out outcome) porcupine.Operation {
		return porcupine.Operation{Input: decision{"h", verb}, Output: out, Call: from, Return: to}
	}
	for name, c := range map[string]struct {
		ops  []porcupine.Operation
		want bool
	}{
		"one accept":               {[]porcupine.Operation{op(0, 1, "accept", outcome{won: true})}, true},
		"accept, then told":        {[]porcupine.Operation{op(0, 1, "accept", outcome{won: true}), op(2, 3, "cancel", outcome{state: "accepted"})}, true},
		"two accepts":              {[]porcupine.Operation{op(0, 9, "accept", outcome{won: true}), op(0, 9, "accept", outcome{won: true})}, false},
		"accept and cancel":        {[]porcupine.Operation{op(0, 9, "accept", outcome{won: true}), op(0, 9, "cancel", outcome{won: true})}, false},
		"told what is not so":      {[]porcupine.Operation{op(0, 1, "accept", outcome{won: true}), op(2, 3, "decline", outcome{state: "cancelled"})}, false},
		"read before it was so":    {[]porcupine.Operation{op(0, 1, "read", outcome{state: "accepted"}), op(2, 3, "accept", outcome{won: true})}, false},
		"read old after the new":   {[]porcupine.Operation{op(0, 1, "accept", outcome{won: true}), op(2, 3, "read", outcome{state: "pending"})}, false},
		"lost answer had effect":   {[]porcupine.Operation{op(0, 1<<62, "accept", outcome{lost: true}), op(2, 3, "read", outcome{state: "accepted"})}, true},
		"lost answer had none":     {[]porcupine.Operation{op(0, 1<<62, "accept", outcome{lost: true}), op(2, 3, "cancel", outcome{won: true})}, true},
		"told before any decision": {[]porcupine.Operation{op(0, 1, "decline", outcome{state: "pending"})}, false},
	} {
		if got := porcupine.CheckOperations(handoffModel, c.ops); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
