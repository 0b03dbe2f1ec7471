package api

import (
	"context"
	"net/http"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type listedPerson struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Right string `json:"right"` // view or edit
}

type acl struct {
	Users []listedPerson `json:"users"`
}

type aclEntryBody struct {
	ID    string `json:"id"`
	Right string `json:"right"` // view or edit
}

type aclBody struct {
	Users []aclEntryBody `json:"users"`
}

type aclCalls struct{ acls *workspace.ACLs }

// ACLRoutes say who may see a note or a session beside, or instead of, its whole
// project.
func ACLRoutes(acls *workspace.ACLs) []Route {
	s := aclCalls{acls}
	return append(s.routes(access.KindNote, "note", "/api/v1/notes/{note}/acl"),
		s.routes(access.KindSession, "agent_session", "/api/v1/agent-sessions/{session}/acl")...)
}

func (s aclCalls) routes(kind access.Kind, operation, path string) []Route {
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: operation + ".acl.get", Summary: "Who is listed on the " + string(kind),
			Kind: kind, Right: access.RightManage}, s.get),
		Handle(Rule{Method: http.MethodPut, Path: path, Operation: operation + ".acl.set", Summary: "Share the " + string(kind) + " with the listed people only",
			Kind: kind, Right: access.RightManage}, s.set),
		Handle(Rule{Method: http.MethodDelete, Path: path, Operation: operation + ".acl.clear", Summary: "Open the " + string(kind) + " to its project again",
			Kind: kind, Right: access.RightManage}, s.clear),
	}
}

func (s aclCalls) get(ctx context.Context, c *Call, _ Nothing) (acl, error) {
	listed, err := s.acls.Get(ctx, c.Tx, c.Permit)
	out := acl{Users: make([]listedPerson, len(listed))}
	for i, l := range listed {
		out.Users[i] = listedPerson{ID: l.User.ID, Name: l.User.Name, Right: l.Right.String()}
	}
	return out, err
}

func (s aclCalls) set(ctx context.Context, c *Call, in aclBody) (acl, error) {
	listed := make([]workspace.Listed, len(in.Users))
	for i, u := range in.Users {
		listed[i] = workspace.Listed{User: workspace.Named{ID: idOf(u.ID)}, Right: access.ParseRight(u.Right)}
	}
	if err := s.acls.Set(ctx, c.Tx, c.Permit, listed); err != nil {
		return acl{}, err
	}
	return s.get(ctx, c, Nothing{})
}

func (s aclCalls) clear(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	return Nothing{}, s.acls.Clear(ctx, c.Tx, c.Permit)
}
