package web

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Config is what the pages need from the house around them.
type Config struct {
	Site     *guard.Site
	Accounts Accounts
	Members  *workspace.Members // handed on to Accounts.SetUp
	Sessions Sessions
	Start    Start
	// Requests may be set after New, before the first request: package oauth needs
	// its Pages first. nil knows none.
	Requests Requests
	// Owner is the owner API, through whose gate pages change things; nil leaves
	// out what needs it. It may be set after New, like Requests.
	Owner http.Handler
	// App is what `make ui` builds, laid out as dist; nil is what is in this program.
	App fs.FS
	Now func() time.Time
	Log *slog.Logger
}

// Accounts decides about people: who owns a new server, who may sign in. It is
// *workspace.Accounts, whose comments are the contract.
type Accounts interface {
	NeedsSetup(ctx context.Context) (bool, error)
	SetUp(ctx context.Context, f workspace.Setup, members *workspace.Members) (workspace.SignedIn, error)
	SignIn(ctx context.Context, f workspace.SignIn) (workspace.SignedIn, error)
	Invitation(ctx context.Context, token string) (workspace.Invitation, error)
	AcceptInvitation(ctx context.Context, token, password, userAgent string) (workspace.SignedIn, error)
}

// Sessions knows who is signed in, and changes it.
type Sessions interface {
	oauth.People
	// Set gives the browser the session that in opened, in place of one it had.
	Set(w http.ResponseWriter, r *http.Request, in workspace.SignedIn)
	// Clear ends the browser's session.
	Clear(w http.ResponseWriter, r *http.Request) error
}

// Requests knows pending OAuth requests. Package oauth's Server implements it.
type Requests interface {
	// Asking says which client waits behind a sign-in that leads on to the path
	// next, and the host its answer goes to; ok is false if next is no pending
	// request of this browser.
	Asking(r *http.Request, next string) (clientName, host string, ok bool)
}

// Site draws the pages. It implements oauth.Pages.
type Site struct {
	Config
	views  *views
	assets *assets
	app    *app
}

var _ oauth.Pages = (*Site)(nil)

// New reads templates, texts and assets. A part that is missing is a mistake in
// the program.
func New(c Config) (*Site, error) {
	for name, missing := range map[string]bool{
		"Site": c.Site == nil, "Accounts": c.Accounts == nil, "Sessions": c.Sessions == nil,
		"Start": c.Start == nil, "Now": c.Now == nil, "Log": c.Log == nil,
	} {
		if missing {
			return nil, fmt.Errorf("web: %s is missing", name)
		}
	}
	s := &Site{Config: c}
	var err error
	if s.assets, err = readAssets(); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	if s.App == nil {
		if s.App, err = fs.Sub(dist, "dist"); err != nil {
			return nil, fmt.Errorf("web: %w", err)
		}
	}
	if s.app, err = readApp(s.App); err != nil {
		return nil, fmt.Errorf("web: the app: %w", err)
	}
	if s.views, err = newViews(s.assets); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return s, nil
}

// Mount adds the routes, and a page for every path that nobody else has.
func (s *Site) Mount(mux *http.ServeMux) {
	mux.HandleFunc("/{$}", s.methods(s.front, nil))
	mux.HandleFunc("/connections", s.methods(s.home, nil))
	mux.HandleFunc("/setup", s.methods(s.setupForm, s.setup))
	mux.HandleFunc("/sign-in", s.methods(s.signInForm, s.signIn))
	mux.HandleFunc("/sign-out", s.methods(s.signOutForm, s.signOut))
	mux.HandleFunc("/invitation", s.methods(s.invitationForm, s.invitation))
	mux.HandleFunc(connectionsPath+"{id}/revoke", s.methods(s.revokeForm, s.revoke))
	mux.HandleFunc("/assets/{name}", s.methods(s.asset, nil))
	s.mountApp(mux)
	mux.HandleFunc("/", s.notFound)
}

// methods serves one path. A form is taken from our own pages only, and with a
// body that can be read in one way only.
func (s *Site) methods(get, post http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			get(w, r)
		case r.Method == http.MethodPost && post != nil:
			if status := s.readForm(w, r); status != http.StatusOK {
				s.errorPage(w, r, status)
				return
			}
			post(w, r)
		default:
			allow := "GET, HEAD"
			if post != nil {
				allow += ", POST"
			}
			w.Header().Set("Allow", allow) // RFC 9110 §15.5.6
			s.errorPage(w, r, http.StatusMethodNotAllowed)
		}
	}
}

// maxForm is how many bytes a form of these pages has at most.
const maxForm = 64 << 10

// readForm checks where a form comes from and parses it; the status is 200 if
// it can be taken.
func (s *Site) readForm(w http.ResponseWriter, r *http.Request) int {
	// Our pages send their origin with their forms (see parts.html), so "null" and
	// other origins are other sites. Sec-Fetch-Site can't be forged by a page.
	site := r.Header.Get("Sec-Fetch-Site")
	if !s.Site.OriginAllowed(r) || site != "" && site != "same-origin" && site != "none" {
		return http.StatusForbidden
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/x-www-form-urlencoded") {
		return http.StatusUnsupportedMediaType
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return http.StatusRequestEntityTooLarge
		}
		return http.StatusBadRequest
	}
	for name, values := range r.PostForm {
		if len(values) != 1 || !plainText(name) || !plainText(values[0]) {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// plainText is text that every database keeps as it is.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// seeOther leads on to a path of this server with 303, so that a reload does
// not send the form again (RFC 9110 §15.4.4).
func (s *Site) seeOther(w http.ResponseWriter, path string) {
	s.setHeaders(w.Header(), "")
	w.Header().Set("Location", path)
	w.WriteHeader(http.StatusSeeOther)
}

// addressKey is what the client's address is counted under.
func (s *Site) addressKey(r *http.Request) string { return guard.AddressKey(s.Site.ClientAddress(r)) }

// errorTexts are the statuses that have words of their own; any other is worded
// as the one with its first digit.
var errorTexts = map[int]string{
	400: "error.400", 403: "error.403", 404: "error.404", 405: "error.405", 413: "error.413",
	429: "error.429", 500: "error.500", 503: "error.503",
}

// ErrorPage answers with a page for people: what happened, and a way out. It
// never leads away from this server.
func (s *Site) ErrorPage(w http.ResponseWriter, r *http.Request, status int) {
	s.errorPage(w, r, status)
}

func (s *Site) errorPage(w http.ResponseWriter, r *http.Request, status int) {
	key, ok := errorTexts[status]
	if !ok {
		key = errorTexts[status/100*100]
	}
	c := s.texts(r)
	text := c.say(key)
	if status == http.StatusTooManyRequests {
		text = c.say(key, "minutes", c.minutes(w.Header()))
	}
	s.show(w, r, status, "message", map[string]any{
		"Title": c.say(key + ".title"), "Text": text, "Link": "/", "LinkText": c.say("error.home"),
	})
}

func (s *Site) notFound(w http.ResponseWriter, r *http.Request) {
	s.errorPage(w, r, http.StatusNotFound)
}

// fail answers with the page that fits err, and logs what only the log may know.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	e, _ := errors.AsType[*access.Error](err)
	switch access.CodeOf(err) {
	case access.Unavailable, access.Busy:
		s.Log.WarnContext(r.Context(), "page not served", "path", r.URL.Path, "err", err)
		w.Header().Set("Retry-After", "1")
		s.errorPage(w, r, http.StatusServiceUnavailable)
	case access.RateLimited:
		setRetryAfter(w.Header(), e)
		s.errorPage(w, r, http.StatusTooManyRequests)
	case access.NotFound:
		s.notFound(w, r)
	case access.Forbidden:
		s.errorPage(w, r, http.StatusForbidden)
	case access.InvalidArguments:
		s.errorPage(w, r, http.StatusUnprocessableEntity)
	default:
		s.Log.ErrorContext(r.Context(), "page failed", "method", r.Method, "path", r.URL.Path, "err", err)
		s.errorPage(w, r, http.StatusInternalServerError)
	}
}

// setRetryAfter says how long to wait, in seconds (RFC 9110 §10.2.3).
func setRetryAfter(h http.Header, e *access.Error) {
	seconds := int64(60)
	if ms, ok := e.Details["retry_after_ms"].(int64); ok && ms > 0 {
		seconds = (ms + 999) / 1000
	}
	h.Set("Retry-After", strconv.FormatInt(seconds, 10))
}

// waitMinutes reads Retry-After back in the unit of people, at least 1.
func waitMinutes(h http.Header) int {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return 1
	}
	return int(math.Ceil(float64(seconds) / 60))
}
