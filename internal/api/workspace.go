package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type team struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Role      access.Role `json:"role"`
	CreatedAt time.Time   `json:"created_at"`
}

func teamOf(t workspace.Team) team {
	return team{ID: t.ID, Name: t.Name, Role: t.Role, CreatedAt: t.CreatedAt}
}

type member struct {
	ID        string      `json:"id"`
	Name      string      `json:"name"`
	Email     string      `json:"email"`
	Role      access.Role `json:"role"`
	Invited   bool        `json:"invited,omitzero"` // has not chosen a password yet
	InviteURL string      `json:"invite_url,omitzero"`
	JoinedAt  time.Time   `json:"joined_at"`
}

func (m member) withoutSecret() any {
	m.InviteURL = ""
	return m
}

func memberOf(m workspace.Member) member {
	return member{ID: m.ID, Name: m.Name, Email: m.Email, Role: m.Role, Invited: m.Invited, JoinedAt: m.JoinedAt}
}

type memberBody struct {
	Email    string      `json:"email"`
	Name     string      `json:"name"`
	Role     access.Role `json:"role"`
	Password string      `json:"password,omitzero"`

	hash string // of the password, made before the unit of work begins
}

func (m *memberBody) withoutSecret() any {
	return memberBody{Email: m.Email, Name: m.Name, Role: m.Role}
}

type roleBody struct {
	Role access.Role `json:"role"`
}

type workspaceCalls struct {
	accounts *workspace.Accounts
	members  *workspace.Members
}

// WorkspaceRoutes are workspaces and the people in them.
func WorkspaceRoutes(accounts *workspace.Accounts, members *workspace.Members) []Route {
	s := workspaceCalls{accounts, members}
	const path = "/api/v1/workspaces/{workspace}/members"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/workspaces", Operation: "workspace.list",
			Summary: "The caller's workspaces, and their role in each", Paged: true}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/workspaces", Operation: "workspace.create",
			Summary: "Make a workspace that the caller owns", Status: http.StatusCreated}, s.create),
		Handle(Rule{Method: http.MethodPatch, Path: "/api/v1/workspaces/{workspace}", Operation: "workspace.change", Summary: "Rename a workspace",
			Kind: access.KindWorkspace, Right: access.RightManage}, s.change),
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "member.list", Summary: "Who is in the workspace",
			Kind: access.KindWorkspace, Right: access.RightView, Paged: true}, s.listMembers),
		HandlePrepared(Rule{Method: http.MethodPost, Path: path, Operation: "member.add",
			Summary: "Let a person in; without a password the answer has a link by which they choose one",
			Kind:    access.KindWorkspace, Right: access.RightManage, Status: http.StatusCreated}, s.hash, s.add),
		Handle(Rule{Method: http.MethodPatch, Path: path + "/{user}", Operation: "member.set_role", Summary: "Change a member's role",
			Kind: access.KindWorkspace, Right: access.RightManage}, s.setRole),
		Handle(Rule{Method: http.MethodDelete, Path: path + "/{user}", Operation: "member.remove",
			Summary: "Take a member out of the workspace, its private projects and its lists of people",
			Kind:    access.KindWorkspace, Right: access.RightManage}, s.remove),
	}
}

func (s workspaceCalls) list(ctx context.Context, c *Call, _ Nothing) (List[team], error) {
	l, err := s.members.Teams(ctx, c.Tx, c.Who, c.Page)
	return listOf(c, l, teamOf), err
}

func (s workspaceCalls) create(ctx context.Context, c *Call, in nameBody) (team, error) {
	made, err := s.members.CreateWorkspace(ctx, c.Tx, c.Who, in.Name)
	c.Entry.WorkspaceID, c.Entry.Kind, c.Entry.ResourceID = made.ID, access.KindWorkspace, made.ID
	return teamOf(made), err
}

func (s workspaceCalls) change(ctx context.Context, c *Call, in nameBody) (named, error) {
	n, err := s.members.RenameWorkspace(ctx, c.Tx, c.Permit, in.Name)
	return namedOf(n), err
}

func (s workspaceCalls) listMembers(ctx context.Context, c *Call, _ Nothing) (List[member], error) {
	l, err := s.members.List(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, memberOf), err
}

func (s workspaceCalls) hash(ctx context.Context, in *memberBody) (err error) {
	if in.Password == "" {
		return nil
	}
	in.hash, err = s.accounts.HashPassword(ctx, in.Password)
	return err
}

func (s workspaceCalls) add(ctx context.Context, c *Call, in memberBody) (member, error) {
	m, invitation, err := s.members.Add(ctx, c.Tx, c.Permit, workspace.NewMember{
		Email: in.Email, Name: in.Name, Role: in.Role, PasswordHash: in.hash,
	})
	c.Entry.Detail = map[string]any{"user_id": m.ID, "role": m.Role}
	out := memberOf(m)
	if invitation != "" {
		out.InviteURL = c.passage.api.Site.Origin(c.passage.r) + "/invitation?token=" + invitation
	}
	return out, err
}

func (s workspaceCalls) setRole(ctx context.Context, c *Call, in roleBody) (member, error) {
	c.Entry.Detail = map[string]any{"user_id": c.Path("user"), "role": in.Role}
	m, err := s.members.SetRole(ctx, c.Tx, c.Permit, c.Path("user"), in.Role)
	return memberOf(m), err
}

func (s workspaceCalls) remove(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.Detail = map[string]any{"user_id": c.Path("user")}
	return Nothing{}, s.members.Remove(ctx, c.Tx, c.Permit, c.Path("user"))
}
