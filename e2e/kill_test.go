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
	dropped     = 0.2             // of the answers are lost
	startLimit  = 5 * time.Second // from kill to serving again
)

// process is the built program, which a test kills.
type process struct {
	t      *testing.T
	binary string
	args   []string
	base   string
	cmd    *exec.Cmd
}

// built is the program, which all tests share.
var built struct {
	once   sync.Once
	folder string
	err    error
}

// build makes the program when the first test asks for it.
func build(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.folder, built.err = os.MkdirTemp("", "osfoundry-e2e-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", built.folder, "../cmd/osfoundry").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatalf("build: %v", built.err)
	}
	return filepath.Join(built.folder, "osfoundry")
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.folder != "" {
		_ = os.RemoveAll(built.folder)
	}
	os.Exit(code)
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

// writer is one client. Its record says what it was promised. It appends lines to
// one tab, counts up the first line of another by edits, and makes notes.
type writer struct {
	session *probe.Session
	random  *rand.Rand
	project string
	number  int
	next    int

	log      testkit.Made
	promised []string // lines that the server said are in the log
	counter  testkit.Made
	count    int      // edits that the server said it made
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
	key := fmt.Sprintf("kill-%d-%08d", w.number, w.next)
	switch w.next % 5 {
	case 0:
		err := w.insist(ctx, "create_note", testkit.Object{
			"project_id": w.project, "title": marker, "tabs": []testkit.Object{{"title": "T", "markdown": marker}}, "idempotency_key": key,
		})
		if err == nil {
			w.titles = append(w.titles, marker)
		}
		return err
	case 1, 2: // an edit that is done twice finds its text gone, and its version too
		err := w.insist(ctx, "edit_note_tab", testkit.Object{
			"note_id": w.counter.ID, "tab_id": w.counter.Tabs[0].ID, "expected_version": w.count + 1, "idempotency_key": key,
			"edits": []testkit.Object{{"find": counted(w.count), "replace": counted(w.count + 1)}},
		})
		if err == nil {
			w.count++
		}
		return err
	}
	err := w.insist(ctx, "append_note_tab", testkit.Object{
		"note_id": w.log.ID, "tab_id": w.log.Tabs[0].ID, "markdown": marker, "idempotency_key": key,
	})
	if err == nil {
		w.promised = append(w.promised, marker)
	}
	return err
}

// counted is the text of a counter.
func counted(n int) string { return fmt.Sprintf("count %d.", n) }

// insist repeats a call under its key until it is answered.
func (w *writer) insist(ctx context.Context, tool string, arguments testkit.Object) error {
	for {
		err := w.try(ctx, tool, arguments)
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if !errors.Is(err, errDropped) && !down(err) {
			return fmt.Errorf("%s %v: %w", tool, arguments["idempotency_key"], err)
		}
		if down(err) {
			wait(2 * time.Millisecond) // leave the processor to the server that starts
		}
	}
}

// try makes one call. A part of the answers is lost: half of these because the
// client hangs up before there is one, half on their way.
func (w *writer) try(ctx context.Context, tool string, arguments testkit.Object) error {
	lost := w.random.Float64()
	if lost < dropped/2 {
		impatient, hangUp := context.WithTimeout(ctx, time.Duration(w.random.Int64N(int64(4*time.Millisecond))))
		defer hangUp()
		ctx = impatient
	}
	r, err := w.session.Call(ctx, tool, arguments)
	if lost < dropped/2 && err != nil {
		return errDropped
	}
	if err != nil {
		return err
	}
	if lost < dropped || r.Status == http.StatusServiceUnavailable {
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
		cycles := 15
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
			killed := time.Now()
			p.start(false)
			if took := time.Since(killed); took > startLimit {
				t.Errorf("serving again took %v, want at most %v", took, startLimit)
			}
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

// wait lets time pass: here the moment of a crash is what is tested.
func wait(d time.Duration) { <-time.After(d) }

func makeWriters(t *testing.T, h *testkit.House, seed uint64) []*writer {
	t.Helper()
	project := h.Owner.Project("Alpha", false)
	var all []*writer
	for i := range killClients {
		session, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		all = append(all, &writer{
			session: session, number: i, project: project,
			log: h.Owner.Note(project, fmt.Sprintf("Log %d", i), ""), counter: h.Owner.Note(project, fmt.Sprintf("Counter %d", i), counted(0)),
			random: rand.New(rand.NewPCG(seed, uint64(i)+1)),
		})
	}
	return all
}

// check compares the database, read beside the server, with the clients' records.
func check(t *testing.T, h *testkit.House, writers []*writer) {
	t.Helper()
	raw := storagetest.Raw(t, h.Options)
	count := func(query string, args ...any) (n int) {
		t.Helper()
		if err := raw.QueryRow(query, args...).Scan(&n); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return n
	}
	acknowledged := 0
	for _, w := range writers {
		acknowledged += len(w.promised) + len(w.titles) + w.count
		var log, counter string
		const text = "SELECT markdown FROM note_tabs WHERE id = $1"
		if err := errors.Join(raw.QueryRow(text, w.log.Tabs[0].ID).Scan(&log), raw.QueryRow(text, w.counter.Tabs[0].ID).Scan(&counter)); err != nil {
			t.Fatal(err)
		}
		for _, marker := range w.promised {
			if n := strings.Count(log, marker); n != 1 {
				t.Errorf("%s was acknowledged once and is in the log %d times", marker, n)
			}
		}
		if counter != counted(w.count) && counter != counted(w.count+1) { // the last edit may be without its answer
			t.Errorf("%d edits were acknowledged and the counter says %q", w.count, counter)
		}
		for _, title := range w.titles {
			if n := count("SELECT count(*) FROM notes WHERE title = $1", title); n != 1 {
				t.Errorf("note %s was acknowledged once and is there %d times", title, n)
			}
		}
	}
	if acknowledged == 0 {
		t.Error("nothing was acknowledged: the test tried nothing")
	}
	t.Logf("%d writes were acknowledged", acknowledged)
	for what, query := range map[string]string{
		"titles twice":                  "SELECT count(*) FROM (SELECT title FROM notes GROUP BY title HAVING count(*) > 1) AS twice",
		"tabs without their version":    "SELECT count(*) FROM note_tabs t WHERE NOT EXISTS (SELECT 1 FROM note_tab_versions v WHERE v.tab_id = t.id AND v.version = t.version AND v.markdown = t.markdown)",
		"versions that are missing":     "SELECT count(*) FROM note_tabs t WHERE t.version <> (SELECT count(*) FROM note_tab_versions v WHERE v.tab_id = t.id)",
		"notes without an event":        "SELECT count(*) FROM notes n WHERE NOT EXISTS (SELECT 1 FROM events e WHERE e.resource_id = n.id AND e.type = 'note.created')",
		"kept answers without an audit": "SELECT count(*) FROM (SELECT k.scope, count(*) AS kept FROM idempotency_keys k GROUP BY k.scope) AS s WHERE s.kept > (SELECT count(*) FROM audit a WHERE a.connection_id = s.scope AND a.decision = 'allowed')",
	} {
		if n := count(query); n != 0 {
			t.Errorf("%s: %d, want 0", what, n)
		}
	}
	if h.Options.Path == "" {
		return
	}
	if n := count("SELECT count(*) FROM pragma_foreign_key_check"); n != 0 {
		t.Errorf("%d rows point at nothing", n)
	}
	var verdict string
	if err := raw.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check says %q, %v", verdict, err)
	}
}
