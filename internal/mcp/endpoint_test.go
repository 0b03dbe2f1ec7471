package mcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

func TestOtherMethodsThanPOST(t *testing.T) {
	for _, mount := range mounts {
		for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "PATCH", "TRACE", "QUERY"} {
			s := newStage(t)
			tokens := []string{s.token(access.ScopeRead)}
			if strings.Contains(mount, "external") { // there, with or without a token
				tokens = append(tokens, "", unknownToken())
			}
			for _, token := range tokens {
				got := s.do(t, as(request(mount, token, ""), method))
				if got.Status != 405 || got.Header.Get("Allow") != "POST" {
					t.Errorf("%s %s = %d, Allow %q, want 405 and POST", method, mount, got.Status, got.Header.Get("Allow"))
				}
			}
		}
		got := newStage(t).do(t, as(with(request(mount, "", ""), "Origin", origin), "OPTIONS"))
		if got.Status != 204 || got.Raw != "" || got.Header.Get("Access-Control-Allow-Origin") != "*" || got.Header.Get("WWW-Authenticate") != "" {
			t.Errorf("OPTIONS %s = %d %v, want 204 with CORS before the token", mount, got.Status, got.Header)
		}
	}
}

func TestNothingLiesBelowTheMount(t *testing.T) {
	for _, path := range []string{"/mcp/x", "/mcp/.well-known/oauth-protected-resource", "/api/v1/external-mcp/.well-known/oauth-protected-resource", "/mcp//"} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			r := as(request("/mcp", "", ""), method)
			r.URL.Path = path
			w := httptest.NewRecorder()
			s := newStage(t)
			// Past the mux, which would clean the path first.
			h, _ := New(Config{Site: site(t), Path: strings.SplitAfter(path, "mcp")[0], Log: quiet}, s.gate)
			h.ServeHTTP(w, r)
			if w.Code != 404 || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s %s = %d %s, want 404 JSON", method, path, w.Code, w.Header().Get("Content-Type"))
			}
		}
	}
}

func TestForeignHostsAndOriginsAre403(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		for _, mount := range mounts {
			s := newStage(t)
			token := s.token(access.AllScopes)
			call := func() *http.Request { return rpc(version, mount, token, "tools/call", `{"name":"read_note"}`) }
			for _, foreign := range []string{"https://evil.example", "null", "http://127.0.0.1.evil.example", "chrome-extension://x", "http://127.0.0.1:8788", "http://127.0.0.1", ""} {
				r := call()
				r.Header["Origin"] = []string{foreign}
				if got := s.do(t, r); got.Status != 403 || got.Header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("Origin %q = %d, want 403", foreign, got.Status)
				}
				for _, method := range []string{"GET", "OPTIONS", "DELETE"} {
					r := as(call(), method)
					r.Header["Origin"] = []string{foreign}
					if got := s.do(t, r); got.Status != 403 {
						t.Errorf("%s from Origin %q = %d, want 403", method, foreign, got.Status)
					}
				}
			}
			for _, foreign := range []string{"evil.example", "127.0.0.1.evil.example:8787", "127.0.0.1", "localhost:8787", ""} {
				r := call()
				r.Host = foreign
				if got := s.do(t, r); got.Status != 403 {
					t.Errorf("Host %q = %d, want 403", foreign, got.Status)
				}
			}
			if n := s.gate.passed(); n != 0 {
				t.Fatalf("the tool ran %d times for foreign pages", n)
			}
			for _, own := range []string{origin, "https://foundry.example", "http://localhost:6274"} {
				if got := s.do(t, with(call(), "Origin", own)); got.Status != 200 || got.Header.Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("Origin %q = %d, want 200 with CORS", own, got.Status)
				}
			}
		}
	})
}

func TestBodyIsRefusedBeforeItIsRead(t *testing.T) {
	s := newStage(t)
	token := s.token(access.ScopeRead)
	for _, c := range []struct {
		name, contentType, body string
		status, code            int
	}{
		{"text", "text/plain", `{}`, 415, codeInvalidRequest},
		{"form", "application/x-www-form-urlencoded", `a=b`, 415, codeInvalidRequest},
		{"multipart", "multipart/form-data; boundary=x", ``, 415, codeInvalidRequest},
		{"none", "", `{}`, 415, codeInvalidRequest},
		{"large", "application/json", `"` + strings.Repeat("a", 4<<20) + `"`, 413, codeInvalidRequest},
	} {
		for _, mount := range mounts {
			r := request(mount, token, c.body)
			r.Header["Content-Type"] = []string{c.contentType}
			if c.contentType == "" {
				r.Header.Del("Content-Type")
			}
			if got := s.do(t, r); got.Status != c.status || got.code() != c.code || got.ID != nil {
				t.Errorf("%s = %d %s, want %d and %d", c.name, got.Status, got.Raw, c.status, c.code)
			}
		}
	}
}

func TestAnyAcceptIsServed(t *testing.T) {
	s := newStage(t)
	token := s.token(access.ScopeRead)
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream", "application/json, text/event-stream", "text/html"} {
		r := rpc("2025-11-25", "/mcp", token, "tools/list", "")
		r.Header["Accept"] = []string{accept}
		if got := s.do(t, r); got.Status != 200 {
			t.Errorf("Accept %q = %d, want 200", accept, got.Status)
		}
		r.Header.Del("Accept")
		r.Body = io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		r.ContentLength = -1
		if got := s.do(t, r); got.Status != 200 {
			t.Errorf("no Accept = %d, want 200", got.Status)
		}
	}
}

func TestADatabaseThatIsGoneIs503NeverASignIn(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := newStage(t)
		token := s.token(access.AllScopes)
		s.gate.down = true
		for _, mount := range mounts {
			for _, r := range []*http.Request{
				rpc(version, mount, token, "tools/call", `{"name":"read_note"}`),
				rpc(version, mount, token, "tools/list", ""),
				rpc(version, mount, token, "nonsense", ""),
			} {
				got := s.do(t, r)
				if got.Status != 503 || got.Header.Get("Retry-After") != "5" || got.Header.Get("WWW-Authenticate") != "" || got.code() != codeInternal || got.ID != 7.0 {
					t.Errorf("%d %v %s, want 503 with Retry-After and no challenge", got.Status, got.Header, got.Raw)
				}
			}
		}
		if got := s.do(t, as(request("/mcp", token, ""), "GET")); got.Status != 503 {
			t.Errorf("GET = %d, want 503", got.Status)
		}
		if got := s.do(t, rpc(version, "/api/v1/external-mcp", "", "tools/list", "")); got.Status != 200 {
			t.Errorf("the public catalogue = %d, want 200: it needs no database", got.Status)
		}
	})
}

func TestNewRefusesAnIncompleteConfig(t *testing.T) {
	ok := Config{Site: site(t), Path: "/mcp", Log: quiet}
	for name, change := range map[string]func(*Config){
		"no site":        func(c *Config) { c.Site = nil },
		"no log":         func(c *Config) { c.Log = nil },
		"no path":        func(c *Config) { c.Path = "" },
		"slash at end":   func(c *Config) { c.Path = "/mcp/" },
		"relative path":  func(c *Config) { c.Path = "mcp" },
		"bad in version": func(c *Config) { c.Version = "\xff" },
	} {
		c := ok
		change(&c)
		if _, err := New(c, &gate{}); err == nil {
			t.Errorf("%s: New = nil error, want one", name)
		}
	}
	if _, err := New(ok, nil); err == nil {
		t.Error("no gate: New = nil error, want one")
	}
}
