package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/api"
)

// open are the calls that need no credentials, and what they answer to nobody on a
// server that is set up. A call that is not here has to answer 401.
var open = map[string]int{
	"setup":          404,
	"session.create": 401, // with a wrong password
	"session.end":    204, // of no session
}

// probe is a call of a route that is right in form and changes nothing when it is
// allowed: what it asks for fails after the check. The right is written here once
// more, so that a declaration that asks for less is noticed.
type probe struct {
	right access.Right
	query string
	body  string
}

const (
	own    = access.RightNone // the caller's own affairs
	view   = access.RightView
	edit   = access.RightEdit
	manage = access.RightManage
)

var probes = map[string]probe{
	"setup":                        {own, "", `{"secret":"","email":"","name":"","password":"","workspace":""}`},
	"session.create":               {own, "", `{"email":"a@b.example","password":"wrong"}`},
	"session.end":                  {own, "", ``},
	"me.get":                       {own, "", ``},
	"me.change":                    {own, "", `{"name":""}`},
	"me.password.set":              {own, "", `{"current":"","new":""}`},
	"browser_session.list":         {own, "", ``},
	"browser_session.end":          {own, "", ``},
	"workspace.change":             {manage, "", `{"name":""}`},
	"note.search":                  {view, "?q=x", ``},
	"personal_token.create":        {own, "", `{"name":""}`},
	"personal_token.list":          {own, "", ``},
	"personal_token.revoke":        {own, "", ``},
	"workspace.list":               {own, "", ``},
	"workspace.create":             {own, "", `{"name":""}`},
	"event.stream":                 {own, "", ``},
	"member.list":                  {view, "", ``},
	"member.add":                   {manage, "", `{"email":"","name":"","role":"none"}`},
	"member.set_role":              {manage, "", `{"role":"none"}`},
	"member.remove":                {manage, "", ``},
	"project.list":                 {view, "", ``},
	"project.create":               {edit, "", `{"name":""}`},
	"project.get":                  {view, "", ``},
	"project.change":               {manage, "", `{"name":""}`},
	"project.member.list":          {view, "", ``},
	"project.member.add":           {manage, "", ``},
	"project.member.remove":        {manage, "", ``},
	"connection.list":              {view, "", ``},
	"connection.get":               {view, "", ``},
	"connection.change":            {manage, "", `{"status":"none"}`},
	"project.connection.list":      {view, "", ``},
	"project.connection.add":       {manage, "", `{"connection_id":"none"}`},
	"project.connection.remove":    {manage, "", ``},
	"audit.list":                   {manage, "", ``},
	"project.audit.list":           {manage, "", ``},
	"note.list":                    {view, "", ``},
	"note.create":                  {edit, "", `{"title":"","tabs":[]}`},
	"note.get":                     {view, "", ``},
	"note.change":                  {edit, "", `{"title":"","expected_version":1}`},
	"note.delete":                  {edit, "?expected_version=9", ``},
	"note.local_only.set":          {manage, "", `{"local_only":false}`},
	"note.acl.get":                 {manage, "", ``},
	"note.acl.set":                 {manage, "", `{"users":[{"id":"none","right":"none"}]}`},
	"note.acl.clear":               {manage, "", ``},
	"note.tab.list":                {view, "", ``},
	"note.tab.add":                 {edit, "", `{"title":"","markdown":"","expected_version":1}`},
	"note.tab.get":                 {view, "", ``},
	"note.tab.write":               {edit, "", `{"markdown":"","expected_version":9}`},
	"note.tab.delete":              {edit, "?expected_version=9", ``},
	"note.version.list":            {view, "", ``},
	"note.version.get":             {view, "", ``},
	"agent_session.list":           {view, "", ``},
	"agent_session.create":         {edit, "", `{"type":"none","title":"","agents":[]}`},
	"agent_session.get":            {view, "", ``},
	"agent_session.change":         {edit, "", `{"title":"","expected_version":1}`},
	"agent_session.local_only.set": {manage, "", `{"local_only":false}`},
	"agent_session.acl.get":        {manage, "", ``},
	"agent_session.acl.set":        {manage, "", `{"users":[{"id":"none","right":"none"}]}`},
	"agent_session.acl.clear":      {manage, "", ``},
	"seat.list":                    {view, "", ``},
	"seat.give":                    {manage, "", `{"seat":"none"}`},
	"seat.take":                    {manage, "", ``},
	"handoff.inbox":                {own, "", ``},
	"handoff.list":                 {view, "", ``},
	"handoff.get":                  {view, "", ``},
	"handoff.decide":               {edit, "", `{"decision":"none"}`},
	"task.list":                    {view, "", ``},
	"task.queue":                   {edit, "", `{"goal":""}`},
	"task.get":                     {view, "", ``},
	"task.stop":                    {edit, "", ``},
	"task.resume":                  {edit, "", `{"decision":"none"}`},
	"mail.list":                    {view, "", ``},
	"mail.post":                    {edit, "", `{"to_agent":"nobody","subject":"","body":""}`},
	"provider.list":                {manage, "", ``},
	"provider.get":                 {manage, "", ``},
	"provider.put":                 {manage, "", `{"kind":"none"}`},
	"provider.delete":              {manage, "", ``},
	"figures.get":                  {view, "", ``},
	"figures.change":               {manage, "", `{"handoff_minutes":-1}`},
	"notice.list":                  {own, "", ``},
	"notice.read":                  {own, "", `{"ids":[]}`},
	"note.version.restore":         {edit, "", `{"expected_version":9}`},
}

func (w *world) probe(r api.Route) probe {
	w.Helper()
	p, ok := probes[r.Operation]
	if !ok {
		w.Fatalf("%s %s (%s) is new: say in this file how to call it, and which right it needs", r.Method, r.Path, r.Operation)
	}
	return p
}

// wildcards are the names in braces of a path.
func wildcards(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(part, "{") {
			names = append(names, strings.Trim(part, "{}"))
		}
	}
	return names
}

// at is the path from /api/v1 on, with these IDs in its wildcards; "none" fills the rest.
func at(path string, ids ...string) string {
	for i, name := range wildcards(path) {
		id := "none"
		if name == "version" {
			id = "1"
		}
		if i < len(ids) && ids[i] != "" {
			id = ids[i]
		}
		path = strings.Replace(path, "{"+name+"}", id, 1)
	}
	return strings.TrimPrefix(path, "/api/v1")
}

// mine is an ID of each kind that mara has every right to.
var mine = map[access.Kind]string{
	access.KindWorkspace: "atlas", access.KindProject: "alpha", access.KindNote: "plan", access.KindConnection: "lamp",
	access.KindSession: "crew",
}

func TestNoCallAnswersWithoutCredentials(t *testing.T) {
	eachWorld(t, func(w *world) {
		signedOut := w.browser("mara")
		signedOut.wants(204, "POST", "/sign-out", "")
		session, _ := access.MintToken(access.TokenSession)
		token, _ := access.MintToken(access.TokenPersonal)
		accessToken, _ := access.MintToken(access.TokenAccess)
		live := w.browser("mara")
		for _, r := range w.api.Routes() {
			p := w.probe(r)
			for _, c := range []*caller{
				{w: w, name: "nobody"},
				{w: w, name: "who signed out", cookie: signedOut.cookie},
				{w: w, name: "an unknown session", cookie: session},
				{w: w, name: "a token as cookie", cookie: token},
				{w: w, name: "an unknown token", token: token},
				{w: w, name: "an access token", token: accessToken},
				{w: w, name: "a session as token", token: live.cookie},
				{w: w, name: "a bad token beside a good session", token: token, cookie: live.cookie},
			} {
				want, isOpen := open[r.Operation]
				if !isOpen {
					want = 401
				}
				if r.Caller == api.Browser && c.token != "" {
					want = 403 // whatever the token is
				}
				if r.Operation == "session.end" && c.cookie == live.cookie || r.Operation == "session.create" {
					continue // the one is meant to work; the other has tests of its own
				}
				a := c.wants(want, r.Method, at(r.Path, mine[r.Kind])+p.query, p.body)
				if want == 401 && a.header.Get("WWW-Authenticate") == "" {
					w.Errorf("%s by %s: no WWW-Authenticate", r.Operation, c.name)
				}
			}
		}
		for operation := range open {
			if !slices.ContainsFunc(w.api.Routes(), func(r api.Route) bool { return r.Operation == operation }) {
				w.Errorf("%s is listed as open and does not exist", operation)
			}
		}
		w.nobody().wants(401, "POST", "/sign-in", probes["session.create"].body)
		w.nobody().wants(200, "GET", "/openapi.json", "")
		w.nobody().wants(404, "GET", "/nothing", "")
		if a := w.nobody().wants(405, "PUT", "/handoffs", "{}"); a.header.Get("Allow") != "GET, HEAD" {
			w.Errorf("Allow is %q", a.header.Get("Allow"))
		}
	})
}

// place is a thing with what decides about it.
type place struct {
	kind    access.Kind
	id      string
	private bool
	maker   string            // of the project, or the approver of the connection
	owner   string            // of the session
	members []string          // of the private project
	acl     map[string]string // listed people and what they may do; nil is no ACL
}

var places = []place{
	{kind: access.KindWorkspace, id: "atlas"},
	{kind: access.KindProject, id: "alpha", maker: "mara"},
	{kind: access.KindProject, id: "beta", maker: "ben"},
	{kind: access.KindProject, id: "secret", private: true, maker: "pia", members: []string{"pia"}},
	{kind: access.KindNote, id: "plan", maker: "mara"},
	{kind: access.KindNote, id: "listed", maker: "mara", acl: map[string]string{"ben": "edit", "vic": "view"}},
	{kind: access.KindNote, id: "hidden", private: true, maker: "pia", members: []string{"pia"}},
	{kind: access.KindSession, id: "crew", maker: "mara", owner: "ben"},
	{kind: access.KindSession, id: "circle", maker: "mara", owner: "mara", acl: map[string]string{"ben": "edit", "vic": "view"}},
	{kind: access.KindSession, id: "cellar", private: true, maker: "pia", owner: "pia", members: []string{"pia"}},
	{kind: access.KindConnection, id: "desk", maker: "ben"},
	{kind: access.KindConnection, id: "lamp", maker: "mara"},
}

// verdict is the policy, told as product.md tells it: "" is allowed.
func verdict(who, role string, right access.Right, on place) access.Code {
	if role == "" {
		return access.NotFound
	}
	owner, edits := role == "owner", role != "viewer"
	allowed := func(yes bool) access.Code {
		if yes {
			return ""
		}
		return access.Forbidden
	}
	switch {
	case on.kind == access.KindWorkspace:
		return allowed(right == view || right == edit && edits || owner)
	case on.kind == access.KindConnection:
		return allowed(right == view || owner || on.maker == who)
	case on.kind == access.KindProject && right == manage && owner: // who may not read it decides who may
		return ""
	case on.private && !slices.Contains(on.members, who):
		return access.NotInProject
	case right == manage:
		return allowed(owner || (on.maker == who || on.owner == who) && edits)
	case on.acl != nil && (on.acl[who] == "" || right == edit && on.acl[who] != "edit"):
		return access.ACLDenied
	}
	return allowed(right == view || edits)
}

func TestRolesDecideAboutEveryCall(t *testing.T) {
	eachWorld(t, func(w *world) {
		seen := map[string]int{}
		for who, role := range map[string]string{"mara": "owner", "ben": "editor", "pia": "editor", "vic": "viewer", "eve": ""} {
			for _, c := range []*caller{w.browser(who), w.script(who)} {
				for _, r := range w.api.Routes() {
					p := w.probe(r)
					if p.right != r.Right && r.RightOf == nil {
						w.Errorf("%s asks for the right to %s, want to %s", r.Operation, r.Right, p.right)
					}
					for _, on := range places {
						if on.kind != r.Kind {
							continue
						}
						want := verdict(who, role, p.right, on)
						if r.Caller == api.Browser && c.token != "" {
							want = access.Forbidden
						}
						a := c.call(r.Method, at(r.Path, on.id)+p.query, p.body)
						if got := denial(a, r.Kind); got != want {
							w.Errorf("%s of %s by %s: got %q (%s), want %q", r.Operation, on.id, c.name, got, a, want)
						}
						seen[fmt.Sprint(want, r.Kind)]++
						if strings.HasSuffix(r.Operation, ".acl.clear") && want == "" {
							w.list()
						}
					}
				}
			}
		}
		for _, kind := range []access.Kind{access.KindWorkspace, access.KindProject, access.KindNote, access.KindSession, access.KindConnection} {
			for _, code := range []access.Code{"", access.NotFound, access.Forbidden} {
				if seen[fmt.Sprint(code, kind)] == 0 {
					w.Errorf("no cell of the matrix is %q for a %s", code, kind)
				}
			}
		}
	})
}

// denial is the code with which the check itself refused the thing of the path. What
// comes after the check is not its matter.
func denial(a answer, kind access.Kind) access.Code {
	code, message, _ := a.refusal()
	switch c := access.Code(code); c {
	case access.Forbidden, access.NotInProject, access.ACLDenied, access.Unauthenticated, access.Internal, access.Unavailable:
		return c
	case access.NotFound:
		if message == fmt.Sprintf("There is no %s with this ID.", kind) {
			return c
		}
	}
	return ""
}

func TestPeopleChangeTheirOwnConnectionsOnly(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben, mara := w.browser("ben"), w.browser("mara")
		for _, status := range []string{"paused", "active", "revoked"} {
			body := fmt.Sprintf(`{"status":%q}`, status)
			ben.refused(403, access.Forbidden, "PATCH", "/connections/lamp", body)
			if a := ben.wants(200, "PATCH", "/connections/desk", body); a.read(w)["status"] != status {
				w.Errorf("got %s, want %s", a, status)
			}
		}
		mara.refused(409, access.AlreadyDecided, "PATCH", "/connections/desk", `{"status":"active"}`)
		mara.refused(409, access.ConnectionRevoked, "POST", "/projects/alpha/connections", `{"connection_id":"desk"}`)
		if n := w.count(`SELECT COUNT(*) FROM connection_projects`); n != 0 {
			w.Errorf("%d projects were given to a revoked connection", n)
		}
	})
}

// foreigners are IDs of the other workspace, by the name of the wildcard.
var foreigners = map[string]string{
	"workspace": "globex", "project": "gamma", "note": "foreign", "connection": "chair", "user": "eve", "tab": "tab-foreign", "token": "eve",
	"session": "strangers", "handoff": "theirs", "name": "theirs",
}

// alike compares two answers in all that a caller sees.
func (w *world) alike(what string, foreign, absent answer) {
	w.Helper()
	for _, a := range []answer{foreign, absent} {
		a.header.Del("Date")
	}
	if foreign.String() != absent.String() || fmt.Sprint(foreign.header) != fmt.Sprint(absent.header) {
		w.Errorf("%s: a foreign ID got %s %v, an absent one %s %v", what, foreign, foreign.header, absent, absent.header)
	}
	if foreign.status < 400 || foreign.status >= 500 {
		w.Errorf("%s: got %s, want a refusal", what, foreign)
	}
}

func TestForeignIDsLookLikeAbsentOnes(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.exec(`INSERT INTO personal_tokens (id, token_hash, user_id, name, created_at, last_used_at, revoked_at) VALUES ('eve', 'x', 'eve', 'hers', 1, 0, 0)`)
		script, browser := w.script("mara"), w.browser("mara")
		mara := script
		for _, r := range w.api.Routes() {
			p := w.probe(r)
			if mara = script; r.Caller == api.Browser {
				mara, p.body = browser, `{"decision":"accept"}`
			}
			for i, name := range wildcards(r.Path) {
				if name == "version" {
					continue
				}
				ids := []string{mine[r.Kind], "none"}[:i+1]
				call := func(id string) answer {
					ids[i] = id
					return mara.call(r.Method, at(r.Path, ids...)+p.query, p.body)
				}
				foreign, absent := call(foreigners[name]), call("never")
				if r.Operation == "member.set_role" && name == "user" {
					p.body = `{"role":"viewer"}`
					foreign, absent = call(foreigners[name]), call("never")
				}
				w.alike(r.Operation+" "+name, foreign, absent)
				for _, malformed := range []string{"%00", "%ff", "a%20b", "%27%3B--", strings.Repeat("x", 300), "..%2f"} {
					w.alike(r.Operation+" "+name+" "+malformed, call(malformed), absent)
				}
			}
		}
		mara = script
		for what, pair := range map[string][2]answer{
			"project of a session to move to": {mara.call("PATCH", "/agent-sessions/crew", `{"project_id":"gamma","expected_version":1}`),
				mara.call("PATCH", "/agent-sessions/crew", `{"project_id":"never","expected_version":1}`)},
			"provider of another workspace": {mara.call("PATCH", "/agent-sessions/crew", `{"agents":[{"slug":"a","instructions":"","provider":"theirs"}],"expected_version":1}`),
				mara.call("PATCH", "/agent-sessions/crew", `{"agents":[{"slug":"a","instructions":"","provider":"never"}],"expected_version":1}`)},
			"person of a session's ACL": {mara.call("PUT", "/agent-sessions/crew/acl", `{"users":[{"id":"eve","right":"view"}]}`),
				mara.call("PUT", "/agent-sessions/crew/acl", `{"users":[{"id":"never","right":"view"}]}`)},
			"connection to add": {mara.call("POST", "/projects/alpha/connections", `{"connection_id":"chair"}`), mara.call("POST", "/projects/alpha/connections", `{"connection_id":"never"}`)},
			"project to move to": {mara.call("PATCH", "/notes/plan", `{"project_id":"gamma","expected_version":1}`),
				mara.call("PATCH", "/notes/plan", `{"project_id":"never","expected_version":1}`)},
			"person of an ACL": {mara.call("PUT", "/notes/plan/acl", `{"users":[{"id":"eve","right":"view"}]}`),
				mara.call("PUT", "/notes/plan/acl", `{"users":[{"id":"never","right":"view"}]}`)},
			"tab to rename": {mara.call("PATCH", "/notes/plan", `{"tabs":[{"id":"tab-foreign"}],"expected_version":1}`),
				mara.call("PATCH", "/notes/plan", `{"tabs":[{"id":"never"}],"expected_version":1}`)},
			"filter of the audit": {mara.call("GET", "/workspaces/globex/audit?connection=chair", ""), mara.call("GET", "/workspaces/never/audit?connection=chair", "")},
		} {
			w.alike(what, pair[0], pair[1])
		}
		if w.count(`SELECT COUNT(*) FROM audit WHERE workspace_id = 'globex'`) != 0 {
			w.Error("what mara tried stands in the audit of a workspace that does not exist for her")
		}
		w.script("eve").wants(http.StatusOK, "GET", "/notes/foreign", "")
	})
}
