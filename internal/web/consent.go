package web

import (
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/oauth"
)

// scopeTexts word the scopes for people, in verbs.
var scopeTexts = map[string]string{
	access.ScopeRead.String(): "scope.read", access.ScopeWrite.String(): "scope.write",
	access.ScopeRun.String(): "scope.run", access.ScopeModels.String(): "scope.models",
}

// mayNot is what no connection may do, whatever its scopes.
var mayNot = []string{"consent.may_not.see", "consent.may_not.join", "consent.may_not.decide", "consent.may_not.delete"}

// consentPage is what the template shows. Texts from outside are cut to what
// can be shown; IDs and tokens are as they came.
type consentPage struct {
	Client, FullName     string
	ShortName            string // for buttons and headings
	Email                string
	NotYou               string
	Refused              template.HTML
	TokenField           string
	FormToken, RequestID string
	Scopes               []scopeRow
	Untickable           bool // one of the scopes can be unticked
	MayNot               []template.HTML
	Destination          oauth.Destination
	ClientHost           string
	Registered           template.HTML
	IdleDays             int
	PlainWarning         bool // the way back has no host that a person could have come from
	Workspaces           []workspaceRow
	OneWorkspace         bool
	Impossible           bool
	AnyEarlier, Replace  bool
	Until                string
}

type scopeRow struct {
	Scope         string
	Text          template.HTML
	Fixed, Ticked bool
}

type workspaceRow struct {
	ID, Name                 string
	Role, Earlier            template.HTML
	Possible, Chosen, Ticked bool
}

// Consent implements oauth.Pages: who asks, what for, where it leads, which
// workspace, and two buttons of one size (MCP, "Security Best Practices",
// Consent UI requirements).
func (s *Site) Consent(w http.ResponseWriter, r *http.Request, p oauth.ConsentPage) {
	c := s.texts(r)
	page := consentPage{
		Client: display(p.ClientName), FullName: displayUpTo(p.ClientName, 1000), ShortName: displayUpTo(p.ClientName, 32), Email: display(p.Person.UserEmail),
		NotYou:     "/sign-out?" + url.Values{"next": {oauth.PathConsent + "?" + url.Values{oauth.FieldRequest: {p.RequestID}}.Encode()}}.Encode(),
		TokenField: oauth.FormTokenField, FormToken: p.FormToken, RequestID: p.RequestID,
		Destination: p.Destination, ClientHost: p.ClientHost, PlainWarning: p.Destination.Loopback || p.Destination.App,
		IdleDays: int(p.Idle / (24 * time.Hour)), Replace: p.Replace, Until: p.Expires.UTC().Format("15:04"),
	}
	page.Registered = c.say("consent.registered.itself", "when", c.ago(p.Registered, s.Now()))
	if p.ClientHost != "" {
		page.Registered = c.say("consent.registered.document", "host", p.ClientHost)
	}
	for _, scope := range p.Scopes {
		page.Scopes = append(page.Scopes, scopeRow{scope.Scope, c.say(scopeTexts[scope.Scope]), scope.Fixed, scope.Ticked})
		page.Untickable = page.Untickable || !scope.Fixed
	}
	for _, key := range mayNot {
		page.MayNot = append(page.MayNot, c.say(key))
	}
	page.offer(c, p.Workspaces)
	status := http.StatusOK
	if p.Error != "" {
		status, page.Refused = http.StatusUnprocessableEntity, c.say("consent."+string(p.Error))
	}
	s.showWithForm(w, r, status, "consent", page, sourceOf(p.Destination.Source))
}

// offer lists the workspaces. None is chosen here that package oauth did not
// choose.
func (p *consentPage) offer(c *catalogue, choices []oauth.WorkspaceChoice) {
	possible := 0
	for _, w := range choices {
		row := workspaceRow{ID: w.ID, Name: display(w.Name), Role: c.say("role." + string(w.Role)), Possible: w.Possible, Chosen: w.Chosen, Ticked: w.Ticked}
		if w.Earlier != nil && w.Possible {
			row.Earlier = c.say("consent.earlier", "client", template.HTML("<bdi>"+asHTML(displayUpTo(w.Earlier.Name, 32))+"</bdi>"), "date", c.date(w.Earlier.CreatedAt))
			p.AnyEarlier = true
		}
		if w.Possible {
			possible++
		}
		p.Workspaces = append(p.Workspaces, row)
	}
	p.OneWorkspace, p.Impossible = possible == 1, possible == 0
}

// TakingYouBack implements oauth.Pages: a page of its own between the form and
// the assistant, so that form-action can stay strict and the person sees what
// happened. Browsers hold form-action against redirects of the answer, but not
// against a refresh or a link of the page.
func (s *Site) TakingYouBack(w http.ResponseWriter, r *http.Request, p oauth.BackPage) {
	if runsInPage(p.To) {
		s.Log.ErrorContext(r.Context(), "redirect of a kind that no client can have")
		s.errorPage(w, r, http.StatusInternalServerError)
		return
	}
	s.show(w, r, http.StatusOK, "back", map[string]any{
		"Client": display(p.ClientName), "Workspace": display(p.WorkspaceName), "Connected": p.Connected,
		"Host": p.Destination.Host, "App": p.Destination.App,
		"Refresh": "0;url=" + p.To, "To": template.URL(p.To),
	})
}

// Refused implements oauth.Pages. Where nobody knows the client or the redirect
// is not its own, there is no way on from the page (RFC 9700 §4.1.3).
func (s *Site) Refused(w http.ResponseWriter, r *http.Request, p oauth.RefusedPage) {
	c := s.texts(r)
	key := "refused." + string(p.Reason)
	if _, ok := c.texts[key]; !ok {
		key = "refused." + string(oauth.SomethingIsWrong)
	}
	back := template.URL("")
	if p.Back != "" && !runsInPage(p.Back) {
		back = template.URL(p.Back)
	}
	if p.Status == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	s.show(w, r, p.Status, "refused", map[string]any{
		"Title": c.say(key + ".title"), "Text": c.say(key), "Detail": displayUpTo(p.Detail, 500),
		"Client": display(p.ClientName), "Back": back, "Host": p.Destination.Host,
	})
}
