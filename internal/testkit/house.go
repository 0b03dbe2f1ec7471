// Package testkit puts up whole houses for tests: the program on a free port of
// this machine with a real database, a clock that the test moves, the first owner
// set up, and clients that act as people do. Whoever is judged is reached over
// HTTP only.
package testkit

import (
	"context"
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

	mu  sync.Mutex
	now time.Time // guarded by mu
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
	h := &House{TB: t, Options: o, now: time.Now().Truncate(time.Millisecond)}
	c, err := config.Defaults()
	if err != nil {
		t.Fatal(err)
	}
	c.Listen, c.RateLimits, c.Database, c.ShutdownPatience = "127.0.0.1:0", "off", o.DatabaseURL, 2*time.Second
	a, err := app.New(context.Background(), c, slog.New(slog.DiscardHandler), app.Options{
		Now: h.Now, Version: "0.0.0-test", Database: o,
	})
	if err != nil {
		t.Fatalf("put up a house: %v", err)
	}
	a.Start()
	t.Cleanup(func() {
		if err := a.Stop(context.Background()); err != nil {
			t.Errorf("take the house down: %v", err)
		}
	})
	h.settle(a.URL(), a.SetupURL())
	return h
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
