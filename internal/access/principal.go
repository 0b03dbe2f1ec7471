package access

import "time"

// Kind names what a Permit can be about.
type Kind string

// The kinds of things. KindWorkspace stands for the workspace as a whole, such
// as its list of connections; a resource kind's ID is that resource's.
const (
	KindWorkspace  Kind = "workspace"
	KindProject    Kind = "project"
	KindConnection Kind = "connection"
	KindNote       Kind = "note"
	KindSession    Kind = "session"
	KindHandoff    Kind = "handoff"
	KindTask       Kind = "task"
)

// Ref names one thing by kind and ID, as a caller gave it. The ID is untrusted
// and may name nothing, or a thing of another workspace.
type Ref struct {
	Kind Kind
	ID   string
	Type string // of a session: agent, team or loop; "" is any
	In   string // the session that a task or handoff must be of; "" is any
	// Along is what the check's own statement reads along besides the thing's row,
	// so that a call can be answered from one statement; see Permit.Loaded.
	Along Along
}

// Along is what is read along with a thing.
type Along uint8

// AlongOutline is the tabs of a note, without their text.
const AlongOutline Along = 1

// Role is a person's role in a workspace; "" is no member.
type Role string

// The roles, from most to least.
const (
	RoleOwner  Role = "owner"
	RoleEditor Role = "editor"
	RoleViewer Role = "viewer"
)

// Valid reports whether r is one of the three roles.
func (r Role) Valid() bool { return r == RoleOwner || r == RoleEditor || r == RoleViewer }

// MayEdit reports whether the role carries edit rights.
func (r Role) MayEdit() bool { return r == RoleOwner || r == RoleEditor }

// Right is how much a call does to a thing. A greater right includes the lesser.
type Right uint8

// RightNone is no right at all: the zero value allows nothing.
const (
	RightNone   Right = iota
	RightView         // read it
	RightEdit         // change its content, place or title
	RightManage       // change who may do what: members, connections, ACL, local-only
)

func (r Right) String() string {
	return [...]string{"none", "view", "edit", "manage"}[min(r, RightManage)]
}

// ParseRight reads "view" or "edit", the rights an ACL can give; anything else
// is RightNone.
func ParseRight(s string) Right {
	switch s {
	case "view":
		return RightView
	case "edit":
		return RightEdit
	}
	return RightNone
}

// Seat is what a connection may do in one session. A greater seat includes the
// lesser (product.md §4).
type Seat uint8

// The seats. SeatNone is no seat at all.
const (
	SeatNone        Seat = iota
	SeatObserver         // reads state, results of its own tasks, and mail
	SeatContributor      // also proposes and cancels handoffs, and posts notes
	SeatRunner           // also requests runs
)

func (s Seat) String() string {
	return [...]string{"none", "observer", "contributor", "runner"}[min(s, SeatRunner)]
}

// ParseSeat reads the name of a seat; anything else is SeatNone.
func ParseSeat(name string) Seat {
	for s := SeatObserver; s <= SeatRunner; s++ {
		if s.String() == name {
			return s
		}
	}
	return SeatNone
}

// Credential says how a principal proved who it is.
type Credential uint8

// The credentials. Only a browser session may decide what the contract keeps
// for people.
const (
	CredentialNone Credential = iota
	CredentialAccessToken
	CredentialSession
	CredentialPersonalToken
	CredentialAgent // a round of a task; it proves nothing by itself, see CheckAgent
)

// Principal is who a call comes from, as the database knew it at that moment.
type Principal struct {
	Credential     Credential
	UserID         string // the person, or the approver of the connection
	UserName       string
	UserEmail      string // people only
	ConnectionID   string // "" for a person
	ConnectionName string
	ConnectionSlug string
	WorkspaceID    string    // the connection's workspace; "" for a person
	Scopes         Scopes    // "" for a person
	SignedInAt     time.Time // a browser session only
	SessionID      string    // which browser session or personal token; for the log and for sign-out
	Agent          string    // slug of the agent whose round calls; "" for all others
	TaskID         string    // of that round
}

// IsConnection reports whether the principal is an outside assistant, or an agent
// that works for one: what local-only data and foreign drafts are kept from.
func (p Principal) IsConnection() bool { return p.ConnectionID != "" }

// TokenHash is the SHA-256 of a presented token, in unpadded base64url: what
// the database holds instead of the token.
type TokenHash string
