package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The crash test: clients write while the server is killed again and again. An
// answer that a client got is a promise, and one that got lost is asked for again
// under its key. At the end a checker that knows the clients' own records and
// nothing of the server reads the database.

const (
	killClients = 8
	dropped     = 0.2 // of the answers are not read
)

// process is the built program, which a test kills.
type process struct {
	t      *testing.T
	binary string
	args   []string
	base   string
	cmd    *exec.Cmd
}

// build makes the program once for the test.
func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "osfoundry")
	if out, err := exec.Command("go", "build", "-o", binary, "../cmd/osfoundry").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

func newProcess(t *testing.T, o storage.Options) *process {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that stays the same over all lives
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := &process{t: t, binary: build(t), base: "http://" + address}
	p.args = []string{"serve", "--listen", address, "--rate-limits", "off", "--log-level", "error"}
	if o.DatabaseURL != "" {
		p.args = append(p.args, "--database", o.DatabaseURL)
	} else {
		p.args = append(p.args, "--data", filepath.Dir(o.Path))
	}
	t.Cleanup(p.kill)
	return p
}

// start runs the program until it has said where it is and, on the first start,
// returns the setup address.
func (p *process) start(first bool) (setup string) {
	p.t.Helper()
	p.cmd = exec.Command(p.binary, p.args...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var stderr bytes.Buffer
	p.cmd.Stderr = &stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "MCP URL: ") {
			if first && lines.Scan() {
				setup, _ = strings.CutPrefix(lines.Text(), "Setup URL: ")
			}
			go io.Copy(io.Discard, out) //nolint:errcheck // until it is killed
			return setup
		}
	}
	p.t.Fatalf("the server ended before it served: %s", stderr.String())
	return ""
}

// kill is kill -9.
func (p *process) kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// errDropped stands for an answer that was on its way and did not arrive.
var errDropped = errors.New("the answer was dropped")

// writer is one client. Its record says what it was promised.
type writer struct {
	session  *probe.Session
	random   *rand.Rand
	note     testkit.Made
	project  string
	number   int
	next     int
	promised []string // markers that the server said are in the tab
	titles   []string // notes that the server said it made
}

// run writes until ctx ends, or an answer is none that a crash explains.
func (w *writer) run(ctx context.Context, failures chan<- error) {
	for ctx.Err() == nil {
		if err := w.step(ctx); err != nil && ctx.Err() == nil {
			failures <- err
			return
		}
	}
}

// step does one write and keeps at it until it is answered.
func (w *writer) step(ctx context.Context) error {
	w.next++
	marker := fmt.Sprintf("<%d-%d>", w.number, w.next)
	tool, arguments := "append_note_tab", testkit.Object{
		"note_id": w.note.ID, "tab_id": w.note.Tabs[0].ID, "markdown": marker, "idempotency_key": fmt.Sprintf("kill-%d-%08d", w.number, w.next),
	}
	create := w.next%5 == 0
	if create {
		tool, arguments = "create_note", testkit.Object{
			"project_id": w.project, "title": marker, "tabs": []testkit.Object{{"title": "T", "markdown": marker}}, "idempotency_key": arguments["idempotency_key"],
		}
	}
	for {
		err := w.try(ctx, tool, arguments)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errDropped) && !down(err) {
			return fmt.Errorf("%s %s: %w", tool, marker, err)
		}
	}
	if create {
		w.titles = append(w.titles, marker)
	} else {
		w.promised = append(w.promised, marker)
	}
	return nil
}

// try makes one call; a part of the answers is thrown away after the effect.
func (w *writer) try(ctx context.Context, tool string, arguments testkit.Object) error {
	r, err := w.session.Call(ctx, tool, arguments)
	if err != nil {
		return err
	}
	if w.random.Float64() < dropped {
		return errDropped
	}
	if r.Status == http.StatusServiceUnavailable {
		return errDropped
	}
	if r.Status != http.StatusOK || r.IsError {
		return fmt.Errorf("got %d %s %s", r.Status, r.Code, r.Text)
	}
	return nil
}

// down reports whether nobody answered.
func down(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "connection") ||
		strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "no JSON-RPC")
}

func TestNothingAcknowledgedIsLostOrDoubledWhenTheServerIsKilled(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		cycles := 12
		if text := os.Getenv("OSFOUNDRY_KILLS"); text != "" {
			var err error
			if cycles, err = strconv.Atoi(text); err != nil {
				t.Fatalf("OSFOUNDRY_KILLS: %v", err)
			}
		}
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d, %d cycles", seed, cycles)
		p := newProcess(t, o)
		h := testkit.At(t, p.base, p.start(true), o)
		writers := makeWriters(t, h, seed)
		ctx, stop := context.WithCancel(t.Context())
		failures := make(chan error, killClients)
		var running sync.WaitGroup
		for _, w := range writers {
			running.Go(func() { w.run(ctx, failures) })
		}
		random := rand.New(rand.NewPCG(seed, 0))
		for range cycles {
			wait(10*time.Millisecond + time.Duration(random.Int64N(int64(120*time.Millisecond))))
			p.kill()
			p.start(false)
		}
		stop()
		running.Wait()
		close(failures)
		for err := range failures {
			t.Error(err)
		}
		check(t, h, writers)
	})
}

// wait lets the server live for a while before it is killed: here time itself is
// what is tested.
func wait(d time.Duration) { <-time.After(d) }

func makeWriters(t *testing.T, h *testkit.House, seed uint64) []*writer {
	t.Helper()
	project := h.Owner.Project("Alpha", false)
	var all []*writer
	for i := range killClients {
		session, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		all = append(all, &writer{
			session: session, number: i, project: project, note: h.Owner.Note(project, fmt.Sprintf("Log %d", i), ""),
			random: rand.New(rand.NewPCG(seed, uint64(i)+1)),
		})
	}
	return all
}

// check compares the database with the clients' records.
func check(t *testing.T, h *testkit.House, writers []*writer) {
	t.Helper()
	made := map[string]int{}
	for cursor := ""; ; {
		var page struct {
			Items []struct {
				Title string `json:"title"`
			} `json:"items"`
			Next string `json:"next_cursor"`
		}
		h.Owner.Must("GET", "/projects/"+writers[0].project+"/notes?limit=200"+cursor, nil, &page)
		for _, n := range page.Items {
			made[n.Title]++
		}
		if page.Next == "" {
			break
		}
		cursor = "&cursor=" + page.Next
	}
	acknowledged := 0
	for _, w := range writers {
		acknowledged += len(w.promised) + len(w.titles)
		var tab struct {
			Markdown string `json:"markdown"`
		}
		h.Owner.Must("GET", "/notes/"+w.note.ID+"/tabs/"+w.note.Tabs[0].ID, nil, &tab)
		for _, marker := range w.promised {
			if n := strings.Count(tab.Markdown, marker); n != 1 {
				t.Errorf("%s was acknowledged once and is in the tab %d times", marker, n)
			}
		}
		for _, title := range w.titles {
			if made[title] != 1 {
				t.Errorf("note %s was acknowledged once and is there %d times", title, made[title])
			}
		}
	}
	for title, n := range made {
		if n > 1 {
			t.Errorf("note %s is there %d times", title, n)
		}
	}
	if acknowledged == 0 {
		t.Error("nothing was acknowledged: the test tried nothing")
	}
	t.Logf("%d writes were acknowledged", acknowledged)
	if h.Options.Path != "" {
		raw := storagetest.Raw(t, h.Options)
		var verdict string
		if err := raw.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("integrity_check says %q, %v", verdict, err)
		}
	}
}
