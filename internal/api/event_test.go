package api_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// marked makes an event that everybody in atlas sees, so that a stream can be read up
// to it.
func (w *world) marked(l *listening) []string {
	w.Helper()
	w.script("mara").wants(200, "PATCH", "/projects/beta", fmt.Sprintf(`{"name":"beta %d"}`, w.count(`SELECT COUNT(*) FROM events`)))
	return l.until("project.changed")
}

func TestStreamsTellWhatTheListenerMaySee(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben, pia, vic, eve := w.browser("mara"), w.browser("ben"), w.browser("pia"), w.browser("vic"), w.browser("eve")
		listeners := map[string]*listening{"mara": mara.listen(""), "ben": ben.listen(""), "pia": pia.listen(""), "vic": vic.listen("")}
		stranger := eve.listen("")

		mara.wants(200, "PATCH", "/notes/plan", `{"title":"Plan","expected_version":1}`)
		ben.wants(200, "PATCH", "/notes/listed", `{"title":"Listed","expected_version":1}`)
		pia.wants(200, "PATCH", "/notes/hidden", `{"title":"Hidden","expected_version":1}`)
		mara.wants(201, "POST", "/projects/secret/connections", `{"connection_id":"desk"}`)
		mara.wants(200, "PATCH", "/connections/desk", `{"status":"paused"}`)
		// From an open project into a private one, and what is listed into an open one.
		mara.wants(204, "PUT", "/projects/secret/members/mara", "")
		mara.wants(200, "PATCH", "/notes/plan", `{"project_id":"secret","expected_version":2}`)
		ben.wants(200, "PATCH", "/notes/listed", `{"project_id":"beta","expected_version":2}`)
		for who, want := range map[string][]string{
			"mara": {"connection.added_to_project desk", "connection.paused desk", "project.member_added secret", "note.moved plan", "note.left plan"},
			"ben":  {"note.renamed listed", "connection.paused desk", "note.left plan", "note.moved listed", "note.left listed"},
			"pia":  {"note.renamed hidden", "connection.added_to_project desk", "connection.paused desk", "project.member_added secret", "note.moved plan", "note.left plan"},
			"vic":  {"note.renamed listed", "connection.paused desk", "note.left plan", "note.moved listed", "note.left listed"},
		} {
			got := w.heardBy(listeners[who])
			got = slices.DeleteFunc(got, func(e string) bool { // these may be judged before or after the rights changed
				return e == "note.renamed plan" || e == "note.renamed hidden" && who == "mara"
			})
			if !slices.Equal(got, want) {
				w.Errorf("%s hears %q, want %q", who, got, want)
			}
		}
		eve.wants(200, "PATCH", "/projects/gamma", `{"name":"Gamma"}`)
		if got := stranger.until("project.changed"); !slices.Equal(got, []string{"project.changed gamma"}) {
			w.Errorf("eve hears %q of other workspaces", got)
		}
	})
}

// heardBy is what a stream says up to now.
func (w *world) heardBy(l *listening) []string {
	w.Helper()
	all := w.marked(l)
	for all[len(all)-1] != "project.changed beta" {
		all = append(all, l.until("project.changed")...)
	}
	return slices.DeleteFunc(all, func(e string) bool { return e == "project.changed beta" })
}

func TestAStreamFollowsRightsAtOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben := w.browser("mara"), w.browser("ben")
		l := ben.listen("")
		mara.wants(200, "PUT", "/notes/listed/acl", `{"users":[{"id":"vic","right":"view"}]}`)
		mara.wants(200, "PATCH", "/projects/alpha", `{"private":true}`)
		mara.wants(200, "PATCH", "/notes/plan", `{"title":"Unseen","expected_version":1}`)
		if got := w.heardBy(l); slices.Contains(got, "note.renamed plan") || slices.Contains(got, "project.changed alpha") || len(got) > 0 {
			w.Errorf("ben hears %q of a project that he may not see", got)
		}
		mara.wants(204, "PUT", "/projects/alpha/members/ben", "")
		mara.wants(200, "PATCH", "/notes/plan", `{"title":"Seen","expected_version":2}`)
		if got := l.until("note.renamed"); !slices.Contains(got, "note.renamed plan") {
			w.Errorf("ben hears %q", got)
		}
	})
}

func TestStreamsEndWithTheRightToListen(t *testing.T) {
	for name, end := range map[string]func(w *world, c *caller){
		"signed out":          func(w *world, c *caller) { c.wants(204, "POST", "/sign-out", "") },
		"disabled":            func(w *world, c *caller) { w.exec(`UPDATE users SET disabled_at = 1 WHERE id = 'ben'`) },
		"out of a workspace":  func(w *world, c *caller) { w.script("mara").wants(204, "DELETE", "/workspaces/atlas/members/ben", "") },
		"the server stops":    func(w *world, c *caller) { w.stop() },
		"the session is gone": func(w *world, c *caller) { w.exec(`DELETE FROM browser_sessions`) },
	} {
		eachWorld(t, func(w *world) {
			ben := w.browser("ben")
			l := ben.listen("")
			began := time.Now()
			end(w, ben)
			if m, ok := l.next(); ok {
				w.Errorf("%s: the stream says %+v, want its end", name, m)
			}
			if took := time.Since(began); took > 3*time.Second { // 1 s on a machine with nothing else to do
				w.Errorf("%s: the stream ended after %v", name, took)
			}
		})
	}
}

func TestAStreamOfATokenEndsWithIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		script := w.script("ben")
		l := script.listen("")
		w.exec(`UPDATE personal_tokens SET revoked_at = 1`)
		if m, ok := l.next(); ok {
			w.Errorf("the stream says %+v, want its end", m)
		}
	})
}

func TestAStreamGoesOnWhereItBroke(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		l := mara.listen("")
		rename := func(version int) {
			mara.wants(200, "PATCH", "/notes/plan", fmt.Sprintf(`{"title":"Plan %d","expected_version":%d}`, version, version))
		}
		rename(1)
		first, _ := l.next()
		if first.id == "" || first.data["version"] != 2.0 || first.data["user_id"] != "mara" || first.data["project_id"] != "alpha" || first.data["workspace_id"] != "atlas" {
			w.Fatalf("got %+v", first)
		}
		if title, ok := first.data["title"]; ok {
			w.Errorf("the event holds the text %q", title)
		}
		l.close()
		for version := range 5 {
			rename(version + 2)
		}
		l = mara.listen(first.id)
		for version := range 5 {
			if m, ok := l.next(); !ok || m.data["version"] != float64(version+3) {
				w.Fatalf("after a break: got %+v, want version %d", m, version+3)
			}
		}
		l.close()
		for _, unknown := range []string{"00000000-0000-7000-8000-000000000000", "x' OR 1=1", "\xff"} {
			l := mara.listen(unknown)
			if m, ok := l.next(); !ok || m.name != "resync" {
				w.Errorf("Last-Event-ID %q: got %+v, want resync", unknown, m)
			}
			l.close()
		}
		// An event of another workspace is as unknown as any.
		eve := w.script("eve").listen(first.id)
		if m, ok := eve.next(); !ok || m.name != "resync" {
			w.Errorf("got %+v, want resync", m)
		}
	})
}

func TestListenersInManyWorkspacesHearThemAll(t *testing.T) {
	eachWorld(t, func(w *world) {
		for i := range 210 {
			id := fmt.Sprintf("more%03d", i)
			w.exec(`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $1, 1)`, id)
			w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ($1, 'mara', 'owner', 1)`, id)
		}
		mara := w.script("mara")
		l := mara.listen("")
		mara.wants(201, "POST", "/workspaces/more209/projects", `{"name":"Last"}`)
		if got := l.until("project.created"); len(got) != 1 {
			w.Errorf("got %q", got)
		}
		me := mara.wants(200, "GET", "/me", "").read(w)
		if n := len(me["workspaces"].([]any)); n != 200 {
			w.Errorf("me shows %d workspaces, want 200", n)
		}
		n, path := 0, "/workspaces?limit=100"
		for path != "" {
			page := mara.wants(200, "GET", path, "").read(w)
			n += len(page["items"].([]any))
			next, more := page["next_cursor"].(string)
			if path = ""; more {
				path = "/workspaces?limit=100&cursor=" + next
			}
		}
		if n != 211 {
			w.Errorf("the list has %d workspaces, want 211", n)
		}
	})
}

func TestHeadOfAStreamEnds(t *testing.T) {
	eachWorld(t, func(w *world) {
		if a := w.script("mara").wants(200, "HEAD", "/events", ""); a.body != "" {
			w.Errorf("got %s", a)
		}
	})
}
