package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// rounds is what runs rounds, on this database.
func (w *world) rounds() *workspace.Rounds {
	events := workspace.NewEvents(storage.Events{}, w.clock) // like another node: it does not wake the streams of this one
	mails := workspace.NewMails(storage.Mails{}, events, w.clock, w.base)
	return workspace.NewRounds(storage.Rounds{}, storage.Spending{}, mails, workspace.NewNotices(storage.Notices{}, events, w.clock), jobs{}, events, w.clock)
}

// did runs f in a unit of work and fails the test unless it did something.
func (w *world) did(what string, f func(ctx context.Context, tx access.Tx) (bool, error)) {
	w.Helper()
	w.must(w.db.Write(context.Background(), func(tx access.Tx) error {
		ok, err := f(context.Background(), tx)
		if err == nil && !ok {
			err = fmt.Errorf("%s: there was nothing to do", what)
		}
		return err
	}))
}

func (w *world) begin(task string, number int64) (ref access.RoundRef) {
	w.Helper()
	w.did("begin", func(ctx context.Context, tx access.Tx) (bool, error) {
		b, ok, err := w.rounds().BeginRound(ctx, tx, task, number, "node")
		ref = access.RoundRef{TaskID: task, Number: number, Attempt: b.Round.Attempt}
		return ok, err
	})
	return ref
}

// queue queues a task of the person's.
func (w *world) queue(who, session string) string {
	w.Helper()
	return w.script(who).wants(201, "POST", "/agent-sessions/"+session+"/tasks", `{"goal":"Sum up"}`).read(w)["id"].(string)
}

func TestPeopleQueueTasksAndSeeTheirRounds(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.browser("ben")
		first := ben.wants(201, "POST", "/agent-sessions/crew/tasks", `{"goal":"Sum up","max_rounds":10}`, header("Idempotency-Key", "one"))
		again := ben.wants(201, "POST", "/agent-sessions/crew/tasks", `{"goal":"Sum up","max_rounds":10}`, header("Idempotency-Key", "one"))
		task := first.read(w)
		if again.body != first.body || task["state"] != "queued" || task["queue_position"] != 1.0 || task["max_rounds"] != 10.0 || task["user"].(map[string]any)["name"] != "Name of ben" {
			w.Errorf("got %s and, again, %s", first, again)
		}
		if second := ben.wants(201, "POST", "/agent-sessions/crew/tasks", `{"goal":"More"}`).read(w); second["queue_position"] != 2.0 || second["max_rounds"] != 3.0 {
			w.Errorf("got %v, want the second in the queue, of three rounds", second)
		}
		for body, field := range map[string]string{
			`{"goal":" "}`: "goal", `{"goal":"` + strings.Repeat("ß", 10_001) + `"}`: "goal", `{}`: "goal",
			`{"goal":"x","max_rounds":0}`: "max_rounds", `{"goal":"x","max_rounds":11}`: "max_rounds", `{"goal":"x","max_rounds":-1}`: "max_rounds",
			`{"goal":"x","model":"big"}`: "model",
		} {
			a := ben.refused(422, access.InvalidArguments, "POST", "/agent-sessions/crew/tasks", body)
			if _, _, fields := a.refusal(); fields[field] == nil {
				w.Errorf("%.60s: got %s, want the field %s named", body, a, field)
			}
		}
		id := task["id"].(string)
		ref := w.begin(id, 1)
		w.did("end", func(ctx context.Context, tx access.Tx) (bool, error) {
			turn := workspace.Turn{Text: "I looked.", Calls: []workspace.ToolCall{{ID: "c", Name: "search", Arguments: `{"query":"x"}`, Result: "nothing", Failed: true, Code: "not_found"}}, Model: "m", TokensIn: 3, TokensOut: 4}
			return w.rounds().EndRound(ctx, tx, ref, workspace.RoundEnd{State: workspace.RoundDone, Turn: turn}, workspace.Use{Rounds: 1, ToolCalls: 1, Tokens: 7, Took: time.Second})
		})
		w.must(w.db.Write(context.Background(), func(tx access.Tx) error {
			return w.rounds().NextRound(context.Background(), tx, workspace.Task{ID: id, WorkspaceID: "atlas", SessionID: "crew"}, 2, "worker")
		}))
		path := "/agent-sessions/crew/tasks/" + id
		for _, who := range []string{"ben", "vic"} { // whoever sees the session
			got := w.script(who).wants(200, "GET", path+"?limit=1", "").read(w)
			rounds := got["rounds"].([]any)
			if got["rounds_done"] != 1.0 || got["tool_calls"] != 1.0 || got["tokens"] != 7.0 || got["millis"] != 1000.0 || got["state"] != "running" || got["result"] != "" || len(rounds) != 1 {
				w.Fatalf("got %v", got)
			}
			round := rounds[0].(map[string]any)
			call := round["calls"].([]any)[0].(map[string]any)
			if round["text"] != "I looked." || round["agent"] != "worker" || round["state"] != "done" || call["name"] != "search" || call["result"] != "nothing" || call["code"] != "not_found" || call["failed"] != true {
				w.Errorf("got the round %v", round)
			}
			next := w.script(who).wants(200, "GET", path+"?limit=1&cursor="+got["next_cursor"].(string), "").read(w)
			if rounds := next["rounds"].([]any); len(rounds) != 1 || rounds[0].(map[string]any)["state"] != "queued" || next["next_cursor"] != nil {
				w.Errorf("got the second page %v", next)
			}
		}
		list := ben.wants(200, "GET", "/agent-sessions/crew/tasks?limit=1", "").read(w)
		if item := list["items"].([]any)[0].(map[string]any); item["goal"] != "More" || item["rounds"] != nil || item["result"] != nil || list["next_cursor"] == nil {
			w.Errorf("got the list %v, want the newest first, without its rounds", list)
		}
		w.refusesTasksOfOthers(ben, id)
	})
}

// refusesTasksOfOthers names a task under another session, and one that never was.
func (w *world) refusesTasksOfOthers(c *caller, id string) {
	w.Helper()
	for _, call := range []struct{ method, path, body string }{
		{"GET", "/agent-sessions/circle/tasks/%s", ""}, {"POST", "/agent-sessions/circle/tasks/%s/stop", ""}, {"POST", "/agent-sessions/circle/tasks/%s/resume", `{"decision":"stop"}`},
		{"POST", "/agent-sessions/circle/tasks/%s/resume", `{"decision":"again"}`},
	} {
		there := c.refused(404, access.NotFound, call.method, fmt.Sprintf(call.path, id), call.body)
		never := c.refused(404, access.NotFound, call.method, fmt.Sprintf(call.path, "never"), call.body)
		if there.body != never.body {
			w.Errorf("%s %s: got %s, and %s for a task that never was", call.method, call.path, there, never)
		}
	}
}

func TestPeopleStopTasksOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.browser("ben")
		for name, prepare := range map[string]func(id string){
			"queued":  func(string) {},
			"running": func(id string) { w.begin(id, 1) },
			"waiting": func(id string) { w.wait(id) },
		} {
			id := w.queue("mara", "crew")
			prepare(id)
			stopped, done := w.tasks.Stopping().Watch(id)
			w.script("vic").refused(403, access.Forbidden, "POST", "/agent-sessions/crew/tasks/"+id+"/stop", "")
			select {
			case <-stopped:
				w.Errorf("%s: a stop that was refused was heard", name)
			default:
			}
			got := ben.wants(200, "POST", "/agent-sessions/crew/tasks/"+id+"/stop", "").read(w)
			if got["state"] != "stopped" || got["reason"] != "stopped_by_person: Name of ben stopped the task." || got["stopped_by"].(map[string]any)["id"] != "ben" || got["ended_at"] == nil {
				w.Errorf("%s: got %v", name, got)
			}
			select {
			case <-stopped:
			case <-time.After(patience):
				w.Errorf("%s: whoever runs the task was not told", name)
			}
			done()
			a := ben.refused(409, access.AlreadyDecided, "POST", "/agent-sessions/crew/tasks/"+id+"/stop", "")
			if a.read(w)["error"].(map[string]any)["state"] != "stopped" {
				w.Errorf("%s: got %s, want the state", name, a)
			}
		}
	})
}

// wait brings a queued task to wait for a person.
func (w *world) wait(id string) {
	w.Helper()
	ref := w.begin(id, 1)
	w.did("mark", func(ctx context.Context, tx access.Tx) (bool, error) { return w.rounds().MarkEffect(ctx, tx, ref) })
	w.did("wait", func(ctx context.Context, tx access.Tx) (bool, error) {
		return w.rounds().WaitTask(ctx, tx, workspace.Task{ID: id, SessionID: "crew"}, ref, "unknown_outcome: The command may have run.")
	})
}

func TestAPersonDecidesWhetherAnUnknownEffectMayHappenAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.browser("ben")
		id := w.queue("mara", "crew")
		resume := "/agent-sessions/crew/tasks/" + id + "/resume"
		for _, decision := range []string{"again", "stop"} {
			a := ben.refused(409, access.AlreadyDecided, "POST", resume, `{"decision":"`+decision+`"}`)
			if a.read(w)["error"].(map[string]any)["state"] != "queued" {
				w.Errorf("got %s, want the state", a)
			}
		}
		w.wait(id)
		for _, n := range []struct {
			user string
			want int
		}{{"ben", 1}, {"mara", 1}, {"pia", 0}} { // the owner, whoever queued it, and nobody else
			if got := w.count(`SELECT COUNT(*) FROM notices WHERE user_id = $1 AND type = 'task.waiting'`, n.user); got != n.want {
				w.Errorf("%s has %d notices of the waiting task, want %d", n.user, got, n.want)
			}
		}
		one := ben.wants(200, "GET", "/agent-sessions/crew/tasks/"+id, "").read(w)
		if one["state"] != "waiting" || one["reason"] != "unknown_outcome: The command may have run." || one["rounds"].([]any)[0].(map[string]any)["effect_at"] == nil {
			w.Errorf("got %v", one)
		}
		ben.refused(422, access.InvalidArguments, "POST", resume, `{"decision":"maybe"}`)
		if got := ben.wants(200, "POST", resume, `{"decision":"again"}`).read(w); got["state"] != "queued" || got["reason"] != "" {
			w.Errorf("got %v, want the task in the queue", got)
		}
		w.wait(id)
		if got := ben.wants(200, "POST", resume, `{"decision":"stop"}`).read(w); got["state"] != "stopped" {
			w.Errorf("got %v, want a stopped task", got)
		}
		w.exec(`UPDATE sessions SET archived_at = 5 WHERE id = 'crew'`)
		ben.refused(409, access.Conflict, "POST", "/agent-sessions/crew/tasks", `{"goal":"x"}`)
		ben.refused(409, access.Conflict, "POST", "/agent-sessions/crew/mail", `{"subject":"s","body":"b"}`)
	})
}

func TestMailOfASessionIsAttributed(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.browser("ben")
		for i, row := range [][]any{{"connection", "desk", "", "", 0}, {"agent", "worker", "", "desk", 0}, {"agent", "worker", "", "", 1}} {
			w.exec(`INSERT INTO session_mail (id, workspace_id, session_id, task_id, from_kind, from_id, to_agent, to_connection, internal, reply_to, subject, body, created_at)
				VALUES ($1, 'atlas', 'crew', '', $2, $3, $4, $5, $6, '', 's', 'b', 1000)`, append([]any{fmt.Sprintf("00%d", i)}, row...)...)
		}
		made := ben.wants(201, "POST", "/agent-sessions/crew/mail", `{"to_agent":"worker","subject":"S","body":"B"}`).read(w)
		ben.refused(422, access.InvalidArguments, "POST", "/agent-sessions/crew/mail", `{"to_agent":"nobody","subject":"S","body":"B"}`)
		ben.refused(422, access.InvalidArguments, "POST", "/agent-sessions/crew/mail", `{"subject":"`+strings.Repeat("s", 201)+`","body":"B"}`)
		ben.refused(422, access.InvalidArguments, "POST", "/agent-sessions/crew/mail", `{"subject":"S","body":"`+strings.Repeat("b", 10_001)+`"}`)
		ben.refused(422, access.InvalidArguments, "POST", "/agent-sessions/crew/mail", `{"body":"B"}`)
		list := w.script("vic").wants(200, "GET", "/agent-sessions/crew/mail", "").read(w)["items"].([]any)
		var got []string
		for _, item := range list {
			m := item.(map[string]any)
			from, to := m["from"].(map[string]any), m["to"].(map[string]any)
			got = append(got, fmt.Sprint(from["kind"], " ", from["name"], " ", from["label"], " to ", to["kind"], " ", to["slug"], " ", to["label"], " ", m["internal"]))
		}
		want := []string{
			"person Name of ben <nil> to agent worker <nil> false",
			"agent worker <nil> to team <nil> <nil> true",
			"agent worker <nil> to connection desk outside assistant false",
			"connection desk outside assistant to team <nil> <nil> false",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || list[0].(map[string]any)["id"] != made["id"] {
			w.Errorf("got %q, want %q", got, want)
		}
		if n := w.count(`SELECT COUNT(*) FROM tasks`); n != 0 {
			w.Errorf("mail left %d tasks", n)
		}
	})
}
