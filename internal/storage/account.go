package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Accounts implements workspace.AccountStore.
type Accounts struct{ Settings }

var _ workspace.AccountStore = Accounts{}

// missing words a row that is not there.
func missing(err error, what string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return access.Refuse(access.NotFound, "There is no such %s.", what)
	}
	return err
}

// AnyUser is workspace.AccountStore.AnyUser.
func (Accounts) AnyUser(ctx context.Context, tx access.Tx) (bool, error) {
	return on(tx).UserExists(ctx)
}

// AddUser is workspace.AccountStore.AddUser.
func (Accounts) AddUser(ctx context.Context, tx access.Tx, u workspace.User) (bool, error) {
	n, err := on(tx).AddUser(ctx, gen.AddUserParams{
		ID: u.ID, Email: u.Email, Name: u.Name, PasswordHash: u.PasswordHash, CreatedAt: msOf(u.CreatedAt),
	})
	return n == 1, err
}

// UserByEmail is workspace.AccountStore.UserByEmail.
func (Accounts) UserByEmail(ctx context.Context, tx access.Tx, email string) (workspace.User, error) {
	row, err := on(tx).UserByEmail(ctx, email)
	return userOf(row), missing(err, "account")
}

// UserByID is workspace.AccountStore.UserByID.
func (Accounts) UserByID(ctx context.Context, tx access.Tx, id string) (workspace.User, error) {
	row, err := on(tx).UserByID(ctx, id)
	return userOf(row), missing(err, "account")
}

// Users is workspace.AccountStore.Users.
func (Accounts) Users(ctx context.Context, tx access.Tx, page workspace.Page) ([]workspace.User, error) {
	rows, err := on(tx).Users(ctx, page.After, int32(page.Limit))
	return each(rows, userOf), err
}

func userOf(r gen.User) workspace.User {
	return workspace.User{
		ID: r.ID, Email: r.Email, Name: r.Name, PasswordHash: r.PasswordHash, Disabled: r.DisabledAt != 0, CreatedAt: timeOf(r.CreatedAt),
	}
}

// RenameUser is workspace.AccountStore.RenameUser.
func (Accounts) RenameUser(ctx context.Context, tx access.Tx, userID, name string) error {
	_, err := on(tx).RenameUser(ctx, userID, name)
	return err
}

// SetPassword is workspace.AccountStore.SetPassword.
func (Accounts) SetPassword(ctx context.Context, tx access.Tx, userID, hash string) error {
	_, err := on(tx).SetPassword(ctx, userID, hash)
	return err
}

// ConfirmPassword is workspace.AccountStore.ConfirmPassword.
func (Accounts) ConfirmPassword(ctx context.Context, tx access.Tx, userID, hash string) (bool, error) {
	n, err := on(tx).ConfirmPassword(ctx, userID, hash)
	return n == 1, err
}

// AddSession is workspace.AccountStore.AddSession.
func (Accounts) AddSession(ctx context.Context, tx access.Tx, s workspace.BrowserSession, token access.TokenHash, userAgent string) error {
	return on(tx).AddSession(ctx, gen.AddSessionParams{
		ID: s.ID, TokenHash: string(token), UserID: s.User.ID, CreatedAt: msOf(s.CreatedAt),
		LastSeenAt: msOf(s.LastSeenAt), ExpiresAt: msOf(s.ExpiresAt), UserAgent: userAgent,
	})
}

// SessionByToken is workspace.AccountStore.SessionByToken.
func (Accounts) SessionByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (workspace.BrowserSession, error) {
	r, err := on(tx).SessionUser(ctx, string(token))
	return workspace.BrowserSession{
		ID: r.ID, User: workspace.User{ID: r.UserID, Email: r.Email, Name: r.Name, Disabled: r.DisabledAt != 0},
		CreatedAt: timeOf(r.CreatedAt), LastSeenAt: timeOf(r.LastSeenAt), ExpiresAt: timeOf(r.ExpiresAt),
	}, missing(err, "session")
}

// SeeSession is workspace.AccountStore.SeeSession.
func (Accounts) SeeSession(ctx context.Context, tx access.Tx, id string, now, until time.Time) error {
	_, err := on(tx).SeeSession(ctx, msOf(now), msOf(until), id)
	return err
}

// RemoveSession is workspace.AccountStore.RemoveSession.
func (Accounts) RemoveSession(ctx context.Context, tx access.Tx, token access.TokenHash) error {
	_, err := on(tx).RemoveSession(ctx, string(token))
	return err
}

// RemoveSessionsOf is workspace.AccountStore.RemoveSessionsOf.
func (Accounts) RemoveSessionsOf(ctx context.Context, tx access.Tx, userID string) error {
	_, err := on(tx).RemoveSessionsOf(ctx, userID)
	return err
}

// RemoveOtherSessions is workspace.AccountStore.RemoveOtherSessions.
func (Accounts) RemoveOtherSessions(ctx context.Context, tx access.Tx, userID, kept string) error {
	_, err := on(tx).RemoveOtherSessions(ctx, userID, kept)
	return err
}

// SessionsOf is workspace.AccountStore.SessionsOf.
func (Accounts) SessionsOf(ctx context.Context, tx access.Tx, userID string, now time.Time, page workspace.Page) ([]workspace.BrowserSession, error) {
	rows, err := on(tx).SessionsOfPerson(ctx, gen.SessionsOfPersonParams{
		UserID: userID, Now: msOf(now), After: page.After, Most: int32(page.Limit),
	})
	return each(rows, func(r gen.SessionsOfPersonRow) workspace.BrowserSession {
		return workspace.BrowserSession{
			ID: r.ID, CreatedAt: timeOf(r.CreatedAt), LastSeenAt: timeOf(r.LastSeenAt), ExpiresAt: timeOf(r.ExpiresAt), UserAgent: r.UserAgent,
		}
	}), err
}

// RemoveSessionOf is workspace.AccountStore.RemoveSessionOf.
func (Accounts) RemoveSessionOf(ctx context.Context, tx access.Tx, userID, id string, now time.Time) (bool, error) {
	n, err := on(tx).RemoveSessionByID(ctx, id, userID, msOf(now))
	return n == 1, err
}

// AddPersonalToken is workspace.AccountStore.AddPersonalToken.
func (Accounts) AddPersonalToken(ctx context.Context, tx access.Tx, t workspace.PersonalToken, userID string, token access.TokenHash) error {
	return on(tx).AddPersonalToken(ctx, gen.AddPersonalTokenParams{
		ID: t.ID, TokenHash: string(token), UserID: userID, Name: t.Name, CreatedAt: msOf(t.CreatedAt),
	})
}

// PersonalTokenByToken is workspace.AccountStore.PersonalTokenByToken.
func (Accounts) PersonalTokenByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (workspace.BrowserSession, error) {
	r, err := on(tx).PersonalTokenUser(ctx, string(token))
	return workspace.BrowserSession{
		ID: r.ID, User: workspace.User{ID: r.UserID, Email: r.Email, Name: r.Name, Disabled: r.DisabledAt != 0},
		LastSeenAt: timeOf(r.LastUsedAt),
	}, missing(err, "personal token")
}

// SeePersonalToken is workspace.AccountStore.SeePersonalToken.
func (Accounts) SeePersonalToken(ctx context.Context, tx access.Tx, id string, now time.Time) error {
	_, err := on(tx).SeePersonalToken(ctx, msOf(now), id)
	return err
}

// PersonalTokens is workspace.AccountStore.PersonalTokens.
func (Accounts) PersonalTokens(ctx context.Context, tx access.Tx, userID string, page workspace.Page) ([]workspace.PersonalToken, error) {
	rows, err := on(tx).PersonalTokens(ctx, userID, page.After, int32(page.Limit))
	return each(rows, func(r gen.PersonalTokensRow) workspace.PersonalToken {
		return workspace.PersonalToken{ID: r.ID, Name: r.Name, CreatedAt: timeOf(r.CreatedAt), LastUsedAt: timeOf(r.LastUsedAt)}
	}), err
}

// RevokePersonalToken is workspace.AccountStore.RevokePersonalToken.
func (Accounts) RevokePersonalToken(ctx context.Context, tx access.Tx, userID, id string, now time.Time) (bool, error) {
	n, err := on(tx).RevokePersonalToken(ctx, msOf(now), id, userID)
	return n == 1, err
}

// AddInvitation is workspace.AccountStore.AddInvitation.
func (Accounts) AddInvitation(ctx context.Context, tx access.Tx, token access.TokenHash, workspaceID, userID string, now, expires time.Time) error {
	return on(tx).AddInvitation(ctx, gen.AddInvitationParams{
		TokenHash: string(token), WorkspaceID: workspaceID, UserID: userID, CreatedAt: msOf(now), ExpiresAt: msOf(expires),
	})
}

// InvitationByToken is workspace.AccountStore.InvitationByToken.
func (Accounts) InvitationByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (workspace.Invitation, error) {
	r, err := on(tx).Invitation(ctx, string(token))
	return workspace.Invitation{
		User:      workspace.User{ID: r.UserID, Email: r.Email, Name: r.Name, Disabled: r.DisabledAt != 0},
		Workspace: workspace.Named{ID: r.WorkspaceID, Name: r.WorkspaceName},
		ExpiresAt: timeOf(r.ExpiresAt), Used: r.UsedAt != 0,
	}, missing(err, "invitation")
}

// UseInvitation is workspace.AccountStore.UseInvitation.
func (Accounts) UseInvitation(ctx context.Context, tx access.Tx, token access.TokenHash, now time.Time) (bool, error) {
	n, err := on(tx).UseInvitation(ctx, msOf(now), string(token))
	return n == 1, err
}

// VoidInvitations is workspace.AccountStore.VoidInvitations.
func (Accounts) VoidInvitations(ctx context.Context, tx access.Tx, userID, workspaceID string, now time.Time) error {
	_, err := on(tx).VoidInvitations(ctx, msOf(now), userID, workspaceID)
	return err
}

// AnyWorkspaceOf is workspace.AccountStore.AnyWorkspaceOf.
func (Accounts) AnyWorkspaceOf(ctx context.Context, tx access.Tx, userID string) (string, error) {
	rows, err := on(tx).WorkspacesOf(ctx, userID, "", 1)
	if err != nil {
		return "", err
	}
	if len(rows) == 0 {
		return "", access.Refuse(access.NotFound, "This person is in no workspace.")
	}
	return rows[0].ID, nil
}
