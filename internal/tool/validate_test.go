package tool

import (
	"context"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"github.com/osfoundry/osfoundry/internal/access"
)

// everyKeyword has each form of argument that a tag can declare.
type everyKeyword struct {
	ID      string   `json:"id"`
	Short   string   `json:"short,omitzero" arg:"len=2..4"`
	Key     string   `json:"key,omitzero" arg:"len=8..64" doc:"Reuse on retry"`
	Choice  string   `json:"choice,omitzero" arg:"enum=me|others"`
	When    string   `json:"when,omitzero" arg:"format=date-time"`
	Count   int64    `json:"count,omitzero" arg:"min=1,max=100"`
	Offset  int64    `json:"offset,omitzero" arg:"min=0"`
	Yes     bool     `json:"yes,omitzero"`
	Maybe   *string  `json:"maybe,omitzero" arg:"len=..3"`
	Kinds   []string `json:"kinds,omitzero" arg:"items=..3" each:"enum=note|table"`
	Entries []struct {
		Find    string `json:"find" arg:"len=1..5"`
		Replace string `json:"replace,omitzero"`
	} `json:"entries,omitzero" arg:"items=1..2"`
}

func schemaOf[A any]() *jsonschema.Schema { return argumentsOf(reflect.TypeFor[A]()) }

func decoded(t interface{ Fatalf(string, ...any) }, text string) any {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestProblemsNameTheArgumentAndTheKeyword(t *testing.T) {
	schema := schemaOf[everyKeyword]()
	for text, want := range map[string][]string{
		`{"id":"x"}`:                                    nil,
		`{"id":"x","short":"äöüß"}`:                     nil,
		`{"id":"x","count":1.0}`:                        nil,
		`{"id":"x","count":1e2}`:                        nil,
		`{"id":"x","when":"2026-01-31T09:30:00+01:00"}`: nil,
		`[]`:                            {" type"},
		`null`:                          {" type"},
		`{}`:                            {"/id required"},
		`{"id":1}`:                      {"/id type"},
		`{"id":null}`:                   {"/id type"},
		`{"ID":"x"}`:                    {"/id required", "/ID additionalProperties"},
		`{"id":"x","a/b~c":1}`:          {"/a~1b~0c additionalProperties"},
		`{"id":"x","short":"a"}`:        {"/short minLength"},
		`{"id":"x","short":"abcde"}`:    {"/short maxLength"},
		`{"id":"x","choice":"Me"}`:      {"/choice enum"},
		`{"id":"x","when":"yesterday"}`: {"/when format"},
		`{"id":"x","when":"2026-02-30T00:00:00Z"}`:         {"/when format"},
		`{"id":"x","count":0}`:                             {"/count minimum"},
		`{"id":"x","count":101}`:                           {"/count maximum"},
		`{"id":"x","count":1.5}`:                           {"/count type"},
		`{"id":"x","count":"1"}`:                           {"/count type"},
		`{"id":"x","offset":-1}`:                           {"/offset minimum"},
		`{"id":"x","offset":1e300}`:                        {"/offset type"},
		`{"id":"x","offset":9007199254740992}`:             {"/offset type"},
		`{"id":"x","yes":1}`:                               {"/yes type"},
		`{"id":"x","maybe":"abcd"}`:                        {"/maybe maxLength"},
		`{"id":"x","kinds":"note"}`:                        {"/kinds type"},
		`{"id":"x","kinds":["note","x","table"]}`:          {"/kinds/1 enum"},
		`{"id":"x","kinds":["note","note","note","note"]}`: {"/kinds maxItems"},
		`{"id":"x","entries":[]}`:                          {"/entries minItems"},
		`{"id":"x","entries":[{"find":""}]}`:               {"/entries/0/find minLength"},
		`{"id":"x","entries":[{"find":"a"},{"x":1}]}`:      {"/entries/1/find required", "/entries/1/x additionalProperties"},
		`{"id":"x","entries":[1]}`:                         {"/entries/0 type"},
		`{"count":0,"choice":"x"}`:                         {"/id required", "/choice enum", "/count minimum"},
	} {
		var got []string
		for _, p := range validate(schema, decoded(t, text)) {
			got = append(got, p.Pointer+" "+p.Keyword)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	members := make([]string, 1000)
	for i := range members {
		members[i] = `"` + strings.Repeat("x", 500) + strconv.Itoa(i) + `":0`
	}
	found := validate(schemaOf[everyKeyword](), decoded(t, "{"+strings.Join(members, ",")+"}"))
	refusal, err := json.Marshal(refuseArguments(found).Details)
	if err != nil || len(found) != maxProblems || len(refusal) > 10_000 {
		t.Errorf("got %d problems in %d bytes and %v", len(found), len(refusal), err)
	}
}

// aValue draws arguments that often fit and often nearly do.
func aValue(t *rapid.T, s *jsonschema.Schema, depth int) any {
	if rapid.IntRange(0, 9).Draw(t, "stray") == 0 {
		return rapid.SampledFrom([]any{nil, true, "", "x", 0.0, 1.5, -1.0, []any{}, []any{"note"}, map[string]any{}, map[string]any{"id": "x"}}).Draw(t, "value")
	}
	switch s.Type {
	case "object":
		m := map[string]any{}
		for name, p := range s.Properties {
			if slices.Contains(s.Required, name) && rapid.IntRange(0, 9).Draw(t, "omit") > 0 || rapid.Bool().Draw(t, "give "+name) {
				m[name] = aValue(t, p, depth+1)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "extra") == 0 {
			m[rapid.SampledFrom([]string{"", "extra", "ID", "__proto__"}).Draw(t, "name")] = 1.0
		}
		return m
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			list = append(list, aValue(t, s.Items, depth+1))
		}
		return list
	case "string":
		if s.Enum != nil {
			return rapid.SampledFrom(append(slices.Clone(s.Enum), any("other"))).Draw(t, "choice")
		}
		return rapid.StringN(0, 10, -1).Draw(t, "text")
	case "integer":
		return float64(rapid.IntRange(-2, 103).Draw(t, "number"))
	}
	return rapid.Bool().Draw(t, "flag")
}

func TestValidateJudgesAsTheSchemaLibraryDoes(t *testing.T) {
	schemas := []*jsonschema.Schema{schemaOf[everyKeyword]()}
	for _, tool := range allTools(t) {
		schemas = append(schemas, tool.schema)
	}
	for _, s := range schemas {
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			v := aValue(t, s, 0)
			found := slices.DeleteFunc(validate(s, v), func(p problem) bool { return p.Keyword == "format" }) // which the library ignores
			if err := resolved.Validate(v); (err == nil) != (len(found) == 0) {
				t.Fatalf("%v: the library says %v, validate says %v", v, err, found)
			}
		})
	}
}

// What passes validation can be decoded, so that every fault has a pointer.
func TestValidArgumentsDecode(t *testing.T) {
	for _, tool := range allTools(t) {
		rapid.Check(t, func(t *rapid.T) {
			v := aValue(t, tool.schema, 0)
			if len(validate(tool.schema, v)) > 0 {
				return
			}
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tool.decode(raw); err != nil {
				t.Fatalf("%s of %s: %v", raw, tool.Name, err)
			}
		})
	}
}

func TestWholeNumbersDecodeInEverySpelling(t *testing.T) {
	var got int64
	tool := define(Tool{}, nil, func(_ context.Context, _ *Run, a everyKeyword) (int64, error) { return a.Count, nil })
	for spelling, want := range map[string]int64{"1": 1, "1.0": 1, "1e1": 10, "1.5e1": 15, "100.000": 100} {
		a, err := tool.decode([]byte(`{"id":"x","count":` + spelling + `}`))
		if err == nil {
			got = a.(everyKeyword).Count
		}
		if err != nil || got != want {
			t.Errorf("%s: got %d and %v, want %d", spelling, got, err, want)
		}
	}
	for _, spelling := range []string{"1.5", "1e400", `"1"`, "null", "9007199254740993"} {
		raw := []byte(`{"id":"x","count":` + spelling + `}`)
		p := passage{tool: tool, call: Call{Arguments: raw}}
		if p.readArguments(); access.CodeOf(p.fault) != access.InvalidArguments {
			t.Errorf("%s: got %v, want a fault", spelling, p.fault)
		}
	}
}

func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `{"id":"x"}`, `{"query":"a","limit":1.0}`, `{"id":"\u0000","id":1}`, `[[[[[`, `{"project_ids":[1]}`, "\xff", `{"limit":1e999}`} {
		f.Add(seed)
	}
	tools := allTools(f)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, tool := range tools {
			p := passage{tool: tool, call: Call{Name: tool.Name, Arguments: []byte(raw)}}
			p.readArguments()
			if p.fault == nil {
				_ = tool.on(p.arguments)
				continue
			}
			e, ok := p.fault.(*access.Error)
			if !ok || e.Code != access.InvalidArguments {
				t.Fatalf("%q: got %v", raw, p.fault)
			}
			if _, err := json.Marshal(e.Details); err != nil {
				t.Fatalf("%q: the refusal can't be sent: %v", raw, err)
			}
		}
	})
}
