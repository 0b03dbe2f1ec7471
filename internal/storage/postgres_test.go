package storage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

func TestPostgresThatCouldLoseWritesIsRefused(t *testing.T) {
	url := storagetest.PostgresURL(t)
	noSync := storagetest.NewServer(t, "-c", "fsync=off").URL()
	tests := []struct{ name, url, says string }{
		{"fsync off", noSync, "fsync is off"},
		{"synchronous_commit off", url + "&synchronous_commit=off", "synchronous_commit is off"},
		{"synchronous_commit local", url + "&synchronous_commit=local", "synchronous_commit is local"},
		{"synchronous_commit remote_write", url + "&synchronous_commit=remote_write", "synchronous_commit is remote_write"},
		{"synchronous_commit off in options", url + "&options=-csynchronous_commit%3Doff", "synchronous_commit is off"},
		{"read only", url + "&default_transaction_read_only=on", "default_transaction_read_only"},
	}
	for _, test := range tests {
		_, err := storage.Open(t.Context(), storage.Options{DatabaseURL: test.url})
		if !errors.Is(err, storage.ErrUnsafe) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got error %v, want %q", test.name, err, test.says)
		}
	}
	db, err := storage.Open(t.Context(), storage.Options{DatabaseURL: url + "&synchronous_commit=remote_apply"})
	if err != nil {
		t.Fatalf("synchronous_commit remote_apply: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestAStandbyIsRefused(t *testing.T) {
	server := storagetest.NewServer(t)
	server.Stop(t, syscall.SIGINT)
	server.Standby(t)
	server.Start(t)
	if _, err := storage.Open(t.Context(), storage.Options{DatabaseURL: server.URL()}); !errors.Is(err, storage.ErrUnsafe) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("got error %v, want one that says standby", err)
	}
}

func TestSimpleProtocolIsNeverUsed(t *testing.T) {
	for _, mode := range []string{"simple_protocol", "exec"} {
		db, err := storage.Open(t.Context(), storage.Options{DatabaseURL: storagetest.PostgresURL(t) + "&default_query_exec_mode=" + mode})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		err = db.ReadOne(t.Context(), func(tx access.Tx) error {
			c, _ := storage.Raw(tx)
			var n int
			// Only a statement that the server prepared is in this view.
			return c.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE '%' || $1::text || '%' HAVING COUNT(*) > 0`,
				"pg_prepared_statements").Scan(&n)
		})
		if err != nil {
			t.Errorf("%s: the statement was not prepared: %v", mode, err)
		}
	}
}

func TestALostConnectionIsUnavailableOnce(t *testing.T) {
	db := storagetest.Postgres(t)
	ctx := t.Context()
	kill := func(tx access.Tx) error {
		c, _ := storage.Raw(tx)
		_, err := c.ExecContext(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	}
	for name, run := range map[string]func(context.Context, func(access.Tx) error) error{"Read": db.Read, "ReadOne": db.ReadOne, "Write": db.Write} {
		if err := run(ctx, kill); access.CodeOf(err) != access.Unavailable {
			t.Errorf("%s: got error %v, want %s", name, err, access.Unavailable)
		}
		if err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, "a", name) }); err != nil {
			t.Errorf("write after the loss in %s: %v", name, err)
		}
	}
}

// A server that goes down and comes back is Unavailable meanwhile; what was
// acknowledged is there afterwards, and nothing that was refused as bad was kept.
func TestPostgresCanRestart(t *testing.T) {
	server := storagetest.NewServer(t)
	db, err := storage.Open(t.Context(), storage.Options{DatabaseURL: server.Create(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGKILL} {
		acknowledged := writeUntil(t, db, signal.String(), func() {
			server.Stop(t, signal)
			if _, err := read(t.Context(), db, "a"); access.CodeOf(err) != access.Unavailable {
				t.Errorf("%s: read while the server is down: got error %v, want %s", signal, err, access.Unavailable)
			}
			server.Start(t)
		})
		for _, name := range acknowledged {
			if value, err := read(t.Context(), db, name); err != nil || value != "x" {
				t.Errorf("%s: acknowledged write %s: got %q, %v", signal, name, value, err)
			}
		}
		if len(acknowledged) == 0 {
			t.Errorf("%s: no write was acknowledged", signal)
		}
	}
}

func read(ctx context.Context, db *storage.DB, name string) (value string, err error) {
	err = db.ReadOne(ctx, func(tx access.Tx) error {
		value, _, err = storage.Settings{}.Setting(ctx, tx, name)
		return err
	})
	return value, err
}

// writeUntil writes in four goroutines while disturb runs and until each of them
// has succeeded once more, and returns what was acknowledged.
func writeUntil(t *testing.T, db *storage.DB, prefix string, disturb func()) (acknowledged []string) {
	t.Helper()
	var mu sync.Mutex
	var group sync.WaitGroup
	over := make(chan struct{})
	deadline := time.Now().Add(30 * time.Second)
	for w := range 4 {
		group.Go(func() {
			for i := 0; ; i++ {
				last := false
				select {
				case <-over:
					last = true
				default:
				}
				name := fmt.Sprintf("%s %d.%d", prefix, w, i)
				err := db.Write(t.Context(), func(tx access.Tx) error { return put(t.Context(), tx, name, "x") })
				if err != nil && access.CodeOf(err) != access.Unavailable {
					t.Errorf("write: got error %v, want %s", err, access.Unavailable)
				}
				if err == nil {
					mu.Lock()
					acknowledged = append(acknowledged, name)
					mu.Unlock()
				}
				if last && err == nil {
					return
				}
				if time.Now().After(deadline) {
					t.Errorf("no write succeeds after the server is back: %v", err)
					return
				}
			}
		})
	}
	disturb()
	close(over)
	group.Wait()
	return acknowledged
}

func TestDeadlocksAreTriedAgain(t *testing.T) {
	db := storagetest.Postgres(t)
	ctx := t.Context()
	for _, name := range []string{"a", "b"} {
		if err := db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, name, "0") }); err != nil {
			t.Fatal(err)
		}
	}
	// Both hold one row before either asks for the other's.
	var both sync.WaitGroup
	both.Add(2)
	var runs [2]int
	var group sync.WaitGroup
	for i, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		group.Go(func() {
			err := db.Write(ctx, func(tx access.Tx) error {
				if err := put(ctx, tx, order[0], "1"); err != nil {
					return err
				}
				if runs[i]++; runs[i] == 1 {
					both.Done()
					both.Wait()
				}
				return put(ctx, tx, order[1], "1")
			})
			if err != nil {
				t.Errorf("got error %v, want the loser of the deadlock to be run again", err)
			}
		})
	}
	group.Wait()
	if runs[0]+runs[1] < 3 {
		t.Errorf("got runs %v, want one more than two: there was no deadlock", runs)
	}
}

func TestALockIsAwaitedForFiveSeconds(t *testing.T) {
	o := storage.Options{DatabaseURL: storagetest.PostgresURL(t)}
	db, err := storage.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := storagetest.Raw(t, o).Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback() }()
	if _, err := other.Exec(`LOCK TABLE settings IN EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	err = db.Write(t.Context(), func(tx access.Tx) error { return put(t.Context(), tx, "a", "1") })
	if took := time.Since(began); access.CodeOf(err) != access.Unavailable || took < 4*time.Second || took > 8*time.Second {
		t.Errorf("got error %v after %v, want %s after 5 s", err, took, access.Unavailable)
	}
}
