package workspace

import "time"

// Begun is a round that was taken, with what its turn is made of.
type Begun struct {
	Task    Task
	Session Session // as it is now
	// Round holds Calls without results where an earlier attempt kept its turn: they
	// are called, and nobody is asked again. EffectAt is of an earlier attempt too.
	Round Round
	From  Author // of the goal: the connection, or the person who queued the task
}

// Use is what a round used, or less than nothing where that is given back.
type Use struct {
	Rounds    int64
	ToolCalls int64
	Tokens    int64
	Took      time.Duration
}

// Spent is what agents of a session, and of its workspace, used on one day.
type Spent struct {
	Session   Use
	Workspace Use
	Limit     Budget // of the workspace; the session has its own
}

// Turn is what an agent said in a round, and the tools it asked for.
type Turn struct {
	Text      string
	Calls     []ToolCall
	Model     string // as the provider named it
	TokensIn  int64
	TokensOut int64
}

// RoundEnd is how a round ends.
type RoundEnd struct {
	State  RoundState // done, failed or stopped
	Reason string
	Turn
}

// TaskEnd is how a task ends.
type TaskEnd struct {
	State    TaskState // one that is over
	Reason   string    // that a person can read; "" where the state says all
	Result   string
	ResultBy string // slug of the agent whose word the result is
}

// SenderKind says who wrote mail.
type SenderKind string

// The senders of mail.
const (
	FromAgent      SenderKind = "agent"
	FromConnection SenderKind = "connection"
	FromPerson     SenderKind = "person"
)

// Mail is a note in a session, from one of its agents, a connection or a person.
type Mail struct {
	ID           string
	WorkspaceID  string
	SessionID    string
	TaskID       string // "" outside tasks
	FromKind     SenderKind
	FromID       string // slug, connection or user
	FromName     string // as it is shown; of a connection its display name
	FromSlug     string // to answer to: of an agent, or the external sender slug of a connection
	ToAgent      string // slug; "" is the whole team
	ToConnection string // "", or the connection that may read it
	Internal     bool   // agents' own analysis, which no connection ever sees
	ReplyTo      string
	Subject      string
	Body         string
	CreatedAt    time.Time
}
