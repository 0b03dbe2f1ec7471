package workspace

import (
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// SessionType says how the agents of a session work.
type SessionType string

// The types of sessions (product.md §1).
const (
	SessionAgent SessionType = "agent" // one agent
	SessionTeam  SessionType = "team"  // several, which take turns and mail each other; the first one leads
	SessionLoop  SessionType = "loop"  // one agent, repeated until its done-condition holds or rounds run out
)

// SessionState is what goes on in a session.
type SessionState string

// The states, from the most urgent of a session's tasks.
const (
	SessionIdle     SessionState = "idle"
	SessionQueued   SessionState = "queued"
	SessionRunning  SessionState = "running"
	SessionWaiting  SessionState = "waiting" // for a person
	SessionArchived SessionState = "archived"
)

// Valid reports whether t is one of the three types.
func (t SessionType) Valid() bool {
	return t == SessionAgent || t == SessionTeam || t == SessionLoop
}

// Limits of sessions. Texts are counted in Unicode code points.
const (
	MaxSessionTitle  = 200
	MinTeam          = 2 // agents of a team
	MaxAgents        = 10
	MaxAgentSlug     = 40
	MaxInstructions  = 20_000
	MaxRounds        = 50 // of a task, whatever the session says (security.md TH25)
	DefaultMaxRounds = 3  // of a task whose caller names none
	MaxAskedRounds   = 10 // that a caller can ask for, and the cap of a session that sets none
	MaxAgentTools    = 100
	MaxDonePhrase    = 200
)

// Agent is a named worker of a session.
type Agent struct {
	Slug         string   `json:"slug"`
	Instructions string   `json:"instructions"`
	Provider     string   `json:"provider"` // rehearsal, or the name of a provider of the workspace
	Model        string   `json:"model,omitzero"`
	Tools        []string `json:"tools,omitzero"` // of the catalogue, by name
}

// Done is the condition that ends a loop; the zero value never holds. One of the
// fields is set.
type Done struct {
	Phrase  string   `json:"phrase,omitzero"`  // the agent says it
	Verdict bool     `json:"verdict,omitzero"` // the agent calls the tool "finish"
	Command []string `json:"command,omitzero"` // exits with 0; an argument vector, as for a provider of kind command
}

// Budget bounds what agents use on one day (UTC); 0 is no limit.
type Budget struct {
	Rounds  int64 `json:"rounds,omitzero"`
	Tokens  int64 `json:"tokens,omitzero"`
	Minutes int64 `json:"minutes,omitzero"`
}

// Session is a place where agents work. Version counts changes of title, place,
// agents and figures.
type Session struct {
	ID          string
	WorkspaceID string
	ProjectID   string
	Type        SessionType
	Title       string
	OwnerID     string
	Version     int64
	Agents      []Agent // at least one; the first one leads
	Done        Done
	MaxRounds   int64
	Budget      Budget
	LocalOnly   bool
	HasACL      bool
	ArchivedAt  time.Time // zero: not archived
	CreatedAt   time.Time
	CreatedBy   string // user
	UpdatedAt   time.Time
	UpdatedBy   string // user
}

// Agent is the agent with the slug, the zero Agent if there is none.
func (s Session) Agent(slug string) Agent {
	i := slices.IndexFunc(s.Agents, func(a Agent) bool { return a.Slug == slug })
	if i < 0 {
		return Agent{}
	}
	return s.Agents[i]
}

// Archived reports whether the session is in the archive, where it can be read
// but takes no handoffs, runs or mail.
func (s Session) Archived() bool { return !s.ArchivedAt.IsZero() }

// SeatGiven is a connection's seat in a session.
type SeatGiven struct {
	SessionID    string
	SessionType  SessionType
	Title        string // of the session
	ConnectionID string
	Connection   string // display name
	Slug         string // of the connection
	Status       Status // of the connection
	Seat         access.Seat
	GivenBy      string    // user
	LastUsedAt   time.Time // of the connection; zero: never
	CreatedAt    time.Time
}
