package rehearsal

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// The tools that the script knows.
const (
	listResources = "list_project_resources"
	listMembers   = "list_project_members"
	listGranted   = "list_granted_resources"
	readNote      = "read_note"
	readTab       = "read_note_tab"
	fetch         = "fetch"
	search        = "search"
	sendMail      = "send_mail"
	finish        = "finish"
)

// label begins what a rehearsal says at its end.
const label = "This is a rehearsal: no model was involved."

// arguments of a call.
type arguments = map[string]any

// scene is one turn.
type scene struct {
	turn    agent.Turn
	cues    cues
	seen    seen
	offered map[string]bool
	calls   []agent.Call
}

// play takes the step that is next.
func (s *scene) play() agent.Reply {
	if s.turn.Round >= min(s.turn.LastRound, Rounds) {
		return s.end()
	}
	remark := s.step()
	if len(s.calls) == 0 {
		return s.end()
	}
	if s.offered[sendMail] && s.cues.leader != "" {
		s.call(sendMail, arguments{"to": s.cues.leader, "subject": "Rehearsal", "body": s.summary()})
	}
	// What ends a loop must not be said by chance.
	if s.cues.phrase != "" && strings.Contains(remark, s.cues.phrase) {
		remark = ""
	}
	return agent.Reply{Text: s.withCue(remark), Calls: s.calls}
}

// end sums up: by the tool for it, where there is one.
func (s *scene) end() agent.Reply {
	text := s.summary()
	if s.cues.phrase != "" {
		text += "\n\n" + s.cues.phrase
	}
	text = s.withCue(text)
	if s.offered[finish] {
		s.calls = nil
		s.call(finish, arguments{"result": text})
	}
	return agent.Reply{Text: text, Calls: s.calls}
}

// withCue adds what people told the rehearsal to say.
func (s *scene) withCue(text string) string {
	return strings.TrimSpace(text + "\n\n" + s.cues.say)
}

// call adds a call. Its ID tells the calls of one task apart.
func (s *scene) call(name string, a arguments) {
	text, err := json.Marshal(a, json.Deterministic(true))
	if err != nil { // it is made of texts
		panic(err)
	}
	s.calls = append(s.calls, agent.Call{ID: fmt.Sprintf("rehearsal_%d_%d", s.turn.Round, len(s.calls)+1), Name: name, Arguments: text})
}

// try calls the tool if it is offered and all that it needs is known.
func (s *scene) try(name string, a arguments) bool {
	for _, value := range a {
		if value == "" {
			return false
		}
	}
	if !s.offered[name] {
		return false
	}
	s.call(name, a)
	return true
}

func (s *scene) project() string {
	if s.cues.project != "" {
		return s.cues.project
	}
	return s.seen.project
}

// step makes the call of this round, and says what it is. It begins with the step
// whose turn it is, goes on to the others, and ends with what can always be done.
func (s *scene) step() (remark string) {
	note := s.seen.note()
	tab := ""
	if tabs := s.seen.read[note]; len(tabs) > 0 {
		tab = tabs[0].ID
	}
	steps := []func() bool{
		func() bool { return s.try(listResources, arguments{"project_id": s.project()}) },
		func() bool {
			return s.try(readNote, arguments{"note_id": note}) || s.try(fetch, arguments{"id": note})
		},
		func() bool { return s.try(search, arguments{"query": s.seen.word()}) },
		func() bool {
			return s.try(readTab, arguments{"note_id": note, "tab_id": tab}) || s.try(fetch, arguments{"id": note})
		},
	}
	remarks := []string{"I look at what the project holds.", "I read a note.", "I search.", "I read a text."}
	first := min(s.seen.rounds, len(steps)-1)
	for i := range steps {
		next := (first + i) % len(steps)
		if steps[next]() {
			return remarks[next]
		}
	}
	if s.try(listMembers, arguments{"project_id": s.project()}) || s.try(listGranted, arguments{}) {
		return "I look at who and what is here."
	}
	return ""
}

// summary tells what was seen.
func (s *scene) summary() string {
	text := []string{label}
	seen := s.seen
	if seen.listed {
		text = append(text, "It "+counted(len(seen.resources), "thing", "saw", "in the project")+titles(seen.resources))
	}
	if n := len(seen.read); n > 0 {
		text = append(text, "It "+counted(n, "note", "read the outline of", "")+".")
	}
	if n := len(seen.texts); n > 0 {
		text = append(text, "It "+counted(n, "text", "read", "in full")+".")
	}
	if seen.searches > 0 {
		text = append(text, "It "+counted(seen.hits, "hit", "searched and got", "")+".")
	}
	if n := len(seen.refused); n > 0 {
		names := slices.Compact(slices.Sorted(slices.Values(seen.refused)))
		text = append(text, "It "+counted(n, "call", "had", "refused")+", of "+strings.Join(names, ", ")+".")
	}
	if len(text) == 1 {
		text = append(text, "It saw nothing: it called no tool, or none that answered.")
	}
	return strings.Join(text, " ")
}

// counted writes how many of what something was done to.
func counted(n int, what, did, how string) string {
	if n != 1 {
		what += "s"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d %s %s", did, n, what, how))
}

// titles names the first few things.
func titles(things []thing) string {
	const few = 3
	var names []string
	for _, t := range things[:min(len(things), few)] {
		names = append(names, fmt.Sprintf("%q", t.Title))
	}
	switch {
	case len(names) == 0:
		return "."
	case len(things) > few:
		return ", among them " + strings.Join(names, ", ") + "."
	}
	return ": " + strings.Join(names, ", ") + "."
}
