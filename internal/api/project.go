package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func namedOf(n workspace.Named) named { return named{ID: n.ID, Name: n.Name} }

type project struct {
	ID          string    `json:"id"`
	WorkspaceID string    `json:"workspace_id"`
	Name        string    `json:"name"`
	Private     bool      `json:"private"`
	Archived    bool      `json:"archived"`
	Owner       named     `json:"owner"`
	Version     int64     `json:"version"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func projectOf(p workspace.Project) project {
	return project{
		ID: p.ID, WorkspaceID: p.WorkspaceID, Name: p.Name, Private: p.Private, Archived: !p.ArchivedAt.IsZero(),
		Owner: namedOf(p.Owner), Version: p.Version, CreatedAt: p.CreatedAt, UpdatedAt: p.UpdatedAt,
	}
}

type projectBody struct {
	Name    string `json:"name"`
	Private bool   `json:"private,omitzero"`
}

type projectChange struct {
	Name            *string `json:"name,omitzero"`
	Private         *bool   `json:"private,omitzero"`
	Archived        *bool   `json:"archived,omitzero"`
	ExpectedVersion int64   `json:"expected_version,omitzero"`
}

type projectCalls struct{ projects *workspace.Projects }

// ProjectRoutes are projects and who is listed in the private ones.
func ProjectRoutes(projects *workspace.Projects) []Route {
	s := projectCalls{projects}
	const path = "/api/v1/projects/{project}"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/workspaces/{workspace}/projects", Operation: "project.list",
			Summary: "The projects of the workspace that the caller can see",
			Kind:    access.KindWorkspace, Right: access.RightView, Paged: true}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/workspaces/{workspace}/projects", Operation: "project.create",
			Summary: "Make a project, open to the workspace or private",
			Kind:    access.KindWorkspace, Right: access.RightEdit, Status: http.StatusCreated}, s.create),
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "project.get", Summary: "One project",
			Kind: access.KindProject, Right: access.RightView}, s.get),
		Handle(Rule{Method: http.MethodPatch, Path: path, Operation: "project.change",
			Summary: "Rename a project, open or close it, move it to the archive or back",
			Kind:    access.KindProject, Right: access.RightManage}, s.change),
		Handle(Rule{Method: http.MethodGet, Path: path + "/members", Operation: "project.member.list",
			Summary: "Who is listed in the project", Kind: access.KindProject, Right: access.RightView, Paged: true}, s.members),
		Handle(Rule{Method: http.MethodPut, Path: path + "/members/{user}", Operation: "project.member.add",
			Summary: "List a member of the workspace in the project", Kind: access.KindProject, Right: access.RightManage}, s.addMember),
		Handle(Rule{Method: http.MethodDelete, Path: path + "/members/{user}", Operation: "project.member.remove",
			Summary: "Take a person off the project", Kind: access.KindProject, Right: access.RightManage}, s.removeMember),
	}
}

func (s projectCalls) list(ctx context.Context, c *Call, _ Nothing) (List[project], error) {
	l, err := s.projects.List(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, projectOf), err
}

func (s projectCalls) create(ctx context.Context, c *Call, in projectBody) (project, error) {
	made, err := s.projects.Create(ctx, c.Tx, c.Permit, in.Name, in.Private)
	c.Entry.ProjectID, c.Entry.Kind, c.Entry.ResourceID = made.ID, access.KindProject, made.ID
	return projectOf(made), err
}

func (s projectCalls) get(ctx context.Context, c *Call, _ Nothing) (project, error) {
	p, err := s.projects.Get(ctx, c.Tx, c.Permit)
	return projectOf(p), err
}

func (s projectCalls) change(ctx context.Context, c *Call, in projectChange) (project, error) {
	p, err := s.projects.Change(ctx, c.Tx, c.Permit, workspace.ProjectChange(in))
	return projectOf(p), err
}

func (s projectCalls) members(ctx context.Context, c *Call, _ Nothing) (List[member], error) {
	l, err := s.projects.Members(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, memberOf), err
}

func (s projectCalls) addMember(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.Detail = map[string]any{"user_id": c.Path("user")}
	return Nothing{}, s.projects.AddMember(ctx, c.Tx, c.Permit, c.Path("user"))
}

func (s projectCalls) removeMember(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.Detail = map[string]any{"user_id": c.Path("user")}
	return Nothing{}, s.projects.RemoveMember(ctx, c.Tx, c.Permit, c.Path("user"))
}
