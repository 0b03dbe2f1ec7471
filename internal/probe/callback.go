package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/osfoundry/osfoundry/internal/guard"
)

// callback waits on a loopback port for the browser to come back (RFC 8252 §7.3).
type callback struct {
	address string // redirect URI
	server  *http.Server
	host    string
	taken   atomic.Bool
	first   chan *url.URL
}

func newCallback(l net.Listener) *callback {
	c := &callback{host: l.Addr().String(), first: make(chan *url.URL, 1)}
	c.address = "http://" + c.host + "/callback"
	routes := http.NewServeMux()
	routes.HandleFunc("GET /callback", c.answer)
	c.server = guard.NewServer(routes, slog.New(slog.DiscardHandler))
	go c.server.Serve(l) // until close, which is the only end
	return c
}

// close lets the browser have its page first.
func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := c.server.Shutdown(ctx); err != nil {
		c.server.Close()
	}
}

// answer takes the first visitor and turns every other away: a code works once, and
// a second answer is not the server's.
func (c *callback) answer(w http.ResponseWriter, r *http.Request) {
	if r.Host != c.host { // a name that somebody else points here
		http.Error(w, "This is not the address of the callback.", http.StatusMisdirectedRequest)
		return
	}
	at, err := url.Parse(c.address + "?" + r.URL.RawQuery)
	if err != nil {
		http.Error(w, "This is no answer to a sign-in.", http.StatusBadRequest)
		return
	}
	if !c.taken.CompareAndSwap(false, true) {
		http.Error(w, "The sign-in was answered before.", http.StatusConflict)
		return
	}
	c.first <- at
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address holds the code
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	io.WriteString(w, "<!DOCTYPE html><html lang=\"en\"><title>osFoundry probe</title><p>You can close this page and go back to the terminal.</p></html>\n") // the browser's loss
}

// wait returns the address that the browser came back to.
func (c *callback) wait(ctx context.Context, patience time.Duration) (*url.URL, error) {
	if patience <= 0 {
		patience = 5 * time.Minute
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case at := <-c.first:
		return at, nil
	case <-timer.C:
		return nil, fmt.Errorf("nobody signed in within %v", patience)
	case <-ctx.Done():
		return nil, errors.New("the sign-in was given up")
	}
}
