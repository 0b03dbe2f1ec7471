package workspace

import (
	"context"
	"crypto/subtle"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Limits of accounts. Passwords are counted in Unicode code points, as NIST
// SP 800-63B §5.1.1.2 has it.
const (
	MinPassword     = 12
	MaxPassword     = 256
	invitationLife  = 7 * 24 * time.Hour
	seenEvery       = time.Minute // how exactly the last use of a session is known
	maxUserAgent    = 200
	setupSecretName = "setup_secret" // in the settings; its value is the hash
)

// User is a person with an account.
type User struct {
	ID           string
	Email        string
	Name         string
	PasswordHash string // "" until an invitation is used
	Disabled     bool
	CreatedAt    time.Time
}

// BrowserSession is one sign-in of a person in one browser, or one personal token.
type BrowserSession struct {
	ID         string
	User       User
	CreatedAt  time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time // zero for a personal token
	UserAgent  string    // as the browser named itself; only in lists
}

// PersonalToken is a token that a person made for scripts; the token itself is
// shown once and not kept.
type PersonalToken struct {
	ID         string
	Name       string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
}

// Invitation is what the page shows on which a person chooses a password.
type Invitation struct {
	User      User
	Workspace Named
	ExpiresAt time.Time
	Used      bool
}

// AccountStore keeps people, their sessions and their tokens. Finding nothing is
// an Error with code NotFound.
type AccountStore interface {
	AnyUser(ctx context.Context, tx access.Tx) (bool, error)
	// AddUser says whether the e-mail address was free.
	AddUser(ctx context.Context, tx access.Tx, u User) (bool, error)
	UserByEmail(ctx context.Context, tx access.Tx, email string) (User, error)
	UserByID(ctx context.Context, tx access.Tx, id string) (User, error)
	Users(ctx context.Context, tx access.Tx, page Page) ([]User, error)
	RenameUser(ctx context.Context, tx access.Tx, userID, name string) error
	SetPassword(ctx context.Context, tx access.Tx, userID, hash string) error
	// ConfirmPassword says whether the hash is still the person's and they are not
	// disabled. SetPassword waits for the end of tx, or this for its.
	ConfirmPassword(ctx context.Context, tx access.Tx, userID, hash string) (bool, error)
	// AnyWorkspaceOf is a workspace that the person is in.
	AnyWorkspaceOf(ctx context.Context, tx access.Tx, userID string) (string, error)

	AddSession(ctx context.Context, tx access.Tx, s BrowserSession, token access.TokenHash, userAgent string) error
	SessionByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (BrowserSession, error)
	// SeeSession notes a use, which lets the session live until then at least.
	SeeSession(ctx context.Context, tx access.Tx, id string, now, until time.Time) error
	RemoveSession(ctx context.Context, tx access.Tx, token access.TokenHash) error
	RemoveSessionsOf(ctx context.Context, tx access.Tx, userID string) error
	// RemoveOtherSessions removes all sessions of the person but the one with the ID kept.
	RemoveOtherSessions(ctx context.Context, tx access.Tx, userID, kept string) error
	// SessionsOf lists the person's sessions that live at now, in the order of their IDs.
	SessionsOf(ctx context.Context, tx access.Tx, userID string, now time.Time, page Page) ([]BrowserSession, error)
	// RemoveSessionOf says whether the person had such a session at now.
	RemoveSessionOf(ctx context.Context, tx access.Tx, userID, id string, now time.Time) (bool, error)

	AddPersonalToken(ctx context.Context, tx access.Tx, t PersonalToken, userID string, token access.TokenHash) error
	PersonalTokenByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (BrowserSession, error)
	SeePersonalToken(ctx context.Context, tx access.Tx, id string, now time.Time) error
	PersonalTokens(ctx context.Context, tx access.Tx, userID string, page Page) ([]PersonalToken, error)
	RevokePersonalToken(ctx context.Context, tx access.Tx, userID, id string, now time.Time) (bool, error)

	AddInvitation(ctx context.Context, tx access.Tx, token access.TokenHash, workspaceID, userID string, now, expires time.Time) error
	InvitationByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (Invitation, error)
	// UseInvitation says whether the invitation was unused and not too old.
	UseInvitation(ctx context.Context, tx access.Tx, token access.TokenHash, now time.Time) (bool, error)
	// VoidInvitations ends the person's unused invitations to the workspace, or to
	// all if workspaceID is "".
	VoidInvitations(ctx context.Context, tx access.Tx, userID, workspaceID string, now time.Time) error

	Setting(ctx context.Context, tx access.Tx, name string) (value string, ok bool, err error)
	PutSetting(ctx context.Context, tx access.Tx, name, value string) error
	TakeSetting(ctx context.Context, tx access.Tx, name string) (bool, error)
}

// Tries counts failures under a key and says how long to wait once there were
// too many. Take counts one; Return takes back one that was none.
type Tries interface {
	Take(key string) (wait time.Duration, ok bool)
	Return(key string)
}

// AccountConfig says how long things last and how often people may fail.
type AccountConfig struct {
	SessionIdle time.Duration // without use
	SessionLife time.Duration // of a session that is kept
	SignIns     Tries         // failed sign-ins, by account and by address; nil is no limit
	Setups      Tries         // wrong setup secrets, by address; nil is no limit
}

// Accounts says who people are and how they prove it.
type Accounts struct {
	config  AccountConfig
	work    access.Work
	store   AccountStore
	audit   AuditStore
	now     func() time.Time
	hashing chan struct{} // a place for each password hash at a time: one takes 19 MiB
	decoy   string        // the hash that an unknown person's password is compared with
}

// hashParams are OWASP's for argon2id: 19 MiB, two passes, one lane.
var hashParams = &argon2id.Params{Memory: 19 << 10, Iterations: 2, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// NewAccounts makes the service on its stores and the clock.
func NewAccounts(c AccountConfig, work access.Work, store AccountStore, audit AuditStore, now func() time.Time) (*Accounts, error) {
	decoy, err := argon2id.CreateHash("an account that does not exist", hashParams)
	if err != nil {
		return nil, fmt.Errorf("hash a password: %w", err)
	}
	return &Accounts{config: c, work: work, store: store, audit: audit, now: now, decoy: decoy,
		hashing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))}, nil
}

// HashPassword checks a new password and hashes it. It takes some 20 ms, so call
// it outside a unit of work.
func (s *Accounts) HashPassword(ctx context.Context, password string) (string, error) {
	if fault := passwordFault(password); fault != "" {
		return "", refuseFaults(faultf("/password", "%s", fault))
	}
	if err := s.takeTurn(ctx); err != nil {
		return "", err
	}
	defer s.endTurn()
	return argon2id.CreateHash(password, hashParams)
}

func passwordFault(password string) string {
	n := utf8.RuneCountInString(password)
	switch {
	case !utf8.ValidString(password):
		return "must be valid UTF-8"
	case n < MinPassword:
		return fmt.Sprintf("must have at least %d characters", MinPassword)
	case n > MaxPassword:
		return fmt.Sprintf("must have at most %d characters", MaxPassword)
	}
	return ""
}

func (s *Accounts) takeTurn(ctx context.Context) error {
	select {
	case s.hashing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return access.Refuse(access.Busy, "The server is busy. Try again.").Because(ctx.Err())
	}
}

func (s *Accounts) endTurn() { <-s.hashing }

// matches compares in the same time whether or not there is a hash.
func (s *Accounts) matches(ctx context.Context, password, hash string) (bool, error) {
	if err := s.takeTurn(ctx); err != nil {
		return false, err
	}
	defer s.endTurn()
	known := hash != ""
	if !known {
		hash = s.decoy
	}
	same, err := argon2id.ComparePasswordAndHash(password, hash)
	return same && known, err
}

// NeedsSetup reports whether nobody has an account yet.
func (s *Accounts) NeedsSetup(ctx context.Context) (needs bool, err error) {
	err = s.work.Read(ctx, func(tx access.Tx) error {
		any, err := s.store.AnyUser(ctx, tx)
		needs = !any
		return err
	})
	return needs, err
}

// SetupSecret makes the one-time secret of the first run; "" if somebody has an
// account already. An older secret is void, since it was printed by a process
// that is gone.
func (s *Accounts) SetupSecret(ctx context.Context) (secret string, err error) {
	err = s.work.Write(ctx, func(tx access.Tx) error {
		secret = ""
		any, err := s.store.AnyUser(ctx, tx)
		if any || err != nil {
			return err
		}
		token, hash := access.MintToken(access.TokenSetup)
		secret = token
		return s.store.PutSetting(ctx, tx, setupSecretName, string(hash))
	})
	return secret, err
}

// Setup is what the first person says about themselves.
type Setup struct {
	Secret    string
	Email     string
	Name      string
	Password  string
	Workspace string
	Address   string // of the caller, as limits count it
	UserAgent string
}

// SignedIn is a person who just signed in: the cookie's value, and until when.
type SignedIn struct {
	Token     string
	ExpiresAt time.Time // zero: until the browser is closed
	Principal access.Principal
}

// SetUp makes the first account and its workspace, once, for the holder of the
// secret. Afterwards, and for everybody else, it is NotFound or Forbidden.
func (s *Accounts) SetUp(ctx context.Context, f Setup, members *Members) (SignedIn, error) {
	needs, err := s.NeedsSetup(ctx)
	if err != nil {
		return SignedIn{}, err
	}
	if !needs {
		return SignedIn{}, setUpAlready()
	}
	if err := s.checkSecret(ctx, f); err != nil {
		return SignedIn{}, err
	}
	u, err := f.user()
	if err != nil {
		return SignedIn{}, err
	}
	if u.PasswordHash, err = s.HashPassword(ctx, f.Password); err != nil {
		return SignedIn{}, err
	}
	u.CreatedAt = s.now()
	var in SignedIn
	err = s.work.Write(ctx, func(tx access.Tx) error {
		taken, err := s.store.TakeSetting(ctx, tx, setupSecretName)
		if err != nil {
			return err
		}
		any, err := s.store.AnyUser(ctx, tx)
		if err != nil {
			return err
		}
		if !taken || any { // by somebody who was a moment faster
			return setUpAlready()
		}
		if _, err := s.store.AddUser(ctx, tx, u); err != nil {
			return err
		}
		who := principalOf(BrowserSession{User: u}, access.CredentialSession)
		if _, err := members.CreateWorkspace(ctx, tx, who, f.Workspace); err != nil {
			return err
		}
		in, err = s.open(ctx, tx, u, true, f.UserAgent)
		return err
	})
	return in, err
}

func setUpAlready() error {
	return access.Refuse(access.NotFound, "This server is set up already. Sign in.")
}

func (s *Accounts) checkSecret(ctx context.Context, f Setup) error {
	wait, ok := take(s.config.Setups, "setup "+f.Address)
	if !ok {
		return tooManyTries(wait)
	}
	hash, sound := access.HashToken(access.TokenSetup, f.Secret)
	var kept string
	err := s.work.Read(ctx, func(tx access.Tx) (err error) {
		kept, _, err = s.store.Setting(ctx, tx, setupSecretName)
		return err
	})
	if err != nil {
		return err
	}
	if !sound || kept == "" || subtle.ConstantTimeCompare([]byte(hash), []byte(kept)) != 1 {
		return access.Refuse(access.Forbidden, "The setup code is wrong. It is printed where osFoundry started.").
			With("errors", []Fault{faultf("/secret", "is not the setup code that osFoundry printed")})
	}
	giveBack(s.config.Setups, "setup "+f.Address)
	return nil
}

func (f Setup) user() (User, error) {
	var faults []Fault
	email, fault := Email(f.Email)
	if fault != "" {
		faults = append(faults, faultf("/email", "%s", fault))
	}
	name, fault := DisplayName(f.Name, MaxProjectName)
	if fault != "" {
		faults = append(faults, faultf("/name", "%s", fault))
	}
	if fault := passwordFault(f.Password); fault != "" {
		faults = append(faults, faultf("/password", "%s", fault))
	}
	if _, fault := DisplayName(f.Workspace, MaxProjectName); fault != "" {
		faults = append(faults, faultf("/workspace", "%s", fault))
	}
	if err := refuseFaults(faults...); err != nil {
		return User{}, err
	}
	return User{ID: NewID(), Email: email, Name: name}, nil
}

// SignIn is an attempt to sign in.
type SignIn struct {
	Email     string
	Password  string
	Keep      bool   // stay signed in when the browser is closed
	Address   string // of the caller, as limits count it
	UserAgent string
}

// SignIn checks a password and opens a session. One text answers a wrong password
// and an unknown address, in the same time; only failures count towards limits.
func (s *Accounts) SignIn(ctx context.Context, f SignIn) (SignedIn, error) {
	email, _ := Email(f.Email) // an impossible address is one that nobody has
	// Each try is counted before it is judged, or many at once would slip through.
	account, address := "account "+email, "address "+f.Address
	if wait, ok := take(s.config.SignIns, address); !ok {
		return SignedIn{}, tooManyTries(wait)
	}
	if wait, ok := take(s.config.SignIns, account); !ok {
		giveBack(s.config.SignIns, address)
		return SignedIn{}, tooManyTries(wait)
	}
	in, failed, err := s.try(ctx, email, f)
	if failed {
		return SignedIn{}, access.Refuse(access.Unauthenticated, "Email or password is wrong.")
	}
	giveBack(s.config.SignIns, account)
	giveBack(s.config.SignIns, address)
	return in, err
}

// try judges one sign-in; failed is the caller's failure, err is ours.
func (s *Accounts) try(ctx context.Context, email string, f SignIn) (in SignedIn, failed bool, err error) {
	var u User
	err = s.work.Read(ctx, func(tx access.Tx) (err error) {
		u, err = s.store.UserByEmail(ctx, tx, email)
		return err
	})
	if err != nil && access.CodeOf(err) != access.NotFound {
		return SignedIn{}, false, err
	}
	ok, err := s.matches(ctx, f.Password, u.PasswordHash)
	if err != nil {
		return SignedIn{}, false, err
	}
	if !ok || u.Disabled {
		s.auditSignIn(ctx, u.ID)
		return SignedIn{}, true, nil
	}
	err = s.work.Write(ctx, func(tx access.Tx) error {
		ok, err := s.store.ConfirmPassword(ctx, tx, u.ID, u.PasswordHash)
		if failed = !ok; err != nil || failed { // it was changed while it was compared
			return err
		}
		in, err = s.open(ctx, tx, u, f.Keep, f.UserAgent)
		return err
	})
	return in, failed && err == nil, err
}

func take(t Tries, key string) (time.Duration, bool) {
	if t == nil {
		return 0, true
	}
	return t.Take(key)
}

func giveBack(t Tries, key string) {
	if t != nil {
		t.Return(key)
	}
}

func tooManyTries(wait time.Duration) error {
	return access.Refuse(access.RateLimited, "Too many tries. Wait 5 minutes.").With("retry_after_ms", wait.Milliseconds())
}

// auditSignIn notes a failed sign-in. Failing to note it does not change the
// answer: it is a refusal already.
func (s *Accounts) auditSignIn(ctx context.Context, userID string) {
	ctx = context.WithoutCancel(ctx) // who hung up failed too
	_ = s.work.Write(ctx, func(tx access.Tx) error {
		return s.audit.AppendAudit(ctx, tx, Entry{ID: NewID(), UserID: userID, Tool: "session.create", Code: access.Unauthenticated, CreatedAt: s.now()})
	})
}

// open begins a session. Its token is new, whoever sat at this browser before.
func (s *Accounts) open(ctx context.Context, tx access.Tx, u User, keep bool, userAgent string) (SignedIn, error) {
	token, hash := access.MintToken(access.TokenSession)
	now := s.now()
	life := s.config.SessionIdle
	if keep {
		life = s.config.SessionLife
	}
	session := BrowserSession{ID: NewID(), User: u, CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(life)}
	userAgent = strings.ToValidUTF8(userAgent[:min(len(userAgent), maxUserAgent)], "") // a header may hold any bytes
	if err := s.store.AddSession(ctx, tx, session, hash, userAgent); err != nil {
		return SignedIn{}, err
	}
	err := s.audit.AppendAudit(ctx, tx, Entry{ID: NewID(), UserID: u.ID, Tool: "session.create", CreatedAt: now})
	in := SignedIn{Token: token, Principal: principalOf(session, access.CredentialSession)}
	if keep {
		in.ExpiresAt = session.ExpiresAt
	}
	return in, err
}

func principalOf(s BrowserSession, c access.Credential) access.Principal {
	p := access.Principal{Credential: c, UserID: s.User.ID, UserName: s.User.Name, UserEmail: s.User.Email, SessionID: s.ID}
	if c == access.CredentialSession {
		p.SignedInAt = s.CreatedAt
	}
	return p
}

// SignOut ends the session of the token, if there is one.
func (s *Accounts) SignOut(ctx context.Context, token string) error {
	hash, ok := access.HashToken(access.TokenSession, token)
	if !ok {
		return nil
	}
	return s.work.Write(ctx, func(tx access.Tx) error { return s.store.RemoveSession(ctx, tx, hash) })
}

// Session is who the cookie's token belongs to, by the state of this moment;
// Unauthenticated if it is unknown, ended, too old or was not used for too long.
func (s *Accounts) Session(ctx context.Context, token string) (access.Principal, error) {
	return s.session(ctx, token, true)
}

// LookAtSession is Session for a look that is no use: whoever only listens does
// not stay signed in by that.
func (s *Accounts) LookAtSession(ctx context.Context, token string) (access.Principal, error) {
	return s.session(ctx, token, false)
}

func (s *Accounts) session(ctx context.Context, token string, used bool) (access.Principal, error) {
	hash, ok := access.HashToken(access.TokenSession, token)
	if !ok {
		return access.Principal{}, signInFirst()
	}
	found, err := s.find(ctx, hash, s.store.SessionByToken)
	if err != nil {
		return access.Principal{}, err
	}
	now := s.now()
	if !now.Before(found.ExpiresAt) || found.User.Disabled {
		return access.Principal{}, signInFirst()
	}
	if used {
		s.see(ctx, found, now, func(tx access.Tx) error {
			return s.store.SeeSession(ctx, tx, found.ID, now, s.lives(found, now))
		})
	}
	return principalOf(found, access.CredentialSession), nil
}

// lives is until when a session that is used now lives: until it is not used for
// SessionIdle, but not beyond SessionLife. One that the person asked to keep has
// all of that from the beginning.
func (s *Accounts) lives(found BrowserSession, now time.Time) time.Time {
	idle, end := now.Add(s.config.SessionIdle), found.CreatedAt.Add(s.config.SessionLife)
	if idle.Before(end) {
		return idle
	}
	return end
}

// PersonalToken is whose token this is, by the state of this moment.
func (s *Accounts) PersonalToken(ctx context.Context, token string) (access.Principal, error) {
	hash, ok := access.HashToken(access.TokenPersonal, token)
	if !ok {
		return access.Principal{}, signInFirst()
	}
	found, err := s.find(ctx, hash, s.store.PersonalTokenByToken)
	if err != nil {
		return access.Principal{}, err
	}
	if found.User.Disabled {
		return access.Principal{}, signInFirst()
	}
	now := s.now()
	s.see(ctx, found, now, func(tx access.Tx) error { return s.store.SeePersonalToken(ctx, tx, found.ID, now) })
	return principalOf(found, access.CredentialPersonalToken), nil
}

func signInFirst() error { return access.Refuse(access.Unauthenticated, "Sign in to go on.") }

func (s *Accounts) find(ctx context.Context, token access.TokenHash,
	by func(context.Context, access.Tx, access.TokenHash) (BrowserSession, error)) (found BrowserSession, err error) {
	err = s.work.Read(ctx, func(tx access.Tx) (err error) {
		found, err = by(ctx, tx, token)
		return err
	})
	if access.CodeOf(err) == access.NotFound {
		return BrowserSession{}, signInFirst()
	}
	return found, err
}

// see notes the use, to the minute. It is for the person to look at; a failure
// must not keep them out.
func (s *Accounts) see(ctx context.Context, found BrowserSession, now time.Time, note func(access.Tx) error) {
	if now.Sub(found.LastSeenAt) < seenEvery {
		return
	}
	_ = s.work.Write(ctx, note)
}

// Me is the person's own account.
func (s *Accounts) Me(ctx context.Context, tx access.Tx, who access.Principal) (User, error) {
	return s.store.UserByID(ctx, tx, who.UserID)
}

// CreatePersonalToken makes a token for scripts of who. It is returned once.
func (s *Accounts) CreatePersonalToken(ctx context.Context, tx access.Tx, who access.Principal, name string) (PersonalToken, string, error) {
	name, fault := DisplayName(name, MaxProjectName)
	if fault != "" {
		return PersonalToken{}, "", refuseFaults(faultf("/name", "%s", fault))
	}
	token, hash := access.MintToken(access.TokenPersonal)
	made := PersonalToken{ID: NewID(), Name: name, CreatedAt: s.now()}
	return made, token, s.store.AddPersonalToken(ctx, tx, made, who.UserID, hash)
}

// PersonalTokens lists the tokens of who that are not revoked.
func (s *Accounts) PersonalTokens(ctx context.Context, tx access.Tx, who access.Principal, page Page) (Listing[PersonalToken], error) {
	rows, err := s.store.PersonalTokens(ctx, tx, who.UserID, Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(t PersonalToken) string { return t.ID }), err
}

// RevokePersonalToken ends a token of who.
func (s *Accounts) RevokePersonalToken(ctx context.Context, tx access.Tx, who access.Principal, id string) error {
	ok, err := s.store.RevokePersonalToken(ctx, tx, who.UserID, id, s.now())
	if err == nil && !ok {
		return access.Refuse(access.NotFound, "There is no personal token with this ID.")
	}
	return err
}

// findOrAdd is the account of the address, made if there is none.
func (s *Accounts) findOrAdd(ctx context.Context, tx access.Tx, email, name, passwordHash string) (User, error) {
	u := User{ID: NewID(), Email: email, Name: name, PasswordHash: passwordHash, CreatedAt: s.now()}
	added, err := s.store.AddUser(ctx, tx, u)
	if err != nil || added {
		return u, err
	}
	return s.store.UserByEmail(ctx, tx, email)
}

// invite makes the token of an invitation link.
func (s *Accounts) invite(ctx context.Context, tx access.Tx, workspaceID, userID string) (string, error) {
	token, hash := access.MintToken(access.TokenInvite)
	now := s.now()
	return token, s.store.AddInvitation(ctx, tx, hash, workspaceID, userID, now, now.Add(invitationLife))
}

// Invitation is what the token of an invitation link stands for. NotFound if it
// is unknown, used or too old.
func (s *Accounts) Invitation(ctx context.Context, token string) (found Invitation, err error) {
	hash, ok := access.HashToken(access.TokenInvite, token)
	if !ok {
		return Invitation{}, noInvitation()
	}
	err = s.work.Read(ctx, func(tx access.Tx) (err error) {
		found, err = s.store.InvitationByToken(ctx, tx, hash)
		return err
	})
	if access.CodeOf(err) == access.NotFound || err == nil && (found.Used || !s.now().Before(found.ExpiresAt) || found.User.Disabled) {
		return Invitation{}, noInvitation()
	}
	return found, err
}

func noInvitation() error {
	return access.Refuse(access.NotFound, "This invitation was used or is too old. Ask an owner for a new one.")
}

// AcceptInvitation sets the password of the invited person, once, and signs
// them in. All earlier sessions of theirs end.
func (s *Accounts) AcceptInvitation(ctx context.Context, token, password, userAgent string) (SignedIn, error) {
	found, err := s.Invitation(ctx, token)
	if err != nil {
		return SignedIn{}, err
	}
	hash, err := s.HashPassword(ctx, password)
	if err != nil {
		return SignedIn{}, err
	}
	tokenHash, _ := access.HashToken(access.TokenInvite, token)
	var in SignedIn
	err = s.work.Write(ctx, func(tx access.Tx) error {
		ok, err := s.store.UseInvitation(ctx, tx, tokenHash, s.now())
		if err != nil {
			return err
		}
		if !ok {
			return noInvitation()
		}
		if err := s.setPassword(ctx, tx, found.User.ID, hash); err != nil {
			return err
		}
		in, err = s.open(ctx, tx, found.User, false, userAgent)
		return err
	})
	return in, err
}

// setPassword also ends what could still be done with the old one, and the other
// links by which somebody could choose yet another.
func (s *Accounts) setPassword(ctx context.Context, tx access.Tx, userID, hash string) error {
	if err := s.store.SetPassword(ctx, tx, userID, hash); err != nil {
		return err
	}
	if err := s.store.VoidInvitations(ctx, tx, userID, "", s.now()); err != nil {
		return err
	}
	return s.store.RemoveSessionsOf(ctx, tx, userID)
}

// PrincipalByEmail is the person with this address, as the command line of the
// server's machine acts for them.
func (s *Accounts) PrincipalByEmail(ctx context.Context, tx access.Tx, email string) (access.Principal, error) {
	clean, fault := Email(email)
	if fault != "" {
		return access.Principal{}, refuseFaults(faultf("/email", "%s", fault))
	}
	u, err := s.store.UserByEmail(ctx, tx, clean)
	return principalOf(BrowserSession{User: u}, access.CredentialPersonalToken), err
}

// NewPasswordLink makes the token of a link by which the person with this address
// chooses a new password. It is bound to one of their workspaces, as invitations
// are.
func (s *Accounts) NewPasswordLink(ctx context.Context, tx access.Tx, email string) (string, error) {
	who, err := s.PrincipalByEmail(ctx, tx, email)
	if err != nil {
		return "", err
	}
	workspaceID, err := s.store.AnyWorkspaceOf(ctx, tx, who.UserID)
	if err != nil {
		return "", err
	}
	return s.invite(ctx, tx, workspaceID, who.UserID)
}
