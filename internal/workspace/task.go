package workspace

import "time"

// TaskState is where a task stands (product.md §4).
type TaskState string

// The states: queued → running → succeeded, failed or stopped, with waiting (for a
// person) in between where needed.
const (
	TaskQueued    TaskState = "queued"
	TaskRunning   TaskState = "running"
	TaskWaiting   TaskState = "waiting"
	TaskSucceeded TaskState = "succeeded"
	TaskFailed    TaskState = "failed"
	TaskStopped   TaskState = "stopped"
)

// Over reports whether nothing more will happen to a task in this state.
func (s TaskState) Over() bool {
	return s == TaskSucceeded || s == TaskFailed || s == TaskStopped
}

// RoundState is where a round stands.
type RoundState string

// The states of a round. A round that was given back is queued again.
const (
	RoundQueued  RoundState = "queued"
	RoundRunning RoundState = "running"
	RoundDone    RoundState = "done"
	RoundFailed  RoundState = "failed"
	RoundStopped RoundState = "stopped"
)

// Task is one bounded piece of work in a session. Agents, Done and Type are the
// session's of the moment it was queued: what was approved is what runs.
type Task struct {
	ID           string
	WorkspaceID  string
	SessionID    string
	HandoffID    string // "" where no handoff was accepted
	ConnectionID string // that requested it or proposed its handoff; "" for a person's
	UserID       string // who queued or accepted it; "" where a connection requested it
	Goal         string
	MaxRounds    int64
	Agents       []Agent
	Done         Done
	Type         SessionType
	State        TaskState
	Reason       string // that a person can read
	Rounds       int64  // committed so far
	ToolCalls    int64
	Tokens       int64
	Spent        time.Duration
	Result       string
	ResultBy     string // slug of the agent whose word the result is
	Chars        int64  // code points of Result
	CreatedAt    time.Time
	StartedAt    time.Time // zero: not yet
	EndedAt      time.Time // zero: not yet
	StoppedBy    string    // user
}

// ToolCall is one call of a tool within a round, with what came back.
type ToolCall struct {
	ID        string `json:"id"` // as the model numbered it
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON, as the model wrote it
	Result    string `json:"result,omitzero"`
	Failed    bool   `json:"failed,omitzero"`
	Code      string `json:"code,omitzero"` // of the refusal
}

// Round is one turn of an agent on a task: a model call, or a command, with its
// tool calls.
type Round struct {
	TaskID      string
	Number      int64
	WorkspaceID string
	SessionID   string
	Agent       string // slug
	State       RoundState
	Attempt     int64
	Faults      int64 // turns that failed; interrupted ones are none
	Node        string
	EffectAt    time.Time // when something outside was begun whose outcome is not known yet
	Text        string
	Calls       []ToolCall
	Model       string // as the provider named it
	TokensIn    int64
	TokensOut   int64
	Reason      string
	StartedAt   time.Time
	EndedAt     time.Time
}
