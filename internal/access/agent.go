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
func CheckAgent(a AgentFacts, tool string, need Permission, ref Ref) (Permit, error) {
	if !a.TaskKnown || !a.TaskRunning || a.Person == nil && a.Connection == nil {
		return Permit{}, Refuse(Forbidden, "The task is over.")
	}
	if !slices.Contains(a.Tools, tool) {
		return Permit{}, Refuse(Forbidden, "The session does not give this agent the tool %s.", tool)
	}
	if inSession(ref.Kind) {
		return Permit{}, Refuse(Forbidden, "Agents do not work in sessions by tools.")
	}
	var permit Permit
	if a.Connection != nil {
		who := Principal{Credential: CredentialAgent, UserID: a.Connection.UserID, UserName: a.Connection.UserName,
			ConnectionID: a.Connection.ConnectionID, ConnectionName: a.Connection.ConnectionName, ConnectionSlug: a.Connection.ConnectionSlug,
			WorkspaceID: a.Connection.WorkspaceID, Scopes: a.Connection.Scopes}
		if err := NeedScopes(who, need.Scopes); err != nil {
			return Permit{}, err
		}
		var err error
		if permit, err = checkConnection(*a.Connection, who, need, ref); err != nil {
			return Permit{}, err
		}
	}
	if a.Person != nil {
		who := Principal{Credential: CredentialAgent, UserID: a.Person.UserID, UserName: a.Person.UserName, UserEmail: a.Person.UserEmail}
		byPerson, err := checkPerson(*a.Person, who, need, ref)
		if err != nil {
			return Permit{}, err
		}
		if a.Connection == nil {
			permit = byPerson
		}
	}
	permit.principal.Agent, permit.principal.TaskID = a.Agent, a.TaskID
	return permit, nil
}
