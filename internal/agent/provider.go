package agent

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Provider takes an agent's turn: a model behind an API, a local command, or the
// rehearsal. It knows nothing of workspaces: what it may see is in the Turn.
// Implementations are safe for parallel use, and pass package providertest.
type Provider interface {
	// Take takes one turn. Say is called with text as it comes, in order, from the
	// goroutine of Take. Take ends soon after ctx does, with its error. An error is
	// a *Fault, or one of ctx.
	Take(ctx context.Context, t Turn, say func(text string)) (Reply, error)
	// External reports whether a turn may have effects outside osFoundry, so that
	// one whose outcome is unknown must not be taken again without a person.
	External() bool
}

// Turn is what a provider is asked.
type Turn struct {
	Model        string // "" is the provider's own choice
	Instructions string // the system prompt
	Messages     []Message
	Tools        []ToolOffer // empty: the answer must be text
	MaxTokens    int64       // of the answer
	TaskID       string
	Agent        string // slug
	Round        int64  // of the task, from 1
	LastRound    int64  // the cap of the task
}

// Role says who speaks in a Message.
type Role string

// The roles.
const (
	RoleUser  Role = "user"
	RoleAgent Role = "agent"
	RoleTool  Role = "tool"
)

// Message is one part of what was said before.
type Message struct {
	Role   Role
	Text   string
	Calls  []Call // RoleAgent: the tools it called
	CallID string // RoleTool: which call this answers
	Failed bool   // RoleTool: the call was refused
}

// ToolOffer is a tool that the agent may call.
type ToolOffer struct {
	Name        string
	Description string
	Parameters  jsontext.Value // a JSON Schema, closed
}

// Call is a tool call that a turn asks for. Arguments are a JSON object: a
// provider refuses anything else as garbage.
type Call struct {
	ID        string
	Name      string
	Arguments jsontext.Value
}

// Reply is a turn that was taken.
type Reply struct {
	Text      string // all that was said
	Calls     []Call // to be done before the next turn; empty: the agent is finished
	Model     string // as the provider names it
	TokensIn  int64
	TokensOut int64
	Rehearsed bool // no model was involved
}

// FaultKind says what went wrong with a turn.
type FaultKind string

// The faults. FaultRefused, FaultLarge and FaultTools do not go away by themselves.
const (
	FaultDown    FaultKind = "down"    // not reached, or it ended the connection before an answer
	FaultSlow    FaultKind = "slow"    // nothing came for too long
	FaultBusy    FaultKind = "busy"    // 429, or overloaded; see Fault.After
	FaultFailed  FaultKind = "failed"  // a 5xx, or a command's exit status
	FaultGarbage FaultKind = "garbage" // an answer that is not in the protocol, or tool arguments that are not JSON
	FaultCut     FaultKind = "cut"     // the stream ended in the middle
	FaultRefused FaultKind = "refused" // wrong key, unknown model, a request it does not take: asking again does not help
	FaultLarge   FaultKind = "large"   // more output than is allowed
	FaultTools   FaultKind = "tools"   // more tools asked for at once than is allowed
)

// Fault is a turn that failed, in words for the person who owns the session.
// They never hold a key, a header or a prompt.
type Fault struct {
	Kind  FaultKind
	Text  string        // such as "The model server at 127.0.0.1:11434 did not answer."
	After time.Duration // how long the provider asks to wait; 0 if it does not say
	Cause error         // for the log; without secrets too
}

func (f *Fault) Error() string { return string(f.Kind) + ": " + f.Text }

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Again reports whether the same turn may succeed later.
func (f *Fault) Again() bool {
	return f.Kind != FaultRefused && f.Kind != FaultLarge && f.Kind != FaultTools
}
