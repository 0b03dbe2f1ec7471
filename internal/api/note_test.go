package api

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// noteHouse is a server with the calls about notes, and people with personal
// tokens.
//
//	atlas: mara (owner), ben (editor), vic (viewer); alpha, beta, secret (private: mara)
//	globex: mara (owner); gamma
//	eve: nowhere
type noteHouse struct {
	testing.TB
	server *httptest.Server
	tokens map[string]string
	exec   func(query string, args ...any)
	count  func(query string, args ...any) int
}

func eachNoteHouse(t *testing.T, f func(h *noteHouse)) {
	t.Helper()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) { f(newNoteHouse(t, o)) })
}

func newNoteHouse(t *testing.T, o storage.Options) *noteHouse {
	t.Helper()
	db, err := storage.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	raw := storagetest.Raw(t, o)
	h := &noteHouse{TB: t, tokens: map[string]string{}}
	h.exec = func(query string, args ...any) { t.Helper(); storagetest.Exec(t, raw, query, args...) }
	h.count = func(query string, args ...any) (n int) {
		t.Helper()
		if err := raw.QueryRow(query, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	h.seed()

	secret := []byte("a secret of this test, 32 bytes.")
	site, err := guard.NewSite(guard.SiteConfig{PublicURLs: []string{"http://osfoundry.example"}})
	if err != nil {
		t.Fatal(err)
	}
	tries := guard.Per(100, time.Minute, time.Now)
	accounts, err := workspace.NewAccounts(workspace.AccountConfig{SessionIdle: time.Hour, SessionLife: time.Hour, SignIns: tries, Setups: tries},
		db, storage.Accounts{}, storage.Audit{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := NewSessions(accounts, site, secret, "form_token", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	events := workspace.NewEvents(storage.Events{}, time.Now)
	notes := workspace.NewNotes(storage.Notes{}, storage.Search{}, events, time.Now, "http://osfoundry.example")
	acls := workspace.NewACLs(storage.ACLs{}, events)
	handler, err := New(Config{
		Work: db, Source: db, Audit: storage.Audit{}, Replays: storage.Replays{}, Site: site, Sessions: sessions,
		Secret: secret, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}, NoteRoutes(notes, acls), ACLRoutes(acls))
	if err != nil {
		t.Fatal(err)
	}
	h.server = httptest.NewServer(handler)
	t.Cleanup(h.server.Close)
	return h
}

func (h *noteHouse) seed() {
	for _, id := range []string{"mara", "ben", "vic", "eve"} {
		h.exec(`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $2, $3, '', 0, 1)`, id, id+"@atlas.example", "Name of "+id)
		token, hash := access.MintToken(access.TokenPersonal)
		h.tokens[id] = token
		h.exec(`INSERT INTO personal_tokens (id, token_hash, user_id, name, created_at, last_used_at, revoked_at) VALUES ($1, $2, $1, 'script', 1, 0, 0)`, id, string(hash))
	}
	for _, id := range []string{"atlas", "globex"} {
		h.exec(`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $1, 1)`, id)
	}
	for _, m := range [][]any{{"atlas", "mara", "owner"}, {"atlas", "ben", "editor"}, {"atlas", "vic", "viewer"}, {"globex", "mara", "owner"}} {
		h.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ($1, $2, $3, 1)`, m...)
	}
	for _, p := range [][]any{{"alpha", "atlas", 0}, {"beta", "atlas", 0}, {"secret", "atlas", 1}, {"gamma", "globex", 0}} {
		h.exec(`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at)
			VALUES ($1, $2, $1, $3, 'mara', 1, 0, 1, 1)`, p...)
	}
	h.exec(`INSERT INTO project_members (project_id, user_id, created_at) VALUES ('secret', 'mara', 1)`)
}

// wants makes a call as a person, expects the status, and decodes the answer.
func (h *noteHouse) wants(status int, who, method, path, body string) map[string]any {
	h.Helper()
	r, err := http.NewRequest(method, h.server.URL+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	r.Host = "osfoundry.example"
	r.Header.Set("Authorization", "Bearer "+h.tokens[who])
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := h.server.Client().Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	if resp.StatusCode != status {
		h.Fatalf("%s %s %s by %s: got %d %s, want %d", method, path, body, who, resp.StatusCode, raw, status)
	}
	out := map[string]any{}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &out); err != nil {
			h.Fatalf("%s %s answered %s: %v", method, path, raw, err)
		}
	}
	return out
}

// refused is wants for a refusal with the code.
func (h *noteHouse) refused(status int, code access.Code, who, method, path, body string) map[string]any {
	h.Helper()
	e, _ := h.wants(status, who, method, path, body)["error"].(map[string]any)
	if e["code"] != string(code) {
		h.Errorf("%s %s %s by %s: got %v, want %s", method, path, body, who, e, code)
	}
	return e
}

// made makes a note in alpha and gives its path, and that of its first tab.
func (h *noteHouse) made(title string) (path, tab string) {
	h.Helper()
	n := h.wants(201, "mara", "POST", "/projects/alpha/notes",
		fmt.Sprintf(`{"title":%q,"tabs":[{"title":"One","markdown":"first\n"},{"title":"Two","markdown":""}]}`, title))
	path = "/notes/" + n["id"].(string)
	return path, path + "/tabs/" + n["tabs"].([]any)[0].(map[string]any)["id"].(string)
}

func (h *noteHouse) list(who, path string) string {
	h.Helper()
	var names []string
	for {
		l := h.wants(200, who, "GET", path, "")
		for _, item := range l["items"].([]any) {
			names = append(names, item.(map[string]any)["title"].(string))
		}
		cursor, more := l["next_cursor"].(string)
		if !more {
			return strings.Join(names, " ")
		}
		path, _, _ = strings.Cut(path, "&cursor=")
		path += "&cursor=" + cursor
	}
}

func TestANoteIsMadeChangedAndReadByPeople(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, tab := h.made("Plan")
		n := h.wants(200, "vic", "GET", path, "")
		if n["title"] != "Plan" || n["version"] != 1.0 || n["archived"] != false || n["project_id"] != "alpha" || len(n["tabs"].([]any)) != 2 {
			h.Errorf("got %v", n)
		}
		if by := n["updated_by"].(map[string]any); by["kind"] != "person" || by["name"] != "Name of mara" || by["user_id"] != "mara" {
			h.Errorf("by %v", by)
		}
		h.wants(200, "ben", "PATCH", tab, `{"markdown":"first\r\nsecond 😀","expected_version":1}`)
		if got := h.wants(200, "vic", "GET", tab, ""); got["markdown"] != "first\r\nsecond 😀" || got["version"] != 2.0 || got["chars"] != 15.0 {
			h.Errorf("got %v", got)
		}
		e := h.refused(409, access.VersionConflict, "ben", "PATCH", tab, `{"markdown":"x","expected_version":1}`)
		if diff, _ := e["diff"].(string); e["current_version"] != 2.0 || !strings.Contains(diff, "+second 😀") {
			h.Errorf("conflict %v", e)
		}
		if got := h.wants(200, "vic", "GET", tab+"/versions/1?diff=true", "")["diff"].(string); !strings.HasPrefix(got, "--- version 1\n+++ version 2\n") {
			h.Errorf("diff %q", got)
		}
		if got := h.wants(200, "vic", "GET", tab+"/versions/1", "")["markdown"]; got != "first\n" {
			h.Errorf("version 1 is %q", got)
		}
		if got := h.wants(200, "ben", "POST", tab+"/versions/1/restore", `{"expected_version":2}`); got["markdown"] != "first\n" || got["version"] != 3.0 {
			h.Errorf("restored %v", got)
		}
		l := h.wants(200, "vic", "GET", tab+"/versions?limit=2", "")
		items := l["items"].([]any)
		if len(items) != 2 || items[0].(map[string]any)["version"] != 3.0 || items[0].(map[string]any)["created_by"].(map[string]any)["name"] != "Name of ben" {
			h.Errorf("versions %v", items)
		}
		l = h.wants(200, "vic", "GET", tab+"/versions?limit=2&cursor="+l["next_cursor"].(string), "")
		if items := l["items"].([]any); len(items) != 1 || l["next_cursor"] != nil {
			h.Errorf("second page %v", l)
		}
		for _, version := range []string{"0", "-1", "4", "x", "1e0"} {
			h.refused(404, access.NotFound, "vic", "GET", tab+"/versions/"+version, "")
		}
	})
}

func TestTabsAreAddedNamedPlacedAndDeleted(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, first := h.made("Plan")
		n := h.wants(201, "ben", "POST", path+"/tabs", `{"title":"Three","markdown":"3","expected_version":1}`)
		third := n["tab_id"].(string)
		if n["version"] != 2.0 || h.list("vic", path+"/tabs") != "One Two Three" {
			h.Errorf("added %v", n)
		}
		h.wants(200, "ben", "PATCH", path, fmt.Sprintf(`{"tabs":[{"id":%q,"title":"Last"}],"expected_version":2}`, third))
		if got := h.list("vic", path+"/tabs"); got != "One Two Last" {
			h.Errorf("a tab that was renamed alone left its place: %q", got)
		}
		h.refused(409, access.VersionConflict, "ben", "DELETE", first+"?expected_version=2", "")
		h.refused(422, access.InvalidArguments, "ben", "DELETE", first, "")
		h.wants(200, "ben", "DELETE", first+"?expected_version=3", "")
		if got := h.list("vic", path+"/tabs"); got != "Two Last" {
			h.Errorf("left are %q", got)
		}
		h.refused(404, access.NotFound, "ben", "GET", first, "")
		h.refused(404, access.NotFound, "ben", "GET", first+"/versions", "")
		h.wants(200, "ben", "DELETE", path+"/tabs/"+third+"?expected_version=4", "")
		two := h.wants(200, "vic", "GET", path, "")["tabs"].([]any)[0].(map[string]any)["id"].(string)
		h.refused(409, access.Conflict, "ben", "DELETE", path+"/tabs/"+two+"?expected_version=5", "")
	})
}

func TestOneChangeDoesAllItSaysOrNothing(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, _ := h.made("Plan")
		h.refused(422, access.InvalidArguments, "ben", "PATCH", path, `{}`)
		h.refused(422, access.InvalidArguments, "ben", "PATCH", path, `{"title":"x"}`)
		h.refused(422, access.InvalidArguments, "ben", "PATCH", path, `{"project_id":"beta"}`)
		h.refused(422, access.InvalidArguments, "ben", "PATCH", path, `{"title":"x","expected_version":1,"owner":"ben"}`)
		h.refused(409, access.VersionConflict, "ben", "PATCH", path, `{"title":"x","expected_version":2}`)
		h.refused(404, access.NotFound, "ben", "PATCH", path, `{"title":"x","project_id":"never","expected_version":1}`)
		if n := h.wants(200, "vic", "GET", path, ""); n["title"] != "Plan" || n["version"] != 1.0 {
			h.Errorf("a refused change left %v", n)
		}
		n := h.wants(200, "ben", "PATCH", path, `{"title":"Moved","project_id":"beta","archived":true,"expected_version":1}`)
		if n["title"] != "Moved" || n["project_id"] != "beta" || n["archived"] != true || n["version"] != 4.0 {
			h.Errorf("changed %v", n)
		}
		n = h.wants(200, "ben", "PATCH", path, `{"title":"Back","project_id":"alpha","archived":false,"expected_version":4}`)
		if n["title"] != "Back" || n["project_id"] != "alpha" || n["archived"] != false || n["version"] != 7.0 {
			h.Errorf("changed back %v", n)
		}
	})
}

func TestPeopleMoveNotesWhereTheyMayEdit(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, _ := h.made("Plan")
		move := func(project string) string { return fmt.Sprintf(`{"project_id":%q,"expected_version":1}`, project) }
		h.refused(404, access.NotFound, "mara", "PATCH", path, move("gamma")) // of the other workspace that mara owns
		h.refused(403, access.NotInProject, "ben", "PATCH", path, move("secret"))
		h.refused(403, access.Forbidden, "vic", "PATCH", path, move("beta"))
		h.refused(404, access.NotFound, "eve", "PATCH", path, move("beta"))
		h.wants(200, "mara", "PATCH", path, move("secret"))
		h.refused(403, access.NotInProject, "ben", "GET", path, "")
		if got := h.list("mara", "/projects/secret/notes?limit=10"); got != "Plan" {
			h.Errorf("secret holds %q", got)
		}
	})
}

func TestDeletingForGoodTakesTwoSteps(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, tab := h.made("Plan")
		h.wants(200, "mara", "PUT", path+"/acl", `{"users":[{"id":"ben","right":"edit"}]}`)
		h.refused(409, access.Conflict, "ben", "DELETE", path+"?expected_version=1", "")
		h.wants(200, "ben", "PATCH", path, `{"archived":true,"expected_version":1}`)
		h.refused(409, access.Conflict, "ben", "PATCH", tab, `{"markdown":"x","expected_version":1}`)
		h.refused(409, access.VersionConflict, "ben", "DELETE", path+"?expected_version=1", "")
		if h.list("ben", "/projects/alpha/notes?limit=1") != "" || h.list("ben", "/projects/alpha/notes?limit=1&archived=true") != "Plan" {
			h.Error("the archive is not listed apart")
		}
		h.wants(204, "ben", "DELETE", path+"?expected_version=2", "")
		h.refused(404, access.NotFound, "ben", "GET", path, "")
		for _, table := range []string{"notes", "note_versions", "note_tabs", "note_tab_versions", "resource_acl"} {
			if n := h.count(`SELECT COUNT(*) FROM ` + table); n != 0 {
				h.Errorf("%d rows are left in %s", n, table)
			}
		}
	})
}

func TestListsLeaveOutWhatCannotBeOpened(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		var paths []string
		for _, title := range []string{"A", "B", "C", "D"} {
			path, _ := h.made(title)
			paths = append(paths, path)
		}
		h.wants(200, "mara", "PUT", paths[0]+"/acl", `{"users":[{"id":"ben","right":"view"}]}`)
		h.wants(200, "mara", "PUT", paths[1]+"/acl", `{"users":[{"id":"vic","right":"edit"},{"id":"mara","right":"view"}]}`)
		h.wants(200, "mara", "PATCH", paths[2], `{"local_only":true}`)
		for who, want := range map[string]string{"mara": "B C D", "ben": "A C D", "vic": "B C D"} {
			if got := h.list(who, "/projects/alpha/notes?limit=1"); got != want {
				h.Errorf("%s sees %q, want %q", who, got, want)
			}
			for i, title := range []string{"A", "B", "C", "D"} {
				if strings.Contains(want, title) {
					h.wants(200, who, "GET", paths[i], "")
					continue
				}
				h.refused(403, access.ACLDenied, who, "GET", paths[i], "")
			}
		}
		h.refused(403, access.NotInProject, "ben", "GET", "/projects/secret/notes", "")
		h.refused(404, access.NotFound, "eve", "GET", "/projects/alpha/notes", "")
	})
}

func TestOnlyOwnersKeepNotesLocal(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, _ := h.made("Plan")
		h.wants(200, "mara", "PUT", path+"/acl", `{"users":[{"id":"ben","right":"edit"}]}`)
		h.refused(403, access.Forbidden, "ben", "PATCH", path, `{"local_only":true}`)
		h.refused(403, access.Forbidden, "ben", "PATCH", path, `{"local_only":true,"title":"x","expected_version":1}`)
		h.refused(403, access.Forbidden, "ben", "PATCH", path+"/acl", `{"local_only":true}`)
		// An owner who is not listed decides who sees the note, and still can't change it.
		h.refused(403, access.ACLDenied, "mara", "PATCH", path, `{"local_only":true,"title":"x","expected_version":1}`)
		if n := h.wants(200, "mara", "PATCH", path, `{"local_only":true}`); n["local_only"] != true || n["title"] != "Plan" {
			h.Errorf("got %v", n)
		}
		if n := h.wants(200, "ben", "GET", path, ""); n["local_only"] != true || n["restricted"] != true || n["version"] != 1.0 {
			h.Errorf("ben sees %v", n)
		}
		h.wants(200, "mara", "PATCH", path+"/acl", `{"local_only":false}`)
		if n := h.wants(200, "ben", "GET", path, ""); n["local_only"] != false {
			h.Errorf("ben sees %v", n)
		}
	})
}

func TestFaultyNotesAreRefusedFieldByField(t *testing.T) {
	eachNoteHouse(t, func(h *noteHouse) {
		path, tab := h.made("Plan")
		large := strings.Repeat("x", 1<<20+1)
		for _, c := range []struct {
			status                     int
			code                       access.Code
			method, path, body, fields string
		}{
			{422, access.InvalidArguments, "POST", "/projects/alpha/notes", `{"title":"","tabs":[{"title":"a\u0007","markdown":"\u001b"}]}`, "map[tabs/0/title title]"},
			{422, access.InvalidArguments, "POST", "/projects/alpha/notes", `{"title":"ok","tabs":[]}`, "map[tabs]"},
			{422, access.InvalidArguments, "POST", "/projects/alpha/notes", `{"title":"ok"}`, "map[tabs]"},
			{413, access.TooLarge, "POST", "/projects/alpha/notes", `{"title":"ok","tabs":[{"title":"a","markdown":"` + large + `"}]}`, "map[]"},
			{413, access.TooLarge, "PATCH", tab, `{"expected_version":1,"markdown":"` + large + `"}`, "map[]"},
			{422, access.InvalidArguments, "PATCH", tab, `{"expected_version":1}`, "map[markdown]"},
			{422, access.InvalidArguments, "PATCH", tab, `{"markdown":""}`, "map[expected_version]"},
			{422, access.InvalidArguments, "PATCH", path, `{"tabs":[{"title":"x"}],"expected_version":1}`, "map[tabs/0/id]"},
			{422, access.InvalidArguments, "PATCH", path, `{"title":"a\u202eb","expected_version":1}`, "map[title]"},
			{404, access.NotFound, "PATCH", path, `{"tabs":[{"id":"never"}],"expected_version":1}`, "map[]"},
			{409, access.VersionConflict, "PATCH", tab, `{"markdown":"","expected_version":-1}`, "map[]"},
		} {
			e := h.refused(c.status, c.code, "ben", c.method, c.path, c.body)
			got := map[string]string{}
			if fields, ok := e["fields"].(map[string]any); ok {
				for name := range fields {
					got[name] = ""
				}
			}
			if shown := strings.ReplaceAll(fmt.Sprint(got), ":", ""); shown != c.fields {
				h.Errorf("%s %s %.80s: fields %s, want %s", c.method, c.path, c.body, shown, c.fields)
			}
		}
		if n := h.count(`SELECT COUNT(*) FROM note_tab_versions`); n != 2 {
			h.Errorf("%d versions are kept, want the two of the first note", n)
		}
	})
}
