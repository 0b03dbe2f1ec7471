package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

// place puts a session with a seat of claude into a project, and changes it.
func (w *world) place(id, project, seat, change string) {
	w.Helper()
	w.exec(`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes,
		local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
		SELECT $1, workspace_id, id, 'agent', 'Title of ' || $1, 'mara', 1, '[{"slug":"worker","instructions":"","provider":"rehearsal"}]', '{}', 5, 0, 0, 0,
			0, 0, 0, 1, 'mara', 1, 'mara' FROM projects WHERE id = $2`, id, project)
	if seat != "" {
		w.exec(`INSERT INTO session_seats (session_id, connection_id, seat, given_by, created_at) VALUES ($1, 'claude', $2, 'mara', 1)`, id, seat)
	}
	if change != "" {
		w.exec(`UPDATE sessions SET `+change+` WHERE id = $1`, id)
	}
}

// places are sessions in every state that decides whether claude sees them.
func (w *world) places() (seen, unseen []string) {
	w.Helper()
	w.exec(`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at) VALUES ('closed', 'atlas', 'closed', 1, 'mara', 1, 0, 1, 1)`)
	w.grant("claude", "closed") // which its approver is not in
	w.place("s01", "alpha", "observer", "")
	w.place("s02", "alpha", "", "")
	w.place("s03", "alpha", "runner", "local_only = 1")
	w.place("s04", "alpha", "runner", "has_acl = 1")
	w.place("s05", "alpha", "runner", "has_acl = 1")
	w.place("s06", "alpha", "runner", "has_acl = 1")
	w.place("s07", "beta", "runner", "")
	w.place("s08", "alpha", "contributor", "archived_at = 7")
	w.place("s09", "closed", "runner", "")
	w.place("s10", "gamma", "runner", "")
	w.exec(`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ('s04', 'mara', 'edit'), ('s05', 'ben', 'view'), ('s06', 'ben', 'edit')`)
	return []string{"s01", "s06", "s08"}, []string{"s02", "s03", "s04", "s05", "s07", "s09", "s10", "never"}
}

func TestListsShowSessionsThatACallWouldBeAllowedIn(t *testing.T) {
	eachWorld(t, func(w *world) {
		seen, unseen := w.places()
		for _, id := range seen {
			ask[sessionState](w, "claude-read", "read_session_state", `{"session_type":"agent","session_id":"`+id+`"}`)
		}
		for _, id := range unseen {
			if answer, err := w.call("claude-read", "read_session_state", `{"session_type":"agent","session_id":"`+id+`"}`); err == nil {
				w.Errorf("read %s: got %s, want a refusal", id, answer)
			}
		}
		var listed, seats []string
		for _, s := range ask[sessionList](w, "claude-read", "list_sessions", `{}`).Items {
			listed = append(listed, s.SessionID)
		}
		for _, s := range ask[grants](w, "claude-read", "list_granted_resources", `{}`).Seats {
			seats = append(seats, s.SessionID)
		}
		if !slices.Equal(listed, seen) || !slices.Equal(seats, seen) {
			w.Errorf("list_sessions shows %q and list_granted_resources seats in %q, want %q", listed, seats, seen)
		}
		var inProject []string
		for _, archived := range []string{"false", "true"} {
			list := ask[resourceList](w, "claude-read", "list_project_resources", `{"project_id":"alpha","kinds":["session"],"archived":`+archived+`}`)
			for _, r := range list.Items {
				inProject = append(inProject, r.ID)
			}
		}
		if !slices.Equal(inProject, seen) {
			w.Errorf("list_project_resources shows %q, want %q", inProject, seen)
		}
	})
}

func TestSessionsStandAmongTheResourcesOfAProject(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.places()
		var ids, titled []string
		for cursor := ""; ; {
			list := ask[resourceList](w, "claude-read", "list_project_resources", `{"project_id":"alpha","limit":1`+cursor+`}`)
			for _, r := range list.Items {
				ids = append(ids, string(r.Kind)+" "+r.ID)
			}
			if list.NextCursor == "" {
				break
			}
			cursor = fmt.Sprintf(`,"cursor":%q`, list.NextCursor)
		}
		if want := []string{"note n1", "session s01", "session s06"}; !slices.Equal(ids, want) {
			w.Errorf("one at a time: got %q, want %q", ids, want)
		}
		for _, r := range ask[resourceList](w, "claude-read", "list_project_resources", `{"project_id":"alpha","title_contains":"TITLE OF S0"}`).Items {
			titled = append(titled, r.ID)
		}
		if want := []string{"s01", "s06"}; !slices.Equal(titled, want) {
			w.Errorf("by title: got %q, want %q", titled, want)
		}
		for _, r := range ask[resourceList](w, "codex-read", "list_project_resources", `{"project_id":"alpha"}`).Items {
			if r.Kind != access.KindNote {
				w.Errorf("codex, which has no seat, sees %s %s", r.Kind, r.ID)
			}
		}
	})
}

// An agent works for a connection and has its rights, but no seats.
func TestAgentsSeeNoSessions(t *testing.T) {
	eachCrew(t, func(w *world) {
		agents := `[{"slug":"lead","instructions":"","provider":"rehearsal","tools":["list_project_resources"]}]`
		w.exec(`UPDATE sessions SET agents = $1`, agents)
		w.exec(`INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason,
			rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
			VALUES ('k1', 'atlas', 'room', NULL, 'claude', '', 'g', 3, $1, '{}', 'team', 'running', '', 0, 0, 0, 0, '', '', 0, 1, 1, 0, '')`, agents)
		w.exec(`INSERT INTO rounds (task_id, number, workspace_id, session_id, agent, state, attempt, faults, node, effect_at, text, calls, model, tokens_in, tokens_out, reason, started_at, ended_at)
			VALUES ('k1', 1, 'atlas', 'room', 'lead', 'running', 1, 0, 'n', 0, '', '[]', '', 0, 0, '', 1, 0)`)
		answer, err := w.gate.CallAgent(t.Context(), AgentCall{
			Round: access.RoundRef{TaskID: "k1", Number: 1, Attempt: 1}, Number: 1, Name: "list_project_resources", Arguments: []byte(`{"project_id":"alpha"}`),
		})
		if err != nil || !strings.Contains(string(answer), `"n1"`) || strings.Contains(string(answer), "session") {
			w.Errorf("an agent of claude's sees %s, %v; want the note alone", answer, err)
		}
		for _, tool := range w.gate.Tools() {
			if tool.ForAgents && tool.Needs.Seat != access.SeatNone {
				w.Errorf("%s is for agents, which have no seats", tool.Name)
			}
		}
	})
}

func TestJoinedSessionsAreNarrowedByKindProjectAndUse(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.grant("claude", "beta")
		w.place("s1", "alpha", "runner", "type = 'team'")
		w.place("s2", "alpha", "contributor", "type = 'loop', archived_at = 9")
		w.place("s3", "beta", "observer", "")
		team, loop, agent := "s1 team idle runner", "s2 loop archived contributor", "s3 agent idle observer"
		for arguments, want := range map[string][]string{
			`{}`:                               {team, loop, agent},
			`{"active":true}`:                  {team, agent},
			`{"active":false}`:                 {loop},
			`{"kinds":["loop","graph"]}`:       {loop},
			`{"kinds":["graph"]}`:              {},
			`{"kinds":[]}`:                     {team, loop, agent},
			`{"project_id":"alpha"}`:           {team, loop},
			`{"project_id":"beta"}`:            {agent},
			`{"kinds":["team"],"active":true}`: {team},
		} {
			got := []string{}
			for _, s := range ask[sessionList](w, "claude-read", "list_sessions", arguments).Items {
				got = append(got, s.SessionID+" "+s.SessionType+" "+s.State+" "+s.Seat)
			}
			if !slices.Equal(got, want) {
				w.Errorf("%s: got %q, want %q", arguments, got, want)
			}
		}
		w.exec(`DELETE FROM connection_projects WHERE project_id = 'beta'`)
		w.refused(access.NotInProject, "claude-read", "list_sessions", `{"project_id":"beta"}`)
		w.refused(access.NotFound, "claude-read", "list_sessions", `{"project_id":"gamma"}`)
		w.refused(access.InvalidArguments, "claude-read", "list_sessions", `{"kinds":["room"]}`)
		w.refused(access.InvalidArguments, "claude-read", "list_sessions", `{"limit":10}`)
	})
}

func TestManySessionsComeInPages(t *testing.T) {
	eachWorld(t, func(w *world) {
		for i := range listLimit + 5 {
			w.place(fmt.Sprintf("s%03d", i), "alpha", "observer", "")
		}
		first := ask[sessionList](w, "claude-read", "list_sessions", `{}`)
		second := ask[sessionList](w, "claude-read", "list_sessions", fmt.Sprintf(`{"cursor":%q}`, first.NextCursor))
		if len(first.Items) != listLimit || len(second.Items) != 5 || second.NextCursor != "" || second.Items[0].SessionID != fmt.Sprintf("s%03d", listLimit) {
			w.Errorf("got %d and %d sessions, then cursor %q; want %d and 5", len(first.Items), len(second.Items), second.NextCursor, listLimit)
		}
		w.refused(access.InvalidArguments, "claude-read", "list_sessions", fmt.Sprintf(`{"active":true,"cursor":%q}`, first.NextCursor))
		w.refused(access.InvalidArguments, "codex-read", "list_sessions", fmt.Sprintf(`{"cursor":%q}`, first.NextCursor))
	})
}

// task is one in the room.
func (w *world) task(id, connection, user, state string) {
	w.Helper()
	w.exec(`INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason,
		rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
		VALUES ($1, 'atlas', 'room', NULL, $2, $3, 'Goal of ' || $1, 3, '[]', '{}', 'team', $4, 'Reason of ' || $1, 1, 0, 0, 0, 'Result', 'lead', 6, 1000, 0, 0, '')`,
		id, connection, user, state)
}

func TestASessionsStateIsThatOfItsMostUrgentTask(t *testing.T) {
	eachCrew(t, func(w *world) {
		const call = `{"session_type":"team","session_id":"room"}`
		for _, step := range []struct{ task, state, want string }{
			{"", "", "idle"}, {"k1", "succeeded", "idle"}, {"k2", "queued", "queued"}, {"k3", "running", "running"}, {"k4", "waiting", "waiting"}, {"k5", "running", "waiting"},
		} {
			if step.task != "" {
				w.task(step.task, "", "mara", step.state)
			}
			if got := ask[sessionState](w, "codex-read", "read_session_state", call).State; got != step.want {
				w.Errorf("with %s %s: got %s, want %s", step.task, step.state, got, step.want)
			}
		}
		w.exec(`UPDATE sessions SET archived_at = 7 WHERE id = 'room'`)
		if got := ask[sessionState](w, "codex-read", "read_session_state", call); got.State != "waiting" || !got.Archived {
			w.Errorf("archived with open tasks: got %s, archived %v; want waiting, archived", got.State, got.Archived)
		}
	})
}

// What others asked of a session can hold what a connection may not read.
func TestASessionsStateKeepsWhatOthersAsked(t *testing.T) {
	eachCrew(t, func(w *world) {
		w.task("k1", "claude", "", "succeeded")
		w.task("k2", "codex", "", "running")
		w.task("k3", "", "mara", "queued")
		w.task("k4", "claude", "mara", "waiting") // of a handoff that mara accepted
		got := ask[sessionState](w, "claude-read", "read_session_state", `{"session_type":"team","session_id":"room"}`)
		var lines []string
		for _, k := range got.Tasks {
			lines = append(lines, fmt.Sprint(k.TaskID, " ", k.Status, " ", k.Mine, " ", k.Goal, ", ", k.Reason))
		}
		want := []string{"k4 waiting true Goal of k4, Reason of k4", "k3 queued false , ", "k2 running false , ", "k1 succeeded true Goal of k1, Reason of k1"}
		if !slices.Equal(lines, want) {
			w.Errorf("got %q, want %q", lines, want)
		}
		if !slices.Equal(got.Agents, []string{"lead", "aide"}) || got.Seat != "runner" || got.MaxRounds != 5 || got.SessionType != "team" {
			w.Errorf("got %+v", got)
		}
		answer, _ := w.call("claude-read", "read_session_state", `{"session_type":"team","session_id":"room"}`)
		if strings.Contains(string(answer), "Goal of k2") || strings.Contains(string(answer), "Result") {
			w.Errorf("the answer holds what others asked, or results: %s", answer)
		}
	})
}
