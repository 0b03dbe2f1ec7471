package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of an argument vector.
const (
	MaxArguments     = 64
	MaxArgumentBytes = 32 << 10 // of all together
)

// Program is what the operator allows to be run: a program, the arguments that it
// must begin with, and what may follow. Values may; flags may where Flags is set.
type Program struct {
	Path  string   // absolute
	Args  []string // such as exec, -p
	Flags bool
}

// ParseProgram reads a line of the operator's setting: a path and its arguments,
// parted by spaces, and * at the end for flags too.
//
//	/usr/local/bin/claude -p      claude -p, and values
//	/usr/local/bin/codex exec *   codex exec, and anything
func ParseProgram(line string) (Program, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Program{}, errors.New("a command that is allowed needs the path of its program")
	}
	p := Program{Path: words[0], Args: words[1:]}
	if last := len(p.Args) - 1; last >= 0 && p.Args[last] == "*" {
		p.Args, p.Flags = p.Args[:last], true
	}
	return p, p.check()
}

func (p Program) check() error {
	if !filepath.IsAbs(p.Path) || filepath.Clean(p.Path) != p.Path {
		return fmt.Errorf("the program %q that is allowed must be an absolute path, without . and ..", p.Path)
	}
	return nil
}

// takes reports whether the vector is one of this program's, and if so, whether all
// of its arguments are.
func (p Program) takes(argv []string) (program, arguments bool) {
	if p.Path != argv[0] {
		return false, false
	}
	given := argv[1:]
	if len(given) < len(p.Args) || !slices.Equal(given[:len(p.Args)], p.Args) {
		return true, false
	}
	flag := func(s string) bool { return strings.HasPrefix(s, "-") }
	return true, p.Flags || !slices.ContainsFunc(given[len(p.Args):], flag)
}

// Check says why an argument vector may not be run, nil if it may. The text is for
// whoever wrote the vector.
func (r *Runner) Check(argv []string) error {
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
	known := false
	for _, p := range r.allowed {
		program, arguments := p.takes(argv)
		if arguments {
			return nil
		}
		known = known || program
	}
	if known {
		return fmt.Errorf("these arguments of the program %q are not allowed on this server", argv[0])
	}
	return fmt.Errorf("the program %q is not allowed on this server", argv[0])
}
