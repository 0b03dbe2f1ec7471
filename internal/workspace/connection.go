package workspace

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Status is the state of a connection.
type Status string

// The states. Revoked is final: nothing brings a connection back.
const (
	StatusActive  Status = "active"
	StatusPaused  Status = "paused"
	StatusRevoked Status = "revoked"
)

// Valid reports whether s is one of the three states.
func (s Status) Valid() bool {
	return s == StatusActive || s == StatusPaused || s == StatusRevoked
}

// MaxConnectionName is how many characters a connection's display name has.
const MaxConnectionName = 100

// Connection is one approval: a person let a client into a workspace.
type Connection struct {
	ID           string
	WorkspaceID  string
	Approver     Named
	ClientID     string
	ClientHost   string // of a metadata document's URL, or ""
	RedirectHost string // where the approving browser was sent back to
	Name         string // for people; they may change it
	Slug         string // stable, unique in the workspace
	Status       Status
	Scopes       access.Scopes // as approved
	Address      string        // of the approving browser
	Projects     []Named       // that it was added to, as far as the asking person may know of them
	CreatedAt    time.Time
	LastUsedAt   time.Time // zero: never
}

// NewConnection is what an approval says about the connection to make.
type NewConnection struct {
	ClientID     string
	ClientHost   string
	RedirectHost string
	Name         string // as DisplayName gave it
	Scopes       access.Scopes
	Address      string
}

// ConnectionStore keeps connections and the projects they were added to. Each
// method that changes what a connection may do updates its row, so that it meets
// the calls of the connection that are on their way.
type ConnectionStore interface {
	// AddConnection keeps a new connection; ok is false if its slug is taken.
	AddConnection(ctx context.Context, tx access.Tx, c Connection) (ok bool, err error)
	// Connection reads one; an unknown ID is an Error with code NotFound. Projects
	// are those that are not private, or that the viewer is a member or the owner
	// of; all of them if viewer is "".
	Connection(ctx context.Context, tx access.Tx, workspaceID, connectionID, viewer string) (Connection, error)
	// Connections lists the workspace's, and ProjectConnections those that were
	// added to the project, in the order of their IDs.
	Connections(ctx context.Context, tx access.Tx, workspaceID, viewer string, page Page) ([]Connection, error)
	ProjectConnections(ctx context.Context, tx access.Tx, workspaceID, projectID, viewer string, page Page) ([]Connection, error)
	// MoveStatus changes the status if it is from, and says whether it was.
	MoveStatus(ctx context.Context, tx access.Tx, workspaceID, connectionID string, from, to Status) (bool, error)
	// RenameConnection changes the display name.
	RenameConnection(ctx context.Context, tx access.Tx, workspaceID, connectionID, name string) error
	// AddToProject and RemoveFromProject say whether that changed anything.
	AddToProject(ctx context.Context, tx access.Tx, workspaceID, projectID, connectionID, by string, now time.Time) (bool, error)
	RemoveFromProject(ctx context.Context, tx access.Tx, workspaceID, projectID, connectionID string) (bool, error)
	// Predecessors lists the IDs of the approver's connections of this client in
	// the workspace that are not revoked.
	Predecessors(ctx context.Context, tx access.Tx, workspaceID, approverID, clientID string) ([]string, error)
}

// Connections says what people may do with connections. What a connection
// itself may do is decided by access.CheckConnection, from the same rows.
type Connections struct {
	store  ConnectionStore
	events *Events
	now    func() time.Time
}

// NewConnections makes the service on its store, the events and the clock.
func NewConnections(store ConnectionStore, events *Events, now func() time.Time) *Connections {
	return &Connections{store: store, events: events, now: now}
}

// viewer is whose knowledge of private projects an answer is cut to: an owner
// of the workspace manages all of them.
func viewer(p access.Permit) string {
	if p.Role() == access.RoleOwner {
		return ""
	}
	return p.Principal().UserID
}

// List lists the connections of the permit's workspace, revoked ones too.
func (s *Connections) List(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Connection], error) {
	if err := p.Covers(access.KindWorkspace, access.RightView); err != nil {
		return Listing[Connection]{}, err
	}
	rows, err := s.store.Connections(ctx, tx, p.Workspace(), viewer(p), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, connectionID), err
}

// ListOfProject lists the connections that were added to the permit's project.
func (s *Connections) ListOfProject(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[Connection], error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Listing[Connection]{}, err
	}
	rows, err := s.store.ProjectConnections(ctx, tx, p.Workspace(), p.ID(), viewer(p), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, connectionID), err
}

func connectionID(c Connection) string { return c.ID }

// Get reads the connection of the permit.
func (s *Connections) Get(ctx context.Context, tx access.Tx, p access.Permit) (Connection, error) {
	if err := p.Covers(access.KindConnection, access.RightView); err != nil {
		return Connection{}, err
	}
	return s.store.Connection(ctx, tx, p.Workspace(), p.ID(), viewer(p))
}

// ProjectsOf lists the projects that the permit's connection was added to, as
// far as the asking person may know of them.
func (s *Connections) ProjectsOf(ctx context.Context, tx access.Tx, p access.Permit) ([]Named, error) {
	c, err := s.Get(ctx, tx, p)
	return c.Projects, err
}

// Create makes the connection that the permit's person approves for the
// permit's workspace. It has no project yet (product.md §2).
func (s *Connections) Create(ctx context.Context, tx access.Tx, p access.Permit, n NewConnection) (Connection, error) {
	if err := p.Covers(access.KindWorkspace, access.RightEdit); err != nil {
		return Connection{}, err
	}
	who := p.Principal()
	c := Connection{
		ID: NewID(), WorkspaceID: p.Workspace(), Approver: Named{who.UserID, who.UserName},
		ClientID: n.ClientID, ClientHost: n.ClientHost, RedirectHost: n.RedirectHost, Name: n.Name,
		Status: StatusActive, Scopes: n.Scopes, Address: n.Address, CreatedAt: s.now(),
	}
	if err := s.add(ctx, tx, &c); err != nil {
		return Connection{}, err
	}
	return c, s.record(ctx, tx, who, c, "connection.created", "", nil)
}

// add gives the connection the first free slug of its name.
func (s *Connections) add(ctx context.Context, tx access.Tx, c *Connection) error {
	stem := slugOf(c.Name)
	for n := 1; ; n++ {
		c.Slug = stem
		switch {
		case n > 50: // of so many namesakes, nobody is told apart by a number
			c.Slug = stem + "-" + c.ID
		case n > 1:
			c.Slug = stem + "-" + strconv.Itoa(n)
		}
		if ok, err := s.store.AddConnection(ctx, tx, *c); ok || err != nil {
			return err
		}
	}
}

// slugOf writes a name in lower-case ASCII letters, digits and hyphens.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range fold(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-") && !unicode.IsMark(r):
			b.WriteByte('-')
		}
		if b.Len() >= 40 {
			break
		}
	}
	if slug := strings.Trim(b.String(), "-"); slug != "" {
		return slug
	}
	return "assistant"
}

// SetStatus pauses, resumes or revokes the connection of the permit. To a
// connection that is revoked already the answer is AlreadyDecided.
func (s *Connections) SetStatus(ctx context.Context, tx access.Tx, p access.Permit, to Status) (Connection, error) {
	if err := p.Covers(access.KindConnection, access.RightManage); err != nil {
		return Connection{}, err
	}
	if !to.Valid() {
		return Connection{}, refuseFaults(faultf("/status", "must be active, paused or revoked"))
	}
	return s.move(ctx, tx, p.Principal(), p.Workspace(), p.ID(), viewer(p), to)
}

// Replace revokes the connections of the same client that the permit's person
// approved for the permit's workspace before, except the one to keep.
func (s *Connections) Replace(ctx context.Context, tx access.Tx, p access.Permit, keep Connection) error {
	if err := p.Covers(access.KindWorkspace, access.RightEdit); err != nil {
		return err
	}
	ids, err := s.store.Predecessors(ctx, tx, p.Workspace(), p.Principal().UserID, keep.ClientID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if id == keep.ID {
			continue
		}
		_, err := s.move(ctx, tx, p.Principal(), p.Workspace(), id, "", StatusRevoked)
		if err != nil && access.CodeOf(err) != access.AlreadyDecided {
			return err
		}
	}
	return nil
}

func (s *Connections) move(ctx context.Context, tx access.Tx, who access.Principal, workspaceID, id, viewer string, to Status) (Connection, error) {
	for { // until nobody changed it in between
		c, err := s.store.Connection(ctx, tx, workspaceID, id, viewer)
		if err != nil {
			return Connection{}, err
		}
		if c.Status == StatusRevoked {
			return Connection{}, access.Refuse(access.AlreadyDecided, "This connection was revoked, which is final. Connect the assistant again.").
				With("state", string(StatusRevoked))
		}
		if c.Status == to {
			return c, nil
		}
		moved, err := s.store.MoveStatus(ctx, tx, workspaceID, id, c.Status, to)
		if err != nil {
			return Connection{}, err
		}
		if !moved {
			continue
		}
		from := c.Status
		c.Status = to
		return c, s.record(ctx, tx, who, c, eventOf(to), "", map[string]any{"from": string(from)})
	}
}

func eventOf(to Status) string {
	switch to {
	case StatusPaused:
		return "connection.paused"
	case StatusRevoked:
		return "connection.revoked"
	}
	return "connection.resumed"
}

// Rename changes the display name of the permit's connection. Its slug stays.
func (s *Connections) Rename(ctx context.Context, tx access.Tx, p access.Permit, name string) (Connection, error) {
	if err := p.Covers(access.KindConnection, access.RightManage); err != nil {
		return Connection{}, err
	}
	name, fault := DisplayName(name, MaxConnectionName)
	if fault != "" {
		return Connection{}, refuseFaults(faultf("/name", "%s", fault))
	}
	c, err := s.store.Connection(ctx, tx, p.Workspace(), p.ID(), viewer(p))
	if err != nil || c.Name == name {
		return c, err
	}
	if err := s.store.RenameConnection(ctx, tx, p.Workspace(), p.ID(), name); err != nil {
		return Connection{}, err
	}
	c.Name = name
	return c, s.record(ctx, tx, p.Principal(), c, "connection.renamed", "", nil)
}

// AddToProject lets the connection see the permit's project, from its next call
// on. A connection of another workspace is as unknown as one that never was.
func (s *Connections) AddToProject(ctx context.Context, tx access.Tx, p access.Permit, connectionID string) (Connection, error) {
	if err := p.Covers(access.KindProject, access.RightManage); err != nil {
		return Connection{}, err
	}
	// The row is updated before it is read: who revokes it now waits, or was first.
	added, err := s.store.AddToProject(ctx, tx, p.Workspace(), p.ID(), connectionID, p.Principal().UserID, s.now())
	if err != nil {
		return Connection{}, err
	}
	c, err := s.store.Connection(ctx, tx, p.Workspace(), connectionID, viewer(p))
	if err != nil {
		return Connection{}, err
	}
	if c.Status == StatusRevoked {
		return Connection{}, access.Refuse(access.ConnectionRevoked, "This connection was revoked. Connect the assistant again and add that connection.")
	}
	if !added {
		return c, nil
	}
	return c, s.record(ctx, tx, p.Principal(), c, "connection.added_to_project", p.ID(), map[string]any{"project_id": p.ID()})
}

// RemoveFromProject takes the permit's project from the connection, from its
// next call on. NotFound if it was never added.
func (s *Connections) RemoveFromProject(ctx context.Context, tx access.Tx, p access.Permit, connectionID string) error {
	if err := p.Covers(access.KindProject, access.RightManage); err != nil {
		return err
	}
	removed, err := s.store.RemoveFromProject(ctx, tx, p.Workspace(), p.ID(), connectionID)
	if err != nil {
		return err
	}
	if !removed {
		return access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindConnection)
	}
	c := Connection{ID: connectionID, WorkspaceID: p.Workspace()}
	return s.record(ctx, tx, p.Principal(), c, "connection.removed_from_project", p.ID(), map[string]any{"project_id": p.ID()})
}

func (s *Connections) record(ctx context.Context, tx access.Tx, who access.Principal, c Connection, event, projectID string, data map[string]any) error {
	return s.events.Record(ctx, tx, who, Event{
		WorkspaceID: c.WorkspaceID, ProjectID: projectID, Type: event, Kind: access.KindConnection, ResourceID: c.ID, Data: data,
	})
}
