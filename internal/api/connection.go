package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type connection struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Slug         string           `json:"slug"`
	Status       workspace.Status `json:"status"`
	WorkspaceID  string           `json:"workspace_id"`
	Approver     named            `json:"approver"`
	ClientID     string           `json:"client_id"`
	ClientHost   string           `json:"client_host"`
	RedirectHost string           `json:"redirect_host"`
	Scopes       []string         `json:"scopes"`
	Projects     []named          `json:"projects"`
	CreatedAt    time.Time        `json:"created_at"`
	LastUsedAt   *time.Time       `json:"last_used_at"` // null: never
}

func connectionOf(c workspace.Connection) connection {
	out := connection{
		ID: c.ID, Name: c.Name, Slug: c.Slug, Status: c.Status, WorkspaceID: c.WorkspaceID, Approver: namedOf(c.Approver),
		ClientID: c.ClientID, ClientHost: c.ClientHost, RedirectHost: c.RedirectHost, Scopes: c.Scopes.Names(),
		Projects: make([]named, len(c.Projects)), CreatedAt: c.CreatedAt,
	}
	for i, p := range c.Projects {
		out.Projects[i] = namedOf(p)
	}
	if !c.LastUsedAt.IsZero() {
		out.LastUsedAt = &c.LastUsedAt
	}
	return out
}

type connectionChange struct {
	Status *workspace.Status `json:"status,omitzero"`
	Name   *string           `json:"name,omitzero"`
}

type addConnectionBody struct {
	ConnectionID string `json:"connection_id"`
}

type connectionCalls struct{ connections *workspace.Connections }

// ConnectionRoutes are the outside assistants of a workspace and of its projects.
func ConnectionRoutes(connections *workspace.Connections) []Route {
	s := connectionCalls{connections}
	const ofProject = "/api/v1/projects/{project}/connections"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/workspaces/{workspace}/connections", Operation: "connection.list",
			Summary: "The connections of the workspace, revoked ones too",
			Kind:    access.KindWorkspace, Right: access.RightView, Paged: true}, s.list),
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/connections/{connection}", Operation: "connection.get",
			Summary: "One connection", Kind: access.KindConnection, Right: access.RightView}, s.get),
		Handle(Rule{Method: http.MethodPatch, Path: "/api/v1/connections/{connection}", Operation: "connection.change",
			Summary: "Pause, resume or revoke a connection, or rename it; revoked is final",
			Kind:    access.KindConnection, Right: access.RightManage}, s.change),
		Handle(Rule{Method: http.MethodGet, Path: ofProject, Operation: "project.connection.list",
			Summary: "The connections that were added to the project", Kind: access.KindProject, Right: access.RightView, Paged: true}, s.listOfProject),
		Handle(Rule{Method: http.MethodPost, Path: ofProject, Operation: "project.connection.add",
			Summary: "Let a connection see the project, from its next call on",
			Kind:    access.KindProject, Right: access.RightManage, Status: http.StatusCreated}, s.add),
		Handle(Rule{Method: http.MethodDelete, Path: ofProject + "/{connection}", Operation: "project.connection.remove",
			Summary: "Take the project from a connection, from its next call on", Kind: access.KindProject, Right: access.RightManage}, s.remove),
	}
}

func (s connectionCalls) list(ctx context.Context, c *Call, _ Nothing) (List[connection], error) {
	l, err := s.connections.List(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, connectionOf), err
}

func (s connectionCalls) get(ctx context.Context, c *Call, _ Nothing) (connection, error) {
	got, err := s.connections.Get(ctx, c.Tx, c.Permit)
	return connectionOf(got), err
}

func (s connectionCalls) change(ctx context.Context, c *Call, in connectionChange) (got connection, err error) {
	if in.Status == nil && in.Name == nil {
		return connection{}, refuseField("status", "or name is required")
	}
	var changed workspace.Connection
	if in.Name != nil {
		if changed, err = s.connections.Rename(ctx, c.Tx, c.Permit, *in.Name); err != nil {
			return connection{}, err
		}
	}
	if in.Status != nil {
		c.Entry.Detail = map[string]any{"status": *in.Status}
		changed, err = s.connections.SetStatus(ctx, c.Tx, c.Permit, *in.Status)
	}
	return connectionOf(changed), err
}

func (s connectionCalls) listOfProject(ctx context.Context, c *Call, _ Nothing) (List[connection], error) {
	l, err := s.connections.ListOfProject(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, connectionOf), err
}

func (s connectionCalls) add(ctx context.Context, c *Call, in addConnectionBody) (connection, error) {
	c.Entry.Detail = map[string]any{"connection_id": idOf(in.ConnectionID)}
	added, err := s.connections.AddToProject(ctx, c.Tx, c.Permit, idOf(in.ConnectionID))
	return connectionOf(added), err
}

func (s connectionCalls) remove(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.Detail = map[string]any{"connection_id": c.Path("connection")}
	return Nothing{}, s.connections.RemoveFromProject(ctx, c.Tx, c.Permit, c.Path("connection"))
}
