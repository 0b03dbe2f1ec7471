package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

const wantPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secured wants the headers that each answer carries.
func secured(t *testing.T, what string, h http.Header, policy string) {
	t.Helper()
	for name, want := range map[string]string{
		"Content-Security-Policy": policy, "X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := h.Values(name); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %s is %q, want %q", what, name, got, want)
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") || name == "Server" {
			t.Errorf("%s: has the header %s", what, name)
		}
	}
}

func TestEveryAnswerIsSecured(t *testing.T) {
	invited := workspace.Invitation{User: workspace.User{Email: "j@a.example"}}
	fresh, settled := serve(t, &house{needsSetup: true}, nil), serve(t, &house{invitation: invited}, nil)
	inside := serve(t, &house{}, nil).signedIn()
	for _, path := range []string{
		"/", "/setup", "/sign-in", "/sign-out", "/invitation", "/invitation?token=x", "/nothing", "/nothing/here", "/assets/", "/assets/none",
		"/assets/auth.css", "/assets/tokens.css", "/assets/favicon.svg", "/favicon.ico", "/sign-in/", "/%2e%2e/etc/passwd",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"} {
			for _, b := range []*browser{fresh, settled, inside} {
				a := b.do(b.request(method, path, ""))
				what := method + " " + path
				secured(t, what, a.header, wantPolicy)
				if a.status >= 500 {
					t.Errorf("%s: status %d", what, a.status)
				}
				if kept := strings.Contains(a.header.Get("Cache-Control"), "no-store"); !kept && !(strings.HasPrefix(path, "/assets/") && a.status == 200) {
					t.Errorf("%s: Cache-Control is %q", what, a.header.Get("Cache-Control"))
				}
				if a.status >= 400 && method != "HEAD" && a.header.Get("Content-Type") != "text/html; charset=utf-8" {
					t.Errorf("%s: status %d is no page but %q", what, a.status, a.header.Get("Content-Type"))
				}
				harmless(t, a)
			}
		}
	}
}

func TestConsentNamesWhereItsFormMayLead(t *testing.T) {
	for source, want := range map[string]string{
		"https://claude.ai": " https://claude.ai", "http://localhost:53682": " http://localhost:53682", "http://127.0.0.1:1": " http://127.0.0.1:1",
		"cursor:": " cursor:", "com.example.app:": " com.example.app:",
		// What no source expression can say, or what would change the policy around it.
		"http://[::1]:53682": "", "": "", "https:": "", "http:": "", "javascript:": "", "data:": "", "*": "", "'unsafe-inline'": "",
		"https://a.example; script-src *": "", "https://a.example https://b.example": "", "https://a.example\nX: y": "", "https://*.example": "", "https://a.example/": "",
	} {
		r := request()
		r.Destination.Source = source
		policy := strings.Replace(wantPolicy, "form-action 'self'", "form-action 'self'"+want, 1)
		secured(t, "source "+source, drawn(t, r).wants(http.StatusOK).header, policy)
		r.Error = oauth.NoWorkspace
		secured(t, "refused, source "+source, drawn(t, r).wants(http.StatusUnprocessableEntity).header, policy)
	}
}

func TestHTTPSIsMadeToStay(t *testing.T) {
	for public, want := range map[string]string{"https://osfoundry.example": "max-age=31536000", "http://192.168.1.5:8787": ""} {
		mux := http.NewServeMux()
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		b := newBrowser(t, &house{}, mux, server.URL, public, nil)
		if got := b.get("/sign-in").header.Get("Strict-Transport-Security"); got != want {
			t.Errorf("%s: Strict-Transport-Security is %q, want %q", public, got, want)
		}
		warned := strings.Contains(b.signedIn().get("/").text, "Assistants in the cloud")
		if plain := want == ""; warned != plain {
			t.Errorf("%s: says that the cloud cannot reach it: %v, want %v", public, warned, plain)
		}
	}
}

func TestFormsComeFromOurOwnPagesOnly(t *testing.T) {
	h := &house{}
	b := serve(t, h, nil)
	form := url.Values{"email": {"m@a.example"}, "password": {"x"}}.Encode()
	for name, c := range map[string]struct {
		origin, site string
		want         int
	}{
		"our page":                 {b.base, "same-origin", 303},
		"our page, old browser":    {b.base, "", 303},
		"a script":                 {"", "", 303},
		"another site":             {"https://evil.example", "cross-site", 403},
		"another site, no Origin":  {"", "cross-site", 403},
		"a sibling":                {"", "same-site", 403},
		"a sandboxed frame":        {"null", "cross-site", 403},
		"null and nothing else":    {"null", "", 403},
		"Origin that looks alike":  {b.base + ".evil.example", "", 403},
		"another port of our host": {"http://127.0.0.1:1", "same-site", 403},
	} {
		for _, path := range []string{"/sign-in", "/setup", "/sign-out", "/invitation?token=x"} {
			r := b.request(http.MethodPost, path, form)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			if c.site != "" {
				r.Header.Set("Sec-Fetch-Site", c.site)
			}
			if got := b.do(r).status; path == "/sign-in" && got != c.want || (got == 403) != (c.want == 403) {
				t.Errorf("%s, POST %s: status %d, want %d", name, path, got, c.want)
			}
			b.client.Jar.SetCookies(r.URL, []*http.Cookie{{Name: "session", Path: "/", MaxAge: -1}})
		}
	}
	if page := serve(t, h, nil).get("/sign-in"); attribute(page.one("meta[name=referrer]"), "content") != "same-origin" {
		t.Error("browsers would send Origin: null with our own forms")
	}
}

func TestBodiesThatAreNoFormAreRefused(t *testing.T) {
	h := &house{}
	b := serve(t, h, nil)
	const urlencoded = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		kind, body string
		want       int
	}{
		"JSON":               {"application/json", `{"email":"m@a.example","password":"x"}`, 415},
		"plain text":         {"text/plain", "email=m@a.example&password=x", 415},
		"no type":            {"", "email=m@a.example&password=x", 415},
		"multipart":          {"multipart/form-data; boundary=x", "--x--", 415},
		"a bad escape":       {urlencoded, "email=%zz&password=x", 400},
		"a semicolon":        {urlencoded, "email=a;password=x", 400},
		"a field twice":      {urlencoded, "email=a&email=b&password=x", 400},
		"NUL":                {urlencoded, "email=a%00&password=x", 400},
		"no UTF-8":           {urlencoded, "email=%ff&password=x", 400},
		"NUL in a name":      {urlencoded, "email=a&password=x&a%00=1", 400},
		"too much":           {urlencoded, "email=a&password=" + strings.Repeat("x", maxForm), 413},
		"5 MiB":              {urlencoded, "email=" + strings.Repeat("x", 5<<20), 413},
		"an upper-case type": {"Application/X-WWW-Form-Urlencoded; charset=UTF-8", "email=a&password=x", 303},
		"an empty body":      {urlencoded, "", 422},
	} {
		h.signIn = workspace.SignIn{}
		r := b.request(http.MethodPost, "/sign-in", c.body)
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		a := b.do(r)
		if a.status != c.want {
			t.Errorf("%s: status %d, want %d", name, a.status, c.want)
		}
		if asked := h.signIn != (workspace.SignIn{}); asked != (c.want == 303) {
			t.Errorf("%s: the accounts were asked: %v", name, asked)
		}
	}
}

func TestMethodsThatAPageDoesNotHaveAreNamed(t *testing.T) {
	b := serve(t, &house{}, nil)
	for path, allow := range map[string]string{
		"/": "GET, HEAD", "/assets/auth.css": "GET, HEAD", "/setup": "GET, HEAD, POST", "/sign-in": "GET, HEAD, POST",
		"/sign-out": "GET, HEAD, POST", "/invitation": "GET, HEAD, POST",
	} {
		for _, method := range []string{"PUT", "DELETE", "PATCH", "OPTIONS"} {
			a := b.do(b.request(method, path, "")).wants(http.StatusMethodNotAllowed)
			if got := a.header.Get("Allow"); got != allow {
				t.Errorf("%s %s: Allow is %q, want %q", method, path, got, allow)
			}
		}
	}
	b.post("/").wants(http.StatusMethodNotAllowed)
	b.post("/nothing").wants(http.StatusNotFound)
}

func TestHEADAnswersLikeGETWithoutABody(t *testing.T) {
	b := serve(t, &house{}, nil)
	for _, path := range []string{"/sign-in", "/nothing", "/assets/auth.css"} {
		get, head := b.get(path), b.do(b.request(http.MethodHead, path, ""))
		if head.status != get.status || head.text != "" || head.header.Get("Content-Length") != get.header.Get("Content-Length") {
			t.Errorf("%s: HEAD %d %q, GET %d %q", path, head.status, head.header.Get("Content-Length"), get.status, get.header.Get("Content-Length"))
		}
	}
}

func TestErrorPagesHaveWordsForEachStatus(t *testing.T) {
	titles := map[string]bool{}
	for _, status := range []int{400, 403, 404, 405, 413, 429, 500, 503} {
		var b *browser
		b = serve(t, &house{}, map[string]http.HandlerFunc{"/draw": func(w http.ResponseWriter, r *http.Request) { b.site.ErrorPage(w, r, status) }})
		a := b.get("/draw").wants(status)
		secured(t, http.StatusText(status), a.header, wantPolicy)
		title := textOf(a.one("h1"))
		if titles[title] || strings.Contains(a.text, "error.") {
			t.Errorf("status %d has the title %q", status, title)
		}
		titles[title] = true
		a.count("a[href=/]", 1)
	}
	for status, like := range map[int]int{418: 400, 415: 400, 502: 500, 511: 500} {
		var b *browser
		b = serve(t, &house{}, map[string]http.HandlerFunc{"/draw": func(w http.ResponseWriter, r *http.Request) { b.site.ErrorPage(w, r, status) }})
		want := map[int]string{400: "This request can’t be read", 500: "Something went wrong on this server"}[like]
		b.get("/draw").wants(status).says("h1", want)
	}
}

func TestAssetsAreKeptUnderTheirVersion(t *testing.T) {
	b := serve(t, &house{}, nil)
	p := b.get("/sign-in")
	links := p.all("link")
	if len(links) != 3 {
		t.Fatalf("%d links, want 3", len(links))
	}
	for _, link := range links {
		href := attribute(link, "href")
		a := b.get(href).wants(http.StatusOK)
		if got := a.header.Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", href, got)
		}
		bare, _, _ := strings.Cut(href, "?")
		stale := b.get(bare + "?v=other").wants(http.StatusOK)
		if got := stale.header.Get("Cache-Control"); got != "no-cache" {
			t.Errorf("%s with another version: Cache-Control %q", bare, got)
		}
		again := b.request(http.MethodGet, href, "")
		again.Header.Set("If-None-Match", a.header.Get("ETag"))
		b.do(again).wants(http.StatusNotModified)
	}
	types := []string{b.get("/assets/auth.css").header.Get("Content-Type"), b.get("/assets/favicon.svg").header.Get("Content-Type")}
	if want := []string{"text/css; charset=utf-8", "image/svg+xml"}; !slices.Equal(types, want) {
		t.Errorf("types %q, want %q", types, want)
	}
}
