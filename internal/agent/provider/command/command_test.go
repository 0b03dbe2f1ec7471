package command_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/command"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

// longest is how long anything here may take before the test is lost.
const longest = 30 * time.Second

// shell allows the shell, and gives the folder that it works in.
func shell(t *testing.T, l command.Limits) (*command.Programs, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "runs")
	return &command.Programs{Folder: folder, Allowed: []string{"/bin/sh", "/usr/bin/env"}, Limits: l}, folder
}

// sh is a provider that runs a script of the shell with arguments.
func sh(t *testing.T, r *command.Programs, script string, arguments ...string) agent.Provider {
	t.Helper()
	p, err := command.New(r, append([]string{"/bin/sh", "-c", script, "sh"}, arguments...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func turn() agent.Turn {
	return agent.Turn{Agent: "scout", Round: 2, LastRound: 3, Instructions: "Be brief.", Messages: []agent.Message{
		{Role: agent.RoleUser, Text: "Find x."},
		{Role: agent.RoleAgent, Text: "I look.", Calls: []agent.Call{{ID: "a", Name: "search", Arguments: jsontext.Value(`{"query":"x"}`)}}},
		{Role: agent.RoleTool, CallID: "a", Text: "no such project", Failed: true},
	}}
}

func TestConformance(t *testing.T) {
	r, _ := shell(t, command.Limits{})
	p := sh(t, r, `echo "Two pieces."; cat`)
	providertest.Contract(t, p, turn())
	if !p.External() {
		t.Error("a command is not external, want external")
	}
}

func TestThePromptIsOnStandardInput(t *testing.T) {
	r, _ := shell(t, command.Limits{})
	reply, _, err := providertest.Take(t, sh(t, r, "cat"), turn())
	if err != nil {
		t.Fatal(err)
	}
	want := `# Agent

You are scout. This is round 2 of at most 3.

# Instructions

Be brief.

# You are asked

Find x.

# You said

I look.

# You called search

{"query":"x"}

# Refused of search

no such project

`
	if reply.Text != want || reply.Model != "sh" {
		t.Errorf("the prompt of %s is\n%s\nwant\n%s", reply.Model, reply.Text, want)
	}
}

func TestAPromptNeedNotBeRead(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, _ := shell(t, command.Limits{})
	long := turn()
	long.Instructions = strings.Repeat("x", 1<<20)
	for _, script := range []string{"echo done", "exec 0<&-; echo done", "head -c 10 >/dev/null; echo done"} {
		if reply, _, err := providertest.Take(t, sh(t, r, script), long); err != nil || reply.Text != "done\n" {
			t.Errorf("%s: reply %q, %v, want done", script, reply.Text, err)
		}
	}
}

func TestTheEnvironmentIsEmpty(t *testing.T) {
	t.Setenv("CANARY", "canary")
	t.Setenv("PATH", "/canary:"+os.Getenv("PATH"))
	r, folder := shell(t, command.Limits{})
	p, err := command.New(r, []string{"/usr/bin/env"})
	if err != nil {
		t.Fatal(err)
	}
	reply, _, err := providertest.Take(t, p, turn())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(reply.Text), "\n")
	var names []string
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		names = append(names, name)
		if (name == "HOME" || name == "TMPDIR") && filepath.Dir(value) != folder {
			t.Errorf("%s, want a folder in %s", line, folder)
		}
	}
	slices.Sort(names)
	if want := []string{"HOME", "LANG", "PATH", "TMPDIR"}; !slices.Equal(names, want) || strings.Contains(reply.Text, "canary") {
		t.Errorf("the environment is %q, want %q", lines, want)
	}
}

func TestEachRunHasAFolderOfItsOwn(t *testing.T) {
	r, folder := shell(t, command.Limits{})
	p := sh(t, r, `pwd; stat -c %a .; ls -A | wc -l; touch left; mkdir -p d/e; chmod 0 d/e; chmod 0 d`)
	seen := map[string]bool{}
	for range 2 {
		reply, _, err := providertest.Take(t, p, turn())
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(reply.Text)
		if len(lines) != 3 || filepath.Dir(lines[0]) != folder || lines[1] != "700" || lines[2] != "0" || seen[lines[0]] {
			t.Errorf("folder, mode and files: %q, want a new and empty one in %s with 700", lines, folder)
		}
		seen[lines[0]] = true
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.MkdirAll(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r, folder := shell(t, command.Limits{})
	if _, _, err := providertest.Take(t, sh(t, r, `ln -s "$1" link; mkdir d; ln -s "$1" d/link; d=$PWD; cd ..; mv "$d" "$1/moved"; ln -s "$1" "$d"`, outside), turn()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a file outside of the folder is gone: %v", err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestFoldersOfAKilledServerAreRemoved(t *testing.T) {
	r, folder := shell(t, command.Limits{})
	old, young, other := filepath.Join(folder, "osfoundry-run-OLD"), filepath.Join(folder, "osfoundry-run-YOUNG"), filepath.Join(folder, "mine")
	for _, dir := range []string{old, young, other} {
		if err := os.MkdirAll(filepath.Join(dir, "d"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	for _, dir := range []string{old, other} {
		if err := os.Chtimes(dir, past, past); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := providertest.Take(t, sh(t, r, "echo"), turn()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an old folder: %v, want it gone", err)
	}
	for _, dir := range []string{young, other} {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("a folder that may be in use is gone: %v", err)
		}
	}
}

func TestThereIsNoShell(t *testing.T) {
	echo := "/bin/echo"
	r := &command.Programs{Folder: t.TempDir(), Allowed: []string{echo}}
	p, err := command.New(r, []string{echo, "$(id)", ";", "*", "`id`", "$HOME", "a b"})
	if err != nil {
		t.Fatal(err)
	}
	if reply, _, err := providertest.Take(t, p, turn()); err != nil || reply.Text != "$(id) ; * `id` $HOME a b\n" {
		t.Errorf("reply %q, %v", reply.Text, err)
	}
}

func TestTextIsSaidAsItComes(t *testing.T) {
	r, _ := shell(t, command.Limits{})
	pipe := fifo(t)
	var said []string
	_, err := sh(t, r, `printf 'one\303'; read x <"$1"; printf '\251 two'`, pipe).Take(t.Context(), turn(), func(text string) {
		if said = append(said, text); len(said) > 1 {
			return
		}
		go func() { // to open it waits for the other end
			if w, err := os.OpenFile(pipe, os.O_WRONLY, 0); err == nil {
				fmt.Fprintln(w, "go on")
				w.Close()
			}
		}()
	})
	if want := []string{"one", "é two"}; err != nil || !slices.Equal(said, want) {
		t.Errorf("said %q, %v, want %q", said, err, want)
	}
}

func TestAFailureIsToldInTheProgramsWords(t *testing.T) {
	r, _ := shell(t, command.Limits{})
	for script, want := range map[string]string{
		`echo said; printf 'no \033[31mmodel\000 here\n' >&2; exit 3`: "The command sh exited with status 3: no [31mmodel\uFFFD here",
		`exit 1`:     "The command sh exited with status 1.",
		`kill -9 $$`: "The command sh was ended by a signal, killed.",
	} {
		_, _, err := providertest.Take(t, sh(t, r, script), turn())
		if f := providertest.Fault(t, err); f.Kind != agent.FaultFailed || f.Text != want {
			t.Errorf("%s: got %v, want %q", script, f, want)
		}
	}
	_, _, err := providertest.Take(t, sh(t, r, `yes first | head -c 9000 >&2; echo the last >&2; exit 1`), turn())
	if f := providertest.Fault(t, err); len(f.Text) > 4200 || len(f.Text) < 4000 || !strings.HasSuffix(f.Text, "the last") {
		t.Errorf("%d bytes that end in %q, want the last 4 KiB", len(f.Text), f.Text[max(0, len(f.Text)-20):])
	}
}

func TestDoneIsTheExitStatus(t *testing.T) {
	r, _ := shell(t, command.Limits{})
	for script, want := range map[string]string{`grep -q 'all good'`: "", `echo "not yet" >&2; exit 1`: "exited with status 1: not yet"} {
		done, reason, err := r.Done(t.Context(), []string{"/bin/sh", "-c", script}, "all good\n")
		if err != nil || done != (want == "") || reason != want {
			t.Errorf("%s: done %v, %q, %v, want %q", script, done, reason, err, want)
		}
	}
	if done, _, err := r.Done(t.Context(), []string{"/bin/true"}, ""); done || providertest.Fault(t, err).Kind != agent.FaultRefused {
		t.Errorf("a command that is not allowed: done %v, %v, want refused", done, err)
	}
}

func TestOnlyWhatTheOperatorAllowsIsRun(t *testing.T) {
	r := &command.Programs{Folder: t.TempDir(), Allowed: []string{"/bin/echo", "bin/true", "/usr/../bin/sh"}}
	for line, want := range map[string]bool{
		"/bin/echo": true, "/bin/echo a -b": true,
		"echo": false, "/bin/../bin/echo": false, "//bin/echo": false, "/bin/echo/": false, "/bin/ECHO": false, "/bin/sh": false, "./bin/echo": false,
		"/bin": false, "/bin/ech": false, "/bin/echoes": false, "": false, "bin/true": false, "/usr/../bin/sh": false,
	} {
		argv := strings.Fields(line)
		if err := r.Check(argv); (err == nil) != want {
			t.Errorf("Check(%q) = %v, want allowed %v", line, err, want)
		}
		if _, err := command.New(r, argv); (err == nil) != want {
			t.Errorf("New(%q) = %v, want allowed %v", line, err, want)
		}
		if _, err := r.Run(t.Context(), argv, "", func([]byte) error { return nil }); (err == nil) != want {
			t.Errorf("Run(%q) = %v, want allowed %v", line, err, want)
		}
	}
	for name, argv := range map[string][]string{
		"NUL": {"/bin/echo", "a\x00b"}, "65 words": append([]string{"/bin/echo"}, make([]string, 64)...), "32 KiB and more": {"/bin/echo", strings.Repeat("x", 32<<10)}, "none": nil} {
		if err := r.Check(argv); err == nil {
			t.Errorf("%s was allowed", name)
		}
	}
	if err := new(command.Programs).Check([]string{"/bin/echo"}); err == nil {
		t.Error("where nothing is allowed, echo is")
	}
}

func TestTheFolderMayBeTheSystems(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := &command.Programs{Allowed: []string{"/bin/sh"}}
	reply, _, err := providertest.Take(t, sh(t, r, "pwd"), turn())
	if err != nil || filepath.Dir(strings.TrimSpace(reply.Text)) != os.TempDir() {
		t.Errorf("it works in %q, %v, want a folder in %s", reply.Text, err, os.TempDir())
	}
	r = &command.Programs{Allowed: []string{"/bin/sh"}, Folder: "runs"}
	_, _, err = providertest.Take(t, sh(t, r, "pwd"), turn())
	if f := providertest.Fault(t, err); f.Kind != agent.FaultFailed {
		t.Errorf("a relative folder is %v, want failed", f)
	}
}

func TestAConditionHoldsIfItsCommandExitsWith0(t *testing.T) {
	r, _ := shell(t, command.Limits{Wall: 300 * time.Millisecond, Grace: 10 * time.Millisecond, Output: 1000})
	for script, want := range map[string]bool{`read id; [ "$id" = task-1 ]`: true, "exit 1": false, "while :; do sleep 1000; done": false, "yes": false} {
		holds, err := r.Holds(t.Context(), "task-1", []string{"/bin/sh", "-c", script})
		if err != nil || holds != want {
			t.Errorf("%s: holds %v, %v, want %v", script, holds, err, want)
		}
	}
	for _, argv := range [][]string{nil, {"/bin/true"}} {
		if holds, err := r.Holds(t.Context(), "task-1", argv); holds || err == nil {
			t.Errorf("%q holds %v, %v, want an error", argv, holds, err)
		}
	}
}

func TestProgramsThatCannotStartAreRefused(t *testing.T) {
	dir := t.TempDir()
	plain, script := filepath.Join(dir, "plain"), filepath.Join(dir, "script")
	if err := errors.Join(os.WriteFile(plain, nil, 0o600), os.WriteFile(script, []byte("no program"), 0o700)); err != nil {
		t.Fatal(err)
	}
	paths := []string{filepath.Join(dir, "absent"), plain, script, dir}
	r := &command.Programs{Folder: filepath.Join(dir, "runs"), Allowed: paths}
	for _, path := range paths {
		p, err := command.New(r, []string{path})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = providertest.Take(t, p, turn())
		if f := providertest.Fault(t, err); f.Kind != agent.FaultRefused || strings.Contains(f.Text, dir) {
			t.Errorf("%s is %v, want refused, without the path", path, f)
		}
	}
}

// fifo makes a named pipe. Whoever has it open to write keeps it from ending.
func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// watch reads a named pipe. The channel gets what was written when the last process
// that had it open is gone.
func watch(t *testing.T, path string) <-chan string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		f, err := os.Open(path) // waits for the first writer
		if err != nil {
			return
		}
		defer f.Close()
		text, _ := io.ReadAll(f)
		got <- string(text)
	}()
	return got
}

// gone waits for the end of all who had the pipe open.
func gone(t *testing.T, pipe <-chan string) string {
	t.Helper()
	select {
	case text := <-pipe:
		return text
	case <-time.After(longest):
		t.Fatal("a process is left")
		return ""
	}
}

// within is a context that ends long before a test is lost.
func within(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), longest)
}
