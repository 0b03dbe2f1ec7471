package web

import (
	"errors"
	"html/template"
	"net/http"
	"net/url"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// signInForm asks for email and password. It leads on by itself where there is
// nothing to ask: to the setup of a new server, or past itself for who is signed
// in already.
func (s *Site) signInForm(w http.ResponseWriter, r *http.Request) {
	next := ownPath(r.URL.Query().Get("next"))
	_, signedIn, err := s.Sessions.Browser(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if signedIn {
		s.seeOther(w, next)
		return
	}
	if fresh, err := s.Accounts.NeedsSetup(r.Context()); err != nil || fresh {
		s.toSetup(w, r, err)
		return
	}
	s.showSignIn(w, r, http.StatusOK, newForm(s.texts(r), nothing), next)
}

func (s *Site) toSetup(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.seeOther(w, "/setup")
}

// signInPage is what the template shows.
type signInPage struct {
	Title           template.HTML
	Client, Host    string // who asks to connect, and where that leads; "" if nobody does
	Next            string
	Email, Password field
	Keep, SignedOut bool
	Mistakes        mistakes
}

func (s *Site) showSignIn(w http.ResponseWriter, r *http.Request, status int, f *form, next string) {
	page := signInPage{
		Title: f.texts.say("signin.title"), Next: next,
		Email:     f.input("email", "email", "username", workspace.MaxEmail, false),
		Password:  f.input("password", "password", "current-password", 0, false),
		Keep:      f.values("keep") == "yes",
		SignedOut: r.Method == http.MethodGet && r.URL.Query().Has("signed-out"),
	}
	if s.Requests != nil {
		if name, host, ok := s.Requests.Asking(r, next); ok {
			page.Client, page.Host = display(name), display(host)
			page.Title = f.texts.say("signin.title.connect", "client", page.Client)
		}
	}
	page.Mistakes = f.summary()
	s.show(w, r, status, "signin", page)
}

// signIn checks email and password. Both wrong give one text (OWASP ASVS 6.3.8).
func (s *Site) signIn(w http.ResponseWriter, r *http.Request) {
	get := r.PostForm.Get
	next := ownPath(get("next"))
	f := newForm(s.texts(r), posted(r))
	if !f.require("email", "password") {
		s.showSignIn(w, r, http.StatusUnprocessableEntity, f, next)
		return
	}
	in, err := s.Accounts.SignIn(r.Context(), workspace.SignIn{
		Email: get("email"), Password: get("password"), Keep: get("keep") == "yes", Address: s.addressKey(r), UserAgent: r.UserAgent(),
	})
	switch access.CodeOf(err) {
	case "":
		s.enter(w, r, in, next)
	case access.Unauthenticated:
		f.lead = f.texts.say("signin.wrong")
		s.showSignIn(w, r, http.StatusUnprocessableEntity, f, next)
	case access.RateLimited:
		e, _ := errors.AsType[*access.Error](err)
		setRetryAfter(w.Header(), e)
		f.lead = f.texts.say("signin.too_many", "minutes", f.texts.minutes(w.Header()))
		s.showSignIn(w, r, http.StatusTooManyRequests, f, next)
	default:
		s.fail(w, r, err)
	}
}

// signOutPurpose binds the form to what it does.
const signOutPurpose = "sign out"

// signOutForm asks before it signs out, so that a link alone cannot.
func (s *Site) signOutForm(w http.ResponseWriter, r *http.Request) {
	who, signedIn, err := s.Sessions.Browser(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	next := ownPath(r.URL.Query().Get("next"))
	if !signedIn {
		s.seeOther(w, signInPath(next, false))
		return
	}
	s.show(w, r, http.StatusOK, "signout", map[string]any{
		"Email": who.UserEmail, "Next": next, "Stay": next, "Again": next != "/",
		"TokenField": oauth.FormTokenField, "Token": s.Sessions.FormToken(r, signOutPurpose),
	})
}

func (s *Site) signOut(w http.ResponseWriter, r *http.Request) {
	_, signedIn, err := s.Sessions.Browser(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	next := ownPath(r.PostForm.Get("next"))
	if signedIn && !s.Sessions.CheckForm(r, signOutPurpose) {
		s.errorPage(w, r, http.StatusForbidden)
		return
	}
	if signedIn {
		if err := s.Sessions.Clear(w, r); err != nil {
			s.fail(w, r, err)
			return
		}
	}
	s.seeOther(w, signInPath(next, true))
}

// signInPath is the sign-in page that leads on to next.
func signInPath(next string, signedOut bool) string {
	query := url.Values{}
	if next != "/" {
		query.Set("next", next)
	}
	if signedOut {
		query.Set("signed-out", "")
	}
	if len(query) == 0 {
		return "/sign-in"
	}
	return "/sign-in?" + query.Encode()
}
