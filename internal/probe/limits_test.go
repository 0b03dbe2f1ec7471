package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// sessionStand lists the published tools of sessions to anybody.
func sessionStand(t *testing.T) *stand {
	t.Helper()
	raw, err := os.ReadFile("testdata/session_tools.json")
	if err != nil {
		t.Fatal(err)
	}
	s := newStand(t)
	s.public = true
	if err := json.Unmarshal(raw, &s.tools); err != nil {
		t.Fatal(err)
	}
	return s
}

// argument is the schema of one argument of a tool of the stand.
func (s *stand) argument(tool, name string) object {
	return s.schema(tool)["properties"].(object)[name].(object)
}

func (s *stand) schema(tool string) object {
	i := slices.IndexFunc(s.tools, func(t object) bool { return t["name"] == tool })
	return s.tools[i]["inputSchema"].(object)
}

func judged(t *testing.T, s *stand, cases []LimitCase) *LimitsReport {
	t.Helper()
	report, err := Limits(t.Context(), s.base+"/mcp", VisitOptions{}, cases)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestThePublishedSchemasHoldTheTwelvePublishedCases(t *testing.T) {
	report := judged(t, sessionStand(t), PublishedCases())
	if report.Held != 12 || len(report.Cases) != 12 || report.Tools != 5 {
		t.Errorf("%d of %d cases hold with %d tools, want 12 of 12 with 5", report.Held, len(report.Cases), report.Tools)
	}
	for _, c := range report.Cases {
		if !c.Held || c.Expected == Refused && len(c.Reasons) != 1 {
			t.Errorf("%s: %s for %v, want %s for %s", c.Case, c.Found, c.Reasons, c.Expected, c.Keyword)
		}
	}
}

func TestTheSchemasOfOurOwnToolsHoldThePublishedCases(t *testing.T) {
	s := newStand(t)
	s.public, s.tools = true, nil
	for _, name := range []string{"read_session_mail", "post_session_note", "propose_session_handoff", "cancel_session_handoff", "request_session_run"} {
		raw, err := os.ReadFile("../tool/testdata/" + name + ".golden.json")
		if err != nil {
			t.Fatal(err)
		}
		definition := object{}
		if err := json.Unmarshal(raw, &definition); err != nil {
			t.Fatal(err)
		}
		s.tools = append(s.tools, definition)
	}
	for _, c := range judged(t, s, PublishedCases()).Cases {
		if !c.Held {
			t.Errorf("%s: %s for %v, want %s for %s", c.Case, c.Found, c.Reasons, c.Expected, c.Keyword)
		}
	}
}

func TestEachLooserOrTighterSchemaIsFoundByItsCaseAlone(t *testing.T) {
	const propose, run = "propose_session_handoff", "request_session_run"
	for name, c := range map[string]struct {
		change func(s *stand)
		broken []string // cases, by number from 1
	}{
		"handoffs take longer goals": {func(s *stand) { s.argument(propose, "goal")["maxLength"] = 10000 }, []string{"1"}},
		"runs take shorter goals":    {func(s *stand) { s.argument(run, "goal")["maxLength"] = 5000 }, []string{"2"}},
		"context is optional":        {func(s *stand) { s.schema(propose)["required"] = []string{"idempotency_key"} }, []string{"3"}},
		"rounds are required": {func(s *stand) {
			s.schema(propose)["required"] = []string{"context_summary", "idempotency_key", "max_rounds"}
		}, []string{"1", "4"}},
		"rounds have no least":          {func(s *stand) { delete(s.argument(propose, "max_rounds"), "minimum") }, []string{"5"}},
		"rounds have no most":           {func(s *stand) { delete(s.argument(propose, "max_rounds"), "maximum") }, []string{"6"}},
		"a boundary that is off by one": {func(s *stand) { s.argument(propose, "max_rounds")["maximum"] = 11 }, []string{"6"}},
		"the key is optional":           {func(s *stand) { s.schema(propose)["required"] = []string{"context_summary"} }, []string{"7"}},
		"any type of session":           {func(s *stand) { delete(s.argument(run, "session_type"), "enum") }, []string{"8"}},
		"an open schema":                {func(s *stand) { delete(s.schema(run), "additionalProperties") }, []string{"9"}},
		"the caller chooses a model":    {func(s *stand) { s.schema(run)["properties"].(object)["model"] = object{"type": "string"} }, []string{"9"}},
		"longer pages of mail":          {func(s *stand) { s.argument("read_session_mail", "limit")["maximum"] = 50 }, []string{"10"}},
		"longer subjects":               {func(s *stand) { s.argument("post_session_note", "subject")["maxLength"] = 500 }, []string{"11"}},
		"cancelling needs more":         {func(s *stand) { s.schema("cancel_session_handoff")["required"] = []string{"handoff_id", "reason"} }, []string{"12"}},
		"another keyword refuses the same": {func(s *stand) {
			s.argument(propose, "max_rounds")["maximum"], s.argument(propose, "max_rounds")["enum"] = nil, []int{1}
		}, []string{"5", "6"}},
		"a tool is missing":                  {func(s *stand) { s.tools = s.tools[:4] }, []string{"2", "8", "9"}},
		"a schema that leads back to itself": {func(s *stand) { s.tools[3]["inputSchema"] = object{"type": "object", "$ref": "#"} }, []string{"12"}},
	} {
		s := sessionStand(t)
		c.change(s)
		var broken []string
		for i, r := range judged(t, s, PublishedCases()).Cases {
			if !r.Held {
				broken = append(broken, fmt.Sprint(i+1))
			}
		}
		if !slices.Equal(broken, c.broken) {
			t.Errorf("%s: cases %v do not hold, want %v", name, broken, c.broken)
		}
	}
}

func TestEveryReasonOfARefusalIsNamedInOrder(t *testing.T) {
	schema := `{"type":"object","properties":{
		"n":{"type":"integer","minimum":1},"s":{"type":"string","maxLength":2},"e":{"enum":["a"]},"r":{"$ref":"#/$defs/short"},"p":{"$ref":"#/properties/n"}},
		"$defs":{"short":{"type":"string","maxLength":1}},
		"required":["must"],"additionalProperties":false}`
	for arguments, want := range map[string]string{
		`{"must":1}`: "/additionalProperties",
		`{"n":0,"s":"xyz","e":"b","r":"xy","p":0,"more":1}`: "e/enum n/minimum p/minimum r/maxLength s/maxLength /required /additionalProperties",
		`{"n":"text"}`:    "n/type /required",
		`{"n":1.5}`:       "n/type /required",
		`{"n":1,"s":"x"}`: "/required",
	} {
		for range 20 { // the order of a map must not show
			if got := reasonsOf(t, schema, arguments); got != want {
				t.Fatalf("%s: got %q, want %q", arguments, got, want)
			}
		}
	}
	for schema, want := range map[string]string{
		`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`:                      "/anyOf",
		`{"dependentRequired":{"x":["y"]}}`:                                      "/dependentRequired",
		`{"maxProperties":0}`:                                                    "/maxProperties",
		`{"not":{"required":["x"]}}`:                                             "/not",
		`{"patternProperties":{"^x":false},"additionalProperties":false}`:        "/not",
		`{"properties":{"x":{"type":["string","null"]}}}`:                        "x/type",
		`{"properties":{"x":{"items":{"maximum":1}}}}`:                           "",
		`{"properties":{"x":{"format":"date-time"}}}`:                            "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","required":["y"]}`: "/required",
	} {
		if got := reasonsOf(t, schema, `{"x":1}`); got != want {
			t.Errorf("%s: got %q, want %q", schema, got, want)
		}
	}
}

func reasonsOf(t *testing.T, schema, arguments string) string {
	t.Helper()
	var values map[string]any
	if err := json.Unmarshal([]byte(arguments), &values); err != nil {
		t.Fatal(err)
	}
	all, err := reasons([]byte(schema), values)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	var words []string
	for _, r := range all {
		words = append(words, r.Argument+"/"+r.Keyword)
	}
	return strings.Join(words, " ")
}

func TestSchemasThatCannotBeJudgedAreNoCrash(t *testing.T) {
	doubling := `"a0":{"type":"string"}`
	for i := range 40 {
		doubling += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i+1, i, i)
	}
	for schema, want := range map[string]string{
		`true`:                              "is no object",
		`null`:                              "is no object",
		``:                                  "cannot be read",
		`{"$ref":"#"}`:                      "leads back to itself",
		`{"properties":{"x":{"$ref":"#"}}}`: "leads back to itself",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`: "leads back to itself",
		`{"properties":{"enum":{"$ref":"#"}}}`:                                             "leads back to itself",
		`{"$ref":"https://schemas.example/x"}`:                                             "no place in it",
		`{"$dynamicRef":"#node","$dynamicAnchor":"node"}`:                                  "no place in it",
		`{"$ref":"#/$defs/none"}`:                                                          "not there",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$id":"https://x.example/"}}}`:                  "$id of its own",
		`{"$ref":"#/$defs/a40","$defs":{` + doubling + `}}`:                                "more than 100000 subschemas",
		`{"type":7}`:                             "cannot be read",
		`{"pattern":"("}`:                        "cannot be used",
		`{"properties":{"x":null}}`:              "cannot be used",
		`{"$schema":"https://x.example/schema"}`: "cannot be used",
	} {
		_, err := reasons([]byte(schema), map[string]any{"x": 1.0})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got error %v, want one that says %q", schema, err, want)
		}
	}
}

func TestFilesOfCasesAreReadStrictly(t *testing.T) {
	good := `{"case":"c","tool":"look","arguments":{},"expected":"accepted"}`
	for text, want := range map[string]string{
		``:                  "ends too early",
		`{}`:                "must be an array",
		`[]`:                "1 to 1000 cases, got 0",
		`[` + good + `,{}]`: "/1: case: is required",
		`[{"case":"c","tool":"look","arguments":{},"expected":"accepted","keywords":[]}]`: "/0/keywords: there is no such member",
		strings.Replace(`[`+good+`]`, `"look"`, `""`, 1):                                  "/0: tool: is required",
		strings.Replace(`[`+good+`]`, `{},`, `[],`, 1):                                    "/0: arguments: must be an object",
		strings.Replace(`[`+good+`]`, `"accepted"`, `"fine"`, 1):                          "/0: expected: must be accepted or refused",
		strings.Replace(`[`+good+`]`, `"accepted"`, `"accepted","keyword":"enum"`, 1):     "/0: keyword: none refuses",
		strings.Replace(`[`+good+`]`, `"accepted"`, `"accepted","lengths":{"a":-1}`, 1):   "/0: lengths: a must be from 0 to 1000000",
		`[` + good + `] x`: "is not valid JSON",
	} {
		if _, err := ReadCases([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one that says %q", text, err, want)
		}
	}
	if cases, err := ReadCases([]byte(`[` + good + `]`)); err != nil || len(cases) != 1 {
		t.Errorf("got %v and error %v, want one case", cases, err)
	}
}

func TestLimitsNeedAListThatCanBeRead(t *testing.T) {
	s := sessionStand(t)
	s.public = false
	if _, err := Limits(t.Context(), s.base+"/mcp", VisitOptions{}, PublishedCases()); !errors.Is(err, ErrSignIn) {
		t.Errorf("a closed list: got error %v, want %v", err, ErrSignIn)
	}
	for name, c := range map[string]struct {
		rpc  func(w http.ResponseWriter, method string, in object) bool
		want string
	}{
		"a page": {func(w http.ResponseWriter, _ string, _ object) bool { htmlPage(w, 200); return true }, "HTML"},
		"an error": {func(w http.ResponseWriter, method string, in object) bool {
			if method == "tools/list" {
				answerJSON(w, 200, object{"jsonrpc": "2.0", "id": in["id"], "error": object{"code": -32603, "message": "broken"}})
			}
			return method == "tools/list"
		}, "broken"},
		"a list without end": {func(w http.ResponseWriter, method string, in object) bool {
			if method == "tools/list" {
				answerJSON(w, 200, object{"jsonrpc": "2.0", "id": in["id"], "result": object{"tools": []object{}, "nextCursor": "on"}})
			}
			return method == "tools/list"
		}, ""},
	} {
		s := sessionStand(t)
		s.rpc = c.rpc
		report, err := Limits(t.Context(), s.base+"/mcp", VisitOptions{}, PublishedCases())
		if c.want == "" {
			if err != nil || report.Held != 0 || report.Cases[0].Found != NoTool {
				t.Errorf("%s: got %+v and error %v, want cases without a tool", name, report, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that says %q", name, err, c.want)
		}
	}
	if _, err := Limits(t.Context(), "http://127.0.0.1:1/mcp", VisitOptions{}, PublishedCases()); err == nil {
		t.Error("a server that is not there is no error")
	}
}

func TestHeadersGoWithEveryRequestOfAVisit(t *testing.T) {
	s := sessionStand(t)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Gate") != "open" {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	report, err := Limits(t.Context(), s.base+"/mcp", VisitOptions{Header: http.Header{"X-Gate": {"open"}}}, PublishedCases())
	if err != nil || report.Held != 12 {
		t.Errorf("got %+v and error %v, want 12 cases to hold", report, err)
	}
}
