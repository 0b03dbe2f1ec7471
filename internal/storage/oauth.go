package storage

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// OAuth implements oauth.Store.
type OAuth struct{}

var _ oauth.Store = OAuth{}

// found tells a missing row from an error.
func found(err error) (ok bool, _ error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// scopesOf reads scopes that were written by Scopes.String.
func scopesOf(s string) access.Scopes {
	set, _ := access.ParseScopes(s)
	return set
}

// Client is oauth.Store.Client.
func (OAuth) Client(ctx context.Context, tx access.Tx, id string) (oauth.Client, bool, error) {
	r, err := on(tx).Client(ctx, id)
	if ok, err := found(err); !ok {
		return oauth.Client{}, false, err
	}
	c := oauth.Client{
		ID: r.ID, Source: oauth.Source(r.Source), Name: r.Name, Metadata: r.Metadata, Address: r.Address,
		CreatedAt: timeOf(r.CreatedAt), LastUsedAt: timeOf(r.LastUsedAt), FetchedUntil: timeOf(r.FetchedUntil),
	}
	if err := json.Unmarshal([]byte(r.RedirectUris), &c.RedirectURIs); err != nil {
		return oauth.Client{}, false, fmt.Errorf("redirect addresses of client %s: %w", id, err)
	}
	return c, true, nil
}

func clientRow(c oauth.Client) (gen.AddClientParams, error) {
	uris, err := json.Marshal(c.RedirectURIs)
	return gen.AddClientParams{
		ID: c.ID, Source: string(c.Source), Name: c.Name, Metadata: c.Metadata, RedirectUris: string(uris), Address: c.Address,
		CreatedAt: msOf(c.CreatedAt), LastUsedAt: msOf(c.LastUsedAt), FetchedUntil: msOf(c.FetchedUntil),
	}, err
}

// AddClient is oauth.Store.AddClient.
func (OAuth) AddClient(ctx context.Context, tx access.Tx, c oauth.Client) error {
	row, err := clientRow(c)
	if err != nil {
		return err
	}
	return on(tx).AddClient(ctx, row)
}

// KeepDocument is oauth.Store.KeepDocument.
func (OAuth) KeepDocument(ctx context.Context, tx access.Tx, c oauth.Client) error {
	row, err := clientRow(c)
	if err != nil {
		return err
	}
	return on(tx).KeepDocument(ctx, gen.KeepDocumentParams(row))
}

// Unused is oauth.Store.Unused.
func (OAuth) Unused(ctx context.Context, tx access.Tx, address string, since time.Time) (ofAddress, all int64, err error) {
	q := on(tx)
	if _, err := q.MeetRegistrations(ctx); err != nil {
		return 0, 0, err
	}
	r, err := q.UnusedClients(ctx, address, msOf(since))
	return r.OfAddress, r.Total, err
}

// UseClient is oauth.Store.UseClient.
func (OAuth) UseClient(ctx context.Context, tx access.Tx, id string, now time.Time) error {
	_, err := on(tx).UseClient(ctx, msOf(now), id)
	return err
}

// Approved is oauth.Store.Approved.
func (OAuth) Approved(ctx context.Context, tx access.Tx, clientID, userID string) (bool, error) {
	return on(tx).ClientApproved(ctx, clientID, userID)
}

// AddRequest is oauth.Store.AddRequest. The state may hold any bytes, which a text
// column does not.
func (OAuth) AddRequest(ctx context.Context, tx access.Tx, r oauth.Request) error {
	return on(tx).AddAuthorizeRequest(ctx, gen.AddAuthorizeRequestParams{
		ID: r.ID, BrowserHash: string(r.Browser), ClientID: r.ClientID, RedirectUri: r.Redirect, Scopes: r.Scopes.String(),
		State: base64.RawURLEncoding.EncodeToString([]byte(r.State)), HasState: flagOf(r.HasState), CodeChallenge: r.Challenge,
		Resource: r.Resource, CreatedAt: msOf(r.CreatedAt), ExpiresAt: msOf(r.ExpiresAt),
	})
}

// Request is oauth.Store.Request.
func (OAuth) Request(ctx context.Context, tx access.Tx, id string) (oauth.Request, bool, error) {
	r, err := on(tx).AuthorizeRequest(ctx, id)
	if ok, err := found(err); !ok {
		return oauth.Request{}, false, err
	}
	state, err := base64.RawURLEncoding.DecodeString(r.State)
	return oauth.Request{
		ID: r.ID, Browser: access.TokenHash(r.BrowserHash), ClientID: r.ClientID, Redirect: r.RedirectUri, Scopes: scopesOf(r.Scopes),
		State: string(state), HasState: r.HasState != 0, Challenge: r.CodeChallenge, Resource: r.Resource,
		CreatedAt: timeOf(r.CreatedAt), ExpiresAt: timeOf(r.ExpiresAt), DecidedAt: timeOf(r.DecidedAt),
	}, err == nil, err
}

// Decide is oauth.Store.Decide.
func (OAuth) Decide(ctx context.Context, tx access.Tx, id string, browser access.TokenHash, now time.Time) (bool, error) {
	n, err := on(tx).DecideRequest(ctx, msOf(now), id, string(browser))
	return n == 1, err
}

// Choices is oauth.Store.Choices.
func (OAuth) Choices(ctx context.Context, tx access.Tx, userID string) ([]oauth.Choice, error) {
	rows, err := on(tx).ConsentChoices(ctx, userID)
	return each(rows, func(r gen.ConsentChoicesRow) oauth.Choice {
		return oauth.Choice{ID: r.ID, Name: r.Name, Role: access.Role(r.Role)}
	}), err
}

// Earlier is oauth.Store.Earlier.
func (OAuth) Earlier(ctx context.Context, tx access.Tx, clientID, userID string) ([]oauth.Earlier, error) {
	rows, err := on(tx).EarlierConnections(ctx, clientID, userID)
	return each(rows, func(r gen.EarlierConnectionsRow) oauth.Earlier {
		return oauth.Earlier{WorkspaceID: r.WorkspaceID, Name: r.Name, CreatedAt: timeOf(r.CreatedAt)}
	}), err
}

// AddCode is oauth.Store.AddCode.
func (OAuth) AddCode(ctx context.Context, tx access.Tx, connectionID string, c oauth.Code) error {
	return on(tx).AddCode(ctx, gen.AddCodeParams{
		TokenHash: string(c.Hash), ConnectionID: connectionID, ClientID: c.ClientID, RedirectUri: c.Redirect, CodeChallenge: c.Challenge,
		Scopes: c.Scopes.String(), Resource: c.Resource, CreatedAt: msOf(c.CreatedAt), ExpiresAt: msOf(c.ExpiresAt),
	})
}

// Code is oauth.Store.Code.
func (OAuth) Code(ctx context.Context, tx access.Tx, hash access.TokenHash) (oauth.Code, bool, error) {
	r, err := on(tx).Code(ctx, string(hash))
	if ok, err := found(err); !ok {
		return oauth.Code{}, false, err
	}
	return oauth.Code{
		Hash: hash, ClientID: r.ClientID, Redirect: r.RedirectUri, Challenge: r.CodeChallenge, Scopes: scopesOf(r.Scopes),
		Resource: r.Resource, CreatedAt: timeOf(r.CreatedAt), ExpiresAt: timeOf(r.ExpiresAt), UsedAt: timeOf(r.UsedAt),
		Grant: oauth.Grant{
			ConnectionID: r.ConnectionID, WorkspaceID: r.WorkspaceID, Name: r.Name, ApproverID: r.ApproverID, ClientID: r.GrantedTo,
			Address: r.ConsentAddress, Status: r.Status, FamilyEnded: r.FamilyRevokedAt != 0, Disabled: r.DisabledAt != 0, Member: r.Member != 0,
		},
	}, true, nil
}

// UseCode is oauth.Store.UseCode.
func (OAuth) UseCode(ctx context.Context, tx access.Tx, hash access.TokenHash, now time.Time) (bool, error) {
	n, err := on(tx).UseCode(ctx, msOf(now), string(hash))
	return n == 1, err
}

// ChallengeUsed is oauth.Store.ChallengeUsed.
func (OAuth) ChallengeUsed(ctx context.Context, tx access.Tx, clientID, challenge string) (bool, error) {
	return on(tx).ChallengeUsed(ctx, clientID, challenge)
}

// Hold is oauth.Store.Hold.
func (OAuth) Hold(ctx context.Context, tx access.Tx, connectionID string) error {
	_, err := on(tx).HoldConnection(ctx, connectionID)
	return err
}

// AddAccess is oauth.Store.AddAccess.
func (OAuth) AddAccess(ctx context.Context, tx access.Tx, t oauth.AccessToken) error {
	return on(tx).AddAccessToken(ctx, gen.AddAccessTokenParams{
		TokenHash: string(t.Hash), ConnectionID: t.ConnectionID, Scopes: t.Scopes.String(), Resource: t.Resource,
		CreatedAt: msOf(t.CreatedAt), ExpiresAt: msOf(t.ExpiresAt),
	})
}

// AddRefresh is oauth.Store.AddRefresh.
func (OAuth) AddRefresh(ctx context.Context, tx access.Tx, connectionID string, t oauth.RefreshToken) error {
	return on(tx).AddRefreshToken(ctx, gen.AddRefreshTokenParams{
		TokenHash: string(t.Hash), ConnectionID: connectionID, ClientID: t.ClientID, Generation: t.Generation, Scopes: t.Scopes.String(),
		Resource: t.Resource, CreatedAt: msOf(t.CreatedAt), ExpiresAt: msOf(t.ExpiresAt), FamilyEnds: msOf(t.FamilyEnds),
	})
}

// Access is oauth.Store.Access.
func (OAuth) Access(ctx context.Context, tx access.Tx, hash access.TokenHash) (oauth.AccessToken, oauth.Grant, bool, error) {
	r, err := on(tx).AccessToken(ctx, string(hash))
	if ok, err := found(err); !ok {
		return oauth.AccessToken{}, oauth.Grant{}, false, err
	}
	t := oauth.AccessToken{
		Hash: hash, ConnectionID: r.ConnectionID, Scopes: scopesOf(r.Scopes), Resource: r.Resource,
		CreatedAt: timeOf(r.CreatedAt), ExpiresAt: timeOf(r.ExpiresAt), RevokedAt: timeOf(r.RevokedAt),
	}
	return t, oauth.Grant{
		ConnectionID: r.ConnectionID, WorkspaceID: r.WorkspaceID, Name: r.Name, ApproverID: r.ApproverID, ClientID: r.ClientID,
		Address: r.ConsentAddress, Status: r.Status, FamilyEnded: r.FamilyRevokedAt != 0, Disabled: r.DisabledAt != 0, Member: r.Member != 0,
	}, true, nil
}

// Refresh is oauth.Store.Refresh.
func (OAuth) Refresh(ctx context.Context, tx access.Tx, hash access.TokenHash) (oauth.RefreshToken, bool, error) {
	r, err := on(tx).RefreshToken(ctx, string(hash))
	if ok, err := found(err); !ok {
		return oauth.RefreshToken{}, false, err
	}
	return oauth.RefreshToken{
		Hash: hash, ClientID: r.ClientID, Generation: r.Generation, Scopes: scopesOf(r.Scopes), Resource: r.Resource,
		CreatedAt: timeOf(r.CreatedAt), ExpiresAt: timeOf(r.ExpiresAt), FamilyEnds: timeOf(r.FamilyEnds), UsedAt: timeOf(r.UsedAt),
		Answer: r.Answer, Retries: r.Retries, Address: r.Address, SuccessorUsed: r.SuccessorUsed != 0,
		Grant: oauth.Grant{
			ConnectionID: r.ConnectionID, WorkspaceID: r.WorkspaceID, Name: r.Name, ApproverID: r.ApproverID, ClientID: r.GrantedTo,
			Address: r.ConsentAddress, Status: r.Status, FamilyEnded: r.FamilyRevokedAt != 0, Disabled: r.DisabledAt != 0, Member: r.Member != 0,
		},
	}, true, nil
}

// UseRefresh is oauth.Store.UseRefresh.
func (OAuth) UseRefresh(ctx context.Context, tx access.Tx, t oauth.RefreshToken) (bool, error) {
	q := on(tx)
	n, err := q.UseRefreshToken(ctx, gen.UseRefreshTokenParams{
		UsedAt: msOf(t.UsedAt), Answer: t.Answer, Address: t.Address, TokenHash: string(t.Hash),
	})
	if err != nil || n == 0 {
		return false, err
	}
	_, err = q.ForgetAnswers(ctx, t.Grant.ConnectionID, t.Generation)
	return true, err
}

// RepeatRefresh is oauth.Store.RepeatRefresh.
func (OAuth) RepeatRefresh(ctx context.Context, tx access.Tx, hash access.TokenHash) error {
	_, err := on(tx).RepeatRefresh(ctx, string(hash))
	return err
}

// EndAccess is oauth.Store.EndAccess.
func (OAuth) EndAccess(ctx context.Context, tx access.Tx, hash access.TokenHash, now time.Time) error {
	_, err := on(tx).EndAccessToken(ctx, msOf(now), string(hash))
	return err
}

// EndFamily is oauth.Store.EndFamily.
func (OAuth) EndFamily(ctx context.Context, tx access.Tx, connectionID, reason string, now time.Time) (bool, error) {
	n, err := on(tx).EndFamily(ctx, msOf(now), reason, connectionID)
	return n == 1, err
}

// Notify is oauth.Store.Notify.
func (OAuth) Notify(ctx context.Context, tx access.Tx, n oauth.Notice) error {
	data, err := objectOf(n.Data)
	if err != nil {
		return err
	}
	return on(tx).AddNotice(ctx, gen.AddNoticeParams{
		ID: workspace.NewID(), UserID: n.UserID, WorkspaceID: n.WorkspaceID, Type: n.Type, Data: data, CreatedAt: msOf(n.CreatedAt),
	})
}

// TellOwners is oauth.Store.TellOwners.
func (s OAuth) TellOwners(ctx context.Context, tx access.Tx, n oauth.Notice) error {
	owners, err := on(tx).OwnersOf(ctx, n.WorkspaceID, n.UserID)
	if err != nil {
		return err
	}
	for _, id := range owners {
		n.UserID = id
		if err := s.Notify(ctx, tx, n); err != nil {
			return err
		}
	}
	return nil
}

// Purge is oauth.Store.Purge.
func (OAuth) Purge(ctx context.Context, tx access.Tx, c oauth.Cutoffs) (e oauth.Expired, err error) {
	q, now := on(tx), msOf(c.Now)
	if e.Requests, err = q.PurgeRequests(ctx, now); err != nil {
		return e, err
	}
	if e.Codes, err = q.PurgeCodes(ctx, now, msOf(c.Codes)); err != nil {
		return e, err
	}
	if e.Tokens, err = q.PurgeAccessTokens(ctx, now); err != nil {
		return e, err
	}
	refresh, err := q.PurgeRefreshTokens(ctx, now)
	if err != nil {
		return e, err
	}
	e.Tokens += refresh
	e.Clients, err = q.PurgeClients(ctx, msOf(c.Unused), msOf(c.Documents), msOf(c.Idle))
	return e, err
}
