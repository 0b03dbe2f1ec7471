package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// outsideAssistant is the label of connections wherever they stand beside people
// and agents.
const outsideAssistant = "outside assistant"

// assistant is a connection that asked for something.
type assistant struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Slug  string `json:"slug"`
	Label string `json:"label"`
}

// task is a task; its result and rounds stand in answers about one task only.
type task struct {
	ID            string              `json:"id"`
	SessionID     string              `json:"session_id"`
	HandoffID     string              `json:"handoff_id,omitzero"`
	Connection    *assistant          `json:"connection,omitzero"` // that requested it or proposed its handoff
	User          *named              `json:"user,omitzero"`       // who queued or accepted it
	Goal          string              `json:"goal"`
	State         workspace.TaskState `json:"state"`
	Reason        string              `json:"reason"`
	QueuePosition int64               `json:"queue_position,omitzero"` // while it is queued
	RoundsDone    int64               `json:"rounds_done"`
	MaxRounds     int64               `json:"max_rounds"`
	ToolCalls     int64               `json:"tool_calls"`
	Tokens        int64               `json:"tokens"`
	Millis        int64               `json:"millis"` // that its rounds took
	CreatedAt     time.Time           `json:"created_at"`
	StartedAt     *time.Time          `json:"started_at,omitzero"`
	EndedAt       *time.Time          `json:"ended_at,omitzero"`
	StoppedBy     *named              `json:"stopped_by,omitzero"`
	ResultBy      string              `json:"result_by,omitzero"` // slug of the agent whose word the result is
	ResultChars   int64               `json:"result_chars"`
	Result        *string             `json:"result,omitzero"`
	Rounds        []round             `json:"rounds,omitzero"`
	NextCursor    string              `json:"next_cursor,omitzero"` // of the rounds
}

// round is one turn of an agent, with what was said and called.
type round struct {
	Number    int64                `json:"number"`
	Agent     string               `json:"agent"` // slug
	State     workspace.RoundState `json:"state"`
	Attempt   int64                `json:"attempt"`
	Text      string               `json:"text"`
	Calls     []toolCall           `json:"calls"`
	Model     string               `json:"model,omitzero"`
	TokensIn  int64                `json:"tokens_in"`
	TokensOut int64                `json:"tokens_out"`
	Reason    string               `json:"reason,omitzero"`
	EffectAt  *time.Time           `json:"effect_at,omitzero"` // when something outside was begun whose outcome nobody knows
	StartedAt *time.Time           `json:"started_at,omitzero"`
	EndedAt   *time.Time           `json:"ended_at,omitzero"`
}

// toolCall is a call of a tool within a round. Arguments is the JSON that the model
// wrote, Result what came back.
type toolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Result    string `json:"result"`
	Failed    bool   `json:"failed"`
	Code      string `json:"code,omitzero"` // of a refusal
}

type taskBody struct {
	Goal      string `json:"goal"`
	MaxRounds *int64 `json:"max_rounds,omitzero"`
}

type resumeBody struct {
	Decision string `json:"decision"` // again or stop
}

type taskCalls struct{ tasks *workspace.Tasks }

// TaskRoutes are the tasks of a session, for people.
func TaskRoutes(tasks *workspace.Tasks) []Route {
	s := taskCalls{tasks}
	const path = "/api/v1/agent-sessions/{session}/tasks"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "task.list", Summary: "The tasks of a session, newest first",
			Kind: access.KindSession, Right: access.RightView, Paged: true,
			Filters: []Query{{"open", "enum=true|false", "Only tasks that are not over"}}}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: path, Operation: "task.queue", Summary: "Queue a task",
			Kind: access.KindSession, Right: access.RightEdit, Status: http.StatusCreated}, s.queue),
		Handle(Rule{Method: http.MethodGet, Path: path + "/{task}", Operation: "task.get",
			Summary: "One task with its result and its rounds, of which limit and cursor are",
			Kind:    access.KindSession, Right: access.RightView, Paged: true}, s.get),
		Handle(Rule{Method: http.MethodPost, Path: path + "/{task}/stop", Operation: "task.stop", Summary: "Stop a task; what it did stays",
			Kind: access.KindSession, Right: access.RightEdit}, s.stop),
		Handle(Rule{Method: http.MethodPost, Path: path + "/{task}/resume", Operation: "task.resume",
			Summary: "Decide about a task that waits for a person: what it began outside, with an unknown outcome, may be done again, or it is stopped",
			Kind:    access.KindSession, Right: access.RightEdit}, s.resume),
	}
}

func (s taskCalls) list(ctx context.Context, c *Call, _ Nothing) (List[task], error) {
	l, err := s.tasks.List(ctx, c.Tx, c.Permit, c.Query("open") == "true", c.Page)
	return listOf(c, l, taskOf), err
}

func (s taskCalls) queue(ctx context.Context, c *Call, in taskBody) (task, error) {
	asked := int64(0)
	if in.MaxRounds != nil {
		if asked = *in.MaxRounds; asked == 0 { // which is no way to leave it out
			asked = -1
		}
	}
	t, err := s.tasks.Queue(ctx, c.Tx, c.Permit, in.Goal, asked)
	c.Entry.Detail = map[string]any{"task_id": t.ID}
	return taskOf(t), err
}

func (s taskCalls) get(ctx context.Context, c *Call, _ Nothing) (task, error) {
	t, err := s.tasks.One(ctx, c.Tx, c.Permit, c.Path("task"))
	if err != nil {
		return task{}, err
	}
	l, err := s.tasks.Rounds(ctx, c.Tx, c.Permit, c.Path("task"), c.Page)
	if err != nil {
		return task{}, err
	}
	rounds := listOf(c, l, roundOf)
	out := taskOf(t)
	out.Result, out.Rounds, out.NextCursor = &t.Result, rounds.Items, rounds.NextCursor
	return out, nil
}

func (s taskCalls) stop(ctx context.Context, c *Call, _ Nothing) (task, error) {
	c.Entry.Detail = map[string]any{"task_id": c.Path("task")}
	t, err := s.tasks.Stop(ctx, c.Tx, c.Permit, c.Path("task"))
	return taskOf(t), err
}

func (s taskCalls) resume(ctx context.Context, c *Call, in resumeBody) (task, error) {
	c.Entry.Detail = map[string]any{"task_id": c.Path("task"), "decision": in.Decision}
	t, err := s.tasks.Resume(ctx, c.Tx, c.Permit, c.Path("task"), in.Decision)
	return taskOf(t), err
}

func taskOf(t workspace.ListedTask) task {
	out := task{
		ID: t.ID, SessionID: t.SessionID, HandoffID: t.HandoffID, User: namedIf(t.User), Goal: t.Goal, State: t.State, Reason: t.Reason,
		QueuePosition: t.QueuePosition, RoundsDone: t.Task.Rounds, MaxRounds: t.MaxRounds, ToolCalls: t.ToolCalls, Tokens: t.Tokens,
		Millis: t.Spent.Milliseconds(), CreatedAt: t.CreatedAt, StartedAt: unlessZero(t.StartedAt), EndedAt: unlessZero(t.EndedAt),
		StoppedBy: namedIf(t.Stopper), ResultBy: t.ResultBy, ResultChars: t.Chars,
	}
	if t.ConnectionID != "" {
		out.Connection = &assistant{t.Connection.ID, t.Connection.Name, t.Slug, outsideAssistant}
	}
	return out
}

func roundOf(r workspace.Round) round {
	out := round{
		Number: r.Number, Agent: r.Agent, State: r.State, Attempt: r.Attempt, Text: r.Text, Calls: make([]toolCall, len(r.Calls)),
		Model: r.Model, TokensIn: r.TokensIn, TokensOut: r.TokensOut, Reason: r.Reason, EffectAt: unlessZero(r.EffectAt),
		StartedAt: unlessZero(r.StartedAt), EndedAt: unlessZero(r.EndedAt),
	}
	for i, call := range r.Calls {
		out.Calls[i] = toolCall(call)
	}
	return out
}

// namedIf leaves the zero Named out of an answer.
func namedIf(n workspace.Named) *named {
	if n == (workspace.Named{}) {
		return nil
	}
	out := namedOf(n)
	return &out
}
