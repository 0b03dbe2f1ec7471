package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// said is an answer in one line: HTTP status, then the reason of a refusal.
func said(r probe.Result) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.Status, r.Code))
}

// The nine steps of product.md §3, in every protocol version at both mounts.
func TestTheNineStepsHoldAtBothMountsInAllVersions(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		for _, mount := range testkit.Mounts {
			for _, version := range probe.Versions {
				play(t, h, mount, version)
			}
		}
	})
}

// play is one telling of the story.
func play(t *testing.T, h *testkit.House, mount, version string) {
	writer, connection := h.Owner.ConnectAt(mount, version, writeScope...)
	reader, reading := h.Owner.ConnectAt(mount, version, readScope...)
	a, b := h.Owner.Project("A", false), h.Owner.Project("B", false)
	noteA, noteB := h.Owner.Note(a, "In A", "First.\n"), h.Owner.Note(b, "In B", "First.\n")
	readA, readB := testkit.Object{"note_id": noteA.ID, "tab_id": noteA.Tabs[0].ID}, testkit.Object{"note_id": noteB.ID, "tab_id": noteB.Tabs[0].ID}
	add := testkit.Object{"note_id": noteA.ID, "tab_id": noteA.Tabs[0].ID, "markdown": "More.\n", "idempotency_key": "story-key-1"}
	listA := testkit.Object{"project_id": a}
	where := mount + " " + version
	step := func(number int, s *probe.Session, tool string, arguments testkit.Object, want string) {
		t.Helper()
		if r := testkit.Call(t, s, tool, arguments); said(r) != want {
			t.Errorf("%s, step %d, %s %v: got %s (%s), want %s", where, number, tool, arguments, said(r), r.Text, want)
		}
	}

	if got := projectsOf(t, writer); len(got) != 0 {
		t.Errorf("%s, step 1: a fresh connection lists the projects %v, want none", where, got)
	}
	step(1, writer, "list_project_resources", listA, "200 not_in_project")
	h.Owner.AddConnection(a, connection)
	h.Owner.AddConnection(a, reading)
	if got := projectsOf(t, writer); len(got) != 1 || got[0] != a {
		t.Errorf("%s, step 2: the connection lists the projects %v, want A alone, %s", where, got, a)
	}
	if r := testkit.Call(t, writer, "list_project_resources", listA); !strings.Contains(r.Text, noteA.ID) || strings.Contains(r.Text, noteB.ID) {
		t.Errorf("%s, step 2: A lists %s, want the note %s and not %s", where, r.Text, noteA.ID, noteB.ID)
	}
	step(3, writer, "read_note_tab", readA, "200")
	step(4, writer, "read_note_tab", readB, "200 not_in_project")
	step(5, reader, "append_note_tab", add, "403 insufficient_scope")
	step(6, writer, "append_note_tab", add, "200")
	h.Owner.Must("PATCH", "/notes/"+noteA.ID, testkit.Object{"project_id": b, "expected_version": noteA.Version}, nil)
	step(7, writer, "read_note_tab", readA, "200 not_in_project")
	h.Owner.Must("DELETE", "/projects/"+a+"/connections/"+connection, nil, nil)
	step(8, writer, "list_project_resources", listA, "200 not_in_project")
	h.Owner.Must("PATCH", "/connections/"+connection, testkit.Object{"status": "revoked"}, nil)
	step(9, writer, "read_note_tab", readA, "200 connection_revoked")
	afterRevoke(t, h, writer, connection)
	step(9, reader, "list_project_resources", listA, "200") // the other connection is untouched
}

func projectsOf(t *testing.T, s *probe.Session) []string {
	t.Helper()
	var granted struct {
		Projects []testkit.Made `json:"projects"`
	}
	if err := testkit.Call(t, s, "list_granted_resources", testkit.Object{}).Read(&granted); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(granted.Projects))
	for i, p := range granted.Projects {
		ids[i] = p.ID
	}
	return ids
}

// afterRevoke holds what a revoked connection's token is still good for: to be
// told so. It ends with its hour or is refreshed no more.
func afterRevoke(t *testing.T, h *testkit.House, s *probe.Session, connection string) {
	t.Helper()
	names, err := s.Tools(t.Context())
	if err != nil || len(names) == 0 {
		t.Errorf("tools/list of a revoked connection gave %d tools and %v, want them all", len(names), err)
	}
	for _, name := range names {
		r, ok := rows[name]
		if !ok {
			t.Fatalf("the tool %s has no row in the matrix", name)
		}
		want := "200 connection_revoked"
		if r.write && !strings.Contains(s.Grant.Scope, "osfoundry:write") {
			want = "403 insufficient_scope"
		}
		unknown := world{project: absentID, other: absentID, note: testkit.Made{ID: absentID, Tabs: []testkit.Made{{ID: absentID}}}}
		if got := testkit.Call(t, s, name, r.args(&unknown)); said(got) != want {
			t.Errorf("%s in %s of a revoked connection: got %s, want %s", name, s.Version, said(got), want)
		}
	}
	var refused *probe.OAuthError
	if err := s.Refresh(t.Context()); !errors.As(err, &refused) || refused.Code != "invalid_grant" || refused.Status != http.StatusBadRequest {
		t.Errorf("a refresh of a revoked connection: got %v, want 400 invalid_grant", err)
	}
	for _, status := range []string{"active", "paused"} {
		if code, body := h.Owner.Do("PATCH", "/connections/"+connection, testkit.Object{"status": status}); code < 400 || code >= 500 {
			t.Errorf("making a revoked connection %s: got %d %s, want a refusal: revoked is final", status, code, body)
		}
	}
	if r := testkit.Call(t, s, "list_granted_resources", testkit.Object{}); said(r) != "200 connection_revoked" {
		t.Errorf("after the try to bring it back: got %s, want 200 connection_revoked", said(r))
	}
}
