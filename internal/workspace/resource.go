package workspace

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Named is a thing as lists mention it.
type Named struct {
	ID   string
	Name string
}

// Grants is what a connection was given, as far as it is usable at this moment.
type Grants struct {
	Workspace Named
	Approver  Named
	Projects  []Named // granted, and open to the approver
	Seats     []JoinedSession
}

// Resource is anything that lives in a project, as lists show it.
type Resource struct {
	Kind       access.Kind
	ID         string
	Title      string
	Version    int64
	ArchivedAt time.Time // zero: not archived
	UpdatedAt  time.Time
}

// ResourceFilter narrows a list of resources.
type ResourceFilter struct {
	Kinds         []access.Kind // empty: all
	TitleContains string        // in any case, with or without accents; "" is any title
	Archived      bool          // only what is in the archive, instead of only what is not
}

// Participant is a person in a project, or a connection that was added to it.
type Participant struct {
	ID      string
	Name    string
	Role    access.Role // of a person
	Slug    string      // of a connection
	Status  string      // of a connection: active or paused
	Key     string      // place in the list: people first
	Outside bool        // a connection
}

// ResourceStore reads what lists of resources need.
type ResourceStore interface {
	// WorkspaceName is the name of the workspace with this ID.
	WorkspaceName(ctx context.Context, tx access.Tx, workspaceID string) (string, error)
	// GrantedProjects lists the projects that the connection was added to, are in
	// the workspace and are open to the user, by ID.
	GrantedProjects(ctx context.Context, tx access.Tx, workspaceID, connectionID, userID string) ([]Named, error)
	// ProjectNotes lists notes of the scope's projects in the order of their IDs. It
	// leaves out what the scope's user may not edit, and what is local-only.
	ProjectNotes(ctx context.Context, tx access.Tx, in Scope, archived bool, page Page) ([]Resource, error)
	// ProjectSessions lists sessions of the scope's projects in the order of their IDs,
	// as far as the scope's connection may see them.
	ProjectSessions(ctx context.Context, tx access.Tx, in Scope, archived bool, page Page) ([]Resource, error)
	// Seats lists all sessions that the scope's connection may see, with its seats.
	Seats(ctx context.Context, tx access.Tx, in Scope) ([]JoinedSession, error)
	// ProjectParticipants lists the people who can open the project, then the connections
	// in it that were not revoked, in the order of their keys.
	ProjectParticipants(ctx context.Context, tx access.Tx, workspaceID, projectID string, page Page) ([]Participant, error)
	// NoteText reads a note's tabs in order, at most chars characters of each.
	NoteText(ctx context.Context, tx access.Tx, workspaceID, noteID string, chars int) (Note, []NoteTab, error)
}

// Resources answers what a connection can see, across the kinds of things. Each
// answer leaves out what a call on the thing itself would be denied.
type Resources struct {
	store   ResourceStore
	index   SearchIndex
	changes ChangeStore
}

// NewResources makes the service on its stores.
func NewResources(store ResourceStore, index SearchIndex, changes ChangeStore) *Resources {
	return &Resources{store: store, index: index, changes: changes}
}

// Grants says what the connection of the permit can use.
func (s *Resources) Grants(ctx context.Context, tx access.Tx, p access.Permit) (g Grants, err error) {
	if err := p.Covers(access.KindConnection, access.RightView); err != nil {
		return Grants{}, err
	}
	who := p.Principal()
	g.Approver = Named{who.UserID, who.UserName}
	g.Workspace.ID = p.Workspace()
	if g.Workspace.Name, err = s.store.WorkspaceName(ctx, tx, p.Workspace()); err != nil {
		return Grants{}, err
	}
	if g.Projects, err = s.store.GrantedProjects(ctx, tx, p.Workspace(), who.ConnectionID, who.UserID); err != nil {
		return Grants{}, err
	}
	in := Scope{WorkspaceID: p.Workspace(), UserID: who.UserID, ConnectionID: who.ConnectionID}
	for _, project := range g.Projects {
		in.ProjectIDs = append(in.ProjectIDs, project.ID)
	}
	g.Seats, err = s.store.Seats(ctx, tx, in)
	return g, err
}

// batch is how many rows are read at once where Go has to choose among them.
const batch = 500

// InProject lists the resources of the permit's project.
func (s *Resources) InProject(ctx context.Context, tx access.Tx, p access.Permit, f ResourceFilter, page Page) (Listing[Resource], error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Listing[Resource]{}, err
	}
	who := p.Principal()
	in := Scope{WorkspaceID: p.Workspace(), UserID: who.UserID, ProjectIDs: []string{p.ID()}}
	if who.Credential == access.CredentialAccessToken { // agents have no seats, whoever they work for
		in.ConnectionID = who.ConnectionID
	}
	if f.TitleContains == "" {
		rows, err := s.merged(ctx, tx, in, f, Page{page.After, page.Limit + 1})
		return Cut(rows, page.Limit, resourceID), err
	}
	return s.withTitle(ctx, tx, in, f, page)
}

// merged is one part of the lists of all kinds that the filter wants, as one list in
// the order of IDs.
func (s *Resources) merged(ctx context.Context, tx access.Tx, in Scope, f ResourceFilter, page Page) ([]Resource, error) {
	var all []Resource
	if wants(f.Kinds, access.KindNote) {
		notes, err := s.store.ProjectNotes(ctx, tx, in, f.Archived, page)
		if err != nil {
			return nil, err
		}
		all = notes
	}
	if in.ConnectionID == "" || !wants(f.Kinds, access.KindSession) {
		return all, nil
	}
	sessions, err := s.store.ProjectSessions(ctx, tx, in, f.Archived, page)
	if err != nil {
		return nil, err
	}
	all = append(all, sessions...)
	slices.SortFunc(all, func(a, b Resource) int { return strings.Compare(a.ID, b.ID) })
	return all[:min(len(all), page.Limit)], nil
}

// withTitle compares titles in Go, because the databases know the cases of ASCII
// letters only, or those of their locale.
func (s *Resources) withTitle(ctx context.Context, tx access.Tx, in Scope, f ResourceFilter, page Page) (Listing[Resource], error) {
	part := fold(f.TitleContains)
	var found []Resource
	for len(found) <= page.Limit {
		rows, err := s.merged(ctx, tx, in, f, Page{page.After, batch})
		if err != nil {
			return Listing[Resource]{}, err
		}
		for _, r := range rows {
			if strings.Contains(fold(r.Title), part) {
				found = append(found, r)
			}
		}
		if len(rows) < batch {
			break
		}
		page.After = rows[batch-1].ID
	}
	return Cut(found, page.Limit, resourceID), nil
}

func resourceID(r Resource) string { return r.ID }

func wants(kinds []access.Kind, kind access.Kind) bool {
	for _, k := range kinds {
		if k == kind {
			return true
		}
	}
	return len(kinds) == 0
}

// Participants lists who is in the permit's project. E-mail addresses are no part of it.
func (s *Resources) Participants(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Participant], error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Listing[Participant]{}, err
	}
	rows, err := s.store.ProjectParticipants(ctx, tx, p.Workspace(), p.ID(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(m Participant) string { return m.Key }), err
}

// NoteText reads the note of the permit with at most chars characters of each
// tab, whose Chars say how many there are.
func (s *Resources) NoteText(ctx context.Context, tx access.Tx, p access.Permit, chars int) (Note, []NoteTab, error) {
	if err := p.Covers(access.KindNote, access.RightView); err != nil {
		return Note{}, nil, err
	}
	return s.store.NoteText(ctx, tx, p.Workspace(), p.ID(), chars)
}

// MaxSearchOffset is how deep a search can be paged. Who needs more needs
// another query.
const MaxSearchOffset = 1000

// Search finds notes in the projects of the permits or, with one permit for the
// connection, in all that it was given. Next is where to go on, 0 at the end.
func (s *Resources) Search(ctx context.Context, tx access.Tx, permits []access.Permit, q Search, offset, limit int) (hits []SearchHit, next int, err error) {
	in, err := s.scope(ctx, tx, permits)
	if err != nil || len(in.ProjectIDs) == 0 || offset >= MaxSearchOffset {
		return nil, 0, err
	}
	hits, err = s.index.FindNotes(ctx, tx, in, q, offset, limit+1)
	if err != nil {
		return nil, 0, err
	}
	if len(hits) > limit && offset+limit < MaxSearchOffset {
		next = offset + limit
	}
	return hits[:min(len(hits), limit)], next, nil
}

// scope is what permits for projects, or the one for the connection, open.
func (s *Resources) scope(ctx context.Context, tx access.Tx, permits []access.Permit) (Scope, error) {
	if len(permits) == 0 {
		return Scope{}, access.Permit{}.Covers(access.KindConnection, access.RightView)
	}
	who := permits[0].Principal()
	in := Scope{WorkspaceID: permits[0].Workspace(), UserID: who.UserID}
	if permits[0].Kind() == access.KindConnection {
		if err := permits[0].Covers(access.KindConnection, access.RightView); err != nil {
			return Scope{}, err
		}
		granted, err := s.store.GrantedProjects(ctx, tx, in.WorkspaceID, who.ConnectionID, who.UserID)
		for _, p := range granted {
			in.ProjectIDs = append(in.ProjectIDs, p.ID)
		}
		return in, err
	}
	for _, p := range permits {
		if err := p.Covers(access.KindProject, access.RightView); err != nil {
			return Scope{}, err
		}
		in.ProjectIDs = append(in.ProjectIDs, p.ID())
	}
	return in, nil
}
