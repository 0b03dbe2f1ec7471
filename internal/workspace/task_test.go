package workspace

import (
	"strings"
	"testing"
)

// What was shown is what is worked on.
func TestTheGoalOfAHandoffIsAllThatWasShown(t *testing.T) {
	for _, c := range []struct {
		h    Handoff
		want string
	}{
		{Handoff{Goal: "Goal", ContextSummary: "Two notes.", RequestedOutput: "A page."}, "Goal\n\nContext:\nTwo notes.\n\nExpected output:\nA page."},
		{Handoff{Goal: "Goal", RequestedOutput: "A page."}, "Goal\n\nExpected output:\nA page."},
		{Handoff{Goal: "Goal"}, "Goal"},
	} {
		if got := c.h.asGoal(); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.h, got, c.want)
		}
	}
}

func TestAStopIsHeardByAllWhoWatchTheTaskAndByNobodyElse(t *testing.T) {
	var s Stopping
	first, doneFirst := s.Watch("t1")
	second, doneSecond := s.Watch("t1")
	left, leave := s.Watch("t1")
	other, doneOther := s.Watch("t2")
	leave()
	leave() // twice does no harm
	s.stop("t1")
	s.stop("t1")
	for name, c := range map[string]struct {
		stopped <-chan struct{}
		want    bool
	}{"first": {first, true}, "second": {second, true}, "left": {left, false}, "other": {other, false}} {
		got := false
		select {
		case <-c.stopped:
			got = true
		default:
		}
		if got != c.want {
			t.Errorf("%s: heard %v, want %v", name, got, c.want)
		}
	}
	doneFirst()
	doneSecond()
	doneOther()
	if len(s.waiting) != 0 {
		t.Errorf("%d tasks are still watched", len(s.waiting))
	}
}

// Models and commands put out bytes that no database holds as text.
func TestWhatAgentsSayCanBeKept(t *testing.T) {
	turn := storableTurn(Turn{Text: "a\x00b\xff", Model: "m\x00", Calls: []ToolCall{{ID: "\x00", Name: "n\xfe", Arguments: "{}", Result: "r\x00"}}})
	for _, text := range []string{turn.Text, turn.Model, turn.Calls[0].ID, turn.Calls[0].Name, turn.Calls[0].Result} {
		if strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text {
			t.Errorf("got %q, want valid text without U+0000", text)
		}
	}
	if turn.Text != "a\uFFFDb\uFFFD" || turn.Calls[0].Arguments != "{}" {
		t.Errorf("got %+v", turn)
	}
	if got := clip("Größe", 3); got != "Grö" {
		t.Errorf("got %q", got)
	}
}
