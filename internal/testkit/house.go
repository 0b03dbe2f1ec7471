// Package testkit puts up whole houses for tests: the program on a free port of
// this machine with a real database, a clock that the test moves, the first owner
// set up, and clients that act as people do. Whoever is judged is reached over
// HTTP only.
package testkit

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/app"
	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// House is a running osFoundry with one workspace and its owner.
type House struct {
	testing.TB
	Base      string // public address
	Options   storage.Options
	Owner     *Person
	Workspace string // its ID

	tune func(*config.Config) // what differs from the defaults
	log  io.Writer            // of the server

	mu  sync.Mutex
	now time.Time // guarded by mu
	raw *sql.DB   // guarded by mu
}

// Each runs f on a fresh house in each database.
func Each(t *testing.T, f func(t *testing.T, h *House)) {
	t.Helper()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) { f(t, Open(t, o)) })
}

// Open puts up a house on the database, without limits per minute. It comes down
// when the test ends.
func Open(t testing.TB, o storage.Options) *House {
	t.Helper()
	return OpenWith(t, o, func(*config.Config) {})
}

// OpenWith is Open with other settings.
func OpenWith(t testing.TB, o storage.Options, tune func(*config.Config)) *House {
	t.Helper()
	return OpenLogging(t, o, io.Discard, tune)
}

// OpenLogging is OpenWith with a place for everything that the server logs.
func OpenLogging(t testing.TB, o storage.Options, log io.Writer, tune func(*config.Config)) *House {
	t.Helper()
	h := &House{TB: t, Options: o, now: time.Now().Truncate(time.Millisecond), tune: tune, log: log}
	h.settle(h.putUp())
	return h
}

// Beside puts up another node of the house on the same database, with the same
// people; only PostgreSQL has room for one.
func (h *House) Beside() *House {
	h.Helper()
	other := &House{TB: h.TB, Options: h.Options, Workspace: h.Workspace, now: h.Now(), tune: h.tune, log: h.log}
	other.Base, _ = other.putUp()
	other.Owner = other.visitor(h.Owner.Email)
	other.Owner.ID = h.Owner.ID
	other.Owner.SignIn()
	return other
}

// putUp starts a server.
func (h *House) putUp() (base, setupURL string) {
	h.Helper()
	c, err := config.Defaults()
	if err != nil {
		h.Fatal(err)
	}
	c.Listen, c.RateLimits, c.Database, c.ShutdownPatience = "127.0.0.1:0", "off", h.Options.DatabaseURL, 2*time.Second
	c.Data = h.TempDir() // what agents run lies there
	h.tune(&c)
	logger := slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if h.log == io.Discard {
		logger = slog.New(slog.DiscardHandler)
	}
	a, err := app.New(context.Background(), c, logger, app.Options{
		Now: h.Now, Version: "0.0.0-test", Database: h.Options,
	})
	if err != nil {
		h.Fatalf("put up a house: %v", err)
	}
	a.Start()
	h.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			h.Errorf("take the house down: %v", err)
		}
	})
	return a.URL(), a.SetupURL()
}

// At is the house of a server that runs already, whose clock is the real one. The
// setup address makes its owner.
func At(t testing.TB, base, setupURL string, o storage.Options) *House {
	t.Helper()
	h := &House{TB: t, Options: o, now: time.Now()}
	h.settle(base, setupURL)
	return h
}

// settle makes the owner and the workspace.
func (h *House) settle(base, setupURL string) {
	h.Helper()
	h.Base = base
	setup, err := url.Parse(setupURL)
	if err != nil {
		h.Fatal(err)
	}
	h.Owner = h.visitor("owner@example.com")
	var me struct {
		ID         string `json:"id"`
		Workspaces []Made `json:"workspaces"`
	}
	h.Owner.Must("POST", "/setup", Object{
		"secret": setup.Query().Get("secret"), "name": "Olive Owner", "email": h.Owner.Email, "password": Password, "workspace": "Atlas Foods",
	}, &me)
	h.Owner.ID, h.Workspace = me.ID, me.Workspaces[0].ID
}

// Raw is the house's database, opened beside the server.
func (h *House) Raw() *sql.DB {
	h.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.raw == nil {
		h.raw = storagetest.Raw(h.TB, h.Options)
	}
	return h.raw
}

// Now is the house's clock.
func (h *House) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

// Pass lets time go by.
func (h *House) Pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}
