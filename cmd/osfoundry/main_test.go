package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// TestMain lets scripts run osfoundry as a program.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"osfoundry": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
		},
		"approve": func() { os.Exit(browse(os.Args[1], false)) },
		"refuse":  func() { os.Exit(browse(os.Args[1], true)) },
	})
}

func TestCommandsReadAsAManual(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("TMPDIR", e.WorkDir)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			// postgres NAME sets the variable to the URL of an empty database.
			"postgres": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv(args[0], storagetest.EmptyPostgresURL(t))
			},
			"house":  house(t),
			"faulty": faulty(t),
			"tools":  toolServer(t),
		},
	})
}
