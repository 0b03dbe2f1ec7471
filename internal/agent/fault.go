package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// A turn that failed is taken again after 1, 2, 4 and 8 seconds, or when its
// provider asks for it; then the task fails.
const (
	maxFaults  = 5
	firstPause = time.Second
	maxPause   = 10 * time.Minute // whatever a provider asks for
)

// give says what becomes of a round whose attempt ended before its end. It is
// written down even if whoever asked for the attempt is leaving.
func (a *attempt) give(parent context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), closing)
	defer cancel()
	said := a.speech.said()
	if a.turn.Text == "" {
		a.turn.Text = said
	}
	limit, limited := errors.AsType[*limitError](err)
	fault, faulty := errors.AsType[*Fault](err)
	switch {
	case errors.Is(err, errLost):
		return err
	case limited:
		return a.stop(ctx, limit)
	case errors.Is(err, errUnknownOutcome):
		return a.wait(ctx, a.round.EffectAt)
	case parent.Err() != nil:
		return a.interrupt(ctx, parent.Err())
	case faulty:
		return a.fail(ctx, fault)
	}
	return err // of the database: the row says where the round is
}

// stop stops the task.
func (a *attempt) stop(ctx context.Context, limit *limitError) error {
	if room := int(max(0, a.Caps.Output-a.written())); len(a.turn.Text) > room {
		a.turn.Text = a.turn.Text[:room]
	}
	return a.finally(ctx, workspace.RoundStopped, *a.stopped(limit))
}

// finally ends round and task.
func (a *attempt) finally(ctx context.Context, state workspace.RoundState, end workspace.TaskEnd) error {
	use := workspace.Use{Tokens: a.tokens, Took: a.Now().Sub(a.began)}
	return a.Units.Write(ctx, func(tx access.Tx) error { return a.endTask(ctx, tx, state, end, use) })
}

// interrupt gives the round back because the server stops. A turn with effects
// outside was cut in its middle, if it was begun: its mark stays.
func (a *attempt) interrupt(ctx context.Context, why error) error {
	if err := a.giveBack(ctx, a.round.Faults, "", true); err != nil {
		return err
	}
	return why
}

// giveBack makes the round wait for another attempt.
func (a *attempt) giveBack(ctx context.Context, faults int64, reason string, effect bool) error {
	use := workspace.Use{Tokens: a.tokens, Took: a.Now().Sub(a.began)}
	return a.whileHeld(ctx, func(tx access.Tx) (bool, error) {
		ok, err := a.Store.GiveBack(ctx, tx, a.ref, faults, reason, effect, use)
		if err != nil || !ok {
			return ok, err
		}
		return true, a.account(ctx, tx, use)
	})
}

// fail says what becomes of a round whose turn failed: it is taken again later,
// or its task fails. Where the turn may have had effects outside it is not taken
// again, but for a fault that came before them.
func (a *attempt) fail(ctx context.Context, fault *Fault) error {
	a.Log.InfoContext(ctx, "turn failed", "task", a.ref.TaskID, "round", a.ref.Number, "attempt", a.ref.Attempt, "err", fault, "cause", fault.Cause)
	external := a.provider != nil && a.provider.External()
	if external && outcomeUnknown(fault.Kind) {
		return a.wait(ctx, a.began)
	}
	switch fault.Kind {
	case FaultLarge:
		return a.stop(ctx, limitf(limitOutput, "%s", fault.Text))
	case FaultTools:
		return a.stop(ctx, limitf(limitTools, "%s", fault.Text))
	}
	reason := fmt.Sprintf("provider_%s: %s", fault.Kind, fault.Text)
	faults := a.round.Faults + 1
	again := fault.Again() && (!external || notBegun(fault.Kind))
	if !again || faults >= maxFaults {
		return a.finally(ctx, workspace.RoundFailed, workspace.TaskEnd{State: workspace.TaskFailed, Reason: reason})
	}
	if err := a.giveBack(ctx, faults, reason, false); err != nil {
		return err
	}
	return &Later{pause(faults, fault.After)}
}

// outcomeUnknown reports whether a turn with effects outside was cut in its
// middle. A command that ended by itself has told its outcome.
func outcomeUnknown(k FaultKind) bool { return k == FaultSlow || k == FaultCut }

// notBegun reports whether the fault came before anything was done.
func notBegun(k FaultKind) bool { return k == FaultDown || k == FaultBusy }

// pause is how long to wait after so many faults in one round.
func pause(faults int64, asked time.Duration) time.Duration {
	return min(max(firstPause<<(faults-1), asked), maxPause)
}

// wait makes the task wait for a person, because nobody knows what became of
// something that was begun outside.
func (a *attempt) wait(ctx context.Context, since time.Time) error {
	reason := fmt.Sprintf("unknown_outcome: What %s began at %s was interrupted, and may have had an effect. It is not repeated before a person says so.",
		a.agent.Slug, since.UTC().Format(time.RFC3339))
	use := workspace.Use{Took: a.Now().Sub(a.began)}
	return a.whileHeld(ctx, func(tx access.Tx) (bool, error) {
		if err := a.job.Complete(ctx, tx); err != nil {
			return false, err
		}
		ok, err := a.Store.WaitTask(ctx, tx, a.task, a.ref, reason)
		if err != nil || !ok {
			return ok, err
		}
		return true, a.account(ctx, tx, use)
	})
}
