package rehearse

import (
	"maps"
	"slices"
)

// arguments are those of all tools of the model; a tool reads its own.
type arguments struct {
	ProjectID string `json:"project_id,omitzero"`
	NoteID    string `json:"note_id,omitzero"`
	SessionID string `json:"session_id,omitzero"`
	HandoffID string `json:"handoff_id,omitzero"`
	TaskID    string `json:"task_id,omitzero"`
	Text      string `json:"markdown,omitzero"`
	Subject   string `json:"subject,omitzero"`
	Goal      string `json:"goal,omitzero"`
	Key       string `json:"idempotency_key,omitzero"`
}

// kind is what a tool is about; its check looks at where that lies.
type kind int

const (
	nothing kind = iota
	aProject
	aNote
	aSession
	aTask
	aHandoff
)

// tool is what the rules say of a tool, and its effect.
type tool struct {
	scope string
	about kind
	seat  seat // the least, for tools of a session
	keyed bool // a write that takes an idempotency key
	run   func(m *model, by caller, a arguments) (map[string]any, *refusal)
}

// tools have the names and the rules of the published catalogue.
var tools = map[string]tool{
	"list_granted_resources":   {scope: scopeRead, run: listGranted},
	"list_project_resources":   {scope: scopeRead, about: aProject, run: listProject},
	"read_note_tab":            {scope: scopeRead, about: aNote, run: readNote},
	"append_note_tab":          {scope: scopeWrite, about: aNote, keyed: true, run: appendNote},
	"read_session_state":       {scope: scopeRead, about: aSession, seat: observer, run: readState},
	"read_session_mail":        {scope: scopeRead, about: aSession, seat: observer, run: readMail},
	"read_session_task_result": {scope: scopeRead, about: aTask, seat: observer, run: readTask},
	"post_session_note":        {scope: scopeWrite, about: aSession, seat: contributor, keyed: true, run: postNote},
	"propose_session_handoff":  {scope: scopeWrite, about: aSession, seat: contributor, keyed: true, run: proposeHandoff},
	"cancel_session_handoff":   {scope: scopeWrite, about: aHandoff, seat: contributor, run: cancelHandoff},
	"request_session_run":      {scope: scopeRun, about: aSession, seat: runner, keyed: true, run: requestRun},
}

// listGranted goes by the same facts as the check.
func listGranted(_ *model, by caller, _ arguments) (map[string]any, *refusal) {
	return map[string]any{"projects": sortedKeys(by.now.projects)}, nil
}

func listProject(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	there := map[string]bool{}
	for id, n := range m.notes {
		if n.project == a.ProjectID {
			there[id] = true
		}
	}
	return map[string]any{"items": sortedKeys(there)}, nil
}

func readNote(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	return map[string]any{"markdown": m.notes[a.NoteID].text}, nil
}

func appendNote(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	n := m.notes[a.NoteID]
	n.text += a.Text
	return map[string]any{"characters": len([]rune(n.text))}, nil
}

func readState(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	tasks := 0
	for _, t := range m.tasks {
		if t.session == a.SessionID {
			tasks++
		}
	}
	return map[string]any{"tasks": tasks}, nil
}

func readMail(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	return map[string]any{"notes": m.sessions[a.SessionID].notes}, nil
}

func readTask(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	return map[string]any{"goal": m.tasks[a.TaskID].goal, "status": "queued"}, nil
}

func postNote(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	s := m.sessions[a.SessionID]
	s.notes = append(s.notes, a.Subject)
	return map[string]any{"note_id": m.newID("mail")}, nil
}

// proposeHandoff queues nothing: a person has to accept first.
func proposeHandoff(m *model, by caller, a arguments) (map[string]any, *refusal) {
	id := m.newID("handoff")
	m.handoffs[id] = &handoff{session: a.SessionID, connection: by.connection, goal: a.Goal, state: pending}
	return map[string]any{"handoff_id": id, "status": pending}, nil
}

// cancelHandoff works while the handoff is pending, and once more on one that it cancelled.
func cancelHandoff(m *model, _ caller, a arguments) (map[string]any, *refusal) {
	h := m.handoffs[a.HandoffID]
	if h.state == pending {
		h.state = cancelled
	}
	if h.state != cancelled {
		r := refuse(alreadyDecided)
		r.detail = map[string]any{"state": h.state}
		return nil, r
	}
	return map[string]any{"handoff_id": a.HandoffID, "status": cancelled}, nil
}

func requestRun(m *model, by caller, a arguments) (map[string]any, *refusal) {
	return map[string]any{"task_id": m.queue(a.SessionID, by.connection, a.Goal), "status": "queued", "queue_position": len(m.tasks)}, nil
}

func sortedKeys(m map[string]bool) []string {
	return slices.Sorted(maps.Keys(m))
}
