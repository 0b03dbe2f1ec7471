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

// Projects implements workspace.ProjectStore.
type Projects struct{}

var _ workspace.ProjectStore = Projects{}

// AddProject is workspace.ProjectStore.AddProject.
func (Projects) AddProject(ctx context.Context, tx access.Tx, p workspace.Project) error {
	return on(tx).AddProject(ctx, gen.AddProjectParams{
		ID: p.ID, WorkspaceID: p.WorkspaceID, Name: p.Name, Private: flagOf(p.Private), OwnerID: p.Owner.ID, Now: msOf(p.CreatedAt),
	})
}

// Project is workspace.ProjectStore.Project.
func (Projects) Project(ctx context.Context, tx access.Tx, workspaceID, projectID string) (workspace.Project, error) {
	row, err := on(tx).Project(ctx, projectID, workspaceID)
	if errors.Is(err, sql.ErrNoRows) {
		return workspace.Project{}, access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindProject)
	}
	if err != nil {
		return workspace.Project{}, err
	}
	return projectOf(gen.ProjectsOfPersonRow(row)), nil
}

// ProjectsOf is workspace.ProjectStore.ProjectsOf.
func (Projects) ProjectsOf(ctx context.Context, tx access.Tx, workspaceID, userID string, page workspace.Page) ([]workspace.Project, error) {
	rows, err := on(tx).ProjectsOfPerson(ctx, gen.ProjectsOfPersonParams{
		WorkspaceID: workspaceID, After: page.After, UserID: userID, Most: int32(page.Limit),
	})
	return each(rows, projectOf), err
}

func projectOf(r gen.ProjectsOfPersonRow) workspace.Project {
	return workspace.Project{
		ID: r.ID, WorkspaceID: r.WorkspaceID, Name: r.Name, Private: r.Private != 0,
		Owner: workspace.Named{ID: r.OwnerID, Name: r.OwnerName}, Version: r.Version,
		ArchivedAt: timeOf(r.ArchivedAt), CreatedAt: timeOf(r.CreatedAt), UpdatedAt: timeOf(r.UpdatedAt),
	}
}

// ChangeProject is workspace.ProjectStore.ChangeProject.
func (Projects) ChangeProject(ctx context.Context, tx access.Tx, p workspace.Project) (bool, error) {
	q := on(tx)
	if _, err := q.MeetConnectionsIn(ctx, p.WorkspaceID, p.ID); err != nil { // before the project, as their writes do
		return false, err
	}
	n, err := q.ChangeProject(ctx, gen.ChangeProjectParams{
		Name: p.Name, Private: flagOf(p.Private), ArchivedAt: msOf(p.ArchivedAt), Now: msOf(p.UpdatedAt),
		ID: p.ID, WorkspaceID: p.WorkspaceID, Version: p.Version,
	})
	return n == 1, err
}

// PeopleOfProject is workspace.ProjectStore.PeopleOfProject.
func (Projects) PeopleOfProject(ctx context.Context, tx access.Tx, workspaceID, projectID string, page workspace.Page) ([]workspace.Member, error) {
	rows, err := on(tx).PeopleOfProject(ctx, gen.PeopleOfProjectParams{
		ProjectID: projectID, WorkspaceID: workspaceID, After: page.After, Most: int32(page.Limit),
	})
	return each(rows, func(r gen.PeopleOfProjectRow) workspace.Member {
		return workspace.Member{ID: r.ID, Name: r.Name, Email: r.Email, Role: access.Role(r.Role), JoinedAt: timeOf(r.CreatedAt)}
	}), err
}

// AddProjectMember is workspace.ProjectStore.AddProjectMember.
func (Projects) AddProjectMember(ctx context.Context, tx access.Tx, workspaceID, projectID, userID string, now time.Time) (added, known bool, err error) {
	q := on(tx)
	n, err := q.AddProjectMember(ctx, gen.AddProjectMemberParams{Now: msOf(now), ProjectID: projectID, WorkspaceID: workspaceID, UserID: userID})
	if err != nil || n == 1 {
		return n == 1, true, err
	}
	_, err = q.Member(ctx, workspaceID, userID) // listed already, or no member at all
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return false, true, err
}

// RemoveProjectMember is workspace.ProjectStore.RemoveProjectMember.
func (Projects) RemoveProjectMember(ctx context.Context, tx access.Tx, workspaceID, projectID, userID string) (bool, error) {
	q := on(tx)
	for _, meet := range []func() (int64, error){
		func() (int64, error) { return q.MeetMember(ctx, workspaceID, userID) },
		func() (int64, error) { return q.MeetConnectionsOf(ctx, workspaceID, userID) },
	} {
		if _, err := meet(); err != nil {
			return false, err
		}
	}
	n, err := q.RemoveProjectMember(ctx, projectID, userID, workspaceID)
	return n == 1, err
}

// flagOf is how yes and no are kept.
func flagOf(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

// each turns rows into what they stand for.
func each[R, T any](rows []R, turn func(R) T) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = turn(r)
	}
	return out
}
