package storage_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := storage.Open(t.Context(), storage.Options{Path: filepath.Join(dir, "osfoundry.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Write(t.Context(), func(tx access.Tx) error { return put(t.Context(), tx, "a", "1") }); err != nil {
		t.Fatal(err)
	}
	wantMode(t, dir, fs.ModeDir|0o700)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		wantMode(t, filepath.Join(dir, "osfoundry.db"+suffix), 0o600)
	}
}

func TestAnEmptyDirectoryAndAnOpenFileAreMadePrivate(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a b?c#d%41.db") // a name that is no URL
	for range 2 {
		db, err := storage.Open(t.Context(), storage.Options{Path: file})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		wantMode(t, dir, fs.ModeDir|0o700)
		wantMode(t, file, 0o600)
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func wantMode(t *testing.T, name string, want fs.FileMode) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Error(err)
		return
	}
	if info.Mode() != want {
		t.Errorf("%s has mode %v, want %v", filepath.Base(name), info.Mode(), want)
	}
}

func TestASecondUserOfTheFileIsRefused(t *testing.T) {
	file := storagetest.SQLiteFile(t)
	first, err := storage.Open(t.Context(), storage.Options{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "other.db")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link} {
		_, err := storage.Open(t.Context(), storage.Options{Path: name})
		if !errors.Is(err, storage.ErrInUse) || !strings.Contains(fmt.Sprint(err), file) || !strings.Contains(fmt.Sprint(err), fmt.Sprint(os.Getpid())) {
			t.Errorf("second open of %s: got error %v, want one that names %s and process %d", name, err, file, os.Getpid())
		}
	}
	if out, err := runChild(t, nil, "open", file); err == nil || !strings.Contains(out, "in use by another osFoundry process") {
		t.Errorf("open by another process: got error %v and output %q", err, out)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := runChild(t, nil, "open", file); err != nil {
		t.Errorf("open after the first user has gone: %v, output %q", err, out)
	}
}

func TestEveryConnectionSyncsAndChecksForeignKeys(t *testing.T) {
	db := storagetest.SQLite(t)
	pragmas := []string{"synchronous", "foreign_keys", "busy_timeout"}
	want := "[2 1 5000]"
	read := func(tx access.Tx) {
		c, _ := storage.Raw(tx)
		got := make([]int64, len(pragmas))
		for i, p := range pragmas {
			if err := c.QueryRowContext(t.Context(), "PRAGMA "+p).Scan(&got[i]); err != nil {
				t.Error(err)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("connection has %v %v, want %v", pragmas, got, want)
		}
	}
	storage.OnEachConnection(t, db, read)
	if err := db.Write(t.Context(), func(tx access.Tx) error { read(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDiskIsUnavailableUntilThereIsRoom(t *testing.T) {
	db := storagetest.SQLite(t)
	ctx := t.Context()
	write := func(name, value string) error {
		return db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, name, value) })
	}
	if err := write("a", "1"); err != nil {
		t.Fatal(err)
	}
	storage.OnWriter(t, db, "PRAGMA max_page_count = 1") // SQLite takes the present size, if that is more
	big := strings.Repeat("x", 1<<20)

	var refused, kept atomic.Int64
	var group sync.WaitGroup
	for i := range 16 {
		group.Go(func() {
			switch err := write(fmt.Sprintf("big%d", i), big); access.CodeOf(err) {
			case access.Unavailable:
				refused.Add(1)
			default:
				t.Errorf("write to a full disk: got error %v, want %s", err, access.Unavailable)
			}
		})
		group.Go(func() {
			err := write("a", fmt.Sprint(i)) // in the place of a value of the same size
			if err == nil {
				kept.Add(1)
			} else if access.CodeOf(err) != access.Unavailable {
				t.Errorf("small write beside big ones: %v", err)
			}
		})
	}
	group.Wait()
	if refused.Load() != 16 {
		t.Errorf("%d of 16 big writes were refused", refused.Load())
	}
	if kept.Load() != 16 {
		t.Errorf("%d of 16 small writes were kept; the big ones took them down", kept.Load())
	}
	if got := settings(t, db); strings.Contains(got, "big") || !strings.HasPrefix(got, "a=") {
		t.Errorf("got settings %.60q, want only a", got)
	}
	storage.OnWriter(t, db, "PRAGMA max_page_count = 1000000")
	if err := write("big", big); err != nil {
		t.Errorf("write after there is room: %v", err)
	}
}

func TestAReadOnlyDatabaseIsUnavailableForWritesOnly(t *testing.T) {
	db := storagetest.SQLite(t)
	ctx := t.Context()
	write := func() error { return db.Write(ctx, func(tx access.Tx) error { return put(ctx, tx, "a", "1") }) }
	storage.OnWriter(t, db, "PRAGMA query_only = 1")
	if err := write(); access.CodeOf(err) != access.Unavailable {
		t.Errorf("write: got error %v, want %s", err, access.Unavailable)
	}
	if got := settings(t, db); got != "" {
		t.Errorf("got settings %q, want none", got)
	}
	storage.OnWriter(t, db, "PRAGMA query_only = 0")
	if err := write(); err != nil {
		t.Errorf("write afterwards: %v", err)
	}
}

func TestAFileThatIsNoDatabaseIsRefusedAndLeftAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "osfoundry.db")
	text := strings.Repeat("not a database\n", 1000)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := storage.Open(t.Context(), storage.Options{Path: file}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got error %v, want one that names %s", err, file)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("the file was changed (%v)", err)
	}
}

func TestOpenNeedsOneDatabase(t *testing.T) {
	for _, o := range []storage.Options{{}, {Path: "a.db", DatabaseURL: "postgres://127.0.0.1/a"}} {
		if _, err := storage.Open(t.Context(), o); err == nil {
			t.Errorf("open %+v: got no error", o)
		}
	}
}
