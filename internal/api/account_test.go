package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

func setupBody(secret string) string {
	return fmt.Sprintf(`{"secret":%q,"email":"Olive@Example.com","name":"Olive Owner","password":"twelve characters","workspace":"Atlas"}`, secret)
}

func (w *world) setupSecret() string {
	w.Helper()
	secret, err := w.accounts.SetupSecret(context.Background())
	w.must(err)
	return secret
}

func TestSetupTakesTheSecretOnce(t *testing.T) {
	eachEmptyWorld(t, func(w *world) {
		old, secret := w.setupSecret(), w.setupSecret()
		nobody := w.nobody()
		for _, wrong := range []string{"", "osf_set_x", old} {
			a := nobody.refused(403, access.Forbidden, "POST", "/setup", setupBody(wrong))
			if _, _, fields := a.refusal(); fields["secret"] == nil {
				w.Errorf("the refusal %s does not name the secret", a)
			}
		}
		nobody.refused(403, access.Forbidden, "POST", "/setup", `{"email":"a@b.example","name":"A","password":"twelve characters","workspace":"W"}`)
		a := nobody.refused(422, access.InvalidArguments, "POST", "/setup",
			fmt.Sprintf(`{"secret":%q,"email":"nobody","name":"\u202e","password":"short","workspace":""}`, secret))
		if _, _, fields := a.refusal(); len(fields) != 4 {
			w.Errorf("faulty fields are %v, want email, name, password, workspace", fields)
		}
		if n := w.count(`SELECT COUNT(*) FROM users`); n != 0 {
			w.Fatalf("refused setups left %d users", n)
		}
		a = nobody.wants(200, "POST", "/setup", setupBody(secret))
		me := a.read(w)
		if me["email"] != "olive@example.com" || me["workspaces"].([]any)[0].(map[string]any)["role"] != "owner" {
			w.Errorf("got %s", a)
		}
		(&caller{w: w, name: "olive", cookie: a.cookie()}).wants(200, "GET", "/me", "")
		for _, again := range []string{secret, old, ""} {
			nobody.refused(404, access.NotFound, "POST", "/setup", setupBody(again))
		}
		nobody.refused(404, access.NotFound, "POST", "/setup", `{`)
	})
}

func TestTenWrongSetupSecretsAreEnough(t *testing.T) {
	eachEmptyWorld(t, func(w *world) {
		secret := w.setupSecret()
		for range 10 {
			w.nobody().refused(403, access.Forbidden, "POST", "/setup", setupBody("wrong"))
		}
		a := w.nobody().refused(429, access.RateLimited, "POST", "/setup", setupBody(secret))
		if a.header.Get("Retry-After") != "300" {
			w.Errorf("Retry-After is %q, want the 300 s of the window", a.header.Get("Retry-After"))
		}
		w.pass(5 * time.Minute)
		w.nobody().wants(200, "POST", "/setup", setupBody(secret))
	})
}

func TestOfTwoSetupsAtOnceOneWins(t *testing.T) {
	eachEmptyWorld(t, func(w *world) {
		secret := w.setupSecret()
		got := w.together(8, func(int) answer { return w.nobody().call("POST", "/setup", setupBody(secret)) })
		if got[200] != 1 || got[200]+got[404]+got[403] != 8 {
			w.Errorf("got %v, want one 200, the others refused", got)
		}
		if n := w.count(`SELECT COUNT(*) FROM users`); n != 1 {
			w.Errorf("%d users, want 1", n)
		}
		if n := w.count(`SELECT COUNT(*) FROM workspaces`); n != 1 {
			w.Errorf("%d workspaces, want 1", n)
		}
	})
}

// together makes n calls at once and counts their statuses.
func (w *world) together(n int, call func(i int) answer) map[int]int {
	w.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	got, begin := map[int]int{}, make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			a := call(i)
			mu.Lock()
			defer mu.Unlock()
			got[a.status]++
		})
	}
	close(begin)
	all.Wait()
	return got
}

func signInBody(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
}

func TestOneTextAnswersEveryFailedSignIn(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.exec(`UPDATE users SET disabled_at = 1 WHERE id = 'vic'`)
		w.exec(`UPDATE users SET password_hash = '' WHERE id = 'ben'`)
		want := w.nobody().refused(401, access.Unauthenticated, "POST", "/sign-in", signInBody("mara@atlas.example", "wrong"))
		for _, body := range []string{
			signInBody("nobody@atlas.example", password), signInBody("", ""), signInBody("not an address", password),
			signInBody("vic@atlas.example", password),                                                              // disabled
			signInBody("ben@atlas.example", ""), signInBody("ben@atlas.example", "an account that does not exist"), // has no password yet
			signInBody("mara@atlas.example", strings.Repeat("x", 10_000)),
		} {
			a := w.nobody().call("POST", "/sign-in", body)
			a.header.Del("Date")
			want.header.Del("Date")
			if a.String() != want.String() || fmt.Sprint(a.header) != fmt.Sprint(want.header) {
				w.Errorf("%.80s got %s %v, want %s %v", body, a, a.header, want, want.header)
			}
		}
		if w.nobody().call("POST", "/sign-in", signInBody("mara@atlas.example", "wrong")).cookie() != "" {
			w.Error("a failed sign-in sets a cookie")
		}
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE tool = 'session.create' AND decision = 'denied' AND user_id = 'mara'`); n != 3 {
			w.Errorf("%d failed sign-ins of mara are in the audit, want 3", n)
		}
	})
}

func TestTenFailuresCloseTheAccountAndTheAddress(t *testing.T) {
	for _, email := range []string{"mara@atlas.example", "nobody@atlas.example"} {
		eachWorld(t, func(w *world) {
			here, there := w.from("127.0.0.2"), w.from("127.0.0.3")
			attempt := func(from *caller, email, password string) answer {
				return from.call("POST", "/sign-in", signInBody(email, password))
			}
			for i := range 30 { // successes do not count
				if a := attempt(here, "ben@atlas.example", password); a.status != 200 {
					w.Fatalf("success %d: got %s", i, a)
				}
			}
			for i := range 10 {
				if a := attempt(here, strings.ToUpper(email), "wrong"); a.status != 401 {
					w.Fatalf("failure %d: got %s, want 401", i+1, a)
				}
			}
			for range 20 { // what the address is refused is not held against the account
				if a := attempt(here, "ben@atlas.example", password); a.status != 429 {
					w.Errorf("another account from the closed address: got %s, want 429", a)
				}
			}
			if a := attempt(there, "ben@atlas.example", password); a.status != 200 {
				w.Errorf("another account from another address: got %s, want 200", a)
			}
			a := attempt(there, email, password)
			if a.status != 429 || a.header.Get("Retry-After") != "300" {
				w.Errorf("the closed account from another address: got %s, Retry-After %q", a, a.header.Get("Retry-After"))
			}
			w.pass(5 * time.Minute)
			if a := attempt(here, "ben@atlas.example", password); a.status != 200 {
				w.Errorf("after five minutes: got %s, want 200", a)
			}
		})
	}
}

func TestASessionIsNewAtEverySignInAndEnds(t *testing.T) {
	eachWorld(t, func(w *world) {
		first := w.browser("mara")
		other := w.browser("mara") // another device
		again := first.wants(200, "POST", "/sign-in", signInBody("mara@atlas.example", password))
		second := &caller{w: w, name: "mara again", cookie: again.cookie()}
		if second.cookie == first.cookie || second.cookie == "" {
			w.Fatalf("the session is %q after signing in again with %q", second.cookie, first.cookie)
		}
		first.refused(401, access.Unauthenticated, "GET", "/me", "")
		second.wants(200, "GET", "/me", "")
		a := second.wants(204, "POST", "/sign-out", "")
		if !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
			w.Errorf("signing out sets %q", a.header.Get("Set-Cookie"))
		}
		second.refused(401, access.Unauthenticated, "GET", "/me", "")
		second.wants(204, "POST", "/sign-out", "")
		other.wants(200, "GET", "/me", "")
		w.exec(`UPDATE users SET disabled_at = 1 WHERE id = 'mara'`)
		other.refused(401, access.Unauthenticated, "GET", "/me", "")
		w.script("mara").refused(401, access.Unauthenticated, "GET", "/me", "")
		// A value that somebody planted is not taken over.
		planted := &caller{w: w, name: "planted", cookie: "osf_ses_planted"}
		if a := planted.wants(200, "POST", "/sign-in", signInBody("ben@atlas.example", password)); a.cookie() == planted.cookie {
			w.Error("signing in kept the cookie that was there")
		}
	})
}

func TestTheCookieIsForThisSiteAlone(t *testing.T) {
	eachWorld(t, func(w *world) {
		a := w.nobody().wants(200, "POST", "/sign-in", signInBody("mara@atlas.example", password))
		if got := a.header.Get("Set-Cookie"); !strings.HasSuffix(got, "; Path=/; HttpOnly; SameSite=Lax") {
			w.Errorf("got %q", got)
		}
		a = w.nobody().wants(200, "POST", "/sign-in", `{"email":"mara@atlas.example","password":"`+password+`","keep":true}`)
		if got := a.header.Get("Set-Cookie"); !strings.Contains(got, "; Max-Age=2592000;") {
			w.Errorf("a session to keep: got %q", got)
		}
	})
}

func TestUnusedSessionsEnd(t *testing.T) {
	eachWorld(t, func(w *world) {
		a := w.nobody().wants(200, "POST", "/sign-in", `{"email":"mara@atlas.example","password":"`+password+`","keep":true}`)
		kept := &caller{w: w, name: "kept", cookie: a.cookie()}
		idle, used := w.browser("mara"), w.browser("mara")
		w.pass(23 * time.Hour)
		used.wants(200, "GET", "/me", "")
		w.pass(time.Hour)
		idle.refused(401, access.Unauthenticated, "GET", "/me", "")
		used.wants(200, "GET", "/me", "")
		for range 30 { // used day by day
			w.pass(23 * time.Hour)
			used.wants(200, "GET", "/me", "")
		}
		kept.wants(200, "GET", "/me", "") // unused for 29 days and 18 hours
		w.pass(6 * time.Hour)
		used.refused(401, access.Unauthenticated, "GET", "/me", "")
		kept.refused(401, access.Unauthenticated, "GET", "/me", "")
	})
}

func TestListeningKeepsNobodySignedIn(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		l := mara.listen("")
		w.pass(23 * time.Hour)
		for range 3 { // the first of them may have begun before
			<-w.looks
		}
		w.pass(time.Hour)
		if m, ok := l.next(); ok {
			w.Errorf("the stream of a session that ended says %+v", m)
		}
		mara.refused(401, access.Unauthenticated, "GET", "/me", "")
	})
}

func TestANewPasswordEndsWhatTheOldOneOpened(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		var links [2]string
		for i := range links {
			w.must(w.db.Write(context.Background(), func(tx access.Tx) (err error) {
				links[i], err = w.accounts.NewPasswordLink(context.Background(), tx, "mara@atlas.example")
				return err
			}))
		}
		if _, err := w.accounts.AcceptInvitation(context.Background(), links[0], "a new password of mara", "test"); err != nil {
			w.Fatal(err)
		}
		mara.refused(401, access.Unauthenticated, "GET", "/me", "")
		w.nobody().refused(401, access.Unauthenticated, "POST", "/sign-in", signInBody("mara@atlas.example", password))
		w.nobody().wants(200, "POST", "/sign-in", signInBody("mara@atlas.example", "a new password of mara"))
		for _, link := range links { // used, and void with it
			if _, err := w.accounts.AcceptInvitation(context.Background(), link, "yet another password", "test"); access.CodeOf(err) != access.NotFound {
				w.Errorf("a link can be used after the password was chosen: %v", err)
			}
		}
	})
}

func TestAnyUserAgentCanSignIn(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, agent := range []string{"\xff\xfe", strings.Repeat("ü", 300), ""} {
			w.nobody().wants(200, "POST", "/sign-in", signInBody("mara@atlas.example", password), header("User-Agent", agent))
		}
	})
}

func TestPersonalTokensAreShownOnceAndEnd(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		made := mara.wants(201, "POST", "/personal-tokens", `{"name":"nightly"}`).read(w)
		script := &caller{w: w, name: "script", token: made["token"].(string)}
		if !strings.HasPrefix(script.token, "osf_pat_") {
			w.Errorf("the token is %q", script.token)
		}
		script.wants(200, "GET", "/me", "", func(r *http.Request) { r.Header.Set("Authorization", "bearer "+script.token) })
		if got := mara.wants(200, "GET", "/personal-tokens", ""); strings.Contains(got.body, script.token) || !strings.Contains(got.body, "nightly") {
			w.Errorf("the list is %s", got)
		}
		if n := w.count(`SELECT COUNT(*) FROM personal_tokens WHERE token_hash = $1`, script.token); n != 0 {
			w.Error("the token itself is kept")
		}
		w.script("ben").refused(404, access.NotFound, "DELETE", "/personal-tokens/"+made["id"].(string), "")
		script.wants(204, "DELETE", "/personal-tokens/"+made["id"].(string), "")
		script.refused(401, access.Unauthenticated, "GET", "/me", "")
		mara.refused(404, access.NotFound, "DELETE", "/personal-tokens/"+made["id"].(string), "")
		two := func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+w.script("mara").token) }
		w.script("mara").refused(401, access.Unauthenticated, "GET", "/me", "", two)
		mara.refused(422, access.InvalidArguments, "POST", "/personal-tokens", `{"name":" "}`)
	})
}
