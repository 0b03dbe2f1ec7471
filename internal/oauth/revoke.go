package oauth

import (
	"net/http"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// revoke is the revocation endpoint (RFC 7009). A refresh token ends its family
// with all access tokens (§2.1) and the connection, which nothing could bring
// back; an access token ends alone. 200 means that it is durable.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if wait, ok := s.Failures.Take(s.addressKey(r)); !ok {
		s.fail(w, r, tooMany(wait))
		return
	}
	client, err := s.identify(r, form)
	if err == nil {
		err = s.revokeToken(r, form.Get("token"), client) // the hint changes nothing: the kind is in the token
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.Failures.Return(s.addressKey(r))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}

func (s *Server) revokeToken(r *http.Request, token string, client Client) error {
	if token == "" {
		return invalidRequest("token is missing.")
	}
	if hash, ok := access.HashToken(access.TokenRefresh, token); ok {
		return s.revokeRefresh(r, hash, client)
	}
	if hash, ok := access.HashToken(access.TokenAccess, token); ok {
		return s.revokeAccess(r, hash, client)
	}
	return nil // §2.2: an invalid token is as good as revoked
}

func errOthers() error {
	return invalidGrant("The token was issued to another client.") // §2.1; it stays as it is
}

func (s *Server) revokeRefresh(r *http.Request, hash access.TokenHash, client Client) error {
	ctx := r.Context()
	return s.Work.Write(ctx, func(tx access.Tx) error {
		t, ok, err := s.Store.Refresh(ctx, tx, hash)
		switch {
		case err != nil || !ok:
			return err
		case t.ClientID != client.ID:
			return errOthers()
		}
		if err := s.Store.Hold(ctx, tx, t.Grant.ConnectionID); err != nil {
			return err
		}
		ended, err := s.Store.EndFamily(ctx, tx, t.Grant.ConnectionID, auditRevoke, s.Now())
		if err != nil || !ended {
			return err
		}
		if err := s.auditRevoked(r, tx, t.Grant, "refresh_token"); err != nil {
			return err
		}
		return s.recordRevoked(ctx, tx, t.Grant, auditRevoke)
	})
}

func (s *Server) revokeAccess(r *http.Request, hash access.TokenHash, client Client) error {
	ctx := r.Context()
	return s.Work.Write(ctx, func(tx access.Tx) error {
		t, g, ok, err := s.Store.Access(ctx, tx, hash)
		switch {
		case err != nil || !ok:
			return err
		case g.ClientID != client.ID:
			return errOthers()
		case !t.RevokedAt.IsZero():
			return nil
		}
		if err := s.Store.Hold(ctx, tx, g.ConnectionID); err != nil { // calls on their way end first
			return err
		}
		if err := s.Store.EndAccess(ctx, tx, hash, s.Now()); err != nil {
			return err
		}
		return s.auditRevoked(r, tx, g, "access_token")
	})
}

func (s *Server) auditRevoked(r *http.Request, tx access.Tx, g Grant, what string) error {
	return s.audit(r.Context(), tx, workspace.Entry{
		WorkspaceID: g.WorkspaceID, UserID: g.ApproverID, ConnectionID: g.ConnectionID, Tool: auditRevoke, Kind: access.KindConnection,
		ResourceID: g.ConnectionID, Detail: map[string]any{"token": what, "address": s.address(r)},
	})
}
