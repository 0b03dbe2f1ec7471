package storage

import (
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// A round proves who it works for by its row: the task says who started it, and
// that one is judged as for a call of their own. A connection is found by its ID
// instead of by a token.

var (
	approvedColumns = columns{
		fixed: []string{`c.scopes`, `c.id`, `c.status`, `c.family_revoked_at`, `c.workspace_id`},
		fixedDests: func(r *factsRow) []any {
			return []any{&r.scopes, &r.facts.ConnectionID, &r.facts.ConnectionStatus, &r.familyRevoked, &r.facts.WorkspaceID}
		},
		text: []string{`c.name`, `c.slug`},
		textDests: func(r *factsRow) []any {
			return []any{&r.facts.ConnectionName, &r.facts.ConnectionSlug}
		},
	}

	approvedQuestions = map[access.Kind]question{
		access.KindProject: ask([]columns{approvedColumns, personColumns, projectColumns, grantColumns},
			fromApproved+` LEFT JOIN projects p ON p.id = CAST($2 AS TEXT) AND p.workspace_id = c.workspace_id`+joinProjectMember+joinGrant,
			whereApproved),
		access.KindNote: ask([]columns{approvedColumns, personColumns, projectColumns, grantColumns, noteColumns, aclColumns},
			fromApproved+` LEFT JOIN notes n ON n.id = CAST($2 AS TEXT) AND n.workspace_id = c.workspace_id
			LEFT JOIN projects p ON p.id = n.project_id AND p.workspace_id = c.workspace_id`+joinProjectMember+joinGrant+joinACL,
			whereApproved),
		access.KindSession: ask([]columns{approvedColumns, personColumns, projectColumns, grantColumns, sessionColumns, aclColumns, seatColumns},
			fromApproved+joinSession+joinSessionProject+joinProjectMember+joinGrant+joinSessionACL+joinSeat, whereApproved),
	}
)

const (
	fromApproved = ` FROM connections c
		JOIN users u ON u.id = c.approver_id
		LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = u.id`
	whereApproved = ` WHERE c.id = CAST($1 AS TEXT)`

	roundQuestion = `SELECT k.state, r.state, r.attempt, r.agent, k.agents, s.agents, k.connection_id, k.user_id, s.workspace_id, s.project_id
		FROM rounds r JOIN tasks k ON k.id = r.task_id JOIN sessions s ON s.id = k.session_id
		WHERE r.task_id = $1 AND r.number = $2`
)

// AgentFacts is access.Source.AgentFacts. Tools are those that the agent had when
// the task was queued and has still.
func (db *DB) AgentFacts(ctx context.Context, tx access.Tx, round access.RoundRef, ref access.Ref) (access.AgentFacts, error) {
	var taskState, roundState, agent, then, now, connection, person, workspaceID, projectID string
	var attempt int64
	c, _ := raw(tx)
	err := c.QueryRowContext(ctx, roundQuestion, round.TaskID, round.Number).
		Scan(&taskState, &roundState, &attempt, &agent, &then, &now, &connection, &person, &workspaceID, &projectID)
	if errors.Is(err, sql.ErrNoRows) {
		return access.AgentFacts{}, nil
	}
	if err != nil {
		return access.AgentFacts{}, err
	}
	if ref.Kind == access.KindConnection {
		ref = access.Ref{Kind: access.KindProject, ID: projectID}
	}
	f := access.AgentFacts{TaskKnown: true, Agent: agent, TaskID: round.TaskID, Ref: ref,
		TaskRunning: taskState == string(workspace.TaskRunning) && roundState == string(workspace.RoundRunning) && attempt == round.Attempt}
	if f.Tools, err = toolsStill(agent, then, now); err != nil {
		return access.AgentFacts{}, err
	}
	if connection != "" {
		if f.Connection, err = db.approvedFacts(ctx, tx, connection, ref); err != nil {
			return access.AgentFacts{}, err
		}
	}
	if person == "" {
		return f, nil
	}
	facts, err := db.PersonFacts(ctx, tx, person, ref)
	if facts.WorkspaceID != workspaceID { // a thing that is nowhere, or in another workspace: the task still is in its own
		facts.Found, facts.WorkspaceID, facts.ProjectID = false, workspaceID, ""
	}
	f.Person = &facts
	return f, err
}

// approvedFacts are the facts of a connection and a thing. Where all its tokens
// were revoked, nobody is there any more to work for.
func (db *DB) approvedFacts(ctx context.Context, tx access.Tx, connectionID string, ref access.Ref) (*access.Facts, error) {
	q, about := approvedQuestions[ref.Kind]
	if !about {
		return &access.Facts{}, nil
	}
	r, ok, err := q.read(ctx, tx, connectionID, ref.ID)
	if err != nil || !ok {
		return &access.Facts{}, err
	}
	f := r.facts
	f.Scopes, _ = access.ParseScopes(r.scopes)
	if r.familyRevoked != 0 {
		f.ConnectionStatus = string(workspace.StatusRevoked)
	}
	if f.ProjectID != "" {
		err = r.thing(&f, ref.Kind)
	}
	return &f, err
}

// toolsStill are the tools of the agent in both states of its session.
func toolsStill(slug, then, now string) ([]string, error) {
	var before, after workspace.Session
	if err := errors.Join(readSessionSetup(then, "{}", &before), readSessionSetup(now, "{}", &after)); err != nil {
		return nil, err
	}
	current := after.Agent(slug).Tools
	return slices.DeleteFunc(slices.Clone(before.Agent(slug).Tools), func(tool string) bool {
		return !slices.Contains(current, tool)
	}), nil
}

// HoldAgent is access.Source.HoldAgent.
func (db *DB) HoldAgent(ctx context.Context, tx access.Tx, round access.RoundRef, ref access.Ref, right access.Right) error {
	c, dialect := raw(tx)
	if dialect == sqlite { // its one writer holds everything
		return nil
	}
	var connection, person string
	err := c.QueryRowContext(ctx, `SELECT k.connection_id, k.user_id FROM tasks k WHERE k.id = $1`, round.TaskID).Scan(&connection, &person)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	type statement struct {
		query string
		args  []any
	}
	var holds []statement
	if person != "" {
		for _, hold := range personHolds(ref.Kind, right) {
			holds = append(holds, statement{hold, []any{ref.ID, person}})
		}
	}
	if connection != "" { // behind the membership, which comes first
		own := []statement{{holdConnection, []any{connection}}}
		if hold := agentHolds[ref.Kind]; hold != "" {
			own = append(own, statement{hold, []any{ref.ID, connection}})
		}
		holds = slices.Insert(holds, min(1, len(holds)), own...)
	}
	holds = append(holds, statement{holdTask, []any{round.TaskID}})
	for _, hold := range holds {
		if _, err := c.ExecContext(ctx, hold.query, hold.args...); err != nil {
			return err
		}
	}
	return nil
}

const (
	holdConnection = `SELECT c.id FROM connections c WHERE c.id = $1 FOR NO KEY UPDATE OF c`
	holdTask       = `SELECT k.id FROM tasks k WHERE k.id = $1 FOR SHARE OF k`
)

// agentHolds keep a thing as it is for a connection, by kind.
var agentHolds = map[access.Kind]string{
	access.KindProject: `SELECT p.id FROM projects p JOIN connections c ON c.workspace_id = p.workspace_id WHERE p.id = $1 AND c.id = $2 FOR SHARE OF p`,
	access.KindNote:    `SELECT n.id FROM notes n JOIN connections c ON c.workspace_id = n.workspace_id WHERE n.id = $1 AND c.id = $2 FOR NO KEY UPDATE OF n`,
}
