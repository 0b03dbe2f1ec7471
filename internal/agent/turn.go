package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// How often a round is looked after while it runs: what the agent says is shown
// ten times a second at most, and a task that was stopped ends within a second.
const (
	showEvery  = 100 * time.Millisecond
	looksAfter = 4 // ticks without anything new to show
)

// hold gives a context that ends when the round is lost, with errLost as its
// cause, or when its time is used up, with a *limitError. Release ends the watch
// and waits for it.
func (a *attempt) hold(ctx context.Context) (held context.Context, release func()) {
	held, end := context.WithCancelCause(ctx)
	if a.allowed.time > 0 {
		var stop context.CancelFunc
		held, stop = context.WithTimeoutCause(held, a.allowed.time, a.allowed.late)
		context.AfterFunc(held, stop)
	}
	stopped, unwatch := a.Stopping.Watch(a.task.ID)
	var watch sync.WaitGroup
	watch.Go(func() { a.watch(held, stopped, end) })
	return held, func() {
		end(context.Canceled)
		watch.Wait()
		unwatch()
	}
}

// watch shows what the agent says, and ends the round's context when the round is
// lost. Trouble with the database is not a loss: the next look may tell.
func (a *attempt) watch(ctx context.Context, stopped <-chan struct{}, end context.CancelCauseFunc) {
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	for silent := 0; ; silent++ {
		select {
		case <-ctx.Done():
			return
		case <-stopped:
			end(errLost)
			return
		case <-tick.C:
		}
		text := a.speech.fresh()
		if text == "" && silent%looksAfter != 0 {
			continue
		}
		ok, err := a.show(ctx, text)
		if err != nil {
			a.Log.DebugContext(ctx, "round not looked after", "task", a.ref.TaskID, "round", a.ref.Number, "err", err)
			continue
		}
		if !ok {
			end(errLost)
			return
		}
	}
}

// show appends text to the round's row, and reports whether the round is still
// held. What can't be shown now is in the row when the round ends.
func (a *attempt) show(ctx context.Context, text string) (held bool, err error) {
	if text == "" {
		err = a.Units.Read(ctx, func(tx access.Tx) (err error) {
			held, err = a.Store.RoundHeld(ctx, tx, a.ref)
			return err
		})
		return held, err
	}
	err = a.Units.Write(ctx, func(tx access.Tx) (err error) {
		held, err = a.Store.AppendText(ctx, tx, a.ref, text)
		return err
	})
	return held, err
}

// errUnknownOutcome says that an earlier attempt began something outside and did
// not live to see its end.
var errUnknownOutcome = errors.New("the outcome of an earlier attempt is not known")

// ask asks the provider for the turn. Where the turn asks for tools, it is kept
// before they are called.
func (a *attempt) ask(ctx context.Context) error {
	if !a.round.EffectAt.IsZero() {
		return errUnknownOutcome
	}
	provider, err := a.Providers.Provider(ctx, a.task.WorkspaceID, a.agent.Provider, a.approved())
	if err != nil {
		return err
	}
	a.provider = provider
	t, err := a.prompt()
	if err != nil {
		return err
	}
	a.offered = names(t.Tools)
	if provider.External() {
		if err := a.whileHeld(ctx, func(tx access.Tx) (bool, error) { return a.Store.MarkEffect(ctx, tx, a.ref) }); err != nil {
			return err
		}
	}
	reply, err := a.answer(ctx, t)
	if err != nil {
		return err
	}
	a.tokens = max(0, reply.TokensIn) + max(0, reply.TokensOut)
	if a.turn, err = turnOf(reply); err != nil {
		return err
	}
	if a.written()+writtenIn(a.turn) > a.Caps.Output {
		a.turn.Calls = nil
		return a.outputOver()
	}
	if len(a.turn.Calls) == 0 {
		return nil
	}
	if used := a.task.ToolCalls + int64(len(a.turn.Calls)); used > a.Caps.ToolCalls {
		return limitf(limitTools, "The agent asked for more than the %d tool calls that a task may make.", a.Caps.ToolCalls)
	}
	return a.keep(ctx)
}

// approved is when a person approved the task as it was shown to them; zero where it
// is of a person's own, or was allowed before anybody knew of it.
func (a *attempt) approved() time.Time {
	if a.task.HandoffID == "" {
		return time.Time{}
	}
	return a.task.CreatedAt
}

// answer takes the turn. A provider that says too much is ended.
func (a *attempt) answer(ctx context.Context, t Turn) (reply Reply, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	room := int(max(0, a.Caps.Output-a.written()))
	defer func() {
		if cause := recover(); cause != nil {
			err = &Fault{Kind: FaultFailed, Text: "The provider failed.", Cause: fmt.Errorf("panic: %v\n%s", cause, debug.Stack())}
		}
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
			return
		}
		if _, ok := errors.AsType[*Fault](err); err != nil && !ok {
			err = &Fault{Kind: FaultFailed, Text: "The provider failed.", Cause: err}
		}
	}()
	return a.provider.Take(ctx, t, func(text string) {
		if !a.speech.add(text, room) {
			end(a.outputOver())
		}
	})
}

func (a *attempt) outputOver() *limitError {
	return limitf(limitOutput, "The agents wrote more than the %d bytes that a task may.", a.Caps.Output)
}

// written is how many bytes the task's agents wrote in earlier rounds.
func (a *attempt) written() (bytes int64) {
	for _, r := range a.earlier {
		bytes += writtenIn(workspace.Turn{Text: r.Text, Calls: r.Calls})
	}
	return bytes
}

func writtenIn(t workspace.Turn) int64 {
	bytes := len(t.Text)
	for _, c := range t.Calls {
		bytes += len(c.Name) + len(c.Arguments)
	}
	return int64(bytes)
}

// turnOf is what is kept of a reply. Calls whose arguments are no JSON object are
// a fault of the provider.
func turnOf(r Reply) (workspace.Turn, error) {
	bare := workspace.Turn{Text: r.Text, Model: r.Model, TokensIn: max(0, r.TokensIn), TokensOut: max(0, r.TokensOut)}
	if r.Rehearsed {
		bare.Model = rehearsal
	}
	t := bare
	for i, c := range r.Calls {
		arguments := c.Arguments
		if len(arguments) == 0 {
			arguments = jsontext.Value("{}")
		}
		if !arguments.IsValid() || arguments.Kind() != '{' {
			return bare, &Fault{Kind: FaultGarbage, Text: "The model called a tool with arguments that are not a JSON object."}
		}
		if c.ID == "" {
			c.ID = fmt.Sprintf("call-%d", i+1)
		}
		t.Calls = append(t.Calls, workspace.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(arguments)})
	}
	return t, nil
}

// keep keeps the turn and counts its calls, before any of them is made.
func (a *attempt) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing) // what was answered is not asked again
	defer cancel()
	use := workspace.Use{ToolCalls: int64(len(a.turn.Calls)), Tokens: a.tokens}
	err := a.whileHeld(ctx, func(tx access.Tx) (bool, error) {
		ok, err := a.Store.KeepTurn(ctx, tx, a.ref, a.turn, use)
		if err != nil || !ok {
			return ok, err
		}
		return true, a.account(ctx, tx, use)
	})
	if err == nil {
		a.tokens, a.allowed.booked = 0, 0
	}
	return err
}

// whileHeld runs a unit of work that changes nothing where the round is lost.
func (a *attempt) whileHeld(ctx context.Context, f func(tx access.Tx) (ok bool, err error)) error {
	return a.Units.Write(ctx, func(tx access.Tx) error {
		ok, err := f(tx)
		if err == nil && !ok {
			return errLost
		}
		return err
	})
}
