package oauth

import (
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// sealedAnswer is what the use of a refresh token was answered, as it is kept
// for a retry.
type sealedAnswer struct {
	AccessToken  string    `json:"a"`
	RefreshToken string    `json:"r"`
	Scope        string    `json:"s"`
	Expires      time.Time `json:"e"`
}

// sealFor makes the seal of a refresh token's answer. Its key comes from the
// token, of which the database has the hash only: a copy of the database opens
// nothing.
func sealFor(presented string) (*guard.Seal, error) {
	return guard.NewSeal([]byte(presented), "answer of a refresh token")
}

// renew turns a refresh token into new tokens (RFC 6749 §6), and uses it up
// (rotation, RFC 9700 §4.14.2). The same token once more, within the retry window
// and while its successor is unused, gets the same answer: parallel calls of one
// host after expiry, and lost answers, look like that. Any later use means that
// two have it, and ends the family.
func (s *Server) renew(r *http.Request, form url.Values, client Client) (answer tokens, err error) {
	presented := form.Get("refresh_token")
	if presented == "" {
		return tokens{}, invalidRequest("refresh_token is missing.")
	}
	hash, ok := access.HashToken(access.TokenRefresh, presented)
	if !ok {
		return tokens{}, errRefresh()
	}
	var refused error
	err = s.Work.Write(r.Context(), func(tx access.Tx) (err error) {
		answer, refused, err = s.renewIn(r, tx, hash, form, client)
		return err
	})
	if err == nil {
		err = refused
	}
	return answer, err
}

func errRefresh() error {
	return invalidGrant("The refresh token is not valid any more. Connect again.")
}

func (s *Server) renewIn(r *http.Request, tx access.Tx, hash access.TokenHash, form url.Values, client Client) (answer tokens, refused, err error) {
	ctx, now := r.Context(), s.Now()
	t, ok, err := s.Store.Refresh(ctx, tx, hash)
	if err != nil || !ok {
		return tokens{}, errRefresh(), err
	}
	if t.ClientID != client.ID || t.Grant.ClientID != client.ID {
		return tokens{}, errRefresh(), nil // hosts mix up their own registrations: nothing is consumed
	}
	// Revoking waits for the end of this unit of work, or this one sees it.
	if err := s.Store.Hold(ctx, tx, t.Grant.ConnectionID); err != nil {
		return tokens{}, nil, err
	}
	if t, ok, err = s.Store.Refresh(ctx, tx, hash); err != nil || !ok {
		return tokens{}, errRefresh(), err
	}
	if !t.Grant.Alive() || !now.Before(t.ExpiresAt) || !now.Before(t.FamilyEnds) {
		return tokens{}, errRefresh(), nil
	}
	if !t.UsedAt.IsZero() {
		return s.again(r, tx, t, form.Get("refresh_token"), now)
	}
	if text := form.Get("resource"); text != "" { // absent: the grant's (RFC 8707 §2.2)
		if _, ours := s.ownResource(text); !ours {
			return tokens{}, refuse(http.StatusBadRequest, "invalid_target", "resource is not the one that was approved."), nil
		}
	}
	scopes, refused := narrowed(form.Get("scope"), t.Scopes, false)
	if refused != nil {
		return tokens{}, refused, nil
	}
	answer, err = s.rotate(r, tx, t, form.Get("refresh_token"), scopes, now)
	return answer, nil, err
}

// rotate uses the token up and makes its successor, with the scopes of the grant
// (RFC 6749 §6: a narrower access token does not narrow the refresh token).
func (s *Server) rotate(r *http.Request, tx access.Tx, t RefreshToken, presented string, scopes access.Scopes, now time.Time) (tokens, error) {
	ctx := r.Context()
	next := RefreshToken{ClientID: t.ClientID, Generation: t.Generation + 1, Scopes: t.Scopes, Resource: t.Resource, FamilyEnds: t.FamilyEnds}
	answer, err := s.mint(ctx, tx, t.Grant, next, scopes, now)
	if err != nil {
		return tokens{}, err
	}
	plain, err := json.Marshal(sealedAnswer{answer.AccessToken, answer.RefreshToken, answer.Scope, now.Add(time.Duration(answer.ExpiresIn) * time.Second).UTC()})
	if err != nil {
		return tokens{}, err
	}
	seal, err := sealFor(presented)
	if err != nil {
		return tokens{}, err
	}
	t.UsedAt, t.Address = now, s.address(r)
	t.Answer = seal.Seal(plain, now.Add(s.Figures.RetryWindow), string(t.Hash))
	first, err := s.Store.UseRefresh(ctx, tx, t)
	if err != nil {
		return tokens{}, err
	}
	if !first { // the connection is held, so nobody can have been faster
		return tokens{}, access.Refuse(access.Internal, "A refresh token was used twice at once.")
	}
	return answer, s.Store.UseClient(ctx, tx, t.ClientID, now)
}

// again judges a token that was used before.
func (s *Server) again(r *http.Request, tx access.Tx, t RefreshToken, presented string, now time.Time) (answer tokens, refused, err error) {
	ctx, address := r.Context(), s.address(r)
	kept, ok := s.keptAnswer(t, presented, now)
	if !ok {
		return tokens{}, errRefresh(), s.endFamily(ctx, tx, t.Grant, auditRefresh, address)
	}
	if err := s.Store.RepeatRefresh(ctx, tx, t.Hash); err != nil {
		return tokens{}, nil, err
	}
	if address != t.Address {
		err = s.audit(ctx, tx, workspace.Entry{
			WorkspaceID: t.Grant.WorkspaceID, UserID: t.Grant.ApproverID, ConnectionID: t.Grant.ConnectionID, Tool: auditRetry,
			Kind: access.KindConnection, ResourceID: t.Grant.ConnectionID, Detail: map[string]any{"first_from": t.Address, "again_from": address},
		})
	}
	return tokens{
		AccessToken: kept.AccessToken, TokenType: "Bearer", ExpiresIn: secondsUntil(kept.Expires, now),
		RefreshToken: kept.RefreshToken, Scope: kept.Scope,
	}, nil, err
}

// keptAnswer opens the answer that the token got before, if it may be repeated.
func (s *Server) keptAnswer(t RefreshToken, presented string, now time.Time) (kept sealedAnswer, ok bool) {
	if t.SuccessorUsed || t.Answer == "" || now.Sub(t.UsedAt) >= s.Figures.RetryWindow {
		return kept, false
	}
	seal, err := sealFor(presented)
	if err != nil {
		return kept, false
	}
	plain, err := seal.Open(t.Answer, now, string(t.Hash))
	if err != nil {
		return kept, false
	}
	return kept, json.Unmarshal(plain, &kept) == nil
}
