package tool

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type sessionsArguments struct {
	ProjectID string   `json:"project_id,omitzero"`
	Kinds     []string `json:"kinds,omitzero" arg:"items=..4" each:"enum=agent|team|loop|graph"`
	Active    *bool    `json:"active,omitzero"`
	Cursor    string   `json:"cursor,omitzero"`
}

type sessionArguments struct {
	SessionType string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID   string `json:"session_id"`
}

// joinedSession is a session in which the connection has a seat.
type joinedSession struct {
	SessionType string    `json:"session_type"`
	SessionID   string    `json:"session_id"`
	Title       string    `json:"title"`
	ProjectID   string    `json:"project_id"`
	Version     int64     `json:"version"`
	Seat        string    `json:"seat"`
	State       string    `json:"state"` // idle, queued, running, waiting (for a person) or archived
	Archived    bool      `json:"archived"`
	UpdatedAt   time.Time `json:"updated_at"`
}

type sessionList struct {
	Items      []joinedSession `json:"items"`
	NextCursor string          `json:"next_cursor,omitzero"`
}

// taskLine is a task as a session's state shows it. What was asked, and why a task
// stands where it stands, is told to whoever is behind it only.
type taskLine struct {
	TaskID    string     `json:"task_id"`
	Status    string     `json:"status"`
	Mine      bool       `json:"mine"` // of this connection
	Goal      string     `json:"goal,omitzero"`
	Reason    string     `json:"reason,omitzero"`
	Rounds    int64      `json:"rounds"` // done so far
	MaxRounds int64      `json:"max_rounds"`
	CreatedAt time.Time  `json:"created_at"`
	StartedAt *time.Time `json:"started_at,omitzero"`
	EndedAt   *time.Time `json:"ended_at,omitzero"`
}

// sessionState is the answer of read_session_state.
type sessionState struct {
	joinedSession
	MaxRounds int64      `json:"max_rounds"` // most of one task
	Agents    []string   `json:"agents"`     // slugs; the first one leads
	Tasks     []taskLine `json:"tasks"`      // newest first
}

// Sessions are the tools about sessions and handoffs.
func Sessions(sessions *workspace.Sessions, handoffs *workspace.Handoffs, cursors Cursors) []*Tool {
	t := sessionTools{sessions, cursors}
	return append([]*Tool{
		define(Tool{
			Name:        "list_sessions",
			Title:       "Sessions",
			Description: "Agent, team and loop sessions and graphs this connection was invited to, with its seat in each.",
			Needs:       reading,
			Hints:       Hints{ReadOnly: true},
		}, func(a sessionsArguments) []access.Ref {
			if a.ProjectID == "" {
				return connectionItself
			}
			return projectRefs(a.ProjectID)
		}, t.list),
		define(Tool{
			Name:        "read_session_state",
			Title:       "Session state",
			Description: "State and recent tasks of a session this connection joined.",
			Needs:       observing,
			Hints:       Hints{ReadOnly: true},
		}, func(a sessionArguments) []access.Ref { return sessionRefs(a.SessionType, a.SessionID) }, t.read),
	}, handoffTools{handoffs, cursors}.all()...)
}

// What tools in a session need.
var (
	observing    = access.Permission{Scopes: access.ScopeRead, Right: access.RightView, Seat: access.SeatObserver}
	contributing = access.Permission{Scopes: access.ScopeWrite, Right: access.RightEdit, Seat: access.SeatContributor}
)

// sessionRefs names a session, of a type where the caller says one.
func sessionRefs(sessionType, id string) []access.Ref {
	return []access.Ref{{Kind: access.KindSession, ID: id, Type: sessionType}}
}

type sessionTools struct {
	sessions *workspace.Sessions
	cursors  Cursors
}

func (t sessionTools) list(ctx context.Context, c *Run, a sessionsArguments) (sessionList, error) {
	filters := sessionsArguments{ProjectID: a.ProjectID, Kinds: a.Kinds, Active: a.Active}
	after, err := t.cursors.open(c, "list_sessions", a.Cursor, filters)
	if err != nil {
		return sessionList{}, err
	}
	f := workspace.JoinedFilter{Active: a.Active}
	if len(a.Kinds) > 0 {
		f.Types = make([]workspace.SessionType, len(a.Kinds)) // there are no graphs yet, so none is found
		for i, kind := range a.Kinds {
			f.Types[i] = workspace.SessionType(kind)
		}
	}
	list, err := t.sessions.Joined(ctx, c.Tx, c.Permit(), f, workspace.Page{After: after, Limit: listLimit})
	if err != nil {
		return sessionList{}, err
	}
	answer := sessionList{Items: make([]joinedSession, len(list.Items))}
	for i, s := range list.Items {
		answer.Items[i] = joinedSession{string(s.Type), s.ID, s.Title, s.ProjectID, s.Version, s.Seat.String(), string(s.State), s.Archived, s.UpdatedAt}
	}
	answer.NextCursor, err = t.cursors.next(c, "list_sessions", list.Next, filters)
	return answer, err
}

func (t sessionTools) read(ctx context.Context, c *Run, _ sessionArguments) (sessionState, error) {
	s, tasks, err := t.sessions.State(ctx, c.Tx, c.Permit())
	if err != nil {
		return sessionState{}, err
	}
	answer := sessionState{
		joinedSession: joinedSession{string(s.Type), s.ID, s.Title, s.ProjectID, s.Version, c.Permit().Seat().String(), string(s.State), s.Archived(), s.UpdatedAt},
		MaxRounds:     s.MaxRounds, Agents: make([]string, len(s.Agents)), Tasks: make([]taskLine, len(tasks)),
	}
	for i, a := range s.Agents {
		answer.Agents[i] = a.Slug
	}
	me := c.Permit().Principal().ConnectionID
	for i, k := range tasks {
		answer.Tasks[i] = taskLine{
			TaskID: k.ID, Status: string(k.State), Mine: k.ConnectionID == me, Goal: k.Goal, Reason: k.Reason, Rounds: k.Rounds, MaxRounds: k.MaxRounds,
			CreatedAt: k.CreatedAt, StartedAt: unlessZero(k.StartedAt), EndedAt: unlessZero(k.EndedAt),
		}
	}
	return answer, nil
}

// unlessZero leaves the zero time out of an answer.
func unlessZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
