package storage_test

import (
	"database/sql"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// scene is the state in which every check of the connection and of the person
// passes; tests flip one condition of it at a time.
var scene = []string{
	`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ('mara', 'mara@example.org', 'Mara', '', 0, 1)`,
	`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ('ben', 'ben@example.org', 'Ben', '', 0, 1)`,
	`INSERT INTO workspaces (id, name, created_at) VALUES ('atlas', 'Atlas', 1)`,
	`INSERT INTO workspaces (id, name, created_at) VALUES ('globex', 'Globex', 1)`,
	`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('atlas', 'mara', 'editor', 1)`,
	`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('globex', 'ben', 'owner', 1)`,
	`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at) VALUES ('alpha', 'atlas', 'Alpha', 1, 'mara', 1, 0, 1, 1)`,
	`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at) VALUES ('beta', 'atlas', 'Beta', 0, 'mara', 1, 0, 1, 1)`,
	`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at) VALUES ('gamma', 'globex', 'Gamma', 0, 'ben', 1, 0, 1, 1)`,
	`INSERT INTO project_members (project_id, user_id, created_at) VALUES ('alpha', 'mara', 1)`,
	`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
		VALUES ('note', 'atlas', 'alpha', 'Title', 7, 0, 1, 0, 1000, 'mara', 2000, 'mara', 'desk')`,
	`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
		VALUES ('foreign', 'globex', 'gamma', 'Secret', 1, 0, 0, 0, 1, 'ben', 1, 'ben', '')`,
	`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ('note', 'mara', 'edit')`,
	`INSERT INTO clients (id, source, name, metadata, redirect_uris, address, created_at, last_used_at, fetched_until) VALUES ('client', 'registration', 'Client', '{}', '[]', '', 1, 0, 0)`,
	`INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes, consent_address, family_revoked_at, family_reason, created_at, last_used_at)
		VALUES ('desk', 'atlas', 'mara', 'client', 'Desk', 'desk', '', '', 'active', 'osfoundry:read', '', 0, '', 1, 0)`,
	`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('desk', 'alpha', 'mara', 1)`,
	`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via) VALUES ('second', 'note', 'Zwei|2:', 1, 3, 4, 'text', 1500, 'mara', '')`,
	`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via) VALUES ('first', 'note', 'One', 0, 5, 6, 'longer', 2000, 'mara', 'desk')`,
	`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
		VALUES ('room', 'atlas', 'alpha', 'team', 'Research', 'mara', 4, '[{"slug":"lead","instructions":"Lead.","provider":"rehearsal","tools":["search"]}]', '{"phrase":"done"}', 5, 10, 20, 30, 0, 1, 0, 1000, 'mara', 2000, 'mara')`,
	`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
		VALUES ('theirs', 'globex', 'gamma', 'agent', 'Secret', 'ben', 1, '[]', '{}', 5, 0, 0, 0, 0, 0, 0, 1, 'ben', 1, 'ben')`,
	`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ('room', 'mara', 'edit')`,
	`INSERT INTO session_seats (session_id, connection_id, seat, given_by, created_at) VALUES ('room', 'desk', 'contributor', 'mara', 1)`,
	`INSERT INTO handoffs (id, workspace_id, session_id, connection_id, goal, context_summary, requested_output, max_rounds, state, reason, created_at, expires_at, decided_at, decided_by)
		VALUES ('offer', 'atlas', 'room', 'desk', 'g', 'c', 'o', 3, 'pending', '', 1, 0, 0, '')`,
	`INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason, rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
		VALUES ('work', 'atlas', 'room', NULL, 'desk', '', 'g', 3, '[]', '{}', 'team', 'queued', '', 0, 0, 0, 0, '', '', 0, 1, 0, 0, '')`,
	`INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at) VALUES ('token', 'desk', 'osfoundry:read osfoundry:write', '', 1, 9000, 0)`,
}

// connectionFacts is what the scene says about the note, asked with the token.
func connectionFacts() access.Facts {
	return access.Facts{
		TokenKnown: true, TokenExpires: 9000, Scopes: access.ScopeRead | access.ScopeWrite,
		ConnectionID: "desk", ConnectionName: "Desk", ConnectionSlug: "desk", ConnectionStatus: "active",
		UserID: "mara", UserName: "Mara", UserEmail: "mara@example.org", WorkspaceID: "atlas", Role: access.RoleEditor,
		Found: true, ProjectID: "alpha", ProjectPrivate: true, ProjectMember: true, ProjectOwner: true, ProjectGranted: true,
		HasACL: true, ACLRight: access.RightEdit, Loaded: sceneNote(),
	}
}

func sceneNote() workspace.Note {
	return workspace.Note{
		ID: "note", WorkspaceID: "atlas", ProjectID: "alpha", Title: "Title", Version: 7, HasACL: true,
		CreatedAt: time.UnixMilli(1000).UTC(), CreatedBy: "mara", UpdatedAt: time.UnixMilli(2000).UTC(), UpdatedBy: "mara", UpdatedVia: "desk",
	}
}

// aloof are the facts of a thing that is not there.
func aloof(f *access.Facts) {
	f.Found, f.ProjectID, f.ProjectPrivate, f.ProjectMember, f.ProjectOwner, f.ProjectGranted = false, "", false, false, false, false
	f.LocalOnly, f.HasACL, f.ACLRight, f.OwnConnection, f.Loaded = false, false, access.RightNone, false, nil
}

func changedNote(f *access.Facts, change func(*workspace.Note)) {
	n := f.Loaded.(workspace.Note)
	change(&n)
	f.Loaded = n
}

// Each condition of the check is flipped alone, and shows in the facts alone.
func TestConnectionFactsShowEachCondition(t *testing.T) {
	note := access.Ref{Kind: access.KindNote, ID: "note"}
	tests := []struct {
		name  string
		flip  string
		token access.TokenHash
		ref   access.Ref
		want  func(f *access.Facts)
	}{
		{name: "as it is", ref: note, want: func(*access.Facts) {}},
		{name: "unknown token", token: "other", ref: note, want: func(f *access.Facts) { *f = access.Facts{} }},
		{name: "no token", token: "-", ref: note, want: func(f *access.Facts) { *f = access.Facts{} }},
		{name: "expired token", flip: `UPDATE access_tokens SET expires_at = 5`, ref: note, want: func(f *access.Facts) { f.TokenExpires = 5 }},
		{name: "revoked token", flip: `UPDATE access_tokens SET revoked_at = 5`, ref: note, want: func(f *access.Facts) { f.TokenRevoked = true }},
		{name: "revoked family", flip: `UPDATE connections SET family_revoked_at = 5`, ref: note, want: func(f *access.Facts) { f.TokenRevoked = true }},
		{name: "other scopes", flip: `UPDATE access_tokens SET scopes = 'osfoundry:run mail'`, ref: note, want: func(f *access.Facts) { f.Scopes = access.ScopeRun }},
		{name: "paused", flip: `UPDATE connections SET status = 'paused'`, ref: note, want: func(f *access.Facts) { f.ConnectionStatus = "paused" }},
		{name: "revoked", flip: `UPDATE connections SET status = 'revoked'`, ref: note, want: func(f *access.Facts) { f.ConnectionStatus = "revoked" }},
		{name: "approver disabled", flip: `UPDATE users SET disabled_at = 5`, ref: note, want: func(f *access.Facts) { f.UserDisabled = true }},
		{name: "approver demoted", flip: `UPDATE memberships SET role = 'viewer'`, ref: note, want: func(f *access.Facts) { f.Role = access.RoleViewer }},
		{name: "approver removed", flip: `DELETE FROM memberships WHERE user_id = 'mara'`, ref: note, want: func(f *access.Facts) { f.Role = "" }},
		{name: "approver in another workspace only", flip: `UPDATE memberships SET workspace_id = 'globex' WHERE user_id = 'mara'`, ref: note, want: func(f *access.Facts) { f.Role = "" }},
		{name: "project open", flip: `UPDATE projects SET private = 0`, ref: note, want: func(f *access.Facts) { f.ProjectPrivate = false }},
		{name: "not in the private project", flip: `DELETE FROM project_members`, ref: note, want: func(f *access.Facts) { f.ProjectMember = false }},
		{name: "somebody else in the private project", flip: `UPDATE project_members SET user_id = 'ben'`, ref: note, want: func(f *access.Facts) { f.ProjectMember = false }},
		{name: "project of somebody else", flip: `UPDATE projects SET owner_id = 'ben'`, ref: note, want: func(f *access.Facts) { f.ProjectOwner = false }},
		{name: "project not granted", flip: `DELETE FROM connection_projects`, ref: note, want: func(f *access.Facts) { f.ProjectGranted = false }},
		{name: "another project granted", flip: `UPDATE connection_projects SET project_id = 'beta'`, ref: note, want: func(f *access.Facts) { f.ProjectGranted = false }},
		{name: "moved to a project not granted", flip: `UPDATE notes SET project_id = 'beta' WHERE id = 'note'`, ref: note, want: func(f *access.Facts) {
			f.ProjectID, f.ProjectPrivate, f.ProjectMember, f.ProjectGranted = "beta", false, false, false
			changedNote(f, func(n *workspace.Note) { n.ProjectID = "beta" })
		}},
		{name: "local only", flip: `UPDATE notes SET local_only = 1`, ref: note, want: func(f *access.Facts) {
			f.LocalOnly = true
			changedNote(f, func(n *workspace.Note) { n.LocalOnly = true })
		}},
		{name: "no ACL", flip: `UPDATE notes SET has_acl = 0`, ref: note, want: func(f *access.Facts) {
			f.HasACL = false
			changedNote(f, func(n *workspace.Note) { n.HasACL = false })
		}},
		{name: "ACL with view", flip: `UPDATE resource_acl SET access = 'view'`, ref: note, want: func(f *access.Facts) { f.ACLRight = access.RightView }},
		{name: "ACL with nonsense", flip: `UPDATE resource_acl SET access = 'all'`, ref: note, want: func(f *access.Facts) { f.ACLRight = access.RightNone }},
		{name: "ACL without the approver", flip: `UPDATE resource_acl SET user_id = 'ben'`, ref: note, want: func(f *access.Facts) { f.ACLRight = access.RightNone }},
		{name: "archived", flip: `UPDATE notes SET archived_at = 3000`, ref: note, want: func(f *access.Facts) {
			changedNote(f, func(n *workspace.Note) { n.ArchivedAt = time.UnixMilli(3000).UTC() })
		}},
		{name: "texts that look like our marks", flip: `UPDATE notes SET title = 'a|b:3:ü😀' WHERE id = 'note'`, ref: note, want: func(f *access.Facts) {
			changedNote(f, func(n *workspace.Note) { n.Title = "a|b:3:ü😀" })
		}},
		{name: "a name that looks like our marks", flip: `UPDATE connections SET name = '4:|7:'`, ref: note, want: func(f *access.Facts) { f.ConnectionName = "4:|7:" }},
		{name: "absent note", ref: access.Ref{Kind: access.KindNote, ID: "nothing"}, want: aloof},
		{name: "foreign note", ref: access.Ref{Kind: access.KindNote, ID: "foreign"}, want: aloof},
		{name: "note whose ID is a project's", ref: access.Ref{Kind: access.KindNote, ID: "alpha"}, want: aloof},
		{name: "note without ID", ref: access.Ref{Kind: access.KindNote}, want: aloof},
		{name: "project", ref: access.Ref{Kind: access.KindProject, ID: "alpha"}, want: func(f *access.Facts) {
			f.HasACL, f.ACLRight, f.Loaded = false, access.RightNone, workspace.ProjectState{}
		}},
		{name: "archived project", flip: `UPDATE projects SET archived_at = 3000`, ref: access.Ref{Kind: access.KindProject, ID: "alpha"}, want: func(f *access.Facts) {
			f.HasACL, f.ACLRight, f.Loaded = false, access.RightNone, workspace.ProjectState{Archived: true}
		}},
		{name: "foreign project", ref: access.Ref{Kind: access.KindProject, ID: "gamma"}, want: aloof},
		{name: "absent project", ref: access.Ref{Kind: access.KindProject, ID: "nothing"}, want: aloof},
		{name: "the connection", ref: access.Ref{Kind: access.KindConnection}, want: aloof},
		{name: "no thing", want: aloof},
		{name: "the workspace, which no connection names", ref: access.Ref{Kind: access.KindWorkspace, ID: "atlas"}, want: aloof},
		{name: "unknown kind", ref: access.Ref{Kind: "planet", ID: "note"}, want: aloof},
	}
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, raw := openScene(t, o)
		for _, test := range tests {
			want := connectionFacts()
			test.want(&want)
			token := test.token
			switch token {
			case "":
				token = "token"
			case "-":
				token = ""
			}
			flipped(t, raw, test.flip, func() {
				for _, run := range []func(func(access.Tx) error) error{
					func(f func(access.Tx) error) error { return db.ReadOne(t.Context(), f) },
					func(f func(access.Tx) error) error { return db.Write(t.Context(), f) },
				} {
					var got access.Facts
					err := run(func(tx access.Tx) (err error) {
						got, err = db.ConnectionFacts(t.Context(), tx, token, test.ref)
						return err
					})
					if err != nil {
						t.Errorf("%s: %v", test.name, err)
					}
					if !reflect.DeepEqual(got, want) {
						t.Errorf("%s:\n got %+v\nwant %+v", test.name, got, want)
					}
				}
			})
		}
	})
}

// personFacts is what the scene says about the note, asked by Mara.
func personFacts() access.Facts {
	f := connectionFacts()
	f.TokenKnown, f.TokenExpires, f.Scopes, f.ProjectGranted = false, 0, 0, false
	f.ConnectionID, f.ConnectionName, f.ConnectionSlug, f.ConnectionStatus = "", "", "", ""
	return f
}

func stranger(f *access.Facts) { aloof(f); f.WorkspaceID, f.Role = "", "" }

func TestPersonFactsShowEachCondition(t *testing.T) {
	note := access.Ref{Kind: access.KindNote, ID: "note"}
	tests := []struct {
		name string
		flip string
		user string
		ref  access.Ref
		want func(f *access.Facts)
	}{
		{name: "as it is", ref: note, want: func(*access.Facts) {}},
		{name: "unknown person", user: "nobody", ref: note, want: func(f *access.Facts) { *f = access.Facts{} }},
		{name: "disabled", flip: `UPDATE users SET disabled_at = 5`, ref: note, want: func(f *access.Facts) { f.UserDisabled = true }},
		{name: "demoted", flip: `UPDATE memberships SET role = 'viewer'`, ref: note, want: func(f *access.Facts) { f.Role = access.RoleViewer }},
		{name: "removed", flip: `DELETE FROM memberships WHERE user_id = 'mara'`, ref: note, want: stranger},
		{name: "not in the private project", flip: `DELETE FROM project_members`, ref: note, want: func(f *access.Facts) { f.ProjectMember = false }},
		{name: "project of somebody else", flip: `UPDATE projects SET owner_id = 'ben'`, ref: note, want: func(f *access.Facts) { f.ProjectOwner = false }},
		{name: "ACL with view", flip: `UPDATE resource_acl SET access = 'view'`, ref: note, want: func(f *access.Facts) { f.ACLRight = access.RightView }},
		{name: "ACL without the person", flip: `UPDATE resource_acl SET user_id = 'ben'`, ref: note, want: func(f *access.Facts) { f.ACLRight = access.RightNone }},
		{name: "foreign note", ref: access.Ref{Kind: access.KindNote, ID: "foreign"}, want: stranger},
		{name: "absent note", ref: access.Ref{Kind: access.KindNote, ID: "nothing"}, want: stranger},
		{name: "project", ref: access.Ref{Kind: access.KindProject, ID: "alpha"}, want: func(f *access.Facts) {
			f.HasACL, f.ACLRight, f.Loaded = false, access.RightNone, workspace.ProjectState{}
		}},
		{name: "archived project", flip: `UPDATE projects SET archived_at = 3000`, ref: access.Ref{Kind: access.KindProject, ID: "alpha"}, want: func(f *access.Facts) {
			f.HasACL, f.ACLRight, f.Loaded = false, access.RightNone, workspace.ProjectState{Archived: true}
		}},
		{name: "foreign project", ref: access.Ref{Kind: access.KindProject, ID: "gamma"}, want: stranger},
		{name: "workspace", ref: access.Ref{Kind: access.KindWorkspace, ID: "atlas"}, want: func(f *access.Facts) { aloof(f); f.Found = true }},
		{name: "foreign workspace", ref: access.Ref{Kind: access.KindWorkspace, ID: "globex"}, want: stranger},
		{name: "absent workspace", ref: access.Ref{Kind: access.KindWorkspace, ID: "nothing"}, want: stranger},
		{name: "own connection", ref: access.Ref{Kind: access.KindConnection, ID: "desk"}, want: func(f *access.Facts) { aloof(f); f.Found, f.OwnConnection = true, true }},
		{name: "connection of somebody else", flip: `UPDATE connections SET approver_id = 'ben'`, ref: access.Ref{Kind: access.KindConnection, ID: "desk"}, want: func(f *access.Facts) { aloof(f); f.Found = true }},
		{name: "foreign connection", flip: `UPDATE connections SET workspace_id = 'globex'`, ref: access.Ref{Kind: access.KindConnection, ID: "desk"}, want: stranger},
		{name: "no thing", want: stranger},
		{name: "unknown kind", ref: access.Ref{Kind: "planet", ID: "note"}, want: stranger},
	}
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, raw := openScene(t, o)
		for _, test := range tests {
			want := personFacts()
			test.want(&want)
			user := "mara"
			if test.user != "" {
				user = test.user
			}
			flipped(t, raw, test.flip, func() {
				var got access.Facts
				err := db.ReadOne(t.Context(), func(tx access.Tx) (err error) {
					got, err = db.PersonFacts(t.Context(), tx, user, test.ref)
					return err
				})
				if err != nil {
					t.Errorf("%s: %v", test.name, err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s:\n got %+v\nwant %+v", test.name, got, want)
				}
			})
		}
	})
}

func openScene(t *testing.T, o storage.Options) (*storage.DB, *sql.DB) {
	t.Helper()
	db, err := storage.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	raw := storagetest.Raw(t, o)
	setScene(t, raw)
	return db, raw
}

func setScene(t *testing.T, raw *sql.DB) {
	t.Helper()
	for _, table := range []string{"tasks", "handoffs", "session_seats", "sessions", "note_tabs", "access_tokens", "connection_projects", "connections", "clients", "resource_acl", "notes", "project_members", "projects", "memberships", "workspaces", "users"} {
		storagetest.Exec(t, raw, "DELETE FROM "+table)
	}
	for _, statement := range scene {
		storagetest.Exec(t, raw, statement)
	}
}

// flipped runs f while one condition of the scene is another.
func flipped(t *testing.T, raw *sql.DB, flip string, f func()) {
	t.Helper()
	if flip == "" {
		f()
		return
	}
	storagetest.Exec(t, raw, flip)
	f()
	setScene(t, raw)
}

func TestTouchStampsTheConnectionOfTheTokenOnly(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, raw := openScene(t, o)
		for i, token := range []access.TokenHash{"token", "other"} {
			now := time.UnixMilli(int64(i+1) * 1000)
			for _, ref := range []access.Ref{{}, {Kind: access.KindNote, ID: "note"}, {Kind: access.KindProject, ID: "alpha"}, {Kind: access.KindNote, ID: "nothing"}} {
				err := db.Write(t.Context(), func(tx access.Tx) error { return db.Touch(t.Context(), tx, token, ref, now) })
				if err != nil {
					t.Errorf("touch %s %+v: %v", token, ref, err)
				}
			}
		}
		var last int64
		if err := raw.QueryRow(`SELECT last_used_at FROM connections WHERE id = 'desk'`).Scan(&last); err != nil || last != 1000 {
			t.Errorf("got last_used_at %d, %v, want 1000", last, err)
		}
	})
}

// Whoever takes a right away waits for a write that was checked before, and a
// write that is checked after sees it: on PostgreSQL the rows that Touch holds do
// that, in SQLite the one writer does.
func TestTouchMakesWritesAndRevocationsMeet(t *testing.T) {
	takeAway := map[string]string{
		"revoke":         `UPDATE connections SET status = 'revoked' WHERE id = 'desk'`,
		"change the ACL": `UPDATE notes SET has_acl = 0 WHERE id = 'note'`,
	}
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		for name, statement := range takeAway {
			t.Run(name, func(t *testing.T) {
				db, _ := openScene(t, o)
				checked, taken := make(chan struct{}), make(chan error, 1)
				go func() {
					defer close(taken)
					<-checked
					taken <- db.Write(t.Context(), func(tx access.Tx) error {
						c, _ := storage.Raw(tx)
						_, err := c.ExecContext(t.Context(), statement)
						return err
					})
				}()
				err := db.Write(t.Context(), func(tx access.Tx) error {
					ref := access.Ref{Kind: access.KindNote, ID: "note"}
					if err := db.Touch(t.Context(), tx, "token", ref, time.UnixMilli(1)); err != nil {
						return err
					}
					close(checked)
					for range 20 { // each asks the database again, so that the other has time to come between
						select {
						case err := <-taken:
							return fmt.Errorf("the right was taken away in the middle of the write (%v)", err)
						case <-time.After(5 * time.Millisecond):
						}
						f, err := db.ConnectionFacts(t.Context(), tx, "token", ref)
						if err != nil || f.ConnectionStatus != "active" || !f.HasACL {
							return fmt.Errorf("the facts changed in the middle of the write: %+v, %v", f, err)
						}
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				if err := <-taken; err != nil {
					t.Errorf("take the right away afterwards: %v", err)
				}
			})
		}
	})
}
