package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

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
