package tool

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// crew adds sessions of agents, and run tokens:
//
//	room   team in alpha: lead (rehearsal), aide (a model); claude has the seat of a runner, codex that of an observer
//	loop   in alpha: claude is a contributor
//	annex  team in alpha: claude is an observer
//	hidden in beta, which claude is not in, with a seat all the same
func (w *world) crew() {
	w.Helper()
	for _, s := range [][]any{{"room", "alpha", "team"}, {"loop", "alpha", "loop"}, {"annex", "alpha", "team"}, {"hidden", "beta", "team"}} {
		w.exec(`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes,
			local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
			VALUES ($1, 'atlas', $2, $3, $1, 'mara', 1, '[{"slug":"lead","instructions":"","provider":"rehearsal"},{"slug":"aide","instructions":"","provider":"house"}]', '{}',
			5, 0, 0, 0, 0, 0, 0, 1, 'mara', 1, 'mara')`, s...)
	}
	for _, s := range [][]any{{"room", "claude", "runner"}, {"room", "codex", "observer"}, {"loop", "claude", "contributor"}, {"annex", "claude", "observer"}, {"hidden", "claude", "runner"}} {
		w.exec(`INSERT INTO session_seats (session_id, connection_id, seat, given_by, created_at) VALUES ($1, $2, $3, 'mara', 1)`, s...)
	}
	for _, c := range []string{"claude", "codex"} {
		w.exec(`INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at)
			VALUES ($1, $2, 'osfoundry:read osfoundry:write osfoundry:run', '', 1, $3, 0)`, c+"-run", c, w.clock().Add(time.Hour).UnixMilli())
	}
}

func eachCrew(t *testing.T, f func(w *world)) {
	eachWorld(t, func(w *world) {
		w.crew()
		f(w)
	})
}

func runIn(session, kind, goal string, i int) string {
	return fmt.Sprintf(`{"session_type":%q,"session_id":%q,"goal":%q,"idempotency_key":"run-%06d"}`, kind, session, goal, i)
}

func TestARequestedRunIsQueuedOnce(t *testing.T) {
	eachCrew(t, func(w *world) {
		first := ask[requested](w, "claude-run", "request_session_run", runIn("room", "team", "Sum up", 1))
		again, err := w.call("claude-run", "request_session_run", runIn("room", "team", "Sum up", 1))
		want := fmt.Sprintf(`{"task_id":%q,"status":"queued","queue_position":1,"replayed":true}`, first.TaskID)
		if string(again) != want || err != nil {
			w.Errorf("a repeat: got %s, %v; want %s", again, err, want)
		}
		second := ask[requested](w, "claude-run", "request_session_run",
			`{"session_type":"team","session_id":"room","goal":"More","max_rounds":10,"idempotency_key":"run-000002"}`)
		if first.QueuePosition != 1 || second.QueuePosition != 2 || second.Status != "queued" {
			w.Errorf("got %+v and %+v, want the first two in the queue", first, second)
		}
		if got := w.queued; !slices.Equal(got, []string{first.TaskID + " 1", second.TaskID + " 1"}) {
			w.Errorf("the queue got %q", got)
		}
		for id, rounds := range map[string]int{first.TaskID: 3, second.TaskID: 5} { // the default, and the session's cap
			if n := w.count(`SELECT max_rounds FROM tasks WHERE id = $1 AND connection_id = 'claude' AND user_id = '' AND agents LIKE '%aide%' AND type = 'team'`, id); n != rounds {
				w.Errorf("task %s has at most %d rounds, want %d", id, n, rounds)
			}
		}
		w.refused(access.IdempotencyMismatch, "claude-run", "request_session_run", runIn("room", "team", "Other", 1))
		if n := w.count(`SELECT COUNT(*) FROM events WHERE type = 'task.queued' AND kind = 'session' AND resource_id = 'room' AND connection_id = 'claude'`); n != 2 {
			w.Errorf("%d events of queued tasks, want 2", n)
		}
	})
}

func TestARunNeedsItsScopeItsSeatAndASessionInUse(t *testing.T) {
	eachCrew(t, func(w *world) {
		for name, c := range map[string]struct {
			token, arguments string
			want             access.Code
		}{
			"no scope":       {"claude-write", runIn("room", "team", "x", 1), access.InsufficientScope},
			"lesser seat":    {"claude-run", runIn("loop", "loop", "x", 1), access.SeatRequired},
			"observer":       {"codex-run", runIn("room", "team", "x", 1), access.SeatRequired},
			"other type":     {"claude-run", runIn("room", "agent", "x", 1), access.NotFound},
			"not in project": {"claude-run", runIn("hidden", "team", "x", 1), access.NotInProject},
			"unknown":        {"claude-run", runIn("never", "team", "x", 1), access.NotFound},
			"room":           {"claude-run", strings.Replace(runIn("room", "team", "x", 1), "team", "room", 1), access.InvalidArguments},
			"blank goal":     {"claude-run", runIn("room", "team", " \t ", 1), access.InvalidArguments},
			"long goal":      {"claude-run", runIn("room", "team", strings.Repeat("ß", 10_001), 1), access.InvalidArguments},
			"NUL":            {"claude-run", strings.Replace(runIn("room", "team", "x?", 1), "?", `\u0000`, 1), access.InvalidArguments},
			"no rounds":      {"claude-run", `{"session_type":"team","session_id":"room","goal":"x","max_rounds":0,"idempotency_key":"run-000001"}`, access.InvalidArguments},
			"many rounds":    {"claude-run", `{"session_type":"team","session_id":"room","goal":"x","max_rounds":11,"idempotency_key":"run-000001"}`, access.InvalidArguments},
			"model":          {"claude-run", `{"session_type":"team","session_id":"room","goal":"x","model":"big","idempotency_key":"run-000001"}`, access.InvalidArguments},
			"no key":         {"claude-run", `{"session_type":"team","session_id":"room","goal":"x"}`, access.InvalidArguments},
		} {
			t.Logf("%s", name)
			w.refused(c.want, c.token, "request_session_run", c.arguments)
		}
		w.exec(`UPDATE sessions SET archived_at = 5 WHERE id = 'room'`)
		w.refused(access.HumanRequired, "claude-run", "request_session_run", runIn("room", "team", "x", 1))
		w.refused(access.HumanRequired, "claude-run", "post_session_note", noteIn("s", "b", "", 1))
		if n := w.count(`SELECT COUNT(*) FROM tasks`); n != 0 || len(w.queued) != 0 {
			w.Errorf("%d tasks and the jobs %q, want none", n, w.queued)
		}
		w.exec(`UPDATE sessions SET archived_at = 0 WHERE id = 'room'`)
		ask[requested](w, "claude-run", "request_session_run", runIn("room", "team", strings.Repeat("ß", 10_000), 1))
	})
}

func TestAConnectionHasSoManyRequestsInTheQueue(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		limits := noRates
		limits.QueuedTasks = 3
		w := newWorld(t, o, limits)
		w.crew()
		w.exec(`UPDATE session_seats SET seat = 'runner'`)
		for i := range 3 {
			ask[requested](w, "claude-run", "request_session_run", runIn("room", "team", "x", i))
		}
		err := w.refused(access.RateLimited, "claude-run", "request_session_run", runIn("loop", "loop", "x", 9))
		if e := refusal(t, err); e.Details["retry_after_ms"].(int64) <= 0 {
			t.Errorf("got %v, want a wait", e.Details)
		}
		ask[requested](w, "codex-run", "request_session_run", runIn("room", "team", "x", 9)) // which has a queue of its own
		w.exec(`UPDATE tasks SET state = 'running' WHERE id = (SELECT MIN(id) FROM tasks)`)
		ask[requested](w, "claude-run", "request_session_run", runIn("loop", "loop", "x", 9))
	})
}

func refusal(t testing.TB, err error) *access.Error {
	t.Helper()
	e, ok := err.(*access.Error)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return e
}

// taskOf puts a task into room.
func (w *world) taskOf(id, connection, user, state, result, by string) {
	w.Helper()
	w.exec(`INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason, rounds, tool_calls,
		tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
		SELECT $1, 'atlas', id, NULL, $2, $3, 'Goal of ' || $1, 3, agents, done, type, $4, 'why', 2, 0, 0, 0, $5, $6, $7, 1000, 2000, 3000, '' FROM sessions WHERE id = 'room'`,
		id, connection, user, state, result, by, len([]rune(result)))
}

func TestResultsAreReadByWhoeverStartedTheTaskInParts(t *testing.T) {
	eachCrew(t, func(w *world) {
		text := strings.Repeat("Ω", 700)
		w.taskOf("mine", "claude", "", "succeeded", text, "lead")
		w.taskOf("accepted", "claude", "mara", "failed", "", "")
		w.taskOf("persons", "", "mara", "succeeded", "secret", "lead")
		w.taskOf("others", "codex", "", "succeeded", "secret", "aide")
		read := func(task, more string) string {
			return fmt.Sprintf(`{"session_type":"team","session_id":"room","task_id":%q%s}`, task, more)
		}
		got := ask[taskResult](w, "claude-read", "read_session_task_result", read("mine", ""))
		if got.Result != text || got.ResultBy != "lead" || !got.Rehearsed || got.Status != "succeeded" || got.Chars != 700 || got.NextOffset != 0 || got.Rounds != 2 || got.Reason != "why" {
			w.Errorf("got %+v", got)
		}
		got = ask[taskResult](w, "claude-read", "read_session_task_result", read("mine", `,"max_chars":500`))
		if got.Result != text[:1000] || got.NextOffset != 500 {
			w.Errorf("the first part has %d bytes, the next begins at %d; want 1000 and 500", len(got.Result), got.NextOffset)
		}
		got = ask[taskResult](w, "claude-read", "read_session_task_result", read("mine", `,"max_chars":500,"offset":500`))
		if got.Result != text[:400] || got.NextOffset != 0 || got.Offset != 500 {
			w.Errorf("the second part has %d bytes, the next begins at %d; want 400 and none", len(got.Result), got.NextOffset)
		}
		if got := ask[taskResult](w, "codex-read", "read_session_task_result", read("others", "")); got.Rehearsed || got.Result != "secret" {
			w.Errorf("got %+v of a task that a model did", got)
		}
		if got := ask[taskResult](w, "claude-read", "read_session_task_result", read("accepted", "")); got.Status != "failed" || got.Result != "" {
			w.Errorf("got %+v of an accepted handoff", got)
		}
		for task, want := range map[string]access.Code{"persons": access.NotYours, "others": access.NotYours, "never": access.NotFound} {
			w.refused(want, "claude-read", "read_session_task_result", read(task, ""))
		}
		for _, session := range []string{`"session_type":"loop","session_id":"loop"`, `"session_type":"team","session_id":"annex"`, `"session_type":"agent","session_id":"room"`} {
			w.refused(access.NotFound, "claude-read", "read_session_task_result", `{`+session+`,"task_id":"mine"}`)
		}
		w.refused(access.InvalidArguments, "claude-read", "read_session_task_result", read("mine", `,"offset":701`))
		w.refused(access.InvalidArguments, "claude-read", "read_session_task_result", read("mine", `,"max_chars":499`))
		w.exec(`DELETE FROM session_seats WHERE connection_id = 'claude'`)
		w.refused(access.SeatRequired, "claude-read", "read_session_task_result", read("mine", ""))
	})
}

func TestListsOfTasksHoldTheConnectionsOwn(t *testing.T) {
	eachCrew(t, func(w *world) {
		w.taskOf("t1", "claude", "", "succeeded", "", "")
		w.taskOf("t2", "codex", "", "queued", "", "")
		w.taskOf("t3", "", "mara", "queued", "", "")
		w.taskOf("t4", "claude", "mara", "queued", "", "")
		for i := range listLimit {
			w.taskOf(fmt.Sprintf("u%02d", i), "claude", "", "running", "", "")
		}
		list := func(more string) ownTaskList {
			return ask[ownTaskList](w, "claude-read", "list_session_tasks", `{"session_type":"team","session_id":"room"`+more+`}`)
		}
		first := list("")
		if len(first.Items) != listLimit || first.Items[0].TaskID != "u49" || first.NextCursor == "" {
			w.Fatalf("got %d items and the cursor %q", len(first.Items), first.NextCursor)
		}
		rest := list(`,"cursor":"` + first.NextCursor + `"`)
		if len(rest.Items) != 2 || rest.Items[0].TaskID != "t4" || rest.Items[0].QueuePosition != 3 || rest.Items[0].Goal != "Goal of t4" || rest.Items[1].TaskID != "t1" || rest.NextCursor != "" {
			w.Errorf("got %+v, want t4 as the third in the queue, and t1", rest)
		}
		open := list(`,"open":true`)
		if rest := list(`,"open":true,"cursor":"` + open.NextCursor + `"`); len(rest.Items) != 1 || rest.Items[0].TaskID != "t4" {
			w.Errorf("open: got %+v, want t4 alone on the second page", rest)
		}
		w.refused(access.InvalidArguments, "claude-read", "list_session_tasks", `{"session_type":"team","session_id":"room","cursor":"`+open.NextCursor+`"}`)
		if got := ask[ownTaskList](w, "codex-read", "list_session_tasks", `{"session_type":"team","session_id":"room"}`); len(got.Items) != 1 || got.Items[0].TaskID != "t2" {
			w.Errorf("codex: got %+v, want t2", got)
		}
	})
}

// Requests side by side see each other, so that none is one too many.
func TestRequestsSideBySideStayWithinTheLimit(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		limits := noRates
		limits.QueuedTasks = 3
		w := newWorld(t, o, limits)
		w.crew()
		var wait sync.WaitGroup
		var queued, refused atomic.Int64
		positions := make([]atomic.Int64, 4)
		for i := range 16 {
			wait.Go(func() {
				answer, err := w.call("claude-run", "request_session_run", runIn("room", "team", "x", i))
				var r requested
				switch {
				case access.CodeOf(err) == access.RateLimited:
					refused.Add(1)
				case err != nil || json.Unmarshal(answer, &r) != nil || r.QueuePosition < 1 || r.QueuePosition > 3:
					t.Errorf("got %s, %v", answer, err)
				default:
					queued.Add(1)
					positions[r.QueuePosition].Add(1)
				}
			})
		}
		wait.Wait()
		if n := w.count(`SELECT COUNT(*) FROM tasks`); queued.Load() != 3 || refused.Load() != 13 || n != 3 {
			t.Errorf("%d were queued and %d refused, and there are %d tasks; want 3, 13 and 3", queued.Load(), refused.Load(), n)
		}
		for p := 1; p <= 3; p++ {
			if n := positions[p].Load(); n != 1 {
				t.Errorf("%d are told that they are number %d in the queue", n, p)
			}
		}
	})
}
