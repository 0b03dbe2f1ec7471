package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/storage"
)

// Options change what New takes from outside; the zero value is the real thing.
type Options struct {
	Now     func() time.Time // the clock; nil is time.Now
	Version string           // of the program, as assistants see it
	// Database is where the data lies, for tests; zero is what the settings say.
	Database storage.Options
	// Tune changes the parts before they are wired, for tests.
	Tune func(*Parts)
}

// App is a running osFoundry.
type App struct {
	config   config.Config
	log      *slog.Logger
	now      func() time.Time
	db       *storage.DB
	listener net.Listener
	server   *http.Server
	public   []string
	setupURL string
	work     func(ctx context.Context) error // starts to work on tasks

	// Streams and waiting calls end when this does; it ends before the server
	// waits for requests in hand.
	running context.Context
	end     context.CancelFunc

	served  chan error // the end of Serve
	started bool

	stopping sync.Once
	stopErr  error
	cleanups []cleanup // what to end, last first
}

// cleanup is one thing to end at Stop, under the name that an error of it bears.
type cleanup struct {
	name string
	run  func(context.Context) error
}

func (a *App) onStop(name string, run func(context.Context) error) {
	a.cleanups = append(a.cleanups, cleanup{name, run})
}

// New opens the database, takes the address to listen on, and wires the rooms.
// Nothing is served before Start. A New that fails leaves nothing open.
func New(ctx context.Context, c config.Config, log *slog.Logger, o Options) (_ *App, err error) {
	if err := c.Complete(); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &App{config: c, log: log, now: o.Now, served: make(chan error, 1)}
	a.running, a.end = context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		if err != nil {
			err = errors.Join(err, a.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if o.Database == (storage.Options{}) {
		o.Database = storage.Options{Path: c.SQLitePath(), DatabaseURL: c.Database}
	}
	a.db, err = storage.Open(ctx, o.Database)
	if err != nil {
		return nil, err
	}
	a.onStop("database", func(context.Context) error { return a.db.Close() })
	if a.listener, err = net.Listen("tcp", c.Listen); err != nil {
		return nil, fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	a.onStop("listener", func(context.Context) error { return ignoreClosed(a.listener.Close()) })
	a.public = c.PublicURLs(a.listener.Addr())
	handler, err := a.wire(ctx, o)
	if err != nil {
		return nil, err
	}
	a.server = guard.NewServer(handler, log)
	a.server.BaseContext = func(net.Listener) context.Context { return a.running }
	return a, nil
}

// Start works on tasks and serves until Stop.
func (a *App) Start() {
	a.started = true
	if err := a.work(a.running); err != nil {
		a.served <- err
		return
	}
	go func() { a.served <- a.server.Serve(a.listener) }()
}

// Done is told once if serving ends by itself, with the reason.
func (a *App) Done() <-chan error { return a.served }

// URL is the main public address, such as https://osfoundry.example.
func (a *App) URL() string { return a.public[0] }

// Address is where the server listens.
func (a *App) Address() net.Addr { return a.listener.Addr() }

// SetupURL is the page that makes the first owner, with its one-time secret; ""
// once there is one.
func (a *App) SetupURL() string { return a.setupURL }

// Stop ends the server: no new requests, those in hand are finished within the
// patience of the configuration, then everything is closed, last opened first.
// Further calls return what the first one did.
func (a *App) Stop(ctx context.Context) error {
	a.stopping.Do(func() { a.stopErr = a.stop(ctx) })
	return a.stopErr
}

func (a *App) stop(ctx context.Context) error {
	a.end()
	var errs []error
	if a.started {
		patient, cancel := context.WithTimeout(ctx, a.config.ShutdownPatience)
		defer cancel()
		if err := a.server.Shutdown(patient); err != nil {
			errs = append(errs, fmt.Errorf("finish requests: %w", err), a.server.Close())
		}
	}
	for i := len(a.cleanups) - 1; i >= 0; i-- {
		if err := a.cleanups[i].run(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", a.cleanups[i].name, err))
		}
	}
	return errors.Join(errs...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
