package storage_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// read runs f in a unit of work that reads.
func (l library) read(f func(ctx context.Context, tx access.Tx) error) {
	l.Helper()
	if err := l.db.Read(context.Background(), func(tx access.Tx) error { return f(context.Background(), tx) }); err != nil {
		l.Fatal(err)
	}
}

func (l library) projectNotes(in workspace.Scope, archived bool, page workspace.Page) (ids []string) {
	l.Helper()
	l.read(func(ctx context.Context, tx access.Tx) error {
		rows, err := storage.Resources{}.ProjectNotes(ctx, tx, in, archived, page)
		for _, r := range rows {
			ids = append(ids, r.ID)
		}
		return err
	})
	return ids
}

func TestListsShowOnlyWhatACallWouldAllow(t *testing.T) {
	eachLibrary(t, func(l library) {
		for _, id := range []string{"a1", "a2local", "a3unlisted", "a4viewer", "a5editor", "a6archived", "a7"} {
			l.note(id, "alpha", id)
		}
		l.note("b1", "beta", "elsewhere")
		l.note("c1", "gamma", "foreign")
		l.exec(`UPDATE notes SET local_only = 1 WHERE id = 'a2local'`)
		l.exec(`UPDATE notes SET archived_at = 5 WHERE id = 'a6archived'`)
		l.exec(`UPDATE notes SET has_acl = 1 WHERE id IN ('a3unlisted', 'a4viewer', 'a5editor')`)
		for _, entry := range [][]any{{"a3unlisted", "mara", "edit"}, {"a4viewer", "ben", "view"}, {"a5editor", "ben", "edit"}} {
			l.exec(`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ($1, $2, $3)`, entry...)
		}
		for i, id := range []string{"a1", "a2local", "a3unlisted", "a4viewer", "a5editor", "a6archived", "a7", "b1", "c1"} {
			workspaceID := "atlas"
			if id == "c1" {
				workspaceID = "globex"
			}
			connection := []string{"", "claude"}[i%2]
			l.exec(`INSERT INTO events (id, workspace_id, project_id, type, kind, resource_id, version, user_id, connection_id, data, created_at)
				VALUES ($1, $2, 'where it was', 'note.moved', 'note', $3, 7, 'mara', $4, '{}', $5)`, fmt.Sprintf("e%d", i), workspaceID, id, connection, 1000+i)
		}
		all := workspace.Page{Limit: 100}
		for name, c := range map[string]struct {
			in            workspace.Scope
			live, changed []string
		}{
			"one project":          {scope("alpha"), []string{"a1", "a5editor", "a7"}, []string{"a1", "a5editor", "a6archived", "a7"}},
			"both":                 {scope("alpha", "beta"), []string{"a1", "a5editor", "a7", "b1"}, []string{"a1", "a5editor", "a6archived", "a7", "b1"}},
			"none":                 {scope(), nil, nil},
			"of another workspace": {scope("gamma"), nil, nil},
			"another user": {workspace.Scope{WorkspaceID: "atlas", UserID: "mara", ProjectIDs: []string{"alpha"}},
				[]string{"a1", "a3unlisted", "a7"}, []string{"a1", "a3unlisted", "a6archived", "a7"}},
		} {
			if got := l.projectNotes(c.in, false, all); !slices.Equal(got, c.live) {
				l.Errorf("notes of %s: got %q, want %q", name, got, c.live)
			}
			if got := l.changes(c.in, workspace.ChangeFilter{}, all); !slices.Equal(got, c.changed) {
				l.Errorf("changes of %s: got %q, want %q", name, got, c.changed)
			}
		}
		if got := l.projectNotes(scope("alpha"), true, all); !slices.Equal(got, []string{"a6archived"}) {
			l.Errorf("archive: got %q", got)
		}
		if got := l.projectNotes(scope("alpha"), false, workspace.Page{After: "a1", Limit: 1}); !slices.Equal(got, []string{"a5editor"}) {
			l.Errorf("second page: got %q", got)
		}
		me := workspace.ChangeFilter{By: "me", ConnectionID: "claude"}
		if got := l.changes(scope("alpha", "beta"), me, all); !slices.Equal(got, []string{"a6archived", "b1"}) {
			l.Errorf("by me: got %q", got)
		}
		others := workspace.ChangeFilter{By: "others", ConnectionID: "claude"}
		if got := l.changes(scope("alpha", "beta"), others, all); !slices.Equal(got, []string{"a1", "a5editor", "a7"}) {
			l.Errorf("by others: got %q", got)
		}
		if got := l.changes(scope("alpha"), workspace.ChangeFilter{Since: time.UnixMilli(1005)}, all); !slices.Equal(got, []string{"a6archived", "a7"}) {
			l.Errorf("since: got %q", got)
		}
		if got := l.changes(scope("alpha"), workspace.ChangeFilter{}, workspace.Page{After: "e4", Limit: 1}); !slices.Equal(got, []string{"a6archived"}) {
			l.Errorf("changes after: got %q", got)
		}
	})
}

func (l library) changes(in workspace.Scope, f workspace.ChangeFilter, page workspace.Page) (ids []string) {
	l.Helper()
	l.read(func(ctx context.Context, tx access.Tx) error {
		rows, err := storage.Changes{}.Changes(ctx, tx, in, f, page)
		for _, c := range rows {
			ids = append(ids, c.ID)
			if c.What != workspace.ChangeMoved || c.Version != 7 || c.By.UserName != "mara" {
				l.Errorf("got %+v", c)
			}
		}
		return err
	})
	return ids
}

func TestGrantedProjectsAreOpenToTheApprover(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.connection("claude", "active")
		l.connection("codex", "active")
		for _, project := range []string{"private", "joined"} {
			l.exec(`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at)
				VALUES ($1, 'atlas', $1, 1, 'mara', 1, 0, 1, 1)`, project)
		}
		l.exec(`INSERT INTO project_members (project_id, user_id, created_at) VALUES ('joined', 'ben', 1), ('private', 'mara', 1)`)
		for _, project := range []string{"alpha", "private", "joined", "gamma"} {
			l.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('claude', $1, 'mara', 1)`, project)
		}
		l.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('codex', 'beta', 'mara', 1)`)
		l.read(func(ctx context.Context, tx access.Tx) error {
			got, err := storage.Resources{}.GrantedProjects(ctx, tx, "atlas", "claude", "ben")
			if want := []workspace.Named{{ID: "alpha", Name: "alpha"}, {ID: "joined", Name: "joined"}}; !slices.Equal(got, want) {
				l.Errorf("got %v, want %v", got, want)
			}
			return err
		})
	})
}

func (l library) connection(id, status string) {
	l.Helper()
	l.exec(`INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes, consent_address, family_revoked_at, family_reason, created_at, last_used_at)
		VALUES ($1, 'atlas', 'ben', 'client', $1, $1, '', '', $2, 'osfoundry:read', '', 0, '', 1, 0)`, id, status)
}

func TestMembersAreThoseWhoCanOpenTheProject(t *testing.T) {
	eachLibrary(t, func(l library) {
		for _, user := range []string{"gone", "viewer", "stranger"} {
			l.exec(`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $1, $1, '', 0, 1)`, user)
		}
		l.exec(`UPDATE users SET disabled_at = 5 WHERE id = 'gone'`)
		for user, role := range map[string]string{"mara": "owner", "ben": "editor", "viewer": "viewer", "gone": "editor"} {
			l.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('atlas', $1, $2, 1)`, user, role)
		}
		l.exec(`UPDATE projects SET private = 1 WHERE id = 'beta'`)
		l.exec(`INSERT INTO project_members (project_id, user_id, created_at) VALUES ('beta', 'ben', 1), ('beta', 'stranger', 1), ('beta', 'gone', 1)`)
		for id, status := range map[string]string{"claude": "active", "codex": "paused", "old": "revoked", "none": "active"} {
			l.connection(id, status)
			if id != "none" {
				l.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ($1, 'alpha', 'mara', 1)`, id)
			}
		}
		for project, want := range map[string][]string{
			"alpha": {"ben editor", "mara owner", "viewer viewer", "claude active", "codex paused"},
			"beta":  {"ben editor"},
			"gamma": nil, // of another workspace
		} {
			var got []string
			after := ""
			for {
				var rows []workspace.Participant
				l.read(func(ctx context.Context, tx access.Tx) (err error) {
					rows, err = storage.Resources{}.ProjectParticipants(ctx, tx, "atlas", project, workspace.Page{After: after, Limit: 2})
					return err
				})
				for _, m := range rows {
					got = append(got, m.Name+" "+string(m.Role)+m.Status)
					after = m.Key
				}
				if len(rows) < 2 {
					break
				}
			}
			if !slices.Equal(got, want) {
				l.Errorf("%s: got %q, want %q", project, got, want)
			}
		}
	})
}

func TestNoteTextIsCutInCharacters(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("n1", "alpha", "Title", "One|äöü€𝄞x", "Two|")
		l.read(func(ctx context.Context, tx access.Tx) error {
			note, tabs, err := storage.Resources{}.NoteText(ctx, tx, "atlas", "n1", 5)
			if err == nil && (note.Title != "Title" || len(tabs) != 2 || tabs[0].Markdown != "äöü€𝄞" || tabs[0].Chars != 6 || tabs[1].Title != "Two") {
				l.Errorf("got %+v with %+v", note, tabs)
			}
			if _, _, err := (storage.Resources{}).NoteText(ctx, tx, "globex", "n1", 5); access.CodeOf(err) != access.NotFound {
				l.Errorf("from another workspace: got %v", err)
			}
			return err
		})
	})
}

// Events of units of work that overlap are held back until all that could come
// before them are there.
func TestNoChangeIsMissedBehindTheCursor(t *testing.T) {
	eachLibrary(t, func(l library) {
		l.note("n1", "alpha", "One")
		insert := `INSERT INTO events (id, workspace_id, project_id, type, kind, resource_id, version, user_id, connection_id, data, created_at)
			VALUES ($1, 'atlas', 'alpha', 'note.moved', 'note', 'n1', 7, 'mara', '', '{}', 1000)`
		list := func() (n int, last string) {
			l.read(func(ctx context.Context, tx access.Tx) (err error) {
				rows, err := storage.Changes{}.Changes(ctx, tx, scope("alpha"), workspace.ChangeFilter{}, workspace.Page{Limit: 100})
				if n = len(rows); err != nil {
					return err
				}
				last, err = storage.Changes{}.LastEvent(ctx, tx, "atlas")
				return err
			})
			return n, last
		}
		if n, last := list(); n != 0 || last != "" {
			l.Errorf("got %d changes up to %q in an empty history", n, last)
		}
		l.exec(insert, "e1")
		slow, err := l.raw.Begin()
		if err != nil {
			l.Fatal(err)
		}
		defer func() { _ = slow.Rollback() }()
		if _, err := slow.Exec(insert, "e2"); err != nil {
			l.Fatal(err)
		}
		if !l.oneWriter() {
			l.exec(insert, "e3")
		}
		if n, last := list(); n != 1 || last != "e1" {
			l.Errorf("got %d changes up to %q while an earlier one is being written, want 1 up to e1", n, last)
		}
		if err := slow.Commit(); err != nil {
			l.Fatal(err)
		}
		if l.oneWriter() {
			l.exec(insert, "e3")
		}
		if n, last := list(); n != 3 || last != "e3" {
			l.Errorf("got %d changes up to %q, want all", n, last)
		}
	})
}

// oneWriter reports whether the database is SQLite, where a second writer waits.
func (l library) oneWriter() bool {
	var version string
	return l.raw.QueryRow(`SELECT sqlite_version()`).Scan(&version) == nil
}
