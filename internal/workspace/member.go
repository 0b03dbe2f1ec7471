package workspace

import (
	"context"
	"net/mail"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// MaxEmail is how many bytes an e-mail address has (RFC 5321 §4.5.3.1.3).
const MaxEmail = 254

// Team is a workspace as one person sees it.
type Team struct {
	ID        string
	Name      string
	Role      access.Role // the person's
	CreatedAt time.Time
}

// Member is a person in a workspace.
type Member struct {
	ID       string
	Name     string
	Email    string
	Role     access.Role
	Invited  bool // has not chosen a password yet
	JoinedAt time.Time
}

// MemberStore keeps workspaces and who is in them. Methods that change what a
// person may do also update the connections that the person approved there, so
// that they meet calls that are on their way.
type MemberStore interface {
	AddWorkspace(ctx context.Context, tx access.Tx, id, name string, now time.Time) error
	RenameWorkspace(ctx context.Context, tx access.Tx, id, name string) error
	TeamsOf(ctx context.Context, tx access.Tx, userID string, page Page) ([]Team, error)
	Members(ctx context.Context, tx access.Tx, workspaceID string, page Page) ([]Member, error)
	// Member reads one; an unknown ID is an Error with code NotFound.
	Member(ctx context.Context, tx access.Tx, workspaceID, userID string) (Member, error)
	// AddMember says whether the person was no member before.
	AddMember(ctx context.Context, tx access.Tx, workspaceID, userID string, role access.Role, now time.Time) (bool, error)
	// MemberElsewhere says whether the person is in another workspace too.
	MemberElsewhere(ctx context.Context, tx access.Tx, workspaceID, userID string) (bool, error)
	ChangeRole(ctx context.Context, tx access.Tx, workspaceID, userID string, role access.Role) error
	// RemoveMember also takes the person off the workspace's projects and ACLs.
	RemoveMember(ctx context.Context, tx access.Tx, workspaceID, userID string) error
	// OwnersBeside counts the other owners; changes of members wait for each other,
	// so that the answer still holds at the end of tx.
	OwnersBeside(ctx context.Context, tx access.Tx, workspaceID, userID string) (int64, error)
}

// Members says what people may do with workspaces and the people in them.
type Members struct {
	store    MemberStore
	accounts *Accounts
	events   *Events
	now      func() time.Time
}

// NewMembers makes the service on its store, the accounts, the events and the
// clock.
func NewMembers(store MemberStore, accounts *Accounts, events *Events, now func() time.Time) *Members {
	return &Members{store: store, accounts: accounts, events: events, now: now}
}

// CreateWorkspace makes a workspace whose owner is who.
func (s *Members) CreateWorkspace(ctx context.Context, tx access.Tx, who access.Principal, name string) (Team, error) {
	name, fault := DisplayName(name, MaxProjectName)
	if fault != "" {
		return Team{}, refuseFaults(faultf("/name", "%s", fault))
	}
	made := Team{ID: NewID(), Name: name, Role: access.RoleOwner, CreatedAt: s.now()}
	if err := s.store.AddWorkspace(ctx, tx, made.ID, name, made.CreatedAt); err != nil {
		return Team{}, err
	}
	if _, err := s.store.AddMember(ctx, tx, made.ID, who.UserID, access.RoleOwner, made.CreatedAt); err != nil {
		return Team{}, err
	}
	return made, s.record(ctx, tx, who, made.ID, "workspace.created", who.UserID, access.RoleOwner)
}

// Teams lists the workspaces that who is in.
func (s *Members) Teams(ctx context.Context, tx access.Tx, who access.Principal, page Page) (Listing[Team], error) {
	rows, err := s.store.TeamsOf(ctx, tx, who.UserID, Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(t Team) string { return t.ID }), err
}

// RenameWorkspace gives the permit's workspace another name.
func (s *Members) RenameWorkspace(ctx context.Context, tx access.Tx, p access.Permit, name string) (Named, error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Named{}, err
	}
	name, fault := DisplayName(name, MaxProjectName)
	if fault != "" {
		return Named{}, refuseFaults(faultf("/name", "%s", fault))
	}
	if err := s.store.RenameWorkspace(ctx, tx, p.Workspace(), name); err != nil {
		return Named{}, err
	}
	return Named{ID: p.Workspace(), Name: name}, s.record(ctx, tx, p.Principal(), p.Workspace(), "workspace.renamed", p.Principal().UserID, "")
}

// List lists the members of the permit's workspace.
func (s *Members) List(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Member], error) {
	if err := p.Covers(access.KindWorkspace, access.RightView); err != nil {
		return Listing[Member]{}, err
	}
	rows, err := s.store.Members(ctx, tx, p.Workspace(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(m Member) string { return m.ID }), err
}

// NewMember is who to let into a workspace.
type NewMember struct {
	Email        string
	Name         string
	Role         access.Role
	PasswordHash string // of Accounts.HashPassword; "" invites
}

// Add lets a person into the permit's workspace. Somebody new gets an account;
// without a password the invitation is a token for the page where they choose
// one. Somebody known keeps name and password, and needs no invitation. Nor do
// they get one while another workspace has invited them: with it, the owners here
// could become a member there.
func (s *Members) Add(ctx context.Context, tx access.Tx, p access.Permit, n NewMember) (m Member, invitation string, err error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Member{}, "", err
	}
	if err := n.check(); err != nil {
		return Member{}, "", err
	}
	user, err := s.accounts.findOrAdd(ctx, tx, n.Email, n.Name, n.PasswordHash)
	if err != nil {
		return Member{}, "", err
	}
	added, err := s.store.AddMember(ctx, tx, p.Workspace(), user.ID, n.Role, s.now())
	if err != nil {
		return Member{}, "", err
	}
	if !added {
		return Member{}, "", access.Refuse(access.Conflict, "%s is a member already.", user.Email)
	}
	if invitation, err = s.invite(ctx, tx, p, user); err != nil {
		return Member{}, "", err
	}
	m = Member{ID: user.ID, Name: user.Name, Email: user.Email, Role: n.Role, Invited: user.PasswordHash == "", JoinedAt: s.now()}
	return m, invitation, s.record(ctx, tx, p.Principal(), p.Workspace(), "member.added", user.ID, n.Role)
}

func (s *Members) invite(ctx context.Context, tx access.Tx, p access.Permit, u User) (string, error) {
	if u.PasswordHash != "" {
		return "", nil
	}
	elsewhere, err := s.store.MemberElsewhere(ctx, tx, p.Workspace(), u.ID)
	if err != nil || elsewhere {
		return "", err
	}
	return s.accounts.invite(ctx, tx, p.Workspace(), u.ID)
}

func (n *NewMember) check() error {
	var faults []Fault
	email, fault := Email(n.Email)
	if fault != "" {
		faults = append(faults, faultf("/email", "%s", fault))
	}
	name, fault := DisplayName(n.Name, MaxProjectName)
	if fault != "" {
		faults = append(faults, faultf("/name", "%s", fault))
	}
	if !n.Role.Valid() {
		faults = append(faults, faultf("/role", "must be owner, editor or viewer"))
	}
	n.Email, n.Name = email, name
	if err := refuseFaults(faults...); err != nil {
		return err
	}
	return nil
}

// Email is how an e-mail address is kept: in lower case, without white space
// around it. The fault, "" if there is none, says what is wrong with it.
func Email(address string) (clean, fault string) {
	clean = strings.ToLower(strings.TrimSpace(address))
	parsed, err := mail.ParseAddress(clean) // RFC 5322 §3.4
	if err != nil || parsed.Address != clean || strings.ContainsFunc(clean, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", "must be an e-mail address, such as mara@example.com"
	}
	if len(clean) > MaxEmail {
		return "", "must have at most 254 characters"
	}
	return clean, ""
}

// SetRole changes a member's role, with effect on the next call of theirs and of
// the connections they approved. A workspace keeps at least one owner.
func (s *Members) SetRole(ctx context.Context, tx access.Tx, p access.Permit, userID string, role access.Role) (Member, error) {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return Member{}, err
	}
	if !role.Valid() {
		return Member{}, refuseFaults(faultf("/role", "must be owner, editor or viewer"))
	}
	if err := s.keepOwner(ctx, tx, p.Workspace(), userID, role); err != nil {
		return Member{}, err
	}
	m, err := s.store.Member(ctx, tx, p.Workspace(), userID)
	if err != nil || m.Role == role {
		return m, err
	}
	if err := s.store.ChangeRole(ctx, tx, p.Workspace(), userID, role); err != nil {
		return Member{}, err
	}
	m.Role = role
	return m, s.record(ctx, tx, p.Principal(), p.Workspace(), "member.role_changed", userID, role)
}

// Remove takes a member out of the permit's workspace, and off the private
// projects and lists of people there: coming back does not bring those back.
func (s *Members) Remove(ctx context.Context, tx access.Tx, p access.Permit, userID string) error {
	if err := p.Covers(access.KindWorkspace, access.RightManage); err != nil {
		return err
	}
	if err := s.keepOwner(ctx, tx, p.Workspace(), userID, ""); err != nil {
		return err
	}
	if _, err := s.store.Member(ctx, tx, p.Workspace(), userID); err != nil {
		return err
	}
	if err := s.store.RemoveMember(ctx, tx, p.Workspace(), userID); err != nil {
		return err
	}
	if err := s.accounts.store.VoidInvitations(ctx, tx, userID, p.Workspace(), s.now()); err != nil {
		return err
	}
	return s.record(ctx, tx, p.Principal(), p.Workspace(), "member.removed", userID, "")
}

// keepOwner refuses to leave the workspace without an owner.
func (s *Members) keepOwner(ctx context.Context, tx access.Tx, workspaceID, userID string, becomes access.Role) error {
	if becomes == access.RoleOwner {
		return nil
	}
	others, err := s.store.OwnersBeside(ctx, tx, workspaceID, userID)
	if err != nil || others > 0 {
		return err
	}
	m, err := s.store.Member(ctx, tx, workspaceID, userID)
	if err != nil {
		return err
	}
	if m.Role == access.RoleOwner {
		return access.Refuse(access.Conflict, "A workspace needs an owner. Make somebody else an owner first.")
	}
	return nil
}

func (s *Members) record(ctx context.Context, tx access.Tx, who access.Principal, workspaceID, event, userID string, role access.Role) error {
	data := map[string]any{"user_id": userID}
	if role != "" {
		data["role"] = string(role)
	}
	return s.events.Record(ctx, tx, who, Event{
		WorkspaceID: workspaceID, Type: event, Kind: access.KindWorkspace, ResourceID: workspaceID, Data: data,
	})
}
