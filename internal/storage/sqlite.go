package storage

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
	sqlite3 "modernc.org/sqlite"
)

const (
	// lockWait is how long a unit of work waits for another one before it gives
	// up with Unavailable (security.md TH36).
	lockWait = 5_000 // milliseconds

	// pageCache is the most pages of the file that one connection keeps, in KiB. It
	// is filled by use only. With SQLite's own 2,000 a check among a million notes
	// reads the file at every call.
	pageCache = 32_000

	// sqliteFloor is the first SQLite without the WAL-reset bug, which could lose
	// committed transactions.
	sqliteFloor = "3.51.3"
)

// mapped is how much of the file readers look at in place, in bytes. A commit makes
// them drop the pages they copied, so that with a writer at work they would copy
// the same ones again and again. The writer copies: what it reads it may change.
const mapped = 1 << 30

// openSQLite opens the file for one writer and a few readers.
func openSQLite(ctx context.Context, o Options) (*DB, error) {
	file, lock, err := claim(o.Path)
	if err != nil {
		return nil, err
	}
	db := &DB{dialect: sqlite, path: file, lock: lock}
	writer, err := sqlitePool(file, true)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	writer.SetMaxOpenConns(1)
	db.writer = &writerQueue{db: writer}
	if err := writer.PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", file, err), db.Close())
	}
	readers, err := sqlitePool(file, false)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	n := cmp.Or(o.Readers, 2*runtime.GOMAXPROCS(0))
	readers.SetMaxOpenConns(n)
	readers.SetMaxIdleConns(n)
	db.readers, db.free = readers, make(chan struct{}, n)
	return db, nil
}

// claim makes the file private and this process its only user. The claim ends
// with the process, however it ends.
func claim(name string) (file string, lock *os.File, err error) {
	file, err = filepath.Abs(name)
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Dir(file)
	if err := privateDir(dir); err != nil {
		return "", nil, err
	}
	// Two names of one file must meet in one lock.
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	file = filepath.Join(dir, filepath.Base(file))
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	lock, err = os.OpenFile(file+".lock", os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", nil, err
	}
	if err := takeLock(lock, file); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	if err := privateFile(file); err != nil {
		return "", nil, errors.Join(err, lock.Close())
	}
	return file, lock, nil
}

func takeLock(lock *os.File, file string) error {
	err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		holder := make([]byte, 20)
		n, _ := lock.ReadAt(holder, 0)
		return fmt.Errorf("%w: %s (process %s)", ErrInUse, file, cmp.Or(strings.TrimSpace(string(holder[:n])), "unknown"))
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	// Who holds the lock is for the message above only: a full disk is no reason
	// not to start.
	if lock.Truncate(0) == nil {
		_, _ = lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return nil
}

// privateDir makes the directory, or makes an empty one private. One that holds
// other things belongs to somebody; there the modes of the files protect.
func privateDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return nil
	}
	return os.Chmod(dir, 0o700)
}

// privateFile makes the file with mode 0600, or gives it that mode. SQLite gives
// its log and its index the mode of the database.
func privateFile(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%s cannot be written: %w", file, err)
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// sqlitePool makes a pool of connections to the file.
func sqlitePool(file string, writable bool) (*sql.DB, error) {
	q := url.Values{"_error_rc": {"1"}, "_dqs": {"0"}}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", lockWait))
	if writable {
		q.Set("mode", "rw")
		q.Add("_pragma", "journal_mode(WAL)")
	} else {
		q.Set("mode", "ro")
		q.Add("_pragma", "query_only(1)")
		q.Add("_pragma", fmt.Sprintf("mmap_size(%d)", mapped))
	}
	q.Add("_pragma", fmt.Sprintf("cache_size(-%d)", pageCache))
	q.Add("_pragma", "synchronous(FULL)")
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "journal_size_limit(67108864)") // bytes that the log keeps after a burst
	q.Add("_pragma", "trusted_schema(0)")
	base, err := sqlite3.NewConnector("file:" + (&url.URL{Path: file}).EscapedPath() + "?" + q.Encode())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(sqliteConnector{base, acceptSQLite}), nil
}

// acceptSQLite asserts on a new connection what durability rests on: a setting
// that was misspelt or ignored would be noticed by nobody else until the power
// fails.
func acceptSQLite(ctx context.Context, c *sqliteConn) error {
	version, err := c.one(ctx, "SELECT sqlite_version()")
	if err != nil {
		return err
	}
	if got, _ := version.(string); !versionAtLeast(got, sqliteFloor) {
		return fmt.Errorf("SQLite %v can lose committed data; %s or newer is needed", version, sqliteFloor)
	}
	for _, want := range []struct {
		pragma string
		value  any
	}{
		{"journal_mode", "wal"},
		{"synchronous", int64(2)}, // FULL: fsync before a commit is acknowledged
		{"foreign_keys", int64(1)},
		{"busy_timeout", int64(lockWait)},
	} {
		got, err := c.one(ctx, "PRAGMA "+want.pragma)
		if err != nil {
			return err
		}
		if got != want.value {
			return fmt.Errorf("SQLite has %s %v where %v is needed", want.pragma, got, want.value)
		}
	}
	return nil
}

// versionAtLeast compares versions of three numbers.
func versionAtLeast(got, floor string) bool {
	g, f := strings.Split(got, "."), strings.Split(floor, ".")
	for i := range f {
		if i >= len(g) {
			return false
		}
		a, errA := strconv.Atoi(g[i])
		b, errB := strconv.Atoi(f[i])
		if errA != nil || errB != nil {
			return false
		}
		if a != b {
			return a > b
		}
	}
	return true
}
