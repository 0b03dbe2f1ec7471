package access

import (
	"fmt"
	"testing"
	"time"
)

// standing is one of those who stand behind a task, in one state.
type standing struct {
	name string
	set  func(f *Facts)
	want Code // of a call on the thing; "" is allowed
}

func thing(set func(f *Facts)) *Facts {
	f := Facts{
		UserID: "u", UserName: "Ada", WorkspaceID: "w", Role: RoleEditor, Found: true, ProjectID: "p",
		ConnectionID: "c", ConnectionStatus: "active", Scopes: ScopeRead | ScopeWrite, ProjectGranted: true,
	}
	set(&f)
	return &f
}

var (
	persons = []standing{
		{"may edit", func(*Facts) {}, ""},
		{"demoted", func(f *Facts) { f.Role = RoleViewer }, Forbidden},
		{"gone from the workspace", func(f *Facts) { f.Role = ""; f.Found = false }, NotFound},
		{"disabled", func(f *Facts) { f.UserDisabled = true }, Forbidden},
		{"off the private project", func(f *Facts) { f.ProjectPrivate = true }, NotInProject},
		{"off the list", func(f *Facts) { f.HasACL = true }, ACLDenied},
	}
	connections = []standing{
		{"in order", func(*Facts) {}, ""},
		{"revoked", func(f *Facts) { f.ConnectionStatus = "revoked" }, ConnectionRevoked},
		{"paused", func(f *Facts) { f.ConnectionStatus = "paused" }, ConnectionPaused},
		{"without the project", func(f *Facts) { f.ProjectGranted = false }, NotInProject},
		{"kept from local-only", func(f *Facts) { f.LocalOnly = true }, LocalOnly},
		{"approver demoted", func(f *Facts) { f.Role = RoleViewer }, ApproverLostAccess},
		{"without write", func(f *Facts) { f.Scopes = ScopeRead | ScopeRun }, InsufficientScope},
	}
)

// TestAnAgentMayDoWhatAllBehindItsTaskMayDo pairs every state of the person with
// every state of the connection: one refusal is enough.
func TestAnAgentMayDoWhatAllBehindItsTaskMayDo(t *testing.T) {
	need := Permission{Scopes: ScopeWrite, Right: RightEdit}
	facts := AgentFacts{TaskKnown: true, TaskRunning: true, Tools: []string{"edit_note_tab"}, Agent: "writer", TaskID: "k", Ref: Ref{Kind: KindNote, ID: "n"}}
	for _, person := range append(persons, standing{name: "none"}) {
		for _, connection := range append(connections, standing{name: "none"}) {
			a := facts
			if person.set != nil {
				a.Person = thing(person.set)
			}
			if connection.set != nil {
				a.Connection = thing(connection.set)
			}
			permit, err := CheckAgent(a, "edit_note_tab", need)
			input := fmt.Sprintf("person %s, connection %s", person.name, connection.name)
			allowed := person.want == "" && connection.want == "" && (a.Person != nil || a.Connection != nil)
			if allowed != (err == nil) {
				t.Errorf("got %v, want allowed %v: %s", err, allowed, input)
			}
			if code := CodeOf(err); err != nil && a.Person != nil && a.Connection != nil && code != person.want && code != connection.want {
				t.Errorf("got %s, want %s or %s: %s", code, person.want, connection.want, input)
			}
			if err == nil && (permit.Covers(KindNote, RightEdit) != nil || permit.Principal().Agent != "writer" || permit.Workspace() != "w") {
				t.Errorf("got a permit that does not say what it is for: %+v: %s", permit, input)
			}
		}
	}
}

func TestLocalOnlyIsForAgentsThatWorkHere(t *testing.T) {
	for _, c := range []struct {
		local, localOnly bool
		want             Code
	}{{false, true, LocalOnly}, {true, true, ""}, {false, false, ""}, {true, false, ""}} {
		a := AgentFacts{TaskKnown: true, TaskRunning: true, Tools: []string{"read_note"}, Local: c.local, Ref: Ref{Kind: KindNote, ID: "n"},
			Person: thing(func(f *Facts) { f.LocalOnly = c.localOnly })}
		if _, err := CheckAgent(a, "read_note", Permission{Scopes: ScopeRead, Right: RightView}); CodeOf(err) != c.want {
			t.Errorf("got %v, want %q: %+v", err, c.want, c)
		}
	}
}

func TestAnAgentIsRefusedWhatItsTaskDoesNotHave(t *testing.T) {
	good := AgentFacts{TaskKnown: true, TaskRunning: true, Tools: []string{"read_note"}, Person: thing(func(*Facts) {}), Ref: Ref{Kind: KindNote, ID: "n"}}
	for name, c := range map[string]struct {
		change func(a *AgentFacts)
		tool   string
		need   Permission
	}{
		"task unknown":       {func(a *AgentFacts) { a.TaskKnown = false }, "read_note", Permission{ScopeRead, RightView, 0, false}},
		"task stopped":       {func(a *AgentFacts) { a.TaskRunning = false }, "read_note", Permission{ScopeRead, RightView, 0, false}},
		"tool not given":     {func(*AgentFacts) {}, "edit_note_tab", Permission{ScopeWrite, RightEdit, 0, false}},
		"no tools at all":    {func(a *AgentFacts) { a.Tools = nil }, "read_note", Permission{ScopeRead, RightView, 0, false}},
		"nobody behind it":   {func(a *AgentFacts) { a.Person = nil }, "read_note", Permission{ScopeRead, RightView, 0, false}},
		"a session":          {func(a *AgentFacts) { a.Ref.Kind = KindSession }, "read_note", Permission{ScopeRead, RightView, 0, false}},
		"a right for people": {func(*AgentFacts) {}, "read_note", Permission{ScopeRead, RightNone, 0, false}},
	} {
		a := good
		c.change(&a)
		if _, err := CheckAgent(a, c.tool, c.need); CodeOf(err) != Forbidden {
			t.Errorf("got %v, want forbidden: %s", err, name)
		}
	}
	if _, err := CheckAgent(good, "read_note", Permission{ScopeRead, RightView, 0, false}); err != nil {
		t.Errorf("got %v, want allowed: nothing was changed", err)
	}
}

// TestSeatsAndOwnershipComeLast has every seat against every need, on own and
// other handoffs.
func TestSeatsAndOwnershipComeLast(t *testing.T) {
	for seat := SeatNone; seat <= SeatRunner; seat++ {
		for need := SeatNone; need <= SeatRunner; need++ {
			for _, madeBy := range []string{"c", "another", ""} {
				for _, own := range []bool{false, true} {
					for _, kind := range []Kind{KindSession, KindHandoff, KindTask} {
						f := *thing(func(f *Facts) { f.Seat, f.MadeBy, f.SessionType, f.SessionID = seat, madeBy, "agent", "s" })
						f.TokenKnown, f.TokenExpires = true, 2_000
						ref := Ref{Kind: kind, ID: "x"}
						permit, err := CheckConnection(f, Permission{ScopeRead, RightView, need, own}, ref, time.UnixMilli(1_000))
						want := Code("")
						switch {
						case seat == SeatNone || seat < need:
							want = SeatRequired
						case own && kind != KindSession && madeBy != "c":
							want = NotYours
						}
						if CodeOf(err) != want {
							t.Errorf("got %v, want %q: seat %s, need %s, made by %q, own %v, %s", err, want, seat, need, madeBy, own, kind)
						}
						if err == nil && permit.Seated(kind, seat) != nil || permit.Seated(kind, SeatRunner) == nil && seat < SeatRunner {
							t.Errorf("got a permit that covers seat %s as runner, or not as itself", seat)
						}
					}
				}
			}
		}
	}
}

func TestAThingOfAnotherSessionOrTypeIsNotThere(t *testing.T) {
	f := *thing(func(f *Facts) { f.Seat, f.MadeBy, f.SessionType, f.SessionID = SeatRunner, "c", "team", "s" })
	f.TokenKnown, f.TokenExpires = true, 2_000
	for _, c := range []struct {
		ref  Ref
		want Code
	}{
		{Ref{Kind: KindTask, ID: "k", Type: "team", In: "s"}, ""},
		{Ref{Kind: KindTask, ID: "k"}, ""},
		{Ref{Kind: KindTask, ID: "k", Type: "loop", In: "s"}, NotFound},
		{Ref{Kind: KindTask, ID: "k", Type: "team", In: "other"}, NotFound},
		{Ref{Kind: KindSession, ID: "s", Type: "agent"}, NotFound},
	} {
		if _, err := CheckConnection(f, Permission{Scopes: ScopeRead, Right: RightView}, c.ref, time.UnixMilli(1_000)); CodeOf(err) != c.want {
			t.Errorf("got %v, want %q: %+v", err, c.want, c.ref)
		}
	}
}
