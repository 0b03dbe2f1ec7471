package guard

import (
	"sync"
	"time"
)

// maxKeys bounds the memory of one Limiter: about 10 MB at most.
const maxKeys = 1 << 16

// Limiter counts events by key, such as a connection, an address or an account,
// and says when a key has had its share. The share is a plain "n a minute": the
// minute begins at a key's first event, and the next at the first one after it.
//
// A nil Limiter allows everything. It is safe for concurrent use.
type Limiter struct {
	share  int
	window time.Duration
	now    func() time.Time

	mu sync.Mutex
	// Keys live in two generations. When the young one is full it becomes the old
	// one, and what was old is forgotten: the least recently counted, in no time.
	young, old map[string]count // guarded by mu
}

type count struct {
	since time.Time // begin of the key's window
	n     int
}

// PerMinute makes a Limiter that allows n events a minute for each key; with n
// of 0 or less it is nil, so that a configured 0 is off.
func PerMinute(n int, now func() time.Time) *Limiter { return Per(n, time.Minute, now) }

// Per is PerMinute for another span of time.
func Per(n int, window time.Duration, now func() time.Time) *Limiter {
	if n <= 0 {
		return nil
	}
	return &Limiter{share: n, window: window, now: now, young: map[string]count{}}
}

// Take counts one event of the key. When that is more than its share the event
// is not counted, ok is false, and wait, more than zero, is how long until the
// next one is allowed.
func (l *Limiter) Take(key string) (wait time.Duration, ok bool) {
	if l == nil {
		return 0, true
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.look(key)
	age := now.Sub(c.since)
	if age >= l.window || age < 0 { // over, or the clock was set back
		c, age = count{since: now}, 0
	}
	if c.n >= l.share {
		l.keep(key, c) // or others' events could make it forgotten
		return l.window - age, false
	}
	c.n++
	l.keep(key, c)
	return 0, true
}

// Return takes back one counted event of the key, for callers that count an
// attempt before they know whether it fails, so that many at once can't slip
// through.
func (l *Limiter) Return(key string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.look(key); c.n > 0 {
		c.n--
		l.keep(key, c)
	}
}

func (l *Limiter) look(key string) count {
	if c, ok := l.young[key]; ok {
		return c
	}
	return l.old[key]
}

func (l *Limiter) keep(key string, c count) {
	if _, ok := l.young[key]; !ok && len(l.young) >= maxKeys/2 {
		l.old, l.young = l.young, map[string]count{}
	}
	l.young[key] = c
}
