package storage_test

import (
	"context"
	"database/sql"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

func eachEmpty(t *testing.T, f func(t *testing.T, o storage.Options)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, storage.Options{Path: filepath.Join(t.TempDir(), "osfoundry.db")}) })
	t.Run("postgres", func(t *testing.T) { f(t, storage.Options{DatabaseURL: storagetest.EmptyPostgresURL(t)}) })
}

func TestMigrateBringsAnEmptyDatabaseUpToDate(t *testing.T) {
	eachEmpty(t, func(t *testing.T, o storage.Options) {
		have, want, err := storage.Version(t.Context(), o)
		if err != nil || have != 0 || want == 0 {
			t.Fatalf("version before: got %d, %d, %v", have, want, err)
		}
		from, to, err := storage.Migrate(t.Context(), o)
		if err != nil || from != 0 || to != want {
			t.Fatalf("migrate: got %d to %d, %v, want 0 to %d", from, to, err, want)
		}
		if from, to, err = storage.Migrate(t.Context(), o); err != nil || from != want || to != want {
			t.Fatalf("migrate again: got %d to %d, %v, want %d to %d", from, to, err, want, want)
		}
	})
}

func TestANewerSchemaIsRefused(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		raw := storagetest.Raw(t, o)
		if _, err := raw.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9000, TRUE)`); err != nil {
			t.Fatal(err)
		}
		if _, err := storage.Open(t.Context(), o); !errors.Is(err, storage.ErrNewer) || !strings.Contains(err.Error(), "9000") {
			t.Errorf("open: got error %v, want %v", err, storage.ErrNewer)
		}
		if _, _, err := storage.Migrate(t.Context(), o); !errors.Is(err, storage.ErrNewer) {
			t.Errorf("migrate: got error %v, want %v", err, storage.ErrNewer)
		}
	})
}

func TestNodesThatStartTogetherMigrateOnce(t *testing.T) {
	o := storage.Options{DatabaseURL: storagetest.EmptyPostgresURL(t)}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			db, err := storage.Open(t.Context(), o)
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func migrateChild(args []string) error {
	o := storage.Options{Path: args[0]}
	if strings.HasPrefix(args[0], "postgres:") {
		o = storage.Options{DatabaseURL: args[0]}
	}
	_, _, err := storage.Migrate(context.Background(), o)
	return err
}

// tables counts the tables of the schema.
func tables(t *testing.T, db *sql.DB, o storage.Options) (n int) {
	t.Helper()
	query := `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`
	if o.DatabaseURL != "" {
		query = `SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%'`
	}
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A migration that is killed leaves the schema of one version or of another: the
// number of tables that belongs to the version it says it has.
func TestAKilledMigrationLeavesOldOrNew(t *testing.T) {
	eachEmpty(t, func(t *testing.T, o storage.Options) {
		whole := map[int64]int{0: 0}
		for round := range 25 {
			o := o
			if o.Path != "" {
				o.Path = filepath.Join(t.TempDir(), "osfoundry.db")
			} else {
				o.DatabaseURL = storagetest.EmptyPostgresURL(t)
			}
			killMigration(t, o, time.Duration(round)*2*time.Millisecond)
			have, want, err := storage.Version(t.Context(), o)
			if err != nil {
				t.Fatalf("round %d: version after the kill: %v", round, err)
			}
			raw := storagetest.Raw(t, o)
			got := tables(t, raw, o)
			if n, known := whole[have]; known && n != got {
				t.Errorf("round %d: version %d with %d tables, earlier with %d", round, have, got, n)
			}
			whole[have] = got
			raw.Close()
			if _, to, err := storage.Migrate(t.Context(), o); err != nil || to != want {
				t.Errorf("round %d: migrate after the kill: got version %d, %v, want %d", round, to, err, want)
			}
		}
	})
}

func killMigration(t *testing.T, o storage.Options, after time.Duration) {
	t.Helper()
	self := exec.Command("/proc/self/exe", o.Path+o.DatabaseURL)
	self.Env = append(self.Environ(), childEnv+"=migrate")
	if err := self.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = self.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	_ = self.Wait()
}
