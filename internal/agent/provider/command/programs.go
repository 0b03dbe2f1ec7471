package command

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
)

// Limits hold a run to time and size; zero is the default of each.
type Limits struct {
	Wall   time.Duration // from start to exit; 10 min
	Grace  time.Duration // from the signal to end by itself until it is killed; 2 s
	Output int64         // bytes that it writes, answer and complaints together; 10 MiB
	File   int64         // bytes of any file that it writes, on Linux; 256 MiB
	Files  int64         // files that it opens at once, on Linux; 1,024
}

func (l Limits) withDefaults() Limits {
	if l.Wall == 0 {
		l.Wall = 10 * time.Minute
	}
	if l.Grace == 0 {
		l.Grace = 2 * time.Second
	}
	for _, n := range []struct {
		limit *int64
		value int64
	}{{&l.Output, 10 << 20}, {&l.File, 256 << 20}, {&l.Files, 1024}} {
		if *n.limit == 0 {
			*n.limit = n.value
		}
	}
	return l
}

// Limits of an argument vector.
const (
	MaxArguments     = 64
	MaxArgumentBytes = 32 << 10 // of all together
)

// Programs are those that the operator lets people run on this server. It is safe
// for parallel use, and must not be copied.
type Programs struct {
	// Allowed are their absolute paths, exactly. None: nothing is run.
	Allowed []string
	// Folder is where working folders are made: absolute, and of this server alone. It
	// is made for this user only if it is not there. "" is the system's folder of
	// temporary files.
	Folder string
	Limits Limits

	clear sync.Once
}

// Check says why an argument vector may not be run, nil if it may. The text is for
// whoever wrote the vector.
func (p *Programs) Check(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return errors.New("a command needs a program")
	}
	if len(argv) > MaxArguments {
		return fmt.Errorf("a command has at most %d words", MaxArguments)
	}
	size := 0
	for _, a := range argv {
		size += len(a)
		if strings.Contains(a, "\x00") {
			return errors.New("a command must not contain U+0000")
		}
	}
	if size > MaxArgumentBytes {
		return fmt.Errorf("a command has at most %d bytes", MaxArgumentBytes)
	}
	if path := argv[0]; !filepath.IsAbs(path) || filepath.Clean(path) != path || !slices.Contains(p.Allowed, path) {
		return fmt.Errorf("the program %q is not allowed on this server", path)
	}
	return nil
}

// folder makes a working folder. The first time it removes those that a server left
// which was killed; there is no telling whose they are in the system's folder.
func (p *Programs) folder(l Limits) (*folder, error) {
	f, err := openFolders(p.Folder)
	if err != nil {
		return nil, err
	}
	if p.Folder != "" {
		// What cannot be removed takes room, and does no harm.
		p.clear.Do(func() { f.clear(time.Now().Add(-l.Wall - time.Hour)) })
	}
	return f.make()
}

// environment is all of it.
func environment(folder string) []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LANG=C.UTF-8",
		"HOME=" + folder,
		"TMPDIR=" + folder,
	}
}

// End is how a program ended by itself.
type End struct {
	Status     int    // of its exit, -1 if a signal ended it
	Signal     string // which
	Complaints string // the last 4 KiB of its standard error
}

// Succeeded reports whether it exited with 0.
func (e End) Succeeded() bool { return e.Status == 0 }

// reason says how it failed.
func (e End) reason() string {
	how := fmt.Sprintf("exited with status %d", e.Status)
	if e.Signal != "" {
		how = "was ended by a signal, " + e.Signal
	}
	if e.Complaints == "" {
		return how + "."
	}
	return how + ": " + e.Complaints
}

// Run runs a program until it exits. Take is called with what it writes to its
// standard output, from the goroutine of Run; an error of take ends the program, and
// is what Run returns. Otherwise an error is a fault, or the context's; whichever,
// no process is left when Run returns.
func (p *Programs) Run(ctx context.Context, argv []string, input string, take func(piece []byte) error) (End, error) {
	if err := ctx.Err(); err != nil {
		return End{}, err
	}
	if err := p.Check(argv); err != nil {
		return End{}, &agent.Fault{Kind: agent.FaultRefused, Text: "The command may not be run: " + err.Error() + "."}
	}
	l := p.Limits.withDefaults()
	folder, err := p.folder(l)
	if err != nil {
		return End{}, fault(agent.FaultFailed, argv[0], "has no folder to work in.", err)
	}
	// What cannot be removed now is removed by the next server.
	defer folder.remove()

	// The program dies with the thread that started it (PR_SET_PDEATHSIG), which must
	// be there as long as it is.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	running, err := start(argv, folder.path, l)
	if err != nil {
		return End{}, unstarted(argv[0], err)
	}
	state, err := running.run(ctx, input, take)
	if err != nil {
		return End{}, l.interrupted(ctx, argv[0], err)
	}
	end := End{Status: state.ExitCode(), Complaints: readable(running.complaints.String())}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		end.Signal = status.Signal().String()
	}
	return end, nil
}

// unstarted is the fault of a program that did not begin.
func unstarted(program string, err error) error {
	for _, never := range []struct {
		cause error
		what  string
	}{
		{syscall.ENOENT, "is not there"},
		{syscall.ENOTDIR, "is not there"},
		{syscall.EACCES, "may not be run by this server"},
		{syscall.EPERM, "may not be run by this server"},
		{syscall.ENOEXEC, "is not a program"},
		{syscall.E2BIG, "has too many arguments"},
	} {
		if errors.Is(err, never.cause) {
			return fault(agent.FaultRefused, program, never.what+".", err)
		}
	}
	return fault(agent.FaultFailed, program, "could not be started.", err)
}

// interrupted says why a program was killed.
func (l Limits) interrupted(ctx context.Context, program string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errWall):
		return fault(agent.FaultSlow, program, fmt.Sprintf("did not finish in %v.", l.Wall), nil)
	case errors.Is(err, errOutput):
		return fault(agent.FaultLarge, program, fmt.Sprintf("wrote more than %d bytes.", l.Output), nil)
	}
	return err
}

// readable makes complaints fit to show: no control characters but line ends.
func readable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && !(r >= 0x80 && r < 0xa0) {
			return r
		}
		return -1
	}, answer.Clean(text))
	return strings.TrimSpace(text)
}

// command is the program before it is started.
func command(argv []string, folder string) *exec.Cmd {
	return &exec.Cmd{Path: argv[0], Args: argv, Env: environment(folder), Dir: folder, SysProcAttr: attributes()}
}
