package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

// worker is an agent that can be.
const worker = `{"slug":"worker","instructions":"Do what is asked.","provider":"rehearsal"}`

func sessionBody(kind, title, agents, more string) string {
	return fmt.Sprintf(`{"type":%q,"title":%q,"agents":[%s]%s}`, kind, title, agents, more)
}

func TestASessionIsMadeAsItWasSent(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.browser("ben")
		w.script("mara").wants(200, "PUT", "/workspaces/atlas/providers/house", `{"kind":"openai","base_url":"http://127.0.0.1:11434/v1","key":"secret"}`)
		got := ben.wants(201, "POST", "/projects/alpha/agent-sessions", sessionBody("team", "Research", worker+
			`,{"slug":"aide-2","instructions":"","provider":"house","model":"big","tools":["read_note","search"]}`, `,"max_rounds":7,"budget":{"rounds":20,"tokens":1000,"minutes":3}`)).read(w)
		id := fmt.Sprint(got["id"])
		for field, want := range map[string]any{
			"type": "team", "title": "Research", "version": 1.0, "max_rounds": 7.0, "owner_id": "ben", "project_id": "alpha", "workspace_id": "atlas",
			"state": "idle", "archived": false, "local_only": false, "restricted": false,
			"agents": []any{map[string]any{"slug": "worker", "instructions": "Do what is asked.", "provider": "rehearsal"},
				map[string]any{"slug": "aide-2", "instructions": "", "provider": "house", "model": "big", "tools": []any{"read_note", "search"}}},
			"budget": map[string]any{"rounds": 20.0, "tokens": 1000.0, "minutes": 3.0}, "done": map[string]any{},
		} {
			if fmt.Sprint(got[field]) != fmt.Sprint(want) {
				w.Errorf("%s: got %v, want %v", field, got[field], want)
			}
		}
		if again := ben.wants(200, "GET", "/agent-sessions/"+id, "").read(w); fmt.Sprint(again) != fmt.Sprint(got) {
			w.Errorf("read: got %v, want %v", again, got)
		}
		list := ben.wants(200, "GET", "/projects/alpha/agent-sessions", "").read(w)["items"].([]any)
		if n := len(list); n != 3 || fmt.Sprint(list[0]) != fmt.Sprint(got) { // crew and circle are there too
			w.Errorf("list: got %v, want three, with the new one", list)
		}
		if n := w.count(`SELECT COUNT(*) FROM events WHERE type = 'session.created' AND kind = 'session' AND resource_id = $1 AND project_id = 'alpha' AND user_id = 'ben'`, id); n != 1 {
			w.Errorf("%d events, want 1", n)
		}
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE tool = 'agent_session.create' AND kind = 'session' AND resource_id = $1`, id); n != 1 {
			w.Errorf("%d lines of the audit name it, want 1", n)
		}
		defaults := ben.wants(201, "POST", "/projects/alpha/agent-sessions", sessionBody("loop", "Loop", worker, `,"done":{"phrase":"all done"}`)).read(w)
		if defaults["max_rounds"] != 10.0 || fmt.Sprint(defaults["done"]) != "map[phrase:all done]" {
			w.Errorf("got %v, want 10 rounds and the phrase", defaults)
		}
	})
}

func TestASessionThatCouldNotWorkIsRefusedByField(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		agentWith := func(member string) string {
			return `{"slug":"a","instructions":"","provider":"rehearsal",` + member + `}`
		}
		eleven := strings.TrimSuffix(strings.Repeat(`{"slug":"a","instructions":"","provider":"rehearsal"},`, 11), ",")
		for name, c := range map[string]struct{ body, field string }{
			"type":               {sessionBody("room", "T", worker, ""), "type"},
			"graph":              {sessionBody("graph", "T", worker, ""), "type"},
			"blank title":        {sessionBody("agent", " ", worker, ""), "title"},
			"long title":         {sessionBody("agent", strings.Repeat("ß", 201), worker, ""), "title"},
			"two lines":          {sessionBody("agent", "a\nb", worker, ""), "title"},
			"no agent":           {sessionBody("agent", "T", "", ""), "agents"},
			"two for one":        {sessionBody("agent", "T", worker+","+strings.Replace(worker, "worker", "b", 1), ""), "agents"},
			"two for a loop":     {sessionBody("loop", "T", worker+","+strings.Replace(worker, "worker", "b", 1), ""), "agents"},
			"one for a team":     {sessionBody("team", "T", worker, ""), "agents"},
			"eleven for a team":  {sessionBody("team", "T", eleven, ""), "agents"},
			"same slug":          {sessionBody("team", "T", worker+","+worker, ""), "agents/1/slug"},
			"capital":            {sessionBody("agent", "T", strings.Replace(worker, `"worker"`, `"Worker"`, 1), ""), "agents/0/slug"},
			"empty slug":         {sessionBody("agent", "T", strings.Replace(worker, `"worker"`, `""`, 1), ""), "agents/0/slug"},
			"option for a slug":  {sessionBody("agent", "T", strings.Replace(worker, `"worker"`, `"-x"`, 1), ""), "agents/0/slug"},
			"long slug":          {sessionBody("agent", "T", strings.Replace(worker, `"worker"`, `"`+strings.Repeat("a", 41)+`"`, 1), ""), "agents/0/slug"},
			"long instructions":  {sessionBody("agent", "T", strings.Replace(worker, "Do what is asked.", strings.Repeat("ß", 20_001), 1), ""), "agents/0/instructions"},
			"provider":           {sessionBody("agent", "T", strings.Replace(worker, "rehearsal", "none", 1), ""), "agents/0/provider"},
			"no provider":        {sessionBody("agent", "T", strings.Replace(worker, "rehearsal", "", 1), ""), "agents/0/provider"},
			"long model":         {sessionBody("agent", "T", agentWith(`"model":"`+strings.Repeat("m", 101)+`"`), ""), "agents/0/model"},
			"unknown tool":       {sessionBody("agent", "T", agentWith(`"tools":["read_note","run_shell"]`), ""), "agents/0/tools/1"},
			"tool of assistants": {sessionBody("agent", "T", agentWith(`"tools":["request_session_run"]`), ""), "agents/0/tools/0"},
			"tool twice":         {sessionBody("agent", "T", agentWith(`"tools":["search","search"]`), ""), "agents/0/tools/1"},
			"extra member":       {sessionBody("agent", "T", agentWith(`"secret":1`), ""), "agents/0/secret"},
			"no rounds":          {sessionBody("agent", "T", worker, `,"max_rounds":0`), "max_rounds"},
			"many rounds":        {sessionBody("agent", "T", worker, `,"max_rounds":51`), "max_rounds"},
			"budget":             {sessionBody("agent", "T", worker, `,"budget":{"tokens":-1}`), "budget/tokens"},
			"done of an agent":   {sessionBody("agent", "T", worker, `,"done":{"verdict":true}`), "done"},
			"two ends":           {sessionBody("loop", "T", worker, `,"done":{"verdict":true,"phrase":"x"}`), "done"},
			"long phrase":        {sessionBody("loop", "T", worker, `,"done":{"phrase":"`+strings.Repeat("x", 201)+`"}`), "done/phrase"},
			"other program":      {sessionBody("loop", "T", worker, `,"done":{"command":["/bin/sh","-c","true"]}`), "done/command/0"},
			"no program":         {sessionBody("loop", "T", worker, `,"done":{"command":[]}`), "done/command"},
		} {
			a := mara.call("POST", "/projects/alpha/agent-sessions", c.body)
			code, _, fields := a.refusal()
			if a.status != 422 || code != string(access.InvalidArguments) || fields[c.field] == nil {
				w.Errorf("%s: got %s, want 422 about %s", name, a, c.field)
			}
		}
		if _, message, _ := mara.call("POST", "/projects/alpha/agent-sessions", sessionBody("agent", "T", agentWith(`"tools":["run_shell"]`), "")).refusal(); !strings.Contains(message, "run_shell") {
			w.Errorf("the refusal of a tool does not name it: %s", message)
		}
		if n := w.count(`SELECT COUNT(*) FROM sessions`) + w.count(`SELECT COUNT(*) FROM events`); n != 4 {
			w.Errorf("%d sessions and events, want the 4 sessions that were there", n)
		}
		w.exec(`UPDATE projects SET archived_at = 1 WHERE id = 'alpha'`)
		mara.refused(409, access.Conflict, "POST", "/projects/alpha/agent-sessions", sessionBody("agent", "T", worker, ""))
	})
}

// A program that agents start runs on everybody's server.
func TestOnlyOwnersOfTheWorkspaceHaveCommandsRun(t *testing.T) {
	eachWorld(t, func(w *world) {
		body := sessionBody("loop", "T", worker, `,"done":{"command":["`+allowedProgram+`","--all"]}`)
		w.script("ben").refused(403, access.Forbidden, "POST", "/projects/alpha/agent-sessions", body)
		id := fmt.Sprint(w.script("mara").wants(201, "POST", "/projects/alpha/agent-sessions", body).read(w)["id"])
		w.script("ben").wants(200, "PATCH", "/agent-sessions/"+id, `{"title":"Other","expected_version":1}`)
		w.script("ben").refused(403, access.Forbidden, "PATCH", "/agent-sessions/"+id, `{"done":{"command":["`+allowedProgram+`"]},"expected_version":2}`)
		w.script("ben").wants(200, "PATCH", "/agent-sessions/"+id, `{"done":{"verdict":true},"expected_version":2}`)
	})
}

func TestASessionChangesByVersions(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.script("ben")
		const path = "/agent-sessions/crew"
		got := ben.wants(200, "PATCH", path, `{"title":"Crew","agents":[`+strings.Replace(worker, "worker", "other", 1)+`],"max_rounds":4,"budget":{"minutes":9},"expected_version":1}`).read(w)
		if got["version"] != 2.0 || got["title"] != "Crew" || got["max_rounds"] != 4.0 || !strings.Contains(fmt.Sprint(got["agents"], got["budget"]), "slug:other") {
			w.Errorf("got %v", got)
		}
		a := ben.refused(409, access.VersionConflict, "PATCH", path, `{"title":"Stale","expected_version":1}`)
		if !strings.Contains(a.body, `"current_version":2`) {
			w.Errorf("got %s, want the current version", a)
		}
		for body, field := range map[string]string{
			`{"expected_version":2}`:                         "title",
			`{"title":"No version"}`:                         "expected_version",
			`{"agents":[],"expected_version":2}`:             "agents",
			`{"title":"","expected_version":2}`:              "title",
			`{"max_rounds":0,"expected_version":2}`:          "max_rounds",
			`{"done":{"verdict":true},"expected_version":2}`: "done",
			`{"project_id":"alpha","expected_version":2}`:    "project_id",
		} {
			a := ben.call("PATCH", path, body)
			if _, _, fields := a.refusal(); a.status != 422 || fields[field] == nil {
				w.Errorf("%s: got %s, want 422 about %s", body, a, field)
			}
		}
		ben.refused(422, access.InvalidArguments, "PATCH", path, `{"type":"team","expected_version":2}`)
		ben.wants(200, "PATCH", path, `{"archived":true,"expected_version":2}`)
		ben.refused(409, access.Conflict, "PATCH", path, `{"title":"In the archive","expected_version":3}`)
		if got := ben.wants(200, "GET", path, "").read(w); got["archived"] != true || got["state"] != "archived" || got["version"] != 3.0 {
			w.Errorf("got %v, want it in the archive at version 3", got)
		}
		inUse, archive := ben.wants(200, "GET", "/projects/alpha/agent-sessions", "").body, ben.wants(200, "GET", "/projects/alpha/agent-sessions?archived=true", "").body
		if strings.Contains(inUse, `"crew"`) || !strings.Contains(archive, `"crew"`) {
			w.Errorf("in use: %s; in the archive: %s", inUse, archive)
		}
		ben.wants(200, "PATCH", path, `{"archived":false,"title":"Back","expected_version":3}`)
		var types []string
		rows, err := w.raw.Query(`SELECT type, version FROM events WHERE resource_id = 'crew' ORDER BY id`)
		w.must(err)
		defer rows.Close()
		for rows.Next() {
			var kind string
			var version int
			w.must(rows.Scan(&kind, &version))
			types = append(types, fmt.Sprint(kind, " ", version))
		}
		if want := []string{"session.changed 2", "session.archived 3", "session.restored 4"}; !slices.Equal(types, want) {
			w.Errorf("events: got %q, want %q", types, want)
		}
	})
}

func TestASessionMovesBetweenProjectsOfItsWorkspace(t *testing.T) {
	eachWorld(t, func(w *world) {
		pia, ben := w.script("pia"), w.script("ben")
		got := pia.wants(200, "PATCH", "/agent-sessions/crew", `{"project_id":"secret","expected_version":1}`).read(w)
		if got["project_id"] != "secret" || got["version"] != 2.0 {
			w.Errorf("got %v, want it in secret", got)
		}
		ben.refused(403, access.NotInProject, "GET", "/agent-sessions/crew", "")
		pia.refused(404, access.NotFound, "PATCH", "/agent-sessions/crew", `{"project_id":"gamma","expected_version":2}`)
		w.exec(`UPDATE projects SET archived_at = 1 WHERE id = 'beta'`)
		pia.refused(409, access.Conflict, "PATCH", "/agent-sessions/crew", `{"project_id":"beta","expected_version":2}`)
		ben.refused(403, access.NotInProject, "PATCH", "/agent-sessions/circle", `{"project_id":"secret","expected_version":1}`)
		for query, want := range map[string]int{
			`SELECT COUNT(*) FROM events WHERE type = 'session.changed' AND project_id = 'secret' AND resource_id = 'crew'`: 1,
			`SELECT COUNT(*) FROM events WHERE type = 'session.left' AND project_id = 'alpha' AND resource_id = 'crew'`:     1,
		} {
			if n := w.count(query); n != want {
				w.Errorf("%s: got %d, want %d", query, n, want)
			}
		}
	})
}

func TestASessionIsKeptToListedPeopleOrToThisServer(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben, vic := w.script("ben"), w.script("vic")
		ben.wants(200, "PUT", "/agent-sessions/crew/acl", `{"users":[{"id":"pia","right":"view"}]}`)
		vic.refused(403, access.ACLDenied, "GET", "/agent-sessions/crew", "")
		w.script("pia").refused(403, access.ACLDenied, "PATCH", "/agent-sessions/crew", `{"title":"x","expected_version":1}`)
		ben.refused(403, access.ACLDenied, "PATCH", "/agent-sessions/crew", `{"title":"x","expected_version":1}`) // owning it is not being listed
		if body := ben.wants(200, "GET", "/projects/alpha/agent-sessions", "").body; strings.Contains(body, `"crew"`) {
			w.Errorf("who is not listed sees it in the list: %s", body)
		}
		got := ben.wants(200, "PATCH", "/agent-sessions/crew", `{"local_only":true}`).read(w)
		if got["local_only"] != true || got["restricted"] != true || got["version"] != 1.0 {
			w.Errorf("got %v, want local_only at the same version", got)
		}
		ben.wants(204, "DELETE", "/agent-sessions/crew/acl", "")
		vic.wants(200, "GET", "/agent-sessions/crew", "")
		if got := ben.wants(200, "PATCH", "/agent-sessions/crew/acl", `{"local_only":false}`).read(w); got["local_only"] != false {
			w.Errorf("got %v, want local_only false", got)
		}
		for event, want := range map[string]int{"session.acl_changed": 2, "session.local_only_changed": 2} {
			if n := w.count(`SELECT COUNT(*) FROM events WHERE type = $1 AND kind = 'session' AND resource_id = 'crew'`, event); n != want {
				w.Errorf("%d events %s, want %d", n, event, want)
			}
		}
	})
}
