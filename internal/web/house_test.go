package web

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

var mara = access.Principal{Credential: access.CredentialSession, UserID: "u1", UserName: "Mara Ruiz", UserEmail: "mara@atlas.example"}

const goodPassword = "a sentence is fine"

// house stands for the rooms around the pages. Its fields say how they answer.
type house struct {
	needsSetup bool
	err        error // of Accounts and Start
	sessionErr error
	invitation workspace.Invitation
	places     []Place
	app        fs.FS // nil: one that was not built
	asking     *oauth.ConsentPage

	setUp    workspace.Setup // what was asked for last
	signIn   workspace.SignIn
	accepted string
}

func (h *house) NeedsSetup(context.Context) (bool, error) { return h.needsSetup, h.sessionErr }

func (h *house) SetUp(_ context.Context, f workspace.Setup, _ *workspace.Members) (workspace.SignedIn, error) {
	h.setUp = f
	return workspace.SignedIn{Token: "session"}, h.err
}

func (h *house) SignIn(_ context.Context, f workspace.SignIn) (workspace.SignedIn, error) {
	h.signIn = f
	return workspace.SignedIn{Token: "session"}, h.err
}

func (h *house) Invitation(context.Context, string) (workspace.Invitation, error) {
	if h.invitation.User.Email == "" {
		return workspace.Invitation{}, access.Refuse(access.NotFound, "no such invitation")
	}
	return h.invitation, nil
}

func (h *house) AcceptInvitation(_ context.Context, token, _, _ string) (workspace.SignedIn, error) {
	h.accepted = token
	return workspace.SignedIn{Token: "session"}, h.err
}

func (h *house) Browser(r *http.Request) (access.Principal, bool, error) {
	_, err := r.Cookie("session")
	return mara, err == nil, h.sessionErr
}

func (h *house) FormToken(_ *http.Request, purpose string) string { return "token for " + purpose }

func (h *house) CheckForm(r *http.Request, purpose string) bool {
	return r.PostForm.Get(oauth.FormTokenField) == "token for "+purpose
}

func (h *house) Set(w http.ResponseWriter, _ *http.Request, in workspace.SignedIn) {
	http.SetCookie(w, &http.Cookie{Name: in.Token, Value: "1", Path: "/"})
}

func (h *house) Clear(w http.ResponseWriter, _ *http.Request) error {
	http.SetCookie(w, &http.Cookie{Name: "session", Path: "/", MaxAge: -1})
	return nil
}

func (h *house) Places(context.Context, access.Principal) ([]Place, error) { return h.places, h.err }

func (h *house) Asking(_ *http.Request, next string) (name, host string, ok bool) {
	if h.asking == nil || next != oauth.PathConsent+"?request="+h.asking.RequestID {
		return "", "", false
	}
	return h.asking.ClientName, h.asking.Destination.Host, true
}

// browser is a client with cookies that follows nothing by itself.
type browser struct {
	t      *testing.T
	base   string
	client *http.Client
	site   *Site
}

// serve starts the pages of the house. Further routes draw what others ask for.
func serve(t *testing.T, h *house, draw map[string]http.HandlerFunc) *browser {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return newBrowser(t, h, mux, server.URL, server.URL, draw)
}

func newBrowser(t *testing.T, h *house, mux *http.ServeMux, base, public string, draw map[string]http.HandlerFunc) *browser {
	t.Helper()
	site, err := guard.NewSite(guard.SiteConfig{PublicURLs: []string{public}})
	if err != nil {
		t.Fatal(err)
	}
	if h.app == nil {
		h.app = unbuilt
	}
	s, err := New(Config{Site: site, Accounts: h, Sessions: h, Start: h, Requests: h, App: h.app,
		Now: func() time.Time { return noon }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.Mount(mux)
	for path, f := range draw {
		mux.HandleFunc(path, f)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, base: base, site: s, client: &http.Client{Jar: jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// answer is what a browser got.
type answer struct {
	*page
	status int
	header http.Header
}

func (b *browser) do(r *http.Request) answer {
	b.t.Helper()
	res, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{parsePage(b.t, string(body)), res.StatusCode, res.Header}
}

func (b *browser) request(method, path, body string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequest(method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *browser) get(path string) answer {
	b.t.Helper()
	return b.do(b.request(http.MethodGet, path, ""))
}

// post sends a form as a browser does.
func (b *browser) post(path string, pairs ...string) answer {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	r := b.request(http.MethodPost, path, form.Encode())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.base)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

func (b *browser) signedIn() *browser {
	b.t.Helper()
	u, err := url.Parse(b.base)
	if err != nil {
		b.t.Fatal(err)
	}
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: "1", Path: "/"}})
	return b
}

func (a answer) wants(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d; page:\n%s", a.status, status, a.text)
	}
	return a
}

func (a answer) leadsTo(path string) {
	a.t.Helper()
	a.wants(http.StatusSeeOther)
	if got := a.header.Get("Location"); got != path {
		a.t.Errorf("leads to %q, want %q", got, path)
	}
}
