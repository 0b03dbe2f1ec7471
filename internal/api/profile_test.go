package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

const newPassword = "another password of mara"

func passwordsBody(current, chosen string) string {
	return fmt.Sprintf(`{"current":%q,"new":%q}`, current, chosen)
}

func TestAPersonRenamesThemselvesAlone(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		if got := mara.wants(200, "PATCH", "/me", `{"name":"  Mara Ruiz-Díaz "}`).read(w)["name"]; got != "Mara Ruiz-Díaz" {
			w.Errorf("the answer has the name %q", got)
		}
		if n := w.count(`SELECT COUNT(*) FROM users WHERE name = 'Mara Ruiz-Díaz'`); n != 1 {
			w.Errorf("%d people have the name, want mara alone", n)
		}
		for _, name := range []string{``, ` `, strings.Repeat("x", 201), `\u202e`} {
			mara.refused(422, access.InvalidArguments, "PATCH", "/me", `{"name":"`+name+`"}`)
		}
		mara.refused(422, access.InvalidArguments, "PATCH", "/me", `{}`)
	})
}

func TestANewPasswordSignsOutTheOtherBrowsers(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, other, ben, script := w.browser("mara"), w.browser("mara"), w.browser("ben"), w.script("mara")
		mara.wants(204, "POST", "/me/password", passwordsBody(password, newPassword))
		other.refused(401, access.Unauthenticated, "GET", "/me", "")
		for _, c := range []*caller{mara, ben, script} {
			c.wants(200, "GET", "/me", "")
		}
		w.nobody().refused(401, access.Unauthenticated, "POST", "/sign-in", signInBody("mara@atlas.example", password))
		w.nobody().wants(200, "POST", "/sign-in", signInBody("mara@atlas.example", newPassword))
		w.nobody().wants(200, "POST", "/sign-in", signInBody("ben@atlas.example", password))
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE tool = 'me.password.set' AND decision = 'allowed' AND user_id = 'mara'`); n != 1 {
			w.Errorf("the audit has %d changes of the password, want 1", n)
		}
	})
}

func TestAPasswordIsChangedByWhoKnowsIt(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, other := w.browser("mara"), w.browser("mara")
		for _, wrong := range []string{"", "wrong", newPassword} {
			a := mara.refused(403, access.Forbidden, "POST", "/me/password", passwordsBody(wrong, newPassword))
			if _, _, fields := a.refusal(); fields["current"] == nil {
				w.Errorf("with %q: the refusal %s does not name the current password", wrong, a)
			}
		}
		for _, chosen := range []string{"", "eleven char", strings.Repeat("x", 257)} {
			a := mara.refused(422, access.InvalidArguments, "POST", "/me/password", passwordsBody(password, chosen))
			if _, _, fields := a.refusal(); fields["new"] == nil {
				w.Errorf("with %.20q: the refusal %s does not name the new password", chosen, a)
			}
		}
		w.script("mara").refused(403, access.Forbidden, "POST", "/me/password", passwordsBody(password, newPassword))
		other.wants(200, "GET", "/me", "")
		w.nobody().wants(200, "POST", "/sign-in", signInBody("mara@atlas.example", password))
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE tool = 'me.password.set' AND decision = 'denied' AND user_id = 'mara'`); n != 3 {
			w.Errorf("the audit has %d wrong passwords, want 3", n)
		}
	})
}

func TestWrongPasswordsCloseTheAccountAsFailedSignInsDo(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		for i := range 10 {
			if a := mara.call("POST", "/me/password", passwordsBody("wrong", newPassword)); a.status != 403 {
				w.Fatalf("try %d: got %s, want 403", i+1, a)
			}
		}
		a := mara.refused(429, access.RateLimited, "POST", "/me/password", passwordsBody(password, newPassword))
		if a.header.Get("Retry-After") != "300" {
			w.Errorf("Retry-After is %q, want 300", a.header.Get("Retry-After"))
		}
		if a := w.from("127.0.0.3").call("POST", "/sign-in", signInBody("mara@atlas.example", password)); a.status != 429 {
			w.Errorf("signing in from elsewhere: got %s, want 429", a)
		}
		w.pass(5 * time.Minute)
		mara.wants(204, "POST", "/me/password", passwordsBody(password, newPassword))
	})
}

func TestOfTwoNewPasswordsAtOnceOneIsTaken(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		got := w.together(4, func(i int) answer {
			return mara.call("POST", "/me/password", passwordsBody(password, fmt.Sprintf("another password %d", i)))
		})
		if got[204] != 1 || got[204]+got[403] != 4 {
			w.Errorf("got %v, want one 204 and the others 403", got)
		}
		mara.wants(200, "GET", "/me", "")
	})
}

// sessionsOf are the IDs of the caller's browser sessions, and the current one's.
func (c *caller) browserSessions() (ids []string, current string) {
	c.w.Helper()
	for _, item := range c.wants(200, "GET", "/browser-sessions", "").read(c.w)["items"].([]any) {
		s := item.(map[string]any)
		id := s["id"].(string)
		ids = append(ids, id)
		if s["current"] == true {
			current += id
		}
	}
	return ids, current
}

func TestAPersonSeesAndEndsTheirBrowserSessions(t *testing.T) {
	eachWorld(t, func(w *world) {
		here, there, ben := w.browser("mara"), w.browser("mara"), w.browser("ben")
		_, first := here.browserSessions()
		ids, second := there.browserSessions()
		if len(ids) != 2 || first == second || !slices.Contains(ids, first) || !slices.Contains(ids, second) {
			w.Fatalf("mara is signed in by %q, here %q, there %q", ids, first, second)
		}
		if _, current := w.script("mara").browserSessions(); current != "" {
			w.Errorf("to a token, %q is the current session", current)
		}
		_, bens := ben.browserSessions()
		here.refused(404, access.NotFound, "DELETE", "/browser-sessions/"+bens, "")
		ben.refused(404, access.NotFound, "DELETE", "/browser-sessions/"+second, "")
		here.wants(204, "DELETE", "/browser-sessions/"+second, "")
		there.refused(401, access.Unauthenticated, "GET", "/me", "")
		here.refused(404, access.NotFound, "DELETE", "/browser-sessions/"+second, "")
		ben.wants(200, "GET", "/me", "")
		w.pass(25 * time.Hour) // unused, both ended
		mara := w.browser("mara")
		if ids, current := mara.browserSessions(); len(ids) != 1 || ids[0] != current {
			w.Errorf("a day later mara is signed in by %q, want the new %q alone", ids, current)
		}
		mara.refused(404, access.NotFound, "DELETE", "/browser-sessions/"+first, "")
	})
}

func TestOwnersRenameTheirWorkspace(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		if got := mara.wants(200, "PATCH", "/workspaces/atlas", `{"name":" Atlas Foods "}`).read(w)["name"]; got != "Atlas Foods" {
			w.Errorf("the answer has the name %q", got)
		}
		if got := w.browser("ben").wants(200, "GET", "/me", ""); !strings.Contains(got.body, `"Atlas Foods"`) {
			w.Errorf("to ben it is still %s", got)
		}
		for _, name := range []string{``, ` `, strings.Repeat("x", 201)} {
			mara.refused(422, access.InvalidArguments, "PATCH", "/workspaces/atlas", `{"name":"`+name+`"}`)
		}
		if n := w.count(`SELECT COUNT(*) FROM workspaces WHERE name = 'Atlas Foods'`); n != 1 {
			w.Errorf("%d workspaces have the name, want 1", n)
		}
		if n := w.count(`SELECT COUNT(*) FROM events WHERE type = 'workspace.renamed' AND workspace_id = 'atlas'`); n != 1 {
			w.Errorf("%d events tell of it, want 1", n)
		}
	})
}
