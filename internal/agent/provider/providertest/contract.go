package providertest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// longest is how long anything in a test may take before the test is lost.
const longest = 30 * time.Second

// Take takes a turn within the time of a test, and returns the reply, what was said
// piece by piece, and the error.
func Take(t testing.TB, p agent.Provider, turn agent.Turn) (agent.Reply, []string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	var said []string
	reply, err := p.Take(ctx, turn, func(text string) { said = append(said, text) })
	if ctx.Err() != nil {
		t.Fatalf("the turn did not end within %v: %v", longest, err)
	}
	return reply, said, err
}

// Fault is the fault that err is; the test ends if it is none.
func Fault(t testing.TB, err error) *agent.Fault {
	t.Helper()
	var f *agent.Fault
	if !errors.As(err, &f) {
		t.Fatalf("got the error %v, want a fault", err)
	}
	return f
}

// Contract holds a provider to what agent.Provider promises of any of them, for
// turns that succeed.
func Contract(t *testing.T, p agent.Provider, turn agent.Turn) {
	t.Run("says its text in order", func(t *testing.T) { sayInOrder(t, p, turn) })
	t.Run("does not begin after the end of its context", func(t *testing.T) { ended(t, p, turn) })
	t.Run("is safe for parallel use", func(t *testing.T) { parallel(t, p, turn) })
}

func sayInOrder(t *testing.T, p agent.Provider, turn agent.Turn) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	own := goroutine()
	var said strings.Builder
	reply, err := p.Take(context.Background(), turn, func(text string) {
		if text == "" {
			t.Error("said nothing")
		}
		if here := goroutine(); here != own {
			t.Errorf("said %q from %s, want %s", text, here, own)
		}
		said.WriteString(text)
	})
	if err != nil {
		t.Fatalf("Take: %v", err)
	}
	if said.String() != reply.Text {
		t.Errorf("said %q, replied %q", said.String(), reply.Text)
	}
	if reply.Text == "" && len(reply.Calls) == 0 {
		t.Error("the reply is empty")
	}
}

// goroutine names the one that asks.
func goroutine() string {
	text := make([]byte, 64)
	name, _, _ := strings.Cut(string(text[:runtime.Stack(text, false)]), " [")
	return name
}

func ended(t *testing.T, p agent.Provider, turn agent.Turn) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := p.Take(ctx, turn, func(text string) { t.Errorf("said %q", text) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Take after the end = %v, want context.Canceled", err)
	}
}

func parallel(t *testing.T, p agent.Provider, turn agent.Turn) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var said strings.Builder
			reply, err := p.Take(context.Background(), turn, func(text string) { said.WriteString(text) })
			if err != nil || said.String() != reply.Text {
				t.Errorf("one of eight said %q, replied %q, %v", said.String(), reply.Text, err)
			}
		})
	}
	wg.Wait()
}
