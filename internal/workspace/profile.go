package workspace

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Rename gives who another name, by which everybody sees them from now on.
func (s *Accounts) Rename(ctx context.Context, tx access.Tx, who access.Principal, name string) error {
	name, fault := DisplayName(name, MaxProjectName)
	if fault != "" {
		return refuseFaults(faultf("/name", "%s", fault))
	}
	return s.store.RenameUser(ctx, tx, who.UserID, name)
}

// NewPassword is a wish of a signed-in person for another password.
type NewPassword struct {
	Current string
	New     string
	Address string // of the caller, as limits count it
}

// ChangePassword gives who another password, for the one they have. Their other
// sessions and unused links end; their personal tokens, which no password made,
// stay. A wrong current password counts as a failed sign-in does, is audited, and is
// Forbidden.
func (s *Accounts) ChangePassword(ctx context.Context, who access.Principal, n NewPassword) error {
	if fault := passwordFault(n.New); fault != "" {
		return refuseFaults(faultf("/new", "%s", fault))
	}
	var u User
	err := s.work.Read(ctx, func(tx access.Tx) (err error) {
		u, err = s.store.UserByID(ctx, tx, who.UserID)
		return err
	})
	if err != nil {
		return err
	}
	account, address := "account "+u.Email, "address "+n.Address
	if wait, ok := take(s.config.SignIns, address); !ok {
		return tooManyTries(wait)
	}
	if wait, ok := take(s.config.SignIns, account); !ok {
		giveBack(s.config.SignIns, address)
		return tooManyTries(wait)
	}
	failed, err := s.replacePassword(ctx, who, u, n)
	if failed {
		s.auditPassword(ctx, who)
		return access.Refuse(access.Forbidden, "The current password is wrong.").With("errors", []Fault{faultf("/current", "is not your password")})
	}
	giveBack(s.config.SignIns, account)
	giveBack(s.config.SignIns, address)
	return err
}

// replacePassword judges one try; failed is the caller's failure, err is ours.
func (s *Accounts) replacePassword(ctx context.Context, who access.Principal, u User, n NewPassword) (failed bool, err error) {
	same, err := s.matches(ctx, n.Current, u.PasswordHash)
	if err != nil || !same {
		return err == nil, err
	}
	hash, err := s.HashPassword(ctx, n.New)
	if err != nil {
		return false, err
	}
	err = s.work.Write(ctx, func(tx access.Tx) error {
		same, err := s.store.ConfirmPassword(ctx, tx, u.ID, u.PasswordHash)
		if failed = !same; err != nil || failed { // it was changed while it was compared
			return err
		}
		if err := s.store.SetPassword(ctx, tx, u.ID, hash); err != nil {
			return err
		}
		if err := s.store.VoidInvitations(ctx, tx, u.ID, "", s.now()); err != nil {
			return err
		}
		if err := s.store.RemoveOtherSessions(ctx, tx, u.ID, who.SessionID); err != nil {
			return err
		}
		return s.audit.AppendAudit(ctx, tx, Entry{ID: NewID(), UserID: u.ID, Tool: passwordTool, CreatedAt: s.now()})
	})
	return failed && err == nil, err
}

const passwordTool = "me.password.set"

// auditPassword notes a wrong password. Failing to note it does not change the
// answer: it is a refusal already.
func (s *Accounts) auditPassword(ctx context.Context, who access.Principal) {
	ctx = context.WithoutCancel(ctx) // who hung up failed too
	_ = s.work.Write(ctx, func(tx access.Tx) error {
		return s.audit.AppendAudit(ctx, tx, Entry{ID: NewID(), UserID: who.UserID, Tool: passwordTool, Code: access.Forbidden, CreatedAt: s.now()})
	})
}

// BrowserSessions lists where who is signed in.
func (s *Accounts) BrowserSessions(ctx context.Context, tx access.Tx, who access.Principal, page Page) (Listing[BrowserSession], error) {
	rows, err := s.store.SessionsOf(ctx, tx, who.UserID, s.now(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(b BrowserSession) string { return b.ID }), err
}

// EndBrowserSession signs who out in one browser, with effect on its next call.
func (s *Accounts) EndBrowserSession(ctx context.Context, tx access.Tx, who access.Principal, id string) error {
	ok, err := s.store.RemoveSessionOf(ctx, tx, who.UserID, id, s.now())
	if err == nil && !ok {
		return access.Refuse(access.NotFound, "There is no browser session with this ID.")
	}
	return err
}
