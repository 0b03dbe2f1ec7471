package command_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/osfoundry/osfoundry/internal/agent/provider/command"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

func TestProcessesThatLeaveTheGroupAreFound(t *testing.T) {
	for name, script := range map[string]string{
		"a session of its own":   `exec 9>"$1"; trap '' TERM HUP; setsid sh -c 'echo away >&9; while :; do sleep 1000; done' & read x <"$2"`,
		"with its streams":       `exec 9>"$1"; trap '' TERM HUP; (setsid sh -c 'echo away >&9; while :; do sleep 1000; done' &) ; read x <"$2"`,
		"in another folder":      `exec 9>"$1"; (cd / && setsid sh -c 'echo away >&9; while :; do sleep 1000; done' >/dev/null 2>&1 &) ; read x <"$2"`,
		"without an environment": `exec 9>"$1"; (env -i setsid sh -c 'echo away >&9; while :; do sleep 1000; done' >/dev/null 2>&1 &) ; read x <"$2"`,
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			r, _ := shell(t, command.Limits{})
			out, in := fifo(t), fifo(t)
			lines := make(chan string, 1)
			over := make(chan struct{})
			go func() {
				defer close(over)
				f, err := os.Open(out)
				if err != nil {
					return
				}
				defer f.Close()
				scanner := bufio.NewScanner(f)
				for scanner.Scan() {
					lines <- scanner.Text()
				}
			}()
			go func() {
				<-lines // it is away: the program may exit
				if f, err := os.OpenFile(in, os.O_WRONLY, 0); err == nil {
					f.WriteString("\n")
					f.Close()
				}
			}()
			if _, _, err := providertest.Take(t, sh(t, r, script, out, in), turn()); err != nil {
				t.Error(err)
			}
			select {
			case <-over:
			case <-time.After(longest):
				t.Error("a process is left")
			}
		})
	}
}

func TestProgramsHaveLimits(t *testing.T) {
	r, _ := shell(t, command.Limits{File: 1 << 20, Files: 64})
	reply, _, err := providertest.Take(t, sh(t, r, `read x; ulimit -c; ulimit -n; ulimit -f; head -c 2000000 /dev/zero >big; stat -c %s big`), turn())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Fields(reply.Text)
	if len(got) != 4 || got[0] != "0" || got[1] != "64" || got[2] != "2048" || got[3] != "1048576" {
		t.Errorf("limits and size of a file: %q, want 0, 64, 2048 blocks, 1048576", got)
	}
}

// asServer makes this program, started again, run a command for a folder and a pipe,
// so that it can be killed.
const asServer = "COMMAND_TEST_SERVER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(asServer); folder != "" {
		r := &command.Programs{Folder: folder, Allowed: []string{"/bin/sh"}}
		argv := []string{"/bin/sh", "-c", `exec 9>"$1"; echo begun >&9; exec sleep 1000`, "sh", os.Getenv(asServer + "_PIPE")}
		r.Run(context.Background(), argv, "", func([]byte) error { return nil })
		return
	}
	os.Exit(m.Run())
}

func TestAProgramDiesWithTheServer(t *testing.T) {
	_, folder := shell(t, command.Limits{})
	path := fifo(t)
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), asServer+"="+folder, asServer+"_PIPE="+path)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.SetReadDeadline(time.Now().Add(longest)); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(f)
	if line, err := reader.ReadString('\n'); err != nil || line != "begun\n" {
		t.Fatalf("read %q, %v", line, err)
	}
	server.Process.Kill()
	server.Wait()
	if text, err := reader.ReadString(0); text != "" || err != io.EOF {
		t.Errorf("read %q, %v, want the end", text, err)
	}
}
