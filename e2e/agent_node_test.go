package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// staged is a studio whose server is a process, with one model server.
func staged(t *testing.T, o storage.Options) (*studio, *model, *process) {
	t.Helper()
	m := newModel(t, providertest.OpenAI)
	p := newProcess(t, o)
	p.args = append(p.args, "--provider-hosts", m.Host())
	h := testkit.At(t, p.base, p.start(true), o)
	s := &studio{House: h, project: h.Owner.Project("Alpha", false)}
	s.provider("openai", testkit.Object{"kind": "openai", "base_url": m.BaseURL(), "model": "stub-1"})
	return s, m, p
}

// A server that is asked to end gives its rounds back, in the middle of their turns;
// after the next start they are finished, and none is there twice.
func TestRoundsOfAServerThatStopsAreFinishedAfterItsNextStart(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		s, m, p := staged(t, o)
		note := s.Owner.Note(s.project, "Log", "")
		hold := make(chan struct{})
		reached := make(chan struct{}, 64)
		const tasks = 4
		m.play(func(r providertest.Request) providertest.Move {
			answers := 0
			for _, message := range r.Messages {
				answers += len(message.Calls)
			}
			reached <- struct{}{}
			if answers == 0 {
				return calls(call("append_note_tab", appendTo(note)))
			}
			return providertest.Move{Text: []string{"Half of it, ", "all of it."}, Pause: hold, In: 100, Out: 10}
		})
		session := s.session("agent", nil, worker("writer", "openai", "append_note_tab"))
		var ids []string
		for range tasks {
			ids = append(ids, s.queue(s.Owner, session, "Write.", 3))
		}
		for _, id := range ids {
			s.until(session, id, "speaking", func(k task) bool { return len(k.Rounds) == 2 && k.Rounds[1].Text != "" })
		}
		began := time.Now()
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
		p.cmd = nil
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("ending took %v while models spoke", took)
		}
		var given int
		if err := s.Raw().QueryRow(`SELECT count(*) FROM rounds WHERE state = 'queued' AND number = 2 AND text = ''`).Scan(&given); err != nil || given != tasks {
			t.Errorf("%d rounds were given back (%v), want %d", given, err, tasks)
		}
		close(hold)
		started := time.Now()
		p.start(false)
		for _, id := range ids {
			k := s.ended(session, id)
			k.wants(t, "succeeded", "")
			if k.Result != "Half of it, all of it." || k.RoundsN != 2 || k.Rounds[0].Attempt != 1 || k.Rounds[1].Attempt != 2 || k.ToolCalls != 1 {
				t.Errorf("want the second round twice begun and once done: %v", k)
			}
		}
		if took := time.Since(started); took > 10*time.Second {
			t.Errorf("the rounds that were given back took %v after the start, want no wait for a silence", took)
		}
		var text string
		if err := s.Raw().QueryRow(`SELECT markdown FROM note_tabs WHERE id = $1`, note.Tabs[0].ID).Scan(&text); err != nil || strings.Count(text, "obeyed") != tasks {
			t.Errorf("the note holds %q (%v), want a line of each task", text, err)
		}
	})
}

// A node that sleeps longer than the others wait for it, and then wakes up in the
// middle of its round, finds that it is not its own any more.
func TestANodeThatSleptWritesNothingOfItsOldRounds(t *testing.T) {
	o := storage.Options{DatabaseURL: storagetest.PostgresURL(t)}
	s, m, sleeper := staged(t, o)
	note := s.Owner.Note(s.project, "Log", "")
	hold := make(chan struct{})
	m.play(func(r providertest.Request) providertest.Move {
		if r.Number == 1 { // to the one that will sleep
			return providertest.Move{Calls: calls(call("append_note_tab", appendTo(note))).Calls, Text: []string{"Old ", "words."}, Pause: hold, In: 1, Out: 1}
		}
		return says("New words.")
	})
	session := s.session("agent", nil, worker("writer", "openai", "append_note_tab"))
	id := s.queue(s.Owner, session, "Write.", 3)
	s.until(session, id, "speaking", func(k task) bool { return len(k.Rounds) == 1 && k.Rounds[0].Text == "Old " })
	var first *process
	for range 2 {
		first = newProcess(t, o)
		first.args = append(first.args, "--provider-hosts", m.Host())
		first.start(false)
	}
	slept := time.Now()
	if err := sleeper.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s.Base = first.base
	s.Owner.SignIn()
	k := s.ended(session, id)
	k.wants(t, "succeeded", "")
	if took := time.Since(slept); took > takeOver {
		t.Errorf("the round was taken over after %v, want %v at most", took, takeOver)
	}
	before := k.String()
	if err := sleeper.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	close(hold) // and the old answer comes
	s.Base = sleeper.base
	s.Owner.SignIn()
	later := s.queue(s.Owner, session, "Later.", 1) // by the sleeper, which is awake
	s.ended(session, later).wants(t, "succeeded", "")
	if err := sleeper.cmd.Process.Signal(syscall.SIGTERM); err != nil { // then it has written all that it will
		t.Fatal(err)
	}
	if err := sleeper.cmd.Wait(); err != nil {
		t.Errorf("the sleeper ended with %v", err)
	}
	sleeper.cmd = nil
	s.Base = first.base
	s.Owner.SignIn()
	after := s.look(session, id)
	if after.String() != before {
		t.Errorf("after the sleeper woke up the task is\n%v, before\n%v", after, before)
	}
	if after.Result != "New words." || after.RoundsN != 1 || len(after.Rounds) != 1 || after.Rounds[0].Attempt != 2 || after.ToolCalls != 0 {
		t.Errorf("want the round of the second attempt, once: %v", after)
	}
	var text string
	if err := s.Raw().QueryRow(`SELECT markdown FROM note_tabs WHERE id = $1`, note.Tabs[0].ID).Scan(&text); err != nil || text != "" {
		t.Errorf("the sleeper wrote %q into a note (%v)", text, err)
	}
}
