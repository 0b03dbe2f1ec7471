package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// write is a call that writes to somebody.
func write(to string) string {
	return fmt.Sprintf(`send_mail {"to":%q,"subject":"Re","body":"It is 12."}`, to)
}

// fromClaude and fromGemini are notes of connections, fromMara is a person's.
func fromClaude() workspace.Mail {
	return workspace.Mail{ID: "m1", FromKind: workspace.FromConnection, FromID: "conn1", FromName: "Claude", FromSlug: "claude-1",
		Subject: "How many?", Body: "Tell me.", CreatedAt: time.Now().Add(-time.Hour)}
}

func fromGemini() workspace.Mail {
	m := fromClaude()
	m.ID, m.FromID, m.FromName, m.FromSlug = "m2", "conn2", "Gemini", "gemini-1"
	return m
}

func fromMara() workspace.Mail {
	return workspace.Mail{ID: "m3", FromKind: workspace.FromPerson, FromID: "mara", FromName: "Mara", Subject: "Quietly", Body: "Ours alone.",
		CreatedAt: time.Now().Add(-time.Hour)}
}

func TestMailOfATeamIsReadInALaterRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "team", 3, 6)
		w.script(calls("", write("ben")), text("aha"), text("hm"), calls("", `finish {"result":"x"}`))
		w.run()
		if got := w.rows.mail; len(got) != 1 || got[0].ToAgent != "ben" || !got[0].Internal || got[0].FromID != "ann" || got[0].TaskID != theTask {
			t.Fatalf("the mail is %+v, want one of ann to ben, internal", got)
		}
		for i, want := range []bool{false, true, false, false} {
			if got := strings.Contains(heard(w.turns[i]), "It is 12."); got != want {
				t.Errorf("%s reads the mail in round %d: %t, want %t", w.turns[i].Agent, i+1, got, want)
			}
		}
	})
}

// heard is all that a turn is told by others.
func heard(t agent.Turn) string {
	var all []string
	for _, m := range t.Messages {
		if m.Role == agent.RoleUser {
			all = append(all, m.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestAnOutsideAssistantIsToldOnlyWhatItCouldRead(t *testing.T) {
	for _, test := range []struct {
		name       string
		connection string // behind the task
		mail       []workspace.Mail
		script     []any
		to         string // "" where nothing may be sent
		code       string
	}{
		{"who is behind the task", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", "read"), calls("", write("claude-1")), text("x")}, "conn1", ""},
		{"who is behind the task, among mail of others", "conn1", []workspace.Mail{fromClaude(), fromGemini(), fromMara()}, []any{calls("", write("claude-1")), text("x")}, "conn1", ""},
		{"who asked, in a task of a person", "", []workspace.Mail{fromClaude()}, []any{calls("", write("claude-1")), text("x")}, "conn1", ""},
		{"who asked, after a call that was refused", "", []workspace.Mail{fromClaude()}, []any{calls("", "steal", write("claude-1")), text("x")}, "conn1", ""},
		{"after something was read", "", []workspace.Mail{fromClaude()}, []any{calls("", "read", write("claude-1")), text("x")}, "", "human_required"},
		{"after something was read in a round before", "", []workspace.Mail{fromClaude()}, []any{calls("", "read"), calls("", write("claude-1")), text("x")}, "", "human_required"},
		{"after a person's mail", "", []workspace.Mail{fromClaude(), fromMara()}, []any{calls("", write("claude-1")), text("x")}, "", "human_required"},
		{"after another's mail", "", []workspace.Mail{fromClaude(), fromGemini()}, []any{calls("", write("claude-1")), text("x")}, "", "human_required"},
		{"another than is behind the task", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", write("gemini-1")), text("x")}, "", "human_required"},
		{"nobody", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", write("nobody")), text("x")}, "", "not_found"},
		{"itself", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", write("ann")), text("x")}, "", "not_found"},
		{"without a body", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", `send_mail {"to":"claude-1","subject":"x","body":""}`), text("x")}, "", "invalid_arguments"},
		{"at too great length", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", `send_mail {"to":"claude-1","subject":"`+strings.Repeat("é", 201)+`","body":"x"}`), text("x")}, "", "invalid_arguments"},
		{"with more than is asked for", "conn1", []workspace.Mail{fromClaude()}, []any{calls("", `send_mail {"to":"claude-1","subject":"x","body":"x","cc":"y"}`), text("x")}, "", "invalid_arguments"},
		{"where nobody wrote", "", nil, []any{calls("", write("claude-1")), text("x")}, "", "forbidden"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "agent", 1, 5)
				w.rows.task.ConnectionID = test.connection
				w.rows.slugs = map[string]string{"claude-1": "conn1", "gemini-1": "conn2"}
				for _, m := range test.mail {
					m.CreatedAt = time.Now().Add(-time.Minute)
					w.rows.mail = append(w.rows.mail, m)
				}
				w.script(test.script...)
				w.run()
				sent := w.rows.mail[len(test.mail):]
				if test.to == "" {
					var codes []string
					for _, r := range w.rows.rounds {
						for _, c := range r.Calls {
							if c.Name == "send_mail" {
								codes = append(codes, c.Code)
							}
						}
					}
					if len(sent) != 0 || len(codes) != 1 || codes[0] != test.code {
						t.Errorf("sent was %+v, refused %q; want nothing, and %s", sent, codes, test.code)
					}
					return
				}
				if len(sent) != 1 || sent[0].ToConnection != test.to || sent[0].Internal || sent[0].Body != "It is 12." {
					t.Errorf("sent was %+v, want one to %s, not internal", sent, test.to)
				}
			})
		})
	}
}

// What one agent of a team read it may have told the others.
func TestATeamIsToldOnAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "team", 2, 4)
		secret, ask := fromMara(), fromClaude()
		secret.ToAgent, ask.ToAgent = "ann", "ben"
		w.rows.mail = []workspace.Mail{secret, ask}
		w.rows.slugs = map[string]string{"claude-1": "conn1"}
		w.script(calls("", write("ben")), calls("", write("claude-1")), text("x"))
		w.run()
		if code := w.rows.rounds[1].Calls[0].Code; code != "human_required" || len(w.rows.mail) != 3 {
			t.Errorf("ben's mail was refused with %q, and there are %d; want human_required, and 3", code, len(w.rows.mail))
		}
	})
}

func TestMailOfARoundIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "team", 2, 3)
		first := &node{world: w, units: 6} // begin, look, keep, two calls of tools; the end is the last
		w.script(calls("", write("ben"), "read", "write"), text("x"))
		nodes := []*node{first, {world: w}}
		w.work(func() *node { n := nodes[0]; nodes = nodes[1:]; return n })
		if w.rows.rounds[0].Attempt != 2 || len(w.rows.mail) != 1 {
			t.Errorf("after %d attempts there are %d letters, want 1 after 2", w.rows.rounds[0].Attempt, len(w.rows.mail))
		}
	})
}

// A round that is asked again is told the same, whatever came meanwhile.
func TestARoundIsToldTheSameAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "agent", 1, 5)
		w.script(calls("", "read"), func(context.Context, agent.Turn, func(string)) (agent.Reply, error) {
			time.Sleep(time.Millisecond)
			w.mu.Lock()
			defer w.mu.Unlock()
			m := fromGemini()
			m.CreatedAt = time.Now()
			w.rows.mail = append(w.rows.mail, m)
			return agent.Reply{}, fault("down")
		}, calls("", "read"), text("x"))
		w.run()
		if a, b := fmt.Sprint(w.turns[1]), fmt.Sprint(w.turns[2]); a != b {
			t.Errorf("round 2 was first told\n%s\nthen\n%s", a, b)
		}
		if strings.Contains(heard(w.turns[2]), "gemini-1") || !strings.Contains(heard(w.turns[3]), "gemini-1") {
			t.Error("mail that came in round 2 is not told in round 3, or before")
		}
		was, now := w.turns[2].Messages, w.turns[3].Messages
		if len(now) <= len(was) || fmt.Sprint(was) != fmt.Sprint(now[:len(was)]) {
			t.Errorf("round 3 is told\n%v\nwhich does not begin as round 2\n%v", now, was)
		}
	})
}
