package api_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

func TestOneOwnerStaysHoweverTheyDemoteEachOther(t *testing.T) {
	eachWorld(t, func(w *world) {
		owners := []*caller{w.script("mara"), w.script("ben")}
		for round := range 40 {
			w.exec(`UPDATE memberships SET role = 'owner' WHERE user_id IN ('mara', 'ben')`)
			got := w.together(2, func(i int) answer {
				other := []string{"ben", "mara"}[i]
				if round%2 == 0 {
					return owners[i].call("PATCH", "/workspaces/atlas/members/"+other, `{"role":"editor"}`)
				}
				self := []string{"mara", "ben"}[i]
				return owners[i].call("PATCH", "/workspaces/atlas/members/"+self, `{"role":"viewer"}`)
			})
			if n := w.count(`SELECT COUNT(*) FROM memberships WHERE workspace_id = 'atlas' AND role = 'owner'`); n != 1 || got[200] != 1 || got[403]+got[409] != 1 {
				w.Fatalf("round %d: %d owners are left after %v, want one after one success and one refusal", round, n, got)
			}
		}
	})
}

// race is a change of rights and a write of ben that meet.
type race struct {
	before string // SQL
	change func(ctx context.Context, tx access.Tx) error
	method string
	path   string
	body   string
	status int
	code   access.Code
	held   access.Ref // what the write holds
	right  access.Right
}

const newNote = `{"title":"New","tabs":[{"title":"One","markdown":""}]}`

var races = map[string]race{
	"role": {"", func(ctx context.Context, tx access.Tx) error {
		return storage.Members{}.ChangeRole(ctx, tx, "atlas", "ben", access.RoleViewer)
	}, "POST", "/projects/alpha/notes", newNote, 403, access.Forbidden, access.Ref{Kind: access.KindProject, ID: "alpha"}, access.RightEdit},
	"role, and a project to make": {"", func(ctx context.Context, tx access.Tx) error {
		return storage.Members{}.ChangeRole(ctx, tx, "atlas", "ben", access.RoleViewer)
	}, "POST", "/workspaces/atlas/projects", `{"name":"New"}`, 403, access.Forbidden, access.Ref{Kind: access.KindWorkspace, ID: "atlas"}, access.RightEdit},
	"membership": {"", func(ctx context.Context, tx access.Tx) error {
		return storage.Members{}.RemoveMember(ctx, tx, "atlas", "ben")
	}, "PATCH", "/notes/plan", `{"title":"New","expected_version":1}`, 404, access.NotFound, access.Ref{Kind: access.KindNote, ID: "plan"}, access.RightEdit},
	"membership, and an own connection": {"", func(ctx context.Context, tx access.Tx) error {
		return storage.Members{}.RemoveMember(ctx, tx, "atlas", "ben")
	}, "PATCH", "/connections/desk", `{"name":"New"}`, 404, access.NotFound, access.Ref{Kind: access.KindConnection, ID: "desk"}, access.RightManage},
	"ACL": {"", func(ctx context.Context, tx access.Tx) error {
		key := workspace.ResourceKey{Kind: access.KindNote, WorkspaceID: "atlas", ProjectID: "alpha", ID: "listed"}
		_, err := storage.ACLs{}.SetACL(ctx, tx, key, []workspace.Listed{{User: workspace.Named{ID: "vic"}, Right: access.RightView}})
		return err
	}, "PATCH", "/notes/listed", `{"title":"New","expected_version":1}`, 403, access.ACLDenied, access.Ref{Kind: access.KindNote, ID: "listed"}, access.RightEdit},
	"ACL of a session": {"", func(ctx context.Context, tx access.Tx) error {
		key := workspace.ResourceKey{Kind: access.KindSession, WorkspaceID: "atlas", ProjectID: "alpha", ID: "crew"}
		_, err := storage.ACLs{}.SetACL(ctx, tx, key, []workspace.Listed{{User: workspace.Named{ID: "vic"}, Right: access.RightView}})
		return err
	}, "PATCH", "/agent-sessions/crew", `{"title":"New","expected_version":1}`, 403, access.ACLDenied, access.Ref{Kind: access.KindSession, ID: "crew"}, access.RightEdit},
	"session in a project closed": {"", closeAlpha, "PATCH", "/agent-sessions/crew", `{"title":"New","expected_version":1}`, 403, access.NotInProject,
		access.Ref{Kind: access.KindSession, ID: "crew"}, access.RightEdit},
	"role, and a session": {"", func(ctx context.Context, tx access.Tx) error {
		return storage.Members{}.ChangeRole(ctx, tx, "atlas", "ben", access.RoleViewer)
	}, "PUT", "/agent-sessions/crew/connections/desk", `{"seat":"runner"}`, 403, access.Forbidden, access.Ref{Kind: access.KindSession, ID: "crew"}, access.RightManage},
	"project closed": {"", closeAlpha, "POST", "/projects/alpha/notes", newNote, 403, access.NotInProject, access.Ref{Kind: access.KindProject, ID: "alpha"}, access.RightEdit},
	"note in a project closed": {"", closeAlpha, "PATCH", "/notes/plan/tabs/tab-plan", `{"markdown":"New","expected_version":1}`, 403, access.NotInProject,
		access.Ref{Kind: access.KindNote, ID: "plan"}, access.RightEdit},
	"project archived": {"", func(ctx context.Context, tx access.Tx) error {
		return changeAlpha(ctx, tx, workspace.Project{ArchivedAt: time.UnixMilli(2)})
	}, "POST", "/projects/alpha/notes", newNote, 409, access.Conflict, access.Ref{Kind: access.KindProject, ID: "alpha"}, access.RightEdit},
	"off a private project": {`UPDATE projects SET private = 1 WHERE id = 'beta'`, func(ctx context.Context, tx access.Tx) error {
		_, err := storage.Projects{}.RemoveProjectMember(ctx, tx, "atlas", "beta", "ben")
		return err
	}, "POST", "/projects/beta/notes", newNote, 403, access.NotInProject, access.Ref{Kind: access.KindProject, ID: "beta"}, access.RightEdit},
}

func closeAlpha(ctx context.Context, tx access.Tx) error {
	return changeAlpha(ctx, tx, workspace.Project{Private: true})
}

func changeAlpha(ctx context.Context, tx access.Tx, p workspace.Project) error {
	p.ID, p.WorkspaceID, p.Name, p.Version, p.UpdatedAt = "alpha", "atlas", "alpha", 1, time.UnixMilli(2)
	_, err := storage.Projects{}.ChangeProject(ctx, tx, p)
	return err
}

// waits returns once a statement of the database waits for a lock; false if done
// comes first.
func (w *world) waits(done <-chan struct{}) bool {
	w.Helper()
	for {
		if w.count(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0 {
			return true
		}
		select {
		case <-done:
			return false
		default:
		}
	}
}

// beside runs f in a unit of work that ends when the returned function is called.
func (w *world) beside(f func(ctx context.Context, tx access.Tx) error) (commit func()) {
	w.Helper()
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- w.db.Write(context.Background(), func(tx access.Tx) error {
			err := f(context.Background(), tx)
			close(begun)
			<-end
			return err
		})
	}()
	<-begun
	return func() {
		w.Helper()
		close(end)
		w.must(<-ended)
	}
}

func TestAWriteThatMeetsAChangeOfRightsWaitsForIt(t *testing.T) {
	for name, r := range races {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storage.Options{DatabaseURL: storagetest.PostgresURL(t)})
			w.people()
			if r.before != "" {
				w.exec(r.before)
			}
			ben := w.script("ben")
			commit := w.beside(r.change)
			done := make(chan struct{})
			var a answer
			go func() {
				defer close(done)
				a = ben.call(r.method, r.path, r.body)
			}()
			if !w.waits(done) {
				t.Errorf("%s %s did not wait for the change: got %s", r.method, r.path, a)
			}
			commit()
			<-done
			if code, _, _ := a.refusal(); a.status != r.status || code != string(r.code) {
				t.Errorf("%s %s after the change: got %s, want %d %s", r.method, r.path, a, r.status, r.code)
			}
		})
	}
}

func TestAChangeOfRightsThatMeetsAWriteWaitsForIt(t *testing.T) {
	for name, r := range races {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, storage.Options{DatabaseURL: storagetest.PostgresURL(t)})
			w.people()
			commit := w.beside(func(ctx context.Context, tx access.Tx) error { return w.db.HoldPerson(ctx, tx, "ben", r.held, r.right) })
			done := make(chan struct{})
			var err error
			go func() {
				defer close(done)
				err = w.db.Write(context.Background(), func(tx access.Tx) error { return r.change(context.Background(), tx) })
			}()
			if !w.waits(done) {
				t.Errorf("the change did not wait for the write: %v", err)
			}
			commit()
			<-done
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestClosingAProjectWaitsForWritesOfItsConnections(t *testing.T) {
	w := newWorld(t, storage.Options{DatabaseURL: storagetest.PostgresURL(t)})
	w.people()
	w.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ('desk', 'alpha', 'mara', 1)`)
	w.exec(`INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at) VALUES ('token', 'desk', '', '', 1, 1, 0)`)
	commit := w.beside(func(ctx context.Context, tx access.Tx) error {
		return w.db.Touch(ctx, tx, "token", access.Ref{Kind: access.KindNote, ID: "plan"}, w.clock())
	})
	done := make(chan struct{})
	var a answer
	go func() {
		defer close(done)
		a = w.script("mara").call("PATCH", "/projects/alpha", `{"private":true}`)
	}()
	if !w.waits(done) {
		t.Errorf("the project was closed under a write: got %s", a)
	}
	commit()
	<-done
	if a.status != 200 {
		t.Errorf("got %s, want 200", a)
	}
}

func TestASignInDoesNotOutliveItsPassword(t *testing.T) {
	w := newWorld(t, storage.Options{DatabaseURL: storagetest.PostgresURL(t)})
	w.people()
	commit := w.beside(func(ctx context.Context, tx access.Tx) error {
		if err := (storage.Accounts{}).SetPassword(ctx, tx, "mara", "changed"); err != nil {
			return err
		}
		return storage.Accounts{}.RemoveSessionsOf(ctx, tx, "mara")
	})
	done := make(chan struct{})
	var a answer
	go func() { // with the old password, which is still the one to be read
		defer close(done)
		a = w.nobody().call("POST", "/sign-in", signInBody("mara@atlas.example", password))
	}()
	if !w.waits(done) {
		t.Errorf("the sign-in did not wait for the new password: got %s", a)
	}
	commit()
	<-done
	if n := w.count(`SELECT COUNT(*) FROM browser_sessions`); a.status != 401 || n != 0 {
		t.Errorf("got %s and %d sessions, want 401 and none", a, n)
	}
}

func TestManyWritesAndChangesOfRightsGetAlong(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben := w.script("mara"), w.script("ben")
		got := w.together(48, func(i int) answer {
			switch i % 6 {
			case 0:
				return mara.call("PUT", "/projects/alpha/members/ben", "")
			case 1:
				return mara.call("DELETE", "/projects/alpha/members/ben", "")
			case 2:
				return mara.call("PATCH", "/projects/alpha", fmt.Sprintf(`{"private":%t}`, i%4 == 0))
			case 3:
				return ben.call("POST", "/workspaces/atlas/projects", `{"name":"New"}`)
			case 4:
				return mara.call("PATCH", "/workspaces/atlas/members/ben", fmt.Sprintf(`{"role":%q}`, []string{"editor", "owner"}[i%4/2]))
			}
			return ben.call("POST", "/projects/alpha/notes", newNote)
		})
		for status, n := range got {
			if status >= 500 || status == 401 {
				w.Errorf("%d calls got %d; all got %v", n, status, got)
			}
		}
	})
}

// A seat, and a call that needs it, meet on the row of the session.
func TestTakingASeatWaitsForWritesInTheSessionAndTheyForIt(t *testing.T) {
	w := newWorld(t, storage.Options{DatabaseURL: storagetest.PostgresURL(t)})
	w.people()
	w.seated("contributor")
	w.exec(`INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at)
		VALUES ('token', 'desk', 'osfoundry:read osfoundry:write', '', 1, $1, 0)`, w.clock().Add(time.Hour).UnixMilli())
	ref := access.Ref{Kind: access.KindSession, ID: "crew"}
	look := func(ctx context.Context, tx access.Tx) (access.Seat, error) {
		if err := w.db.Touch(ctx, tx, "token", ref, w.clock()); err != nil {
			return access.SeatNone, err
		}
		f, err := w.db.ConnectionFacts(ctx, tx, "token", ref)
		return f.Seat, err
	}
	commit := w.beside(func(ctx context.Context, tx access.Tx) error {
		seat, err := look(ctx, tx)
		if seat != access.SeatContributor {
			t.Errorf("got the seat %s, want contributor", seat)
		}
		return err
	})
	done := make(chan struct{})
	var a answer
	ben := w.script("ben")
	go func() {
		defer close(done)
		a = ben.call("PUT", "/agent-sessions/crew/connections/desk", `{"seat":"observer"}`)
	}()
	if !w.waits(done) {
		t.Errorf("the seat was changed under a write: got %s", a)
	}
	commit()
	<-done

	commit = w.beside(func(ctx context.Context, tx access.Tx) error {
		if err := w.db.HoldPerson(ctx, tx, "ben", ref, access.RightManage); err != nil {
			return err
		}
		_, err := storage.Seats{}.DeleteSeat(ctx, tx, "atlas", "crew", "desk")
		return err
	})
	done = make(chan struct{})
	seat, err := access.SeatRunner, error(nil)
	go func() {
		defer close(done)
		err = w.db.Write(context.Background(), func(tx access.Tx) (err error) {
			seat, err = look(context.Background(), tx)
			return err
		})
	}()
	if !w.waits(done) {
		t.Error("a write did not wait for the seat that is being taken")
	}
	commit()
	<-done
	if err != nil || seat != access.SeatNone {
		t.Errorf("after the seat was taken: got %s, %v; want none", seat, err)
	}
}
