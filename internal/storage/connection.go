package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Connections implements workspace.ConnectionStore.
type Connections struct{}

var _ workspace.ConnectionStore = Connections{}

// AddConnection is workspace.ConnectionStore.AddConnection.
func (Connections) AddConnection(ctx context.Context, tx access.Tx, c workspace.Connection) (bool, error) {
	n, err := on(tx).AddConnection(ctx, gen.AddConnectionParams{
		ID: c.ID, WorkspaceID: c.WorkspaceID, ApproverID: c.Approver.ID, ClientID: c.ClientID, Name: c.Name, Slug: c.Slug,
		ClientHost: c.ClientHost, RedirectHost: c.RedirectHost, Status: string(c.Status), Scopes: c.Scopes.String(),
		ConsentAddress: c.Address, CreatedAt: msOf(c.CreatedAt),
	})
	return n == 1, err
}

// Connection is workspace.ConnectionStore.Connection.
func (Connections) Connection(ctx context.Context, tx access.Tx, workspaceID, connectionID, viewer string) (workspace.Connection, error) {
	row, err := on(tx).GetConnection(ctx, workspaceID, connectionID)
	if errors.Is(err, sql.ErrNoRows) {
		return workspace.Connection{}, access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindConnection)
	}
	if err != nil {
		return workspace.Connection{}, err
	}
	found := []workspace.Connection{connectionOf(row)}
	err = addProjects(ctx, tx, workspaceID, viewer, found)
	return found[0], err
}

// Connections is workspace.ConnectionStore.Connections.
func (Connections) Connections(ctx context.Context, tx access.Tx, workspaceID, viewer string, page workspace.Page) ([]workspace.Connection, error) {
	rows, err := on(tx).ListConnections(ctx, workspaceID, page.After, int32(page.Limit))
	if err != nil {
		return nil, err
	}
	found := make([]workspace.Connection, len(rows))
	for i, row := range rows {
		found[i] = connectionOf(gen.GetConnectionRow(row))
	}
	return found, addProjects(ctx, tx, workspaceID, viewer, found)
}

// ProjectConnections is workspace.ConnectionStore.ProjectConnections.
func (Connections) ProjectConnections(ctx context.Context, tx access.Tx, workspaceID, projectID, viewer string, page workspace.Page) ([]workspace.Connection, error) {
	rows, err := on(tx).ListProjectConnections(ctx, gen.ListProjectConnectionsParams{
		WorkspaceID: workspaceID, ProjectID: projectID, ID: page.After, Limit: int32(page.Limit),
	})
	if err != nil {
		return nil, err
	}
	found := make([]workspace.Connection, len(rows))
	for i, row := range rows {
		found[i] = connectionOf(gen.GetConnectionRow(row))
	}
	return found, addProjects(ctx, tx, workspaceID, viewer, found)
}

// addProjects reads the projects of connections that are in the order of their
// IDs. Of a project's connections it reads some rows too many.
func addProjects(ctx context.Context, tx access.Tx, workspaceID, viewer string, found []workspace.Connection) error {
	if len(found) == 0 {
		return nil
	}
	rows, err := on(tx).ListConnectionProjects(ctx, gen.ListConnectionProjectsParams{
		WorkspaceID: workspaceID, First: found[0].ID, Last: found[len(found)-1].ID, Viewer: viewer,
	})
	if err != nil {
		return err
	}
	place := make(map[string]int, len(found))
	for i, c := range found {
		place[c.ID] = i
	}
	for _, row := range rows {
		if i, ok := place[row.ConnectionID]; ok {
			found[i].Projects = append(found[i].Projects, workspace.Named{ID: row.ID, Name: row.Name})
		}
	}
	return nil
}

func connectionOf(row gen.GetConnectionRow) workspace.Connection {
	c := workspace.Connection{
		ID: row.ID, WorkspaceID: row.WorkspaceID, Approver: workspace.Named{ID: row.ApproverID, Name: row.ApproverName},
		ClientID: row.ClientID, ClientHost: row.ClientHost, RedirectHost: row.RedirectHost, Name: row.Name, Slug: row.Slug,
		Status: workspace.Status(row.Status), Address: row.ConsentAddress,
		CreatedAt: timeOf(row.CreatedAt), LastUsedAt: timeOf(row.LastUsedAt),
	}
	c.Scopes, _ = access.ParseScopes(row.Scopes)
	return c
}

// MoveStatus is workspace.ConnectionStore.MoveStatus.
func (Connections) MoveStatus(ctx context.Context, tx access.Tx, workspaceID, connectionID string, from, to workspace.Status) (bool, error) {
	n, err := on(tx).MoveConnectionStatus(ctx, gen.MoveConnectionStatusParams{
		WorkspaceID: workspaceID, ID: connectionID, OldStatus: string(from), NewStatus: string(to),
	})
	return n == 1, err
}

// RenameConnection is workspace.ConnectionStore.RenameConnection.
func (Connections) RenameConnection(ctx context.Context, tx access.Tx, workspaceID, connectionID, name string) error {
	return on(tx).RenameConnection(ctx, workspaceID, connectionID, name)
}

// AddToProject is workspace.ConnectionStore.AddToProject.
func (Connections) AddToProject(ctx context.Context, tx access.Tx, workspaceID, projectID, connectionID, by string, now time.Time) (bool, error) {
	q := on(tx)
	if _, err := q.TouchConnection(ctx, workspaceID, connectionID); err != nil {
		return false, err
	}
	n, err := q.AddConnectionProject(ctx, gen.AddConnectionProjectParams{
		AddedBy: by, CreatedAt: msOf(now), WorkspaceID: workspaceID, ConnectionID: connectionID, ProjectID: projectID,
	})
	return n == 1, err
}

// RemoveFromProject is workspace.ConnectionStore.RemoveFromProject.
func (Connections) RemoveFromProject(ctx context.Context, tx access.Tx, workspaceID, projectID, connectionID string) (bool, error) {
	q := on(tx)
	if _, err := q.TouchConnection(ctx, workspaceID, connectionID); err != nil {
		return false, err
	}
	n, err := q.RemoveConnectionProject(ctx, connectionID, projectID, workspaceID)
	return n == 1, err
}

// Predecessors is workspace.ConnectionStore.Predecessors.
func (Connections) Predecessors(ctx context.Context, tx access.Tx, workspaceID, approverID, clientID string) ([]string, error) {
	return on(tx).ListPredecessors(ctx, workspaceID, approverID, clientID)
}

// MarkUsed stamps the connection as used at that time, unless it was used later.
// Writes do that as they begin (DB.Touch); it is for reads, whose stamps are
// written in batches.
func (Connections) MarkUsed(ctx context.Context, tx access.Tx, workspaceID, connectionID string, at time.Time) error {
	return on(tx).MarkConnectionUsed(ctx, msOf(at), workspaceID, connectionID)
}
