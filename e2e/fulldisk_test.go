package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// fullDiskVariable is set in the process that fills its disk: the limit that stands
// for a full disk is one of a whole process.
const fullDiskVariable = "OSFOUNDRY_TEST_FULL_DISK"

func TestAFullDiskStopsWritesAloneUntilThereIsRoom(t *testing.T) {
	if os.Getenv(fullDiskVariable) != "" {
		fillDisk(t)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), fullDiskVariable+"=1")
	out, err := child.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// fillDisk is the test itself.
func fillDisk(t *testing.T) {
	signal.Ignore(syscall.SIGXFSZ) // so that a write beyond the limit is an error, as on a full disk
	o := storage.Options{Path: storagetest.SQLiteFile(t)}
	h := testkit.Open(t, o)
	project := h.Owner.Project("Alpha", false)
	session, connection := h.Owner.Connect(probe.Version20251125)
	h.Owner.AddConnection(project, connection)
	spare, _ := h.Owner.Connect(probe.Version20251125)
	log := h.Owner.Note(project, "Log", "")
	w := newWire(t)

	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	limit := func(l unix.Rlimit) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	limit(unix.Rlimit{Cur: 2 << 20, Max: was.Max})
	written := fill(t, session, log)
	limit(unix.Rlimit{Cur: 0, Max: was.Max}) // no room for smaller writes either
	all := questions(w, h, session, spare, project)
	err := w.answers(all, func(a asked, r reply) bool {
		if a.writes {
			return unserved(r)
		}
		return refused(r)
	})
	if err != nil {
		t.Errorf("on a full disk: %v, want 503 with Retry-After for what writes and success for what reads", err)
	}
	limit(was)
	w.eventually(all)

	// The write that was refused is settled by its key, and nothing else was lost.
	if r := testkit.Call(t, session, "append_note_tab", line(log, written)); said(r) != "200" {
		t.Errorf("the refused write again: got %s (%s), want 200", said(r), r.Text)
	}
	var tab struct {
		Version int64 `json:"version"`
	}
	h.Owner.Must("GET", "/notes/"+log.ID+"/tabs/"+log.Tabs[0].ID, nil, &tab)
	if want := int64(written) + 2; tab.Version != want {
		t.Errorf("the tab is at version %d, want %d: one for each acknowledged write", tab.Version, want)
	}
	var verdict string
	if err := storagetest.Raw(t, o).QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check says %q, %v", verdict, err)
	}
}

// line is the i-th write of the log.
func line(log testkit.Made, i int) testkit.Object {
	return testkit.Object{"note_id": log.ID, "tab_id": log.Tabs[0].ID, "markdown": strings.Repeat("x", 500), "idempotency_key": fmt.Sprintf("disk-key-%06d", i)}
}

// fill writes until the disk is full and returns how many writes were acknowledged.
func fill(t *testing.T, s *probe.Session, log testkit.Made) int {
	t.Helper()
	const most = 5000
	for i := range most {
		r := testkit.Call(t, s, "append_note_tab", line(log, i))
		if r.Status == http.StatusServiceUnavailable {
			return i
		}
		if said(r) != "200" {
			t.Fatalf("write %d: got %s (%s), want 200, or 503 once the disk is full", i, said(r), r.Text)
		}
	}
	t.Fatalf("%d writes did not fill the disk", most)
	return most
}
