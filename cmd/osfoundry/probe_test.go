package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/terminal"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// house NAME starts a server with one workspace and sets the variable to its
// address.
func house(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		ts.Setenv(args[0], testkit.Open(t, storage.Options{Path: storagetest.SQLiteFile(t)}).Base)
	}
}

// faulty NAME starts a server that many things are wrong with, and sets the variable
// to its address.
func faulty(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/slow" || r.URL.Path == "/slow/":
				if _, err := io.Copy(io.Discard, r.Body); err == nil {
					<-r.Context().Done() // which comes only after the body was read
				}
			case r.URL.Path == "/mcp":
				w.Header().Set("WWW-Authenticate", "Basic realm=\"\u009b2J\"")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, "\x1b]0;mine\x07\x1b[2J")
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!DOCTYPE html><title>Welcome</title>")
			}
		}))
		t.Cleanup(server.Close)
		ts.Setenv(args[0], server.URL)
	}
}

// hostile is a report whose every text was chosen by a server that hates terminals.
func hostile() *probe.Report {
	text := strings.Repeat("漢字\x1b[2J\u202e\x07 ", 30) + strings.Repeat("x", 300)
	size := probe.Size{Tools: 12345, Bytes: 123456789, CL100K: 12345678, O200K: 12345678}
	return &probe.Report{
		Endpoint: "https://" + text, Probed: text, Server: text, Versions: []string{text}, Issuer: text, Scopes: []string{text, text}, Access: probe.Listed,
		Rows: []probe.Row{
			{Asked: text, Status: 200, CameBack: text, MedianMS: 300000, P90MS: 300000.4, Latencies: []time.Duration{1, time.Hour}},
			{Asked: "unreachable"},
		},
		Catalogue: &probe.Catalogue{
			Size: size, Only: &size, Absent: []string{text}, Scopes: []probe.Group{{Name: text, Tools: 3}}, Hints: []probe.Group{{Name: text, Tools: 1}},
			Tools: []probe.Tool{{Name: text, Size: size, Hints: []string{text, "read-only"}}},
		},
		Findings: []probe.Finding{{ID: "x", Severity: probe.Error, Title: text, Detail: text, Clause: text, Hosts: []string{text}, Reports: []string{text}, Cure: text}},
	}
}

func TestAReportFitsTheTerminalAndCannotSteerIt(t *testing.T) {
	plain := reportText(hostile(), terminal.Style{}) + latencies(hostile()).Text(terminal.Style{})
	for line := range strings.Lines(plain) {
		line = strings.TrimSuffix(line, "\n")
		if terminal.Width(line) > terminal.Columns {
			t.Errorf("%d columns: %q", terminal.Width(line), line)
		}
		if strings.ContainsAny(line, "\x1b\x07\u202e") {
			t.Errorf("the line steers the terminal: %q", line)
		}
	}
	coloured := reportText(hostile(), terminal.Style{Colours: true})
	if bare := withoutColours(coloured); bare != reportText(hostile(), terminal.Style{}) || coloured == bare {
		t.Errorf("colour changes the text:\n%q", coloured)
	}
}

// withoutColours takes out what a style may put in, and nothing else.
func withoutColours(s string) string {
	for _, code := range []int{0, 1, 2, 31, 32, 33, 36} {
		s = strings.ReplaceAll(s, fmt.Sprintf("\x1b[%dm", code), "")
	}
	return s
}

func TestHeadersAreReadWithoutShowingTheirSecrets(t *testing.T) {
	h, err := headers([]string{"X-Gate: open, wide", "x-gate:again"})
	if err != nil || !slices.Equal(h["X-Gate"], []string{"open, wide", "again"}) {
		t.Errorf("got %v, %v", h, err)
	}
	for _, line := range []string{"secret", ": secret", "a b: secret", "a: secret\r\nb: c", "a: \x00secret"} {
		if _, err := headers([]string{line}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error without the value", line, err)
		}
	}
}
