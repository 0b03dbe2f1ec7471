package queue

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/riverqueue/river/riverdriver"
)

// What River takes for the notification that a job was inserted.
const (
	insertTopic   = "river_insert"
	insertPayload = `{"queue":"` + queueName + `"}`
)

// listener is River's ear: it hears the notifications of PostgreSQL, if that is the
// database, and Wake. River suppresses its own notification of an insert soon after
// another one, although the first may be heard before the second commits; and
// SQLite has none that would not be polled for.
type listener struct {
	riverdriver.Listener // nil on SQLite
	wake                 chan struct{}
}

func newListener() *listener { return &listener{wake: make(chan struct{}, 1)} }

// Wake makes River look for jobs. It is called after the commit that made one.
func (l *listener) Wake() {
	select {
	case l.wake <- struct{}{}:
	default: // it is about to look
	}
}

// WaitForNotification waits for either.
func (l *listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	woken := &riverdriver.Notification{Topic: insertTopic, Payload: insertPayload}
	if l.Listener == nil {
		select {
		case <-l.wake:
			return woken, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	wait, stop := context.WithCancel(ctx)
	var called atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-l.wake:
			called.Store(true)
			stop()
		case <-wait.Done():
		}
	}()
	heard, err := l.Listener.WaitForNotification(wait)
	stop()
	<-ended
	switch {
	case !called.Load():
		return heard, err
	case err == nil || ctx.Err() != nil || !errors.Is(err, context.Canceled):
		l.Wake() // the next call hears it
		return heard, err
	}
	return woken, nil
}

// silent are the methods of a listener that nothing reaches from outside.
type silent struct{ *listener }

func (silent) Close(context.Context) error            { return nil }
func (silent) Connect(context.Context) error          { return nil }
func (silent) Listen(context.Context, string) error   { return nil }
func (silent) Ping(context.Context) error             { return nil }
func (silent) Schema() string                         { return "" }
func (silent) SetAfterConnectExec(string)             {}
func (silent) Unlisten(context.Context, string) error { return nil }
