package tool

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
)

var update = flag.Bool("update", false, "write the golden files anew")

// allTools are all tools that there are, on no services: enough to announce them
// and to read arguments.
func allTools(t testing.TB) []*Tool {
	t.Helper()
	cursors, err := NewCursors(make([]byte, 32), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	var tools []*Tool
	tools = append(tools, Connection(nil, DefaultLimits)...)
	tools = append(tools, Resources(nil, cursors)...)
	tools = append(tools, Search(nil, cursors, "https://osfoundry.example")...)
	tools = append(tools, Notes(nil, cursors)...)
	tools = append(tools, Sessions(nil, nil, cursors)...)
	tools = append(tools, Tasks(nil, cursors)...)
	tools = append(tools, Mail(nil)...)
	return tools
}

func TestEachToolIsAnnouncedAsItsGoldenFileSays(t *testing.T) {
	named := map[string]bool{}
	for _, tool := range allTools(t) {
		file := filepath.Join("testdata", tool.Name+".golden.json")
		named[file] = true
		got, err := tool.announce()
		if err == nil {
			err = got.Indent(jsontext.WithIndent("  "))
		}
		if err != nil {
			t.Fatalf("%s: %v", tool.Name, err)
		}
		got = append(got, '\n')
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no golden file: %v", tool.Name, err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tool.Name, got, want)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !named[file] {
			t.Errorf("%s is the golden file of no tool", file)
		}
	}
}

// keyless are writes that take no key, because what they do can be done once only.
var keyless = map[string]bool{"cancel_session_handoff": true}

// Hosts take an absent hint for its worst value, and a key makes a write a thing
// that can be repeated.
func TestHintsFitWhatToolsDo(t *testing.T) {
	for _, tool := range allTools(t) {
		_, key := tool.schema.Properties["idempotency_key"]
		if repeats := key || keyless[tool.Name]; repeats != tool.Writes() || repeats != tool.Hints.Idempotent || key && keyless[tool.Name] {
			t.Errorf("%s: has a key: %v, writes: %v, idempotent: %v; want all the same, unless it takes none", tool.Name, key, tool.Writes(), tool.Hints.Idempotent)
		}
		if tool.Hints.ReadOnly && (tool.Hints.Destructive || tool.Needs.Right != access.RightView || tool.Needs.Scopes != access.ScopeRead) {
			t.Errorf("%s reads, but has hints %+v and needs %+v", tool.Name, tool.Hints, tool.Needs)
		}
		if tool.Writes() && (tool.Needs.Right != access.RightEdit || tool.Needs.Scopes&(access.ScopeWrite|access.ScopeRun) == 0) {
			t.Errorf("%s writes, but needs only %+v", tool.Name, tool.Needs)
		}
		if tool.Title == "" || !strings.HasSuffix(tool.Description, ".") {
			t.Errorf("%s: title %q, description %q", tool.Name, tool.Title, tool.Description)
		}
	}
}

func TestListsHoldWhatTheScopesAllow(t *testing.T) {
	tools := allTools(t)
	catalogue, err := NewCatalogue(Config{}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	for scopes := range access.AllScopes + 1 {
		list := string(catalogue.List(scopes))
		for _, tool := range tools {
			got := strings.Contains(list, `{"name":"`+tool.Name+`"`)
			if want := scopes.Has(tool.Needs.Scopes); got != want {
				t.Errorf("%s in the list of %q: %v, want %v", tool.Name, scopes, got, want)
			}
		}
	}
	if got := string(catalogue.List(0)); got != "[]" {
		t.Errorf("got %s without scopes, want an empty list", got)
	}
}

func TestTwoToolsOfOneNameAreRefused(t *testing.T) {
	if _, err := NewCatalogue(Config{}, append(allTools(t), allTools(t)[0])...); err == nil {
		t.Error("two tools of one name were taken")
	}
}
