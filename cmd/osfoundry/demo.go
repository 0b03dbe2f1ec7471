package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"
	"time"

	"github.com/osfoundry/osfoundry/internal/app"
	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/demo"
)

type demoCommand struct {
	Database string `placeholder:"URL" help:"Play on this empty PostgreSQL database instead of a temporary SQLite file."`
}

// Run plays the story and prints it.
func (c *demoCommand) Run(ctx context.Context, s *streams) (err error) {
	folder, err := os.MkdirTemp("", "osfoundry-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	settings, err := demoSettings(folder, c.Database)
	if err != nil {
		return err
	}
	a, err := app.New(ctx, settings, slog.New(slog.NewTextHandler(s.err, &slog.HandlerOptions{Level: slog.LevelWarn})), app.Options{Version: programVersion()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Stop(context.WithoutCancel(ctx))) }()
	a.Start()
	if a.SetupURL() == "" {
		return errors.New("this database has people already; give an empty one")
	}
	fmt.Fprintf(s.out, "A server of its own plays the story, at\n%s; a real host would see the same.\n\n", a.URL())
	steps, err := demo.Play(ctx, a.URL(), a.SetupURL())
	held := printSteps(s.out, steps)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "\n%d of %d steps held.\n", held, len(steps))
	if held != len(steps) {
		return errors.New("not every step held")
	}
	return nil
}

// demoSettings are the defaults of the server, on a free port.
func demoSettings(folder, database string) (config.Config, error) {
	c, err := config.Defaults()
	c.Listen, c.Data, c.Database = "127.0.0.1:0", folder, database
	return c, err
}

// printSteps prints the story as a table and returns how many steps held.
func printSteps(w io.Writer, steps []demo.Step) (held int) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "#\tWHAT\tANSWER\tMS\tHELD")
	for _, step := range steps {
		mark := "no"
		if step.Held() {
			mark, held = "yes", held+1
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.1f\t%s\n", step.Number, step.What, step.Got, float64(step.Duration)/float64(time.Millisecond), mark)
	}
	t.Flush() // to a writer whose errors show at the next line
	for _, step := range steps {
		if !step.Held() {
			fmt.Fprintf(w, "\nStep %s (%s): got %s, want %s\n", step.Number, step.What, step.Got, step.Want)
		}
	}
	return held
}
