package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/terminal"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// browse is the browser of the owner of a test house, as a program that $BROWSER
// can name: it approves or cancels, and goes to the callback.
func browse(address string, cancel bool) (status int) {
	b, err := probe.NewBrowser()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer b.Close()
	person := probe.Person{Email: "owner@example.com", Password: testkit.Password, Cancel: cancel}
	at, err := b.Authorize(context.Background(), address, person)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	answer, err := http.Get(at.String())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	answer.Body.Close()
	return 0
}

// toolServer NAME FILE starts an MCP server with a public list, the tools of the
// JSON file, and sets the variable to its address.
func toolServer(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		tools := json.RawMessage(ts.ReadFile(args[1]))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			out := map[string]any{"jsonrpc": "2.0", "id": in.ID}
			switch in.Method {
			case "initialize":
				out["result"] = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "sessions", "version": "1"}}
			case "tools/list":
				out["result"] = map[string]any{"tools": tools}
			default:
				out["error"] = map[string]any{"code": -32601, "message": "no such method"}
			}
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(out); err != nil {
				t.Errorf("answer %s: %v", in.Method, err)
			}
		}))
		t.Cleanup(server.Close)
		ts.Setenv(args[0], server.URL)
	}
}

func TestASavedTokenIsForItsOwnerAloneAndReplacesNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token.json")
	if err := save(file, probe.Saved{Endpoint: "https://mcp.example.com/mcp", AccessToken: "secret"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("got mode %v and error %v, want 0600", info.Mode(), err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := save(file, probe.Saved{}); err == nil {
		t.Error("a file that is there was written over")
	}
	after, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file changed to %s (error %v)", after, err)
	}
}

func TestASavedTokenGoesToItsOwnServerAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token.json")
	if err := save(file, probe.Saved{Endpoint: "https://mcp.example.com/mcp", AccessToken: "secret"}); err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://mcp.example.com/mcp": "Bearer secret", "https://evil.example.com/mcp": "", "http://mcp.example.com/mcp": "", "https://mcp.example.com/mcp/x": "",
	} {
		c := limitsCommand{Token: file}
		c.URL = url
		h := http.Header{}
		err := c.carry(h)
		if h.Get("Authorization") != want || (err == nil) != (want != "") || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %q and error %v, want %q", url, h.Get("Authorization"), err, want)
		}
	}
}

func TestSignInsAndLimitsFitTheTerminalAndCannotSteerIt(t *testing.T) {
	bad := hostile()
	text := bad.Server
	signedIn := &probe.SignInReport{
		Endpoint: bad.Endpoint, Issuer: text, ClientID: text, Registered: true, Asked: bad.Scopes, Granted: bad.Scopes, ExpiresIn: 3600, Tools: []string{text, text},
		Call: &probe.CallSeen{Tool: text, Status: 200, IsError: true, Code: text, Text: text + "\n" + text}, Findings: bad.Findings, Rows: bad.Rows,
	}
	limits := &probe.LimitsReport{Endpoint: bad.Endpoint, Server: text, Tools: 1, Cases: []probe.LimitResult{{
		LimitCase: probe.LimitCase{Case: text, Tool: text, Expected: probe.Refused, Keyword: "enum"}, Found: probe.Refused, Detail: text,
		Reasons: []probe.Reason{{Argument: text, Keyword: "additionalProperties"}, {Argument: text, Keyword: "dependentRequired"}},
	}}}
	for name, draw := range map[string]func(terminal.Style) string{
		"sign-in": func(s terminal.Style) string { return signInText(signedIn, text, s) },
		"limits":  func(s terminal.Style) string { return limitsText(limits, false, s) },
	} {
		plain := draw(terminal.Style{})
		for line := range strings.Lines(plain) {
			line = strings.TrimSuffix(line, "\n")
			if terminal.Width(line) > terminal.Columns || strings.ContainsAny(line, "\x1b\x07\u202e") {
				t.Errorf("%s: %d columns: %q", name, terminal.Width(line), line)
			}
		}
		coloured := draw(terminal.Style{Colours: true})
		if withoutColours(coloured) != plain || coloured == plain {
			t.Errorf("%s: colour changes the text:\n%q", name, coloured)
		}
	}
}
