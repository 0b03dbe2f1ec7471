package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type setupBody struct {
	Secret    string `json:"secret,omitzero"` // none is a wrong one
	Email     string `json:"email"`
	Name      string `json:"name"`
	Password  string `json:"password"`
	Workspace string `json:"workspace"`
}

type signInBody struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Keep     bool   `json:"keep,omitzero"`
}

type nameBody struct {
	Name string `json:"name"`
}

type me struct {
	ID         string `json:"id"`
	Email      string `json:"email"`
	Name       string `json:"name"`
	Workspaces []team `json:"workspaces"`
}

type personalToken struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	Token      string    `json:"token,omitzero"` // only in the answer that made it
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at,omitzero"`
}

func (t personalToken) withoutSecret() any {
	t.Token = ""
	return t
}

// accountCalls answers calls about the person themselves.
type accountCalls struct {
	accounts *workspace.Accounts
	members  *workspace.Members
	sessions *Sessions
	site     *guard.Site
	work     access.Work
}

// AccountRoutes are setup, sign-in, sign-out and the person's own affairs.
func AccountRoutes(accounts *workspace.Accounts, members *workspace.Members, sessions *Sessions, site *guard.Site, work access.Work) []Route {
	s := accountCalls{accounts, members, sessions, site, work}
	return append([]Route{
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/setup", Operation: "setup", Summary: "Make the first owner and workspace, once",
			Caller: Anyone, Alone: true, Gone: s.setUpAlready}, s.setUp),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/sign-in", Operation: "session.create", Summary: "Sign in; the answer sets a cookie",
			Caller: Anyone, Alone: true}, s.signIn),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/sign-out", Operation: "session.end", Summary: "End the session of this browser",
			Caller: Anyone, Alone: true}, s.signOut),
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/me", Operation: "me.get", Summary: "Who is asking, and their workspaces"}, s.me),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/personal-tokens", Operation: "personal_token.create",
			Summary: "Make a token for scripts; it is shown once", Status: http.StatusCreated}, s.createToken),
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/personal-tokens", Operation: "personal_token.list",
			Summary: "The caller's personal tokens", Paged: true}, s.listTokens),
		Handle(Rule{Method: http.MethodDelete, Path: "/api/v1/personal-tokens/{token}", Operation: "personal_token.revoke",
			Summary: "End a personal token of the caller"}, s.revokeToken),
	}, s.profileRoutes()...)
}

func (s accountCalls) setUpAlready(ctx context.Context) (bool, error) {
	needs, err := s.accounts.NeedsSetup(ctx)
	return !needs, err
}

func (s accountCalls) setUp(ctx context.Context, c *Call, in setupBody) (me, error) {
	p := c.passage
	opened, err := s.accounts.SetUp(ctx, workspace.Setup{
		Secret: in.Secret, Email: in.Email, Name: in.Name, Password: in.Password, Workspace: in.Workspace,
		Address: guard.AddressKey(s.site.ClientAddress(p.r)), UserAgent: p.r.UserAgent(),
	}, s.members)
	if err != nil {
		return me{}, err
	}
	s.sessions.Set(p.w, p.r, opened)
	return s.meOf(ctx, opened.Principal)
}

func (s accountCalls) signIn(ctx context.Context, c *Call, in signInBody) (me, error) {
	p := c.passage
	opened, err := s.accounts.SignIn(ctx, workspace.SignIn{
		Email: in.Email, Password: in.Password, Keep: in.Keep,
		Address: guard.AddressKey(s.site.ClientAddress(p.r)), UserAgent: p.r.UserAgent(),
	})
	if err != nil {
		return me{}, err
	}
	s.sessions.Set(p.w, p.r, opened)
	return s.meOf(ctx, opened.Principal)
}

func (s accountCalls) signOut(_ context.Context, c *Call, _ Nothing) (Nothing, error) {
	return Nothing{}, s.sessions.Clear(c.passage.w, c.passage.r)
}

func (s accountCalls) meOf(ctx context.Context, who access.Principal) (out me, err error) {
	err = s.work.Read(ctx, func(tx access.Tx) (err error) {
		out, err = s.me(ctx, &Call{Tx: tx, Who: who}, Nothing{})
		return err
	})
	return out, err
}

// mostTeams bounds the workspaces in the answer of me; the list pages.
const mostTeams = 200

func (s accountCalls) me(ctx context.Context, c *Call, _ Nothing) (me, error) {
	u, err := s.accounts.Me(ctx, c.Tx, c.Who)
	if err != nil {
		return me{}, err
	}
	teams, err := s.members.Teams(ctx, c.Tx, c.Who, workspace.Page{Limit: mostTeams})
	out := me{ID: u.ID, Email: u.Email, Name: u.Name, Workspaces: make([]team, len(teams.Items))}
	for i, t := range teams.Items {
		out.Workspaces[i] = teamOf(t)
	}
	return out, err
}

func (s accountCalls) createToken(ctx context.Context, c *Call, in nameBody) (personalToken, error) {
	made, token, err := s.accounts.CreatePersonalToken(ctx, c.Tx, c.Who, in.Name)
	c.Entry.ResourceID = made.ID
	out := personalTokenOf(made)
	out.Token = token
	return out, err
}

func (s accountCalls) listTokens(ctx context.Context, c *Call, _ Nothing) (List[personalToken], error) {
	l, err := s.accounts.PersonalTokens(ctx, c.Tx, c.Who, c.Page)
	return listOf(c, l, personalTokenOf), err
}

func (s accountCalls) revokeToken(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.ResourceID = c.Path("token")
	return Nothing{}, s.accounts.RevokePersonalToken(ctx, c.Tx, c.Who, c.Path("token"))
}

func personalTokenOf(t workspace.PersonalToken) personalToken {
	return personalToken{ID: t.ID, Name: t.Name, CreatedAt: t.CreatedAt, LastUsedAt: t.LastUsedAt}
}
