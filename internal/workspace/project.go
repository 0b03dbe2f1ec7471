package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// MaxProjectName is how many characters the name of a project or workspace has.
const MaxProjectName = 200

// Project is a room in a workspace: open to the workspace, or private to listed
// members.
type Project struct {
	ID          string
	WorkspaceID string
	Name        string
	Private     bool
	Owner       Named // who made it
	Version     int64
	ArchivedAt  time.Time // zero: not archived
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// ProjectState is what the check reads along with a project, for Permit.Loaded.
type ProjectState struct {
	Archived bool
}

// ProjectStore keeps projects and who is listed in the private ones.
type ProjectStore interface {
	AddProject(ctx context.Context, tx access.Tx, p Project) error
	// Project reads one; an unknown ID is an Error with code NotFound.
	Project(ctx context.Context, tx access.Tx, workspaceID, projectID string) (Project, error)
	// ProjectsOf lists the projects that the person can see, in the order of their
	// IDs.
	ProjectsOf(ctx context.Context, tx access.Tx, workspaceID, userID string, page Page) ([]Project, error)
	// ChangeProject writes name, privacy and archive if the version is still
	// p.Version, and counts it up; ok is false if it is not.
	ChangeProject(ctx context.Context, tx access.Tx, p Project) (ok bool, err error)
	// PeopleOfProject lists who is listed in the project.
	PeopleOfProject(ctx context.Context, tx access.Tx, workspaceID, projectID string, page Page) ([]Member, error)
	// AddProjectMember lists a member of the workspace in the project; known is false
	// for anybody else. RemoveProjectMember takes them off and says whether they were
	// listed; writes of theirs and of their connections wait for it, or it for them.
	AddProjectMember(ctx context.Context, tx access.Tx, workspaceID, projectID, userID string, now time.Time) (added, known bool, err error)
	RemoveProjectMember(ctx context.Context, tx access.Tx, workspaceID, projectID, userID string) (bool, error)
}

// Projects says what people may do with projects.
type Projects struct {
	store  ProjectStore
	events *Events
	now    func() time.Time
}

// NewProjects makes the service on its store, the events and the clock.
func NewProjects(store ProjectStore, events *Events, now func() time.Time) *Projects {
	return &Projects{store: store, events: events, now: now}
}

// Create makes a project in the permit's workspace. The person is its owner and
// listed in it, so that a private one has somebody.
func (s *Projects) Create(ctx context.Context, tx access.Tx, p access.Permit, name string, private bool) (Project, error) {
	if err := p.Covers(access.KindWorkspace, access.RightEdit); err != nil {
		return Project{}, err
	}
	name, fault := DisplayName(name, MaxProjectName)
	if fault != "" {
		return Project{}, refuseFaults(faultf("/name", "%s", fault))
	}
	now, who := s.now(), p.Principal()
	made := Project{
		ID: NewID(), WorkspaceID: p.Workspace(), Name: name, Private: private, Version: 1,
		Owner: Named{ID: who.UserID, Name: who.UserName}, CreatedAt: now, UpdatedAt: now,
	}
	if err := s.store.AddProject(ctx, tx, made); err != nil {
		return Project{}, err
	}
	if _, _, err := s.store.AddProjectMember(ctx, tx, made.WorkspaceID, made.ID, who.UserID, now); err != nil {
		return Project{}, err
	}
	return made, s.record(ctx, tx, who, made, "project.created", nil)
}

// List lists the projects of the permit's workspace that the person can see.
func (s *Projects) List(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Project], error) {
	if err := p.Covers(access.KindWorkspace, access.RightView); err != nil {
		return Listing[Project]{}, err
	}
	rows, err := s.store.ProjectsOf(ctx, tx, p.Workspace(), p.Principal().UserID, Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(p Project) string { return p.ID }), err
}

// Get reads the permit's project.
func (s *Projects) Get(ctx context.Context, tx access.Tx, p access.Permit) (Project, error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Project{}, err
	}
	return s.store.Project(ctx, tx, p.Workspace(), p.ID())
}

// ProjectChange says what to change; nil leaves it as it is.
type ProjectChange struct {
	Name            *string
	Private         *bool
	Archived        *bool
	ExpectedVersion int64 // 0: whatever it is now
}

// Change renames the permit's project, opens or closes it, or moves it to the
// archive or back. A version that is not the current one is VersionConflict.
func (s *Projects) Change(ctx context.Context, tx access.Tx, p access.Permit, c ProjectChange) (Project, error) {
	if err := p.Covers(access.KindProject, access.RightManage); err != nil {
		return Project{}, err
	}
	now, err := s.store.Project(ctx, tx, p.Workspace(), p.ID())
	if err != nil {
		return Project{}, err
	}
	if c.Name == nil && c.Private == nil && c.Archived == nil {
		return Project{}, refuseFaults(faultf("/name", "or private or archived is required"))
	}
	if c.ExpectedVersion != 0 && c.ExpectedVersion != now.Version {
		return Project{}, staleProject(now.Version)
	}
	if c.Name != nil {
		name, fault := DisplayName(*c.Name, MaxProjectName)
		if fault != "" {
			return Project{}, refuseFaults(faultf("/name", "%s", fault))
		}
		now.Name = name
	}
	closes := c.Private != nil && *c.Private && !now.Private
	if c.Private != nil {
		now.Private = *c.Private
	}
	if c.Archived != nil && *c.Archived != !now.ArchivedAt.IsZero() {
		now.ArchivedAt = time.Time{}
		if *c.Archived {
			now.ArchivedAt = s.now()
		}
	}
	now.UpdatedAt = s.now()
	ok, err := s.store.ChangeProject(ctx, tx, now)
	if err != nil {
		return Project{}, err
	}
	if !ok { // somebody else was first
		return Project{}, staleProject(now.Version + 1)
	}
	if closes { // who closes a project does not lock themselves out
		_, _, err := s.store.AddProjectMember(ctx, tx, now.WorkspaceID, now.ID, p.Principal().UserID, now.UpdatedAt)
		if err != nil {
			return Project{}, err
		}
	}
	now.Version++
	return now, s.record(ctx, tx, p.Principal(), now, "project.changed", nil)
}

func staleProject(current int64) error {
	return access.Refuse(access.VersionConflict, "Somebody else changed this project meanwhile. Read it again, then change it.").
		With("current_version", current)
}

// Members lists the people who are listed in the permit's project. In an open
// project the list has no effect until it is closed.
func (s *Projects) Members(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Member], error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Listing[Member]{}, err
	}
	rows, err := s.store.PeopleOfProject(ctx, tx, p.Workspace(), p.ID(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(m Member) string { return m.ID }), err
}

// AddMember lists a member of the workspace in the permit's project.
func (s *Projects) AddMember(ctx context.Context, tx access.Tx, p access.Permit, userID string) error {
	if err := p.Covers(access.KindProject, access.RightManage); err != nil {
		return err
	}
	added, known, err := s.store.AddProjectMember(ctx, tx, p.Workspace(), p.ID(), userID, s.now())
	if err != nil {
		return err
	}
	if !known {
		return access.Refuse(access.NotFound, "There is no member with this ID in the workspace.")
	}
	if !added {
		return nil
	}
	return s.recordMember(ctx, tx, p, "project.member_added", userID)
}

// RemoveMember takes a person off the permit's project, with effect on the next
// call of theirs and of the connections they approved.
func (s *Projects) RemoveMember(ctx context.Context, tx access.Tx, p access.Permit, userID string) error {
	if err := p.Covers(access.KindProject, access.RightManage); err != nil {
		return err
	}
	removed, err := s.store.RemoveProjectMember(ctx, tx, p.Workspace(), p.ID(), userID)
	if err != nil {
		return err
	}
	if !removed {
		return access.Refuse(access.NotFound, "There is no member with this ID in the project.")
	}
	return s.recordMember(ctx, tx, p, "project.member_removed", userID)
}

func (s *Projects) recordMember(ctx context.Context, tx access.Tx, p access.Permit, event, userID string) error {
	made := Project{ID: p.ID(), WorkspaceID: p.Workspace()}
	return s.record(ctx, tx, p.Principal(), made, event, map[string]any{"user_id": userID})
}

func (s *Projects) record(ctx context.Context, tx access.Tx, who access.Principal, p Project, event string, data map[string]any) error {
	return s.events.Record(ctx, tx, who, Event{
		WorkspaceID: p.WorkspaceID, ProjectID: p.ID, Type: event, Kind: access.KindProject, ResourceID: p.ID, Version: p.Version, Data: data,
	})
}

// takesMore refuses to put anything into an archived project, which a person takes
// out of the archive first. The project's row is held by whoever has this permit for
// a write. PublicURL is the origin of the web app, for connections.
func takesMore(p access.Permit, publicURL string) error {
	state, ok := p.Loaded().(ProjectState)
	switch {
	case !ok:
		return access.Refuse(access.Internal, "This call was not checked.").Because(errors.New("the permit came without the project's state"))
	case !state.Archived:
		return nil
	case p.Principal().IsConnection():
		return access.Refuse(access.HumanRequired, "This project is archived. Only a person can take it out of the archive, in the web app.").
			With("url", publicURL+"/projects/"+p.ID())
	}
	return access.Refuse(access.Conflict, "This project is archived. Take it out of the archive first.")
}
