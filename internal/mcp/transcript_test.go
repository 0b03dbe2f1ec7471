package mcp

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/osfoundry/osfoundry/internal/access"
)

var update = flag.Bool("update", false, "write the answers of this endpoint into testdata")

// shown are the headers of an answer that a transcript holds.
var shown = []string{"Content-Type", "WWW-Authenticate", "Allow", "Retry-After", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods", "Access-Control-Allow-Headers"}

// TestTranscripts plays the requests of each transcript and compares the
// answers. READ and WRITE in a request stand for tokens with these scopes,
// UNKNOWN for one that this server never issued.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t)
	tokens := strings.NewReplacer("READ", s.token(access.ScopeRead), "WRITE", s.token(access.ScopeRead|access.ScopeWrite), "UNKNOWN", unknownToken())
	var played []txtar.File
	for i := 0; i < len(archive.Files); i++ {
		ask := archive.Files[i]
		name, isRequest := strings.CutSuffix(ask.Name, " >")
		if !isRequest {
			t.Fatalf("%s: %q is an answer without a request", file, ask.Name)
		}
		want := ""
		if i+1 < len(archive.Files) && archive.Files[i+1].Name == name+" <" {
			i++
			want = string(archive.Files[i].Data)
		}
		got := exchangeOf(t, s, tokens.Replace(string(ask.Data)))
		if got != want && !*update {
			t.Errorf("%s: %s\ngot:\n%s\nwant:\n%s", file, name, got, want)
		}
		played = append(played, ask, txtar.File{Name: name + " <", Data: []byte(got)})
	}
	if *update {
		archive.Files = played
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// exchangeOf plays one request, written as in HTTP, and writes the answer so.
func exchangeOf(t *testing.T, s *stage, text string) string {
	head, body, _ := strings.Cut(text, "\n\n")
	raw := strings.ReplaceAll(head, "\n", "\r\n") + "\r\n\r\n"
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatalf("request %q: %v", head, err)
	}
	whole := httptest.NewRequest(r.Method, r.URL.String(), strings.NewReader(strings.TrimSuffix(body, "\n")))
	whole.Header, whole.Host = r.Header, r.Host
	w := httptest.NewRecorder()
	s.ServeHTTP(w, whole)

	var out bytes.Buffer
	fmt.Fprintf(&out, "%d %s\n", w.Code, http.StatusText(w.Code))
	for _, name := range shown {
		for _, v := range w.Header().Values(name) {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	if w.Body.Len() > 0 {
		answer := jsontext.Value(w.Body.Bytes())
		if err := answer.Indent(jsontext.WithIndent("  ")); err != nil {
			t.Fatalf("answer %q is not JSON: %v", w.Body, err)
		}
		fmt.Fprintf(&out, "\n%s\n", answer)
	}
	return out.String()
}
