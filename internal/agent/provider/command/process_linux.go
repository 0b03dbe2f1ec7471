package command

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put the program in a group of its own, and let it die with us.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// limit sets the limits that the kernel keeps, on the program and what it starts
// from now on. Those of memory and of the number of processes are left alone: agents
// that run on JavaScript reserve more than they use, and the other is of the user.
func limit(pid int, l Limits) {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_CORE:   0,
		unix.RLIMIT_FSIZE:  uint64(l.File),
		unix.RLIMIT_NOFILE: uint64(l.Files),
		unix.RLIMIT_CPU:    uint64(l.Wall.Seconds()) + 1, // of each process
	} {
		// It fails if the program ended already, or if we have less ourselves.
		_ = unix.Prlimit(pid, resource, &unix.Rlimit{Cur: most, Max: most}, nil)
	}
}

// awaitExit waits until the program exited, and leaves it to be waited for.
func awaitExit(cmd *exec.Cmd) {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// killStrays kills processes that left the program's group but still have its folder
// as home or are in it, until there are no new ones.
func killStrays(folder string) {
	killed := map[int]bool{}
	for before := -1; before < len(killed); {
		before = len(killed)
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err == nil && !killed[pid] && kill(pid, folder) {
				killed[pid] = true
			}
		}
	}
}

// kill kills the process if it is of the folder. It is judged after it is held by a
// descriptor, so that its number cannot become another's in between.
func kill(pid int, folder string) bool {
	if !lives(pid, folder) {
		return false
	}
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return lives(pid, folder) && unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
}

// lives reports whether the process has the folder as home, or is in it.
func lives(pid int, folder string) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // those of others cannot be read, nor be ours
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if string(variable) == "HOME="+folder {
			return true
		}
	}
	at, err := os.Readlink(filepath.Join(dir, "cwd"))
	return err == nil && (at == folder || strings.HasPrefix(at, folder+"/"))
}
