package storage_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// library is a database with two workspaces, three projects and a user who is on
// no ACL, for tests of what can be found.
type library struct {
	*testing.T
	db  *storage.DB
	raw *sql.DB
}

func eachLibrary(t *testing.T, f func(l library)) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, err := storage.Open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		l := library{t, db, storagetest.Raw(t, o)}
		for _, user := range []string{"mara", "ben"} {
			l.exec(`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $1, $1, '', 0, 1)`, user)
		}
		for project, workspaceID := range map[string]string{"alpha": "atlas", "beta": "atlas", "gamma": "globex"} {
			l.exec(`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $1, 1) ON CONFLICT (id) DO NOTHING`, workspaceID)
			l.exec(`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at)
				VALUES ($1, $2, $1, 0, 'mara', 1, 0, 1, 1)`, project, workspaceID)
		}
		f(l)
	})
}

func (l library) exec(query string, args ...any) {
	l.Helper()
	storagetest.Exec(l, l.raw, query, args...)
}

// note writes a note with tabs "tab title|text" and indexes it.
func (l library) note(id, project, title string, tabs ...string) {
	l.Helper()
	l.exec(`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
		SELECT $1, workspace_id, id, $3, 1, 0, 0, 0, 1, 'mara', 1000, 'mara', '' FROM projects WHERE id = $2`, id, project, title)
	for i, tab := range tabs {
		tabTitle, text, _ := strings.Cut(tab, "|")
		l.exec(`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via)
			VALUES ($1, $2, $3, $4, 1, $5, $6, 1, 'mara', '')`, fmt.Sprintf("%s.%d", id, i), id, tabTitle, i, len([]rune(text)), text)
	}
	l.index(id, "")
}

func (l library) index(noteID, tabID string) {
	l.Helper()
	var workspaceID string
	if err := l.raw.QueryRow(`SELECT COALESCE((SELECT workspace_id FROM notes WHERE id = $1), 'atlas')`, noteID).Scan(&workspaceID); err != nil {
		l.Fatal(err)
	}
	err := l.db.Write(context.Background(), func(tx access.Tx) error {
		if tabID != "" {
			return storage.Search{}.IndexTab(context.Background(), tx, workspaceID, noteID, tabID)
		}
		return storage.Search{}.IndexNote(context.Background(), tx, workspaceID, noteID)
	})
	if err != nil {
		l.Fatalf("index %s %s: %v", noteID, tabID, err)
	}
}

func scope(projects ...string) workspace.Scope {
	return workspace.Scope{WorkspaceID: "atlas", UserID: "ben", ProjectIDs: projects}
}

func (l library) hits(in workspace.Scope, q workspace.Search, offset, limit int) (hits []workspace.SearchHit) {
	l.Helper()
	err := l.db.Read(context.Background(), func(tx access.Tx) (err error) {
		hits, err = storage.Search{}.FindNotes(context.Background(), tx, in, q, offset, limit)
		return err
	})
	if err != nil {
		l.Fatalf("search %v: %v", q.Terms, err)
	}
	return hits
}

// find lists what a query finds in alpha and beta, as "note" or "note tab".
func (l library) find(query string) []string {
	l.Helper()
	var found []string
	for _, h := range l.hits(scope("alpha", "beta"), workspace.Search{Terms: workspace.ParseSearch(query)}, 0, 100) {
		found = append(found, strings.TrimSpace(h.NoteID+" "+h.TabID))
	}
	return found
}

func (l library) expect(query string, want ...string) {
	l.Helper()
	if got := l.find(query); !slices.Equal(got, want) {
		l.Errorf("%q: got %q, want %q", query, got, want)
	}
}

func TestSearchFindsWordsInTitlesHeadingsAndTexts(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("n1", "alpha", "Launch plan", "Dates|The café opens in **März**.", "Budget|Forty euros for note_tabs")
		l.note("n2", "beta", "會議記錄", "|हिन्दी और 한국어를 쓴다")
		l.note("n3", "alpha", "Empty")
		l.expect("launch", "n1")
		l.expect("LAUNCH plan", "n1")
		l.expect("lau", "n1")
		l.expect("aunch")
		l.expect("cafe", "n1 n1.0")
		l.expect("MÄRZ", "n1 n1.0")
		l.expect("budget", "n1 n1.1")
		l.expect("plan euros", "n1 n1.1") // the title and one tab
		l.expect("cafe euros")            // two tabs
		l.expect("note_tabs", "n1 n1.1")
		l.expect("tabs_note")
		l.expect("會議", "n2")
		l.expect("議記錄", "n2")
		l.expect("錄會")
		l.expect("議", "n2")
		l.expect("हिन्दी", "n2 n2.0")
		l.expect("한국어", "n2 n2.0")
		l.expect("empty", "n3")
	})
}

func TestSearchTakesOperatorsAsWords(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("n1", "alpha", "One", "|apple near banana")
		l.note("n2", "alpha", "Two", "|cherry")
		l.expect("apple OR cherry")
		l.expect("apple NOT cherry")
		l.expect("apple NEAR banana", "n1 n1.0")
		for _, hostile := range []string{`"`, `""`, `'`, `''`, `*`, `apple"`, `"apple`, `apple*`, `^apple`, `-apple`, `{title}:apple`, `apple:*`, `apple & !cherry`, `(apple`, `apple)`,
			`a' | 'b`, `\`, `apple\'`, `'; DROP TABLE notes; --`, `$1`, `?`, `place : x`, "apple\x00", "\xff\xfe", strings.Repeat("(", 300), strings.Repeat("a ", 150), strings.Repeat("字", 300)} {
			l.find(hostile) // fails the test on an error
		}
		l.expect(`"apple`, "n1 n1.0")
		l.expect("atalpha") // the mark of a place is no word of a note
		l.expect("cherry", "n2 n2.0")
	})
}

func TestSearchShowsOnlyWhatACallWouldAllow(t *testing.T) {
	eachLibrary(t, func(l library) {
		for _, id := range []string{"open", "local", "unlisted", "viewer", "editor", "archived"} {
			l.note(id, "alpha", "secret "+id)
		}
		l.note("elsewhere", "beta", "secret elsewhere")
		l.note("foreign", "gamma", "secret foreign")
		l.exec(`UPDATE notes SET local_only = 1 WHERE id = 'local'`)
		l.exec(`UPDATE notes SET archived_at = 5 WHERE id = 'archived'`)
		l.exec(`UPDATE notes SET has_acl = 1 WHERE id IN ('unlisted', 'viewer', 'editor')`)
		for _, entry := range [][]any{{"unlisted", "mara", "edit"}, {"viewer", "ben", "view"}, {"editor", "ben", "edit"}} {
			l.exec(`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ($1, $2, $3)`, entry...)
		}
		for name, c := range map[string]struct {
			in   workspace.Scope
			want []string
		}{
			"one project":          {scope("alpha"), []string{"editor", "open"}},
			"both":                 {scope("alpha", "beta"), []string{"editor", "elsewhere", "open"}},
			"none":                 {scope(), nil},
			"of another workspace": {scope("gamma"), nil},
			"another user":         {workspace.Scope{WorkspaceID: "atlas", UserID: "mara", ProjectIDs: []string{"alpha"}}, []string{"open", "unlisted"}},
		} {
			var got []string
			for _, h := range l.hits(c.in, workspace.Search{Terms: workspace.ParseSearch("secret")}, 0, 100) {
				got = append(got, h.NoteID)
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				l.Errorf("%s: got %q, want %q", name, got, c.want)
			}
		}
		// The index is not trusted: a note that moved is judged by its row.
		l.exec(`UPDATE notes SET project_id = 'beta' WHERE id = 'open'`)
		if hits := l.hits(scope("alpha"), workspace.Search{Terms: workspace.ParseSearch("open")}, 0, 100); len(hits) != 0 {
			l.Errorf("a moved note is found where it was: %+v", hits)
		}
	})
}

func TestSearchFollowsChanges(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("n1", "alpha", "Old title", "First|red", "Second|green")
		l.exec(`UPDATE note_tabs SET markdown = 'blue' WHERE id = 'n1.0'`)
		l.index("n1", "n1.0")
		l.expect("red")
		l.expect("blue", "n1 n1.0")
		l.expect("green", "n1 n1.1")
		l.exec(`UPDATE notes SET title = 'New title' WHERE id = 'n1'`)
		l.index("n1", "")
		l.expect("old")
		l.expect("new blue", "n1 n1.0")
		l.exec(`UPDATE notes SET project_id = 'beta' WHERE id = 'n1'`)
		l.index("n1", "")
		if hits := l.hits(scope("beta"), workspace.Search{Terms: workspace.ParseSearch("blue")}, 0, 10); len(hits) != 1 || hits[0].ProjectID != "beta" {
			l.Errorf("got %+v, want the note in its new place", hits)
		}
		l.exec(`UPDATE notes SET archived_at = 5 WHERE id = 'n1'`)
		l.index("n1", "")
		l.exec(`UPDATE notes SET archived_at = 0 WHERE id = 'n1'`)
		l.expect("blue")
		l.index("n1", "")
		l.expect("blue", "n1 n1.0")
		l.exec(`DELETE FROM note_tabs WHERE id = 'n1.1'`)
		l.index("n1", "n1.1")
		l.expect("green")
		l.expect("blue", "n1 n1.0")
		l.exec(`DELETE FROM note_tabs WHERE note_id = 'n1'`)
		l.exec(`DELETE FROM notes WHERE id = 'n1'`)
		l.index("n1", "")
		l.expect("blue")
		l.expect("title")
		var left int
		if err := l.raw.QueryRow(`SELECT COUNT(*) FROM search_documents`).Scan(&left); err != nil || left != 0 {
			l.Errorf("got %d documents left and %v, want none", left, err)
		}
	})
}

func TestAnAbortedChangeIsNotFound(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("n1", "alpha", "kept")
		err := l.db.Write(context.Background(), func(tx access.Tx) error {
			if err := (storage.Search{}).IndexNote(context.Background(), tx, "atlas", "gone"); err != nil {
				return err
			}
			if err := (storage.Search{}).IndexNote(context.Background(), tx, "globex", "n1"); err != nil {
				return err
			}
			return access.Refuse(access.VersionConflict, "stale")
		})
		if access.CodeOf(err) != access.VersionConflict {
			l.Fatal(err)
		}
		l.expect("kept", "n1")
	})
}

func TestSearchRanksAndPages(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("body", "alpha", "Other", "|the words of the harbour are here among many more of them")
		l.note("title", "alpha", "Harbour", "|nothing")
		var all []string
		for i := range 23 {
			id := fmt.Sprintf("same%02d", i)
			l.note(id, "alpha", "Equal", "|lighthouse")
			all = append(all, id)
		}
		if got := l.find("harbour"); len(got) != 2 || got[0] != "title" {
			l.Errorf("got %q, want the title first", got)
		}
		var paged []string
		for offset := 0; ; offset += 5 {
			hits := l.hits(scope("alpha"), workspace.Search{Terms: workspace.ParseSearch("lighthouse")}, offset, 5)
			for _, h := range hits {
				paged = append(paged, h.NoteID)
			}
			if len(hits) < 5 {
				break
			}
		}
		if !slices.Equal(paged, all) {
			l.Errorf("got %q, want equal ones by ID: %q", paged, all)
		}
		l.exec(`UPDATE notes SET updated_at = 2000 WHERE id = 'same07'`)
		late := workspace.Search{Terms: workspace.ParseSearch("lighthouse"), UpdatedAfter: time.UnixMilli(1000)}
		if hits := l.hits(scope("alpha"), late, 0, 50); len(hits) != 1 || hits[0].NoteID != "same07" || hits[0].Markdown != "lighthouse" || !hits[0].UpdatedAt.Equal(time.UnixMilli(2000)) {
			l.Errorf("got %+v, want only what changed after the moment", hits)
		}
	})
}

func TestLongTextsAreIndexed(t *testing.T) {
	eachLibrary(t, func(l library) {
		var distinct strings.Builder
		for i := range 60_000 {
			fmt.Fprintf(&distinct, "w%d ", i)
		}
		l.note("distinct", "alpha", "One", "|"+distinct.String())
		l.note("repeated", "alpha", "Two", "|"+strings.Repeat("again ", 100_000)+"end")
		l.note("chinese", "alpha", "Three", "|"+strings.Repeat("會議記錄", 25_000)+"終")
		l.expect("w30000", "distinct distinct.0")
		l.expect("again", "repeated repeated.0")
		l.expect("記錄會", "chinese chinese.0")
	})
}
