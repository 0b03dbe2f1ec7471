package tool

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/osfoundry/osfoundry/internal/access"
)

func TestHistoryIsPagedNewestFirst(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("0")
		for i := range versionLimit + 5 {
			w.append(n, fmt.Sprint(i), "")
		}
		a := map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID}
		var versions []int64
		for {
			list := ask[tabVersionList](w, reader, "list_note_versions", object(a))
			for _, v := range list.Items {
				if v.CreatedBy.ConnectionID != "claude" || v.CreatedAt.IsZero() {
					w.Errorf("version %d by %+v at %v", v.Version, v.CreatedBy, v.CreatedAt)
				}
				versions = append(versions, v.Version)
			}
			if list.NextCursor == "" {
				break
			}
			a["cursor"] = list.NextCursor
		}
		for i, v := range versions {
			if v != int64(len(versions)-i) {
				w.Fatalf("versions %v are not one row, newest first", versions)
			}
		}
		if len(versions) != versionLimit+6 {
			w.Errorf("%d versions, want %d", len(versions), versionLimit+6)
		}
		other := w.made("other")
		a["note_id"], a["tab_id"] = other.ID, other.Tabs[0].ID
		if a["cursor"] == nil {
			w.Fatal("there was no second page")
		}
		w.refused(access.InvalidArguments, reader, "list_note_versions", object(a))
	})
}

func TestPastVersionsAreReadWholeOrAsDiff(t *testing.T) {
	eachWorld(t, func(w *world) {
		n := w.made("one\n")
		w.append(n, "two\n", "")
		a := map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "version": 1}
		v := ask[versionText](w, reader, "read_note_version", object(a))
		if v.Text == nil || *v.Text != "one\n" || v.Diff != nil || v.Truncated || v.TotalChars != 4 {
			w.Errorf("version 1: %+v", v)
		}
		a["as_diff"] = true
		v = ask[versionText](w, reader, "read_note_version", object(a))
		if want := "--- version 1\n+++ version 2\n@@ -1 +1,2 @@\n one\n+two\n"; v.Diff == nil || *v.Diff != want || v.Text != nil || v.CurrentVersion != 2 {
			w.Errorf("diff of version 1: %+v, want %q", v, want)
		}
		a["version"] = 2
		if v = ask[versionText](w, reader, "read_note_version", object(a)); v.Diff == nil || *v.Diff != "" {
			w.Errorf("diff of the current version: %+v, want an empty one", v)
		}
		a["version"] = 3
		w.refused(access.NotFound, reader, "read_note_version", object(a))

		long := w.made(strings.Repeat("😀", 20_001))
		v = ask[versionText](w, reader, "read_note_version", object(map[string]any{"note_id": long.ID, "tab_id": long.Tabs[0].ID, "version": 1}))
		if len([]rune(*v.Text)) != 20_000 || !v.Truncated || v.TotalChars != 20_001 {
			w.Errorf("a long version: %d characters of %d, truncated: %v", len([]rune(*v.Text)), v.TotalChars, v.Truncated)
		}
	})
}

// Whatever is done to a tab, in whatever order: each change that is taken makes
// the next version, none is lost or changed afterwards, and one that is refused
// leaves no trace.
func TestTheHistoryOfATabIsOneLine(t *testing.T) {
	eachWorld(t, func(w *world) {
		rapid.Check(w.TB.(rapid.TB), func(t *rapid.T) {
			history := []string{rapid.StringOf(rapid.RuneFrom([]rune("ab\n😀"))).Draw(t, "text")}
			n := w.made(history[0])
			for range rapid.IntRange(1, 6).Draw(t, "changes") {
				current := history[len(history)-1]
				a := map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID}
				piece := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n😀")), 1, 3, -1).Draw(t, "piece")
				tool, next, taken := "", "", true
				switch rapid.IntRange(0, 3).Draw(t, "tool") {
				case 0:
					tool, next = "replace_note_tab", piece
					a["markdown"] = piece
				case 1:
					tool, next = "append_note_tab", current+piece
					if current != "" && !strings.HasSuffix(current, "\n") {
						next = current + "\n" + piece
					}
					a["markdown"] = piece
				case 2:
					tool, next = "edit_note_tab", strings.Replace(current, piece, "ab", 1)
					a["edits"], taken = edits(piece, "ab"), places(current, piece) == 1
				case 3:
					version := rapid.IntRange(1, len(history)).Draw(t, "version")
					tool, next = "restore_note_version", history[version-1]
					a["version"] = version
				}
				if tool != "append_note_tab" {
					expected := rapid.IntRange(max(1, len(history)-1), len(history)+1).Draw(t, "expected")
					a["expected_version"], taken = expected, taken && expected == len(history)
				}
				_, err := w.call(editor, tool, arguments(a))
				if taken != (err == nil) {
					t.Fatalf("%s %v on %q at version %d: %v, want it taken: %v", tool, a, current, len(history), err, taken)
				}
				if taken {
					history = append(history, next)
				}
			}
			list := ask[tabVersionList](w, reader, "list_note_versions", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID}))
			if len(list.Items) != len(history) {
				t.Fatalf("%d versions are kept of %q", len(list.Items), history)
			}
			for i, want := range history {
				v := ask[versionText](w, reader, "read_note_version", object(map[string]any{"note_id": n.ID, "tab_id": n.Tabs[0].ID, "version": i + 1}))
				if *v.Text != want {
					t.Fatalf("version %d is %q, want %q of %q", i+1, *v.Text, want, history)
				}
			}
			if got := w.text(n, 0); got != history[len(history)-1] {
				t.Fatalf("the text is %q after %q", got, history)
			}
		})
	})
}

// places counts where the piece stands in the text, also where it overlaps itself.
func places(text, piece string) (n int) {
	for i := range text {
		if strings.HasPrefix(text[i:], piece) {
			n++
		}
	}
	return n
}
