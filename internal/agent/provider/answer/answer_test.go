package answer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
)

var offered = agent.Turn{Round: 3, Tools: []agent.ToolOffer{{Name: "search", Parameters: jsontext.Value(`{"type":"object"}`)}}}

func kind(err error) agent.FaultKind {
	var f *agent.Fault
	if errors.As(err, &f) {
		return f.Kind
	}
	return ""
}

func TestTextComesOutWholeHoweverItIsSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + "é€😀" + rapid.String().Draw(t, "more")
		var said []string
		a := answer.New(offered, answer.Limits{}, func(s string) { said = append(said, s) })
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if err := a.Say(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got, want := a.Reply().Text, strings.ReplaceAll(text, "\x00", "\uFFFD")
		if got != want || strings.Join(said, "") != want {
			t.Fatalf("reply %q, said %q, want %q", got, said, want)
		}
		if slices.Contains(said, "") {
			t.Fatalf("said nothing in %q", said)
		}
	})
}

func TestTextIsAlwaysValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := answer.New(offered, answer.Limits{}, func(s string) {
			if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
				t.Fatalf("said %q", s)
			}
		})
		for _, piece := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(t, "pieces") {
			if err := a.Say(string(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if text := a.Reply().Text; !utf8.ValidString(text) {
			t.Fatalf("reply %q", text)
		}
	})
}

func TestAnAnswerEndsAtItsLimit(t *testing.T) {
	a := answer.New(offered, answer.Limits{Bytes: 4}, func(string) {})
	if err := a.Say("1234"); err != nil {
		t.Fatalf("at the limit: %v", err)
	}
	if got := kind(a.Say("5")); got != agent.FaultLarge {
		t.Errorf("text over the limit is %q, want large", got)
	}
	a = answer.New(offered, answer.Limits{Bytes: 4}, func(string) {})
	if got := kind(a.Weigh(5)); got != agent.FaultLarge {
		t.Errorf("arguments over the limit are %q, want large", got)
	}
	a = answer.New(offered, answer.Limits{Calls: 1}, func(string) {})
	if err := a.Call("a", "search", "{}"); err != nil {
		t.Fatalf("the first of one call: %v", err)
	}
	if got := kind(a.Call("b", "search", "{}")); got != agent.FaultTools {
		t.Errorf("the second of one call is %q, want tools", got)
	}
}

func TestArgumentsAreJSONObjects(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"query":"x"}`: `{"query":"x"}`, ``: `{}`, "  \n": `{}`, `{}`: `{}`,
		`null`: "", `[]`: "", `"{}"`: "", `1`: "", `{"a":1`: "", `{a:1}`: "", `{"a":1}{"b":2}`: "", `{"a":1,"a":2}`: "", "{\"a\":\"\xff\"}": "", `search`: "",
	} {
		a := answer.New(offered, answer.Limits{}, func(string) {})
		err := a.Call("id", "search", arguments)
		if want == "" {
			if kind(err) != agent.FaultGarbage {
				t.Errorf("arguments %q: got %v, want garbage", arguments, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("arguments %q: %v", arguments, err)
		} else if got := string(a.Reply().Calls[0].Arguments); got != want {
			t.Errorf("arguments %q became %s, want %s", arguments, got, want)
		}
	}
}

func TestCallsHaveIDsOfTheirOwn(t *testing.T) {
	a := answer.New(offered, answer.Limits{}, func(string) {})
	for _, id := range []string{"", "", "call_3_1", "same", "same", "with space", strings.Repeat("x", 129), "é"} {
		if err := a.Call(id, "search", ""); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for _, c := range a.Reply().Calls {
		if seen[c.ID] || c.ID == "" || strings.ContainsAny(c.ID, " é") || len(c.ID) > answer.MaxName {
			t.Errorf("ID %q of %v", c.ID, seen)
		}
		seen[c.ID] = true
	}
	if !seen["same"] {
		t.Errorf("an ID that was fine is not kept: %v", seen)
	}
}

func TestNamesOfToolsArePlain(t *testing.T) {
	for _, name := range []string{"", "a b", "a.b", "a\n", "é", strings.Repeat("x", 129)} {
		if got := kind(answer.New(offered, answer.Limits{}, func(string) {}).Call("", name, "{}")); got != agent.FaultGarbage {
			t.Errorf("the name %q is %q, want garbage", name, got)
		}
	}
}

func TestNoToolIsCalledWhereNoneWasOffered(t *testing.T) {
	if got := kind(answer.New(agent.Turn{}, answer.Limits{}, func(string) {}).Call("", "search", "{}")); got != agent.FaultGarbage {
		t.Errorf("a call without an offer is %q, want garbage", got)
	}
}

func TestTokensAreRoundedUp(t *testing.T) {
	for bytes, want := range map[int]int64{0: 0, 1: 1, 4: 1, 5: 2} {
		if got := answer.Tokens(bytes); got != want {
			t.Errorf("Tokens(%d) = %d, want %d", bytes, got, want)
		}
	}
}
