package storagetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"

	"github.com/osfoundry/osfoundry/internal/storage"
)

// blankName is the database with the current schema that others are copies of.
const blankName = "blank"

var databases atomic.Int64

// PostgresURL is the URL of a fresh PostgreSQL database with the current schema.
// Its server runs with fsync, like one that keeps real data.
func PostgresURL(t testing.TB) string {
	t.Helper()
	s := server(t)
	if err := s.blank(); err != nil {
		t.Fatalf("make a blank PostgreSQL database: %v", err)
	}
	return s.create(t, blankName)
}

// EmptyPostgresURL is the URL of a fresh PostgreSQL database without any schema.
func EmptyPostgresURL(t testing.TB) string {
	t.Helper()
	return server(t).create(t, "template0")
}

func server(t testing.TB) *cluster {
	t.Helper()
	s, err := start()
	if err != nil {
		t.Fatalf("start PostgreSQL for the tests: %v", err)
	}
	return s
}

// cluster is a PostgreSQL server of this process.
type cluster struct {
	port  int
	admin *sql.DB
	blank func() error
}

// start starts the server when the first test asks for it.
var start = sync.OnceValues(func() (*cluster, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	owner, err := serverOwner()
	if err != nil {
		return nil, err
	}
	data, err := initialised(bin, owner)
	if err != nil {
		return nil, err
	}
	// The port is free when it is asked for; somebody may be faster.
	for try := 1; ; try++ {
		s, err := run(bin, data, owner)
		if err == nil || try == 5 {
			return s, err
		}
	}
})

// binaries is the directory of the newest PostgreSQL here.
func binaries() (string, error) {
	if initdb, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(initdb), nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", errors.New("initdb is neither in PATH nor under /usr/lib/postgresql; the tests need PostgreSQL's server programs (on Debian, apt install postgresql)")
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(strings.Split(path, "/")[4])
		return n
	}
	slices.SortFunc(found, func(a, b string) int { return version(b) - version(a) })
	return filepath.Dir(found[0]), nil
}

// serverOwner is who runs the server. PostgreSQL refuses to run as root.
func serverOwner() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no user for it: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// initialised is a data directory that each server starts as a copy of. It is
// made once for all test processes of a user, behind a lock.
func initialised(bin string, owner *syscall.Credential) (string, error) {
	version, err := exec.Command(filepath.Join(bin, "initdb"), "--version").Output()
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("osfoundry-initdb-%d-%s", os.Getuid(), strings.Join(strings.FieldsFunc(string(version), notNameable), "-"))
	base := filepath.Join(os.TempDir(), name)
	if err := ownDir(base); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(base, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	data := filepath.Join(base, "data")
	if _, err := os.Stat(data); err == nil {
		return data, nil
	}
	fresh, err := os.MkdirTemp("", "osfoundry-initdb-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	if owner != nil {
		if err := os.Chown(fresh, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", err
		}
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", filepath.Join(fresh, "data"), "-U", "osfoundry", "-A", "trust",
		"-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=1")
	initdb.Dir, initdb.SysProcAttr = fresh, &syscall.SysProcAttr{Credential: owner}
	if out, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	partial := data + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return "", err
	}
	if err := os.CopyFS(partial, os.DirFS(filepath.Join(fresh, "data"))); err != nil {
		return "", err
	}
	return data, os.Rename(partial, data)
}

func notNameable(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '.')
}

// ownDir makes a directory for this user, or accepts one that nobody else can
// have prepared.
func ownDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Getuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s is not a private directory of this user", dir)
	}
	return nil
}

// keeper runs the server for as long as its standard input is open, which is as
// long as the test process lives, and then removes what the server wrote.
const keeper = `"$1/postgres" -D "$2/data" -k "$2" -p "$3" -c listen_addresses=127.0.0.1 -c max_connections=300 \
	-c shared_buffers=32MB -c max_wal_size=256MB -c autovacuum=off -c logging_collector=off >"$2/log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
cd / && rm -rf "$2"`

// run starts a server on a copy of data.
func run(bin, data string, owner *syscall.Credential) (*cluster, error) {
	dir, err := os.MkdirTemp("", "osfoundry-postgres-")
	if err != nil {
		return nil, err
	}
	if err := copyOwned(dir, data, owner); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	port, err := freePort()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	cmd := exec.Command("/bin/sh", "-c", keeper, "sh", bin, dir, strconv.Itoa(port))
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: owner, Setsid: true} // a ^C of the tests must not end the keeper
	alive, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s := &cluster{port: port}
	if s.admin, err = sql.Open("pgx", s.url("postgres")); err == nil {
		err = s.awaitReady()
	}
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, errors.Join(fmt.Errorf("%w; its log says:\n%s", err, log), alive.Close(), cmd.Wait())
	}
	kept.Store(&alive) // never closed: the end of the process closes it
	s.admin.SetMaxOpenConns(2)
	s.blank = sync.OnceValue(s.makeBlank)
	return s, nil
}

// kept holds on to the keeper's standard input, which the garbage collector would
// close.
var kept atomic.Value

func copyOwned(dir, data string, owner *syscall.Credential) error {
	to := filepath.Join(dir, "data")
	if err := os.CopyFS(to, os.DirFS(data)); err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if owner != nil {
			err = os.Lchown(path, int(owner.Uid), int(owner.Gid))
		}
		if d.IsDir() {
			err = errors.Join(err, os.Chmod(path, 0o700))
		}
		return err
	})
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

// awaitReady asks until the server answers, at most 30 s.
func (s *cluster) awaitReady() error {
	deadline := time.Now().Add(30 * time.Second)
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		err := s.admin.Ping()
		if err == nil {
			tick.Stop()
			return nil
		}
		if time.Now().After(deadline) {
			tick.Stop()
			return fmt.Errorf("the server does not answer: %w", err)
		}
	}
}

func (s *cluster) url(database string) string {
	return fmt.Sprintf("postgres://osfoundry@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

func (s *cluster) makeBlank() error {
	if _, err := s.admin.Exec("CREATE DATABASE " + blankName + " TEMPLATE template0"); err != nil {
		return err
	}
	db, err := storage.Open(context.Background(), storage.Options{DatabaseURL: s.url(blankName)})
	if err != nil {
		return err
	}
	return db.Close()
}

// create makes a database that is dropped when the test ends.
func (s *cluster) create(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if _, err := s.admin.Exec("CREATE DATABASE " + name + " TEMPLATE " + template); err != nil {
		t.Fatalf("make a PostgreSQL database: %v", err)
	}
	t.Cleanup(func() {
		if _, err := s.admin.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop the PostgreSQL database: %v", err)
		}
	})
	return s.url(name)
}

