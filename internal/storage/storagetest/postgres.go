package storagetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
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
	return server(t).Create(t)
}

// EmptyPostgresURL is the URL of a fresh PostgreSQL database without any schema.
func EmptyPostgresURL(t testing.TB) string {
	t.Helper()
	return server(t).create(t, "template0")
}

func server(t testing.TB) *Server {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("start PostgreSQL for the tests: %v", err)
	}
	return s
}

// shared starts the server of this process when the first test asks for it.
var shared = sync.OnceValues(func() (*Server, error) { return newServer(nil) })

// Server is a PostgreSQL server on a data directory of its own.
type Server struct {
	bin     string
	dir     string
	port    int
	owner   *syscall.Credential
	options []string
	process *exec.Cmd
	keeper  io.Closer
	admin   *sql.DB
	blank   func() error
}

// NewServer starts a server with options, such as "-c", "fsync=off", for a test
// that stops it or needs other settings than all the others.
func NewServer(t testing.TB, options ...string) *Server {
	t.Helper()
	s, err := newServer(options)
	if err != nil {
		t.Fatalf("start a PostgreSQL server: %v", err)
	}
	t.Cleanup(func() {
		s.Stop(t, syscall.SIGQUIT)
		if err := errors.Join(s.admin.Close(), s.keeper.Close()); err != nil {
			t.Errorf("stop the PostgreSQL server: %v", err)
		}
	})
	return s
}

// URL is the URL of the database that every server has.
func (s *Server) URL() string { return s.url("postgres") }

// Create is the URL of a fresh database with the current schema.
func (s *Server) Create(t testing.TB) string {
	t.Helper()
	if err := s.blank(); err != nil {
		t.Fatalf("make a blank PostgreSQL database: %v", err)
	}
	return s.create(t, blankName)
}

// Stop sends the signal to the server and waits for its end: SIGINT ends it in
// order, SIGQUIT and SIGKILL as a crash would.
func (s *Server) Stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := s.process.Process.Signal(signal); err != nil {
		t.Fatalf("stop the PostgreSQL server: %v", err)
	}
	_ = s.process.Wait() // says only that it was ended by a signal
}

// Standby makes the stopped server a read-only standby when it starts again.
func (s *Server) Standby(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "data", "standby.signal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.own(); err != nil {
		t.Fatal(err)
	}
}

// Start starts the stopped server again, at the same address.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.launch(); err != nil {
		t.Fatalf("start the PostgreSQL server again: %v", err)
	}
}

func newServer(options []string) (*Server, error) {
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
		s, err := run(bin, data, owner, options)
		if err == nil || try == 3 {
			return s, err
		}
	}
}

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
	const form = 2 // counts the changes of initdb's arguments below
	name := fmt.Sprintf("osfoundry-initdb-%d-%d-%s", form, os.Getuid(), strings.Join(strings.FieldsFunc(string(version), notNameable), "-"))
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
		"-E", "UTF8", "--locale=C", "--no-sync", "--wal-segsize=4")
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

// keeper waits for the end of the test process, however that comes about: then
// its standard input ends. It stops the server and removes what that wrote.
const keeper = `cat >/dev/null
cd / && if read -r server <"$1/data/postmaster.pid"; then
	kill -QUIT "$server"
	tries=0 # nobody may be there to take note of its end
	while kill -0 "$server" && [ $tries -lt 100 ]; do sleep 0.05; tries=$((tries + 1)); done
fi 2>/dev/null
rm -rf "$1"`

// run starts a server on a copy of data.
func run(bin, data string, owner *syscall.Credential, options []string) (_ *Server, err error) {
	s := &Server{bin: bin, owner: owner, options: options}
	if s.dir, err = os.MkdirTemp(roomyMemory(), "osfoundry-postgres-"); err != nil {
		return nil, err
	}
	if err := s.keep(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.keeper.Close())
		}
	}()
	if err := os.CopyFS(filepath.Join(s.dir, "data"), os.DirFS(data)); err != nil {
		return nil, err
	}
	if err := s.own(); err != nil {
		return nil, err
	}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if s.admin, err = sql.Open("pgx", s.url("postgres")); err != nil {
		return nil, err
	}
	s.admin.SetMaxOpenConns(2)
	s.blank = sync.OnceValue(s.makeBlank)
	return s, s.launch()
}

// roomyMemory is a directory in memory, where the many small syncs of fresh
// databases cost nothing, or "" for the usual place.
func roomyMemory() string {
	const dir, enough = "/dev/shm", 2 << 30 // bytes
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Bavail*uint64(fs.Bsize) < enough {
		return ""
	}
	return dir
}

// keep starts the keeper.
func (s *Server) keep() error {
	if s.owner != nil {
		if err := os.Chown(s.dir, int(s.owner.Uid), int(s.owner.Gid)); err != nil {
			return err
		}
	}
	cmd := exec.Command("/bin/sh", "-c", keeper, "sh", s.dir)
	cmd.Dir = "/"
	cmd.SysProcAttr = s.apart()
	alive, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.keeper = closeAndWait{alive, cmd}
	return nil
}

// closeAndWait lets the keeper do its work and waits for it.
type closeAndWait struct {
	io.Closer
	cmd *exec.Cmd
}

func (c closeAndWait) Close() error { return errors.Join(c.Closer.Close(), c.cmd.Wait()) }

// apart runs a process as the server's owner, where a ^C of the tests does not
// reach it.
func (s *Server) apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: s.owner, Setsid: true}
}

// launch starts the server process and waits until it answers. A server that was
// killed may need another try until the last of its processes is gone.
func (s *Server) launch() error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := s.launchOnce(deadline)
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func (s *Server) launchOnce(deadline time.Time) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300", "-c", "shared_buffers=32MB",
		"-c", "max_wal_size=256MB", "-c", "autovacuum=off", "-c", "logging_collector=off"}, s.options...)
	s.process = exec.Command(filepath.Join(s.bin, "postgres"), args...)
	s.process.Dir, s.process.SysProcAttr = s.dir, s.apart()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	for tick := time.NewTicker(10 * time.Millisecond); ; <-tick.C {
		err := s.admin.Ping()
		if err == nil {
			tick.Stop()
			return nil
		}
		if s.gone() || time.Now().After(deadline) {
			tick.Stop()
			_ = s.process.Wait()
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the server does not answer (%w); its log says:\n%s", err, said)
		}
	}
}

// gone reports whether the server process has ended, without waiting for it.
func (s *Server) gone() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// own gives all files to the server's owner.
func (s *Server) own() error {
	return filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if s.owner != nil {
			err = os.Lchown(path, int(s.owner.Uid), int(s.owner.Gid))
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

func (s *Server) url(database string) string {
	return fmt.Sprintf("postgres://osfoundry@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

func (s *Server) makeBlank() error {
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
func (s *Server) create(t testing.TB, template string) string {
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
