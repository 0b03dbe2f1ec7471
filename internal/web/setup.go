package web

import (
	"errors"
	"net/http"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// maxSecret is how many bytes of a setup code in the address are taken over.
const maxSecret = 200

// setupForm is the first page of a new server, and gone once it has an owner.
func (s *Site) setupForm(w http.ResponseWriter, r *http.Request) {
	if !s.setupOpen(w, r) {
		return
	}
	f := newForm(s.texts(r), nothing)
	if secret := r.URL.Query().Get("secret"); len(secret) <= maxSecret && plainText(secret) {
		f.values = func(name string) string { // the printed address brings the code along
			if name == "secret" {
				return secret
			}
			return ""
		}
	}
	s.showSetup(w, r, http.StatusOK, f)
}

// setupOpen reports whether the server still needs an owner, and answers if not.
func (s *Site) setupOpen(w http.ResponseWriter, r *http.Request) bool {
	open, err := s.Accounts.NeedsSetup(r.Context())
	switch {
	case err != nil:
		s.fail(w, r, err)
	case !open:
		s.notFound(w, r)
	}
	return err == nil && open
}

func (s *Site) showSetup(w http.ResponseWriter, r *http.Request, status int, f *form) {
	page := struct {
		Secret, Name, Email, Password, Workspace field
		Mistakes                                 mistakes
		LocalAddress                             string
	}{
		Secret:    f.input("secret", "text", "off", 0, true),
		Name:      f.input("name", "text", "name", workspace.MaxProjectName, false),
		Email:     f.input("email", "email", "username", workspace.MaxEmail, false),
		Password:  f.input("password", "password", "new-password", 0, true),
		Workspace: f.input("workspace", "text", "organization", workspace.MaxProjectName, true),
	}
	page.Password.Min = workspace.MinPassword
	page.Mistakes = f.summary()
	if origin := s.Site.Origin(r); local(origin) {
		page.LocalAddress = origin
	}
	s.show(w, r, status, "setup", page)
}

// setup makes the first owner and workspace, and signs them in.
func (s *Site) setup(w http.ResponseWriter, r *http.Request) {
	if !s.setupOpen(w, r) {
		return
	}
	f := newForm(s.texts(r), posted(r))
	if !f.require("secret", "name", "email", "password", "workspace") {
		s.showSetup(w, r, http.StatusUnprocessableEntity, f)
		return
	}
	get := r.PostForm.Get
	in, err := s.Accounts.SetUp(r.Context(), workspace.Setup{
		Secret: strings.TrimSpace(get("secret")), Name: get("name"), Email: get("email"), Password: get("password"),
		Workspace: get("workspace"), Address: s.addressKey(r), UserAgent: r.UserAgent(),
	}, s.Members)
	if err != nil {
		s.refuseSetup(w, r, f, err)
		return
	}
	s.enter(w, r, in, "/")
}

func (s *Site) refuseSetup(w http.ResponseWriter, r *http.Request, f *form, err error) {
	e, _ := errors.AsType[*access.Error](err)
	switch access.CodeOf(err) {
	case access.Forbidden:
		f.lead, f.faults["secret"] = f.texts.say("mistakes.title"), f.texts.say("setup.secret.wrong")
		s.showSetup(w, r, http.StatusForbidden, f)
	case access.RateLimited:
		setRetryAfter(w.Header(), e)
		f.lead = f.texts.say("setup.too_many", "minutes", f.texts.minutes(w.Header()))
		s.showSetup(w, r, http.StatusTooManyRequests, f)
	case access.InvalidArguments:
		f.refuse(err)
		s.showSetup(w, r, http.StatusUnprocessableEntity, f)
	default:
		s.fail(w, r, err)
	}
}

// enter gives the browser its session and leads on.
func (s *Site) enter(w http.ResponseWriter, r *http.Request, in workspace.SignedIn, next string) {
	s.Sessions.Set(w, r, in)
	s.seeOther(w, next)
}
