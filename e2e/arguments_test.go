package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// Wrong arguments, made from the schemas as tools/list tells them: whatever a tool
// takes, all that it must not take is tried.

// wrong is one change of good arguments that makes them bad.
type wrong struct {
	pointer string // to what is wrong (RFC 6901)
	what    string
	value   any  // of the whole arguments
	lenient bool // a null where nothing need be: the owner API reads it as nothing
}

// written is a JSON value as it is written, for what Go has no value for.
type written = json.RawMessage

// wrongs are all bad changes of value, which fits the schema. at is where it
// stands, and put makes the whole arguments out of what stands there instead.
func wrongs(schema map[string]any, value any, at string, put func(any) any) []wrong {
	var all []wrong
	add := func(what string, v any) { all = append(all, wrong{pointer: at, what: what, value: put(v)}) }
	for what, v := range wrongTypes(schema["type"]) {
		if at != "" || what != "null" { // no arguments at all may be written as null
			add(what, v)
		}
	}
	switch schema["type"] {
	case "object":
		all = append(all, wrongMembers(schema, value, at, put)...)
	case "array":
		items := schema["items"].(map[string]any)
		one := any(sample(items))
		if list, ok := value.([]any); ok && len(list) > 0 {
			one = list[0]
		}
		if least, ok := schema["minItems"].(float64); ok {
			add("too few", slices.Repeat([]any{one}, int(least)-1))
		}
		if most, ok := schema["maxItems"].(float64); ok {
			add("too many", slices.Repeat([]any{one}, int(most)+1))
		}
		all = append(all, wrongs(items, one, at+"/0", func(v any) any { return put([]any{v}) })...)
	case "string":
		if least, ok := schema["minLength"].(float64); ok {
			add("too short", strings.Repeat("x", int(least)-1))
		}
		if most, ok := schema["maxLength"].(float64); ok {
			add("too long", strings.Repeat("é", int(most)+1)) // in characters, not bytes
		}
		if schema["enum"] != nil {
			add("not one of the words", "no-such-word")
		}
		if schema["format"] == "date-time" {
			add("no time", "yesterday")
		}
	case "integer":
		if least, ok := schema["minimum"].(float64); ok {
			add("too small", least-1)
		}
		if most, ok := schema["maximum"].(float64); ok {
			add("too great", most+1)
		}
	}
	return all
}

// beyondFloat is what a number is that an int64 holds and a float64 does not.
const beyondFloat = "beyond 2^53"

// wrongTypes are values of every other type than the schema's, and numbers that no
// two readers agree on.
func wrongTypes(kind any) map[string]any {
	all := map[string]any{
		"null": written("null"), "a text": written(`"7"`), "a number": written("7"), "a boolean": written("true"), "a list": written("[]"), "an object": written("{}"),
	}
	switch kind {
	case "string":
		delete(all, "a text")
	case "boolean":
		delete(all, "a boolean")
	case "array":
		delete(all, "a list")
	case "object":
		delete(all, "an object")
	case "integer":
		delete(all, "a number")
		maps.Copy(all, map[string]any{"a fraction": written("1.5"), beyondFloat: written("9007199254740993"), "beyond 2^64": written("18446744073709551617"), "beyond floats": written("1e400")})
	}
	return all
}

// wrongMembers leaves out what is required, adds what is unknown, and spoils each
// member in turn.
func wrongMembers(schema map[string]any, value any, at string, put func(any) any) []wrong {
	object := value.(map[string]any)
	with := func(name string, v any) any {
		o := maps.Clone(object)
		o[name] = v
		return put(o)
	}
	all := []wrong{{pointer: at + "/no_such_member", what: "unknown", value: with("no_such_member", 1)}}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		o := maps.Clone(object)
		delete(o, name.(string))
		all = append(all, wrong{pointer: at + "/" + name.(string), what: "missing", value: put(o)})
	}
	properties := schema["properties"].(map[string]any)
	for name, member := range properties {
		upper := strings.ToUpper(name)
		all = append(all, wrong{pointer: at + "/" + upper, what: "in capitals", value: with(upper, object[name])})
		member := member.(map[string]any)
		good, ok := object[name]
		if !ok {
			good = sample(member)
		}
		inside := wrongs(member, good, at+"/"+name, func(v any) any { return with(name, v) })
		for i := range inside {
			inside[i].lenient = inside[i].lenient || inside[i].pointer == at+"/"+name && inside[i].what == "null" && !slices.Contains(required, any(name))
		}
		all = append(all, inside...)
	}
	return all
}

// sample is a value that fits the schema.
func sample(schema map[string]any) any {
	switch schema["type"] {
	case "object":
		o := map[string]any{}
		for name, member := range schema["properties"].(map[string]any) {
			o[name] = sample(member.(map[string]any))
		}
		return o
	case "array":
		return []any{sample(schema["items"].(map[string]any))}
	case "integer":
		if least, ok := schema["minimum"].(float64); ok {
			return least
		}
		return 1.0
	case "boolean":
		return true
	}
	if words, ok := schema["enum"].([]any); ok {
		return words[0]
	}
	if schema["format"] == "date-time" {
		return "2026-01-02T03:04:05Z"
	}
	return "a sample text"
}

// plain is a value as a decoder gives it.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWrongArgumentsOfEveryToolAreNamedAndChangeNothing(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project, other := h.Owner.Project("Alpha", false), h.Owner.Project("Beta", false)
		w := &world{project: project, other: other, note: h.Owner.Note(project, "Plan", "First thought.\n")}
		wire := newWire(t)
		for _, version := range probe.Versions {
			session, connection := h.Owner.Connect(version)
			h.Owner.AddConnection(project, connection)
			h.Owner.AddConnection(other, connection)
			before := census(t, h.Options)
			tried := 0
			for _, tool := range wire.tools(session) {
				good := plain(t, rows[tool.Name].args(w))
				for _, bad := range wrongs(tool.InputSchema, good, "", func(v any) any { return v }) {
					tried++
					refuseArguments(t, wire, session, tool.Name, bad)
				}
			}
			if tried < 100 {
				t.Errorf("%s: %d wrong arguments were tried: the schemas were not read", version, tried)
			}
			if after := census(t, h.Options); !maps.Equal(before, after) {
				t.Errorf("%s: rows before %v and after %v wrong arguments", version, before, after)
			}
		}
	})
}

// refuseArguments makes a call that must be refused for the place that is wrong.
func refuseArguments(t *testing.T, w *wire, s *probe.Session, tool string, bad wrong) {
	t.Helper()
	text, err := json.Marshal(bad.value)
	if err != nil {
		t.Fatal(err)
	}
	got := w.call(s, tool, string(text))
	answer := got.rpc(t)
	var refusal struct {
		Errors []struct {
			Pointer string `json:"pointer"`
		} `json:"errors"`
	}
	_ = json.Unmarshal(answer.Result.Structured, &refusal) // without errors the pointer is missed below
	where := fmt.Sprintf("%s, %s, %s is %s: %.200s", s.Version, tool, bad.pointer, bad.what, text)
	if got.status != 200 || answer.code() != "invalid_arguments" {
		t.Errorf("%s: got %d %s %.300s, want 200 invalid_arguments", where, got.status, answer.code(), got.body)
		return
	}
	for _, e := range refusal.Errors {
		if e.Pointer == bad.pointer {
			return
		}
	}
	t.Errorf("%s: the errors are at %+v, want one at %q", where, refusal.Errors, bad.pointer)
}

// census counts the rows of every table but the audit, which tells of denials.
func census(t *testing.T, o storage.Options) map[string]int {
	t.Helper()
	raw := storagetest.Raw(t, o)
	defer raw.Close()
	list := "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	if o.DatabaseURL != "" {
		list = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
	}
	found, err := raw.Query(list)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	rows := map[string]int{}
	for _, name := range names {
		if name == "audit" {
			continue
		}
		var n int
		if err := raw.QueryRow("SELECT count(*) FROM " + name).Scan(&n); err != nil {
			t.Fatalf("count %s: %v", name, err)
		}
		rows[name] = n
	}
	return rows
}
