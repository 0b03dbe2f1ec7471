package e2e

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The seat matrix of product.md §4: every session tool with every seat, in every
// set of scopes, for things of this connection and of another one.

// seatNeeds is the least seat of each session tool, told from the contract.
var seatNeeds = map[string]string{
	"read_session_state": "observer", "list_session_tasks": "observer", "read_session_mail": "observer",
	"list_session_handoffs": "observer", "read_session_task_result": "observer",
	"post_session_note": "contributor", "propose_session_handoff": "contributor", "cancel_session_handoff": "contributor",
	"request_session_run": "runner",
}

// seatRanks are the seats from least to most; "" is none.
var seatRanks = []string{"", "observer", "contributor", "runner"}

// scopeSets are all sets of scopes that a person can tick.
var scopeSets = [][]string{
	{"osfoundry:read"}, {"osfoundry:read", "osfoundry:write"}, {"osfoundry:read", "osfoundry:run"}, {"osfoundry:read", "osfoundry:write", "osfoundry:run"},
}

// expectSeat is the one answer, with what a seat_required says that was needed and
// is had.
func expectSeat(name string, scopes []string, seat string, own bool) string {
	have, need := slices.Index(seatRanks, seat), slices.Index(seatRanks, seatNeeds[name])
	switch {
	case !slices.Contains(scopes, rows[name].scope()):
		return "403 insufficient_scope"
	case have < need && seat == "":
		return "200 seat_required " + seatNeeds[name] + " none"
	case have < need:
		return "200 seat_required " + seatNeeds[name] + " " + seat
	case !own && (rows[name].about == aboutHandoff || rows[name].about == aboutTask):
		return "200 not_yours"
	}
	return "200"
}

func TestEverySeatHasItsToolsAndNoOthers(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		_, stranger := h.Owner.Connect(probe.Version20251125)
		cells := 0
		for _, scopes := range scopeSets {
			for _, seat := range seatRanks {
				for _, own := range []bool{true, false} {
					session, connection := h.Owner.Connect(probe.Version20251125, scopes...)
					h.Owner.AddConnection(project, connection)
					for name := range seatNeeds {
						w := world{project: project}
						w.session = h.Owner.Session(project, "agent", "Research", "rehearsal").ID
						w.handoff, w.task = workspaceID(), workspaceID()
						maker := connection
						if !own {
							maker = stranger
						}
						plant(h, w, h.Workspace, maker)
						if seat != "" {
							h.Owner.Seat(w.session, connection, seat)
						}
						r := testkit.Call(t, session, name, rows[name].args(&w))
						if got, want := saidSeat(t, r), expectSeat(name, scopes, seat, own); got != want {
							t.Errorf("%s, seat %q, scopes %v, own %v: got %s (%s), want %s", name, seat, scopes, own, got, r.Text, want)
						}
						cells++
					}
				}
			}
		}
		if want := len(scopeSets) * len(seatRanks) * 2 * len(seatNeeds); cells != want {
			t.Errorf("checked %d cells, want %d", cells, want)
		}
	})
}

// saidSeat is an answer's status and code, with what seat_required carries.
func saidSeat(t *testing.T, r probe.Result) string {
	t.Helper()
	if r.Code != "seat_required" {
		return said(r)
	}
	var carried struct {
		Needed string `json:"needed"`
		Have   string `json:"have"`
	}
	if err := json.Unmarshal(r.Structured, &carried); err != nil {
		t.Fatalf("%s: %v", r.Structured, err)
	}
	return said(r) + " " + carried.Needed + " " + carried.Have
}

func TestASeatHasEffectFromTheNextCallOnAndOnlyWithTheProject(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		session, connection := h.Owner.Connect(probe.Version20251125)
		s := h.Owner.Session(project, "agent", "Research", "rehearsal").ID
		seatOf := "/agent-sessions/" + s + "/connections/" + connection
		if status, body := h.Owner.Do("PUT", seatOf, testkit.Object{"seat": "runner"}); status != 409 || codeIn(t, body) != "not_in_project" {
			t.Fatalf("a seat without the project: got %d %s, want 409 not_in_project", status, body)
		}
		h.Owner.AddConnection(project, connection)
		for _, step := range []struct {
			name   string
			change func()
			want   string
			seats  int // that list_granted_resources shows
		}{
			{"no seat yet", func() {}, "200 seat_required", 0},
			{"a seat", func() { h.Owner.Seat(s, connection, "observer") }, "200", 1},
			{"the project taken away", func() { h.Owner.Must("DELETE", "/projects/"+project+"/connections/"+connection, nil, nil) }, "200 not_in_project", 0},
			{"the project given back", func() { h.Owner.AddConnection(project, connection) }, "200", 1},
			{"the seat taken away", func() { h.Owner.Must("DELETE", seatOf, nil, nil) }, "200 seat_required", 0},
		} {
			step.change()
			r := testkit.Call(t, session, "read_session_state", testkit.Object{"session_type": "agent", "session_id": s})
			if said(r) != step.want {
				t.Errorf("%s: got %s (%s), want %s", step.name, said(r), r.Text, step.want)
			}
			var granted struct {
				Seats []struct {
					SessionType string `json:"session_type"`
					SessionID   string `json:"session_id"`
					Seat        string `json:"seat"`
				} `json:"seats"`
			}
			r = testkit.Call(t, session, "list_granted_resources", testkit.Object{})
			if err := r.Read(&granted); err != nil || len(granted.Seats) != step.seats {
				t.Errorf("%s: got seats %s, want %d of them", step.name, r.Structured, step.seats)
			}
		}
	})
}

// workspaceID is a fresh ID such as the server makes.
func workspaceID() string { return uuid.Must(uuid.NewV7()).String() }

// plant puts a pending handoff and a finished task of the connection into the
// database, beside the server: a connection that may not propose could not make
// them itself.
func plant(h *testkit.House, w world, workspace, connection string) {
	h.Helper()
	raw := h.Raw()
	now := time.Now().UnixMilli()
	for _, row := range []struct {
		query string
		args  []any
	}{
		{`INSERT INTO handoffs (id, workspace_id, session_id, connection_id, goal, context_summary, requested_output, max_rounds, state, reason,
			created_at, expires_at, decided_at, decided_by) VALUES ($1, $2, $3, $4, 'g', 'c', 'o', 3, 'pending', '', $5, 0, 0, '')`,
			[]any{w.handoff, workspace, w.session, connection, now}},
		{`INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason,
			rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
			VALUES ($1, $2, $3, NULL, $4, '', 'g', 3, '[]', '{}', 'agent', 'succeeded', '', 1, 0, 0, 0, 'done', 'worker-1', 4, $5, $5, $5, '')`,
			[]any{w.task, workspace, w.session, connection, now}},
	} {
		if _, err := raw.Exec(row.query, row.args...); err != nil {
			h.Fatalf("plant: %v", err)
		}
	}
}

// codeIn is the code of an error of the owner API.
func codeIn(t *testing.T, body []byte) string {
	t.Helper()
	var e struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return e.Error.Code
}
