package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// JoinedSession is a session as a connection with a seat in it sees it.
type JoinedSession struct {
	ID        string
	Type      SessionType
	Title     string
	ProjectID string
	Version   int64
	Seat      access.Seat
	State     SessionState
	Archived  bool
	UpdatedAt time.Time
}

// JoinedFilter narrows a list of joined sessions. Zero values narrow nothing.
type JoinedFilter struct {
	Types  []SessionType
	Active *bool // only those in use, or only those in the archive
}

// recentTasks is how many tasks a session's state shows.
const recentTasks = 20

// SessionView is a session with what goes on there.
type SessionView struct {
	Session
	State SessionState
}

// Get is the permit's session.
func (s *Sessions) Get(ctx context.Context, tx access.Tx, p access.Permit) (SessionView, error) {
	if err := p.Covers(access.KindSession, access.RightView); err != nil {
		return SessionView{}, err
	}
	got, err := loadedSession(p)
	if err != nil {
		return SessionView{}, err
	}
	views, err := s.views(ctx, tx, p.Workspace(), got)
	if err != nil {
		return SessionView{}, err
	}
	return views[0], nil
}

// List lists the sessions of the permit's project that the person can open.
func (s *Sessions) List(ctx context.Context, tx access.Tx, p access.Permit, archived bool, page Page) (Listing[SessionView], error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Listing[SessionView]{}, err
	}
	rows, err := s.store.ProjectSessions(ctx, tx, p.Workspace(), p.ID(), p.Principal().UserID, archived, Page{page.After, page.Limit + 1})
	if err != nil {
		return Listing[SessionView]{}, err
	}
	cut := Cut(rows, page.Limit, func(s Session) string { return s.ID })
	views, err := s.views(ctx, tx, p.Workspace(), cut.Items...)
	return Listing[SessionView]{Items: views, Next: cut.Next}, err
}

func (s *Sessions) views(ctx context.Context, tx access.Tx, workspaceID string, sessions ...Session) ([]SessionView, error) {
	ids := make([]string, len(sessions))
	for i, one := range sessions {
		ids[i] = one.ID
	}
	states, err := s.store.SessionStates(ctx, tx, workspaceID, ids)
	if err != nil {
		return nil, err
	}
	views := make([]SessionView, len(sessions))
	for i, one := range sessions {
		views[i] = SessionView{one, stateIn(states, one.ID, one.Archived())}
	}
	return views, nil
}

// stateIn is the state of one session among the states of many.
func stateIn(states map[string]SessionState, id string, archived bool) SessionState {
	state, busy := states[id]
	switch {
	case busy: // a task that began before still ends
		return state
	case archived:
		return SessionArchived
	}
	return SessionIdle
}

// Joined lists sessions in which the permit's connection has a seat, leaving out
// those of which a call would be denied. The permit is for the connection, or for
// the one project to look in.
func (s *Sessions) Joined(ctx context.Context, tx access.Tx, p access.Permit, f JoinedFilter, page Page) (Listing[JoinedSession], error) {
	in, err := connectionScope(ctx, tx, s.resources, p)
	if err != nil {
		return Listing[JoinedSession]{}, err
	}
	rows, err := s.store.JoinedSessions(ctx, tx, in, f, Page{page.After, page.Limit + 1})
	if err != nil {
		return Listing[JoinedSession]{}, err
	}
	cut := Cut(rows, page.Limit, func(j JoinedSession) string { return j.ID })
	ids := make([]string, len(cut.Items))
	for i, j := range cut.Items {
		ids[i] = j.ID
	}
	states, err := s.store.SessionStates(ctx, tx, p.Workspace(), ids)
	for i, j := range cut.Items {
		cut.Items[i].State = stateIn(states, j.ID, j.Archived)
	}
	return cut, err
}

// State is the session of a connection's permit with what goes on there, and its
// newest tasks, newest first. Goals and reasons of tasks that are not the
// connection's own are left out.
func (s *Sessions) State(ctx context.Context, tx access.Tx, p access.Permit) (SessionView, []Task, error) {
	if err := p.Seated(access.KindSession, access.SeatObserver); err != nil {
		return SessionView{}, nil, err
	}
	view, err := s.Get(ctx, tx, p)
	if err != nil {
		return SessionView{}, nil, err
	}
	tasks, err := s.store.RecentTasks(ctx, tx, p.Workspace(), p.ID(), recentTasks)
	for i, t := range tasks {
		if t.ConnectionID != p.Principal().ConnectionID {
			tasks[i].Goal, tasks[i].Reason = "", ""
		}
	}
	return view, tasks, err
}

// connectionScope is what a permit of a connection opens: all that it was given, or
// the one project that the permit is for.
func connectionScope(ctx context.Context, tx access.Tx, store ResourceStore, p access.Permit) (Scope, error) {
	who := p.Principal()
	in := Scope{WorkspaceID: p.Workspace(), UserID: who.UserID, ConnectionID: who.ConnectionID}
	if p.Kind() == access.KindProject {
		in.ProjectIDs = []string{p.ID()}
		return in, p.Covers(access.KindProject, access.RightView)
	}
	if err := p.Covers(access.KindConnection, access.RightView); err != nil {
		return Scope{}, err
	}
	granted, err := store.GrantedProjects(ctx, tx, in.WorkspaceID, who.ConnectionID, who.UserID)
	for _, project := range granted {
		in.ProjectIDs = append(in.ProjectIDs, project.ID)
	}
	return in, err
}

// sessionScope is what a connection's permit for one session opens.
func sessionScope(p access.Permit) (Scope, error) {
	who := p.Principal()
	in := Scope{WorkspaceID: p.Workspace(), UserID: who.UserID, ConnectionID: who.ConnectionID, ProjectIDs: []string{p.Project()}}
	return in, p.Seated(access.KindSession, access.SeatObserver)
}
