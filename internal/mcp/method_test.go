package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

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

func TestDiscover(t *testing.T) {
	s := newStage(t)
	got := s.do(t, rpc(stateless, "/mcp", s.token(access.ScopeRead), "server/discover", ""))
	if got.Status != 200 || fmt.Sprint(got.Result["supportedVersions"], got.Result["capabilities"]) != "[2026-07-28 2025-11-25 2025-06-18 2025-03-26] map[tools:map[]]" || got.Result["instructions"] != instructions {
		t.Errorf("server/discover = %d %s", got.Status, got.Raw)
	}
	checkComplete(t, stateless, got)
	checkCache(t, stateless, got, "public")
}
