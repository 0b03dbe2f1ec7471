package mcp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

func TestWithoutASignInTheChallengeSaysHow(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		for _, token := range []string{"", unknownToken(), "nonsense", strings.Replace(unknownToken(), "osf_at_", "osf_rt_", 1)} {
			for _, mount := range mounts {
				s := newStage(t)
				got := s.do(t, rpc(version, mount, token, "tools/call", `{"name":"read_note","arguments":{}}`))
				path := strings.TrimSuffix(mount, "/")
				challenge := `Bearer resource_metadata="` + origin + `/.well-known/oauth-protected-resource` + path +
					`", scope="osfoundry:read osfoundry:write osfoundry:run osfoundry:models", error="invalid_token", error_description="Connect osFoundry to continue"`
				if got.Status != 401 || got.Header.Get("WWW-Authenticate") != challenge {
					t.Fatalf("%s with %.10q = %d %q, want 401 %q", mount, token, got.Status, got.Header.Get("WWW-Authenticate"), challenge)
				}
				meta := got.Result["_meta"].(map[string]any)
				if got.ID != 7.0 || got.Result["isError"] != true || fmt.Sprint(meta["mcp/www_authenticate"]) != "["+challenge+"]" {
					t.Errorf("body %s, want a result for id 7 with the challenge", got.Raw)
				}
				if text := got.Result["content"].([]any)[0].(map[string]any)["text"]; text != "Authentication required" {
					t.Errorf("text = %q", text)
				}
				checkComplete(t, version, got)
				if s.gate.passed() != 0 {
					t.Error("the tool ran")
				}
			}
		}
	})
}

func TestSignInFirstMountJudgesTheTokenBeforeAnythingElse(t *testing.T) {
	for _, token := range []string{"", unknownToken()} {
		for name, r := range map[string]*http.Request{
			"initialize":     rpc("2025-11-25", "/mcp", token, "initialize", `{"protocolVersion":"2025-11-25"}`),
			"list":           rpc(stateless, "/mcp", token, "tools/list", ""),
			"discover":       rpc(stateless, "/mcp", token, "server/discover", ""),
			"ping":           rpc("2025-03-26", "/mcp/", token, "ping", ""),
			"unknown method": rpc("2025-03-26", "/mcp", token, "nonsense", ""),
			"bad version":    rpc("1999-01-01", "/mcp", token, "tools/list", ""),
			"notification":   request("/mcp", token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`),
			"bad JSON":       request("/mcp", token, `{`),
			"batch":          request("/mcp", token, `[]`),
			"empty":          request("/mcp", token, ``),
			"large":          request("/mcp", token, `"`+strings.Repeat("a", 5<<20)+`"`),
			"text":           with(request("/mcp", token, `{}`), "Content-Type", "text/plain"),
			"odd accept":     with(request("/mcp", token, `{}`), "Accept", "text/html"),
			"GET":            as(request("/mcp", token, ``), "GET"),
			"HEAD":           as(request("/mcp", token, ``), "HEAD"),
			"DELETE":         as(request("/mcp", token, ``), "DELETE"),
			"PUT":            as(request("/mcp/", token, ``), "PUT"),
			"TRACE":          as(request("/mcp", token, ``), "TRACE"),
		} {
			got := newStage(t).do(t, r)
			if got.Status != 401 || !strings.HasPrefix(got.Header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+origin+`/.well-known/oauth-protected-resource/mcp", scope="`) {
				t.Errorf("%s with token %.10q = %d %q, want 401 with the challenge", name, token, got.Status, got.Header.Get("WWW-Authenticate"))
			}
			if r.Method == "POST" && got.Raw != `{"error":"invalid_token","error_description":"Connect osFoundry to continue"}` {
				t.Errorf("%s: body %s", name, got.Raw)
			}
		}
	}
}

func TestPublicCatalogueNeedsNoToken(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := newStage(t)
		got := s.do(t, rpc(version, "/api/v1/external-mcp", "", "tools/list", ""))
		if tools, _ := got.Result["tools"].([]any); got.Status != 200 || len(tools) != 2 {
			t.Errorf("tools/list = %d %s, want both tools", got.Status, got.Raw)
		}
		greeting := "initialize"
		if version == stateless {
			greeting = "server/discover"
		}
		if got := s.do(t, rpc(version, "/api/v1/external-mcp", "", greeting, "")); got.Status != 200 || got.Result["instructions"] == "" {
			t.Errorf("%s = %d %s", greeting, got.Status, got.Raw)
		}
		if got := s.do(t, rpc(version, "/api/v1/external-mcp", unknownToken(), "tools/list", "")); got.Status != 401 {
			t.Errorf("tools/list with an unknown token = %d, want 401", got.Status)
		}
		if got := s.do(t, rpc(version, "/api/v1/external-mcp", unknownToken(), greeting, "")); got.Status != 401 {
			t.Errorf("%s with an unknown token = %d, want 401", greeting, got.Status)
		}
	})
	s := newStage(t)
	if got := s.do(t, request("/api/v1/external-mcp", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)); got.Status != 202 || got.Raw != "" {
		t.Errorf("a notification = %d %q, want 202 without a body", got.Status, got.Raw)
	}
	if got := s.do(t, request("/api/v1/external-mcp", "", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)); got.Status != 200 {
		t.Errorf("ping = %d, want 200", got.Status)
	}
	if got := s.do(t, request("/api/v1/external-mcp", "", `{`)); got.Status != 400 || got.code() != codeParse {
		t.Errorf("bad JSON = %d %s, want 400", got.Status, got.Raw)
	}
}

func TestACallWithoutATokenIs401WhateverElseIsWrong(t *testing.T) {
	for name, r := range map[string]*http.Request{
		"unknown tool":    rpc("2025-11-25", "/api/v1/external-mcp", "", "tools/call", `{"name":"no_such_tool"}`),
		"no name":         rpc("2025-11-25", "/api/v1/external-mcp", "", "tools/call", `{}`),
		"unknown version": rpc("2099-01-01", "/api/v1/external-mcp", "", "tools/call", `{"name":"read_note"}`),
		"headers differ":  with(rpc(stateless, "/api/v1/external-mcp", "", "tools/call", `{"name":"read_note"}`), "Mcp-Name", "x"),
		"no id":           request("/api/v1/external-mcp", "", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_note"}}`),
		"params":          request("/api/v1/external-mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`),
	} {
		s := newStage(t)
		if got := s.do(t, r); got.Status != 401 || got.Result["isError"] != true {
			t.Errorf("%s = %d %s, want 401", name, got.Status, got.Raw)
		}
	}
}

func TestMissingScopeIs403WithTheUnion(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := newStage(t)
		got := s.do(t, rpc(version, "/mcp", s.token(access.ScopeRead|access.ScopeRun), "tools/call", `{"name":"edit_note"}`))
		challenge := got.Header.Get("WWW-Authenticate")
		want := `Bearer resource_metadata="` + origin + `/.well-known/oauth-protected-resource/mcp", scope="osfoundry:read osfoundry:write osfoundry:run", error="insufficient_scope", error_description="`
		if got.Status != 403 || !strings.HasPrefix(challenge, want) {
			t.Fatalf("%d %q, want 403 %s…", got.Status, challenge, want)
		}
		if got.ID != 7.0 || got.Result["isError"] != true || fmt.Sprint(got.Result["_meta"].(map[string]any)["mcp/www_authenticate"]) != "["+challenge+"]" {
			t.Errorf("body %s, want a result with the same challenge", got.Raw)
		}
		if structure := got.Result["structuredContent"].(map[string]any); structure["code"] != "insufficient_scope" || structure["scope"] != "osfoundry:read osfoundry:write osfoundry:run" {
			t.Errorf("structuredContent = %v", structure)
		}
		checkComplete(t, version, got)
		if s.gate.passed() != 0 {
			t.Error("the tool ran")
		}
	})
}

func TestChallengeNamesTheAddressTheClientUsed(t *testing.T) {
	r := rpc(stateless, "/mcp", "", "tools/list", "")
	r.Host = "foundry.example"
	r.Header.Set("X-Forwarded-Host", "evil.example")
	r.Header.Set("X-Forwarded-Proto", "http")
	got := newStage(t).do(t, r)
	if c := got.Header.Get("WWW-Authenticate"); !strings.Contains(c, `resource_metadata="https://foundry.example/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("challenge %q, want the public address with this host", c)
	}
}

func TestTokenIsReadFromOneHeaderOnly(t *testing.T) {
	s := newStage(t)
	token := s.token(access.ScopeRead)
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"as it should be":   {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }, 200},
		"lower case scheme": {func(r *http.Request) { r.Header.Set("Authorization", "bearer "+token) }, 200},
		"query":             {func(r *http.Request) { r.URL.RawQuery = "access_token=" + token }, 401},
		"cookie":            {func(r *http.Request) { r.Header.Set("Cookie", "access_token="+token) }, 401},
		"other header":      {func(r *http.Request) { r.Header.Set("X-Api-Key", token) }, 401},
		"no scheme":         {func(r *http.Request) { r.Header.Set("Authorization", token) }, 401},
		"other scheme":      {func(r *http.Request) { r.Header.Set("Authorization", "Basic "+token) }, 401},
		"two headers":       {func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + token, "Bearer " + token} }, 401},
		"two tokens":        {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+", Bearer "+token) }, 401},
		"wrong checksum":    {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token[:len(token)-1]+"_") }, 401},
		"something behind":  {func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+" x") }, 401},
	} {
		for _, method := range []string{"tools/call", "tools/list"} {
			r := rpc("2025-11-25", "/mcp", "", method, `{"name":"read_note"}`)
			c.change(r)
			got := s.do(t, r)
			if got.Status != c.want {
				t.Errorf("%s, %s = %d, want %d", name, method, got.Status, c.want)
			}
			if strings.Contains(got.Raw, token[10:]) {
				t.Errorf("%s: the answer repeats the token", name)
			}
		}
	}
}

func TestManyBadTokensOfOneAddressAre429(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := newStage(t, func(c *Config) { c.BadTokens = guard.PerMinute(1000, func() time.Time { return now }) })
	good := s.token(access.ScopeRead)
	for i := range 1000 {
		if got := s.do(t, rpc("2025-11-25", "/mcp", unknownToken(), "tools/call", `{"name":"read_note"}`)); got.Status != 401 {
			t.Fatalf("bad token %d = %d, want 401", i+1, got.Status)
		}
	}
	now = now.Add(20 * time.Second)
	for _, r := range []*http.Request{
		rpc("2025-11-25", "/mcp", unknownToken(), "tools/call", `{"name":"read_note"}`),
		rpc(stateless, "/mcp", "nonsense", "tools/list", ""),
		as(request("/mcp", unknownToken(), ""), "GET"),
	} {
		if got := s.do(t, r); got.Status != 429 || got.Header.Get("Retry-After") != "40" {
			t.Errorf("%s = %d after %q, want 429 after 40 s", r.Method, got.Status, got.Header.Get("Retry-After"))
		}
	}
	if got := s.do(t, rpc("2025-11-25", "/mcp", good, "tools/call", `{"name":"read_note"}`)); got.Status != 200 {
		t.Errorf("a good token of the same address = %d, want 200", got.Status)
	}
	if got := s.do(t, rpc("2025-11-25", "/mcp", "", "tools/list", "")); got.Status != 401 {
		t.Errorf("no token from the same address = %d, want 401", got.Status)
	}
	other := rpc("2025-11-25", "/mcp", unknownToken(), "tools/list", "")
	other.RemoteAddr = "198.51.100.7:1"
	if got := s.do(t, other); got.Status != 401 {
		t.Errorf("a bad token of another address = %d, want 401", got.Status)
	}
}

func TestOpenAISwitchChangesTheStatusOnly(t *testing.T) {
	call := func(userAgent, client string) *http.Request {
		r := rpc("2025-11-25", "/mcp", "", "tools/call", `{"name":"read_note"`+client+`}`)
		r.Header.Set("User-Agent", userAgent)
		return r
	}
	inMeta := `,"_meta":{"` + metaClientInfo + `":{"name":"openai-mcp","version":"1"}}`
	for _, on := range []bool{false, true} {
		s := newStage(t, func(c *Config) { c.OpenAIStatusOK = on })
		for name, c := range map[string]struct {
			r     *http.Request
			known bool
		}{
			"user agent":    {call("openai-mcp/1.0.0", ""), true},
			"client's name": {call("x", inMeta), true},
			"another":       {call("claude-code/2", ""), false},
			"in the middle": {call("x openai-mcp/1", ""), false},
			"list":          {with(rpc("2025-11-25", "/mcp", "", "tools/list", ""), "User-Agent", "openai-mcp/1"), false},
			"bad token":     {with(rpc("2025-11-25", "/mcp", unknownToken(), "tools/call", `{"name":"read_note"}`), "User-Agent", "openai-mcp/1"), false},
		} {
			want := 401
			if on && c.known {
				want = 200
			}
			got := s.do(t, c.r)
			if got.Status != want || got.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("switch %v, %s: %d %q, want %d with the challenge", on, name, got.Status, got.Header.Get("WWW-Authenticate"), want)
			}
			if c.known && got.Result["isError"] != true {
				t.Errorf("switch %v, %s: %s, want a result with isError", on, name, got.Raw)
			}
			c.r.Body = io.NopCloser(bytes.NewReader(nil))
		}
		got := s.do(t, with(rpc("2025-11-25", "/mcp", s.token(access.ScopeRead), "tools/call", `{"name":"edit_note"}`), "User-Agent", "openai-mcp/1"))
		if got.Status != 403 {
			t.Errorf("switch %v: a missing scope = %d, want 403", on, got.Status)
		}
	}
}
