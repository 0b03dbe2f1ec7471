package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

func TestAWorkspaceKeepsAnOwner(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		for _, role := range []string{"editor", "viewer"} {
			mara.refused(409, access.Conflict, "PATCH", "/workspaces/atlas/members/mara", fmt.Sprintf(`{"role":%q}`, role))
		}
		mara.refused(409, access.Conflict, "DELETE", "/workspaces/atlas/members/mara", "")
		mara.wants(200, "PATCH", "/workspaces/atlas/members/mara", `{"role":"owner"}`)
		mara.wants(200, "PATCH", "/workspaces/atlas/members/ben", `{"role":"owner"}`)
		w.exec(`UPDATE users SET disabled_at = 1 WHERE id = 'ben'`) // an owner who cannot come in is none
		mara.refused(409, access.Conflict, "DELETE", "/workspaces/atlas/members/mara", "")
		w.exec(`UPDATE users SET disabled_at = 0 WHERE id = 'ben'`)
		mara.wants(204, "DELETE", "/workspaces/atlas/members/mara", "")
		mara.refused(404, access.NotFound, "GET", "/workspaces/atlas/members", "")
		w.script("ben").refused(409, access.Conflict, "DELETE", "/workspaces/atlas/members/ben", "")
	})
}

func TestMembersAreLetInOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, eve := w.script("mara"), w.script("eve")
		const path = "/workspaces/atlas/members"
		with := mara.wants(201, "POST", path, `{"email":"New@B.example","name":"New","role":"editor","password":"their first password"}`).read(w)
		if with["invite_url"] != nil || with["invited"] != nil || with["email"] != "new@b.example" || with["role"] != "editor" {
			w.Errorf("with a password: got %v", with)
		}
		w.nobody().wants(200, "POST", "/sign-in", signInBody("NEW@b.example", "their first password"))
		mara.refused(409, access.Conflict, "POST", path, `{"email":"new@b.example","name":"Again","role":"owner"}`)

		// Who has an account keeps its name and password.
		for _, body := range []string{
			`{"email":"eve@atlas.example","name":"Somebody else","role":"viewer","password":"a password of mara's"}`,
		} {
			got := mara.wants(201, "POST", path, body).read(w)
			if got["invite_url"] != nil || got["name"] != "Name of eve" || got["id"] != "eve" {
				w.Errorf("a known person: got %v", got)
			}
		}
		w.nobody().wants(401, "POST", "/sign-in", signInBody("eve@atlas.example", "a password of mara's"))
		w.nobody().wants(200, "POST", "/sign-in", signInBody("eve@atlas.example", password))

		// Who has none yet gets a link, from the first workspace alone: a second one
		// could be used to enter the first.
		invited := mara.wants(201, "POST", path, `{"email":"late@b.example","name":"Late","role":"editor"}`).read(w)
		link, _ := invited["invite_url"].(string)
		if !strings.HasPrefix(link, w.base+"/invitation?token=osf_inv_") || invited["invited"] != true {
			w.Fatalf("got %v", invited)
		}
		theirs := eve.wants(201, "POST", "/workspaces/globex/members", `{"email":"late@b.example","name":"Late","role":"owner","password":"a password of eve's"}`).read(w)
		if theirs["invite_url"] != nil || theirs["invited"] != true || theirs["id"] != invited["id"] {
			w.Errorf("a second workspace got %v", theirs)
		}
		w.nobody().wants(401, "POST", "/sign-in", signInBody("late@b.example", "a password of eve's"))
		_, token, _ := strings.Cut(link, "token=")
		if _, err := w.accounts.AcceptInvitation(context.Background(), token, "late but here", ""); err != nil {
			w.Fatal(err)
		}
		if _, err := w.accounts.AcceptInvitation(context.Background(), token, "and once more", ""); access.CodeOf(err) != access.NotFound {
			w.Errorf("an invitation was used twice: %v", err)
		}
		w.nobody().wants(200, "POST", "/sign-in", signInBody("late@b.example", "late but here"))
	})
}

func TestAnInvitationEndsWithTheMembership(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		invited := mara.wants(201, "POST", "/workspaces/atlas/members", `{"email":"late@b.example","name":"Late","role":"editor"}`).read(w)
		mara.wants(204, "DELETE", "/workspaces/atlas/members/"+invited["id"].(string), "")
		_, token, _ := strings.Cut(invited["invite_url"].(string), "token=")
		if _, err := w.accounts.AcceptInvitation(context.Background(), token, "late but here", ""); access.CodeOf(err) != access.NotFound {
			w.Errorf("got %v, want not_found", err)
		}
	})
}

func TestLeavingTakesPlacesAway(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben := w.script("mara"), w.script("ben")
		mara.wants(204, "PUT", "/projects/secret/members/ben", "")
		ben.wants(200, "GET", "/notes/hidden", "")
		ben.wants(200, "GET", "/notes/listed", "")
		mara.wants(204, "DELETE", "/workspaces/atlas/members/ben", "")
		ben.refused(404, access.NotFound, "GET", "/notes/plan", "")
		if a := ben.wants(200, "GET", "/workspaces", ""); a.body != `{"items":[]}` {
			w.Errorf("got %s", a)
		}
		mara.wants(201, "POST", "/workspaces/atlas/members", `{"email":"ben@atlas.example","name":"Ben","role":"editor"}`)
		ben.wants(200, "GET", "/notes/plan", "")
		ben.refused(403, access.NotInProject, "GET", "/notes/hidden", "") // these do not come back by themselves
		ben.refused(403, access.ACLDenied, "GET", "/notes/listed", "")
	})
}

func TestPrivateProjectsAreForTheListed(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben, pia := w.script("mara"), w.script("ben"), w.script("pia")
		names := func(c *caller) string {
			var all []string
			for _, p := range c.wants(200, "GET", "/workspaces/atlas/projects", "").read(w)["items"].([]any) {
				all = append(all, p.(map[string]any)["name"].(string))
			}
			return strings.Join(all, " ")
		}
		if got := names(ben) + "|" + names(pia) + "|" + names(mara); got != "alpha beta|alpha beta secret|alpha beta" {
			w.Errorf("ben, pia and mara see %q", got)
		}
		made := ben.wants(201, "POST", "/workspaces/atlas/projects", `{"name":"Mine","private":true}`).read(w)
		path := "/projects/" + made["id"].(string)
		if made["private"] != true || made["version"] != 1.0 || made["owner"].(map[string]any)["id"] != "ben" {
			w.Errorf("got %v", made)
		}
		pia.refused(403, access.NotInProject, "GET", path, "")
		// An owner manages it without entering it.
		mara.refused(403, access.NotInProject, "GET", path, "")
		mara.wants(200, "PATCH", path, `{"name":"Ours","private":true}`)
		mara.refused(403, access.NotInProject, "GET", path, "")
		mara.wants(204, "PUT", path+"/members/pia", "")
		mara.wants(204, "PUT", path+"/members/pia", "")
		pia.wants(200, "GET", path, "")
		pia.refused(403, access.Forbidden, "PATCH", path, `{"name":"Hers"}`)
		mara.refused(404, access.NotFound, "PUT", path+"/members/eve", "")
		mara.wants(204, "DELETE", path+"/members/pia", "")
		mara.refused(404, access.NotFound, "DELETE", path+"/members/pia", "")
		pia.refused(403, access.NotInProject, "GET", path, "")

		// Who closes a project stays in it.
		mara.wants(200, "PATCH", "/projects/beta", `{"private":true}`)
		mara.wants(200, "GET", "/projects/beta", "")
		pia.refused(403, access.NotInProject, "GET", "/projects/beta", "")
		mara.wants(200, "PATCH", "/projects/beta", `{"private":false}`)
		pia.wants(200, "GET", "/projects/beta", "")
		mara.refused(409, access.VersionConflict, "PATCH", "/projects/beta", `{"name":"x","expected_version":1}`)
		mara.refused(409, access.VersionConflict, "PATCH", "/projects/beta", `{"name":"x","expected_version":-3}`)
		mara.wants(200, "PATCH", "/projects/beta", `{"name":"x","expected_version":3}`)
	})
}

func TestArchivedProjectsTakeNoNotes(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben := w.script("mara"), w.script("ben")
		if a := mara.wants(200, "PATCH", "/projects/beta", `{"archived":true}`); a.read(w)["archived"] != true {
			w.Errorf("got %s", a)
		}
		for _, c := range []*caller{mara, ben} {
			c.refused(409, access.Conflict, "POST", "/projects/beta/notes", newNote)
			c.refused(409, access.Conflict, "PATCH", "/notes/plan", `{"project_id":"beta","title":"Moved","expected_version":1}`)
		}
		if n := w.count(`SELECT COUNT(*) FROM notes WHERE project_id = 'beta' OR title = 'Moved'`); n != 0 {
			w.Errorf("%d notes got into the archived project, or were half changed", n)
		}
		mara.wants(200, "PATCH", "/projects/beta", `{"archived":false}`)
		ben.wants(201, "POST", "/projects/beta/notes", newNote)
		ben.wants(200, "PATCH", "/notes/plan", `{"project_id":"beta","expected_version":1}`)
	})
}

func TestAnACLListsWhoMaySee(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben, vic, pia := w.script("mara"), w.script("ben"), w.script("vic"), w.script("pia")
		got := mara.wants(200, "PUT", "/notes/plan/acl", `{"users":[{"id":"vic","right":"edit"},{"id":"ben","right":"view"}]}`)
		if want := `{"users":[{"id":"ben","name":"Name of ben","right":"view"},{"id":"vic","name":"Name of vic","right":"edit"}]}`; got.body != want {
			w.Errorf("got %s, want %s", got, want)
		}
		ben.wants(200, "GET", "/notes/plan", "")
		ben.refused(403, access.ACLDenied, "PATCH", "/notes/plan", `{"title":"x","expected_version":1}`)
		vic.wants(200, "GET", "/notes/plan", "")
		vic.refused(403, access.Forbidden, "PATCH", "/notes/plan", `{"title":"x","expected_version":1}`) // a viewer stays one
		pia.refused(403, access.ACLDenied, "GET", "/notes/plan", "")
		mara.refused(403, access.ACLDenied, "GET", "/notes/plan", "") // who decides about the list is not on it
		mara.refused(422, access.InvalidArguments, "PUT", "/notes/plan/acl", `{"users":[{"id":"pia","right":"view"},{"id":"eve","right":"view"}]}`)
		pia.refused(403, access.ACLDenied, "GET", "/notes/plan", "")
		mara.wants(200, "PUT", "/notes/plan/acl", `{"users":[]}`)
		ben.refused(403, access.ACLDenied, "GET", "/notes/plan", "")
		mara.wants(204, "DELETE", "/notes/plan/acl", "")
		pia.wants(200, "GET", "/notes/plan", "")
	})
}
