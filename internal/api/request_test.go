package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

func TestOtherSitesCannotMakeABrowserChangeAnything(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.browser("mara")
		before := w.count(`SELECT COUNT(*) FROM audit WHERE decision = 'allowed'`)
		both := func(f ...func(*http.Request)) func(*http.Request) {
			return func(r *http.Request) {
				for _, g := range f {
					g(r)
				}
			}
		}
		for name, from := range map[string]func(*http.Request){
			"cross-site":                         header("Sec-Fetch-Site", "cross-site"),
			"same-site":                          header("Sec-Fetch-Site", "same-site"),
			"an unknown word":                    header("Sec-Fetch-Site", "near-site"),
			"another origin":                     header("Origin", "https://evil.example"),
			"another port":                       header("Origin", "http://127.0.0.1:1"),
			"no origin at all":                   header("Origin", "null"),
			"an origin that may use MCP":         header("Origin", "http://inspector.example:6274"),
			"that origin, as the same site":      both(header("Origin", "http://inspector.example:6274"), header("Sec-Fetch-Site", "same-origin")),
			"our origin, as another site's page": both(header("Origin", w.base), header("Sec-Fetch-Site", "cross-site")),
			"two origins":                        func(r *http.Request) { r.Header["Origin"] = []string{w.base, w.base} },
		} {
			for _, r := range w.api.Routes() {
				if r.Method == "GET" || r.Operation == "setup" { // setup is gone
					continue
				}
				p := w.probe(r)
				a := mara.call(r.Method, at(r.Path, mine[r.Kind])+p.query, p.body, from)
				if code, _, _ := a.refusal(); a.status != 403 || code != "forbidden" {
					w.Errorf("%s from %s: got %s, want 403", r.Operation, name, a)
				}
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE decision = 'allowed'`); n != before {
			w.Errorf("%d changes took effect", n-before)
		}
		for _, from := range []func(*http.Request){
			header("Sec-Fetch-Site", "same-origin"), header("Sec-Fetch-Site", "none"), header("Origin", w.base),
			both(header("Origin", w.base), header("Sec-Fetch-Site", "same-origin")),
		} {
			mara.wants(201, "POST", "/workspaces", `{"name":"Mine"}`, from)
		}
		w.script("mara").wants(201, "POST", "/workspaces", `{"name":"Mine"}`, header("Sec-Fetch-Site", "cross-site")) // no page has a token
		mara.refused(403, access.Forbidden, "GET", "/me", "", header("Origin", "https://evil.example"))
	})
}

func TestAKeyMakesAChangeHappenOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben := w.script("mara"), w.script("ben")
		key := header("Idempotency-Key", "first")
		const path, body = "/workspaces/atlas/projects", `{"name":"Once","private":false}`
		first := mara.wants(201, "POST", path, body, key)
		for _, same := range []string{body, ` {"private" : false, "name":"\u004fnce"}`} {
			again := mara.wants(201, "POST", path, same, key)
			if again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
				w.Errorf("repeat of %s: got %s %v, want %s", same, again, again.header, first)
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM projects WHERE name = 'Once'`); n != 1 {
			w.Fatalf("%d projects, want 1", n)
		}
		for _, other := range []string{`{"name":"once","private":false}`, `{"name":"Once","private":true}`, `{"name":"Once"}`} {
			mara.refused(422, access.IdempotencyMismatch, "POST", path, other, key)
		}
		if a := ben.wants(201, "POST", path, body, key); a.read(w)["id"] == first.read(w)["id"] { // keys are each person's own
			w.Error("ben got mara's answer")
		}
		mara.wants(201, "POST", "/workspaces", `{"name":"Once"}`, key) // and each call's
		for _, bad := range []string{"", `""`, strings.Repeat("k", 256), "a\tb", "é"} {
			mara.wants(400, "POST", path, body, header("Idempotency-Key", bad))
		}
		mara.wants(400, "POST", path, body, func(r *http.Request) { r.Header["Idempotency-Key"] = []string{"a", "b"} })
		mara.wants(201, "POST", path, body, header("Idempotency-Key", strings.Repeat("k", 255)))

		// A refusal is not kept, and access is checked again before an answer is repeated.
		retry := header("Idempotency-Key", "retry")
		mara.refused(422, access.InvalidArguments, "POST", path, `{"name":""}`, retry)
		mara.wants(201, "POST", path, body, retry)
		w.exec(`UPDATE memberships SET role = 'viewer' WHERE user_id = 'ben'`)
		ben.refused(403, access.Forbidden, "POST", path, body, key)
		w.exec(`DELETE FROM memberships WHERE user_id = 'ben'`)
		ben.refused(404, access.NotFound, "POST", path, body, key)
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE detail LIKE '%replayed%'`); n != 2 {
			w.Errorf("%d repeats are in the audit, want 2", n)
		}
	})
}

func TestRepeatsDoNotShowSecretsAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, key := w.script("mara"), header("Idempotency-Key", "secret")
		for path, c := range map[string]struct{ body, secret, table string }{
			"/personal-tokens":          {`{"name":"nightly"}`, "token", `SELECT COUNT(*) FROM personal_tokens WHERE name = 'nightly'`},
			"/workspaces/atlas/members": {`{"email":"new@b.example","name":"New","role":"viewer"}`, "invite_url", `SELECT COUNT(*) FROM invitations`},
		} {
			first, again := mara.wants(201, "POST", path, c.body, key).read(w), mara.wants(201, "POST", path, c.body, key).read(w)
			if first[c.secret] == nil || again[c.secret] != nil || again["id"] != first["id"] {
				w.Errorf("%s: got %v, then %v; want the second without %s", path, first, again, c.secret)
			}
			if n := w.count(c.table); n != 1 {
				w.Errorf("%s took effect %d times", path, n)
			}
			if n := w.count(`SELECT COUNT(*) FROM idempotency_keys WHERE result LIKE '%' || $1 || '%'`, first[c.secret]); n != 0 {
				w.Errorf("%s is kept", c.secret)
			}
		}
	})
}

func TestManyAtOnceWithOneKeyHaveOneEffect(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		got := w.together(32, func(int) answer {
			return mara.call("POST", "/workspaces/atlas/projects", `{"name":"Once"}`, header("Idempotency-Key", "key"))
		})
		if got[201] == 0 || got[201]+got[409] != 32 {
			w.Errorf("got %v, want 201 or 409 in_progress", got)
		}
		if n := w.count(`SELECT COUNT(*) FROM projects WHERE name = 'Once'`); n != 1 {
			w.Errorf("%d projects, want 1", n)
		}
	})
}

func TestCursorsAreForOnePersonAndList(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		var ids []string
		path := "/workspaces/atlas/members?limit=1"
		cursor := ""
		for {
			page := mara.wants(200, "GET", path+cursor, "").read(w)
			ids = append(ids, page["items"].([]any)[0].(map[string]any)["id"].(string))
			next, more := page["next_cursor"].(string)
			if !more {
				break
			}
			cursor = "&cursor=" + next
		}
		if !slices.Equal(ids, []string{"ben", "mara", "pia", "vic"}) {
			w.Errorf("the pages hold %v", ids)
		}
		for i := len("&cursor="); i < len(cursor); i++ {
			for _, b := range []byte{cursor[i] ^ 1, 'A', '_'} {
				if b == cursor[i] {
					continue
				}
				mara.refused(400, "bad_request", "GET", path+cursor[:i]+string(rune(b))+cursor[i+1:], "")
			}
		}
		for _, bad := range []string{cursor[:len(cursor)-1], cursor + "A", "&cursor=", "&cursor=%00", "&cursor=x" + cursor} {
			mara.refused(400, "bad_request", "GET", path+bad, "")
		}
		w.script("ben").refused(400, "bad_request", "GET", path+cursor, "")
		mara.refused(400, "bad_request", "GET", "/workspaces/atlas/projects?limit=1"+cursor, "")
		w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('globex', 'mara', 'owner', 1)`)
		mara.refused(400, "bad_request", "GET", "/workspaces/globex/members?limit=1"+cursor, "")
		for _, bad := range []string{"limit=0", "limit=201", "limit=-1", "limit=x", "limit=1e1", "limit=1&limit=2", "offset=1", "limit=%zz", "a;b", "%ff=1", "%00=1", strings.Repeat("ü", 1000) + "=1"} {
			mara.refused(400, "bad_request", "GET", "/workspaces/atlas/members?"+bad, "")
		}
		w.pass(24 * time.Hour)
		mara.refused(400, "bad_request", "GET", path+cursor, "")
	})
}

func TestBodiesAreRefusedForTheirForm(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		rows := func() string {
			var all []string
			for _, table := range []string{"projects", "notes", "note_versions", "memberships", "users", "events", "audit", "idempotency_keys", "workspaces", "personal_tokens"} {
				all = append(all, fmt.Sprint(table, w.count(`SELECT COUNT(*) FROM `+table)))
			}
			return strings.Join(all, " ")
		}
		before := rows()
		const path, good = "/workspaces/atlas/projects", `{"name":"New"}`
		for name, c := range map[string]struct {
			status int
			body   string
			change func(*http.Request)
		}{
			"5 MiB":                {413, `{"name":"` + strings.Repeat("x", 5<<20) + `"}`, nil},
			"no body":              {415, ``, nil},
			"text/plain":           {415, good, header("Content-Type", "text/plain")},
			"a form":               {415, `name=New`, header("Content-Type", "application/x-www-form-urlencoded")},
			"no type":              {415, good, func(r *http.Request) { r.Header.Del("Content-Type") }},
			"compressed":           {415, good, header("Content-Encoding", "gzip")},
			"another charset":      {415, good, header("Content-Type", "application/json; charset=latin1")},
			"cut off":              {400, `{"name":"New"`, nil},
			"a member twice":       {400, `{"name":"New","name":"Old"}`, nil},
			"twice by an escape":   {400, `{"name":"New","n\u0061me":"Old"}`, nil},
			"something behind":     {400, good + `{}`, nil},
			"not UTF-8":            {400, "{\"name\":\"\xff\"}", nil},
			"half a surrogate":     {400, `{"name":"\ud800"}`, nil},
			"NUL":                  {400, `{"name":"a\u0000b"}`, nil},
			"too deep":             {400, `{"name":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, nil},
			"null":                 {422, `null`, nil},
			"an array":             {422, `[]`, nil},
			"a number for a name":  {422, `{"name":1}`, nil},
			"null for a name":      {422, `{"name":null}`, nil},
			"no name":              {422, `{}`, nil},
			"an unknown member":    {422, `{"name":"New","owner_id":"ben"}`, nil},
			"a name in other case": {422, `{"Name":"New"}`, nil},
			"a word for a flag":    {422, `{"name":"New","private":"yes"}`, nil},
		} {
			change := c.change
			if change == nil {
				change = func(*http.Request) {}
			}
			a := mara.call("POST", path, c.body, change)
			code, message, _ := a.refusal()
			if a.status != c.status || code == "" || message == "" {
				w.Errorf("%s: got %s, want %d", name, a, c.status)
			}
		}
		mara.wants(413, "POST", path, strings.Repeat(" ", 5<<20))
		mara.wants(422, "DELETE", "/workspaces/atlas/members/vic", `{"really":true}`)
		mara.wants(415, "DELETE", "/workspaces/atlas/members/vic", `{}`, header("Content-Type", "text/plain"))
		if after := rows(); after != before {
			w.Errorf("refused bodies left rows: %s, before %s", after, before)
		}
		mara.wants(204, "DELETE", "/workspaces/atlas/members/vic", `{}`)
	})
}

func TestEachFieldHasItsLimits(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		long := func(n int) string { return strings.Repeat("ü", n) }
		names := func(field string) (all []string) {
			for _, bad := range []string{"", "   ", long(201), `a\u0007b`, `a\nb`, `a\u202eb`, `\u200b`, `a\u2066b`, `\u2028`} {
				all = append(all, fmt.Sprintf(`"%s":"%s"`, field, bad))
			}
			return all
		}
		for _, c := range []struct {
			method, path, field string
			rest                string
			bad                 []string
		}{
			{"POST", "/workspaces", "name", ``, names("name")},
			{"POST", "/personal-tokens", "name", ``, names("name")},
			{"POST", "/workspaces/atlas/projects", "name", ``, names("name")},
			{"PATCH", "/projects/alpha", "name", ``, names("name")},
			{"PATCH", "/projects/alpha", "name", ``, []string{`"expected_version":1`}},
			{"PATCH", "/connections/desk", "name", ``, names("name")},
			{"PATCH", "/connections/desk", "status", ``, []string{`"status":"gone"`, `"status":""`, ``}},
			{"POST", "/workspaces/atlas/members", "name", `,"email":"a@b.example","role":"viewer"`, names("name")},
			{"POST", "/workspaces/atlas/members", "email", `,"name":"A","role":"viewer"`, []string{`"email":""`, `"email":"a"`, `"email":"a b@c.example"`,
				`"email":"A <a@b.example>"`, `"email":"` + strings.Repeat("x", 250) + `@b.example"`, `"email":"a\nb@c.example"`, `"email":"ä@b.example"`}},
			{"POST", "/workspaces/atlas/members", "role", `,"name":"A","email":"a@b.example"`, []string{`"role":""`, `"role":"Owner"`, `"role":"admin"`}},
			{"POST", "/workspaces/atlas/members", "password", `,"name":"A","email":"a@b.example","role":"viewer"`,
				[]string{`"password":"eleven char"`, `"password":"` + long(257) + `"`}},
			{"PATCH", "/workspaces/atlas/members/vic", "role", ``, []string{`"role":""`, `"role":"admin"`}},
			{"PUT", "/notes/plan/acl", "users", ``, []string{`"users":[{"id":"never","right":"view"}]`,
				`"users":[` + strings.TrimSuffix(strings.Repeat(`{"id":"ben","right":"view"},`, 201), ",") + `]`}},
			{"PUT", "/notes/plan/acl", "users/0/right", ``, []string{`"users":[{"id":"ben","right":"manage"}]`, `"users":[{"id":"ben","right":""}]`}},
			{"PUT", "/notes/plan/acl", "users/1/id", ``, []string{`"users":[{"id":"ben","right":"view"},{"id":"ben","right":"edit"}]`}},
		} {
			for _, bad := range c.bad {
				a := mara.refused(422, access.InvalidArguments, c.method, c.path, `{`+bad+c.rest+`}`)
				if _, _, fields := a.refusal(); fields[c.field] == nil {
					w.Errorf("%s %s {%.80s}: fields %v, want %s", c.method, c.path, bad, fields, c.field)
				}
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM audit`); n != 0 {
			w.Errorf("%d entries of refused bodies are in the audit", n)
		}
		// The limits themselves are allowed, and white space around a name is not kept.
		if a := mara.wants(201, "POST", "/workspaces", `{"name":"  `+long(200)+` "}`); a.read(w)["name"] != long(200) {
			w.Errorf("got %s", a)
		}
		for _, password := range []string{"twelve chars", long(256)} {
			mara.wants(201, "POST", "/workspaces/atlas/members",
				fmt.Sprintf(`{"email":"p%d@b.example","name":"P","role":"viewer","password":%q}`, len(password), password))
		}
	})
}

func TestFiltersAreRefusedForTheirForm(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		for _, bad := range []string{"decision=maybe", "since=yesterday", "until=1", "connection=%00", "connection=%ff", "tool=" + strings.Repeat("x", 201), "tool=a&tool=b", "who=mara"} {
			mara.refused(400, "bad_request", "GET", "/workspaces/atlas/audit?"+bad, "")
		}
		mara.wants(200, "GET", "/workspaces/atlas/audit?decision=denied&since=2026-01-31T09:30:00Z&tool=%27%3B+DROP+TABLE+audit", "")
	})
}
