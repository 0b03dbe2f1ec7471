package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The same key again is answered with what it was answered, in every version, as
// long as the call would be allowed now.
func TestAKeyIsReplayedOnlyWhileTheCallIsAllowed(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		for _, version := range probe.Versions {
			replay(t, h, version)
		}
	})
}

func replay(t *testing.T, h *testkit.House, version string) {
	project := h.Owner.Project("A", false)
	session, connection := h.Owner.Connect(version)
	h.Owner.AddConnection(project, connection)
	create := func(title string) probe.Result {
		return testkit.Call(t, session, "create_note", testkit.Object{
			"project_id": project, "title": title, "tabs": []testkit.Object{{"title": "T", "markdown": "x"}}, "idempotency_key": "replay-key",
		})
	}
	first := create("Once")
	if said(first) != "200" {
		t.Fatalf("the first call: got %s (%s), want 200", said(first), first.Text)
	}
	want := strings.TrimSuffix(string(first.Structured), "}") + `,"replayed":true}`
	for _, step := range []struct {
		name   string
		change func()
		title  string
		want   string // what it is refused with; "" is the kept answer
	}{
		{"the same again", func() {}, "Once", ""},
		{"other arguments", func() {}, "Twice", "200 idempotency_mismatch"},
		{"the project taken away", func() { h.Owner.Must("DELETE", "/projects/"+project+"/connections/"+connection, nil, nil) }, "Once", "200 not_in_project"},
		{"the project given back", func() { h.Owner.AddConnection(project, connection) }, "Once", ""},
		{"paused", func() { h.Owner.Must("PATCH", "/connections/"+connection, testkit.Object{"status": "paused"}, nil) }, "Once", "200 connection_paused"},
		{"resumed", func() { h.Owner.Must("PATCH", "/connections/"+connection, testkit.Object{"status": "active"}, nil) }, "Once", ""},
		{"revoked", func() { h.Owner.Must("PATCH", "/connections/"+connection, testkit.Object{"status": "revoked"}, nil) }, "Once", "200 connection_revoked"},
	} {
		step.change()
		got := create(step.title)
		if step.want != "" && said(got) != step.want {
			t.Errorf("%s, %s: got %s (%s), want %s", version, step.name, said(got), got.Text, step.want)
		}
		if step.want == "" && (said(got) != "200" || string(got.Structured) != want || got.Text != want) {
			t.Errorf("%s, %s: got %s %s and as text %s, want %s", version, step.name, said(got), got.Structured, got.Text, want)
		}
	}
	var notes struct {
		Items []testkit.Made `json:"items"`
	}
	h.Owner.Must("GET", "/projects/"+project+"/notes", nil, &notes)
	if len(notes.Items) != 1 {
		t.Errorf("one key made %d notes, want 1", len(notes.Items))
	}
}

// Unknown names get their era's answer (protocol.md §1), at both mounts.
func TestUnknownToolsAndMethodsAreAnsweredAsTheirVersionWants(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		w := newWire(t)
		for _, mount := range testkit.Mounts {
			for _, version := range probe.Versions {
				session, _ := h.Owner.ConnectAt(mount, version)
				tool, method := http.StatusOK, http.StatusOK
				if version == probe.Version20260728 {
					tool, method = http.StatusBadRequest, http.StatusNotFound
				}
				r := w.call(session, "no_such_tool", "{}")
				if got, want := fmt.Sprint(r.status, r.rpc(t).code()), fmt.Sprint(tool, "-32602"); got != want {
					t.Errorf("unknown tool at %s in %s: got %s, want %s", mount, version, got, want)
				}
				header, body := envelope(session, "resources/list", "", "")
				r = w.send("POST", session.Endpoint, header, body)
				if got, want := fmt.Sprint(r.status, r.rpc(t).code()), fmt.Sprint(method, "-32601"); got != want {
					t.Errorf("unknown method at %s in %s: got %s, want %s", mount, version, got, want)
				}
			}
		}
	})
}
