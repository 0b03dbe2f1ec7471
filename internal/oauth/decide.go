package oauth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Operations in the audit.
const (
	auditApprove   = "oauth.approve"
	auditCancel    = "oauth.cancel"
	auditElsewhere = "oauth.code_redeemed_elsewhere"
	auditCode      = "oauth.code_reused"
	auditRefresh   = "oauth.refresh_reused"
	auditRetry     = "oauth.refresh_retried_elsewhere"
	auditRevoke    = "oauth.revoke"
)

// decide closes the request with the person's verdict, in one unit of work: the
// request is used up, the connection made, the code kept, and told in the audit.
// A closedError says that somebody was faster; NotFound and Forbidden are about
// the workspace, and nothing has happened then.
func (s *Server) decide(r *http.Request, p *pending, v verdict) (back BackPage, err error) {
	ctx, now := r.Context(), s.Now()
	code, hash := access.MintToken(access.TokenCode)
	back = BackPage{Destination: p.redirect.destination(), ClientName: p.name()}
	err = s.Work.Write(ctx, func(tx access.Tx) error {
		open, err := s.Store.Decide(ctx, tx, p.request.ID, p.request.Browser, now)
		if err != nil {
			return err
		}
		if !open {
			return &closedError{AlreadyDecided}
		}
		if !v.approve {
			return s.audit(ctx, tx, workspace.Entry{UserID: p.who.UserID, Tool: auditCancel, Detail: map[string]any{"client": p.name()}})
		}
		permit, err := s.permit(ctx, tx, p.who, v.workspaces[0])
		if err != nil {
			return err
		}
		back.WorkspaceID, back.Connected = permit.Workspace(), true
		return s.connect(ctx, tx, permit, p, v, hash, s.address(r))
	})
	if err != nil {
		return BackPage{}, err
	}
	if v.approve {
		back.To = s.sendBack(p.origin, p.redirect, p.request.State, p.request.HasState, "code", code)
		return back, s.nameWorkspace(ctx, p, &back)
	}
	back.To = s.sendBack(p.origin, p.redirect, p.request.State, p.request.HasState,
		"error", "access_denied", "error_description", "The person did not approve this.")
	return back, nil
}

func (s *Server) nameWorkspace(ctx context.Context, p *pending, back *BackPage) error {
	choices, _, err := s.choices(ctx, p)
	if err != nil { // it is connected all the same
		s.Log.Warn("name of workspace not read", "err", err)
		return nil
	}
	for _, c := range choices {
		if c.ID == back.WorkspaceID {
			back.WorkspaceName = c.Name
		}
	}
	return nil
}

// permit checks that the person still is owner or editor of the workspace.
func (s *Server) permit(ctx context.Context, tx access.Tx, who access.Principal, workspaceID string) (access.Permit, error) {
	if len(workspaceID) > 64 || !plainText(workspaceID) {
		return access.Permit{}, access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindWorkspace)
	}
	ref := access.Ref{Kind: access.KindWorkspace, ID: workspaceID}
	facts, err := s.Source.PersonFacts(ctx, tx, who.UserID, ref)
	if err != nil {
		return access.Permit{}, err
	}
	return access.CheckPerson(facts, who, access.Permission{Right: access.RightEdit}, ref)
}

// connect makes the connection and its code.
func (s *Server) connect(ctx context.Context, tx access.Tx, permit access.Permit, p *pending, v verdict, hash access.TokenHash, address string) error {
	now, scopes := s.Now(), v.scopes&offered(p.request.Scopes)|access.ScopeRead
	c, err := s.Connections.Create(ctx, tx, permit, workspace.NewConnection{
		ClientID: p.client.ID, ClientHost: p.clientHost(), RedirectHost: p.redirect.destination().Host,
		Name: p.name(), Scopes: scopes, Address: address,
	})
	if err != nil {
		return err
	}
	if v.replace {
		if err := s.Connections.Replace(ctx, tx, permit, c); err != nil {
			return err
		}
	}
	if err := s.Store.UseClient(ctx, tx, p.client.ID, now); err != nil {
		return err
	}
	err = s.Store.AddCode(ctx, tx, c.ID, Code{
		Hash: hash, ClientID: p.client.ID, Redirect: p.redirect.text, Challenge: p.request.Challenge, Scopes: scopes,
		Resource: p.request.Resource, CreatedAt: now, ExpiresAt: now.Add(s.Figures.CodeLife),
	})
	if err != nil {
		return err
	}
	if err := s.tell(ctx, tx, c, p.who.UserID); err != nil {
		return err
	}
	return s.audit(ctx, tx, workspace.Entry{
		WorkspaceID: c.WorkspaceID, UserID: p.who.UserID, ConnectionID: c.ID, Tool: auditApprove, Kind: access.KindConnection, ResourceID: c.ID,
		Detail: map[string]any{"client": c.Name, "client_id": c.ClientID, "redirect_host": c.RedirectHost, "scopes": scopes.String(), "address": address},
	})
}

// tell lets the person and all owners know of the connection.
func (s *Server) tell(ctx context.Context, tx access.Tx, c workspace.Connection, userID string) error {
	n := Notice{UserID: userID, WorkspaceID: c.WorkspaceID, Type: "connection.created", CreatedAt: s.Now(),
		Data: map[string]any{"connection_id": c.ID, "name": c.Name, "approver_id": userID}}
	if err := s.Store.Notify(ctx, tx, n); err != nil {
		return err
	}
	return s.Store.TellOwners(ctx, tx, n)
}

func (s *Server) audit(ctx context.Context, tx access.Tx, e workspace.Entry) error {
	e.ID, e.CreatedAt = workspace.NewID(), s.Now()
	return s.Audit.AppendAudit(ctx, tx, e)
}

// requestView is a pending request as the owner API shows it.
type requestView struct {
	ID           string          `json:"id"`
	ClientID     string          `json:"client_id"`
	ClientName   string          `json:"client_name"`
	ClientHost   string          `json:"client_host,omitempty"`
	RedirectHost string          `json:"redirect_host"`
	Loopback     bool            `json:"loopback"`
	Scopes       []string        `json:"scopes"`
	Workspaces   []workspaceView `json:"workspaces"`
	ExpiresAt    time.Time       `json:"expires_at"`
}

type workspaceView struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Role      access.Role `json:"role"`
	Possible  bool        `json:"possible"`
	Connected bool        `json:"connected"` // the person connected the same client before
}

// readRequest is GET /api/v1/external-oauth/requests/{id}, for the browser that
// began the request.
func (s *Server) readRequest(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		s.failAPI(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "Use GET.")
		return
	}
	if !s.fromOwnPage(r) {
		s.failAPI(w, r, http.StatusForbidden, "origin_not_allowed", "This server does not answer pages of this origin.")
		return
	}
	p, err := s.open(r, r.PathValue("id"))
	if err != nil {
		s.failOpen(w, r, err)
		return
	}
	choices, earlier, err := s.choices(r.Context(), p)
	if err != nil {
		s.failOpen(w, r, err)
		return
	}
	to := p.redirect.destination()
	view := requestView{ID: p.request.ID, ClientID: p.client.ID, ClientName: p.name(), ClientHost: p.clientHost(), RedirectHost: to.Host,
		Loopback: to.Loopback, Scopes: offered(p.request.Scopes).Names(), Workspaces: []workspaceView{}, ExpiresAt: p.request.ExpiresAt.UTC()}
	for _, row := range rows(choices, earlier, verdict{}) {
		view.Workspaces = append(view.Workspaces, workspaceView{row.ID, row.Name, row.Role, row.Possible, row.Earlier != nil})
	}
	writeJSON(w, http.StatusOK, view)
}

// decision is the body of POST …/requests/{id}/decision.
type decision struct {
	Approve     *bool    `json:"approve"`
	WorkspaceID string   `json:"workspace_id"`
	Scopes      []string `json:"scopes"` // absent: all that were asked for
	Replace     bool     `json:"replace"`
}

// decideRequest is POST /api/v1/external-oauth/requests/{id}/decision. Its JSON
// content type and the origin keep other sites from sending it (a form can't).
func (s *Server) decideRequest(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.failAPI(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "Use POST.")
		return
	}
	if !s.fromOwnPage(r) {
		s.failAPI(w, r, http.StatusForbidden, "origin_not_allowed", "This server does not answer pages of this origin.")
		return
	}
	p, err := s.open(r, r.PathValue("id"))
	if err != nil {
		s.failOpen(w, r, err)
		return
	}
	v, err := readDecision(r, p.request.Scopes)
	if err != nil {
		s.failOpen(w, r, err)
		return
	}
	back, err := s.decide(r, p, v)
	if err != nil {
		s.failOpen(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]string{"redirect_to": back.To})
}

func readDecision(r *http.Request, asked access.Scopes) (v verdict, err error) {
	var d decision
	if err := guard.ReadJSON(r, guard.MaxOAuthBody, &d, guard.KnownMembers); err != nil {
		return v, err
	}
	if d.Approve == nil {
		return v, wrongField("approve", "must be true or false")
	}
	v.approve, v.replace, v.scopes = *d.Approve, d.Replace, offered(asked)
	if !v.approve {
		return v, nil
	}
	if d.WorkspaceID == "" {
		return v, wrongField("workspace_id", "must be the ID of one workspace")
	}
	v.workspaces, v.approvals = []string{d.WorkspaceID}, []string{d.WorkspaceID}
	if d.Scopes == nil {
		return v, nil
	}
	v.scopes = access.ScopeRead
	for _, name := range d.Scopes {
		scope, unknown := access.ParseScopes(name)
		if len(unknown) > 0 || !offered(asked).Has(scope) {
			return v, wrongField("scopes", "must be among those that were asked for")
		}
		v.scopes |= scope
	}
	return v, nil
}

// wrongField is a body that does not fit.
func wrongField(name, message string) error {
	return access.Refuse(access.InvalidArguments, "%s %s.", name, message).With("field", name)
}

// failOpen answers err in the form of the owner API.
func (s *Server) failOpen(w http.ResponseWriter, r *http.Request, err error) {
	if body, ok := errors.AsType[*guard.BodyError](err); ok {
		status := body.Status
		if status == http.StatusBadRequest && !body.Syntax {
			status = http.StatusUnprocessableEntity
		}
		s.failAPI(w, r, status, "invalid_arguments", body.Error())
		return
	}
	if closed, ok := errors.AsType[*closedError](err); ok {
		s.failClosed(w, r, closed.reason)
		return
	}
	if e, ok := errors.AsType[*access.Error](err); ok {
		switch e.Code {
		case access.InvalidArguments, access.NotFound, access.Forbidden: // of the body: the workspace that it names
			s.failAPI(w, r, http.StatusUnprocessableEntity, string(access.InvalidArguments), e.Message)
			return
		case access.Unauthenticated:
			s.failClosed(w, r, needSignIn)
			return
		}
	}
	page := s.clientPage(r, err)
	switch page.Status {
	case http.StatusServiceUnavailable:
		setRetry(w, time.Second)
		s.failAPI(w, r, page.Status, string(access.Unavailable), "This cannot be done at the moment. Try again.")
	case http.StatusTooManyRequests:
		setRetry(w, time.Minute)
		s.failAPI(w, r, page.Status, string(access.RateLimited), "Wait a little.")
	case http.StatusBadRequest:
		s.failAPI(w, r, http.StatusConflict, string(access.Conflict), "The client cannot be connected: "+string(page.Reason)+".")
	default:
		s.failAPI(w, r, http.StatusInternalServerError, string(access.Internal), "The call failed and nothing was changed.")
	}
}

func (s *Server) failClosed(w http.ResponseWriter, r *http.Request, reason Reason) {
	switch reason {
	case needSignIn:
		s.failAPI(w, r, http.StatusUnauthorized, string(access.Unauthenticated), "Sign in, in this browser.")
	case AlreadyDecided:
		s.failAPI(w, r, http.StatusConflict, string(access.AlreadyDecided), "This request was decided.")
	case BadRedirect:
		s.failAPI(w, r, http.StatusConflict, string(access.Conflict), "The client does not use this redirect any more.")
	default: // of another browser, too old, or never made: the same answer
		s.failAPI(w, r, http.StatusNotFound, string(access.NotFound), "There is no request with this ID.")
	}
}

func (s *Server) failAPI(w http.ResponseWriter, _ *http.Request, status int, code, message string) {
	writeJSON(w, status, map[string]map[string]string{"error": {"code": code, "message": message}})
}

// Asking says which client waits behind a sign-in that leads on to next, so that
// the sign-in page can name it. ok is false if next is no consent of this browser.
func (s *Server) Asking(r *http.Request, next string) (name, host string, ok bool) {
	ask, err := http.NewRequest(http.MethodGet, next, nil)
	if err != nil || ask.URL.Path != PathConsent {
		return "", "", false
	}
	held, holds := s.heldBrowser(r, s.Site.Origin(r))
	id := ask.URL.Query().Get("request")
	if !holds || len(id) > 64 || !plainText(id) {
		return "", "", false
	}
	var p pending
	err = s.Work.Read(r.Context(), func(tx access.Tx) (err error) {
		if p.request, ok, err = s.Store.Request(r.Context(), tx, id); err != nil || !ok {
			return err
		}
		_, err = s.fillClient(r.Context(), tx, &p)
		return err
	})
	if err != nil || !ok || p.request.Browser != held {
		return "", "", false
	}
	to, fault := parseRedirect(p.request.Redirect)
	return p.name(), to.destination().Host, fault == ""
}

func (s *Server) fillClient(ctx context.Context, tx access.Tx, p *pending) (known bool, err error) {
	p.client, known, err = s.Store.Client(ctx, tx, p.request.ClientID)
	return known, err
}
