package web

import (
	"net/http"
	"net/url"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// invitationForm lets a person who was invited choose a password.
func (s *Site) invitationForm(w http.ResponseWriter, r *http.Request) {
	s.showInvitation(w, r, http.StatusOK, newForm(s.texts(r), nothing))
}

// showInvitation draws the form, or says that the link is of no use any more.
func (s *Site) showInvitation(w http.ResponseWriter, r *http.Request, status int, f *form) {
	token := r.URL.Query().Get("token")
	invitation, err := s.Accounts.Invitation(r.Context(), token)
	if err != nil {
		s.refuseInvitation(w, r, err)
		return
	}
	password := f.input("password", "password", "new-password", 0, true)
	password.Min = workspace.MinPassword
	s.show(w, r, status, "invitation", map[string]any{
		"Workspace": display(invitation.Workspace.Name), "Email": invitation.User.Email, "Password": password, "Mistakes": f.summary(),
		"Action": "/invitation?" + url.Values{"token": {token}}.Encode(),
	})
}

func (s *Site) refuseInvitation(w http.ResponseWriter, r *http.Request, err error) {
	if access.CodeOf(err) != access.NotFound {
		s.fail(w, r, err)
		return
	}
	c := s.texts(r)
	s.show(w, r, http.StatusNotFound, "message", map[string]any{
		"Title": c.say("invitation.gone.title"), "Text": c.say("invitation.gone"), "Link": "/sign-in", "LinkText": c.say("signin.title"),
	})
}

// invitation uses the link up and signs the person in.
func (s *Site) invitation(w http.ResponseWriter, r *http.Request) {
	f := newForm(s.texts(r), posted(r))
	if !f.require("password") {
		s.showInvitation(w, r, http.StatusUnprocessableEntity, f)
		return
	}
	in, err := s.Accounts.AcceptInvitation(r.Context(), r.URL.Query().Get("token"), r.PostForm.Get("password"), r.UserAgent())
	if err == nil {
		s.enter(w, r, in, "/")
		return
	}
	if access.CodeOf(err) == access.InvalidArguments {
		f.refuse(err)
		s.showInvitation(w, r, http.StatusUnprocessableEntity, f)
		return
	}
	s.refuseInvitation(w, r, err)
}
