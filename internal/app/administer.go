package app

import (
	"context"
	"errors"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Administration is what somebody with access to the database itself can do to
// accounts, without signing in.
type Administration struct {
	db       *storage.DB
	accounts *workspace.Accounts
}

// Administer opens the database for do. On SQLite the server must not run.
func Administer(ctx context.Context, o storage.Options, do func(Administration) error) error {
	db, err := storage.Open(ctx, o)
	if err != nil {
		return err
	}
	accounts, err := workspace.NewAccounts(workspace.AccountConfig{}, db, storage.Accounts{}, storage.Audit{}, time.Now)
	if err == nil {
		err = do(Administration{db, accounts})
	}
	return errors.Join(err, db.Close())
}

// Users lists everybody who has an account.
func (a Administration) Users(ctx context.Context) (all []workspace.User, err error) {
	const most = 500
	for page := (workspace.Page{Limit: most}); ; {
		var some []workspace.User
		err = a.db.Read(ctx, func(tx access.Tx) (err error) {
			some, err = storage.Accounts{}.Users(ctx, tx, page)
			return err
		})
		all = append(all, some...)
		if err != nil || len(some) < most {
			return all, err
		}
		page.After = some[len(some)-1].ID
	}
}

// NewPasswordLink is the token of a link by which the person chooses a new
// password.
func (a Administration) NewPasswordLink(ctx context.Context, email string) (token string, err error) {
	err = a.db.Write(ctx, func(tx access.Tx) (err error) {
		token, err = a.accounts.NewPasswordLink(ctx, tx, email)
		return err
	})
	return token, err
}

// PersonalToken makes a personal token of the person.
func (a Administration) PersonalToken(ctx context.Context, email, name string) (token string, err error) {
	err = a.db.Write(ctx, func(tx access.Tx) error {
		who, err := a.accounts.PrincipalByEmail(ctx, tx, email)
		if err != nil {
			return err
		}
		_, token, err = a.accounts.CreatePersonalToken(ctx, tx, who, name)
		return err
	})
	return token, err
}
