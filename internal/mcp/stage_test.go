package mcp

import (
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

func with(r *http.Request, name, value string) *http.Request {
	r.Header.Set(name, value)
	return r
}

func as(r *http.Request, method string) *http.Request {
	r.Method = method
	return r
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

func site(t testing.TB) *guard.Site {
	t.Helper()
	s, err := guard.NewSite(guard.SiteConfig{PublicURLs: []string{origin}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
