package oauth

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Source says how a client became known.
type Source string

// The sources.
const (
	Registered Source = "registration" // RFC 7591
	Document   Source = "document"     // Client ID Metadata Document
)

// Client is an OAuth client as it is kept.
type Client struct {
	ID           string // ours, or the https URL of the document
	Source       Source
	Name         string // what it calls itself, or ""
	Metadata     string // JSON: what it said of itself, as far as it was taken over
	RedirectURIs []string
	Address      string // that registered it
	CreatedAt    time.Time
	LastUsedAt   time.Time // zero: nobody approved it yet
	FetchedUntil time.Time // of a document: when the kept copy is too old
}

// Request is a pending request of the authorize endpoint.
type Request struct {
	ID        string
	Browser   access.TokenHash // of the cookie that binds it to one browser
	ClientID  string
	Redirect  string // as asked for, or the client's only one
	Scopes    access.Scopes
	State     string // any bytes
	HasState  bool
	Challenge string // RFC 7636 §4.2, S256
	Resource  string // canonical
	CreatedAt time.Time
	ExpiresAt time.Time
	DecidedAt time.Time // zero: still open
}

// Choice is a workspace of a person, as the consent page offers it.
type Choice struct {
	ID   string
	Name string
	Role access.Role
}

// Earlier is a connection that the person approved for the same client before,
// and that is not revoked.
type Earlier struct {
	WorkspaceID string
	Name        string
	CreatedAt   time.Time
}

// Code is an authorization code as it is kept.
type Code struct {
	Hash      access.TokenHash
	ClientID  string
	Redirect  string
	Challenge string
	Scopes    access.Scopes
	Resource  string
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero: never
	Grant     Grant
}

// AccessToken is an access token as it is kept.
type AccessToken struct {
	Hash         access.TokenHash
	ConnectionID string
	Scopes       access.Scopes
	Resource     string
	CreatedAt    time.Time
	ExpiresAt    time.Time
	RevokedAt    time.Time // zero: never
}

// RefreshToken is a refresh token as it is kept. Those of one connection are a
// family, in which each follows from the one before.
type RefreshToken struct {
	Hash          access.TokenHash
	ClientID      string
	Generation    int64 // counts up within the family from 1
	Scopes        access.Scopes
	Resource      string
	CreatedAt     time.Time
	ExpiresAt     time.Time // slides with each renewal
	FamilyEnds    time.Time // does not
	UsedAt        time.Time // zero: never
	Answer        string    // what its use was answered, sealed under a key made from the token
	Retries       int64     // how often that answer was repeated
	Address       string    // that used it
	SuccessorUsed bool      // the next of the family was used, or is gone
	Grant         Grant
}

// Grant is the state of a connection and its approver that decides whether
// tokens follow from it.
type Grant struct {
	ConnectionID string
	WorkspaceID  string
	Name         string
	ApproverID   string
	ClientID     string
	Address      string // of the approving browser
	Status       string // of the connection
	FamilyEnded  bool   // its tokens were revoked, or one was stolen
	Disabled     bool   // the approver's account
	Member       bool   // the approver still is in the workspace
}

// Alive reports whether tokens may follow from the grant. A paused connection,
// or one whose approver may only look, keeps its tokens: its calls are refused
// one by one, and work again when the reason is gone (product.md §3).
func (g Grant) Alive() bool {
	return (g.Status == "active" || g.Status == "paused") && !g.FamilyEnded && !g.Disabled && g.Member
}

// Expired counts what a purge removed.
type Expired struct {
	Clients, Requests, Codes, Tokens int64
}

// Cutoffs says what a purge may remove: what is older than these moments.
type Cutoffs struct {
	Now       time.Time
	Unused    time.Time // clients that nobody approved: registered before
	Idle      time.Time // clients without a living grant: last used before
	Documents time.Time // documents that nobody approved: too old since before
	Codes     time.Time // used codes, whose challenge must not come again: issued before
}

// Store keeps what the authorization server knows. The methods that find one
// thing answer ok false when there is none.
type Store interface {
	// Client finds a client by its ID.
	Client(ctx context.Context, tx access.Tx, id string) (c Client, ok bool, err error)
	// AddClient keeps a registered client; KeepDocument a fetched one, in place of
	// an older copy.
	AddClient(ctx context.Context, tx access.Tx, c Client) error
	KeepDocument(ctx context.Context, tx access.Tx, c Client) error
	// Unused counts the registered clients since then that nobody approved, those
	// of the address and all. Until the end of tx nobody else counts.
	Unused(ctx context.Context, tx access.Tx, address string, since time.Time) (ofAddress, all int64, err error)
	// UseClient notes that somebody approved the client, or that it was used.
	UseClient(ctx context.Context, tx access.Tx, id string, now time.Time) error
	// Approved reports whether the user approved the client before, in any
	// workspace.
	Approved(ctx context.Context, tx access.Tx, clientID, userID string) (bool, error)

	// AddRequest keeps a pending request, Request finds it.
	AddRequest(ctx context.Context, tx access.Tx, r Request) error
	Request(ctx context.Context, tx access.Tx, id string) (r Request, ok bool, err error)
	// Decide closes the request of the browser; false if somebody did before, or it
	// is too old.
	Decide(ctx context.Context, tx access.Tx, id string, browser access.TokenHash, now time.Time) (bool, error)
	// Choices lists the workspaces of the user, by name; Earlier the user's
	// connections of the client.
	Choices(ctx context.Context, tx access.Tx, userID string) ([]Choice, error)
	Earlier(ctx context.Context, tx access.Tx, clientID, userID string) ([]Earlier, error)

	// AddCode keeps an authorization code of the connection; Code finds one.
	AddCode(ctx context.Context, tx access.Tx, connectionID string, c Code) error
	Code(ctx context.Context, tx access.Tx, hash access.TokenHash) (c Code, ok bool, err error)
	// UseCode uses the code up; false if it was used before.
	UseCode(ctx context.Context, tx access.Tx, hash access.TokenHash, now time.Time) (bool, error)
	// ChallengeUsed reports whether a code with this challenge was redeemed.
	ChallengeUsed(ctx context.Context, tx access.Tx, clientID, challenge string) (bool, error)

	// Hold makes everybody else who issues or revokes tokens of the connection wait
	// for the end of tx.
	Hold(ctx context.Context, tx access.Tx, connectionID string) error
	// AddAccess and AddRefresh keep tokens of the connection.
	AddAccess(ctx context.Context, tx access.Tx, t AccessToken) error
	AddRefresh(ctx context.Context, tx access.Tx, connectionID string, t RefreshToken) error
	// Access and Refresh find tokens.
	Access(ctx context.Context, tx access.Tx, hash access.TokenHash) (t AccessToken, g Grant, ok bool, err error)
	Refresh(ctx context.Context, tx access.Tx, hash access.TokenHash) (t RefreshToken, ok bool, err error)
	// UseRefresh uses the token up and keeps the answer; false if it was used
	// before. The answer of the token before it, which nobody can ask for any more,
	// is forgotten.
	UseRefresh(ctx context.Context, tx access.Tx, t RefreshToken) (bool, error)
	// RepeatRefresh counts one repeated answer.
	RepeatRefresh(ctx context.Context, tx access.Tx, hash access.TokenHash) error
	// EndAccess revokes one access token.
	EndAccess(ctx context.Context, tx access.Tx, hash access.TokenHash, now time.Time) error
	// EndFamily revokes the connection and all its tokens; false if it was done
	// before.
	EndFamily(ctx context.Context, tx access.Tx, connectionID, reason string, now time.Time) (bool, error)

	// Notify tells the user something in the app. TellOwners tells all owners of
	// the workspace but the user.
	Notify(ctx context.Context, tx access.Tx, n Notice) error
	TellOwners(ctx context.Context, tx access.Tx, n Notice) error
	// Purge removes what is over.
	Purge(ctx context.Context, tx access.Tx, c Cutoffs) (Expired, error)
}

// Notice is what a person should know, in the app.
type Notice struct {
	UserID      string
	WorkspaceID string
	Type        string // such as connection.created
	Data        map[string]any
	CreatedAt   time.Time
}
