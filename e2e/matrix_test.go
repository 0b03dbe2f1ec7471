package e2e

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The matrix: every tool, in every state of the world, in every protocol version,
// has exactly one answer. What is expected is worked out by expect, a second
// telling of product.md §3 that shares no code with the check.

// state is one state of the world that a call meets.
type state struct {
	name string
	// token
	expired bool
	token   string // "" is as granted; none, malformed, refresh: what is sent instead; revoked: by RFC 7009
	scopes  []string
	// connection and approver
	status    string // "" is active
	role      string // "" is editor; none is no member
	offPrives bool   // taken off the private project
	// the thing
	foreign, absent bool // IDs of another workspace, or of nothing
	notGranted      bool
	moved           bool
	acl             string // "", none, view, edit: what the approver has on the note's list
	localOnly       bool
}

var (
	readScope  = []string{"osfoundry:read"}
	writeScope = []string{"osfoundry:read", "osfoundry:write"}
	runScope   = []string{"osfoundry:read", "osfoundry:run"}
	allScopes  = []string{"osfoundry:read", "osfoundry:write", "osfoundry:run"}
)

var states = []state{
	{name: "all is well", scopes: allScopes},
	{name: "no token", scopes: allScopes, token: "none"},
	{name: "token malformed", scopes: allScopes, token: "malformed"},
	{name: "refresh token as access token", scopes: allScopes, token: "refresh"},
	{name: "token revoked", scopes: allScopes, token: "revoked"},
	{name: "token expired", scopes: allScopes, expired: true},
	{name: "read alone", scopes: readScope},
	{name: "read and write", scopes: writeScope},
	{name: "read and run", scopes: runScope},
	{name: "paused", scopes: allScopes, status: "paused"},
	{name: "revoked", scopes: allScopes, status: "revoked"},
	{name: "foreign", scopes: allScopes, foreign: true},
	{name: "absent", scopes: allScopes, absent: true},
	{name: "not granted", scopes: allScopes, notGranted: true},
	{name: "moved away", scopes: allScopes, moved: true},
	{name: "list without the approver", scopes: allScopes, acl: "none"},
	{name: "list with view", scopes: allScopes, acl: "view"},
	{name: "list with edit", scopes: allScopes, acl: "edit"},
	{name: "local-only", scopes: allScopes, localOnly: true},
	{name: "approver demoted", scopes: allScopes, role: "viewer"},
	{name: "approver removed", scopes: allScopes, role: "none"},
	{name: "approver off the private project", scopes: allScopes, offPrives: true},
	// two reasons at once: the earlier one answers
	{name: "revoked and foreign", scopes: allScopes, status: "revoked", foreign: true},
	{name: "paused without scope", scopes: readScope, status: "paused"},
	{name: "demoted and not granted", scopes: allScopes, role: "viewer", notGranted: true},
	{name: "demoted and absent", scopes: allScopes, role: "viewer", absent: true},
	{name: "not granted and local-only", scopes: allScopes, notGranted: true, localOnly: true},
	{name: "local-only and listed without", scopes: allScopes, localOnly: true, acl: "none"},
}

// about is what a tool's call names.
type about int

const (
	aboutConnection about = iota
	aboutProject
	aboutNote
	aboutSession // whose runner the connection is; see seat_test.go for the other seats
	aboutRun     // a session, with the scope to run instead of the one to write
	aboutHandoff // that the connection proposed
	aboutTask    // that the connection requested
)

// inSession reports whether it lies in a session, where seats count.
func (a about) inSession() bool { return a >= aboutSession }

// row says how a tool is called and what it needs.
type row struct {
	about about
	write bool
	args  func(w *world) testkit.Object
}

// world is the house of one state.
type world struct {
	project, other string
	note           testkit.Made
	session        string
	handoff, task  string
	keys           int
}

// key is a fresh idempotency key.
func (w *world) key() string { w.keys++; return fmt.Sprintf("matrix-key-%06d", w.keys) }

func (w *world) tab() string { return w.note.Tabs[0].ID }

// rows has every tool; one without a row fails the test.
var rows = map[string]row{
	"list_granted_resources": {aboutConnection, false, func(w *world) testkit.Object { return testkit.Object{} }},
	"list_project_resources": {aboutProject, false, func(w *world) testkit.Object { return testkit.Object{"project_id": w.project} }},
	"list_project_members":   {aboutProject, false, func(w *world) testkit.Object { return testkit.Object{"project_id": w.project} }},
	"list_resource_changes":  {aboutProject, false, func(w *world) testkit.Object { return testkit.Object{"project_id": w.project} }},
	"search": {aboutProject, false, func(w *world) testkit.Object {
		return testkit.Object{"query": "thought", "project_ids": []string{w.project}}
	}},
	"fetch":              {aboutNote, false, func(w *world) testkit.Object { return testkit.Object{"id": w.note.ID} }},
	"read_note":          {aboutNote, false, func(w *world) testkit.Object { return testkit.Object{"note_id": w.note.ID} }},
	"read_note_tab":      {aboutNote, false, func(w *world) testkit.Object { return testkit.Object{"note_id": w.note.ID, "tab_id": w.tab()} }},
	"list_note_versions": {aboutNote, false, func(w *world) testkit.Object { return testkit.Object{"note_id": w.note.ID, "tab_id": w.tab()} }},
	"read_note_version": {aboutNote, false, func(w *world) testkit.Object {
		return testkit.Object{"note_id": w.note.ID, "tab_id": w.tab(), "version": 1}
	}},
	"create_note": {aboutProject, true, func(w *world) testkit.Object {
		return testkit.Object{"project_id": w.project, "title": "New", "tabs": []testkit.Object{{"title": "T", "markdown": "text"}}, "idempotency_key": w.key()}
	}},
	"append_note_tab": {aboutNote, true, func(w *world) testkit.Object {
		return testkit.Object{"note_id": w.note.ID, "tab_id": w.tab(), "markdown": "more", "idempotency_key": w.key()}
	}},
	"add_note_tab":         {aboutNote, true, onVersion(testkit.Object{"title": "Tab", "markdown": "text"})},
	"rename_note":          {aboutNote, true, onVersion(testkit.Object{"title": "Renamed"})},
	"archive_note":         {aboutNote, true, onVersion(nil)},
	"edit_note_tab":        {aboutNote, true, onTab(testkit.Object{"edits": []testkit.Object{{"find": "First", "replace": "Second"}}})},
	"replace_note_tab":     {aboutNote, true, onTab(testkit.Object{"markdown": "all new"})},
	"restore_note_version": {aboutNote, true, onTab(testkit.Object{"version": 1})},
	"move_note": {aboutNote, true, func(w *world) testkit.Object {
		o := onVersion(nil)(w)
		o["project_id"] = w.other
		return o
	}},
	"list_sessions":            {aboutProject, false, func(w *world) testkit.Object { return testkit.Object{"project_id": w.project} }},
	"list_pending_requests":    {aboutConnection, false, func(w *world) testkit.Object { return testkit.Object{} }},
	"read_session_state":       {aboutSession, false, inSession(nil)},
	"list_session_tasks":       {aboutSession, false, inSession(nil)},
	"read_session_mail":        {aboutSession, false, inSession(nil)},
	"list_session_handoffs":    {aboutSession, false, inSession(nil)},
	"read_session_task_result": {aboutTask, false, inSession(func(w *world) testkit.Object { return testkit.Object{"task_id": w.task} })},
	"post_session_note": {aboutSession, true, inSession(func(w *world) testkit.Object {
		return testkit.Object{"subject": "Question", "body": "Which of the two?", "idempotency_key": w.key()}
	})},
	"propose_session_handoff": {aboutSession, true, inSession(func(w *world) testkit.Object {
		return testkit.Object{"goal": "Sum up", "context_summary": "Two notes.", "requested_output": "One page.", "idempotency_key": w.key()}
	})},
	"cancel_session_handoff": {aboutHandoff, true, func(w *world) testkit.Object { return testkit.Object{"handoff_id": w.handoff} }},
	"request_session_run": {aboutRun, true, inSession(func(w *world) testkit.Object {
		return testkit.Object{"goal": "Sum up", "idempotency_key": w.key()}
	})},
}

// onVersion and onTab make arguments for a call on version 1.
func onVersion(more testkit.Object) func(*world) testkit.Object {
	return func(w *world) testkit.Object {
		o := testkit.Object{"note_id": w.note.ID, "expected_version": 1, "idempotency_key": w.key()}
		for name, value := range more {
			o[name] = value
		}
		return o
	}
}

// inSession makes arguments for a call in the world's session.
func inSession(more func(w *world) testkit.Object) func(*world) testkit.Object {
	return func(w *world) testkit.Object {
		o := testkit.Object{"session_type": "agent", "session_id": w.session}
		if more != nil {
			maps.Copy(o, more(w))
		}
		return o
	}
}

func onTab(more testkit.Object) func(*world) testkit.Object {
	return func(w *world) testkit.Object {
		o := onVersion(more)(w)
		o["tab_id"] = w.tab()
		return o
	}
}

// scope is what the token of a call needs.
func (r row) scope() string {
	switch {
	case r.about == aboutRun:
		return "osfoundry:run"
	case r.write:
		return "osfoundry:write"
	}
	return "osfoundry:read"
}

// expect is the one answer, as "status code": product.md §3, told again.
func expect(s state, r row) string {
	on := r.about != aboutConnection
	resource := r.about == aboutNote || r.about.inSession()
	switch {
	case s.token != "", s.expired:
		return "401 invalid_token"
	case !slices.Contains(s.scopes, r.scope()):
		return "403 insufficient_scope"
	case s.status != "":
		return "200 connection_" + s.status
	case on && (s.foreign || s.absent):
		return "200 not_found"
	case s.role != "", on && s.offPrives:
		return "200 approver_lost_access"
	case on && s.notGranted, resource && s.moved:
		return "200 not_in_project"
	case resource && s.localOnly:
		return "200 local_only"
	case resource && (s.acl == "none" || s.acl == "view"):
		return "200 acl_denied"
	}
	return "200"
}

func TestEveryToolInEveryStateHasOneAnswer(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		approver := h.Invite("ben@example.com", "editor")
		full, _ := approver.Connect(probe.Version20251125)
		outsider := foreignNote(h)
		names, err := full.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		raw := h.Raw()
		checked := 0
		for _, s := range states {
			for _, version := range probe.Versions {
				checked += meet(t, raw, h, approver, outsider, s, version, names)
			}
			if s.role != "" { // back for the next state
				h.Owner.Do("DELETE", "/workspaces/"+h.Workspace+"/members/"+approver.ID, nil)
				h.Owner.Must("POST", "/workspaces/"+h.Workspace+"/members", testkit.Object{"email": approver.Email, "name": "Ben", "role": "editor"}, nil)
			}
		}
		if want := len(states) * len(probe.Versions) * len(rows); checked != want {
			t.Errorf("checked %d cells, want %d", checked, want)
		}
	})
}

// foreignNote is a note of another workspace of the owner.
func foreignNote(h *testkit.House) world {
	var team, project, note testkit.Made
	h.Owner.Must("POST", "/workspaces", testkit.Object{"name": "Globex"}, &team)
	h.Owner.Must("POST", "/workspaces/"+team.ID+"/projects", testkit.Object{"name": "Gamma"}, &project)
	h.Owner.Must("POST", "/projects/"+project.ID+"/notes",
		testkit.Object{"title": "Theirs", "tabs": []testkit.Object{{"title": "Text", "markdown": "First thought."}}}, &note)
	w := world{project: project.ID, note: note}
	makeSession(h, &w, "")
	return w
}

// makeSession makes a session in the world's project and, for a connection, gives
// it the seat of a runner, a pending handoff and a finished task there.
func makeSession(h *testkit.House, w *world, connection string) {
	h.Helper()
	w.session = h.Owner.Session(w.project, "agent", "Research", "rehearsal").ID
	w.handoff, w.task = workspaceID(), workspaceID()
	team, maker := h.Workspace, connection
	if connection == "" {
		if err := h.Raw().QueryRow(`SELECT workspace_id FROM sessions WHERE id = $1`, w.session).Scan(&team); err != nil {
			h.Fatal(err)
		}
		_, maker = h.Owner.Connect(probe.Version20251125)
	} else {
		h.Owner.Must("PUT", "/agent-sessions/"+w.session+"/connections/"+connection, testkit.Object{"seat": "runner"}, nil)
	}
	plant(h, *w, team, maker)
}

// meet builds the state around a new connection and makes one call of each tool.
func meet(t *testing.T, raw queryer, h *testkit.House, approver *testkit.Person, outsider world, s state, version string, names []string) int {
	t.Helper()
	project, elsewhere := h.Owner.Project("Alpha", true), h.Owner.Project("Beta", false)
	other := h.Owner.Project("Target", false)
	h.Owner.Must("PUT", "/projects/"+project+"/members/"+approver.ID, testkit.Object{}, nil)
	session, connection := approver.Connect(version, s.scopes...)
	h.Owner.AddConnection(other, connection)
	h.Owner.AddConnection(project, connection)
	worlds := map[string]*world{}
	read := map[about]*world{} // what is only read can be read by several tools
	for name, r := range rows {
		if !r.write && read[r.about] != nil {
			worlds[name] = read[r.about]
			continue
		}
		worlds[name] = &world{project: project, other: other, note: h.Owner.Note(project, "Plan", "First thought.\n")}
		if r.about.inSession() {
			makeSession(h, worlds[name], connection)
		}
		prepare(h, s, r, worlds[name], elsewhere, approver, outsider)
		if !r.write {
			read[r.about] = worlds[name]
		}
	}
	if s.notGranted {
		h.Owner.Must("DELETE", "/projects/"+project+"/connections/"+connection, nil, nil)
	}
	if s.offPrives {
		h.Owner.Must("DELETE", "/projects/"+project+"/members/"+approver.ID, nil, nil)
	}
	switch s.role {
	case "viewer":
		h.Owner.Must("PATCH", "/workspaces/"+h.Workspace+"/members/"+approver.ID, testkit.Object{"role": "viewer"}, nil)
	case "none":
		h.Owner.Must("DELETE", "/workspaces/"+h.Workspace+"/members/"+approver.ID, nil, nil)
	}
	if s.status != "" {
		h.Owner.Must("PATCH", "/connections/"+connection, testkit.Object{"status": s.status}, nil)
	}
	if s.expired {
		h.Pass(time.Hour + time.Second)
		h.Owner.SignIn()
	}
	spoil(t, session, s.token)
	for _, name := range names {
		r, ok := rows[name]
		if !ok {
			t.Fatalf("the tool %s has no row in the matrix", name)
		}
		judge(t, session, s, version, name, r, worlds[name])
	}
	traces(t, raw, s, version, connection)
	if s.role != "" {
		h.Owner.Do("POST", "/workspaces/"+h.Workspace+"/members", testkit.Object{"email": approver.Email, "name": "Ben", "role": "editor"})
		h.Owner.Do("PATCH", "/workspaces/"+h.Workspace+"/members/"+approver.ID, testkit.Object{"role": "editor"})
	}
	return len(names)
}

// spoil makes the session's token what the state wants it to be.
func spoil(t *testing.T, session *probe.Session, token string) {
	t.Helper()
	switch token {
	case "none":
		session.Grant.AccessToken = ""
	case "malformed":
		session.Grant.AccessToken = session.Grant.AccessToken[:40]
	case "refresh":
		session.Grant.AccessToken = session.Grant.RefreshToken
	case "revoked":
		if err := session.Revoke(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// prepare puts the thing that the tool will name into the state.
func prepare(h *testkit.House, s state, r row, w *world, elsewhere string, approver *testkit.Person, outsider world) {
	thing := "/notes/" + w.note.ID
	if r.about.inSession() {
		thing = "/agent-sessions/" + w.session
	}
	if r.about == aboutNote || r.about.inSession() {
		if s.localOnly {
			h.Owner.Must("PATCH", thing, testkit.Object{"local_only": true}, nil)
		}
		switch s.acl {
		case "none":
			h.Owner.Must("PUT", thing+"/acl", testkit.Object{"users": []testkit.Object{{"id": h.Owner.ID, "right": "edit"}}}, nil)
		case "view", "edit":
			h.Owner.Must("PUT", thing+"/acl", testkit.Object{"users": []testkit.Object{{"id": approver.ID, "right": s.acl}}}, nil)
		}
		if s.moved {
			h.Owner.Must("PATCH", thing, testkit.Object{"project_id": elsewhere, "expected_version": 1}, nil)
		}
	}
	switch {
	case s.foreign:
		w.project, w.note = outsider.project, outsider.note
		w.session, w.handoff, w.task = outsider.session, outsider.handoff, outsider.task
	case s.absent:
		w.project, w.note.ID = absentID, absentID
		w.session, w.handoff, w.task = absentID, absentID, absentID
	}
}

// absentID looks like an ID of ours and is none.
const absentID = "01890000-0000-7000-8000-000000000000"

func judge(t *testing.T, session *probe.Session, s state, version, name string, r row, w *world) {
	t.Helper()
	arguments := r.args(w)
	got := testkit.Call(t, session, name, arguments)
	answer := fmt.Sprint(got.Status)
	if got.Code != "" {
		answer += " " + got.Code
	}
	if want := expect(s, r); answer != want {
		t.Errorf("%s, %s, %s %v: got %s (%s), want %s", s.name, version, name, arguments, answer, got.Text, want)
	}
	if got.Status == 403 {
		union := slices.Sorted(slices.Values(append(slices.Clone(s.scopes), r.scope())))
		if asked := strings.Fields(got.Challenge.Scope); !slices.Equal(slices.Sorted(slices.Values(asked)), union) {
			t.Errorf("%s, %s, %s: the challenge asks for %q, want the union of granted and needed, %q", s.name, version, name, asked, union)
		}
	}
	if got.Status == 401 || got.Status == 403 { // some hosts look into the result alone
		if inResult := challengeIn(got.Body); inResult != got.Challenge {
			t.Errorf("%s, %s, %s: the result's _meta asks for %+v, the header for %+v", s.name, version, name, inResult, got.Challenge)
		}
	}
}

// challengeIn is the challenge of a result's _meta, which ChatGPT starts from.
func challengeIn(body []byte) probe.Challenge {
	var answer struct {
		Result struct {
			Meta struct {
				Challenges []string `json:"mcp/www_authenticate"`
			} `json:"_meta"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &answer) != nil || len(answer.Result.Meta.Challenges) != 1 {
		return probe.Challenge{}
	}
	c, _ := probe.ParseChallenge(answer.Result.Meta.Challenges[0])
	return c
}

// queryer is the database, beside the house.
type queryer interface {
	QueryRow(query string, args ...any) *sql.Row
}

// traces looks at what the calls left in the database: a denial has its true
// reason in the audit, and no other effect than that.
func traces(t *testing.T, raw queryer, s state, version, connection string) {
	t.Helper()
	writes := 0
	for name, r := range rows {
		answer := expect(s, r)
		if r.write && answer == "200" && !r.about.inSession() {
			writes++
		}
		status, reason, _ := strings.Cut(answer, " ")
		want := 0 // a token that is not known belongs to nobody's audit
		if reason != "" && status != "401" {
			want = 1
		}
		var all, right int
		err := raw.QueryRow(`SELECT count(*), count(CASE WHEN code = $1 THEN 1 END) FROM audit
			WHERE connection_id = $2 AND tool = $3 AND decision = 'denied'`, reason, connection, name).Scan(&all, &right)
		if err != nil {
			t.Fatal(err)
		}
		if all != want || right != want {
			t.Errorf("%s, %s, %s: %d denials in the audit, %d of them as %q, want %d", s.name, version, name, all, right, reason, want)
		}
	}
	var changed int // things that the connection changed
	if err := raw.QueryRow(`SELECT count(DISTINCT resource_id) FROM events WHERE connection_id = $1 AND kind = 'note'`, connection).Scan(&changed); err != nil {
		t.Fatal(err)
	}
	if changed != writes {
		t.Errorf("%s, %s: the calls changed %d notes, want %d", s.name, version, changed, writes)
	}
}

func TestAForeignIDIsAnsweredLikeOneThatNeverWas(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		session, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		outsider := foreignNote(h)
		for name, r := range rows {
			if r.about == aboutConnection {
				continue
			}
			foreign := outsider
			foreign.other = project
			absent := world{project: absentID, other: project, note: testkit.Made{ID: absentID, Tabs: outsider.note.Tabs}, session: absentID, handoff: absentID, task: absentID}
			a, b := testkit.Call(t, session, name, r.args(&foreign)), testkit.Call(t, session, name, r.args(&absent))
			if a.Status != b.Status || !bytes.Equal(a.Structured, b.Structured) || a.Text != b.Text {
				t.Errorf("%s: a foreign ID got %d %s, an absent one %d %s", name, a.Status, a.Structured, b.Status, b.Structured)
			}
		}
	})
}
