package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/osfoundry/osfoundry/internal/app"
	"github.com/osfoundry/osfoundry/internal/config"
)

type serveCommand struct {
	config.Config
}

// Run serves until it is told to stop.
func (c *serveCommand) Run(ctx context.Context, s *streams) error {
	log := newLog(c.Config, s)
	a, err := app.New(ctx, c.Config, log, app.Options{Version: programVersion()})
	if err != nil {
		return err
	}
	a.Start()
	announce(a, s)
	select {
	case <-ctx.Done():
		log.Info("stopping", "patience", c.ShutdownPatience)
	case err := <-a.Done():
		if !errors.Is(err, http.ErrServerClosed) {
			return errors.Join(fmt.Errorf("serve: %w", err), a.Stop(context.WithoutCancel(ctx)))
		}
	}
	return a.Stop(context.WithoutCancel(ctx))
}

// announce prints where to go. Scripts read these lines: label, colon, address.
func announce(a *app.App, s *streams) {
	fmt.Fprintf(s.out, "osFoundry listens on %s\n", a.Address())
	fmt.Fprintf(s.out, "Address: %s/\n", a.URL())
	fmt.Fprintf(s.out, "MCP URL: %s/mcp\n", a.URL())
	if setup := a.SetupURL(); setup != "" {
		fmt.Fprintf(s.out, "Setup URL: %s\n", setup)
		fmt.Fprintln(s.out, "Open the setup URL once to make the first owner.")
	}
}

// newLog writes to standard error, so that standard output stays for people.
func newLog(c config.Config, s *streams) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo
	}
	o := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(s.err, o))
	}
	return slog.New(slog.NewTextHandler(s.err, o))
}
