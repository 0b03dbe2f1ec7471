package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type passwordBody struct {
	Current string `json:"current"`
	New     string `json:"new"`
}

type browserSession struct {
	ID         string    `json:"id"`
	Current    bool      `json:"current"` // the one that asks
	UserAgent  string    `json:"user_agent"`
	CreatedAt  time.Time `json:"created_at"`
	LastSeenAt time.Time `json:"last_seen_at"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// profileRoutes are what a person changes about their own account.
func (s accountCalls) profileRoutes() []Route {
	const sessions = "/api/v1/browser-sessions"
	return []Route{
		Handle(Rule{Method: http.MethodPatch, Path: "/api/v1/me", Operation: "me.change", Summary: "Change the caller's name"}, s.rename),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/me/password", Operation: "me.password.set",
			Summary: "Choose another password; the caller's other browsers are signed out", Caller: Browser, Alone: true}, s.setPassword),
		Handle(Rule{Method: http.MethodGet, Path: sessions, Operation: "browser_session.list",
			Summary: "Where the caller is signed in", Paged: true}, s.listSessions),
		Handle(Rule{Method: http.MethodDelete, Path: sessions + "/{session}", Operation: "browser_session.end",
			Summary: "Sign the caller out in one browser"}, s.endSession),
	}
}

func (s accountCalls) rename(ctx context.Context, c *Call, in nameBody) (me, error) {
	if err := s.accounts.Rename(ctx, c.Tx, c.Who, in.Name); err != nil {
		return me{}, err
	}
	return s.me(ctx, c, Nothing{})
}

func (s accountCalls) setPassword(ctx context.Context, c *Call, in passwordBody) (Nothing, error) {
	return Nothing{}, s.accounts.ChangePassword(ctx, c.Who, workspace.NewPassword{
		Current: in.Current, New: in.New, Address: guard.AddressKey(s.site.ClientAddress(c.passage.r)),
	})
}

func (s accountCalls) listSessions(ctx context.Context, c *Call, _ Nothing) (List[browserSession], error) {
	l, err := s.accounts.BrowserSessions(ctx, c.Tx, c.Who, c.Page)
	return listOf(c, l, func(b workspace.BrowserSession) browserSession {
		return browserSession{
			ID: b.ID, Current: c.Who.Credential == access.CredentialSession && b.ID == c.Who.SessionID, UserAgent: b.UserAgent,
			CreatedAt: b.CreatedAt, LastSeenAt: b.LastSeenAt, ExpiresAt: b.ExpiresAt,
		}
	}), err
}

func (s accountCalls) endSession(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.ResourceID = c.Path("session")
	return Nothing{}, s.accounts.EndBrowserSession(ctx, c.Tx, c.Who, c.Path("session"))
}
