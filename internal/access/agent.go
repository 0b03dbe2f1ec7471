package access

import "slices"

// RoundRef names the round of a task that an agent calls from. A round that was
// taken over by another attempt is not the one that runs any more.
type RoundRef struct {
	TaskID  string
	Number  int64
	Attempt int64
}

// AgentFacts is the state of one moment that judges a call from a round of a
// task. A round acts with no rights of its own: it may do what whoever started the
// task may do at this moment, with the tools of its session (product.md §6).
type AgentFacts struct {
	TaskKnown   bool
	TaskRunning bool     // not stopped, not over; and the asking round is the one that runs
	Tools       []string // the agent's, as they were approved and still are
	Agent       string   // slug
	TaskID      string
	Ref         Ref  // the thing that was looked at; the session's project where none was named
	Local       bool // all agents of the task work on this server, or on one of its operator's own

	// Person is who started the task: the facts about the person who queued it, or
	// who accepted its handoff; nil where a connection requested the run by itself.
	Person *Facts
	// Connection is the connection that requested the run or proposed the handoff;
	// nil where a person queued the task. Its scopes are those approved.
	Connection *Facts
}

// CheckAgent decides about a tool call of an agent: everybody who stands behind
// the task must be allowed to do it now. A result that a connection reads can
// therefore hold nothing that the connection could not read itself.
func CheckAgent(a AgentFacts, tool string, need Permission) (Permit, error) {
	ref := a.Ref
	if !slices.Contains(a.Tools, tool) {
		return Permit{}, Refuse(Forbidden, "The session does not give this agent the tool %s.", tool)
	}
	if inSession(ref.Kind) {
		return Permit{}, Refuse(Forbidden, "Agents do not work in sessions by tools.")
	}
	who, err := IdentifyAgent(a)
	if err != nil {
		return Permit{}, err
	}
	if err := NeedScopes(who, need.Scopes); err != nil {
		return Permit{}, err
	}
	var permit Permit
	if a.Person != nil {
		if permit, err = checkPerson(*a.Person, who, need, ref); err != nil {
			return Permit{}, err
		}
		if a.Person.LocalOnly && !a.Local {
			return Permit{}, Refuse(LocalOnly, "This %s stays on its server, and an agent of this session works elsewhere.", ref.Kind)
		}
	}
	if a.Connection != nil {
		if permit, err = checkConnection(*a.Connection, who, need, ref); err != nil {
			return Permit{}, err
		}
	}
	return permit, nil
}

// IdentifyAgent says who a round works for: the connection where there is one, or
// else the person. A person stands for all scopes.
func IdentifyAgent(a AgentFacts) (Principal, error) {
	who := Principal{Credential: CredentialAgent, Agent: a.Agent, TaskID: a.TaskID}
	switch {
	case !a.TaskKnown || !a.TaskRunning:
		return Principal{}, Refuse(Forbidden, "The task is over.")
	case a.Connection != nil:
		f := a.Connection
		who.UserID, who.UserName, who.WorkspaceID, who.Scopes = f.UserID, f.UserName, f.WorkspaceID, f.Scopes
		who.ConnectionID, who.ConnectionName, who.ConnectionSlug = f.ConnectionID, f.ConnectionName, f.ConnectionSlug
	case a.Person != nil:
		f := a.Person
		who.UserID, who.UserName, who.UserEmail, who.WorkspaceID, who.Scopes = f.UserID, f.UserName, f.UserEmail, f.WorkspaceID, AllScopes
	}
	if who.UserID == "" {
		return Principal{}, Refuse(Forbidden, "Nobody stands behind this task any more.")
	}
	return who, nil
}
