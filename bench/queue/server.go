package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// server is a fresh osFoundry, as its own process.
type server struct {
	process *exec.Cmd
	secret  string // of its setup URL
	mcp     string // its MCP URL
}

// origin is what its MCP URL begins with.
func (s *server) origin() string { return strings.TrimSuffix(s.mcp, "/mcp") }

// start starts the binary on a core of its own, as the benchmark of calls does,
// and waits until it says where it listens.
func start(ctx context.Context, binary string, core string, where []string) (*server, error) {
	arguments := append([]string{"-c", core, binary, "serve", "--listen", "127.0.0.1:0", "--rate-limits", "off", "--queued-tasks", "1000000", "--log-level", "error"}, where...)
	s := &server{process: exec.CommandContext(ctx, "taskset", arguments...)}
	s.process.Stderr = os.Stderr
	s.process.Cancel = func() error { return s.process.Process.Signal(os.Interrupt) }
	s.process.WaitDelay = 20 * time.Second
	out, err := s.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	lines := bufio.NewScanner(out)
	for s.secret == "" && lines.Scan() {
		if at, ok := strings.CutPrefix(lines.Text(), "MCP URL: "); ok {
			s.mcp = at
		}
		if at, ok := strings.CutPrefix(lines.Text(), "Setup URL: "); ok {
			if s.secret, err = secretIn(at); err != nil {
				return nil, errors.Join(err, s.stop())
			}
		}
	}
	if s.secret == "" || s.mcp == "" {
		return nil, errors.Join(errors.New("the server did not print its setup URL and its MCP URL"), s.stop())
	}
	return s, nil
}

func secretIn(setup string) (string, error) {
	u, err := url.Parse(setup)
	if err != nil {
		return "", fmt.Errorf("read the setup URL: %w", err)
	}
	return u.Query().Get("secret"), nil
}

// stop asks the server to end, and waits for it.
func (s *server) stop() error {
	if err := s.process.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return s.process.Wait()
}
