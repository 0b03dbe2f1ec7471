package tool

import (
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// Limits are the agreed figures that list_granted_resources shows to a connection
// (product.md §4). A rate of 0 is no limit, and is not shown.
type Limits struct {
	Reads           int `json:"reads_per_minute,omitzero"`
	Writes          int `json:"writes_per_minute,omitzero"`
	RunRequests     int `json:"run_requests_per_minute,omitzero"`
	QueuedTasks     int `json:"queued_tasks"`     // of its own requests, at once
	PendingHandoffs int `json:"pending_handoffs"` // at once
	BodyBytes       int `json:"request_body_bytes"`
	ResultChars     int `json:"result_chars"`
}

// DefaultLimits are the limits of product.md §4.
var DefaultLimits = Limits{Reads: 1200, Writes: 300, RunRequests: 60, QueuedTasks: 50, PendingHandoffs: 50, BodyBytes: 4 << 20, ResultChars: 20_000}

// WithoutRates is l without its rates, for --rate-limits off.
func (l Limits) WithoutRates() Limits {
	l.Reads, l.Writes, l.RunRequests = 0, 0, 0
	return l
}

// Class says which rate a call counts towards. A call counts towards one only.
type Class uint8

// The classes.
const (
	ClassRead  Class = iota
	ClassWrite       // changes something
	ClassRun         // asks agents to work
)

// class is the tool's; a call of a tool that is not known reads.
func (t *Tool) class() Class {
	switch {
	case t == nil || !t.Writes():
		return ClassRead
	case t.Needs.Scopes.Has(access.ScopeRun):
		return ClassRun
	}
	return ClassWrite
}

// ratesPerMinute counts the calls of each connection, by their class.
type ratesPerMinute [ClassRun + 1]*guard.Limiter

// NewLimiter makes the Limiter that holds l.
func NewLimiter(l Limits, now func() time.Time) Limiter {
	return ratesPerMinute{
		ClassRead: guard.PerMinute(l.Reads, now), ClassWrite: guard.PerMinute(l.Writes, now), ClassRun: guard.PerMinute(l.RunRequests, now),
	}
}

// Allow is Limiter.Allow.
func (r ratesPerMinute) Allow(connectionID string, class Class) (wait time.Duration, ok bool) {
	return r[class].Take(connectionID)
}
