package oauth

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// The grants there are (RFC 6749 §4.1.3, §6).
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

// tokens is the answer of the token endpoint (RFC 6749 §5.1).
type tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds, more than 0: some hosts take 0 for "never"
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// token is the token endpoint (RFC 6749 §3.2). The client is judged before what
// it brings: hosts register again only when they hear invalid_client.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	// Counted before it is known to fail, or many at once would slip through.
	if wait, ok := s.Failures.Take(s.addressKey(r)); !ok {
		s.fail(w, r, tooMany(wait))
		return
	}
	answer, err := s.issue(r, form)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.Failures.Return(s.addressKey(r))
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) issue(r *http.Request, form url.Values) (tokens, error) {
	client, err := s.identify(r, form)
	if err != nil {
		return tokens{}, err
	}
	switch form.Get("grant_type") {
	case grantCode:
		return s.redeem(r, form, client)
	case grantRefresh:
		return s.renew(r, form, client)
	case "":
		return tokens{}, invalidRequest("grant_type is missing.")
	}
	return tokens{}, refuse(http.StatusBadRequest, "unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
}

// identify finds the public client that a request names, in the body (RFC 6749
// §3.2.1) or as the user of a Basic header without password (§2.3.1). No client
// has a secret, so one that shows one is not a client of ours.
func (s *Server) identify(r *http.Request, form url.Values) (Client, error) {
	unknown := refuse(http.StatusUnauthorized, "invalid_client", "The client is not registered here. Register again, then connect again.")
	id := form.Get("client_id")
	user, password, basic := basicHeader(r)
	switch {
	case basic && (password != "" || id != "" && id != user), form.Get("client_secret") != "":
		return Client{}, unknown
	case basic:
		id = user
	}
	if id == "" || len(id) > maxClientID || !plainText(id) {
		return Client{}, unknown
	}
	var c Client
	known := false
	err := s.Work.Read(r.Context(), func(tx access.Tx) (err error) {
		c, known, err = s.Store.Client(r.Context(), tx, id)
		return err
	})
	if err != nil {
		return Client{}, err
	}
	if !known || s.forgotten(c) {
		return Client{}, unknown
	}
	return c, nil
}

// basicHeader reads a Basic header, whose two parts are form-encoded before they
// are joined (RFC 6749 §2.3.1). One that cannot be read is one with a wrong
// password.
func basicHeader(r *http.Request) (user, password string, basic bool) {
	headers := r.Header["Authorization"]
	for _, header := range headers {
		scheme, value, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Basic") {
			continue
		}
		const wrong = "wrong"
		decoded, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
		name, secret, found := strings.Cut(string(decoded), ":")
		if err != nil || !found || len(headers) > 1 {
			return "", wrong, true
		}
		if user, err = url.QueryUnescape(name); err != nil {
			return "", wrong, true
		}
		if password, err = url.QueryUnescape(secret); err != nil {
			return "", wrong, true
		}
		return user, password, true
	}
	return "", "", false
}

// redeem turns an authorization code into tokens (RFC 6749 §4.1.3, RFC 7636
// §4.5, RFC 8707 §2.2).
func (s *Server) redeem(r *http.Request, form url.Values, client Client) (answer tokens, err error) {
	switch {
	case form.Get("code") == "":
		return tokens{}, invalidRequest("code is missing.")
	case form.Get("code_verifier") == "":
		return tokens{}, invalidRequest("code_verifier is missing.") // RFC 9700 §2.1.1
	}
	hash, ok := access.HashToken(access.TokenCode, form.Get("code"))
	if !ok {
		return tokens{}, errCode()
	}
	var refused error // an answer that stands although the unit of work does
	err = s.Work.Write(r.Context(), func(tx access.Tx) (err error) {
		answer, refused, err = s.redeemIn(r, tx, hash, form, client)
		return err
	})
	if err == nil {
		err = refused
	}
	return answer, err
}

func errCode() error {
	return invalidGrant("The code is not valid: wrong, expired, used, or of another client or request.")
}

func (s *Server) redeemIn(r *http.Request, tx access.Tx, hash access.TokenHash, form url.Values, client Client) (answer tokens, refused, err error) {
	ctx, now := r.Context(), s.Now()
	c, ok, err := s.Store.Code(ctx, tx, hash)
	if err != nil || !ok {
		return tokens{}, errCode(), err
	}
	// From here on nobody else changes the connection; what was read before counts
	// no more.
	if err := s.Store.Hold(ctx, tx, c.Grant.ConnectionID); err != nil {
		return tokens{}, nil, err
	}
	if c, ok, err = s.Store.Code(ctx, tx, hash); err != nil || !ok {
		return tokens{}, errCode(), err
	}
	scopes, refused := s.judgeCode(c, form, client, now)
	if refused == errReused {
		return tokens{}, errCode(), s.endFamily(ctx, tx, c.Grant, auditCode, s.address(r))
	}
	if refused != nil {
		return tokens{}, refused, nil // nothing is consumed
	}
	// A verifier proves something once, whichever code it comes with.
	if seen, err := s.Store.ChallengeUsed(ctx, tx, c.ClientID, c.Challenge); seen || err != nil {
		return tokens{}, errCode(), err
	}
	if first, err := s.Store.UseCode(ctx, tx, hash, now); !first || err != nil {
		return tokens{}, errCode(), err
	}
	if err := s.noteElsewhere(r, tx, c.Grant); err != nil {
		return tokens{}, nil, err
	}
	first := RefreshToken{ClientID: c.ClientID, Generation: 1, Scopes: c.Scopes, Resource: c.Resource, FamilyEnds: now.Add(s.Figures.FamilyLife)}
	answer, err = s.mint(ctx, tx, c.Grant, first, scopes, now)
	return answer, nil, err
}

// errReused is a second use of a code that is right in everything.
var errReused = invalidGrant("The code was used before.")

// judgeCode is the truth table of a code. Only a request that is right in
// everything but comes a second time gives the tokens away as stolen (OAuth 2.1
// §7.5.2); all others change nothing, or anybody who saw a code could end the
// connection.
func (s *Server) judgeCode(c Code, form url.Values, client Client, now time.Time) (access.Scopes, error) {
	bound := c.ClientID == client.ID && c.Grant.ClientID == client.ID &&
		verifies(form.Get("code_verifier"), c.Challenge) &&
		(!form.Has("redirect_uri") || sameRedirect(c.Redirect, form.Get("redirect_uri"))) &&
		now.Before(c.ExpiresAt)
	if !bound {
		return 0, errCode()
	}
	used := !c.UsedAt.IsZero()
	if text := form.Get("resource"); text != "" {
		if _, ours := s.ownResource(text); !ours && !used {
			return 0, refuse(http.StatusBadRequest, "invalid_target", "resource is not the one that was approved.")
		} else if !ours {
			return 0, errCode()
		}
	}
	switch {
	case used:
		return 0, errReused
	case !c.Grant.Alive():
		return 0, errCode()
	}
	return narrowed(form.Get("scope"), c.Scopes, true)
}

func sameRedirect(stored, sent string) bool {
	_, ok := allowedRedirect([]string{stored}, sent)
	return ok && sent != ""
}

// narrowed are the scopes asked for out of those granted; all of them if none is
// named. More than granted is invalid_scope (RFC 6749 §6). Names that nobody
// knows are too where strict, and count for nothing elsewhere, because hosts add
// some of their own at each renewal. Two names are never refused: one asks for a
// refresh token, the other for what no workspace offers yet.
func narrowed(text string, granted access.Scopes, strict bool) (access.Scopes, error) {
	asked, unknown := access.ParseScopes(text)
	unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == offlineAccess })
	if !granted.Has(access.ScopeModels) {
		asked &^= access.ScopeModels
	}
	if !granted.Has(asked) || strict && len(unknown) > 0 {
		return 0, refuse(http.StatusBadRequest, "invalid_scope", "The scope is more than the person approved: %s.", granted)
	}
	if asked == 0 {
		return granted, nil
	}
	return asked, nil
}

// mint makes an access token with these scopes and the refresh token that
// follows it. What the refresh token is about is said in next; it may be worth
// more scopes than the access token.
func (s *Server) mint(ctx context.Context, tx access.Tx, g Grant, next RefreshToken, scopes access.Scopes, now time.Time) (tokens, error) {
	accessToken, accessHash := access.MintToken(access.TokenAccess)
	refreshToken, refreshHash := access.MintToken(access.TokenRefresh)
	expires := now.Add(s.Figures.AccessLife)
	if expires.After(next.FamilyEnds) {
		expires = next.FamilyEnds
	}
	err := s.Store.AddAccess(ctx, tx, AccessToken{
		Hash: accessHash, ConnectionID: g.ConnectionID, Scopes: scopes, Resource: next.Resource, CreatedAt: now, ExpiresAt: expires,
	})
	if err != nil {
		return tokens{}, err
	}
	next.Hash, next.CreatedAt, next.ExpiresAt = refreshHash, now, now.Add(s.Figures.RefreshLife)
	if err := s.Store.AddRefresh(ctx, tx, g.ConnectionID, next); err != nil {
		return tokens{}, err
	}
	return tokens{
		AccessToken: accessToken, TokenType: "Bearer", ExpiresIn: secondsUntil(expires, now),
		RefreshToken: refreshToken, Scope: scopes.String(),
	}, nil
}

func secondsUntil(t, now time.Time) int64 { return max(1, int64(t.Sub(now)/time.Second)) }

// noteElsewhere puts into the audit that a code was redeemed from another address
// than it was approved from. Assistants in the cloud always do; for one that runs
// on the person's computer it means that somebody else has the code.
func (s *Server) noteElsewhere(r *http.Request, tx access.Tx, g Grant) error {
	address := s.address(r)
	if g.Address == "" || address == g.Address {
		return nil
	}
	return s.audit(r.Context(), tx, workspace.Entry{
		WorkspaceID: g.WorkspaceID, UserID: g.ApproverID, ConnectionID: g.ConnectionID, Tool: auditElsewhere,
		Kind: access.KindConnection, ResourceID: g.ConnectionID, Detail: map[string]any{"approved_from": g.Address, "redeemed_from": address},
	})
}

// endFamily revokes a connection whose tokens somebody else seems to have, and
// tells the owner.
func (s *Server) endFamily(ctx context.Context, tx access.Tx, g Grant, reason, address string) error {
	now := s.Now()
	ended, err := s.Store.EndFamily(ctx, tx, g.ConnectionID, reason, now)
	if err != nil {
		return err
	}
	err = s.audit(ctx, tx, workspace.Entry{
		WorkspaceID: g.WorkspaceID, UserID: g.ApproverID, ConnectionID: g.ConnectionID, Tool: reason, Kind: access.KindConnection,
		ResourceID: g.ConnectionID, Code: access.InvalidToken, Detail: map[string]any{"address": address, "revoked": ended},
	})
	if err != nil || !ended {
		return err
	}
	n := Notice{UserID: g.ApproverID, WorkspaceID: g.WorkspaceID, Type: "connection.token_reused", CreatedAt: now,
		Data: map[string]any{"connection_id": g.ConnectionID, "name": g.Name, "address": address}}
	if err := s.Store.Notify(ctx, tx, n); err != nil {
		return err
	}
	if err := s.Store.TellOwners(ctx, tx, n); err != nil {
		return err
	}
	return s.recordRevoked(ctx, tx, g, reason)
}

func (s *Server) recordRevoked(ctx context.Context, tx access.Tx, g Grant, reason string) error {
	by := access.Principal{Credential: access.CredentialAccessToken, UserID: g.ApproverID, ConnectionID: g.ConnectionID}
	return s.Events.Record(ctx, tx, by, workspace.Event{
		WorkspaceID: g.WorkspaceID, Type: "connection.revoked", Kind: access.KindConnection, ResourceID: g.ConnectionID,
		Data: map[string]any{"reason": reason},
	})
}
