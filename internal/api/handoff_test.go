package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// seated gives the connection desk the project alpha and a seat in crew.
func (w *world) seated(seat string) {
	w.Helper()
	w.exec(`UPDATE connections SET scopes = 'osfoundry:read osfoundry:write osfoundry:run' WHERE id = 'desk'`)
	w.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('desk', 'alpha', 'mara', 1)`)
	w.exec(`INSERT INTO session_seats (session_id, connection_id, seat, given_by, created_at) VALUES ('crew', 'desk', $1, 'ben', 1)`, seat)
}

// shown is one handoff of crew as ben sees it.
func (w *world) shown(id string) map[string]any {
	w.Helper()
	return w.script("ben").wants(200, "GET", "/agent-sessions/crew/external-handoffs/"+id, "").read(w)
}

func decideAt(session, id string) string {
	return "/agent-sessions/" + session + "/external-handoffs/" + id + "/decision"
}

func TestSeatsAreGivenToConnectionsOfTheProject(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.script("ben")
		const path = "/agent-sessions/crew/connections/desk"
		ben.refused(409, access.NotInProject, "PUT", path, `{"seat":"runner"}`)
		ben.refused(404, access.NotFound, "PUT", "/agent-sessions/crew/connections/chair", `{"seat":"runner"}`)
		w.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('desk', 'alpha', 'mara', 1), ('lamp', 'alpha', 'mara', 1)`)
		for _, body := range []string{`{"seat":"owner"}`, `{"seat":"none"}`, `{"seat":""}`, `{}`} {
			ben.refused(422, access.InvalidArguments, "PUT", path, body)
		}
		for _, seat := range []string{"observer", "runner", "runner", "contributor"} {
			got := ben.wants(200, "PUT", path, `{"seat":"`+seat+`"}`).read(w)
			if got["seat"] != seat || got["connection_id"] != "desk" || got["status"] != "active" || fmt.Sprint(got["help"]) == "" || got["given_by"] != "ben" {
				w.Errorf("got %v, want the seat %s", got, seat)
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM events WHERE type = 'seat.given' AND kind = 'session' AND resource_id = 'crew' AND project_id = 'alpha'`); n != 3 {
			w.Errorf("%d events of three changes, want 3", n)
		}
		if n := w.count(`SELECT version FROM sessions WHERE id = 'crew'`); n != 1 {
			w.Errorf("seats made version %d of the session, want 1", n)
		}
		listed := func() string { return ben.wants(200, "GET", "/agent-sessions/crew/connections", "").body }
		if body := listed(); !strings.Contains(body, `"connection_id":"desk"`) || strings.Contains(body, "lamp") || !strings.Contains(body, `"last_used_at":null`) {
			w.Errorf("got %s, want desk alone", body)
		}
		w.exec(`DELETE FROM connection_projects WHERE connection_id = 'desk'`) // no effect meanwhile, and not listed
		if body := listed(); strings.Contains(body, "desk") {
			w.Errorf("without the project: got %s", body)
		}
		ben.refused(409, access.NotInProject, "PUT", path, `{"seat":"observer"}`)
		w.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('desk', 'alpha', 'mara', 1)`)
		if body := listed(); !strings.Contains(body, `"seat":"contributor"`) {
			w.Errorf("with the project again: got %s", body)
		}
		ben.wants(204, "DELETE", path, "")
		ben.refused(404, access.NotFound, "DELETE", path, "")
		w.exec(`UPDATE connections SET status = 'revoked' WHERE id = 'desk'`)
		ben.refused(409, access.ConnectionRevoked, "PUT", path, `{"seat":"observer"}`)
		if n := w.count(`SELECT COUNT(*) FROM session_seats`); n != 0 {
			w.Errorf("%d seats, want none", n)
		}
	})
}

func TestAPersonAcceptsWhatWasShown(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		w.handoff("h1", "crew", "desk", "atlas")
		ben := w.browser("ben")
		h := w.shown("h1")
		for field, want := range map[string]any{
			"id": "h1", "session_id": "crew", "session_type": "agent", "session_title": "crew", "session_version": 1.0, "goal": "Sum up", "context_summary": "Two notes.",
			"requested_output": "A page.", "max_rounds": 3.0, "state": "pending", "connection": map[string]any{"id": "desk", "name": "desk", "slug": "desk", "host": "", "approver": map[string]any{"id": "ben", "name": "Name of ben"}},
			"workspace_id": "atlas", "project_id": "alpha",
			"agents":     []any{map[string]any{"slug": "worker", "provider": "rehearsal", "kind": "rehearsal", "tools": []any{}}},
			"expires_at": nil, "decided_at": nil, "decided_by": nil, "task_id": nil, "reason": nil,
		} {
			if fmt.Sprint(h[field]) != fmt.Sprint(want) {
				w.Errorf("%s: got %v, want %v", field, h[field], want)
			}
		}
		list := ben.wants(200, "GET", "/agent-sessions/crew/external-handoffs?state=pending", "").read(w)["items"].([]any)
		if len(list) != 1 || fmt.Sprint(list[0]) != fmt.Sprint(h) {
			w.Errorf("the list shows %v, want %v", list, h)
		}
		body := fmt.Sprintf(`{"decision":"accept","reason":"Go on","digest":%q}`, h["digest"])
		got := ben.wants(200, "POST", decideAt("crew", "h1"), body).read(w)
		if got["state"] != "accepted" || fmt.Sprint(got["task_id"]) == "" || got["reason"] != "Go on" || got["digest"] != nil || fmt.Sprint(got["decided_by"]) != "map[id:ben name:Name of ben]" {
			w.Errorf("got %v, want it accepted by ben, with a task", got)
		}
		a := ben.refused(409, access.AlreadyDecided, "POST", decideAt("crew", "h1"), body)
		if !strings.Contains(a.body, `"state":"accepted"`) {
			w.Errorf("a second decision: got %s, want the state", a)
		}
		for query, want := range map[string]int{
			`SELECT COUNT(*) FROM tasks WHERE handoff_id = 'h1' AND connection_id = 'desk' AND user_id = 'ben' AND max_rounds = 3 AND state = 'queued'`: 1,
			`SELECT COUNT(*) FROM tasks`: 1,
			`SELECT COUNT(*) FROM events WHERE type = 'handoff.accepted' AND kind = 'session' AND resource_id = 'crew' AND user_id = 'ben' AND data LIKE '%h1%'`: 1,
			`SELECT COUNT(*) FROM audit WHERE tool = 'handoff.decide' AND decision = 'allowed' AND detail LIKE '%h1%' AND detail LIKE '%accepted%'`:              1,
			`SELECT COUNT(*) FROM audit WHERE tool = 'handoff.decide' AND code = 'already_decided'`:                                                              1,
		} {
			if n := w.count(query); n != want {
				w.Errorf("%s: got %d, want %d", query, n, want)
			}
		}
		if after := w.shown("h1"); after["task_id"] != got["task_id"] || after["state"] != "accepted" {
			w.Errorf("afterwards: got %v", after)
		}
	})
}

func TestAPersonDeclinesWithAReason(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		w.handoff("h1", "crew", "desk", "atlas")
		ben := w.browser("ben")
		for body, field := range map[string]string{
			`{"decision":"maybe"}`: "decision", `{"decision":""}`: "decision", `{}`: "decision", `{"decision":"decline","reason":"` + strings.Repeat("ß", 1001) + `"}`: "reason",
			`{"decision":"accept","model":"big"}`: "model",
		} {
			a := ben.call("POST", decideAt("crew", "h1"), body)
			if _, _, fields := a.refusal(); a.status != 422 || fields[field] == nil {
				w.Errorf("%s: got %s, want 422 about %s", body, a, field)
			}
		}
		reason := strings.Repeat("ß", 1000)
		got := ben.wants(200, "POST", decideAt("crew", "h1"), `{"decision":"decline","reason":"`+reason+`"}`).read(w)
		if got["state"] != "declined" || got["reason"] != reason || got["task_id"] != nil {
			w.Errorf("got %v, want it declined with the reason", got)
		}
		if n := w.count(`SELECT COUNT(*) FROM tasks`); n != 0 {
			w.Errorf("declining queued %d tasks", n)
		}
	})
}

// Only a person at a screen who may edit the session decides, in that session.
func TestWhoMayDecide(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		for _, id := range []string{"h1", "h2"} {
			w.handoff(id, "crew", "desk", "atlas")
		}
		const accept = `{"decision":"accept"}`
		w.script("ben").refused(403, access.Forbidden, "POST", decideAt("crew", "h1"), accept)
		w.browser("vic").refused(403, access.Forbidden, "POST", decideAt("crew", "h1"), accept)
		w.browser("eve").refused(404, access.NotFound, "POST", decideAt("crew", "h1"), accept)
		ben := w.browser("ben")
		ben.refused(404, access.NotFound, "POST", decideAt("circle", "h1"), accept) // he may decide both, but it is not of that session
		ben.refused(404, access.NotFound, "GET", "/agent-sessions/circle/external-handoffs/h1", "")
		ben.refused(404, access.NotFound, "POST", decideAt("crew", "theirs"), accept)
		ben.refused(404, access.NotFound, "POST", decideAt("crew", "never"), accept)
		crossing := func(r *http.Request) { r.Header.Set("Origin", "https://elsewhere.example") }
		ben.refused(403, access.Forbidden, "POST", decideAt("crew", "h1"), accept, crossing)
		if n := w.count(`SELECT COUNT(*) FROM handoffs WHERE state = 'pending'`); n != 3 {
			w.Errorf("%d handoffs are pending, want all three", n)
		}
		w.browser("pia").wants(200, "POST", decideAt("crew", "h1"), accept) // an editor, and so one who may edit the session
		w.browser("mara").wants(200, "POST", decideAt("crew", "h2"), accept)
	})
}

// Whatever changes of what was shown, the old digest approves nothing.
func TestAnApprovalIsOfWhatWasShownOnly(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		mara := w.script("mara")
		mara.wants(200, "PUT", "/workspaces/atlas/providers/house", `{"kind":"openai","key":"one"}`)
		mara.wants(200, "PATCH", "/agent-sessions/crew", `{"agents":[{"slug":"worker","instructions":"Work.","provider":"house"}],"expected_version":1}`)
		w.handoff("h1", "crew", "desk", "atlas")
		ben, version := w.browser("ben"), 2
		change := func(what string) func() {
			return func() {
				mara.wants(200, "PATCH", "/agent-sessions/crew", fmt.Sprintf(`{%s,"expected_version":%d}`, what, version))
				version++
			}
		}
		exec := func(query string) func() { return func() { w.exec(query) } }
		for name, alter := range map[string]func(){
			"title":          change(`"title":"Other"`),
			"instructions":   change(`"agents":[{"slug":"worker","instructions":"Delete all.","provider":"house"}]`),
			"tools":          change(`"agents":[{"slug":"worker","instructions":"Work.","provider":"house","tools":["search"]}]`),
			"model":          change(`"agents":[{"slug":"worker","instructions":"Work.","provider":"house","model":"big"}]`),
			"rounds":         change(`"max_rounds":2`),
			"budget":         change(`"budget":{"tokens":5}`),
			"provider's key": func() { mara.wants(200, "PUT", "/workspaces/atlas/providers/house", `{"kind":"openai","key":"two"}`) },
			"provider's host": func() {
				mara.wants(200, "PUT", "/workspaces/atlas/providers/house", `{"kind":"openai","base_url":"http://127.0.0.1:1","key":"one"}`)
			},
			"proposer's name":                   exec(`UPDATE connections SET name = 'Other' WHERE id = 'desk'`),
			"goal":                              exec(`UPDATE handoffs SET goal = 'Other' WHERE id = 'h1'`),
			"context":                           exec(`UPDATE handoffs SET context_summary = 'Other' WHERE id = 'h1'`),
			"output":                            exec(`UPDATE handoffs SET requested_output = 'Other' WHERE id = 'h1'`),
			"agents, whatever the version says": exec(`UPDATE sessions SET agents = '[{"slug":"worker","instructions":"Other.","provider":"house"}]' WHERE id = 'crew'`),
			"asked rounds":                      exec(`UPDATE handoffs SET max_rounds = 1 WHERE id = 'h1'`),
		} {
			digest := w.shown("h1")["digest"]
			if same := w.shown("h1")["digest"]; same != digest {
				w.Fatalf("%s: the digest changes by itself, from %v to %v", name, digest, same)
			}
			alter()
			for _, decision := range []string{"accept", "decline"} {
				a := ben.refused(409, access.Changed, "POST", decideAt("crew", "h1"), fmt.Sprintf(`{"decision":%q,"digest":%q}`, decision, digest))
				now := w.shown("h1")["digest"]
				if now == digest || !strings.Contains(a.body, `"state":"pending"`) || !strings.Contains(a.body, fmt.Sprintf(`"digest":%q`, now)) {
					w.Errorf("%s: got %s, want the state and the digest %v, other than %v", name, a, now, digest)
				}
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM tasks`) + w.count(`SELECT COUNT(*) FROM handoffs WHERE id = 'h1' AND state <> 'pending'`); n != 0 {
			w.Error("something was decided on an old digest")
		}
		ben.wants(200, "POST", decideAt("crew", "h1"), fmt.Sprintf(`{"decision":"accept","digest":%q}`, w.shown("h1")["digest"]))
		if n := w.count(`SELECT COUNT(*) FROM tasks WHERE max_rounds = 1`); n != 1 {
			w.Error("the task does not have the rounds that were shown")
		}
	})
}

// Accepting asks anew whether the assistant could still propose this. Declining
// does not: a person can always say no.
func TestAcceptingNeedsTheAssistantsStanding(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   access.Code
	}{
		"revoked":           {`UPDATE connections SET status = 'revoked' WHERE id = 'desk'`, access.ConnectionRevoked},
		"all tokens gone":   {`UPDATE connections SET family_revoked_at = 1 WHERE id = 'desk'`, access.ConnectionRevoked},
		"paused":            {`UPDATE connections SET status = 'paused' WHERE id = 'desk'`, access.ConnectionPaused},
		"project taken":     {`DELETE FROM connection_projects`, access.NotInProject},
		"seat taken":        {`DELETE FROM session_seats`, access.SeatRequired},
		"lesser seat":       {`UPDATE session_seats SET seat = 'observer'`, access.SeatRequired},
		"approver a viewer": {`UPDATE memberships SET role = 'viewer' WHERE user_id = 'ben'`, access.ApproverLostAccess},
		"local-only":        {`UPDATE sessions SET local_only = 1 WHERE id = 'crew'`, access.LocalOnly},
		"archived":          {`UPDATE sessions SET archived_at = 1 WHERE id = 'crew'`, access.Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorld(t, func(w *world) {
				w.seated("contributor")
				w.handoff("h1", "crew", "desk", "atlas")
				mara := w.browser("mara")
				w.exec(c.change)
				mara.refused(409, c.want, "POST", decideAt("crew", "h1"), `{"decision":"accept"}`)
				if n := w.count(`SELECT COUNT(*) FROM tasks`) + w.count(`SELECT COUNT(*) FROM handoffs WHERE state = 'accepted'`); n != 0 {
					w.Error("it was accepted all the same")
				}
				mara.wants(200, "POST", decideAt("crew", "h1"), `{"decision":"decline"}`)
			})
		})
	}
}

func TestCommandsAreAcceptedByWhoSignedInJustNow(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		mara := w.script("mara")
		mara.wants(200, "PUT", "/workspaces/atlas/providers/tool", `{"kind":"command","command":["`+allowedProgram+`"]}`)
		for _, id := range []string{"h1", "h2", "h3"} {
			w.handoff(id, "crew", "desk", "atlas")
		}
		ben := w.browser("ben")
		w.pass(15*time.Minute + time.Millisecond)
		ben.wants(200, "POST", decideAt("crew", "h1"), `{"decision":"accept"}`) // a model, on another server
		mara.wants(200, "PATCH", "/agent-sessions/crew", `{"agents":[{"slug":"worker","instructions":"","provider":"tool"}],"expected_version":1}`)
		ben.refused(403, access.SignInAgain, "POST", decideAt("crew", "h2"), `{"decision":"accept"}`)
		ben.wants(200, "POST", decideAt("crew", "h2"), `{"decision":"decline"}`)
		again := w.browser("ben")
		w.pass(15 * time.Minute)
		again.wants(200, "POST", decideAt("crew", "h3"), `{"decision":"accept"}`)
	})
}

func TestHandoffsExpireAfterTheWorkspacesFigure(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		for body, field := range map[string]string{
			`{}`: "handoff_minutes", `{"handoff_minutes":-1}`: "handoff_minutes", `{"handoff_minutes":527041}`: "handoff_minutes", `{"budget":{"rounds":-1}}`: "budget/rounds",
		} {
			a := mara.call("PATCH", "/workspaces/atlas/figures", body)
			if _, _, fields := a.refusal(); a.status != 422 || fields[field] == nil {
				w.Errorf("%s: got %s, want 422 about %s", body, a, field)
			}
		}
		if got := w.script("vic").wants(200, "GET", "/workspaces/atlas/figures", "").body; got != `{"handoff_minutes":0,"budget":{}}` {
			w.Errorf("before: got %s", got)
		}
		mara.wants(200, "PATCH", "/workspaces/atlas/figures", `{"handoff_minutes":60}`)
		got := mara.wants(200, "PATCH", "/workspaces/atlas/figures", `{"budget":{"rounds":5,"tokens":6,"minutes":7}}`).read(w)
		if fmt.Sprint(got) != "map[budget:map[minutes:7 rounds:5 tokens:6] handoff_minutes:60]" {
			w.Errorf("got %v", got)
		}
		w.seated("contributor")
		w.handoff("h1", "crew", "desk", "atlas")
		w.exec(`UPDATE handoffs SET expires_at = $1 WHERE id = 'h1'`, w.clock().Add(time.Hour).UnixMilli())
		ben := w.browser("ben")
		w.pass(time.Hour)
		h := w.shown("h1")
		if h["state"] != "cancelled" || h["reason"] != "expired" || h["digest"] != nil || h["decided_at"] != h["expires_at"] {
			w.Errorf("got %v, want it cancelled because it expired", h)
		}
		a := ben.refused(409, access.AlreadyDecided, "POST", decideAt("crew", "h1"), `{"decision":"accept"}`)
		if !strings.Contains(a.body, `"state":"cancelled"`) {
			w.Errorf("got %s, want the state cancelled", a)
		}
		for state, want := range map[string]int{"pending": 0, "cancelled": 1} {
			list := ben.wants(200, "GET", "/agent-sessions/crew/external-handoffs?state="+state, "").read(w)["items"].([]any)
			if len(list) != want {
				w.Errorf("%s: got %d, want %d", state, len(list), want)
			}
		}
	})
}
