package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// spoilt is a request that is wrong before anybody asks what it wants.
type spoilt struct {
	name   string
	header http.Header                   // replaces the good ones of the same name
	body   func(arguments string) string // of the good ones; nil leaves them
	status int
	code   string // as MCP's answer has it; the owner API has words for all
}

// inside puts a member into a JSON object that is written.
func inside(member string) func(string) string {
	return func(object string) string { return strings.TrimSuffix(object, "}") + "," + member + "}" }
}

// nested is a list this many levels deep.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// spoiltRequests are wrong on any route that takes JSON. The member is one that the
// route takes as text; around counts the levels down to the object's members.
func spoiltRequests(member string, around int) []spoilt {
	text := func(value string) func(string) string {
		return func(object string) string {
			return strings.Replace(object, `"`+member+`":"`, `"`+member+`":"`+value, 1)
		}
	}
	return []spoilt{
		{name: "5 MiB", body: text(strings.Repeat("x", 5<<20)), status: 413, code: "-32600"},
		{name: "a key twice", body: inside(`"` + member + `":"other"`), status: 400, code: "-32700"},
		{name: "a key twice, deep inside", body: func(o string) string { return strings.Replace(o, `[{`, `[{"titl\u0065":"twice",`, 1) }, status: 400, code: "-32700"},
		{name: "NUL", body: text(`a\u0000b`), status: 400, code: "-32700"},
		{name: "a lone surrogate", body: text(`\ud800`), status: 400, code: "-32700"},
		{name: "a lone second surrogate", body: text(`\udc00\ud800`), status: 400, code: "-32700"},
		{name: "no UTF-8", body: text("\xff\xfe"), status: 400, code: "-32700"},
		{name: "depth 65", body: inside(`"x":` + nested(65-around)), status: 400, code: "-32700"},
		{name: "cut off", body: func(o string) string { return strings.TrimSuffix(o, "}") }, status: 400, code: "-32700"},
		{name: "text/plain", header: http.Header{"Content-Type": {"text/plain"}}, status: 415, code: "-32600"},
		{name: "no content type", header: http.Header{"Content-Type": nil}, status: 415, code: "-32600"},
		{name: "a form", header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, status: 415, code: "-32600"},
		{name: "foreign Host", header: http.Header{"Host": {"rebound.example"}}, status: 403, code: `"host_not_allowed"`},
		{name: "foreign Origin", header: http.Header{"Origin": {"https://evil.example"}}, status: 403, code: "-32600"},
		{name: "Origin null", header: http.Header{"Origin": {"null"}}, status: 403, code: "-32600"},
	}
}

// apply makes the bad request out of a good one.
func (b spoilt) apply(header http.Header, arguments string) (http.Header, string) {
	header = header.Clone()
	maps.Copy(header, b.header)
	if b.body != nil {
		arguments = b.body(arguments)
	}
	return header, arguments
}

func TestASpoiltMCPRequestIsRefusedAndChangesNothing(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		w := newWire(t)
		for _, mount := range testkit.Mounts {
			for _, version := range probe.Versions {
				session, connection := h.Owner.ConnectAt(mount, version)
				h.Owner.AddConnection(project, connection)
				create := `{"project_id":"` + project + `","title":"Once","tabs":[{"title":"T","markdown":"x"}],"idempotency_key":"spoilt-key"}`
				before := census(t, h.Options)
				for _, bad := range spoiltRequests("title", 3) {
					header, body := envelope(session, "tools/call", "create_note", `"name":"create_note","arguments":@`)
					header, arguments := bad.apply(header, create)
					got := w.send("POST", session.Endpoint, header, strings.Replace(body, "@", arguments, 1))
					if got.status != bad.status || !strings.Contains(string(got.body), `"code":`+bad.code+",") {
						t.Errorf("%s in %s, %s: got %d %.300s, want %d %s", mount, version, bad.name, got.status, got.body, bad.status, bad.code)
					}
				}
				spoiltEnvelopes(t, w, session)
				// One level less is read, and found to be no argument.
				if got := w.call(session, "create_note", inside(`"x":`+nested(61))(create)); got.status != 200 || got.rpc(t).code() != "invalid_arguments" {
					t.Errorf("%s in %s, depth 64: got %d %.300s, want 200 invalid_arguments", mount, version, got.status, got.body)
				}
				if after := census(t, h.Options); !maps.Equal(before, after) {
					t.Errorf("%s in %s: rows before %v and after %v", mount, version, before, after)
				}
			}
		}
	})
}

// spoiltEnvelopes are wrong around the arguments.
func spoiltEnvelopes(t *testing.T, w *wire, s *probe.Session) {
	t.Helper()
	header, good := envelope(s, "tools/call", "list_granted_resources", `"name":"list_granted_resources","arguments":{}`)
	for name, bad := range map[string]struct{ body, code string }{
		"nothing":            {"", "-32700"},
		"two requests":       {good + good, "-32700"},
		"a batch":            {"[" + good + "]", "-32600"},
		"a text":             {`"tools/call"`, "-32600"},
		"Method in capitals": {strings.Replace(good, `"method"`, `"Method"`, 1), "-32600"},
		"another version":    {strings.Replace(good, `"2.0"`, `"1.0"`, 1), "-32600"},
		"a response":         {`{"jsonrpc":"2.0","id":1,"result":{}}`, "-32600"},
		"id null":            {strings.Replace(good, `"id":1`, `"id":null`, 1), "-32600"},
		"a list as params":   {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`, "-32600"},
	} {
		got := w.send("POST", s.Endpoint, header, bad.body)
		if got.status != 400 || got.rpc(t).code() != bad.code {
			t.Errorf("%s, %s: got %d %.300s, want 400 %s", s.Version, name, got.status, got.body, bad.code)
		}
	}
}

// optional are the tools that need not be told what they are about.
var optional = []string{"list_resource_changes", "list_sessions", "list_session_handoffs"}

// An ID may be any text: one that cannot be an ID names nothing.
func TestAnIDThatIsNoneNamesNothing(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		session, _ := h.Owner.Connect(probe.Version20251125)
		for what, id := range map[string]string{
			"empty": "", "short": "x", "SQL": "' OR 1=1 --", "LIKE": "%", "path": "../../etc/passwd", "huge": strings.Repeat("0", 1<<20),
			"capitals": strings.ToUpper(absentID), "control": "\x01\x7f", "right to left": "\u202e" + absentID,
		} {
			for name, r := range rows {
				w := world{project: id, other: id, note: testkit.Made{ID: id, Tabs: []testkit.Made{{ID: id}}}, session: id, handoff: id, task: id}
				if r.about == aboutConnection || id == "" && slices.Contains(optional, name) {
					continue
				}
				if got := testkit.Call(t, session, name, r.args(&w)); said(got) != "200 not_found" {
					t.Errorf("%s, an ID that is %s: got %s (%.200s), want 200 not_found", name, what, said(got), got.Text)
				}
			}
		}
	})
}

func TestASpoiltCallOfTheOwnerAPIIsRefusedAndChangesNothing(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		w := newWire(t)
		header := http.Header{"Content-Type": {"application/json"}, "Origin": {h.Base}, "Cookie": {h.Owner.Cookie()}}
		before := census(t, h.Options)
		for _, route := range []struct{ method, path, member, body string }{
			{"POST", "/workspaces", "name", `{"name":"Globex"}`},
			{"POST", "/workspaces/" + h.Workspace + "/projects", "name", `{"name":"Beta"}`},
			{"POST", "/projects/" + project + "/notes", "title", `{"title":"Note","tabs":[{"title":"T","markdown":"x"}]}`},
			{"PATCH", "/projects/" + project, "name", `{"name":"Beta","expected_version":1}`},
		} {
			for _, bad := range spoiltRequests(route.member, 1) {
				header, body := bad.apply(header, route.body)
				if bad.body != nil && body == route.body {
					continue // there is no object inside to spoil
				}
				got := w.send(route.method, h.Base+"/api/v1"+route.path, header, body)
				if got.status != bad.status || !strings.HasPrefix(string(got.body), `{"error":`) {
					t.Errorf("%s %s, %s: got %d %.300s, want %d with an error", route.method, route.path, bad.name, got.status, got.body, bad.status)
				}
			}
		}
		if after := census(t, h.Options); !maps.Equal(before, after) {
			t.Errorf("rows before %v and after %v", before, after)
		}
		if got := w.send("POST", h.Base+"/api/v1/workspaces", header, `{"name":"Globex"}`); got.status >= 300 {
			t.Errorf("the good request got %s, want success: the wrong ones proved nothing", fmt.Sprint(got.status, string(got.body)))
		}
	})
}

// resolved is a schema with its references followed.
func resolved(document, schema map[string]any) map[string]any {
	if name, ok := schema["$ref"].(string); ok {
		all := document["components"].(map[string]any)["schemas"].(map[string]any)
		return resolved(document, all[strings.TrimPrefix(name, "#/components/schemas/")].(map[string]any))
	}
	out := maps.Clone(schema)
	if items, ok := out["items"].(map[string]any); ok {
		out["items"] = resolved(document, items)
	}
	if properties, ok := out["properties"].(map[string]any); ok {
		followed := map[string]any{}
		for name, member := range properties {
			followed[name] = resolved(document, member.(map[string]any))
		}
		out["properties"] = followed
	}
	return out
}

// bodies are the schemas of all bodies that the owner API takes, by method and
// path, as its document tells them.
func bodies(t *testing.T, h *testkit.House) map[string]map[string]any {
	t.Helper()
	var document map[string]any
	h.Owner.Must("GET", "/openapi.json", nil, &document)
	found := map[string]map[string]any{}
	for path, methods := range document["paths"].(map[string]any) {
		for method, operation := range methods.(map[string]any) {
			body, ok := operation.(map[string]any)["requestBody"].(map[string]any)
			if !ok {
				continue
			}
			schema := body["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any)
			found[strings.ToUpper(method)+" "+strings.TrimPrefix(path, "/api/v1")] = resolved(document, schema)
		}
	}
	return found
}

func TestWrongBodiesOfTheOwnerAPIAreRefusedAndChangeNothing(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		note := h.Owner.Note(project, "Plan", "First thought.\n")
		_, connection := h.Owner.Connect(probe.Version20251125)
		path := strings.NewReplacer("{workspace}", h.Workspace, "{project}", project, "{note}", note.ID, "{tab}", note.Tabs[0].ID,
			"{connection}", connection, "{user}", h.Owner.ID, "{version}", "1")
		w := newWire(t)
		header := http.Header{"Content-Type": {"application/json"}, "Origin": {h.Base}, "Cookie": {h.Owner.Cookie()}}
		before := census(t, h.Options)
		tried := 0
		for route, schema := range bodies(t, h) {
			method, address, _ := strings.Cut(path.Replace(route), " ")
			for _, bad := range wrongs(schema, sample(schema), "", func(v any) any { return v }) {
				if bad.lenient || bad.what == beyondFloat || route == "POST /setup" { // int64 holds it; setup is over
					continue
				}
				tried++
				text, err := json.Marshal(bad.value)
				if err != nil {
					t.Fatal(err)
				}
				got := w.send(method, h.Base+"/api/v1"+address, header, string(text))
				if field := fmt.Sprintf("%q:", strings.TrimPrefix(bad.pointer, "/")); got.status != 422 || bad.pointer != "" && !strings.Contains(string(got.body), field) {
					t.Errorf("%s, %s is %s: %.200s: got %d %.300s, want 422 that names it", route, bad.pointer, bad.what, text, got.status, got.body)
				}
			}
		}
		if tried < 100 {
			t.Errorf("%d wrong bodies were tried: the document was not read", tried)
		}
		if after := census(t, h.Options); !maps.Equal(before, after) {
			t.Errorf("rows before %v and after %v", before, after)
		}
	})
}
