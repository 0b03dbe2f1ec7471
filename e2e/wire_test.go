package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
)

// wire sends requests that no well-behaved client would make.
type wire struct {
	t      *testing.T
	client *http.Client
}

func newWire(t *testing.T) *wire {
	transport := &http.Transport{Proxy: nil}
	t.Cleanup(transport.CloseIdleConnections)
	return &wire{t, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// reply is an answer, read whole.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// send makes one request. A Host among the headers replaces the address's own.
func (w *wire) send(method, address string, header http.Header, body string) reply {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if header != nil {
		r.Header = header.Clone()
	}
	r.Host = header.Get("Host")
	got, err := w.client.Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, address, err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		w.t.Fatalf("%s %s: read the answer: %v", method, address, err)
	}
	return reply{got.StatusCode, got.Header, text}
}

// rpc is an answer of the endpoint, as far as tests look into it.
type rpc struct {
	Result struct {
		ProtocolVersion string          `json:"protocolVersion"`
		IsError         bool            `json:"isError"`
		Structured      json.RawMessage `json:"structuredContent"`
		Tools           []described     `json:"tools"`
		Meta            map[string]any  `json:"_meta"`
	} `json:"result"`
	Error struct {
		Code int `json:"code"`
	} `json:"error"`
}

// described is a tool as tools/list tells of it.
type described struct {
	Name        string         `json:"name"`
	InputSchema map[string]any `json:"inputSchema"`
}

func (r reply) rpc(t *testing.T) rpc {
	t.Helper()
	var answer rpc
	if err := json.Unmarshal(r.body, &answer); err != nil {
		t.Fatalf("HTTP %d is no JSON-RPC: %v: %.200s", r.status, err, r.body)
	}
	return answer
}

// code is the reason of a refusal: the tool's, or JSON-RPC's as a number, or "".
func (a rpc) code() string {
	if a.Error.Code != 0 {
		return fmt.Sprint(a.Error.Code)
	}
	if !a.Result.IsError {
		return ""
	}
	var refusal struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(a.Result.Structured, &refusal) // no code is told apart by the caller
	return refusal.Code
}

// envelope is a request's headers and body in a session's protocol version; params
// is the inside of a JSON object, and tool is named in the header where that is due.
func envelope(s *probe.Session, method, tool, params string) (http.Header, string) {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Authorization": {"Bearer " + s.Grant.AccessToken}, "Mcp-Protocol-Version": {s.Version},
	}
	if s.Version == probe.Version20260728 {
		header.Set("Mcp-Method", method)
		if tool != "" {
			header.Set("Mcp-Name", tool)
		}
		meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"wire","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
		params = strings.TrimSuffix(meta+","+params, ",")
	}
	return header, `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
}

// call calls a tool with arguments as they are written.
func (w *wire) call(s *probe.Session, tool, arguments string) reply {
	w.t.Helper()
	header, body := envelope(s, "tools/call", tool, `"name":"`+tool+`","arguments":`+arguments)
	return w.send("POST", s.Endpoint, header, body)
}

// tools are all that the session's server lists for its token.
func (w *wire) tools(s *probe.Session) []described {
	w.t.Helper()
	header, body := envelope(s, "tools/list", "", "")
	got := w.send("POST", s.Endpoint, header, body)
	if got.status != http.StatusOK {
		w.t.Fatalf("tools/list in %s: got %d %s, want 200", s.Version, got.status, got.body)
	}
	return got.rpc(w.t).Result.Tools
}
