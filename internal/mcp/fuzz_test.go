package mcp

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

// FuzzMessage sends any body under any header. Whatever comes: one JSON answer
// with a known status, and the tool runs only for what a plain reader also takes
// for exactly this call.
func FuzzMessage(f *testing.F) {
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"a":[1,"b"]}}}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"cursor":null}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","_meta":{"` + metaVersion + `":"2026-07-28","` + metaCapabilities + `":{}}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","Params":{"name":"read_note"}}`,
		`{"jsonrpc":"2.0","id":1,"m\u0065thod":"tools/call","params":{"n\u0061me":"read_note"}}`,
		`[{}]`, `null`, `{"id":1.0}`, `{"result":{}}`, `{"params":[]}`, `{"params":{"_meta":[]}}`, `{`, "\xff",
	} {
		for _, header := range []string{"", "2025-11-25", "2026-07-28", "2099-01-01"} {
			f.Add(body, header)
		}
	}
	s := newStage(f)
	token := s.token(access.ScopeRead)
	f.Fuzz(func(t *testing.T, body, header string) {
		s.gate.calls = nil
		r := request("/mcp", token, body)
		r.Header["Mcp-Protocol-Version"] = []string{header}
		r.Header["Mcp-Method"] = []string{"tools/call"}
		r.Header["Mcp-Name"] = []string{"read_note"}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		switch w.Code {
		case 200, 400, 404:
			if !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%q: answer %q is not JSON", body, w.Body)
			}
		case 202:
			if w.Body.Len() != 0 {
				t.Fatalf("%q: 202 with a body %q", body, w.Body)
			}
		default:
			t.Fatalf("%q: status %d", body, w.Code)
		}
		if len(s.gate.calls) == 0 {
			return
		}
		var plain struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
			Params  struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(body), &plain); err != nil || plain.Version != "2.0" || plain.Method != "tools/call" || len(plain.ID) == 0 {
			t.Fatalf("%q ran, but a plain reader sees %+v, %v", body, plain, err)
		}
		got := s.gate.calls[0]
		arguments := string(plain.Params.Arguments)
		if arguments == "null" {
			arguments = ""
		}
		if got.Name != plain.Params.Name || string(got.Arguments) != arguments {
			t.Fatalf("%q ran %s with %s, a plain reader sees %s with %s", body, got.Name, got.Arguments, plain.Params.Name, arguments)
		}
	})
}
