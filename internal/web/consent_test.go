package web

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/oauth"
)

// request is a consent page as package oauth asks for it, for a person in three
// workspaces.
func request() oauth.ConsentPage {
	return oauth.ConsentPage{
		RequestID: "R1", FormToken: "form token", Person: mara, ClientName: "Claude", Registered: noon.Add(-2 * time.Minute),
		Destination: oauth.Destination{Host: "claude.ai", Source: "https://claude.ai"}, Idle: 90 * 24 * time.Hour, Expires: noon.Add(8 * time.Minute),
		Scopes: []oauth.ScopeChoice{{Scope: "osfoundry:read", Fixed: true, Ticked: true}, {Scope: "osfoundry:write", Ticked: true}, {Scope: "osfoundry:run", Ticked: true}},
		Workspaces: []oauth.WorkspaceChoice{
			{ID: "w1", Name: "Atlas Foods", Role: access.RoleOwner, Possible: true},
			{ID: "w2", Name: "Atlas Lab", Role: access.RoleEditor, Possible: true},
			{ID: "w3", Name: "Board", Role: access.RoleViewer},
		},
	}
}

// drawn is the consent page of p.
func drawn(t *testing.T, p oauth.ConsentPage) answer {
	t.Helper()
	var b *browser
	b = serve(t, &house{}, map[string]http.HandlerFunc{"/draw": func(w http.ResponseWriter, r *http.Request) { b.site.Consent(w, r, p) }})
	return b.get("/draw")
}

func TestConsentSaysWhoWhatWhereAndForWhom(t *testing.T) {
	p := drawn(t, request()).wants(http.StatusOK)
	p.says("title", "Connect Claude to osFoundry · osFoundry")
	p.says("h1", "Claude asks to connect")
	p.mentions("You are signed in as mara@atlas.example.", "What Claude may do", "What it may not do",
		"The name “Claude” was given by the assistant itself. osFoundry did not check it. Go on only if you started this from claude.ai a moment ago.",
		"by itself, 2 minutes ago", "Until it is revoked, or 90 days without use; 1 year at most", "This page can be used until 12:08 UTC.")
	p.says("dd.host code", "claude.ai")
	if got := attribute(p.all("a")[0], "href"); got != "/sign-out?next=%2Fexternal-assistant-authorize%3Frequest%3DR1" {
		t.Errorf("“Not you?” leads to %q", got)
	}
	if n := len(p.all(".may.not li")); n < 3 || n > 6 {
		t.Errorf("%d lines say what it may not do, want 3 to 6", n)
	}
}

func TestConsentSaysWhatEachScopeMeans(t *testing.T) {
	r := request()
	r.Scopes = append(r.Scopes, oauth.ScopeChoice{Scope: "osfoundry:models"})
	p := drawn(t, r)
	boxes := p.all(".may label")
	if len(boxes) != 3 {
		t.Fatalf("%d scopes can be unticked, want 3", len(boxes))
	}
	if got := textOf(boxes[0]); got != "Write notes, records and messages there" {
		t.Errorf("write reads %q", got)
	}
	if got := textOf(boxes[1]); got != "Run sessions where you grant a runner role" {
		t.Errorf("run reads %q", got)
	}
	p.count("input[type=hidden][name=scope][value=osfoundry:read]", 1)
	p.count("input[type=checkbox][name=scope][checked]", 2)
	p.count("input[type=checkbox][name=scope][value=osfoundry:models]", 1)
	for _, n := range p.all("body *") { // codes stand in the fold only
		if text := textOf(n); n.Data == "span" && strings.Contains(text, "osfoundry:") {
			t.Errorf("a scope's code is shown: %q", text)
		}
	}
	p.mentions("Technical details")
	p.count("details code", 4)
}

func TestTheConsentFormHasItsStableFields(t *testing.T) {
	p := drawn(t, request())
	form := "form[method=post][action=/external-assistant-authorize] "
	p.count(form+"input[type=hidden][name=request][value=R1]", 1)
	p.one(form + "input[type=hidden][name=" + oauth.FormTokenField + "]")
	p.value(oauth.FormTokenField, "form token")
	for _, id := range []string{"w1", "w2"} {
		p.count(form+"input[type=radio][name=workspace_id][value="+id+"]", 1)
		p.count(form+"input[type=checkbox][name=approve][value="+id+"]", 1)
	}
	p.count("input[name=workspace_id]", 2)
	p.count("input[name=approve]", 2)
	p.count("input[checked][name=workspace_id]", 0)
	p.count("input[checked][name=approve]", 0)
	p.count("input[name=replace]", 0)
	p.mentions("I approve connecting this assistant to Atlas Foods", "I approve connecting this assistant to Atlas Lab", "You are a viewer here. Ask an owner.")
	buttons := p.all(form + "button[name=decision]")
	if len(buttons) != 2 || attribute(buttons[0], "value") != "cancel" || attribute(buttons[1], "value") != "connect" || textOf(buttons[1]) != "Connect Claude" {
		t.Errorf("the buttons are not Cancel and Connect Claude:\n%s", p.text)
	}
}

func TestConsentShowsWhatWasChosen(t *testing.T) {
	r := request()
	r.Workspaces[1].Chosen, r.Workspaces[1].Ticked = true, true
	r.Scopes[2].Ticked = false
	r.Error = oauth.NotApproved
	p := drawn(t, r).wants(http.StatusUnprocessableEntity)
	p.count("input[name=workspace_id][value=w2][checked]", 1)
	p.count("input[name=approve][value=w2][checked]", 1)
	p.count("input[name=workspace_id][checked]", 1)
	p.count("input[name=scope][value=osfoundry:run][checked]", 0)
	p.says("#error[role=alert][tabindex=-1][autofocus]", "Nothing was connected yet. Tick the approval in the workspace that you chose.")
	if got := attribute(p.all("input[name=workspace_id]")[0], "aria-describedby"); got != "error workspace-help" {
		t.Errorf("the radios are described by %q", got)
	}
}

func TestEachMistakeHasItsWords(t *testing.T) {
	seen := map[string]bool{}
	for _, mistake := range []oauth.Mistake{oauth.NoWorkspace, oauth.ManyWorkspaces, oauth.ForeignWorkspace, oauth.NotApproved, oauth.NoDecision} {
		r := request()
		r.Error = mistake
		text := textOf(drawn(t, r).wants(http.StatusUnprocessableEntity).one("#error"))
		if seen[text] || strings.Contains(text, "consent.") {
			t.Errorf("%s reads %q", mistake, text)
		}
		seen[text] = true
	}
}

func TestConsentWarnsWhereTheWayBackIsThisDevice(t *testing.T) {
	r := request()
	r.Destination = oauth.Destination{Host: "localhost:53682", Loopback: true, Source: "http://localhost:53682"}
	p := drawn(t, r)
	p.says("dd.host", "this computer localhost:53682")
	p.mentions("This leads to a program on this computer.", "Never copy the address of the next page anywhere")
	r.Destination = oauth.Destination{Host: "cursor://anysphere.cursor-mcp", App: true, Source: "cursor:"}
	p = drawn(t, r)
	p.says("dd.host", "an app on this device cursor://anysphere.cursor-mcp")
	if strings.Contains(p.text, "This leads to a program on this computer") {
		t.Error("an app's own scheme is called a program on this computer")
	}
}

func TestConsentNamesTheHostOfADocument(t *testing.T) {
	r := request()
	r.ClientHost = "chatgpt.com"
	p := drawn(t, r)
	hosts := p.all("dd.host code")
	if len(hosts) != 2 || textOf(hosts[1]) != "chatgpt.com" {
		t.Errorf("the document's host is not shown:\n%s", p.text)
	}
	p.mentions("by its own document at chatgpt.com")
}

func TestConnectingAgainIsSaidAndReplacesOnlyIfTicked(t *testing.T) {
	r := request()
	r.Workspaces[0].Earlier = &oauth.Earlier{WorkspaceID: "w1", Name: "Claude", CreatedAt: noon.Add(-18 * 24 * time.Hour)}
	p := drawn(t, r)
	p.mentions("Claude is already connected here since 12 Nov 2026.")
	p.count("input[type=checkbox][name=replace][value=yes]", 1)
	p.count("input[name=replace][checked]", 0)
	r.Replace = true
	drawn(t, r).count("input[name=replace][checked]", 1)
}

func TestAPersonWhoMayConnectNowhereCanOnlyCancel(t *testing.T) {
	r := request()
	for i := range r.Workspaces {
		r.Workspaces[i].Possible, r.Workspaces[i].Role = false, access.RoleViewer
	}
	p := drawn(t, r).wants(http.StatusOK)
	p.mentions("You can’t connect an assistant to any workspace here. Ask an owner.")
	p.count("input[name=workspace_id]", 0)
	p.count("button[value=connect]", 0)
	p.count("button[value=cancel]", 1)
	r.Workspaces = nil
	drawn(t, r).mentions("You can’t connect an assistant to any workspace here. Ask an owner.")
}

func TestNamesFromOutsideAreText(t *testing.T) {
	for _, name := range []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "{{.FormToken}}", "Cl\u202eedua", "zero\u200bwidth\u2066\u2069",
		"new\nline\tand\x00control", strings.Repeat("long ", 2048), "javascript:alert(1)", "\xff\xfe", "", "\u202e\u202e", "{client}",
	} {
		r := request()
		r.ClientName = name
		r.Workspaces[0].Name = name
		r.Workspaces[0].Earlier = &oauth.Earlier{Name: name}
		r.Person.UserEmail = name
		p := drawn(t, r).wants(http.StatusOK)
		harmless(t, p)
		if strings.ContainsAny(p.text, "\u202e\u200b\u2066\u2069\x00") {
			t.Errorf("name %q: hidden characters are on the page", name)
		}
		if n := len([]rune(textOf(p.one("h1")))); n > displayLimit+len(" asks to connect")+1 {
			t.Errorf("name of %d bytes: the heading has %d characters", len(name), n)
		}
		p.count("form", 1)
		p.value(oauth.FormTokenField, "form token")
	}
}

// harmless wants a page without anything that runs, or comes from elsewhere.
func harmless(t *testing.T, p answer) {
	t.Helper()
	p.count("script", 0)
	p.count("iframe", 0)
	p.count("object", 0)
	p.count("style", 0)
	p.count("base", 0)
	for _, n := range p.all("body *") {
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" && !strings.HasPrefix(a.Val, "/assets/") {
				t.Errorf("<%s %s=%q> on the page", n.Data, a.Key, a.Val)
			}
			if (a.Key == "href" || a.Key == "action") && strings.HasPrefix(strings.ToLower(strings.TrimSpace(a.Val)), "javascript:") {
				t.Errorf("<%s %s=%q> on the page", n.Data, a.Key, a.Val)
			}
		}
	}
}

func TestTakingYouBackLeadsThereTwice(t *testing.T) {
	for _, to := range []string{
		"https://claude.ai/cb?code=osf_ac_1&state=a%22%3E%3Cb%27;x&iss=https%3A%2F%2Fx.example", "http://127.0.0.1:4711/callback?code=1&state=%3Cscript%3E",
		"http://[::1]:4711/cb?code=1", "cursor://anysphere.cursor-mcp/oauth/cb?code=1", "com.example.app:/cb?code=1",
	} {
		page := oauth.BackPage{To: to, Destination: oauth.Destination{Host: "claude.ai"}, ClientName: "Claude", Connected: true, WorkspaceName: "Atlas Foods"}
		var b *browser
		b = serve(t, &house{}, map[string]http.HandlerFunc{"/draw": func(w http.ResponseWriter, r *http.Request) { b.site.TakingYouBack(w, r, page) }})
		p := b.get("/draw").wants(http.StatusOK)
		harmless(t, p)
		if got := attribute(p.one("meta[http-equiv=refresh]"), "content"); got != "0;url="+to {
			t.Errorf("refreshes to %q, want %q", got, "0;url="+to)
		}
		if got := attribute(p.one("a#continue"), "href"); got != to {
			t.Errorf("continues to %q, want %q", got, to)
		}
		p.says("title", "Taking you back · osFoundry")
		p.says("h1", "Claude is connected to Atlas Foods")
		p.mentions("Taking you back to claude.ai…", "It can see nothing until you add it to a project.")
		page.Connected = false
		p = b.get("/draw").wants(http.StatusOK)
		p.says("h1", "Claude was not connected")
		p.one("a#continue")
	}
}

func TestNoPageLeadsToASchemeThatRuns(t *testing.T) {
	for _, to := range []string{"javascript:alert(1)", "JavaScript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "/relative", ""} {
		var b *browser
		b = serve(t, &house{}, map[string]http.HandlerFunc{
			"/back": func(w http.ResponseWriter, r *http.Request) { b.site.TakingYouBack(w, r, oauth.BackPage{To: to}) },
			"/refused": func(w http.ResponseWriter, r *http.Request) {
				b.site.Refused(w, r, oauth.RefusedPage{Status: 400, Reason: oauth.BadRequest, Back: to})
			},
		})
		b.get("/back").wants(http.StatusInternalServerError).count("meta[http-equiv=refresh]", 0)
		b.get("/refused").wants(http.StatusBadRequest).count("a", 0)
	}
}

func TestARefusedRequestHasNoFormAndNoWayOn(t *testing.T) {
	titles := map[string]bool{}
	for _, reason := range []oauth.Reason{
		oauth.UnknownClient, oauth.BadDocument, oauth.BadRedirect, oauth.BadRequest, oauth.TooOld, oauth.AlreadyDecided, oauth.OtherBrowser,
		oauth.FormTooOld, oauth.ForeignOrigin, oauth.TooManyRequests, oauth.TryAgain, oauth.SomethingIsWrong,
	} {
		page := oauth.RefusedPage{Status: http.StatusBadRequest, Reason: reason, ClientName: "<b>Claude", Detail: "state <is> too long"}
		var b *browser
		b = serve(t, &house{}, map[string]http.HandlerFunc{"/draw": func(w http.ResponseWriter, r *http.Request) { b.site.Refused(w, r, page) }})
		p := b.get("/draw").wants(http.StatusBadRequest)
		harmless(t, p)
		p.count("form", 0)
		p.count("a", 0)
		p.count("meta[http-equiv=refresh]", 0)
		p.says("details p", "state <is> too long")
		title := textOf(p.one("h1"))
		if titles[title] || strings.Contains(p.text, "refused.") {
			t.Errorf("%s has the title %q", reason, title)
		}
		titles[title] = true

		page.Back, page.Destination = "https://claude.ai/cb?error=invalid_request", oauth.Destination{Host: "claude.ai"}
		p = b.get("/draw")
		p.says("a[href="+page.Back+"]", "Tell <b>Claude and go back")
		p.mentions("This leads to claude.ai.")
		p.count("meta[http-equiv=refresh]", 0)
		p.count("#continue", 0) // that ID is for the way on after a decision
	}
}

func TestAnUnavailableConsentSaysWhenToTryAgain(t *testing.T) {
	var b *browser
	b = serve(t, &house{}, map[string]http.HandlerFunc{"/draw": func(w http.ResponseWriter, r *http.Request) {
		b.site.Refused(w, r, oauth.RefusedPage{Status: http.StatusServiceUnavailable, Reason: oauth.TryAgain})
	}})
	if got := b.get("/draw").wants(http.StatusServiceUnavailable).header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After %q, want 1", got)
	}
}
