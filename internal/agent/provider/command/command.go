// Package command takes turns by running a program on this machine: a command-line
// agent, or any script. It owns what such a program is given and how it is
// contained; which programs there are is the operator's to say, and what their
// answers mean is package agent's.
//
// A program is started from its absolute path, without a shell, as the leader of a
// process group. It gets the prompt on its standard input, an environment that is
// empty but for what is listed at environment, and a folder of its own that
// is removed afterwards. What it writes to its standard output is the answer. Its
// group is killed when it exits, when it writes more than it may, and, after a
// signal to end by itself, when its time is up or nobody waits any more.
//
// It is not a sandbox: a program can read what this user can, and reach the network.
// On Linux it dies with this process, and processes that left its group are found
// by their folder; one that hides from that needs a container around the server.
package command

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
)

// Provider is one program with its arguments. No text of a turn becomes an argument,
// so that none can be taken for a flag.
type Provider struct {
	programs *Programs
	argv     []string
}

var (
	_ agent.Provider  = (*Provider)(nil)
	_ agent.Condition = (*Programs)(nil)
)

// New makes a provider of an argument vector that the operator allows.
func New(p *Programs, argv []string) (*Provider, error) {
	if err := p.Check(argv); err != nil {
		return nil, err
	}
	return &Provider{programs: p, argv: slices.Clone(argv)}, nil
}

// External reports that a program may do anything.
func (p *Provider) External() bool { return true }

// Take runs the program. Its answer never calls tools, and counts no tokens.
func (p *Provider) Take(ctx context.Context, t agent.Turn, say func(text string)) (agent.Reply, error) {
	a := answer.New(t, answer.Limits{Bytes: p.programs.Limits.withDefaults().Output}, say)
	end, err := p.programs.Run(ctx, p.argv, Prompt(t), func(piece []byte) error { return a.Say(string(piece)) })
	if err != nil {
		return agent.Reply{}, err
	}
	if !end.Succeeded() {
		return agent.Reply{}, fault(agent.FaultFailed, p.argv[0], end.reason(), nil)
	}
	reply := a.Reply()
	reply.Model = answer.ModelName(filepath.Base(p.argv[0]))
	return reply, nil
}

// Done runs a command that decides whether a loop is over: it is if the command
// exits with 0. Input is what it gets on its standard input. Reason says why it is
// not over, in the command's own words if it had some. The error is a fault, as of
// Provider.Take, or the context's: nothing was decided.
func (p *Programs) Done(ctx context.Context, argv []string, input string) (done bool, reason string, err error) {
	end, err := p.Run(ctx, argv, input, func([]byte) error { return nil })
	if err != nil {
		return false, "", err
	}
	if end.Succeeded() {
		return true, "", nil
	}
	return false, end.reason(), nil
}

// Holds implements agent.Condition. The task's ID is on the command's standard
// input. One that was killed, because it took too long or wrote too much, did not
// exit with 0.
func (p *Programs) Holds(ctx context.Context, taskID string, command []string) (bool, error) {
	done, _, err := p.Done(ctx, command, taskID+"\n")
	if fault, ok := errors.AsType[*agent.Fault](err); ok && (fault.Kind == agent.FaultSlow || fault.Kind == agent.FaultLarge) {
		return false, nil
	}
	return done, err
}

// fault is one whose text begins with the name of the program.
func fault(kind agent.FaultKind, program, what string, cause error) *agent.Fault {
	return &agent.Fault{Kind: kind, Text: fmt.Sprintf("The command %s %s", filepath.Base(program), what), Cause: cause}
}
