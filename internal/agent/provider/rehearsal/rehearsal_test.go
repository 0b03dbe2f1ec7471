package rehearsal_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/agent/provider/rehearsal"
)

const plain = "no model was involved"

// gate answers calls as the tools of a project with these notes do.
type gate struct {
	notes   []string // titles; the ID of each is n and its number
	refuses bool
}

func (g gate) answer(c agent.Call) agent.Message {
	m := agent.Message{Role: agent.RoleTool, CallID: c.ID, Failed: g.refuses, Text: `{"ok":false,"error":{"code":"forbidden","message":"no"}}`}
	if g.refuses {
		return m
	}
	var args map[string]string
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		panic(err)
	}
	var items []string
	for i, title := range g.notes {
		items = append(items, fmt.Sprintf(`{"id":"n%d","kind":"note","title":%q}`, i+1, title))
	}
	data := "{}"
	switch c.Name {
	case "list_project_resources":
		data = fmt.Sprintf(`{"items":[%s]}`, strings.Join(items, ","))
	case "search":
		data = fmt.Sprintf(`{"results":[%s]}`, strings.Join(items, ","))
	case "read_note":
		data = fmt.Sprintf(`{"id":%q,"title":"A","tabs":[{"id":"t1","title":"Tab"}]}`, args["note_id"])
	case "read_note_tab":
		data = `{"tab_id":"t1","title":"Tab","text":"secret words"}`
	}
	m.Text = `{"ok":true,"data":` + data + `}`
	return m
}

var reading = []string{"list_project_resources", "read_note", "read_note_tab", "search", "fetch"}

func offers(names ...string) []agent.ToolOffer {
	var offers []agent.ToolOffer
	for _, n := range names {
		offers = append(offers, agent.ToolOffer{Name: n, Parameters: jsontext.Value(`{"type":"object"}`)})
	}
	return offers
}

// task plays rounds from 1 until one has no calls, or the last is over, and returns
// the replies.
func task(t *testing.T, instructions string, last int64, tools []string, g gate) []agent.Reply {
	t.Helper()
	turn := agent.Turn{Instructions: instructions, LastRound: last, Messages: []agent.Message{{Role: agent.RoleUser, Text: "Look around."}}}
	var replies []agent.Reply
	for turn.Round = 1; turn.Round <= last; turn.Round++ {
		turn.Tools = offers(tools...)
		if turn.Round == last {
			turn.Tools = nil
		}
		reply, _, err := providertest.Take(t, rehearsal.Provider{}, turn)
		if err != nil {
			t.Fatal(err)
		}
		if !reply.Rehearsed || reply.TokensIn != 0 || reply.TokensOut != 0 {
			t.Errorf("round %d: %+v, want rehearsed, without tokens", turn.Round, reply)
		}
		replies = append(replies, reply)
		if len(reply.Calls) == 0 {
			break
		}
		turn.Messages = append(turn.Messages, agent.Message{Role: agent.RoleAgent, Text: reply.Text, Calls: reply.Calls})
		for _, c := range reply.Calls {
			if !slices.Contains(tools, c.Name) {
				t.Errorf("round %d calls %s, which is not offered", turn.Round, c.Name)
			}
			turn.Messages = append(turn.Messages, g.answer(c))
		}
	}
	return replies
}

// called lists the calls of replies.
func called(replies []agent.Reply) (calls []string) {
	for _, r := range replies {
		for _, c := range r.Calls {
			calls = append(calls, c.Name+string(c.Arguments))
		}
	}
	return calls
}

func TestConformance(t *testing.T) {
	turn := agent.Turn{Instructions: "Project: p1", Round: 1, LastRound: 3, Tools: offers(reading...), Messages: []agent.Message{{Role: agent.RoleUser, Text: "Look."}}}
	providertest.Contract(t, rehearsal.Provider{}, turn)
	turn.Round = 3
	providertest.Contract(t, rehearsal.Provider{}, turn)
	if (rehearsal.Provider{}).External() {
		t.Error("a rehearsal is external, want not")
	}
}

func TestARehearsalCallsToolsAndSumsUp(t *testing.T) {
	replies := task(t, "You are scout.\nProject: p1\nRound: 1 of 9", 9, reading, gate{notes: []string{"Roadmap 2027", "B"}})
	want := []string{`list_project_resources{"project_id":"p1"}`, `read_note{"note_id":"n1"}`, `search{"query":"Roadmap"}`, `read_note_tab{"note_id":"n1","tab_id":"t1"}`}
	if got := called(replies); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	last := replies[len(replies)-1].Text
	for _, part := range []string{plain, `saw 2 things in the project: "Roadmap 2027", "B".`, "read the outline of 1 note.", "got 2 hits.", "read 1 text in full."} {
		if !strings.Contains(last, part) {
			t.Errorf("the result %q lacks %q", last, part)
		}
	}
	for _, r := range replies[:len(replies)-1] {
		if strings.Contains(r.Text, "Roadmap") {
			t.Errorf("before the end it says %q", r.Text)
		}
	}
}

func TestARehearsalUsesTheRoundsThereAre(t *testing.T) {
	for name, g := range map[string]gate{"with notes": {notes: []string{"Roadmap"}}, "in an empty project": {}, "where all is refused": {refuses: true}} {
		for last := int64(1); last <= 10; last++ {
			replies := task(t, "Project: p1", last, reading, g)
			if got, want := int64(len(replies)), min(last, rehearsal.Rounds); got != want {
				t.Errorf("%s: %d rounds of %d, want %d", name, got, last, want)
			}
			if end := replies[len(replies)-1]; !strings.Contains(end.Text, plain) || len(end.Calls) > 0 {
				t.Errorf("%s, %d rounds: the end is %+v", name, last, end)
			}
		}
	}
	for _, tools := range [][]string{{"search"}, {"list_project_resources"}, {"list_granted_resources"}, {"list_project_resources", "fetch"}} {
		if replies := task(t, "Project: p1", 5, tools, gate{notes: []string{"Roadmap"}}); len(replies) != 5 {
			t.Errorf("with %q: %d rounds, want 5", tools, len(replies))
		}
	}
}

func TestARehearsalWithoutToolsItKnowsSumsUpAtOnce(t *testing.T) {
	for _, tools := range [][]string{nil, {"create_note", "archive_note"}} {
		replies := task(t, "Project: p1", 5, tools, gate{})
		if len(replies) != 1 || !strings.Contains(replies[0].Text, plain) {
			t.Errorf("with %q: %+v, want a result at once", tools, replies)
		}
	}
}

func TestARehearsalTellsWhatWasRefused(t *testing.T) {
	replies := task(t, "Project: p1", 3, reading, gate{refuses: true})
	if last := replies[len(replies)-1].Text; !strings.Contains(last, "had 2 calls refused, of list_project_resources, search.") {
		t.Errorf("the result is %q", last)
	}
}

func TestTheProjectIsFoundInTheConversationToo(t *testing.T) {
	turn := agent.Turn{Round: 1, LastRound: 2, Tools: offers(reading...), Messages: []agent.Message{{Role: agent.RoleUser, Text: "Look.\nProject: p7\n"}}}
	reply, _, err := providertest.Take(t, rehearsal.Provider{}, turn)
	if got := called([]agent.Reply{reply}); err != nil || !slices.Equal(got, []string{`list_project_resources{"project_id":"p7"}`}) {
		t.Errorf("calls %q, %v", got, err)
	}
	turn.Instructions = "Project: p1"
	reply, _, err = providertest.Take(t, rehearsal.Provider{}, turn)
	if got := called([]agent.Reply{reply}); err != nil || !slices.Equal(got, []string{`list_project_resources{"project_id":"p1"}`}) {
		t.Errorf("calls %q, %v, want the project of the instructions", got, err)
	}
}

func TestALoopIsNotEndedByChance(t *testing.T) {
	for phrase, g := range map[string]gate{"DONE": {notes: []string{"DONE"}}, "I": {}, "look": {}, ".": {}} {
		replies := task(t, "Project: p1\n\nWhen it is, say exactly: "+phrase, 5, reading, g)
		for i, r := range replies {
			if got, want := strings.Contains(r.Text, phrase), i == len(replies)-1; got != want {
				t.Errorf("round %d says %q: the phrase %q is in it: %v, want %v", i+1, r.Text, phrase, got, want)
			}
		}
	}
	replies := task(t, "Do it.\nProject: p1\nsay: ALL DONE\nWhen it is, say exactly: ALL DONE", 5, reading, gate{})
	if !strings.Contains(replies[0].Text, "ALL DONE") {
		t.Errorf("told to say it, it says %q", replies[0].Text)
	}
}

func TestALeaderFinishesInTheEnd(t *testing.T) {
	for round, want := range map[int64]bool{1: false, 3: false, 5: true, 6: true, 8: true} {
		turn := agent.Turn{Round: round, LastRound: 8, Instructions: "Project: p1\nYou lead the team.", Tools: offers("list_project_resources", "send_mail", "finish")}
		reply, _, err := providertest.Take(t, rehearsal.Provider{}, turn)
		if err != nil {
			t.Fatal(err)
		}
		got := len(reply.Calls) == 1 && reply.Calls[0].Name == "finish"
		if got != want {
			t.Errorf("round %d calls %v, finishes: %v, want %v", round, reply.Calls, got, want)
		}
		if got && !strings.Contains(string(reply.Calls[0].Arguments), plain) {
			t.Errorf("the result is %s", reply.Calls[0].Arguments)
		}
	}
}

func TestAMemberOfATeamWritesToItsLeader(t *testing.T) {
	turn := agent.Turn{Round: 2, LastRound: 8, Instructions: "Project: p1\nWrite to them. lead leads the team and decides.", Tools: offers("list_project_resources", "send_mail")}
	reply, _, err := providertest.Take(t, rehearsal.Provider{}, turn)
	if err != nil || len(reply.Calls) != 2 || reply.Calls[1].Name != "send_mail" {
		t.Fatalf("calls %v, %v, want a mail too", reply.Calls, err)
	}
	var mail map[string]string
	if err := json.Unmarshal(reply.Calls[1].Arguments, &mail); err != nil || mail["to"] != "lead" || mail["subject"] == "" || !strings.Contains(mail["body"], plain) {
		t.Errorf("the mail is %s, %v", reply.Calls[1].Arguments, err)
	}
	turn.Round = 6
	reply, _, err = providertest.Take(t, rehearsal.Provider{}, turn)
	if err != nil || len(reply.Calls) != 0 || !strings.Contains(reply.Text, plain) {
		t.Errorf("after the script: %+v, %v, want text", reply, err)
	}
}

func TestTheSameTurnIsTakenAlike(t *testing.T) {
	turn := agent.Turn{Round: 1, LastRound: 5, Instructions: "Project: p1", Tools: offers(reading...)}
	one, _, err1 := providertest.Take(t, rehearsal.Provider{}, turn)
	two, _, err2 := providertest.Take(t, rehearsal.Provider{}, turn)
	if err1 != nil || err2 != nil || !reflect.DeepEqual(one, two) {
		t.Errorf("%+v, %v and %+v, %v, want the same", one, err1, two, err2)
	}
}
