package api_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestTheDocumentDescribesEveryCall(t *testing.T) {
	w := newWorld(t, storage.Options{Path: storagetest.SQLiteFile(t)})
	a := w.nobody().wants(200, "GET", "/openapi.json", "")
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q", got)
	}
	document := a.read(t)
	if document["openapi"] != "3.1.0" {
		t.Errorf("openapi is %v", document["openapi"])
	}
	paths := document["paths"].(map[string]any)
	described := 0
	for _, operations := range paths {
		described += len(operations.(map[string]any))
	}
	if described != len(w.api.Routes()) {
		t.Errorf("%d calls are described, %d exist", described, len(w.api.Routes()))
	}
	for _, r := range w.api.Routes() {
		operations, _ := paths[r.Path].(map[string]any)
		op, _ := operations[strings.ToLower(r.Method)].(map[string]any)
		if op == nil || op["operationId"] != r.Operation || op["summary"] == "" {
			t.Errorf("%s %s is described as %v", r.Method, r.Path, op)
			continue
		}
		var inPath []string
		parameters, _ := op["parameters"].([]any)
		for _, p := range parameters {
			if p := p.(map[string]any); p["in"] == "path" {
				inPath = append(inPath, p["name"].(string))
			}
		}
		if !slices.Equal(inPath, wildcards(r.Path)) {
			t.Errorf("%s has the path parameters %v, want %v", r.Operation, inPath, wildcards(r.Path))
		}
		if sends := w.probe(r).body != ""; sends != (op["requestBody"] != nil) {
			t.Errorf("%s: described with a body is %t, want %t", r.Operation, op["requestBody"] != nil, sends)
		}
	}
	resolve(t, document, document, "#")
}

// resolve follows each reference in v.
func resolve(t *testing.T, document map[string]any, v any, at string) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			resolve(t, document, item, at)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			name, _ := strings.CutPrefix(ref, "#/components/schemas/")
			schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
			if s, _ := schemas[name].(map[string]any); len(s) == 0 {
				t.Errorf("%s refers to %s, which does not exist", at, ref)
			}
		}
		for name, item := range v {
			resolve(t, document, item, at+"/"+name)
		}
	}
}

func TestTheDocumentChangesOnlyOnPurpose(t *testing.T) {
	w := newWorld(t, storage.Options{Path: storagetest.SQLiteFile(t)})
	got := w.nobody().wants(200, "GET", "/openapi.json", "").body + "\n"
	file := filepath.Join("testdata", "openapi.golden.json")
	if *update {
		w.must(os.MkdirAll("testdata", 0o755))
		w.must(os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	w.must(err)
	if got != string(want) {
		t.Errorf("the document differs from %s; run the test with -update and read the difference", file)
	}
}
