package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	errWall   = errors.New("the time is up")
	errOutput = errors.New("too much output")
)

// afterwards is how long pipes are read once all processes were killed: what is in
// them is there already, so only a process that was not found makes this matter.
const afterwards = time.Second

// process is a program that runs.
type process struct {
	cmd        *exec.Cmd
	folder     string
	limits     Limits
	input      *os.File
	output     *os.File
	errors     *os.File
	complaints tail
	left       atomic.Int64 // bytes that may still be written
	stop       chan error   // a reason to kill it at once
}

// start starts the program. Its parent's ends of the pipes are kept, so that nobody
// has to wait for those who hold the others.
func start(argv []string, folder string, l Limits) (*process, error) {
	p := &process{cmd: command(argv, folder), folder: folder, limits: l, stop: make(chan error, 2)}
	p.left.Store(l.Output)
	var theirs []*os.File
	defer func() {
		for _, f := range theirs {
			f.Close()
		}
	}()
	pipe := func(mine **os.File, theirEnd func(*os.File), reads bool) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		if reads {
			r, w = w, r // the program reads, we write
		}
		*mine = r
		theirs = append(theirs, w)
		theirEnd(w)
		return nil
	}
	err := errors.Join(
		pipe(&p.input, func(f *os.File) { p.cmd.Stdin = f }, true),
		pipe(&p.output, func(f *os.File) { p.cmd.Stdout = f }, false),
		pipe(&p.errors, func(f *os.File) { p.cmd.Stderr = f }, false))
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	// Before the input, so that a program which reads it is limited by then.
	limit(p.cmd.Process.Pid, l)
	return p, nil
}

func (p *process) close() {
	for _, f := range []*os.File{p.input, p.output, p.errors} {
		if f != nil {
			f.Close()
		}
	}
}

// run sees the program through to its end.
func (p *process) run(ctx context.Context, input string, take func([]byte) error) (*os.ProcessState, error) {
	defer p.close()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		io.WriteString(p.input, input) // a program need not read it
		p.input.Close()
	})
	wg.Go(func() { p.read(p.errors, p.complaints.add) })
	ended := make(chan error, 1)
	wg.Go(func() { ended <- p.guard(ctx) })

	p.read(p.output, take)
	if err := <-ended; err != nil {
		return nil, err
	}
	select {
	case err := <-p.stop: // it came to the same end just before
		return nil, err
	default:
		return p.cmd.ProcessState, nil
	}
}

// read hands on what the program writes. After the first error it reads on without,
// so that the program does not hang where it writes.
func (p *process) read(from *os.File, take func([]byte) error) {
	piece := make([]byte, 32<<10)
	var failed error
	for {
		n, err := from.Read(piece)
		if failed == nil && n > 0 {
			failed = p.count(n, func() error { return take(piece[:n]) })
		}
		if err != nil {
			return
		}
	}
}

func (p *process) count(n int, take func() error) error {
	err := errOutput
	if p.left.Add(-int64(n)) >= 0 {
		err = take()
	}
	if err != nil {
		p.stop <- err
	}
	return err
}

// guard waits until the program exits, or ends it and says why. When it returns
// there is no process of the program's left, and the pipes end.
func (p *process) guard(ctx context.Context) error {
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		awaitExit(p.cmd)
	}()
	wall := time.NewTimer(p.limits.Wall)
	defer wall.Stop()
	var why error
	select {
	case <-exited:
	case why = <-p.stop:
	case <-ctx.Done():
		why = ctx.Err()
		p.askToEnd(exited)
	case <-wall.C:
		why = errWall
		p.askToEnd(exited)
	}
	p.signal(syscall.SIGKILL)
	<-exited
	killStrays(p.folder)
	p.cmd.Wait() // its error is in ProcessState
	soon := time.Now().Add(afterwards)
	p.input.SetDeadline(time.Now())
	p.output.SetDeadline(soon)
	p.errors.SetDeadline(soon)
	return why
}

// askToEnd asks the group to end by itself, and waits as long as it may take.
func (p *process) askToEnd(exited <-chan struct{}) {
	p.signal(syscall.SIGTERM)
	grace := time.NewTimer(p.limits.Grace)
	defer grace.Stop()
	select {
	case <-exited:
	case <-grace.C:
	}
}

// signal sends a signal to the group, whose number is its leader's. The leader was
// not waited for yet, so that the number is nobody else's.
func (p *process) signal(s syscall.Signal) { syscall.Kill(-p.cmd.Process.Pid, s) }

// maxComplaints is how much of the standard error is kept, in bytes.
const maxComplaints = 4 << 10

// tail keeps the end of what it is given.
type tail struct{ kept []byte }

func (t *tail) add(piece []byte) error {
	t.kept = append(t.kept, piece...)
	if extra := len(t.kept) - maxComplaints; extra > 0 {
		t.kept = append(t.kept[:0], t.kept[extra:]...)
	}
	return nil
}

func (t *tail) String() string { return string(t.kept) }
