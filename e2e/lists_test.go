package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// Lists leave out what a call on the item would be denied (product.md §3): not its
// title, not its ID, not a word of its text.
func TestListsLeaveOutWhatACallWouldBeDenied(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		approver := h.Invite("ben@example.com", "editor")
		for _, version := range probe.Versions {
			for _, s := range []state{
				{name: "open"}, {name: "list with edit", acl: "edit"},
				{name: "list without the approver", acl: "none"}, {name: "list with view", acl: "view"},
				{name: "local-only", localOnly: true}, {name: "moved away", moved: true},
			} {
				lists(t, h, approver, version, s)
			}
		}
	})
}

// lists asks every list and search about a note in the state.
func lists(t *testing.T, h *testkit.House, approver *testkit.Person, version string, s state) {
	t.Helper()
	project, elsewhere := h.Owner.Project("Alpha", false), h.Owner.Project("Beta", false)
	session, connection := approver.Connect(version)
	h.Owner.AddConnection(project, connection)
	w := &world{project: project, note: h.Owner.Note(project, "Quokka plan", "Wombats dig.\n")}
	r := row{about: aboutNote}
	prepare(h, s, r, w, elsewhere, approver, world{})
	s.scopes = allScopes
	visible := expect(s, r) == "200"
	for _, ask := range []struct {
		tool      string
		arguments testkit.Object
	}{
		{"list_project_resources", testkit.Object{"project_id": project}},
		{"search", testkit.Object{"query": "wombats", "project_ids": []string{project}}},
		{"search", testkit.Object{"query": "quokka"}},
		{"list_resource_changes", testkit.Object{"project_id": project}},
	} {
		got := testkit.Call(t, session, ask.tool, ask.arguments)
		// PostgreSQL holds an event back while any older transaction of its cluster runs.
		for patience := time.Now().Add(20 * time.Second); visible && ask.tool == "list_resource_changes" &&
			!strings.Contains(got.Text, w.note.ID) && time.Now().Before(patience); {
			got = testkit.Call(t, session, ask.tool, ask.arguments)
		}
		if said(got) != "200" {
			t.Errorf("%s, %s, %s: got %s (%s), want 200", s.name, version, ask.tool, said(got), got.Text)
		}
		if shown := strings.Contains(got.Text, w.note.ID); shown != visible && (ask.tool != "list_resource_changes" || !s.moved) { // that a note left is news of its project
			t.Errorf("%s, %s, %s %v: the note is shown %t, want %t: %s", s.name, version, ask.tool, ask.arguments, shown, visible, got.Text)
		}
		if text := strings.ToLower(got.Text); !visible && (strings.Contains(text, "quokka") || strings.Contains(text, "wombats")) {
			t.Errorf("%s, %s, %s %v: the note's words are shown: %s", s.name, version, ask.tool, ask.arguments, got.Text)
		}
	}
}

// A move is an edit in both projects: the target is judged like the source.
func TestAMoveIsJudgedByItsTargetToo(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		approver := h.Invite("ben@example.com", "editor")
		outsider := foreignNote(h)
		source, granted := h.Owner.Project("Source", false), h.Owner.Project("Granted", false)
		closed := h.Owner.Project("Private", true)
		h.Owner.Must("PUT", "/projects/"+closed+"/members/"+approver.ID, testkit.Object{}, nil)
		for _, version := range probe.Versions {
			session, connection := approver.Connect(version)
			for _, project := range []string{source, granted, closed} {
				h.Owner.AddConnection(project, connection)
			}
			h.Owner.Must("DELETE", "/projects/"+closed+"/members/"+approver.ID, nil, nil)
			w := &world{note: h.Owner.Note(source, "Plan", "Text.\n")}
			var unknown string
			for _, target := range []struct{ name, project, want string }{
				{"not granted", h.Owner.Project("Other", false), "200 not_in_project"},
				{"of another workspace", outsider.project, "200 not_found"},
				{"never existed", absentID, "200 not_found"},
				{"private without the approver", closed, "200 approver_lost_access"},
				{"granted", granted, "200"},
			} {
				w.other = target.project
				got := testkit.Call(t, session, "move_note", rows["move_note"].args(w))
				if said(got) != target.want {
					t.Errorf("%s, target %s: got %s (%s), want %s", version, target.name, said(got), got.Text, target.want)
				}
				if target.want != "200 not_found" {
					continue
				}
				if unknown != "" && got.Text != unknown {
					t.Errorf("%s, target %s: got %s, want the same as of another workspace: %s", version, target.name, got.Text, unknown)
				}
				unknown = got.Text
			}
			h.Owner.Must("PUT", "/projects/"+closed+"/members/"+approver.ID, testkit.Object{}, nil)
		}
	})
}
