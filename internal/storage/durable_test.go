package storage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// childEnv makes the test program be one of children instead.
const childEnv = "OSFOUNDRY_STORAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if err := children[name](os.Args[1:]); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// children are what tests do in a process of its own.
var children = map[string]func(args []string) error{
	"open":    openChild,
	"write":   writeChild,
	"full":    fullChild,
	"migrate": migrateChild,
}

// runChild runs a child under the command in front, if any.
func runChild(t *testing.T, front []string, name string, args ...string) (output string, err error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	line := append(append(front[:len(front):len(front)], self), args...)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func openChild(args []string) error {
	db, err := storage.Open(context.Background(), storage.Options{Path: args[0]})
	if err != nil {
		return err
	}
	return db.Close()
}

// writeChild makes writes one after the other in each of several goroutines, and
// ends without closing the database, whose close would sync as well.
func writeChild(args []string) error {
	ctx := context.Background()
	db, err := storage.Open(ctx, storage.Options{Path: args[0]})
	if err != nil {
		return err
	}
	writers, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	each, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	failures := make(chan error, writers)
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, fmt.Sprintf("%d.%d", w, i), "x") })
				if err != nil {
					failures <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failures)
	return <-failures
}

// syncs counts the calls of fsync and fdatasync that a child makes.
func syncs(t *testing.T, name string, args ...string) int {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Fatal("this test counts system calls with strace; please install it")
	}
	log := filepath.Join(t.TempDir(), "strace")
	if out, err := runChild(t, []string{strace, "-f", "-qq", "-e", "trace=fsync,fdatasync", "-o", log}, name, args...); err != nil {
		t.Fatalf("child %s under strace: %v\n%s", name, err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "sync(") && !strings.Contains(line, "resumed") {
			n++
		}
	}
	return n
}

// A kill cannot show a missing sync, because the system keeps what was written;
// only the power cut does. So the calls themselves are counted.
func TestEachAcknowledgedWriteIsSynced(t *testing.T) {
	idle := syncs(t, "write", storagetest.SQLiteFile(t), "1", "0")
	const writes = 50
	if got := syncs(t, "write", storagetest.SQLiteFile(t), "1", strconv.Itoa(writes)) - idle; got < writes {
		t.Errorf("got %d syncs for %d acknowledged writes, want one each", got, writes)
	}
}

func TestWritesThatComeTogetherShareASync(t *testing.T) {
	const writers, each = 16, 25
	got := syncs(t, "write", storagetest.SQLiteFile(t), strconv.Itoa(writers), strconv.Itoa(each))
	if most := writers * each / 2; got > most {
		t.Errorf("got %d syncs for %d writes of %d writers, want at most %d", got, writers*each, writers, most)
	}
	if least := each; got < least {
		t.Errorf("got %d syncs for %d writes one after the other, want at least %d", got, each, least)
	}
}

// fullChild fills the disk, as far as a limit on file size is one, and makes room
// again.
func fullChild(args []string) error {
	ctx := context.Background()
	signal.Ignore(syscall.SIGXFSZ)
	db, err := storage.Open(ctx, storage.Options{Path: args[0]})
	if err != nil {
		return err
	}
	write := func(i int, size int) error {
		return db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, fmt.Sprintf("%04d", i), strings.Repeat("x", size)) })
	}
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 20, Max: was.Max}); err != nil {
		return err
	}
	kept := 0
	for err == nil && kept < 1000 {
		if err = write(kept, 10_000); err == nil {
			kept++
		}
	}
	if access.CodeOf(err) != access.Unavailable {
		return fmt.Errorf("write %d on a full disk: got error %w, want %s", kept, err, access.Unavailable)
	}
	if err := counts(ctx, db, kept); err != nil {
		return fmt.Errorf("while the disk is full: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
		return err
	}
	if err := write(kept, 10_000); err != nil {
		return fmt.Errorf("after there is room: %w", err)
	}
	return errors.Join(counts(ctx, db, kept+1), db.Close())
}

func counts(ctx context.Context, db *storage.DB, want int) error {
	var got int
	err := db.ReadOne(ctx, func(tx access.Tx) error {
		c, _ := storage.Raw(tx)
		return c.QueryRowContext(ctx, `SELECT COUNT(*) FROM settings`).Scan(&got)
	})
	if err == nil && got != want {
		err = fmt.Errorf("got %d settings, want the %d that were acknowledged", got, want)
	}
	return err
}

func TestAFailingDiskLosesNothingAndRecovers(t *testing.T) {
	file := storagetest.SQLiteFile(t)
	if out, err := runChild(t, nil, "full", file); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
