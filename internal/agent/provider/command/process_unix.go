//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

// attributes put the program in a group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// limit sets none: there is no way to limit another process.
func limit(int, Limits) {}

// awaitExit waits for the program. Its group is signalled right afterwards.
func awaitExit(cmd *exec.Cmd) { cmd.Wait() }

// killStrays kills nothing: there is no way to find them.
func killStrays(string) {}
