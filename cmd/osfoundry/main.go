// Command osfoundry is a self-hosted team workspace that outside AI assistants
// reach through one MCP address. Its subcommands run the server and look after
// it; osfoundry --help lists them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the build: -ldflags "-X main.version=…".
var version = ""

// commands are the subcommands, a file each.
type commands struct {
	Config kong.ConfigFlag `placeholder:"FILE" help:"Read settings from this JSON file; its keys are the flags' names."`

	Serve    serveCommand    `cmd:"" help:"Run the server."`
	Demo     demoCommand     `cmd:"" help:"Start a server on a temporary folder and play the whole story against it."`
	Probe    probeCommand    `cmd:"" help:"See a remote MCP server as a host does, and what is wrong with it."`
	Rehearse rehearseCommand `cmd:"" help:"Play the published experiments on a model of the rules."`
	User     userCommand     `cmd:"" help:"List people, or give one a new password."`
	Token    tokenCommand    `cmd:"" help:"Make a personal token for scripts."`
	Backup   backupCommand   `cmd:"" help:"Write a consistent copy of the database while the server runs."`
	Restore  restoreCommand  `cmd:"" help:"Fill an empty database from a backup. Its tokens and sessions are void."`
	Migrate  migrateCommand  `cmd:"" help:"Bring the database's schema up to date."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// exitStatus ends a command that has said all it had to say with another status
// than 0.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run is the program with its surroundings passed in: 0 is success, 1 a failure,
// 2 a command line that was not understood. A command that judges may end with a
// status of its own.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var c commands
	exited := -1
	parser, err := kong.New(&c,
		kong.Name("osfoundry"),
		kong.Description("A team workspace that outside AI assistants reach through one MCP address."),
		kong.UsageOnError(),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.DefaultEnvars("OSFOUNDRY"),
		kong.Configuration(kong.JSON),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(&streams{stdout, stderr}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "osfoundry:", err)
		return 1
	}
	parsed, err := parser.Parse(args)
	if exited >= 0 { // --help was answered
		return exited
	}
	if err != nil {
		fmt.Fprintln(stderr, "osfoundry:", err)
		fmt.Fprintln(stderr, "Run osfoundry --help to see the commands.")
		return 2
	}
	err = parsed.Run()
	if status, ok := errors.AsType[exitStatus](err); ok {
		return int(status)
	}
	if err != nil {
		fmt.Fprintln(stderr, "osfoundry:", err)
		return 1
	}
	return 0
}

// streams are where a command writes.
type streams struct{ out, err io.Writer }

type versionCommand struct{}

// Run prints the version.
func (versionCommand) Run(s *streams) error {
	_, err := fmt.Fprintln(s.out, "osfoundry", programVersion())
	return err
}

// programVersion is the version that the build set, else the one that the Go
// toolchain knows.
func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.1.0-dev"
}
