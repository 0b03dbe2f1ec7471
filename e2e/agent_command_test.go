package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// program writes a script that agents can run, and returns its path.
func program(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program.sh")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// unruly forks, into its own group and out of it, ignores the signal to end, says who
// its processes are, and then does what it is told.
const unruly = `cat >/dev/null
trap '' TERM HUP INT
(trap '' TERM HUP; exec sleep 600) &
one=$!
setsid sh -c 'trap "" TERM HUP; exec sleep 601' &
echo "pids $$ $one $!;"
`

// pids are the processes that a program said it has.
func pids(t *testing.T, text string) (all []int) {
	t.Helper()
	_, after, _ := strings.Cut(text, "pids ")
	list, _, whole := strings.Cut(after, ";")
	for _, word := range strings.Fields(list) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	if !whole || len(all) != 3 {
		t.Fatalf("the program says %q, want three processes", text)
	}
	return all
}

// gone fails the test if a process is still there after a moment.
func gone(t *testing.T, all []int) {
	t.Helper()
	for _, pid := range all {
		for since := time.Now(); running(pid); wait(10 * time.Millisecond) {
			if time.Since(since) > 5*time.Second {
				t.Errorf("process %d of the program is still there", pid)
				break
			}
		}
	}
}

// running reports whether there is a process, other than one that only nobody waited
// for.
func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestAProgramIsContainedWhateverItDoes(t *testing.T) {
	flood := program(t, unruly+`yes "nothing but noise, and a lot of it" & wait`)
	stays := program(t, unruly+`while :; do sleep 1; done`)
	leaves := program(t, unruly+`exit 0`)
	fails := program(t, `cat >/dev/null; echo "no licence" >&2; exit 3`)
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		data := t.TempDir()
		s := openStudio(t, o, func(c *config.Config) {
			c.AgentPrograms, c.Data = []string{flood, stays, leaves, fails, "/usr/bin/env"}, data
		})
		sessionOf := func(name string, command ...string) string {
			s.provider(name, testkit.Object{"kind": "command", "command": command})
			return s.session("agent", nil, worker("program", name))
		}

		session := sessionOf("flood", flood)
		k := s.run(session, "Go.", 3)
		k.wants(t, "stopped", "limit_output: ")
		if len(k.Result) > 1<<20+1000 || len(k.Rounds[0].Text) > 1<<20+1000 {
			t.Errorf("%d bytes of the flood were kept", len(k.Rounds[0].Text))
		}
		gone(t, pids(t, k.Rounds[0].Text))

		session = sessionOf("stays", stays)
		id := s.queue(s.Owner, session, "Go.", 3)
		k = s.until(session, id, "at work", func(k task) bool { return len(k.Rounds) > 0 && strings.Contains(k.Rounds[0].Text, ";") })
		began := time.Now()
		s.Owner.Must("POST", "/agent-sessions/"+session+"/tasks/"+id+"/stop", testkit.Object{}, nil)
		gone(t, pids(t, k.Rounds[0].Text))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("the program was gone %v after it was stopped, want seconds", took)
		}
		s.ended(session, id).wants(t, "stopped", "stopped_by_person: Olive Owner")

		k = s.run(sessionOf("leaves", leaves), "Go.", 3)
		k.wants(t, "succeeded", "")
		gone(t, pids(t, k.Result))

		k = s.run(sessionOf("fails", fails), "Go.", 3)
		k.wants(t, "failed", "provider_failed: ")
		if !strings.Contains(k.Reason, "status 3") || !strings.Contains(k.Reason, "no licence") || k.Rounds[0].Attempt != 1 {
			t.Errorf("the reason is %q after %d attempts, want the program's own words at once", k.Reason, k.Rounds[0].Attempt)
		}

		t.Setenv("OSFOUNDRY_TEST_AMBIENT", "ambient-canary")
		k = s.run(sessionOf("prints", "/usr/bin/env"), "Go.", 3)
		k.wants(t, "succeeded", "")
		var names []string
		for line := range strings.Lines(k.Result) {
			name, _, _ := strings.Cut(line, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"HOME", "LANG", "PATH", "TMPDIR"}) {
			t.Errorf("the environment of a program is %q", k.Result)
		}
		if o.DatabaseURL == "" {
			if left, err := os.ReadDir(filepath.Join(data, "agents")); err != nil || len(left) != 0 {
				t.Errorf("of the working folders %v are left (%v), want none", left, err)
			}
		}
	})
}

// A program may have done something before the server was killed. Nobody but a
// person can know.
func TestAProgramThatRanWhileTheServerWasKilledIsNotRepeatedSilently(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		ran := filepath.Join(t.TempDir(), "ran")
		// The first run of a task never ends, a later one does.
		path := program(t, fmt.Sprintf(`cat >/dev/null
echo "$1 $$" >>%[1]s
[ "$(grep -c "^$1 " %[1]s)" -gt 1 ] || sleep 600
echo finished
`, ran))
		p := newProcess(t, o)
		p.args = append(p.args, "--agent-programs", path)
		h := testkit.At(t, p.base, p.start(true), o)
		s := &studio{House: h, project: h.Owner.Project("Alpha", false)}
		at := map[string]string{}
		ids := map[string]string{}
		for _, name := range []string{"again", "stop"} {
			s.provider(name, testkit.Object{"kind": "command", "command": []string{path, name}})
			at[name] = s.session("agent", nil, worker("program", name))
			ids[name] = s.queue(s.Owner, at[name], "Go.", 3)
		}
		for since := time.Now(); ; wait(10 * time.Millisecond) {
			if text, _ := os.ReadFile(ran); strings.Count(string(text), "\n") == 2 {
				break
			}
			if time.Since(since) > overAfter {
				t.Fatalf("the programs did not begin: %v %v", s.look(at["again"], ids["again"]), s.look(at["stop"], ids["stop"]))
			}
		}
		p.kill()
		text, err := os.ReadFile(ran)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) { // it dies with the server
			pid, err := strconv.Atoi(strings.Fields(line)[1])
			if err != nil {
				t.Fatal(err)
			}
			gone(t, []int{pid})
		}
		p.start(false)
		for name := range ids {
			k := s.until(at[name], ids[name], "waiting", func(k task) bool { return k.State == "waiting" || k.over() })
			k.wants(t, "waiting", "unknown_outcome: ")
			if k.Rounds[0].EffectAt == nil {
				t.Errorf("the round does not say when it began: %v", k)
			}
		}
		var notices struct {
			Items []struct {
				Type string `json:"type"`
			} `json:"items"`
		}
		h.Owner.Must("GET", "/notices", nil, &notices)
		if len(notices.Items) != 2 || notices.Items[0].Type != "task.waiting" {
			t.Errorf("the owner is told %v, want of two tasks that wait", notices.Items)
		}
		if now, err := os.ReadFile(ran); err != nil || string(now) != string(text) {
			t.Errorf("the programs were run again by themselves: %q, before %q (%v)", now, text, err)
		}
		for name, id := range ids {
			s.Owner.Must("POST", "/agent-sessions/"+at[name]+"/tasks/"+id+"/resume", testkit.Object{"decision": name}, nil)
		}
		k := s.ended(at["again"], ids["again"])
		k.wants(t, "succeeded", "")
		if k.Result != "finished\n" {
			t.Errorf("the result is %q", k.Result)
		}
		s.ended(at["stop"], ids["stop"]).wants(t, "stopped", "stopped_by_person: ")
		if status, body := s.Owner.Do("POST", "/agent-sessions/"+at["stop"]+"/tasks/"+ids["stop"]+"/resume", testkit.Object{"decision": "again"}); status != 409 || codeIn(t, body) != "already_decided" {
			t.Errorf("going on with what was stopped: got %d %s, want 409 already_decided", status, body)
		}
		if now, err := os.ReadFile(ran); err != nil || strings.Count(string(now), "again ") != 2 || strings.Count(string(now), "stop ") != 1 {
			t.Errorf("the programs ran as %q (%v), want the one that may again twice, the other once", now, err)
		}
	})
}
