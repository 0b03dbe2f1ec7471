package access

import (
	"context"
	"time"
)

// Tx is the unit of work that a check and its effect share: one snapshot for a
// read, one transaction for a write. Package storage makes it; nobody keeps it.
type Tx interface {
	// Writable reports whether the unit of work can change anything.
	Writable() bool
	// AfterCommit runs f once the unit of work is durable, never if it is not.
	AfterCommit(f func())
}

// Work runs units of work. Both methods may run f more than once, when the
// database asks for another try; f must not have effects outside tx.
type Work interface {
	// Read runs f on one consistent snapshot.
	Read(ctx context.Context, f func(tx Tx) error) error
	// ReadOne is Read for an f that makes at most one statement, which is its own
	// snapshot and costs one round trip. A second statement is an error.
	ReadOne(ctx context.Context, f func(tx Tx) error) error
	// Write runs f in one transaction and returns nil only when it is durable. An
	// error from f rolls back. A database that cannot make it durable, or cannot
	// say whether it did, is an Error with code Unavailable.
	Write(ctx context.Context, f func(tx Tx) error) error
}

// Source reads the facts of a check from the database's current state.
type Source interface {
	// ConnectionFacts reads, with one statement, the access token, its connection,
	// the approver and the thing named by ref. An unknown token gives Facts with
	// TokenKnown false. A zero ref asks about the connection itself.
	ConnectionFacts(ctx context.Context, tx Tx, token TokenHash, ref Ref) (Facts, error)
	// PersonFacts reads, with one statement, the person and the thing named by ref.
	PersonFacts(ctx context.Context, tx Tx, userID string, ref Ref) (Facts, error)
	// Touch records that a call of this token begins and, on a database with
	// concurrent writers, makes revoke, pause and project changes of its
	// connection wait for the end of tx, or tx for theirs. Writes call it before
	// the check.
	Touch(ctx context.Context, tx Tx, token TokenHash, ref Ref, now time.Time) error
	// HoldPerson is Touch for a person who is about to use this right on the thing:
	// changes of their role, and of who may see the thing, wait for the end of tx, or
	// tx for theirs. It tells nothing and holds nothing of other workspaces.
	HoldPerson(ctx context.Context, tx Tx, userID string, ref Ref, right Right) error
	// AgentFacts reads the round with its task, whoever started it, and the thing
	// named by ref, or with its session's project where ref names a connection: an
	// agent has none of its own. A round that is not known gives AgentFacts with
	// TaskKnown false.
	AgentFacts(ctx context.Context, tx Tx, round RoundRef, ref Ref) (AgentFacts, error)
	// HoldAgent is Touch for a round: stopping its task, and changes of the rights of
	// whoever started it, wait for the end of tx, or tx for theirs.
	HoldAgent(ctx context.Context, tx Tx, round RoundRef, ref Ref, right Right) error
}

// Facts is the state of one moment that one check judges. Times are Unix
// milliseconds; 0 means never.
type Facts struct {
	// The token and its connection (outside assistants only).
	TokenKnown       bool
	TokenExpires     int64
	TokenRevoked     bool // this token, or its whole family (RFC 7009, or reuse of a refresh token)
	Scopes           Scopes
	ConnectionID     string
	ConnectionName   string
	ConnectionSlug   string
	ConnectionStatus string // active, paused, revoked

	// The person: the caller, or the approver of the connection.
	UserID       string
	UserName     string
	UserEmail    string
	UserDisabled bool
	WorkspaceID  string // of the connection; for a person, of the thing
	Role         Role   // in WorkspaceID; "" is no member

	// The thing. Found is false for an ID that names nothing in the workspace.
	Found          bool
	ProjectID      string
	ProjectPrivate bool
	ProjectMember  bool // the person is a member of the private project
	ProjectOwner   bool // the person made the project
	ProjectGranted bool // the project is among the connection's projects
	LocalOnly      bool
	HasACL         bool
	ACLRight       Right  // the person's, where HasACL
	OwnConnection  bool   // KindConnection: the person approved it
	SessionType    string // KindSession, KindHandoff, KindTask: of the session
	SessionID      string // KindHandoff, KindTask: the session it is of
	SessionOwner   bool   // the person owns the session
	Seat           Seat   // the connection's in the session
	MadeBy         string // KindHandoff, KindTask: the connection that proposed or requested it; "" is a person
	Loaded         any    // the row itself, where the statement read it along; see Permit.Loaded
}

// Permission is what a call needs; it stands beside the tool or call it governs.
type Permission struct {
	Scopes Scopes // of the token; people need none
	Right  Right  // on the thing
	Seat   Seat   // of a connection in the session; people need none
	Own    bool   // a connection must have made the handoff or task itself
}

// Permit is the proof that a principal may do something to one thing within
// the unit of work it was made in. Only Check makes one; the zero Permit covers
// nothing. Whoever reads or changes data takes the IDs from the permit, never
// from the caller.
type Permit struct {
	principal Principal
	ref       Ref
	workspace string
	project   string
	role      Role
	right     Right
	seat      Seat
	loaded    any
}

// Principal is who was permitted.
func (p Permit) Principal() Principal { return p.principal }

// Workspace is the ID of the workspace of the thing; "" on the zero Permit.
func (p Permit) Workspace() string { return p.workspace }

// Project is the ID of the thing's project; "" if it lies in none.
func (p Permit) Project() string { return p.project }

// ID is the thing's ID.
func (p Permit) ID() string { return p.ref.ID }

// Kind is the thing's kind.
func (p Permit) Kind() Kind { return p.ref.Kind }

// Role is the person's or approver's role in the workspace.
func (p Permit) Role() Role { return p.role }

// Loaded is the row that the check's own statement read along, or nil. It is of
// the same snapshot as the decision.
func (p Permit) Loaded() any { return p.loaded }

// Seat is the connection's seat in the permit's session; SeatNone for people.
func (p Permit) Seat() Seat { return p.seat }

// Seated returns nil if the permit is for a session, handoff or task and its
// connection has at least this seat there, and an Internal error otherwise: it is
// Covers for what seats allow.
func (p Permit) Seated(kind Kind, seat Seat) error {
	if seat == SeatNone || p.seat < seat || p.ref.Kind != kind || p.workspace == "" {
		return Refuse(Internal, "This call was not checked.").Because(
			Refuse(Internal, "permit with seat %s for %s used as %s for %s", p.seat, p.ref.Kind, seat, kind))
	}
	return nil
}

// Covers returns nil if the permit is for a thing of this kind with at least
// this right, and an Internal error otherwise: asking is the duty of every
// method that takes a Permit.
func (p Permit) Covers(kind Kind, right Right) error {
	if right == RightNone || p.right < right || p.ref.Kind != kind || p.workspace == "" {
		return Refuse(Internal, "This call was not checked.").Because(
			Refuse(Internal, "permit for %s %s used for %s %s", p.right, p.ref.Kind, right, kind))
	}
	return nil
}

// Identify judges the token alone: HTTP 401 if it is unknown, expired or
// revoked. It is the first part of CheckConnection, for calls that end before a
// thing is named (an unknown tool, wrong arguments, a list of tools).
func Identify(f Facts, now time.Time) (Principal, error) {
	if !f.TokenKnown || f.TokenRevoked || f.TokenExpires <= now.UnixMilli() ||
		f.Scopes == 0 || f.ConnectionID == "" || f.UserID == "" || f.WorkspaceID == "" {
		return Principal{}, Refuse(InvalidToken, "Connect osFoundry to continue")
	}
	return Principal{
		Credential: CredentialAccessToken, UserID: f.UserID, UserName: f.UserName,
		ConnectionID: f.ConnectionID, ConnectionName: f.ConnectionName, ConnectionSlug: f.ConnectionSlug,
		WorkspaceID: f.WorkspaceID, Scopes: f.Scopes,
	}, nil
}

// NeedScopes refuses with InsufficientScope unless the principal's token has
// all scopes of need (RFC 6750 §3.1). The refusal names the union of granted
// and needed scopes, so that a host that asks again does not lose any.
func NeedScopes(p Principal, need Scopes) error {
	if p.Scopes.Has(need) {
		return nil
	}
	return Refuse(InsufficientScope, "This needs the permission %s. Connect again and leave it ticked.", need&^p.Scopes).
		With("scope", (p.Scopes | need).String())
}

// CheckConnection decides about a call of an outside assistant, in the fixed
// order of product.md §3. The first condition that fails answers.
func CheckConnection(f Facts, need Permission, ref Ref, now time.Time) (Permit, error) {
	who, err := Identify(f, now)
	if err != nil {
		return Permit{}, err
	}
	if err := NeedScopes(who, need.Scopes); err != nil {
		return Permit{}, err
	}
	return checkConnection(f, who, need, ref)
}

// checkConnection is what follows the token and its scopes.
func checkConnection(f Facts, who Principal, need Permission, ref Ref) (Permit, error) {
	switch f.ConnectionStatus {
	case "active":
	case "paused":
		return Permit{}, Refuse(ConnectionPaused, "The owner paused this connection. It works again when they resume it.")
	default: // unknown is as good as revoked
		return Permit{}, Refuse(ConnectionRevoked, "This connection was revoked. Connect again to go on.")
	}
	onThing := ref.Kind != KindConnection
	if onThing && !found(f, ref) {
		return Permit{}, Refuse(NotFound, "There is no %s with this ID.", ref.Kind)
	}
	if f.UserDisabled || !f.Role.MayEdit() || onThing && f.ProjectPrivate && !f.ProjectMember {
		return Permit{}, Refuse(ApproverLostAccess, "The person who approved this connection no longer has edit rights here.")
	}
	if onThing {
		switch {
		case !f.ProjectGranted:
			return Permit{}, Refuse(NotInProject, "This %s is not in a project that the connection was added to.", ref.Kind)
		case f.LocalOnly:
			return Permit{}, Refuse(LocalOnly, "This %s stays on its server; no connection can see it.", ref.Kind)
		case f.HasACL && f.ACLRight < RightEdit:
			return Permit{}, Refuse(ACLDenied, "This %s is shared with listed people only, and the approver is not one of them with edit rights.", ref.Kind)
		}
		if err := seated(f, need, ref); err != nil {
			return Permit{}, err
		}
	} else {
		ref.ID = f.ConnectionID
	}
	if need.Right == RightNone || need.Right > RightEdit { // managing is for people
		return Permit{}, Refuse(HumanRequired, "Only a person can do this, in the web app.")
	}
	return Permit{principal: who, ref: ref, workspace: f.WorkspaceID, project: f.ProjectID, role: f.Role, right: need.Right, seat: f.Seat, loaded: f.Loaded}, nil
}

// found reports whether the thing is there, and is the one that was named: a
// session of the named type, a task or handoff of the named session.
func found(f Facts, ref Ref) bool {
	return f.Found && (ref.Type == "" || ref.Type == f.SessionType) && (ref.In == "" || ref.In == f.SessionID)
}

// inSession reports whether things of the kind lie in a session, where a
// connection needs a seat.
func inSession(kind Kind) bool { return kind == KindSession || kind == KindHandoff || kind == KindTask }

// seated judges seat and ownership, the last two conditions about a thing. Without
// a need of its own a tool still needs to be an observer in the session.
func seated(f Facts, need Permission, ref Ref) error {
	if !inSession(ref.Kind) {
		return nil
	}
	least := max(need.Seat, SeatObserver)
	if f.Seat < least {
		return Refuse(SeatRequired, "This needs the %s seat in the session. Its owner gives seats in the session's Connected tab.", least).
			With("needed", least.String()).With("have", f.Seat.String())
	}
	if need.Own && ref.Kind != KindSession && (f.MadeBy == "" || f.MadeBy != f.ConnectionID) {
		return Refuse(NotYours, "This %s was not made by this connection.", ref.Kind)
	}
	return nil
}

// CheckPerson decides about a call of a person. Things of workspaces the person
// is not in do not exist for them; inside the workspace the refusal says why.
func CheckPerson(f Facts, who Principal, need Permission, ref Ref) (Permit, error) {
	if who.UserID == "" || who.UserID != f.UserID || f.UserDisabled || who.Credential != CredentialSession && who.Credential != CredentialPersonalToken {
		return Permit{}, Refuse(Unauthenticated, "Sign in to go on.")
	}
	return checkPerson(f, who, need, ref)
}

// checkPerson is what follows the sign-in.
func checkPerson(f Facts, who Principal, need Permission, ref Ref) (Permit, error) {
	if f.UserDisabled {
		return Permit{}, Refuse(Forbidden, "This account is disabled.")
	}
	if !found(f, ref) || !f.Role.Valid() || f.WorkspaceID == "" {
		return Permit{}, Refuse(NotFound, "There is no %s with this ID.", ref.Kind)
	}
	if need.Right == RightNone || !mayPerson(f, need.Right, ref.Kind) {
		return Permit{}, personRefusal(f, need.Right, ref.Kind)
	}
	who.WorkspaceID = f.WorkspaceID
	return Permit{principal: who, ref: ref, workspace: f.WorkspaceID, project: f.ProjectID, role: f.Role, right: need.Right, loaded: f.Loaded}, nil
}

// mayPerson is the table of what roles allow; personRefusal words its answer.
func mayPerson(f Facts, right Right, kind Kind) bool {
	owner := f.Role == RoleOwner
	switch kind {
	case KindWorkspace: // viewers look, editors add projects, owners manage people
		return right == RightView || right == RightEdit && f.Role.MayEdit() || owner
	case KindConnection: // everyone sees who is connected; owners and the approver change it
		return right == RightView || owner || f.OwnConnection
	case KindProject:
		if right == RightManage { // so that a private project can always be given members again
			return owner || f.ProjectOwner && f.Role.MayEdit() && (!f.ProjectPrivate || f.ProjectMember)
		}
		return inProject(f) && (right == RightView || f.Role.MayEdit())
	}
	if !inProject(f) { // a resource
		return false
	}
	if right == RightManage { // who may see it is the owners' matter, listed or not
		return owner || (f.ProjectOwner || f.SessionOwner) && f.Role.MayEdit()
	}
	if f.HasACL && f.ACLRight < right {
		return false
	}
	return right == RightView || f.Role.MayEdit()
}

func inProject(f Facts) bool { return !f.ProjectPrivate || f.ProjectMember }

func personRefusal(f Facts, right Right, kind Kind) error {
	if kind != KindWorkspace && kind != KindConnection && !inProject(f) {
		return Refuse(NotInProject, "You can't see this project. Ask an owner.")
	}
	if kind != KindWorkspace && kind != KindConnection && kind != KindProject && right != RightManage && f.HasACL && f.ACLRight < right {
		return Refuse(ACLDenied, "This %s is shared with listed people only.", kind)
	}
	return Refuse(Forbidden, "Your role in this workspace does not allow this. Ask an owner.")
}
