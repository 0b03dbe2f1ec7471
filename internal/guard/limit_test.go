package guard

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestLimiterAllowsItsShareAndSaysWhenAgain(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	l := PerMinute(3, c.now)
	for i := range 3 {
		if _, ok := l.Take("a"); !ok {
			t.Fatalf("event %d refused", i+1)
		}
		c.at = c.at.Add(10 * time.Second)
	}
	if wait, ok := l.Take("a"); ok || wait != 30*time.Second {
		t.Errorf("fourth event = %v, %v, want to wait 30s", wait, ok)
	}
	if _, ok := l.Take("b"); !ok {
		t.Error("another key is refused")
	}
	c.at = c.at.Add(30 * time.Second)
	if wait, ok := l.Take("a"); !ok {
		t.Errorf("after the wait: refused, wait %v", wait)
	}
}

func TestLimiterRefusalsDoNotCount(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	l := PerMinute(1, c.now)
	l.Take("a")
	for range 100 {
		c.at = c.at.Add(time.Second / 2)
		l.Take("a")
	}
	c.at = c.at.Add(10 * time.Second)
	if _, ok := l.Take("a"); !ok {
		t.Error("a minute after the only counted event the key is still refused")
	}
}

func TestLimiterReturnTakesOneBack(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	l := PerMinute(1, c.now)
	l.Take("a")
	l.Return("a")
	l.Return("a") // nothing to take back
	if _, ok := l.Take("a"); !ok {
		t.Error("refused though the first event was taken back")
	}
	if _, ok := l.Take("a"); ok {
		t.Error("taking back twice gave a second event")
	}
}

func TestLimiterCanBeOff(t *testing.T) {
	l := PerMinute(0, time.Now)
	for range 10_000 {
		if _, ok := l.Take("a"); !ok {
			t.Fatal("a limiter that is off refused")
		}
	}
	l.Return("a")
}

func TestLimiterSurvivesAClockSetBack(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	l := PerMinute(1, c.now)
	l.Take("a")
	c.at = c.at.Add(-time.Hour)
	if wait, ok := l.Take("a"); !ok {
		t.Errorf("after the clock was set back: refused for %v", wait)
	}
}

func TestLimiterForgetsOnlyWhoIsQuietAndKeepsItsMemoryBounded(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	l := PerMinute(1, c.now)
	l.Take("victim")
	for i := range 5 * maxKeys {
		l.Take(strconv.Itoa(i))
		if i%1000 != 0 {
			continue
		}
		if _, ok := l.Take("victim"); ok {
			t.Fatalf("a key that goes on asking was forgotten after %d others", i)
		}
	}
	if n := len(l.young) + len(l.old); n > maxKeys {
		t.Errorf("%d keys are kept, want at most %d", n, maxKeys)
	}
}

func TestLimiterNeverGivesMoreThanItsShareInParallel(t *testing.T) {
	c := &clock{time.Unix(1_000_000, 0)}
	l := PerMinute(50, c.now)
	var given atomic.Int64
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for range 10 {
				if _, ok := l.Take("a"); ok {
					given.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if given.Load() != 50 {
		t.Errorf("%d events given, want 50", given.Load())
	}
}
