package command_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/command"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

// stubborn is a script that opens the pipe $1, ignores every polite signal, starts
// children and grandchildren that do too, and then goes on with what is added.
const stubborn = `exec 9>"$1"
trap '' TERM HUP INT QUIT PIPE
for i in 1 2 3; do
	sh -c 'trap "" TERM HUP INT QUIT PIPE; (while :; do sleep 1000; done) & while :; do sleep 1000; done' &
done
`

func TestAProgramThatForksIgnoresSignalsAndFloodsIsContained(t *testing.T) {
	for name, script := range map[string]string{
		"its output":      stubborn + `while :; do echo flood flood flood flood flood flood flood; done`,
		"its complaints":  stubborn + `while :; do echo flood flood flood flood flood flood flood >&2; done`,
		"from a child":    stubborn + `yes & wait`,
		"without a break": stubborn + `head -c 1000000000 /dev/zero`,
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			r, _ := shell(t, command.Limits{Output: 1 << 20})
			path := fifo(t)
			pipe := watch(t, path)
			reply, said, err := providertest.Take(t, sh(t, r, script, path), turn())
			if f := providertest.Fault(t, err); f.Kind != agent.FaultLarge || f.Again() {
				t.Errorf("got %v, want large", f)
			}
			if n := len(strings.Join(said, "")); n > 3<<20 || reply.Text != "" { // U+0000 is three bytes when it is said
				t.Errorf("%d bytes were said, and %d replied", n, len(reply.Text))
			}
			gone(t, pipe)
		})
	}
}

func TestNothingIsLeftWhenTheProgramExits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, _ := shell(t, command.Limits{})
	path := fifo(t)
	pipe := watch(t, path)
	// The children hold its standard output and error, which must not hold us.
	reply, _, err := providertest.Take(t, sh(t, r, stubborn+`echo done; exit 0`, path), turn())
	if err != nil || reply.Text != "done\n" {
		t.Errorf("reply %q, %v, want done", reply.Text, err)
	}
	gone(t, pipe)
}

func TestAProgramIsKilledWhenNobodyWaits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, _ := shell(t, command.Limits{Grace: 50 * time.Millisecond})
	path := fifo(t)
	pipe := watch(t, path)
	ctx, cancel := within(t)
	defer cancel()
	begun := time.Now()
	_, err := sh(t, r, stubborn+`echo ready; while :; do sleep 1000; done`, path).Take(ctx, turn(), func(string) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	gone(t, pipe)
	if d := time.Since(begun); d > longest/2 {
		t.Errorf("it took %v", d)
	}
}

func TestAProgramMayEndByItselfWhenAsked(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, _ := shell(t, command.Limits{Grace: longest})
	path := fifo(t)
	pipe := watch(t, path)
	ctx, cancel := within(t)
	defer cancel()
	script := `exec 9>"$1"; trap 'echo saved >&9; exit 0' TERM; echo ready; while :; do sleep 0.05; done`
	var said []string
	_, err := sh(t, r, script, path).Take(ctx, turn(), func(text string) {
		said = append(said, text)
		cancel()
	})
	if !errors.Is(err, context.Canceled) || len(said) != 1 {
		t.Errorf("said %q, %v, want context.Canceled", said, err)
	}
	if text := gone(t, pipe); text != "saved\n" {
		t.Errorf("it wrote %q before its end, want saved", text)
	}
}

func TestAProgramIsKilledWhenItsTimeIsUp(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, _ := shell(t, command.Limits{Wall: 300 * time.Millisecond, Grace: 50 * time.Millisecond})
	for _, script := range []string{stubborn + `while :; do sleep 1000; done`, `exec 9>"$1" >&- 2>&-; while :; do sleep 1000; done`, `exec 9>"$1"; kill -STOP $$`} {
		path := fifo(t)
		pipe := watch(t, path)
		_, _, err := providertest.Take(t, sh(t, r, script, path), turn())
		if f := providertest.Fault(t, err); f.Kind != agent.FaultSlow {
			t.Errorf("got %v, want slow", f)
		}
		gone(t, pipe)
	}
}

func TestWhatIsSaidMayEndTheProgram(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	r, _ := shell(t, command.Limits{})
	path := fifo(t)
	pipe := watch(t, path)
	enough := errors.New("enough")
	_, err := r.Run(t.Context(), []string{"/bin/sh", "-c", stubborn + `echo one; while :; do sleep 1000; done`, "sh", path}, "", func([]byte) error { return enough })
	if !errors.Is(err, enough) {
		t.Errorf("got %v, want the error of take", err)
	}
	gone(t, pipe)
}
