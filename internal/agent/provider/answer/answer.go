// Package answer gathers what a provider says in one turn: text as it comes, the
// tools it asks for, and the limits of both. Providers read their own protocols and
// put what they find in here; what comes out keeps the promises of agent.Reply.
//
// Text is valid UTF-8 without U+0000, which PostgreSQL cannot store. Names and IDs
// of calls have a form that every protocol takes back, arguments are JSON objects.
package answer

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// Limits hold a turn's answer to a size.
type Limits struct {
	Bytes int64 // of text and arguments together; 0 is 1 MiB
	Calls int   // how many tools may be asked for at once; 0 is 32
}

// MaxName is how long the name of a tool or the ID of a call may be, in bytes.
const MaxName = 128

// Answer is what was said so far. It is not safe for parallel use.
type Answer struct {
	turn   agent.Turn
	limits Limits
	say    func(string)
	used   int64
	held   []byte // the beginning of a character whose end has not come yet
	text   strings.Builder
	calls  []agent.Call
	ids    map[string]bool
}

// New begins an answer to the turn. Say is called with each piece of text.
func New(t agent.Turn, l Limits, say func(text string)) *Answer {
	if l.Bytes == 0 {
		l.Bytes = 1 << 20
	}
	if l.Calls == 0 {
		l.Calls = 32
	}
	return &Answer{turn: t, limits: l, say: say, ids: map[string]bool{}}
}

// Weigh counts bytes of arguments before they are whole. It fails at the limit.
func (a *Answer) Weigh(bytes int) error {
	a.used += int64(bytes)
	if a.used <= a.limits.Bytes {
		return nil
	}
	return &agent.Fault{Kind: agent.FaultLarge, Text: fmt.Sprintf("The answer is larger than %d bytes.", a.limits.Bytes)}
}

// Room reports, as a fault, that n calls are more than may be asked for at once.
func (a *Answer) Room(n int) error {
	if n <= a.limits.Calls {
		return nil
	}
	return &agent.Fault{Kind: agent.FaultTools, Text: fmt.Sprintf("The answer asks for more than %d tools at once.", a.limits.Calls)}
}

// Say adds text. A character that was split between two pieces is said when it is
// whole; what is not UTF-8 becomes U+FFFD.
func (a *Answer) Say(text string) error {
	if err := a.Weigh(len(text)); err != nil {
		return err
	}
	bytes := append(a.held, text...)
	whole := len(bytes) - unfinished(bytes)
	a.held = append([]byte(nil), bytes[whole:]...)
	a.utter(string(bytes[:whole]))
	return nil
}

func (a *Answer) utter(text string) {
	if text == "" {
		return
	}
	text = Clean(text)
	a.text.WriteString(text)
	a.say(text)
}

// unfinished is how many bytes at the end begin a character and do not end it.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		tail := b[len(b)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// Clean makes text valid UTF-8 without U+0000.
func Clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// Call adds a tool call whose bytes were weighed. Arguments that are empty are
// those of a tool without any; an ID that is missing, used before or of a form that
// some protocol refuses is replaced by one of ours.
func (a *Answer) Call(id, name, arguments string) error {
	if len(a.turn.Tools) == 0 {
		return garbage("The answer asks for a tool where none was offered.")
	}
	if err := a.Room(len(a.calls) + 1); err != nil {
		return err
	}
	if !plain(name) {
		return garbage("The answer asks for a tool by a name that is none.")
	}
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	value := jsontext.Value(arguments)
	if !value.IsValid() || value.Kind() != '{' {
		return garbage(fmt.Sprintf("The answer asks for the tool %s with arguments that are not a JSON object.", name))
	}
	if !plain(id) || a.ids[id] {
		id = fmt.Sprintf("call_%d_%d", a.turn.Round, len(a.calls)+1)
	}
	for n := 1; a.ids[id]; n++ {
		id = fmt.Sprintf("call_%d_%d_%d", a.turn.Round, len(a.calls)+1, n)
	}
	a.ids[id] = true
	a.calls = append(a.calls, agent.Call{ID: id, Name: name, Arguments: value})
	return nil
}

// plain reports whether s is a name that every protocol takes: letters, digits,
// underscore and hyphen of ASCII.
func plain(s string) bool {
	for _, r := range s {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return s != "" && len(s) <= MaxName
}

func garbage(text string) error { return &agent.Fault{Kind: agent.FaultGarbage, Text: text} }

// Reply ends the answer: what was said and asked for. The rest of the reply is the
// provider's to fill in.
func (a *Answer) Reply() agent.Reply {
	a.utter(string(a.held))
	a.held = nil
	return agent.Reply{Text: a.text.String(), Calls: a.calls}
}

// Tokens is the number that text of so many bytes is counted as where nobody says:
// one for four bytes, rounded up, so that budgets hold with servers that report no
// usage.
func Tokens(bytes int) int64 { return (int64(bytes) + 3) / 4 }

// Used is how many bytes of text and arguments were weighed.
func (a *Answer) Used() int { return int(a.used) }

// Size is how many bytes of a turn a model reads.
func Size(t agent.Turn) int {
	n := len(t.Instructions)
	for _, m := range t.Messages {
		n += len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
	}
	for _, o := range t.Tools {
		n += len(o.Name) + len(o.Description) + len(o.Parameters)
	}
	return n
}

// ModelName is what a server calls its model, made fit to store: clean, and of at
// most MaxName bytes.
func ModelName(name string) string {
	name = Clean(name)
	if len(name) > MaxName {
		name = Clean(name[:MaxName-len("\uFFFD")])
	}
	return name
}
