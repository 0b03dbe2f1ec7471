// Package exchange is what talking to a model server over HTTP has in common,
// whatever the protocol: time limits for each phase, size limits, and what every
// fault is called in words for people. A protocol's package makes requests with its
// own library and sends them by Exchange.Do; the libraries see nothing but answers
// that succeed, so that none of their errors, which may hold requests, gets out.
//
// Who may be spoken to is not decided here but by the client, which package guard
// made.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
)

// Limits hold a turn to time and size; zero is the default of each.
type Limits struct {
	Connect   time.Duration // name, TCP and TLS; 10 s
	FirstByte time.Duration // from the request until the answer begins; 2 min: models of one's own load first
	Idle      time.Duration // between two pieces of the answer; 1 min
	Turn      time.Duration // all of it; 10 min
	Wire      int64         // bytes of the answer as sent, protocol included; 16 MiB
	Answer    answer.Limits // what is in it
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		limit *time.Duration
		value time.Duration
	}{{&l.Connect, 10 * time.Second}, {&l.FirstByte, 2 * time.Minute}, {&l.Idle, time.Minute}, {&l.Turn, 10 * time.Minute}} {
		if *d.limit == 0 {
			*d.limit = d.value
		}
	}
	if l.Wire == 0 {
		l.Wire = 16 << 20
	}
	return l
}

// Server is a model server. It is safe for parallel use.
type Server struct {
	base   *url.URL
	client *http.Client
	limits Limits
}

// NewServer is the server at base, an http or https URL without user, query and
// fragment. The client decides whether it is spoken to, and must not retry or
// follow redirects by itself: guard.NewClient makes one that does neither, and
// whose Timeout and MaxBody should be no less than Limits.Turn and Limits.Wire.
func NewServer(base string, client *http.Client, l Limits) (*Server, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("the address of the model server is not a URL")
	case u.Scheme != "https" && u.Scheme != "http", u.Hostname() == "":
		return nil, errors.New("the address of the model server must begin with https:// or http:// and a host")
	case u.User != nil, u.RawQuery != "", u.Fragment != "":
		return nil, errors.New("the address of the model server must have no user, query or fragment")
	case client == nil:
		return nil, errors.New("a model server needs an HTTP client")
	}
	return &Server{base: u, client: client, limits: l.withDefaults()}, nil
}

// Host is the server's host, with its port if the address names one.
func (s *Server) Host() string { return s.base.Host }

// Answer begins the answer to a turn within the server's limits.
func (s *Server) Answer(t agent.Turn, say func(text string)) *answer.Answer {
	return answer.New(t, s.limits.Answer, say)
}

// Exchange is one turn's talk with a server: a request and its answer, or more of
// them where the first was refused for its form.
type Exchange struct {
	server  *Server
	asked   context.Context // the caller's
	ctx     context.Context
	cancel  context.CancelCauseFunc
	free    context.CancelFunc
	timer   *time.Timer
	waits   chan string // what the timer waits for: one value
	refused *refusal
	broke   error // what reading the answer ended with, if not its end
}

// Begin begins an exchange, which ends with ctx. End must be called.
func (s *Server) Begin(ctx context.Context) *Exchange {
	x := &Exchange{server: s, asked: ctx, waits: make(chan string, 1)}
	ctx, x.cancel = context.WithCancelCause(ctx)
	x.ctx, x.free = context.WithTimeoutCause(ctx, s.limits.Turn,
		x.slow(fmt.Sprintf("did not finish its answer in %v", s.limits.Turn)))
	x.timer = time.AfterFunc(time.Hour, x.expire)
	x.timer.Stop()
	x.waits <- ""
	return x
}

// Context is what requests of the exchange are made with.
func (x *Exchange) Context() context.Context { return x.ctx }

// End frees what the exchange holds.
func (x *Exchange) End() {
	x.timer.Stop()
	x.free()
	x.cancel(nil)
}

// within gives the server the time d to do what is said.
func (x *Exchange) within(d time.Duration, what string) {
	<-x.waits
	x.waits <- fmt.Sprintf("did not %s within %v", what, d)
	x.timer.Reset(d)
}

func (x *Exchange) expire() {
	what := <-x.waits
	x.waits <- what
	x.cancel(x.slow(what))
}

func (x *Exchange) slow(what string) *agent.Fault {
	return x.fault(agent.FaultSlow, what+".", nil)
}

// fault is one whose text begins with the name of the server.
func (x *Exchange) fault(kind agent.FaultKind, what string, cause error) *agent.Fault {
	return &agent.Fault{Kind: kind, Text: fmt.Sprintf("The model server at %s %s", x.server.Host(), what), Cause: cause}
}

// Garbage is the fault of an answer that is not in the protocol.
func (x *Exchange) Garbage(what string) error {
	return x.fault(agent.FaultGarbage, "sent "+what+".", nil)
}

// Cut is the fault of a stream that ended in the middle.
func (x *Exchange) Cut() error {
	return x.fault(agent.FaultCut, "ended its answer in the middle.", x.broke)
}

// Large is the fault of an answer that a limit of tokens cut.
func (x *Exchange) Large() error {
	return x.fault(agent.FaultLarge, "reached the limit of tokens in the middle of asking for a tool.", nil)
}

// Declined is the fault of a model that will not answer what it was asked.
func (x *Exchange) Declined() error {
	return x.fault(agent.FaultRefused, "answers that the model declines to answer this.", nil)
}

// Do sends a request and hands back its answer if it is a stream of events. Its
// errors are faults, or the context's.
func (x *Exchange) Do(r *http.Request) (*http.Response, error) {
	l := x.server.limits
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.within(l.FirstByte, "begin to answer") },
	})
	x.within(l.Connect, "take the connection")
	response, err := x.server.client.Do(r.WithContext(ctx))
	x.timer.Stop()
	if err != nil {
		return nil, x.Err(err)
	}
	response.Body = &body{ReadCloser: response.Body, exchange: x, wait: l.FirstByte, left: l.Wire}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, x.refuse(response)
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil || media != "text/event-stream" {
		response.Body.Close()
		return nil, x.Garbage("something that is not a stream of events")
	}
	return response, nil
}

// body is an answer that must keep coming, and end by size.
type body struct {
	io.ReadCloser
	exchange *Exchange
	wait     time.Duration
	left     int64
}

func (b *body) Read(p []byte) (int, error) {
	x := b.exchange
	x.within(b.wait, "send anything more")
	n, err := b.ReadCloser.Read(p)
	x.timer.Stop()
	b.left -= int64(n)
	switch {
	case b.left < 0:
		err = x.fault(agent.FaultLarge, fmt.Sprintf("sent more than %d bytes.", x.server.limits.Wire), nil)
	case n > 0:
		b.wait = x.server.limits.Idle
	}
	if err != nil && err != io.EOF {
		x.broke = err
	}
	return n, err
}

// Err says what an error in the exchange means: that the caller's context ended, or
// a fault.
func (x *Exchange) Err(err error) error {
	if ended := x.asked.Err(); ended != nil {
		return ended
	}
	var fault *agent.Fault
	if errors.As(context.Cause(x.ctx), &fault) || errors.As(err, &fault) {
		return fault
	}
	if x.broke != nil {
		return x.interrupted(x.broke)
	}
	return x.unreached(err)
}

// secretless takes an error out of the request that it is about.
func secretless(err error) error {
	var about *url.Error
	if errors.As(err, &about) {
		return about.Err
	}
	return err
}

// blank reports whether there is nothing in s but spaces.
func blank(s string) bool { return strings.TrimSpace(s) == "" }
