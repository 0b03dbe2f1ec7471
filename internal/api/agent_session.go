package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// agent is a worker of a session, as it is sent and answered.
type agent struct {
	Slug         string   `json:"slug"`
	Instructions string   `json:"instructions"`
	Provider     string   `json:"provider"` // rehearsal, or one of the workspace
	Model        string   `json:"model,omitzero"`
	Tools        []string `json:"tools,omitzero"` // names of the tools that it may use; left out: those that read
}

// doneCondition ends a loop; one of its fields is set.
type doneCondition struct {
	Phrase  string   `json:"phrase,omitzero"`
	Verdict bool     `json:"verdict,omitzero"`
	Command []string `json:"command,omitzero"`
}

// budget bounds what agents use on one day; 0 is no limit.
type budget struct {
	Rounds  int64 `json:"rounds,omitzero"`
	Tokens  int64 `json:"tokens,omitzero"`
	Minutes int64 `json:"minutes,omitzero"`
}

// agentSession is a session where agents work. Browsers have sessions too; those
// are Sessions.
type agentSession struct {
	ID          string                 `json:"id"`
	WorkspaceID string                 `json:"workspace_id"`
	ProjectID   string                 `json:"project_id"`
	Type        workspace.SessionType  `json:"type"`
	Title       string                 `json:"title"`
	OwnerID     string                 `json:"owner_id"`
	Version     int64                  `json:"version"` // of title, place, agents and figures
	State       workspace.SessionState `json:"state"`
	Agents      []agent                `json:"agents"` // the first one leads
	Done        doneCondition          `json:"done"`
	MaxRounds   int64                  `json:"max_rounds"` // most of one task
	Budget      budget                 `json:"budget"`
	Archived    bool                   `json:"archived"`
	LocalOnly   bool                   `json:"local_only"`
	Restricted  bool                   `json:"restricted"` // to the people of its ACL
	CreatedAt   time.Time              `json:"created_at"`
	UpdatedAt   time.Time              `json:"updated_at"`
}

func agentSessionOf(s workspace.SessionView) agentSession {
	out := agentSession{
		ID: s.ID, WorkspaceID: s.WorkspaceID, ProjectID: s.ProjectID, Type: s.Type, Title: s.Title, OwnerID: s.OwnerID, Version: s.Version,
		State: s.State, Agents: make([]agent, len(s.Agents)), Done: doneCondition(s.Done), MaxRounds: s.MaxRounds, Budget: budget(s.Budget),
		Archived: s.Archived(), LocalOnly: s.LocalOnly, Restricted: s.HasACL, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	for i, a := range s.Agents {
		out.Agents[i] = agent(a)
	}
	return out
}

type agentSessionBody struct {
	Type      string        `json:"type"` // agent, team or loop
	Title     string        `json:"title"`
	Agents    []agent       `json:"agents"`
	Done      doneCondition `json:"done,omitzero"`
	MaxRounds *int64        `json:"max_rounds,omitzero"`
	Budget    budget        `json:"budget,omitzero"`
}

type agentSessionChange struct {
	Title           *string        `json:"title,omitzero"`
	Agents          []agent        `json:"agents,omitzero"`
	Done            *doneCondition `json:"done,omitzero"`
	MaxRounds       *int64         `json:"max_rounds,omitzero"`
	Budget          *budget        `json:"budget,omitzero"`
	ProjectID       *string        `json:"project_id,omitzero"`
	Archived        *bool          `json:"archived,omitzero"`
	LocalOnly       *bool          `json:"local_only,omitzero"`
	ExpectedVersion int64          `json:"expected_version,omitzero"` // needed for all but local_only
}

// versioned reports whether the change needs the session's version.
func (c agentSessionChange) versioned() bool {
	return c.Title != nil || c.Agents != nil || c.Done != nil || c.MaxRounds != nil || c.Budget != nil || c.ProjectID != nil || c.Archived != nil
}

type agentSessionCalls struct {
	sessions *workspace.Sessions
	acls     *workspace.ACLs
}

// AgentSessionRoutes are the sessions in which agents work.
func AgentSessionRoutes(sessions *workspace.Sessions, acls *workspace.ACLs) []Route {
	s := agentSessionCalls{sessions, acls}
	const ofProject, path = "/api/v1/projects/{project}/agent-sessions", "/api/v1/agent-sessions/{session}"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: ofProject, Operation: "agent_session.list",
			Summary: "The sessions of the project that the caller can open", Kind: access.KindProject, Right: access.RightView, Paged: true,
			Filters: []Query{{Name: "archived", Arg: "enum=true|false", Doc: "The archive, instead of what is in use"}}}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: ofProject, Operation: "agent_session.create",
			Summary: "Make a session with its agents; the caller is its owner", Kind: access.KindProject, Right: access.RightEdit, Status: http.StatusCreated}, s.create),
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "agent_session.get", Summary: "One session",
			Kind: access.KindSession, Right: access.RightView}, s.get),
		Handle(Rule{Method: http.MethodPatch, Path: path, Operation: "agent_session.change",
			Summary: "Change a session's title, agents or figures, move it to another project, to the archive or back, or keep it on this server",
			Kind:    access.KindSession, Right: access.RightEdit, RightOf: rightToChangeSession}, s.change),
		Handle(Rule{Method: http.MethodPatch, Path: path + "/acl", Operation: "agent_session.local_only.set",
			Summary: "Keep the session on this server, away from all connections, or not",
			Kind:    access.KindSession, Right: access.RightManage}, s.setLocalOnly),
	}
}

// rightToChangeSession lets owners keep a session on the server that its ACL hides
// from them; everything else is an edit.
func rightToChangeSession(in any) access.Right {
	if c := in.(*agentSessionChange); c.LocalOnly != nil && !c.versioned() {
		return access.RightManage
	}
	return access.RightEdit
}

func (s agentSessionCalls) list(ctx context.Context, c *Call, _ Nothing) (List[agentSession], error) {
	l, err := s.sessions.List(ctx, c.Tx, c.Permit, c.Query("archived") == "true", c.Page)
	return listOf(c, l, agentSessionOf), err
}

func (s agentSessionCalls) create(ctx context.Context, c *Call, in agentSessionBody) (agentSession, error) {
	n := workspace.NewSession{
		Type: workspace.SessionType(in.Type), Title: in.Title, Agents: agentsOf(in.Agents), Done: workspace.Done(in.Done), Budget: workspace.Budget(in.Budget),
	}
	if in.MaxRounds != nil {
		if n.MaxRounds = *in.MaxRounds; n.MaxRounds == 0 { // which would mean that none was sent
			return agentSession{}, refuseField("max_rounds", "takes at least 1")
		}
	}
	made, err := s.sessions.Create(ctx, c.Tx, c.Permit, n)
	c.Entry.Kind, c.Entry.ResourceID = access.KindSession, made.ID
	return agentSessionOf(workspace.SessionView{Session: made, State: workspace.SessionIdle}), err
}

func agentsOf(in []agent) []workspace.Agent {
	agents := make([]workspace.Agent, len(in))
	for i, a := range in {
		agents[i] = workspace.Agent(a)
	}
	return agents
}

func (s agentSessionCalls) get(ctx context.Context, c *Call, _ Nothing) (agentSession, error) {
	got, err := s.sessions.Get(ctx, c.Tx, c.Permit)
	return agentSessionOf(got), err
}

func (s agentSessionCalls) change(ctx context.Context, c *Call, in agentSessionChange) (agentSession, error) {
	if !in.versioned() && in.LocalOnly == nil {
		return agentSession{}, refuseField("title", "or agents, done, max_rounds, budget, project_id, archived or local_only is required")
	}
	if in.versioned() && in.ExpectedVersion < 1 {
		return agentSession{}, refuseField("expected_version", "is required, and at least 1")
	}
	right := access.RightEdit
	if in.LocalOnly != nil {
		if err := s.keepLocal(ctx, c, *in.LocalOnly); err != nil {
			return agentSession{}, err
		}
		right = rightToChangeSession(&in)
	}
	if in.versioned() {
		if err := s.write(ctx, c, in); err != nil {
			return agentSession{}, err
		}
	}
	p, err := c.Need(ctx, access.Ref{Kind: access.KindSession, ID: c.Permit.ID()}, right) // as it is now
	if err != nil {
		return agentSession{}, err
	}
	got, err := s.sessions.Get(ctx, c.Tx, p)
	return agentSessionOf(got), err
}

func (s agentSessionCalls) write(ctx context.Context, c *Call, in agentSessionChange) error {
	change := workspace.SessionChange{
		Title: in.Title, MaxRounds: in.MaxRounds, Archived: in.Archived, ExpectedVersion: in.ExpectedVersion,
		Done: (*workspace.Done)(in.Done), Budget: (*workspace.Budget)(in.Budget),
	}
	if in.Agents != nil {
		change.Agents = agentsOf(in.Agents)
	}
	if in.ProjectID != nil {
		to, err := c.Need(ctx, access.Ref{Kind: access.KindProject, ID: *in.ProjectID}, access.RightEdit)
		if err != nil {
			return err
		}
		change.To = &to
		c.Entry.Detail = map[string]any{"from_project_id": c.Permit.Project(), "to_project_id": to.Project()}
	}
	_, err := s.sessions.Change(ctx, c.Tx, c.Permit, change)
	return err
}

func (s agentSessionCalls) keepLocal(ctx context.Context, c *Call, localOnly bool) error {
	p, err := c.Need(ctx, access.Ref{Kind: access.KindSession, ID: c.Permit.ID()}, access.RightManage)
	if err != nil {
		return err
	}
	c.Entry.Detail = map[string]any{"local_only": localOnly}
	return s.acls.SetLocalOnly(ctx, c.Tx, p, localOnly)
}

func (s agentSessionCalls) setLocalOnly(ctx context.Context, c *Call, in localOnlyBody) (localOnlyBody, error) {
	return in, s.keepLocal(ctx, c, in.LocalOnly)
}
