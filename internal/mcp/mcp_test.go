package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/tool"
)

// stage is an endpoint on both mounts before a gate of the test's own.
type stage struct {
	http.Handler
	gate *gate
}

// gate stands in for the catalogue: its tokens have scopes and nothing else.
type gate struct {
	mu     sync.Mutex
	tokens map[access.TokenHash]access.Scopes
	calls  []tool.Call // that passed
	down   bool        // the database is gone
}

func (g *gate) Identify(_ context.Context, token access.TokenHash) (access.Principal, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.down {
		return access.Principal{}, access.Refuse(access.Unavailable, "The database is gone.").Because(io.ErrUnexpectedEOF)
	}
	scopes, ok := g.tokens[token]
	if !ok {
		return access.Principal{}, access.Refuse(access.InvalidToken, "Connect osFoundry to continue")
	}
	return access.Principal{Credential: access.CredentialAccessToken, Scopes: scopes, ConnectionID: "connection"}, nil
}

func (g *gate) List(scopes access.Scopes) []byte {
	list := []string{}
	if scopes.Has(access.ScopeRead) {
		list = append(list, `{"name":"read_note","inputSchema":{"type":"object"}}`)
	}
	if scopes.Has(access.ScopeWrite) {
		list = append(list, `{"name":"edit_note","inputSchema":{"type":"object"}}`)
	}
	return []byte("[" + strings.Join(list, ",") + "]")
}

func (g *gate) Call(ctx context.Context, c tool.Call) ([]byte, error) {
	who, err := g.Identify(ctx, c.Token)
	if err != nil {
		return nil, err
	}
	switch c.Name {
	case "read_note":
	case "edit_note":
		if err := access.NeedScopes(who, access.ScopeWrite); err != nil {
			return nil, err
		}
	case "denied":
		return nil, access.Refuse(access.VersionConflict, "It is \"newer\" now.").With("current_version", 7).With("diff", "-a\n+b").Because(io.EOF)
	case "limited":
		return nil, access.Refuse(access.RateLimited, "Too many calls.").With("retry_after_ms", 1500)
	case "panics":
		panic("secret of the inside")
	case "fails":
		return nil, fmt.Errorf("secret of the inside")
	case "odd detail":
		return nil, access.Refuse(access.NotFound, "There is none.").With("f", func() {})
	default:
		return nil, tool.ErrUnknown
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = append(g.calls, c)
	return []byte(`{"echo":` + string(either(c.Arguments, "null")) + `,"text":"a \"quoted\" line\n"}`), nil
}

func either(v []byte, other string) []byte {
	if v == nil {
		return []byte(other)
	}
	return v
}

func (g *gate) passed() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.calls)
}

var quiet = slog.New(slog.DiscardHandler)

const origin = "http://127.0.0.1:8787"

func newStage(t testing.TB, change ...func(*Config)) *stage {
	t.Helper()
	site, err := guard.NewSite(guard.SiteConfig{PublicURLs: []string{origin, "https://foundry.example"}, Origins: []string{"http://localhost:6274"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{gate: &gate{tokens: map[access.TokenHash]access.Scopes{}}}
	mux := http.NewServeMux()
	for _, c := range []Config{{Path: "/mcp"}, {Path: "/api/v1/external-mcp", PublicCatalogue: true}} {
		c.Site, c.Version, c.Log = site, "1.2.3", quiet
		for _, f := range change {
			f(&c)
		}
		h, err := New(c, s.gate)
		if err != nil {
			t.Fatal(err)
		}
		mux.Handle(c.Path, h)
		mux.Handle(c.Path+"/", h)
	}
	s.Handler = mux
	return s
}

// token makes a token that the gate knows.
func (s *stage) token(scopes access.Scopes) string {
	token, hash := access.MintToken(access.TokenAccess)
	s.gate.mu.Lock()
	defer s.gate.mu.Unlock()
	s.gate.tokens[hash] = scopes
	return token
}

// unknownToken is well made, but not of this server.
func unknownToken() string {
	token, _ := access.MintToken(access.TokenAccess)
	return token
}

// request makes a POST as a well-behaved client sends it.
func request(path, token, body string) *http.Request {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Host = strings.TrimPrefix(origin, "http://")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// rpc makes a sound request of the version; params is a JSON object or "".
func rpc(version, path, token, method, params string) *http.Request {
	if version == stateless {
		meta := `{"_meta":{"` + metaVersion + `":"` + stateless + `","` + metaCapabilities + `":{}}`
		if rest := strings.TrimPrefix(params, "{"); rest == "" || rest == "}" {
			params = meta + "}"
		} else {
			params = meta + "," + rest
		}
	}
	body := `{"jsonrpc":"2.0","id":7,"method":"` + method + `"`
	if params != "" {
		body += `,"params":` + params
	}
	r := request(path, token, body+"}")
	r.Header.Set("MCP-Protocol-Version", version)
	if version == stateless {
		r.Header.Set("Mcp-Method", method)
		var p struct {
			Params struct{ Name string }
		}
		if json.Unmarshal([]byte(body+"}"), &p) == nil && p.Params.Name != "" {
			r.Header.Set("Mcp-Name", p.Params.Name)
		}
	}
	return r
}

type reply struct {
	Status  int
	Header  http.Header
	Raw     string
	JSONRPC string `json:"jsonrpc"`
	ID      any    `json:"id"`
	Result  map[string]any
	Error   *struct {
		Code    int
		Message string
		Data    map[string]any
	}
}

// do sends the request and checks what holds for every answer.
func (s *stage) do(t testing.TB, r *http.Request) reply {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	got := reply{Status: w.Code, Header: w.Header(), Raw: w.Body.String()}
	if w.Body.Len() > 0 && json.Unmarshal(w.Body.Bytes(), &got) != nil {
		// The owner API's and OAuth's errors have a string or another object there.
		var any map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &any); err != nil {
			t.Fatalf("answer %q is not JSON: %v", w.Body, err)
		}
		got.Error = nil
	}
	if w.Body.Len() > 0 && w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("Content-Type = %q, want application/json", w.Header().Get("Content-Type"))
	}
	if l := w.Header().Get("Content-Length"); w.Body.Len() > 0 && l != fmt.Sprint(w.Body.Len()) {
		t.Errorf("Content-Length = %q for %d bytes", l, w.Body.Len())
	}
	if w.Header().Get("Cache-Control") != "no-store" && r.Method != "OPTIONS" {
		t.Errorf("Cache-Control = %q, want no-store", w.Header().Get("Cache-Control"))
	}
	if strings.Contains(got.Raw, "secret of the inside") || w.Header().Get("Mcp-Session-Id") != "" {
		t.Errorf("answer tells too much: %s", got.Raw)
	}
	return got
}

func (r reply) code() int {
	if r.Error == nil {
		return 0
	}
	return r.Error.Code
}

var mounts = []string{"/mcp", "/mcp/", "/api/v1/external-mcp", "/api/v1/external-mcp/"}

func eachVersion(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { f(t, v) })
	}
}

func TestToolCallAnswersTheSameAsTextAndStructure(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		for _, mount := range mounts {
			s := newStage(t)
			got := s.do(t, rpc(version, mount, s.token(access.ScopeRead), "tools/call", `{"name":"read_note","arguments":{"tab_id":"ä\\\"\u0001"}}`))
			if got.Status != 200 || got.JSONRPC != "2.0" || got.ID != 7.0 || got.Error != nil {
				t.Fatalf("%s: %d %s, want a result for id 7", mount, got.Status, got.Raw)
			}
			text := got.Result["content"].([]any)[0].(map[string]any)["text"].(string)
			var fromText, structure any = nil, got.Result["structuredContent"]
			if err := json.Unmarshal([]byte(text), &fromText); err != nil || fmt.Sprint(fromText) != fmt.Sprint(structure) {
				t.Errorf("text %s is not structuredContent %v: %v", text, structure, err)
			}
			if echo := structure.(map[string]any)["echo"]; fmt.Sprint(echo) != "map[tab_id:ä\\\"\x01]" {
				t.Errorf("the tool got the arguments %q", echo)
			}
			if _, there := got.Result["isError"]; there {
				t.Errorf("a success carries isError: %s", got.Raw)
			}
			checkComplete(t, version, got)
		}
	})
}

// checkComplete checks what 2026-07-28 adds to a result, and that others lack it.
func checkComplete(t *testing.T, version string, got reply) {
	t.Helper()
	meta, _ := got.Result["_meta"].(map[string]any)
	if version != stateless {
		if _, there := got.Result["resultType"]; there {
			t.Errorf("%s: a result has resultType: %s", version, got.Raw)
		}
		return
	}
	if got.Result["resultType"] != "complete" || fmt.Sprint(meta[metaServerInfo]) != "map[name:osfoundry version:1.2.3]" {
		t.Errorf("result %s lacks resultType or the server's name", got.Raw)
	}
}

func TestToolRefusalIsAResultThatSaysWhy(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := newStage(t)
		token := s.token(access.ScopeRead)
		for name, want := range map[string]string{
			"denied":     `{"code":"version_conflict","message":"It is \"newer\" now.","current_version":7,"diff":"-a\n+b"}`,
			"limited":    `{"code":"rate_limited","message":"Too many calls.","retry_after_ms":1500}`,
			"panics":     `{"code":"internal","message":"` + internalText + `"}`,
			"fails":      `{"code":"internal","message":"` + internalText + `"}`,
			"odd detail": `{"code":"not_found","message":"There is none."}`,
		} {
			got := s.do(t, rpc(version, "/mcp", token, "tools/call", `{"name":"`+name+`"}`))
			if got.Status != 200 || got.Result["isError"] != true {
				t.Errorf("%s: %d %s, want 200 with isError", name, got.Status, got.Raw)
				continue
			}
			if text := got.Result["content"].([]any)[0].(map[string]any)["text"]; text != want || !strings.Contains(got.Raw, `"structuredContent":`+want) {
				t.Errorf("%s: %s, want %s as text and structure", name, got.Raw, want)
			}
			checkComplete(t, version, got)
		}
	})
}

func TestArgumentsReachTheGateAsWritten(t *testing.T) {
	for params, want := range map[string]string{
		`{"name":"read_note"}`:                                              "",
		`{"name":"read_note","arguments":null}`:                             "",
		`{"name":"read_note","arguments":{ "n":1.0, "m":1E2 }}`:             `{ "n":1.0, "m":1E2 }`,
		`{"arguments":[1],"name":"read_note"}`:                              `[1]`,
		`{"name":"read_\u006eote","arguments":{"a":"\u00e9"},"other":[{}]}`: `{"a":"\u00e9"}`,
		`{"\u006eame":"read_note","arguments":"x"}`:                         `"x"`,
	} {
		s := newStage(t)
		got := s.do(t, rpc("2025-11-25", "/mcp", s.token(access.ScopeRead), "tools/call", params))
		if got.Status != 200 || s.gate.passed() != 1 {
			t.Errorf("%s: %d %s, want the tool to run", params, got.Status, got.Raw)
			continue
		}
		if c := s.gate.calls[0]; c.Name != "read_note" || string(c.Arguments) != want {
			t.Errorf("%s: the gate got %s with %q, want %q", params, c.Name, c.Arguments, want)
		}
	}
}

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

func with(r *http.Request, name, value string) *http.Request {
	r.Header.Set(name, value)
	return r
}

func as(r *http.Request, method string) *http.Request {
	r.Method = method
	return r
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

func TestListDependsOnTheScopesAlone(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := newStage(t)
		for scopes, want := range map[access.Scopes]int{access.ScopeRead: 1, access.ScopeRead | access.ScopeWrite: 2} {
			got := s.do(t, rpc(version, "/mcp", s.token(scopes), "tools/list", ""))
			if tools, _ := got.Result["tools"].([]any); got.Status != 200 || len(tools) != want {
				t.Errorf("scopes %s: %d %s, want %d tools", scopes, got.Status, got.Raw, want)
			}
			if _, more := got.Result["nextCursor"]; more {
				t.Error("the list has a second page")
			}
			checkComplete(t, version, got)
			checkCache(t, version, got, "private")
		}
		checkCache(t, version, s.do(t, rpc(version, "/api/v1/external-mcp", "", "tools/list", "")), "public")
		got := s.do(t, rpc(version, "/mcp", s.token(access.ScopeRead), "tools/list", `{"cursor":"x"}`))
		want := 200
		if version == stateless {
			want = 400
		}
		if got.Status != want || got.code() != codeInvalidParams {
			t.Errorf("a made-up cursor = %d %s, want %d and -32602", got.Status, got.Raw, want)
		}
	})
}

func checkCache(t *testing.T, version string, got reply, scope string) {
	t.Helper()
	if version != stateless {
		if _, there := got.Result["ttlMs"]; there {
			t.Errorf("%s has ttlMs", version)
		}
		return
	}
	if got.Result["cacheScope"] != scope || got.Result["ttlMs"] != 300000.0 {
		t.Errorf("cacheScope %v, ttlMs %v, want %s for 5 minutes", got.Result["cacheScope"], got.Result["ttlMs"], scope)
	}
}

func TestInitializeNegotiatesDown(t *testing.T) {
	s := newStage(t)
	token := s.token(access.ScopeRead)
	for asked, want := range map[string]string{
		`"2025-03-26"`: "2025-03-26",
		`"2025-06-18"`: "2025-06-18",
		`"2025-11-25"`: "2025-11-25",
		`"2026-07-28"`: "2025-11-25",
		`"2099-01-01"`: "2025-11-25",
		`"2025-09-09"`: "2025-06-18",
		`"2024-11-05"`: "2025-11-25",
		`"nonsense"`:   "2025-11-25",
		`""`:           "2025-11-25",
	} {
		for _, header := range []string{"", "2025-06-18", "2026-07-28", "2024-11-05", "nonsense"} {
			r := request("/mcp", token, `{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":`+asked+`,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
			if header != "" {
				r.Header.Set("MCP-Protocol-Version", header)
			}
			got := s.do(t, r)
			if got.Status != 200 || got.Result["protocolVersion"] != want {
				t.Errorf("asked for %s under header %q: %d %s, want %s", asked, header, got.Status, got.Raw, want)
			}
			if fmt.Sprint(got.Result["serverInfo"], got.Result["capabilities"]) != "map[name:osfoundry version:1.2.3] map[tools:map[]]" || got.Result["instructions"] != instructions {
				t.Errorf("initialize = %s", got.Raw)
			}
		}
	}
	if got := s.do(t, request("/mcp", token, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`)); got.code() != codeInvalidParams {
		t.Errorf("a version that is a number = %s, want -32602", got.Raw)
	}
}

func TestUnknownMethods(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		s := newStage(t)
		methods := []string{"nonsense", "prompts/list", "resources/list", "resources/subscribe", "logging/setLevel", "completion/complete",
			"subscriptions/listen", "tools/Call", "TOOLS/LIST", "notifications/initialized", "tools/list "}
		want := 200
		if version == stateless {
			want = 404
			methods = append(methods, "initialize", "ping")
		} else {
			methods = append(methods, "server/discover")
		}
		for _, method := range methods {
			got := s.do(t, rpc(version, "/mcp", s.token(access.ScopeRead), method, ""))
			if got.Status != want || got.code() != codeUnknownMethod || got.ID != 7.0 {
				t.Errorf("%q = %d %s, want %d and -32601 for id 7", method, got.Status, got.Raw, want)
			}
		}
	})
}

func TestUnknownToolIsInvalidParams(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		want := 200
		if version == stateless {
			want = 400
		}
		for _, params := range []string{`{"name":"no_such_tool"}`, `{"name":"Read_note"}`, `{"name":"read_note "}`, `{"name":""}`, `{}`, `{"name":5}`, `{"name":null}`, `{"name":"` + strings.Repeat("x", 9000) + `"}`} {
			s := newStage(t)
			r := rpc(version, "/mcp", s.token(access.ScopeRead), "tools/call", params)
			if params == `{"name":""}` {
				r.Header["Mcp-Name"] = []string{""}
			}
			if got := s.do(t, r); got.Status != want || got.code() != codeInvalidParams || len(got.Raw) > 400 {
				t.Errorf("%.60s = %d %s, want %d and -32602", params, got.Status, got.Raw, want)
			}
			if s.gate.passed() != 0 {
				t.Errorf("%.60s ran", params)
			}
		}
	})
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

func site(t testing.TB) *guard.Site {
	t.Helper()
	s, err := guard.NewSite(guard.SiteConfig{PublicURLs: []string{origin}})
	if err != nil {
		t.Fatal(err)
	}
	return s
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

func TestShapeOfMessages(t *testing.T) {
	const call = `"method":"tools/call","params":{"name":"read_note"}`
	for _, c := range []struct {
		name, body string
		code       int
		id         any
	}{
		{"not JSON", `{"jsonrpc":"2.0","id":1,` + call, codeParse, nil},
		{"empty", ``, codeParse, nil},
		{"trailing value", `{"jsonrpc":"2.0","id":1,` + call + `} {}`, codeParse, nil},
		{"member twice", `{"jsonrpc":"2.0","id":1,"method":"ping",` + call + `}`, codeParse, nil},
		{"name twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","name":"read_note"}}`, codeParse, nil},
		{"argument twice", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"a":1,"a":2}}}`, codeParse, nil},
		{"argument twice, deep", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"a":[{"b":1,"b":2}]}}}`, codeParse, nil},
		{"escaped member twice", `{"jsonrpc":"2.0","id":1,"m\u0065thod":"ping",` + call + `}`, codeParse, nil},
		{"NUL in a member's name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","name\u0000":"x"}}`, codeParse, nil},
		{"NUL in an argument", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"a":"\u0000"}}}`, codeParse, nil},
		{"lone surrogate", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"a":"\ud800"}}}`, codeParse, nil},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read_note\",\"arguments\":{\"a\":\"\xff\"}}}", codeParse, nil},
		{"deep", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"a":` + strings.Repeat("[", 62) + strings.Repeat("]", 62) + `}}}`, codeParse, nil},
		{"null", `null`, codeInvalidRequest, nil},
		{"string", `"x"`, codeInvalidRequest, nil},
		{"number", `1`, codeInvalidRequest, nil},
		{"batch", `[{"jsonrpc":"2.0","id":1,` + call + `}]`, codeInvalidRequest, nil},
		{"empty batch", `[]`, codeInvalidRequest, nil},
		{"large batch", `[` + strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"},`, 20_000) + `1]`, codeInvalidRequest, nil},
		{"empty object", `{}`, codeInvalidRequest, nil},
		{"no version", `{"id":1,` + call + `}`, codeInvalidRequest, 1.0},
		{"version 1.0", `{"jsonrpc":"1.0","id":1,` + call + `}`, codeInvalidRequest, 1.0},
		{"version is a number", `{"jsonrpc":2.0,"id":1,` + call + `}`, codeInvalidRequest, 1.0},
		{"id is a fraction", `{"jsonrpc":"2.0","id":1.5,` + call + `}`, codeInvalidRequest, nil},
		{"id has an exponent", `{"jsonrpc":"2.0","id":1e3,` + call + `}`, codeInvalidRequest, nil},
		{"id is whole, but written as a fraction", `{"jsonrpc":"2.0","id":1.0,` + call + `}`, codeInvalidRequest, nil},
		{"id is null", `{"jsonrpc":"2.0","id":null,` + call + `}`, codeInvalidRequest, nil},
		{"id is an object", `{"jsonrpc":"2.0","id":{},` + call + `}`, codeInvalidRequest, nil},
		{"id is an array", `{"jsonrpc":"2.0","id":[1],` + call + `}`, codeInvalidRequest, nil},
		{"id is true", `{"jsonrpc":"2.0","id":true,` + call + `}`, codeInvalidRequest, nil},
		{"id is endless", `{"jsonrpc":"2.0","id":` + strings.Repeat("9", 400) + `,` + call + `}`, codeInvalidRequest, nil},
		{"no method", `{"jsonrpc":"2.0","id":1}`, codeInvalidRequest, 1.0},
		{"empty method", `{"jsonrpc":"2.0","id":1,"method":""}`, codeInvalidRequest, 1.0},
		{"method is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, codeInvalidRequest, 1.0},
		{"method is null", `{"jsonrpc":"2.0","id":1,"method":null}`, codeInvalidRequest, 1.0},
		{"Method", `{"jsonrpc":"2.0","id":1,"Method":"tools/call"}`, codeInvalidRequest, 1.0},
		{"METHOD beside method", `{"jsonrpc":"2.0","id":1,"METHOD":"ping",` + call + `}`, codeInvalidRequest, 1.0},
		{"paramſ", `{"jsonrpc":"2.0","id":1,"method":"ping","param` + "\u017F" + `":{}}`, codeInvalidRequest, 1.0},
		{"Name beside name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","Name":"x"}}`, codeInvalidRequest, 1.0},
		{"ARGUMENTS", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","ARGUMENTS":{}}}`, codeInvalidRequest, 1.0},
		{"escaped Name", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","\u004eame":"x"}}`, codeInvalidRequest, 1.0},
		{"params is an array", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, codeInvalidRequest, 1.0},
		{"params is a string", `{"jsonrpc":"2.0","id":"q","method":"tools/list","params":"x"}`, codeInvalidRequest, "q"},
		{"_meta is an array", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":[]}}`, codeInvalidRequest, 1.0},
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{}}`, codeInvalidRequest, 1.0},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, codeInvalidRequest, 1.0},
		{"a result beside a method", `{"jsonrpc":"2.0","id":1,"result":{},` + call + `}`, codeInvalidRequest, 1.0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, version := range append([]string{""}, versions...) {
				s := newStage(t)
				r := request("/mcp", s.token(access.AllScopes), c.body)
				if version != "" {
					r.Header.Set("MCP-Protocol-Version", version)
				}
				got := s.do(t, r)
				if got.Status != 400 || got.code() != c.code || got.ID != c.id || got.JSONRPC != "2.0" {
					t.Errorf("version %q: %d %s, want 400 and %d for id %v", version, got.Status, got.Raw, c.code, c.id)
				}
				if s.gate.passed() != 0 {
					t.Error("the tool ran")
				}
			}
		})
	}
}

func TestIDsComeBackAsWritten(t *testing.T) {
	s := newStage(t)
	token := s.token(access.ScopeRead)
	for _, id := range []string{`1`, `-1`, `0`, `9007199254740993`, `"x"`, `""`, `"\u00e9\n\"\ud83d\ude00"`} {
		got := s.do(t, request("/mcp", token, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`))
		if want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`; got.Status != 200 || got.Raw != want {
			t.Errorf("id %s = %d %s, want %s", id, got.Status, got.Raw, want)
		}
	}
}

func TestParamsMayBeAbsentOrNull(t *testing.T) {
	s := newStage(t)
	for _, params := range []string{``, `,"params":null`, `,"params":{}`, `,"params":{"_meta":null}`, `,"params":{"cursor":null}`, `,"extra":1`} {
		got := s.do(t, request("/mcp", s.token(access.ScopeRead), `{"jsonrpc":"2.0","id":1,"method":"tools/list"`+params+`}`))
		if got.Status != 200 || got.Result == nil {
			t.Errorf("%s = %d %s, want a list", params, got.Status, got.Raw)
		}
	}
}

func TestNotificationsHaveNoEffectAndNoAnswer(t *testing.T) {
	for _, header := range append([]string{""}, versions...) {
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
			`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_note"}}`,
		} {
			s := newStage(t)
			r := request("/mcp", s.token(access.AllScopes), body)
			if header != "" {
				r.Header.Set("MCP-Protocol-Version", header)
			}
			if got := s.do(t, r); got.Status != 202 || got.Raw != "" || got.Header.Get("Content-Type") != "" {
				t.Errorf("%s = %d %q, want 202 without a body", body, got.Status, got.Raw)
			}
			if s.gate.passed() != 0 {
				t.Errorf("%s ran", body)
			}
		}
	}
}

func TestVersionsAndHeaders(t *testing.T) {
	const v, caps = `"` + metaVersion + `":"2026-07-28"`, `"` + metaCapabilities + `":{}`
	call := func(meta string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_note","_meta":{` + meta + `}}}`
	}
	list := func(meta string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{` + meta + `}}}`
	}
	base64 := "=?base64?cmVhZF9ub3Rl?="
	for _, c := range []struct {
		name, body            string
		version, method, tool string // headers; "-" is absent
		status, code          int
	}{
		{"handshake, no header", list(""), "-", "-", "-", 200, 0},
		{"handshake, newest", list(""), "2025-11-25", "-", "-", 200, 0},
		{"handshake, Mcp-Method of another", list(""), "2025-11-25", "tools/call", "x", 200, 0},
		{"handshake, other version in _meta", list(`"` + metaVersion + `":"2025-06-18"`), "2025-11-25", "-", "-", 200, 0},
		{"unknown header", list(""), "2099-01-01", "-", "-", 400, codeVersion},
		{"old header", list(""), "2024-11-05", "-", "-", 400, codeVersion},
		{"empty header", list(""), "", "-", "-", 200, 0},
		{"unknown header on a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "2099-01-01", "-", "-", 400, codeVersion},
		{"stateless list", list(v + "," + caps), "2026-07-28", "tools/list", "-", 200, 0},
		{"stateless call", call(v + "," + caps), "2026-07-28", "tools/call", "read_note", 200, 0},
		{"tool's name in base64", call(v + "," + caps), "2026-07-28", "tools/call", base64, 200, 0},
		{"client's name", list(v + "," + caps + `,"` + metaClientInfo + `":{"name":"c"}`), "2026-07-28", "tools/list", "-", 200, 0},
		{"client's name is odd", list(v + "," + caps + `,"` + metaClientInfo + `":"c"`), "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"no version header", list(v + "," + caps), "-", "tools/list", "-", 400, codeHeaders},
		{"older version header", list(v + "," + caps), "2025-11-25", "tools/list", "-", 400, codeHeaders},
		{"version header of another", list(`"` + metaVersion + `":"v999.0.0",` + caps), "2026-07-28", "tools/list", "-", 400, codeHeaders},
		{"unknown version", list(`"` + metaVersion + `":"v999.0.0",` + caps), "v999.0.0", "tools/list", "-", 400, codeVersion},
		{"older version in _meta", list(`"` + metaVersion + `":"2025-11-25",` + caps), "2026-07-28", "tools/list", "-", 400, codeHeaders},
		{"no _meta", `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`, "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"no version in _meta", list(caps), "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"version in _meta is a number", list(`"` + metaVersion + `":5,` + caps), "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"version in _meta is null", list(`"` + metaVersion + `":null,` + caps), "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"no capabilities", list(v), "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"capabilities are odd", list(v + `,"` + metaCapabilities + `":[]`), "2026-07-28", "tools/list", "-", 400, codeInvalidParams},
		{"no Mcp-Method", list(v + "," + caps), "2026-07-28", "-", "-", 400, codeHeaders},
		{"Mcp-Method of another", list(v + "," + caps), "2026-07-28", "prompts/list", "-", 400, codeHeaders},
		{"Mcp-Method in another case", list(v + "," + caps), "2026-07-28", "TOOLS/LIST", "-", 400, codeHeaders},
		{"no Mcp-Name", call(v + "," + caps), "2026-07-28", "tools/call", "-", 400, codeHeaders},
		{"Mcp-Name of another", call(v + "," + caps), "2026-07-28", "tools/call", "edit_note", 400, codeHeaders},
		{"Mcp-Name of another in base64", call(v + "," + caps), "2026-07-28", "tools/call", "=?base64?eA==?=", 400, codeHeaders},
		{"Mcp-Name in broken base64", call(v + "," + caps), "2026-07-28", "tools/call", "=?base64?!?=", 400, codeHeaders},
		{"_meta in another case", list(v + "," + caps + `,"IO.modelcontextprotocol/protocolVersion":"2025-06-18"`), "2026-07-28", "tools/list", "-", 400, codeInvalidRequest},
		{"initialize as 2026", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","_meta":{` + v + "," + caps + `}}}`, "2026-07-28", "initialize", "-", 404, codeUnknownMethod},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStage(t)
			r := request("/mcp", s.token(access.ScopeRead), c.body)
			for header, value := range map[string]string{"Mcp-Protocol-Version": c.version, "Mcp-Method": c.method, "Mcp-Name": c.tool} {
				if value != "-" {
					r.Header[header] = []string{value}
				}
			}
			got := s.do(t, r)
			if got.Status != c.status || got.code() != c.code {
				t.Fatalf("%d %s, want %d and %d", got.Status, got.Raw, c.status, c.code)
			}
			if c.code != 0 && s.gate.passed() != 0 {
				t.Error("the tool ran")
			}
			if c.code == codeVersion {
				if fmt.Sprint(got.Error.Data["supported"]) != "[2026-07-28 2025-11-25 2025-06-18 2025-03-26]" || got.Error.Data["requested"] != c.version {
					t.Errorf("data = %v, want the versions served and the requested one", got.Error.Data)
				}
			}
		})
	}
}

func TestTwoValuesOfAHeaderAreRefused(t *testing.T) {
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"} {
		s := newStage(t)
		r := rpc(stateless, "/mcp", s.token(access.ScopeRead), "tools/call", `{"name":"read_note"}`)
		r.Header[name] = append(r.Header[name], r.Header[name][0])
		if got := s.do(t, r); got.Status != 400 || got.code() != codeHeaders || s.gate.passed() != 0 {
			t.Errorf("two of %s = %d %s, want 400 and -32020", name, got.Status, got.Raw)
		}
	}
}

func TestDiscover(t *testing.T) {
	s := newStage(t)
	got := s.do(t, rpc(stateless, "/mcp", s.token(access.ScopeRead), "server/discover", ""))
	if got.Status != 200 || fmt.Sprint(got.Result["supportedVersions"], got.Result["capabilities"]) != "[2026-07-28 2025-11-25 2025-06-18 2025-03-26] map[tools:map[]]" || got.Result["instructions"] != instructions {
		t.Errorf("server/discover = %d %s", got.Status, got.Raw)
	}
	checkComplete(t, stateless, got)
	checkCache(t, stateless, got, "public")
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
