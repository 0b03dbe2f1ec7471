package oauth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/osfoundry/osfoundry/internal/access"
)

// pending is an open request in the browser it belongs to, with what is needed
// to show and to decide it.
type pending struct {
	request  Request
	client   Client
	redirect redirect
	origin   string
	who      access.Principal
}

// consentPurpose binds the form to one request.
func consentPurpose(requestID string) string { return "oauth consent " + requestID }

// consent shows the request and takes the decision: a plain form that works
// without scripts (product.md §2). It is always asked, also for a client that
// the person approved before (OWASP ASVS 10.7.1).
func (s *Server) consent(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		s.showConsent(w, r)
	case http.MethodPost:
		s.takeConsent(w, r)
	default:
		s.methodNotAllowed(w, "GET, HEAD, POST")
	}
}

func (s *Server) showConsent(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("request")
	p, page := s.openPage(r, id)
	if page != nil {
		s.leave(w, r, id, *page)
		return
	}
	s.drawConsent(w, r, p, verdict{scopes: p.request.Scopes}, "")
}

// leave shows why there is nothing to decide, or the sign-in that comes first.
func (s *Server) leave(w http.ResponseWriter, r *http.Request, requestID string, page RefusedPage) {
	if page.Reason != needSignIn {
		s.refused(w, r, page)
		return
	}
	back := PathConsent + "?request=" + url.QueryEscape(requestID)
	seeOther(w, s.Site.Origin(r)+pathSignIn+"?next="+url.QueryEscape(back))
}

// needSignIn is not shown: it sends the person to the sign-in.
const needSignIn Reason = "need_sign_in"

// openPage is open, with its refusals as pages.
func (s *Server) openPage(r *http.Request, id string) (*pending, *RefusedPage) {
	p, err := s.open(r, id)
	if err == nil {
		return p, nil
	}
	if closed, ok := errors.AsType[*closedError](err); ok {
		return nil, &RefusedPage{Status: http.StatusBadRequest, Reason: closed.reason}
	}
	return nil, s.clientPage(r, err)
}

// closedError says why a request cannot be decided in this browser now.
type closedError struct{ reason Reason }

func (e *closedError) Error() string { return "the pending request is closed: " + string(e.reason) }

// open finds the pending request and checks it again from what is stored: the
// browser, its age, the client, the redirect.
func (s *Server) open(r *http.Request, id string) (*pending, error) {
	p := &pending{origin: s.Site.Origin(r)}
	who, signedIn, err := s.People.Browser(r)
	switch {
	case err != nil:
		return nil, err
	case id == "" || len(id) > 64 || !plainText(id):
		return nil, &closedError{TooOld}
	case !signedIn:
		return nil, &closedError{needSignIn}
	}
	p.who = who
	found := false
	err = s.Work.Read(r.Context(), func(tx access.Tx) (err error) {
		p.request, found, err = s.Store.Request(r.Context(), tx, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	held, holds := s.heldBrowser(r, p.origin)
	switch {
	case !found || !s.Now().Before(p.request.ExpiresAt):
		return nil, &closedError{TooOld}
	case !holds || held != p.request.Browser:
		return nil, &closedError{OtherBrowser}
	case !p.request.DecidedAt.IsZero():
		return nil, &closedError{AlreadyDecided}
	}
	return p, s.refind(r, p)
}

// refind reads the client as it is now, and compares the redirect once more
// (MCP, "Authorization Server": the check belongs to every step).
func (s *Server) refind(r *http.Request, p *pending) error {
	a := &asking{who: p.who, signedIn: true}
	if err := s.findClient(r, a, p.request.ClientID); err != nil {
		return err
	}
	to, ok := allowedRedirect(a.client.RedirectURIs, p.request.Redirect)
	if !ok {
		return &closedError{BadRedirect}
	}
	p.client, p.redirect = a.client, to
	return nil
}

// name is what the client is called where it has to have a name.
func (p *pending) name() string {
	if p.client.Name != "" {
		return p.client.Name
	}
	return "Unnamed assistant"
}

// clientHost is the host that answers for a document, "" for a registered client.
func (p *pending) clientHost() string {
	u, ok := documentAddress(p.client.ID)
	if p.client.Source != Document || !ok {
		return ""
	}
	return u.Host
}

// offered are the scopes that the page shows: those asked for, without the one
// that no workspace offers yet (product.md §2).
func offered(asked access.Scopes) access.Scopes {
	return (asked | access.ScopeRead) &^ access.ScopeModels
}

// drawConsent shows the page as the person left it.
func (s *Server) drawConsent(w http.ResponseWriter, r *http.Request, p *pending, v verdict, mistake Mistake) {
	choices, earlier, err := s.choices(r.Context(), p)
	if err != nil {
		s.pageOf(w, r, err)
		return
	}
	page := ConsentPage{
		RequestID: p.request.ID, FormToken: s.People.FormToken(r, consentPurpose(p.request.ID)), Person: p.who,
		ClientName: p.name(), ClientHost: p.clientHost(), Registered: p.client.CreatedAt, Destination: p.redirect.destination(),
		Replace: v.replace, Idle: s.Figures.RefreshLife, Expires: p.request.ExpiresAt, Error: mistake,
	}
	for _, name := range offered(p.request.Scopes).Names() {
		scope, _ := access.ParseScopes(name)
		page.Scopes = append(page.Scopes, ScopeChoice{Scope: name, Fixed: scope == access.ScopeRead, Ticked: (v.scopes | access.ScopeRead).Has(scope)})
	}
	page.Workspaces = rows(choices, earlier, v)
	s.Pages.Consent(w, r, page)
}

func (s *Server) choices(ctx context.Context, p *pending) (choices []Choice, earlier []Earlier, err error) {
	err = s.Work.Read(ctx, func(tx access.Tx) (err error) {
		if choices, err = s.Store.Choices(ctx, tx, p.who.UserID); err != nil {
			return err
		}
		earlier, err = s.Store.Earlier(ctx, tx, p.client.ID, p.who.UserID)
		return err
	})
	return choices, earlier, err
}

// rows are the workspaces to choose from. With only one possible it is chosen;
// the approval is never ticked beforehand.
func rows(choices []Choice, earlier []Earlier, v verdict) []WorkspaceChoice {
	possible := 0
	list := make([]WorkspaceChoice, len(choices))
	for i, c := range choices {
		list[i] = WorkspaceChoice{ID: c.ID, Name: c.Name, Role: c.Role, Possible: c.Role.MayEdit(),
			Chosen: slices.Contains(v.workspaces, c.ID), Ticked: slices.Contains(v.approvals, c.ID)}
		if list[i].Possible {
			possible++
		}
		if j := slices.IndexFunc(earlier, func(e Earlier) bool { return e.WorkspaceID == c.ID }); j >= 0 {
			list[i].Earlier = &earlier[j]
		}
	}
	for i := range list {
		if possible == 1 && list[i].Possible && len(v.workspaces) == 0 {
			list[i].Chosen = true
		}
	}
	return list
}

// verdict is what the person decided.
type verdict struct {
	approve    bool
	workspaces []string // exactly one
	approvals  []string // the same one
	scopes     access.Scopes
	replace    bool
}

// consentFields are all fields that the form has; more would be somebody's
// attempt to change the request.
var consentFields = []string{FieldRequest, FieldWorkspace, FieldApprove, FieldScope, FieldReplace, FieldDecision, FormTokenField}

// takeConsent takes the posted form.
func (s *Server) takeConsent(w http.ResponseWriter, r *http.Request) {
	if !s.fromOwnPage(r) {
		s.refused(w, r, RefusedPage{Status: http.StatusForbidden, Reason: ForeignOrigin})
		return
	}
	asked := r.URL.Query()
	r.URL.RawQuery = "" // a form without action comes back with the page's query
	form, err := readForm(r, FieldWorkspace, FieldApprove, FieldScope)
	if err == nil {
		err = judgeFields(form, asked)
	}
	if err != nil {
		e := refusalOf(err)
		s.refused(w, r, RefusedPage{Status: e.status, Reason: BadRequest, Detail: e.description})
		return
	}
	id := form.Get(FieldRequest)
	p, page := s.openPage(r, id)
	if page != nil {
		s.leave(w, r, id, *page)
		return
	}
	r.PostForm, r.Form = form, form
	if !s.People.CheckForm(r, consentPurpose(id)) {
		s.refused(w, r, RefusedPage{Status: http.StatusBadRequest, Reason: FormTooOld, ClientName: p.client.Name})
		return
	}
	v, mistake, err := readVerdict(form, p.request.Scopes)
	if err != nil {
		e := refusalOf(err)
		s.refused(w, r, RefusedPage{Status: e.status, Reason: BadRequest, Detail: e.description})
		return
	}
	if mistake != "" {
		s.drawConsent(w, r, p, v, mistake)
		return
	}
	back, err := s.decide(r, p, v)
	s.afterDecision(w, r, p, v, back, err)
}

func (s *Server) afterDecision(w http.ResponseWriter, r *http.Request, p *pending, v verdict, back BackPage, err error) {
	if closed, ok := errors.AsType[*closedError](err); ok {
		s.refused(w, r, RefusedPage{Status: http.StatusBadRequest, Reason: closed.reason, ClientName: p.client.Name})
		return
	}
	switch access.CodeOf(err) {
	case "":
		s.Pages.TakingYouBack(w, r, back)
	case access.NotFound, access.Forbidden:
		s.drawConsent(w, r, p, v, ForeignWorkspace)
	case access.Unauthenticated:
		s.leave(w, r, p.request.ID, RefusedPage{Reason: needSignIn})
	default:
		s.pageOf(w, r, err)
	}
}

// judgeFields refuses what the form does not have.
func judgeFields(form, query url.Values) error {
	for name := range form {
		if !slices.Contains(consentFields, name) {
			return invalidRequest("The form has no field %s.", printable(name, 64))
		}
	}
	for name, values := range query {
		if name != FieldRequest || len(values) != 1 || values[0] != form.Get(FieldRequest) {
			return invalidRequest("The form is about another request.")
		}
	}
	return nil
}

// readVerdict reads the decision. Mistakes are the person's, and the form is
// shown again; an error is somebody's who changed the form.
func readVerdict(form url.Values, asked access.Scopes) (v verdict, mistake Mistake, err error) {
	for _, name := range form[FieldScope] {
		scope, unknown := access.ParseScopes(name)
		if len(unknown) > 0 || !offered(asked).Has(scope) {
			return v, "", invalidRequest("The client did not ask for this scope.")
		}
		v.scopes |= scope
	}
	v.scopes |= access.ScopeRead
	v.replace = form.Get(FieldReplace) == "yes"
	v.workspaces = withText(form[FieldWorkspace])
	v.approvals = withText(form[FieldApprove])
	switch form.Get(FieldDecision) {
	case "cancel":
		return v, "", nil
	case "connect":
		v.approve = true
	default:
		return v, NoDecision, nil
	}
	switch {
	case len(v.workspaces) == 0:
		return v, NoWorkspace, nil
	case len(v.workspaces) > 1:
		return v, ManyWorkspaces, nil
	case len(v.approvals) != 1 || v.approvals[0] != v.workspaces[0]:
		return v, NotApproved, nil
	}
	return v, "", nil
}

func withText(values []string) []string {
	return slices.DeleteFunc(slices.Clone(values), func(v string) bool { return v == "" })
}
