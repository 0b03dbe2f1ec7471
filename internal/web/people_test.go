package web

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

func faulty(field, message string) error {
	return access.Refuse(access.InvalidArguments, "no").With("errors", []workspace.Fault{{Pointer: "/" + field, Message: message}})
}

func TestSetupMakesTheOwnerAndSignsThemIn(t *testing.T) {
	h := &house{needsSetup: true}
	b := serve(t, h, nil)
	b.get("/").leadsTo("/setup")
	b.get("/sign-in").leadsTo("/setup")

	p := b.get("/setup?secret=osf_set_x").wants(http.StatusOK)
	p.says("h1", "Set up osFoundry")
	p.value("secret", "osf_set_x")
	for _, name := range []string{"secret", "name", "email", "password", "workspace"} {
		p.count("form[method=post][action=/setup] input[name="+name+"]", 1)
		p.count("label[for="+name+"]", 1)
	}
	p.count("input[name=password][autocomplete=new-password]", 1)
	p.count("input[name=email][autocomplete=username]", 1)

	b.post("/setup", "secret", " osf_set_x ", "name", "Mara", "email", "m@a.example", "password", goodPassword, "workspace", "Atlas").leadsTo("/")
	want := workspace.Setup{Secret: "osf_set_x", Name: "Mara", Email: "m@a.example", Password: goodPassword, Workspace: "Atlas",
		Address: "127.0.0.1", UserAgent: "Go-http-client/1.1"}
	if h.setUp != want {
		t.Errorf("asked for %+v, want %+v", h.setUp, want)
	}
	b.get("/").wants(http.StatusOK).says("h1", "Hello, Mara Ruiz")
}

func TestSetupIsGoneOnceThereIsAnOwner(t *testing.T) {
	b := serve(t, &house{}, nil)
	b.get("/setup").wants(http.StatusNotFound)
	b.post("/setup", "secret", "x", "name", "M", "email", "m@a.example", "password", goodPassword, "workspace", "A").wants(http.StatusNotFound)
}

func TestARefusedSetupKeepsWhatWasTypedButNeverThePassword(t *testing.T) {
	typed := []string{"secret", "osf_set_x", "name", "Mara <b>", "email", "m@a.example", "password", goodPassword, "workspace", "Atlas"}
	for name, c := range map[string]struct {
		err    error
		status int
		alert  string
		field  string // that is marked
	}{
		"a field":      {faulty("email", "must be an e-mail address"), 422, "Email must be an e-mail address.", "email"},
		"the code":     {access.Refuse(access.Forbidden, "no").With("errors", []workspace.Fault{{Pointer: "/secret", Message: "is wrong"}}), 403, "The setup code is wrong.", "secret"},
		"too many":     {access.Refuse(access.RateLimited, "no").With("retry_after_ms", int64(299_001)), 429, "Wait 5 minutes", ""},
		"no detail":    {access.Refuse(access.InvalidArguments, "no"), 422, "This could not be saved yet.", ""},
		"the database": {access.Refuse(access.Unavailable, "no"), 503, "", ""},
		"a fault":      {http.ErrHandlerTimeout, 500, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := serve(t, &house{needsSetup: true, err: c.err}, nil).post("/setup", typed...).wants(c.status)
			if strings.Contains(p.text, goodPassword) {
				t.Error("the password is on the page")
			}
			if c.status >= 500 {
				p.count("form", 0)
				return
			}
			p.value("name", "Mara <b>")
			p.value("email", "m@a.example")
			p.value("workspace", "Atlas")
			p.value("password", "")
			if got := textOf(p.one("#error[role=alert][tabindex=-1][autofocus]")); !strings.Contains(got, c.alert) {
				t.Errorf("the alert says %q, want %q in it", got, c.alert)
			}
			if c.field != "" {
				p.count("input[aria-invalid=true]", 1)
				p.count("#error a[href=#"+c.field+"]", 1)
				p.count("#"+c.field+"-error", 1)
			}
		})
	}
}

func TestEmptyFieldsAreNamedBeforeAnybodyIsAsked(t *testing.T) {
	h := &house{needsSetup: true}
	p := serve(t, h, nil).post("/setup", "secret", "s", "name", "  ", "email", "m@a.example", "workspace", "Atlas").wants(http.StatusUnprocessableEntity)
	p.count("input[aria-invalid=true]", 2)
	p.says("#name-error", "Your name is missing.")
	p.says("#password-error", "Password is missing.")
	if h.setUp != (workspace.Setup{}) {
		t.Errorf("the accounts were asked for %+v", h.setUp)
	}
}

func TestWaitingIsSaidInTheHeaderToo(t *testing.T) {
	err := access.Refuse(access.RateLimited, "no").With("retry_after_ms", int64(61_500))
	p := serve(t, &house{err: err}, nil).post("/sign-in", "email", "m@a.example", "password", "x").wants(http.StatusTooManyRequests)
	if got := p.header.Get("Retry-After"); got != "62" {
		t.Errorf("Retry-After %q, want 62", got)
	}
	p.says("#error", "Too many tries. Wait 2 minutes.")
	p = serve(t, &house{sessionErr: access.Refuse(access.Unavailable, "no")}, nil).get("/").wants(http.StatusServiceUnavailable)
	if p.header.Get("Retry-After") == "" {
		t.Error("503 without Retry-After")
	}
}

func TestSignInHasOneTextForBothMistakes(t *testing.T) {
	h := &house{err: access.Refuse(access.Unauthenticated, "no")}
	p := serve(t, h, nil).post("/sign-in", "email", "m@a.example", "password", goodPassword, "keep", "yes", "next", "/x?y=1").wants(http.StatusUnprocessableEntity)
	p.says("#error", "Email or password is wrong.")
	p.value("email", "m@a.example")
	p.value("password", "")
	p.value("next", "/x?y=1")
	p.count("input[name=keep][checked]", 1)
	p.count("input[aria-invalid]", 0)
}

func TestSignInPassesOnWhatWasTyped(t *testing.T) {
	h := &house{}
	serve(t, h, nil).post("/sign-in", "email", "m@a.example", "password", goodPassword, "keep", "yes").leadsTo("/")
	want := workspace.SignIn{Email: "m@a.example", Password: goodPassword, Keep: true, Address: "127.0.0.1", UserAgent: "Go-http-client/1.1"}
	if h.signIn != want {
		t.Errorf("asked for %+v, want %+v", h.signIn, want)
	}
}

func TestSignInLeadsOnlyToPathsOfThisServer(t *testing.T) {
	consent := "/external-assistant-authorize?request=R%2B1"
	for next, want := range map[string]string{
		"": "/", "/": "/", consent: consent, "///evil.example": "/", "////evil.example": "/", "/a/b?c=d#e": "/a/b?c=d#e",
		"https://evil.example/": "/", "//evil.example": "/", `/\evil.example`: "/", `/x\..\..//evil.example`: "/",
		"/\t/evil.example": "/", "/\n/evil.example": "/", "\t//evil.example": "/", " /x": "/", "javascript:alert(1)": "/",
		"evil.example": "/", "/" + strings.Repeat("x", maxNext): "/", "/%zz": "/", "/\x7f": "/",
	} {
		b := serve(t, &house{}, nil)
		b.post("/sign-in", "email", "m@a.example", "password", "x", "next", next).leadsTo(want)
		b.signedIn().get("/sign-in?" + url.Values{"next": {next}}.Encode()).leadsTo(want)
		out := want
		if want == "/" {
			out = "/sign-in?signed-out="
		} else {
			out = "/sign-in?" + url.Values{"next": {want}, "signed-out": {""}}.Encode()
		}
		b.post("/sign-out", "next", next, oauth.FormTokenField, "token for "+signOutPurpose).leadsTo(out)
	}
}

func TestSignInSaysForWhomItIs(t *testing.T) {
	h := &house{asking: &oauth.ConsentPage{RequestID: "R1", ClientName: "Claude", Destination: oauth.Destination{Host: "claude.ai"}}}
	b := serve(t, h, nil)
	p := b.get("/sign-in?next=" + url.QueryEscape(oauth.PathConsent+"?request=R1")).wants(http.StatusOK)
	p.says("h1", "Sign in to connect Claude")
	p.says("title", "Sign in to connect Claude · osFoundry")
	p.says(".lead code", "claude.ai")
	for _, next := range []string{"/", oauth.PathConsent + "?request=R2", oauth.PathConsent + "?%zz", "/other?request=R1"} {
		b.get("/sign-in?next="+url.QueryEscape(next)).wants(http.StatusOK).says("h1", "Sign in")
	}
}

func TestSigningOutTakesAFormOfThisSession(t *testing.T) {
	b := serve(t, &house{}, nil).signedIn()
	p := b.get("/sign-out?next=/x").wants(http.StatusOK)
	p.mentions("mara@atlas.example")
	p.value("next", "/x")
	p.count("a[href=/x]", 1) // to stay
	b.post("/sign-out", "next", "/x").wants(http.StatusForbidden)
	b.post("/sign-out", oauth.FormTokenField, "token for something else").wants(http.StatusForbidden)
	b.get("/").wants(http.StatusOK)
	b.post("/sign-out", oauth.FormTokenField, attribute(p.one("input[name="+oauth.FormTokenField+"]"), "value")).leadsTo("/sign-in?signed-out=")
	b.get("/").leadsTo("/sign-in")
	b.get("/sign-in?signed-out=").wants(http.StatusOK).says("[role=status]", "You are signed out.")
	b.get("/sign-out").leadsTo("/sign-in")
}

func TestAnInvitationChoosesAPassword(t *testing.T) {
	h := &house{invitation: workspace.Invitation{User: workspace.User{Email: "jonas@atlas.example"}, Workspace: workspace.Named{Name: "Atlas"}}}
	b := serve(t, h, nil)
	p := b.get("/invitation?token=osf_inv_x").wants(http.StatusOK)
	p.mentions("You were invited to Atlas.")
	p.count("form[action=/invitation?token=osf_inv_x] input[name=password]", 1)
	p.count("input[autocomplete=username][value=jonas@atlas.example][readonly]", 1)

	h.err = faulty("password", "must have at least 12 characters")
	p = b.post("/invitation?token=osf_inv_x", "password", "short").wants(http.StatusUnprocessableEntity)
	p.says("#password-error", "Password must have at least 12 characters and at most 256.")
	b.post("/invitation?token=osf_inv_x", "password", "").wants(http.StatusUnprocessableEntity).says("#password-error", "Password is missing.")

	h.err = nil
	b.post("/invitation?token=osf_inv_x", "password", goodPassword).leadsTo("/")
	if h.accepted != "osf_inv_x" {
		t.Errorf("accepted %q, want osf_inv_x", h.accepted)
	}
	h.invitation = workspace.Invitation{}
	b.get("/invitation?token=osf_inv_x").wants(http.StatusNotFound).says("h1", "This invitation can’t be used")
	h.err = access.Refuse(access.NotFound, "used")
	b.post("/invitation?token=osf_inv_x", "password", goodPassword).wants(http.StatusNotFound).says("h1", "This invitation can’t be used")
}

func TestTheStartPageShowsWhoIsConnected(t *testing.T) {
	h := &house{places: []Place{
		{Name: "Atlas <Foods>", Role: access.RoleOwner, Connections: []workspace.Connection{
			{Name: "Claude", RedirectHost: "claude.ai", Approver: workspace.Named{Name: "Mara Ruiz"}, Status: workspace.StatusActive,
				CreatedAt: noon.Add(-48 * time.Hour), LastUsedAt: noon, Projects: []workspace.Named{{ID: "p", Name: "Launch"}}},
			{Name: "Codex\u202e", RedirectHost: "127.0.0.1:43121", Status: workspace.StatusPaused, CreatedAt: noon},
			{Name: "Old", Status: workspace.StatusRevoked, CreatedAt: noon},
		}},
		{Name: "Board", Role: access.RoleViewer},
	}}
	p := serve(t, h, nil).signedIn().get("/").wants(http.StatusOK)
	b := p.one("#mcp[readonly]")
	if got := attribute(b, "value"); !strings.HasPrefix(got, "http://127.0.0.1:") || !strings.HasSuffix(got, "/mcp") {
		t.Errorf("the address is %q", got)
	}
	p.count(".connections li", 3)
	p.count(".badge.out", 3)
	p.says(".badge.ok", "Active")
	p.says(".badge.warn", "Paused")
	p.says(".badge.bad", "Revoked")
	p.mentions("Atlas <Foods>", "Connected by Mara Ruiz, 28 Nov 2026. Last used 30 Nov 2026. In 1 project.", "Never used", "Codex Outside",
		"No assistant is connected here yet.", "Assistants in the cloud", "codex mcp add osfoundry --url "+attribute(b, "value"),
		"claude mcp add --transport http osfoundry "+attribute(b, "value"))
	for _, host := range []string{"Claude", "ChatGPT", "Codex CLI", "Claude Code"} {
		p.mentions(host)
	}
	p.count("a[href=/sign-out]", 1)
	serve(t, &house{}, nil).signedIn().get("/").mentions("You are in no workspace.")
	serve(t, &house{err: access.Refuse(access.Unavailable, "no")}, nil).signedIn().get("/").wants(http.StatusServiceUnavailable)
}

func TestAConnectionIsRevokedThroughTheOwnerAPI(t *testing.T) {
	place := Place{Name: "Atlas", Role: access.RoleEditor, Connections: []workspace.Connection{
		{ID: "c1", Name: "Claude", Status: workspace.StatusActive, Approver: workspace.Named{ID: mara.UserID}},
		{ID: "c2", Name: "Codex", Status: workspace.StatusPaused, Approver: workspace.Named{ID: "u2"}},
		{ID: "c3", Name: "Old", Status: workspace.StatusRevoked, Approver: workspace.Named{ID: mara.UserID}},
	}}
	h := &house{places: []Place{place}}
	b := serve(t, h, nil)
	b.get("/connections/c1/revoke").leadsTo("/sign-in?next=%2Fconnections%2Fc1%2Frevoke")
	b.signedIn().get("/").count(".more a", 0)
	b.get("/connections/c1/revoke").wants(http.StatusNotFound) // no owner API, no page

	var asked []string
	status, body := http.StatusOK, `{"id":"c1","name":"Claude","redirect_host":"claude.ai","status":"active"}`
	b.site.Owner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		_, err := r.Cookie("session")
		asked = append(asked, fmt.Sprintf("%s %s %s %s %v", r.Method, r.URL.Path, sent, r.Header.Get("Content-Type"), err == nil))
		if r.Method == http.MethodPatch && status != http.StatusOK {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			return
		}
		w.Write([]byte(body))
	})
	b.get("/").count(".more a[href=/connections/c1/revoke]", 1)
	b.get("/").count(".more a", 1) // not another person's, and not one that is revoked
	h.places[0].Role = access.RoleOwner
	b.get("/").count(".more a", 2)

	p := b.get("/connections/c1/revoke").wants(http.StatusOK)
	p.says("h1", "Revoke Claude?")
	token := attribute(p.one("form[action=/connections/c1/revoke] input[name="+oauth.FormTokenField+"]"), "value")
	asked = nil
	b.post("/connections/c1/revoke", oauth.FormTokenField, "token for "+revokePurpose("c2")).wants(http.StatusForbidden)
	if want := []string{"GET /api/v1/connections/c1   true"}; !slices.Equal(asked, want) {
		t.Errorf("a form of another connection asked for %q, want %q", asked, want)
	}
	asked = nil
	b.post("/connections/c1/revoke", oauth.FormTokenField, token).leadsTo("/connections#assistants")
	if want := []string{"GET /api/v1/connections/c1   true", `PATCH /api/v1/connections/c1 {"status":"revoked"} application/json true`}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	for status = range map[int]bool{403: true, 404: true, 503: true} {
		if a := b.post("/connections/c1/revoke", oauth.FormTokenField, token).wants(status); a.header.Get("Retry-After") != "7" {
			t.Errorf("status %d without the wait of the owner API", status)
		}
	}
	status = http.StatusConflict // somebody else was faster
	b.post("/connections/c1/revoke", oauth.FormTokenField, token).leadsTo("/connections#assistants")
	body = `{"id":"c1","status":"revoked"}`
	b.get("/connections/c1/revoke").leadsTo("/connections#assistants")
	body = `not JSON`
	b.get("/connections/c1/revoke").wants(http.StatusInternalServerError)
	b.site.Owner = http.RedirectHandler("/api/v1/", http.StatusTemporaryRedirect)
	b.get("/connections/%2e%2e/revoke").wants(http.StatusNotFound)
}
