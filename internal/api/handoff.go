package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// handoffAgent is an agent that would do the work, with its provider's kind.
// Instructions are those of the session at session_version.
type handoffAgent struct {
	Slug     string   `json:"slug"`
	Provider string   `json:"provider"`
	Kind     string   `json:"kind"` // rehearsal, openai, anthropic or command; missing where the provider is gone
	Model    string   `json:"model,omitzero"`
	Tools    []string `json:"tools"`
}

// handoff is an outside assistant's proposal with all that accepting it approves.
type handoff struct {
	ID              string                 `json:"id"`
	WorkspaceID     string                 `json:"workspace_id"`
	ProjectID       string                 `json:"project_id"` // of the session now
	SessionID       string                 `json:"session_id"`
	SessionType     workspace.SessionType  `json:"session_type"`
	SessionTitle    string                 `json:"session_title"`
	SessionVersion  int64                  `json:"session_version"`
	Connection      handoffProposer        `json:"connection"`
	Goal            string                 `json:"goal"`
	ContextSummary  string                 `json:"context_summary"`
	RequestedOutput string                 `json:"requested_output"`
	MaxRounds       int64                  `json:"max_rounds"` // what accepting allows at most
	Agents          []handoffAgent         `json:"agents"`
	State           workspace.HandoffState `json:"state"`
	Reason          string                 `json:"reason,omitzero"`
	Digest          string                 `json:"digest,omitzero"` // of all this, while it is pending
	CreatedAt       time.Time              `json:"created_at"`
	ExpiresAt       *time.Time             `json:"expires_at"` // null: never
	DecidedAt       *time.Time             `json:"decided_at"` // null: not yet
	DecidedBy       *named                 `json:"decided_by"` // null: nobody, or the assistant itself
	TaskID          string                 `json:"task_id,omitzero"`
}

type handoffProposer struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Slug     string `json:"slug"`
	Host     string `json:"host"` // where its approver was sent back to
	Approver named  `json:"approver"`
}

func handoffOf(h workspace.ShownHandoff) handoff {
	out := handoff{
		ID: h.ID, WorkspaceID: h.WorkspaceID, ProjectID: h.ProjectID, SessionID: h.SessionID, SessionType: h.Session.Type, SessionTitle: h.Session.Title, SessionVersion: h.Session.Version,
		Connection: handoffProposer{ID: h.ConnectionID, Name: h.Connection, Slug: h.Slug, Host: h.Host, Approver: namedOf(h.Approver)},
		Goal:       h.Goal, ContextSummary: h.ContextSummary, RequestedOutput: h.RequestedOutput, MaxRounds: h.Rounds,
		Agents: make([]handoffAgent, len(h.Session.Agents)), State: h.State, Reason: h.Reason, Digest: h.Digest,
		CreatedAt: h.CreatedAt, ExpiresAt: unlessZero(h.ExpiresAt), DecidedAt: unlessZero(h.DecidedAt), TaskID: h.TaskID,
	}
	if h.DecidedBy.ID != "" {
		by := namedOf(h.DecidedBy)
		out.DecidedBy = &by
	}
	kinds := map[string]string{workspace.RehearsalProvider: workspace.RehearsalProvider}
	for _, p := range h.Providers {
		kinds[p.Name] = string(p.Kind)
	}
	for i, a := range h.Session.Agents {
		out.Agents[i] = handoffAgent{Slug: a.Slug, Provider: a.Provider, Kind: kinds[a.Provider], Model: a.Model, Tools: append([]string{}, a.Tools...)}
	}
	return out
}

type decisionBody struct {
	Decision string `json:"decision"` // accept or decline
	Reason   string `json:"reason,omitzero"`
	Digest   string `json:"digest,omitzero"` // of what was shown
}

type handoffCalls struct{ handoffs *workspace.Handoffs }

// HandoffRoutes are what outside assistants propose, and what people decide.
func HandoffRoutes(handoffs *workspace.Handoffs) []Route {
	s := handoffCalls{handoffs}
	state := Query{Name: "state", Arg: "enum=pending|accepted|declined|cancelled", Doc: "Only those in this state"}
	const path = "/api/v1/agent-sessions/{session}/external-handoffs"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/handoffs", Operation: "handoff.inbox",
			Summary: "What assistants proposed for the sessions where the caller may decide, newest first", Paged: true,
			Filters: []Query{state, {Name: "workspace", Doc: "Only those of this workspace"}}}, s.inbox),
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "handoff.list", Summary: "What assistants proposed for the session, newest first",
			Kind: access.KindSession, Right: access.RightView, Paged: true,
			Filters: []Query{state}}, s.list),
		Handle(Rule{Method: http.MethodGet, Path: path + "/{handoff}", Operation: "handoff.get", Summary: "One handoff",
			Kind: access.KindSession, Right: access.RightView}, s.get),
		Handle(Rule{Method: http.MethodPost, Path: path + "/{handoff}/decision", Operation: "handoff.decide", Caller: Browser,
			Summary: "Accept a handoff, which queues its task, or decline it; only in the browser",
			Kind:    access.KindSession, Right: access.RightEdit}, s.decide),
	}
}

func (s handoffCalls) inbox(ctx context.Context, c *Call, _ Nothing) (List[handoff], error) {
	f := workspace.HandoffFilter{State: workspace.HandoffState(c.Query("state"))}
	if id := c.Query("workspace"); id != "" {
		f.WorkspaceID = idOf(id)
	}
	l, err := s.handoffs.Decidable(ctx, c.Tx, c.Who, f, c.Page)
	return listOf(c, l, handoffOf), err
}

func (s handoffCalls) list(ctx context.Context, c *Call, _ Nothing) (List[handoff], error) {
	l, err := s.handoffs.OfSession(ctx, c.Tx, c.Permit, workspace.HandoffState(c.Query("state")), c.Page)
	return listOf(c, l, handoffOf), err
}

func (s handoffCalls) get(ctx context.Context, c *Call, _ Nothing) (handoff, error) {
	h, err := s.handoffs.OneOfSession(ctx, c.Tx, c.Permit, c.Path("handoff"))
	return handoffOf(h), err
}

func (s handoffCalls) decide(ctx context.Context, c *Call, in decisionBody) (handoff, error) {
	c.Entry.Detail = map[string]any{"handoff_id": c.Path("handoff")}
	h, err := s.handoffs.Decide(ctx, c.Tx, c.Permit, c.Path("handoff"), workspace.HandoffDecision(in))
	if err == nil {
		c.Entry.Detail["state"] = string(h.State)
	}
	// The person may do this; what stands in the way is the assistant's standing.
	err = asConflict(err, access.NotInProject, access.LocalOnly, access.ACLDenied, access.SeatRequired, access.ApproverLostAccess)
	return handoffOf(h), err
}
