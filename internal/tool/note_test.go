package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

var keys struct {
	sync.Mutex
	n int
}

// freshKey is an idempotency key that no call of this test had.
func freshKey() string {
	keys.Lock()
	defer keys.Unlock()
	keys.n++
	return fmt.Sprintf("key-%08d", keys.n)
}

// arguments is a JSON object with a fresh key.
func arguments(members map[string]any) string {
	members["idempotency_key"] = freshKey()
	return object(members)
}

func object(members map[string]any) string {
	b, err := json.Marshal(members, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return string(b)
}

const (
	reader = "claude-read"
	editor = "claude-write"
)

// made makes a note in alpha with one tab for each text.
func (w *world) made(texts ...string) noteOutline {
	w.Helper()
	tabs := make([]map[string]any, len(texts))
	for i, text := range texts {
		tabs[i] = map[string]any{"title": fmt.Sprintf("Tab %d", i), "markdown": text}
	}
	return ask[noteOutline](w, editor, "create_note", arguments(map[string]any{"project_id": "alpha", "title": "Made", "tabs": tabs}))
}

func (w *world) text(n noteOutline, tab int) string {
	w.Helper()
	return ask[tabText](w, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[tab].ID})).Text
}

func (w *world) append(n noteOutline, text, heading string) savedTab {
	w.Helper()
	a := map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": text}
	if heading != "" {
		a["heading"] = heading
	}
	return ask[savedTab](w, editor, "append_note_tab", arguments(a))
}

func edits(pairs ...string) []map[string]any {
	var list []map[string]any
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, map[string]any{"find": pairs[i], "replace": pairs[i+1]})
	}
	return list
}

func detailsOf(t testing.TB, err error) map[string]any {
	t.Helper()
	e, ok := errors.AsType[*access.Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	b, err := json.Marshal(e.Details)
	if err != nil {
		t.Fatal(err)
	}
	details := map[string]any{}
	if err := json.Unmarshal(b, &details); err != nil {
		t.Fatal(err)
	}
	return details
}

// pointersOf lists the places that a refusal for invalid_arguments names.
func pointersOf(t testing.TB, err error) (pointers []string) {
	t.Helper()
	list, _ := detailsOf(t, err)["errors"].([]any)
	for _, one := range list {
		pointers = append(pointers, one.(map[string]any)["pointer"].(string))
	}
	return pointers
}

func TestANoteIsMadeReadAndChanged(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("one", "two 😀")
		if n.Version != 1 || n.ProjectID != "alpha" || n.Archived || len(n.Tabs) != 2 || n.Tabs[1].Version != 1 || n.Tabs[1].Chars != 5 {
			w.Errorf("made %+v", n)
		}
		if got := n.Tabs[0].UpdatedBy; got.Kind != "outside_assistant" || got.Name != "outside assistant Name of claude" || got.UserID != "ben" || got.ConnectionID != "claude" {
			w.Errorf("the text of an assistant is by %+v", got)
		}
		if got := ask[noteOutline](w, reader, "read_note", `{"note_id":"n1"}`); got.UpdatedBy.Kind != "person" || got.UpdatedBy.Name != "Name of mara" {
			w.Errorf("the text of a person is by %+v", got.UpdatedBy)
		}

		s := ask[savedTab](w, editor, "edit_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 1, "edits": edits("one", "uno", "uno", "UNO")}))
		if s.Version != 2 || s.Chars != 3 || w.text(n, 0) != "UNO" {
			w.Errorf("edits on what the edits before left: saved %+v, text %q, want UNO at version 2", s, w.text(n, 0))
		}
		s = ask[savedTab](w, editor, "replace_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 2, "markdown": "a\r\nb"}))
		if s.Version != 3 || w.text(n, 0) != "a\r\nb" {
			w.Errorf("replaced: %+v, text %q", s, w.text(n, 0))
		}
		s = ask[savedTab](w, editor, "restore_note_version", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 3, "version": 1}))
		if s.Version != 4 || w.text(n, 0) != "one" {
			w.Errorf("restored: %+v, text %q", s, w.text(n, 0))
		}
		if got := ask[noteOutline](w, reader, "read_note", object(map[string]any{"note_id": n.ID})); got.Version != 1 || got.Tabs[0].Version != 4 || got.Tabs[1].Version != 1 {
			w.Errorf("texts changed the note's version, or another tab's: %+v", got)
		}

		more := ask[noteOutline](w, editor, "add_note_tab", arguments(map[string]any{"note_id": n.ID, "title": "Third", "markdown": "", "expected_version": 1}))
		if more.Version != 2 || len(more.Tabs) != 3 || more.TabID != more.Tabs[2].ID || more.Tabs[2].Title != "Third" {
			w.Errorf("added a tab: %+v", more)
		}
		named := ask[noteOutline](w, editor, "rename_note", arguments(map[string]any{"note_id": n.ID, "title": "New", "expected_version": 2,
			"tabs": []map[string]any{{"tab_id": more.Tabs[2].ID}, {"tab_id": more.Tabs[0].ID, "title": "Zero"}}}))
		if got := titles(named); named.Title != "New" || named.Version != 3 || got != "Third Tab 1 Zero" {
			w.Errorf("renamed and reordered: %q, tabs %q, version %d", named.Title, got, named.Version)
		}
	})
}

func titles(n noteOutline) string {
	var list []string
	for _, t := range n.Tabs {
		list = append(list, t.Title)
	}
	return strings.Join(list, " ")
}

func TestTextIsReadInPartsOfCodePoints(t *testing.T) {
	eachWorld(t, func(w *world) {
		text := strings.Repeat("😀é\r\n", 5_100) // 20,400 characters
		n := w.made(text)
		var parts []string
		offset := int64(0)
		for range 100 {
			p := ask[tabText](w, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "offset": offset, "max_chars": 10_001}))
			if p.Offset != offset || p.TotalChars != 20_400 || p.Version != 1 {
				w.Fatalf("part at %d: offset %d, total %d, version %d", offset, p.Offset, p.TotalChars, p.Version)
			}
			parts = append(parts, p.Text)
			if offset = p.NextOffset; offset == 0 {
				break
			}
		}
		if got := strings.Join(parts, ""); got != text || len(parts) != 3 {
			w.Errorf("%d parts together are %d bytes, want 3 parts that are the %d bytes stored", len(parts), len(got), len(text))
		}
		p := ask[tabText](w, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID}))
		if p.NextOffset != 20_000 {
			w.Errorf("next part at %d, want 20000 without max_chars", p.NextOffset)
		}
		if p := ask[tabText](w, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "offset": 20_400})); p.Text != "" || p.NextOffset != 0 {
			w.Errorf("at the end: %+v, want nothing more", p)
		}
		err := w.refused(access.InvalidArguments, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "offset": 20_401}))
		if got := fmt.Sprint(pointersOf(w, err)); got != "[/offset]" {
			w.Errorf("behind the end: pointers %s", got)
		}
	})
}

func TestAHeadingsSectionIsReadAndAppendedTo(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("# A\n\n```\n## Plan\n```\n\n## Plan\ntext\n\n# Plan b\n")
		p := ask[tabText](w, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "heading": "Plan"}))
		if p.Text != "## Plan\ntext\n\n" || p.TotalChars != 14 {
			w.Errorf("section %q of %d characters", p.Text, p.TotalChars)
		}
		w.append(n, "more", "Plan")
		if got, want := w.text(n, 0), "# A\n\n```\n## Plan\n```\n\n## Plan\ntext\nmore\n\n# Plan b\n"; got != want {
			w.Errorf("appended to the section: got %q, want %q", got, want)
		}
		err := w.refused(access.InvalidArguments, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "heading": "Nowhere"}))
		if got := fmt.Sprint(pointersOf(w, err), detailsOf(w, err)["headings"]); got != "[/heading] [# A ## Plan # Plan b]" {
			w.Errorf("unknown heading: %s", got)
		}
	})
}

func TestFindMustMatchOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("aaa b\r\nc")
		cases := []struct {
			edits   []map[string]any
			edit    int
			matches float64
		}{
			{edits("x", "y"), 0, 0},
			{edits("a", "y"), 0, 3},
			{edits("aa", "y"), 0, 2}, // overlapping itself
			{edits("b", "B", "b", "c"), 1, 0},
			{edits("b", "c", "c", "d"), 1, 2},
			{edits("b\nc", "y"), 0, 0},
		}
		for _, c := range cases {
			a := arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 1, "edits": c.edits})
			err := w.refused(access.InvalidArguments, editor, "edit_note_tab", a)
			details := detailsOf(w, err)
			if got, want := fmt.Sprint(pointersOf(w, err)), fmt.Sprintf("[/edits/%d/find]", c.edit); got != want || details["matches"] != c.matches {
				w.Errorf("%v: got %s matching %v times, want %s matching %v", c.edits, got, details["matches"], want, c.matches)
			}
		}
		if got := ask[noteOutline](w, reader, "read_note", object(map[string]any{"note_id": n.ID})).Tabs[0].Version; got != 1 {
			w.Errorf("refused edits left version %d", got)
		}
	})
}

func TestStaleVersionsAreConflictsThatSayWhatChanged(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("one\ntwo\n")
		tab := map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID}
		with := func(members map[string]any) string {
			all := map[string]any{}
			for _, m := range []map[string]any{tab, members} {
				for k, v := range m {
					all[k] = v
				}
			}
			return arguments(all)
		}
		w.append(n, "three\n", "")
		for _, c := range []struct {
			tool    string
			members map[string]any
		}{
			{"edit_note_tab", map[string]any{"edits": edits("one", "1")}},
			{"replace_note_tab", map[string]any{"markdown": "x"}},
			{"restore_note_version", map[string]any{"version": 1}},
		} {
			c.members["expected_version"] = 1
			details := detailsOf(w, w.refused(access.VersionConflict, editor, c.tool, with(c.members)))
			if diff, _ := details["diff"].(string); details["current_version"] != 2.0 || !strings.Contains(diff, "+three\n") {
				w.Errorf("%s on an old version: %v", c.tool, details)
			}
			c.members["expected_version"] = 99
			details = detailsOf(w, w.refused(access.VersionConflict, editor, c.tool, with(c.members)))
			if details["current_version"] != 2.0 || details["diff"] != "" {
				w.Errorf("%s on a future version: %v", c.tool, details)
			}
			c.members["expected_version"] = -1
			w.refused(access.InvalidArguments, editor, c.tool, with(c.members))
		}

		w.grant("claude", "beta")
		ask[noteOutline](w, editor, "rename_note", arguments(map[string]any{"note_id": n.ID, "title": "Renamed", "expected_version": 1}))
		for tool, members := range map[string]map[string]any{
			"add_note_tab": {"title": "T", "markdown": ""},
			"rename_note":  {"title": "Other"},
			"move_note":    {"project_id": "beta"},
			"archive_note": {},
		} {
			members["note_id"], members["expected_version"] = n.ID, 1
			details := detailsOf(w, w.refused(access.VersionConflict, editor, tool, arguments(members)))
			if diff, _ := details["diff"].(string); details["current_version"] != 2.0 || !strings.Contains(diff, "-title: Made\n+title: Renamed\n") {
				w.Errorf("%s on an old version: %v", tool, details)
			}
			members["expected_version"] = 3
			w.refused(access.VersionConflict, editor, tool, arguments(members))
		}
		if got := ask[noteOutline](w, reader, "read_note", object(map[string]any{"note_id": n.ID})); got.Version != 2 || got.Tabs[0].Version != 2 || got.ProjectID != "alpha" || got.Archived {
			w.Errorf("conflicts left %+v", got)
		}
	})
}

func TestTheDiffOfAConflictIsShort(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("")
		w.append(n, strings.Repeat("a line of text 😀\n", 1000), "")
		details := detailsOf(w, w.refused(access.VersionConflict, editor, "replace_note_tab",
			arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 1, "markdown": "x"})))
		if n := len([]rune(details["diff"].(string))); n != 2000 || details["diff_truncated"] != true {
			w.Errorf("a diff of %d characters, truncated: %v", n, details["diff_truncated"])
		}
	})
}

func TestOneOfManyEditsOfOneVersionWins(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("start")
		const writers = 64
		errs := make([]error, writers)
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				_, errs[i] = w.call(editor, "replace_note_tab", arguments(map[string]any{
					"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 1, "markdown": fmt.Sprint("writer ", i)}))
			})
		}
		all.Wait()
		won := -1
		for i, err := range errs {
			switch access.CodeOf(err) {
			case "":
				if won >= 0 {
					w.Errorf("writers %d and %d both won", won, i)
				}
				won = i
			case access.VersionConflict:
				if details := detailsOf(w, err); details["current_version"] != 2.0 || details["diff"] == "" {
					w.Errorf("a conflict without what changed: %v", details)
				}
			default:
				w.Errorf("writer %d: %v", i, err)
			}
		}
		if got, want := w.text(n, 0), fmt.Sprint("writer ", won); got != want {
			w.Errorf("the text is %q, the winner wrote %q", got, want)
		}
		if got := w.count(`SELECT COUNT(*) FROM note_tab_versions WHERE tab_id = $1`, n.Tabs[0].ID); got != 2 {
			w.Errorf("%d versions are kept, want 2", got)
		}
	})
}

func TestAppendsNeverConflict(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("")
		const writers = 32
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() {
				_, err := w.call(editor, "append_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": fmt.Sprintf("line %d", i)}))
				if err != nil {
					w.Errorf("writer %d: %v", i, err)
				}
			})
		}
		all.Wait()
		lines := strings.Split(w.text(n, 0), "\n")
		seen := map[string]bool{}
		for _, line := range lines {
			seen[line] = true
		}
		if len(lines) != writers || len(seen) != writers {
			w.Errorf("%d lines, %d different ones, want %d", len(lines), len(seen), writers)
		}
	})
}

func TestAnAppendWithItsKeyAgainIsReplayed(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("start\n")
		a := arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": "more"})
		first, err := w.call(editor, "append_note_tab", a)
		if err != nil {
			w.Fatal(err)
		}
		again, err := w.call(editor, "append_note_tab", a)
		if want := strings.TrimSuffix(string(first), "}") + `,"replayed":true}`; err != nil || string(again) != want {
			w.Errorf("again: %s, %v; want %s", again, err, want)
		}
		if got := w.text(n, 0); got != "start\nmore" {
			w.Errorf("the text is %q", got)
		}
	})
}

func TestMovesAreCheckedInBothProjects(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("text")
		move := func(project string) string {
			return arguments(map[string]any{"note_id": n.ID, "project_id": project, "expected_version": 1})
		}
		w.refused(access.NotFound, editor, "move_note", move("gamma"))
		w.refused(access.NotFound, editor, "move_note", move("never"))
		w.refused(access.NotInProject, editor, "move_note", move("beta"))
		w.refused(access.ApproverLostAccess, editor, "move_note", move("secret"))
		w.grant("claude", "secret")
		w.refused(access.ApproverLostAccess, editor, "move_note", move("secret"))
		w.refused(access.InvalidArguments, editor, "move_note", move("alpha"))

		w.grant("claude", "beta")
		moved := ask[noteOutline](w, editor, "move_note", move("beta"))
		if moved.ProjectID != "beta" || moved.Version != 2 {
			w.Errorf("moved: %+v", moved)
		}
		details := detailsOf(w, w.refused(access.VersionConflict, editor, "archive_note", arguments(map[string]any{"note_id": n.ID, "expected_version": 1})))
		if diff := details["diff"].(string); !strings.Contains(diff, "-project: another one\n+project: beta\n") {
			w.Errorf("the diff of a move names the project it came from, or not the one it is in:\n%s", diff)
		}
		w.exec(`DELETE FROM connection_projects WHERE connection_id = 'claude' AND project_id = 'beta'`)
		w.refused(access.NotInProject, reader, "read_note", object(map[string]any{"note_id": n.ID}))
		if got := w.count(`SELECT COUNT(*) FROM events WHERE resource_id = $1 AND (type = 'note.moved' AND project_id = 'beta' OR type = 'note.left' AND project_id = 'alpha')`, n.ID); got != 2 {
			w.Errorf("%d events of the move, want note.moved in beta and note.left in alpha", got)
		}
	})
}

func TestOnlyPeopleTakeAProjectOutOfTheArchive(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("text")
		w.grant("claude", "beta")
		w.exec(`UPDATE projects SET archived_at = 1 WHERE id = 'beta'`)
		for tool, members := range map[string]map[string]any{
			"create_note": {"project_id": "beta", "title": "New", "tabs": []any{map[string]any{"title": "One", "markdown": ""}}},
			"move_note":   {"note_id": n.ID, "project_id": "beta", "expected_version": 1},
		} {
			details := detailsOf(w, w.refused(access.HumanRequired, editor, tool, arguments(members)))
			if url, _ := details["url"].(string); !strings.HasSuffix(url, "/projects/beta") {
				w.Errorf("%s: the refusal sends people to %q", tool, url)
			}
		}
		if got := w.count(`SELECT COUNT(*) FROM notes WHERE project_id = 'beta'`); got != 0 {
			w.Errorf("%d notes got into the archived project", got)
		}
	})
}

func TestTheArchiveIsReadButNotChanged(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("one")
		a := ask[noteOutline](w, editor, "archive_note", arguments(map[string]any{"note_id": n.ID, "expected_version": 1}))
		if !a.Archived || a.Version != 2 {
			w.Errorf("archived: %+v", a)
		}
		if !ask[noteOutline](w, reader, "read_note", object(map[string]any{"note_id": n.ID})).Archived ||
			!ask[tabText](w, reader, "read_note_tab", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID})).Archived {
			w.Error("reading does not say that the note is archived")
		}
		w.grant("claude", "beta")
		tab := n.Tabs[0].ID
		for tool, members := range map[string]map[string]any{
			"add_note_tab":         {"title": "T", "markdown": "", "expected_version": 2},
			"edit_note_tab":        {"tab_id": tab, "edits": edits("one", "two"), "expected_version": 1},
			"append_note_tab":      {"tab_id": tab, "markdown": "x"},
			"replace_note_tab":     {"tab_id": tab, "markdown": "x", "expected_version": 1},
			"rename_note":          {"title": "T", "expected_version": 2},
			"move_note":            {"project_id": "beta", "expected_version": 2},
			"archive_note":         {"expected_version": 2},
			"restore_note_version": {"tab_id": tab, "version": 1, "expected_version": 1},
		} {
			members["note_id"] = n.ID
			details := detailsOf(w, w.refused(access.HumanRequired, editor, tool, arguments(members)))
			if got, want := details["url"], "https://osfoundry.example/notes/"+n.ID; got != want {
				w.Errorf("%s: url %v, want %s", tool, got, want)
			}
		}
		if got := w.text(n, 0); got != "one" {
			w.Errorf("the text in the archive became %q", got)
		}
	})
}

// No tool deletes; the rule holds for whoever writes one.
func TestWhatOnlyPeopleDoIsRefusedToConnections(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("one", "two")
		ctx := context.Background()
		notes := workspace.NewNotes(storage.Notes{}, storage.Search{}, workspace.NewEvents(storage.Events{}, w.clock), w.clock, "https://osfoundry.example")
		for name, do := range map[string]func(tx access.Tx, p access.Permit) error{
			"delete":    func(tx access.Tx, p access.Permit) error { return notes.Delete(ctx, tx, p, 1) },
			"unarchive": func(tx access.Tx, p access.Permit) error { _, err := notes.Unarchive(ctx, tx, p, 1); return err },
			"delete tab": func(tx access.Tx, p access.Permit) error {
				_, err := notes.DeleteTab(ctx, tx, p, n.Tabs[0].ID, 1)
				return err
			},
		} {
			ref := access.Ref{Kind: access.KindNote, ID: n.ID}
			err := w.db.Write(ctx, func(tx access.Tx) error {
				facts, err := w.db.ConnectionFacts(ctx, tx, editor, ref)
				if err != nil {
					return err
				}
				p, err := access.CheckConnection(facts, writing, ref, w.clock())
				if err != nil {
					return err
				}
				return do(tx, p)
			})
			if got := access.CodeOf(err); got != access.HumanRequired {
				w.Errorf("%s by a connection: got %q (%v), want %q", name, got, err, access.HumanRequired)
			}
		}
	})
}

func TestATabOfAnotherNoteIsUnknownLikeOneThatNeverWas(t *testing.T) {
	eachWorld(t, func(w *world) {
		n, other := w.made("mine"), w.made("theirs")
		for _, tab := range []string{"foreign.0", other.Tabs[0].ID, n.ID, "never", ""} {
			var texts []string
			for tool, members := range map[string]map[string]any{
				"read_note_tab":        {},
				"list_note_versions":   {},
				"read_note_version":    {"version": 1},
				"edit_note_tab":        {"edits": edits("theirs", "x"), "expected_version": 1},
				"append_note_tab":      {"markdown": "x"},
				"replace_note_tab":     {"markdown": "x", "expected_version": 1},
				"restore_note_version": {"version": 1, "expected_version": 1},
			} {
				members["note_id"], members["tab_id"] = n.ID, tab
				a := object(members)
				if strings.HasPrefix(tool, "read_") || strings.HasPrefix(tool, "list_") {
					texts = append(texts, fmt.Sprint(w.refused(access.NotFound, reader, tool, a)))
					continue
				}
				texts = append(texts, fmt.Sprint(w.refused(access.NotFound, editor, tool, arguments(members))))
			}
			for _, text := range texts {
				if text != "not_found: There is no tab with this ID." {
					w.Errorf("tab %q: %s", tab, text)
				}
			}
			w.refused(access.NotFound, editor, "rename_note", arguments(map[string]any{
				"note_id": n.ID, "expected_version": 1, "tabs": []map[string]any{{"tab_id": tab, "title": "T"}}}))
		}
		if got := w.text(other, 0); got != "theirs" {
			w.Errorf("the other note's text became %q", got)
		}
	})
}

func TestTitlesAndTextsThatCannotBeAreRefusedByName(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("text")
		create := func(title, tab, text string) string {
			return arguments(map[string]any{"project_id": "alpha", "title": title, "tabs": []map[string]any{{"title": "ok", "markdown": ""}, {"title": tab, "markdown": text}}})
		}
		long := strings.Repeat("é", 201)
		for _, c := range []struct{ tool, arguments, pointers string }{
			{"create_note", create("", "ok", ""), "[/title]"},
			{"create_note", create(" \u3000", "ok", ""), "[/title]"},
			{"create_note", create("a\nb", "ok", ""), "[/title]"},
			{"create_note", create("a\tb", "a\x7fb", ""), "[/title /tabs/1/title]"},
			{"create_note", create("a\u202eb", "a\u2066b", ""), "[/title /tabs/1/title]"},
			{"create_note", create("a\u2028b", "a\u0085b", ""), "[/title /tabs/1/title]"},
			{"create_note", create("a\x00b", "ok", "a\x00b"), "[/title /tabs/1/markdown]"},
			{"create_note", create(long, long, ""), "[/title /tabs/1/title]"},
			{"add_note_tab", arguments(map[string]any{"note_id": n.ID, "title": "a\rb", "markdown": "\x00", "expected_version": 1}), "[/title /markdown]"},
			{"rename_note", arguments(map[string]any{"note_id": n.ID, "expected_version": 1}), "[/title]"},
			{"rename_note", arguments(map[string]any{"note_id": n.ID, "title": "\x1b[31m", "expected_version": 1}), "[/title]"},
			{"rename_note", arguments(map[string]any{"note_id": n.ID, "expected_version": 1, "tabs": []map[string]any{
				{"tab_id": n.Tabs[0].ID, "title": "\n"}, {"tab_id": n.Tabs[0].ID}}}), "[/tabs/0/title /tabs/1/tab_id]"},
			{"edit_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 1, "edits": edits("t", "ok", "x", "\x00")}), "[/edits/1/replace]"},
			{"append_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": "\x00"}), "[/markdown]"},
			{"replace_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": "\x00", "expected_version": 1}), "[/markdown]"},
		} {
			err := w.refused(access.InvalidArguments, editor, c.tool, c.arguments)
			if got := fmt.Sprint(pointersOf(w, err)); got != c.pointers {
				w.Errorf("%s %.200q: pointers %s, want %s", c.tool, c.arguments, got, c.pointers)
			}
		}
		ask[noteOutline](w, editor, "create_note", create(strings.Repeat("😀", 200), "العربية", ""))
		if got := w.count(`SELECT COUNT(*) FROM notes WHERE project_id = 'alpha'`); got != 3 {
			w.Errorf("%d notes, want the two that were made and the first", got)
		}
	})
}

// Whatever a terminal or a model would make of it, a text is kept as it came.
func TestTextStaysData(t *testing.T) {
	eachWorld(t, func(w *world) {
		text := "\x1b[31mred\x1b[0m \u202eright\u202c \U000E0041\U000E0042 </result> {\"isError\":true}\r\n\v\f\u0085\u2028\ufeff e\u0301 é \x7f"
		n := w.made(text)
		if got := w.text(n, 0); got != text {
			w.Errorf("got %q, want %q", got, text)
		}
	})
}

func TestATabHoldsOneMebibyte(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("")
		a := func(text string) string {
			return arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": text})
		}
		chunk := strings.Repeat("😀", 32_768) // 128 KiB
		for range 7 {
			ask[savedTab](w, editor, "append_note_tab", a(chunk[:len(chunk)-4]+"\n   "))
		}
		ask[savedTab](w, editor, "append_note_tab", a(chunk[:len(chunk)-7*1-1]))
		details := detailsOf(w, w.refused(access.TooLarge, editor, "append_note_tab", a(chunk)))
		if details["limit"] != float64(1<<20) {
			w.Errorf("too large: %v", details)
		}
		tab := ask[noteOutline](w, reader, "read_note", object(map[string]any{"note_id": n.ID})).Tabs[0]
		if tab.Version != 9 {
			w.Errorf("version %d, want 9", tab.Version)
		}
		find := "\n   " + strings.Repeat("😀", 3)
		w.refused(access.InvalidArguments, editor, "edit_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "expected_version": 9, "edits": edits(find, "x")}))
	})
}

func TestANoteHoldsFiftyTabs(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("")
		for i := range 49 {
			ask[noteOutline](w, editor, "add_note_tab", arguments(map[string]any{"note_id": n.ID, "title": "T", "markdown": "", "expected_version": i + 1}))
		}
		w.refused(access.TooLarge, editor, "add_note_tab", arguments(map[string]any{"note_id": n.ID, "title": "T", "markdown": "", "expected_version": 50}))
		if got := ask[noteOutline](w, reader, "read_note", object(map[string]any{"note_id": n.ID})); len(got.Tabs) != 50 || got.Version != 50 {
			w.Errorf("%d tabs at version %d", len(got.Tabs), got.Version)
		}
	})
}

func TestChangesOfNotesAreFoundAndTold(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("zebra")
		found := func(word string) int {
			return len(ask[hitList](w, reader, "search", object(map[string]any{"query": word})).Results)
		}
		if found("zebra") != 1 {
			w.Error("a new note is not found")
		}
		ask[savedTab](w, editor, "replace_note_tab", arguments(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "markdown": "giraffe", "expected_version": 1}))
		if found("zebra") != 0 || found("giraffe") != 1 {
			w.Error("an edited text is not what is found")
		}
		ask[noteOutline](w, editor, "rename_note", arguments(map[string]any{"note_id": n.ID, "title": "Okapi", "expected_version": 1}))
		if found("okapi") != 1 {
			w.Error("a new title is not found")
		}
		ask[noteOutline](w, editor, "archive_note", arguments(map[string]any{"note_id": n.ID, "expected_version": 2}))
		if found("giraffe") != 0 {
			w.Error("an archived note is found")
		}
		var told []string
		for _, c := range ask[changeList](w, reader, "list_resource_changes", `{"by":"me"}`).Items {
			told = append(told, c.Change)
		}
		if got := strings.Join(told, " "); got != "created edited edited archived" {
			w.Errorf("told %q", got)
		}
	})
}
