package agent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/tool"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Gate is the way of agents to the workspace: *tool.Catalogue.
type Gate interface {
	// OfferAgent offers those of the named tools that are for agents.
	OfferAgent(names []string) ([]tool.Offer, error)
	// CallAgent calls a tool. The same round and number act once. An error is an
	// *access.Error, or tool.ErrUnknown.
	CallAgent(ctx context.Context, call tool.AgentCall) ([]byte, error)
}

// Providers finds who takes the turns of agents.
type Providers interface {
	// Provider finds the provider that the workspace calls by the name. One that is
	// not there, or not set up, is a *Fault; so is one that was changed after a person
	// approved what it would do, where approved is not zero (security.md TH22).
	Provider(ctx context.Context, workspaceID, name string, approved time.Time) (Provider, error)
	// Local reports whether the provider takes turns on this server, or on one of its
	// operator's own. One that is not there does not.
	Local(ctx context.Context, workspaceID, name string) (bool, error)
}

// Condition runs the commands that tell whether a loop is done.
type Condition interface {
	// Holds runs the argument vector and reports whether it exited with 0. It ends
	// soon after ctx does. An error says that it could not be started.
	Holds(ctx context.Context, taskID string, command []string) (bool, error)
}

// Config is what a Runner is made of.
type Config struct {
	Units     access.Work
	Store     Store
	Gate      Gate
	Providers Providers
	Condition Condition
	Stopping  *workspace.Stopping // tells of tasks that were stopped here
	Caps      Caps
	Now       func() time.Time
	Log       *slog.Logger
}

// Runner takes rounds. It keeps nothing between them: any Runner on the same
// database can take any round.
type Runner struct{ Config }

// NewRunner makes a runner.
func NewRunner(c Config) *Runner { return &Runner{c} }

// Job is a round that the queue brings.
type Job struct {
	TaskID string
	Number int64
	Node   string // that takes it
	// Complete marks the job as done in tx. It fails if the job was taken away
	// meanwhile, and the unit of work with it.
	Complete func(ctx context.Context, tx access.Tx) error
}

// Later gives a job back until its delay has passed.
type Later struct{ Delay time.Duration }

func (l *Later) Error() string { return "later: " + l.Delay.String() }

// closing is how long the end of a round may take to be written down when
// whoever asked for it is leaving.
const closing = 20 * time.Second

// errLost says that the round is not this attempt's any more: its task was
// stopped, or another attempt took it over.
var errLost = errors.New("the round was taken away")

// Work takes a round. It returns nil when the job is over: the round was
// committed, failed for good or was stopped, or there is nothing to do. A *Later
// says when to try again; any other error gives the job back, as the end of ctx
// does, which is for a server that stops.
func (r *Runner) Work(ctx context.Context, job Job) error {
	a, err := r.begin(ctx, job)
	if err != nil || a == nil {
		return err
	}
	held, release := a.hold(ctx)
	err = a.take(held)
	release()
	if err == nil {
		err = a.commit(ctx)
	} else {
		err = a.give(ctx, err)
	}
	if errors.Is(err, errLost) { // whoever took it away says what becomes of it
		return nil
	}
	return err
}

// attempt is one attempt at a round.
type attempt struct {
	*Runner
	job     Job
	task    workspace.Task
	session workspace.Session
	round   workspace.Round
	from    workspace.Author // of the goal
	ref     access.RoundRef
	agent   workspace.Agent // as it was approved
	course  course
	last    int64 // number of the task's last round

	began   time.Time
	day     string // whose budgets were debited
	allowed allowance

	earlier []workspace.Round // committed, in order
	mail    []workspace.Mail
	offered map[string]bool // tools
	speech  speech

	provider Provider // nil until it was found, and where the turn was kept
	turn     workspace.Turn
	tokens   int64 // of the turn, where the task does not count them yet
	sent     []workspace.Mail
	finished *finish
	holds    bool // the command of a loop's done-condition exited with 0
}

// begin takes the round's row and debits the budgets. It gives nil where nothing
// is left to do.
func (r *Runner) begin(ctx context.Context, job Job) (*attempt, error) {
	var a *attempt
	err := r.Units.Write(ctx, func(tx access.Tx) error {
		a = nil
		b, ok, err := r.Store.BeginRound(ctx, tx, job.TaskID, job.Number, job.Node)
		if err != nil || !ok {
			return err
		}
		begun := r.attempt(job, b)
		if len(b.Round.Calls) == 0 && b.Round.EffectAt.IsZero() {
			err = begun.debit(ctx, tx)
		} else { // the turn was taken, and paid for, or will not be
			begun.allowed = allowance{time: max(time.Minute, r.Caps.Time-b.Task.Spent), late: r.Caps.timeOver()}
		}
		if limit, ok := errors.AsType[*limitError](err); ok {
			return begun.refuse(ctx, tx, limit)
		}
		a = begun
		return err
	})
	if err != nil || a == nil {
		return nil, err
	}
	return a, r.Units.Read(ctx, func(tx access.Tx) error { return a.look(ctx, tx) })
}

// GiveUp ends the task of a round that could not be brought to an end in many
// attempts. Last is what the last one returned, nil if that is not known.
func (r *Runner) GiveUp(ctx context.Context, job Job, last error) error {
	reason := "provider_failed: The round was interrupted too often."
	if refused, ok := errors.AsType[*access.Error](last); ok {
		reason += " " + refused.Message
	}
	return r.Units.Write(ctx, func(tx access.Tx) error {
		b, ok, err := r.Store.BeginRound(ctx, tx, job.TaskID, job.Number, job.Node)
		if err != nil {
			return err
		}
		if !ok {
			return job.Complete(ctx, tx)
		}
		return r.attempt(job, b).endTask(ctx, tx, workspace.RoundFailed, workspace.TaskEnd{State: workspace.TaskFailed, Reason: reason}, workspace.Use{})
	})
}

func (r *Runner) attempt(job Job, b workspace.Begun) *attempt {
	now := r.Now()
	a := &attempt{
		Runner: r, job: job, task: b.Task, session: b.Session, round: b.Round, from: b.From,
		ref:    access.RoundRef{TaskID: b.Task.ID, Number: b.Round.Number, Attempt: b.Round.Attempt},
		course: courseOf(b.Task.Type), last: r.Caps.rounds(b.Task),
		began: now, day: now.UTC().Format(time.DateOnly),
	}
	a.agent = a.course.agent(b.Task.Agents, b.Round.Number, a.last)
	if named := (workspace.Session{Agents: b.Task.Agents}).Agent(b.Round.Agent); named.Slug != "" {
		a.agent = named
	}
	return a
}

// look reads what was said before. What counts as before lies in the past of the
// round's first attempt, so that every attempt is told the same.
func (a *attempt) look(ctx context.Context, tx access.Tx) error {
	var err error
	if a.earlier, err = a.Store.RoundsOf(ctx, tx, a.task.ID); err != nil {
		return err
	}
	until := a.task.StartedAt
	if n := len(a.earlier); n > 0 {
		until = a.earlier[n-1].EndedAt
	}
	a.mail, err = a.Store.MailFor(ctx, tx, a.task, a.agent.Slug, until, maxMail)
	return err
}

// refuse stops the task before its round, because nothing is left for it.
func (a *attempt) refuse(ctx context.Context, tx access.Tx, limit *limitError) error {
	if err := a.look(ctx, tx); err != nil {
		return err
	}
	return a.endTask(ctx, tx, workspace.RoundStopped, *a.stopped(limit), workspace.Use{})
}

// take takes the turn, unless an earlier attempt kept one, and calls its tools.
func (a *attempt) take(ctx context.Context) error {
	if len(a.round.Calls) > 0 {
		a.turn = workspace.Turn{Text: a.round.Text, Calls: a.round.Calls, Model: a.round.Model, TokensIn: a.round.TokensIn, TokensOut: a.round.TokensOut}
		offers, err := a.offers()
		if err != nil {
			return err
		}
		a.offered = names(offers)
	} else if err := a.ask(ctx); err != nil {
		return err
	}
	if err := a.callTools(ctx); err != nil {
		return err
	}
	if len(a.task.Done.Command) == 0 || a.task.Type != workspace.SessionLoop {
		return nil
	}
	return a.tryCondition(ctx)
}

// commit ends the round: the job, the row, the mail, the figures, and the next
// round or the end of the task, all in one unit of work.
func (a *attempt) commit(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	over := a.course.over(a)
	if over == nil {
		over = a.outOfRounds()
	}
	use := workspace.Use{Rounds: 1, Tokens: a.tokens, Took: a.Now().Sub(a.began)}
	return a.Units.Write(ctx, func(tx access.Tx) error {
		if over != nil {
			return a.endTask(ctx, tx, workspace.RoundDone, *over, use)
		}
		if err := a.endRound(ctx, tx, workspace.RoundDone, "", use); err != nil {
			return err
		}
		next := a.round.Number + 1
		return a.Store.NextRound(ctx, tx, a.task, next, a.course.agent(a.task.Agents, next, a.last).Slug)
	})
}

// outOfRounds ends a task that would go on, if this was its last round.
func (a *attempt) outOfRounds() *workspace.TaskEnd {
	if a.round.Number < a.last {
		return nil
	}
	return a.stopped(limitf(limitRounds, "All %d rounds of the task were used before it came to an end.", a.last))
}

// endRound ends the round in tx, with everything it leaves behind.
func (a *attempt) endRound(ctx context.Context, tx access.Tx, state workspace.RoundState, reason string, use workspace.Use) error {
	if err := a.job.Complete(ctx, tx); err != nil {
		return err
	}
	if state == workspace.RoundDone { // mail of a round comes before its end, so that the next one is told
		for _, m := range a.sent {
			if err := a.Store.SendMail(ctx, tx, m); err != nil {
				return err
			}
		}
	}
	ok, err := a.Store.EndRound(ctx, tx, a.ref, workspace.RoundEnd{State: state, Reason: reason, Turn: a.turn}, use)
	if err != nil {
		return err
	}
	if !ok {
		return errLost
	}
	return a.account(ctx, tx, use)
}

// endTask ends the round and its task.
func (a *attempt) endTask(ctx context.Context, tx access.Tx, state workspace.RoundState, end workspace.TaskEnd, use workspace.Use) error {
	reason := ""
	if state != workspace.RoundDone {
		reason = end.Reason
	}
	if err := a.endRound(ctx, tx, state, reason, use); err != nil {
		return err
	}
	end.Result = a.labelled(end.Result)
	return a.Store.EndTask(ctx, tx, a.task, end)
}

// stopped ends a task that ran into a limit. What was said last is still told.
func (a *attempt) stopped(limit *limitError) *workspace.TaskEnd {
	text, by := a.lastWord()
	return &workspace.TaskEnd{State: workspace.TaskStopped, Reason: limit.Error(), Result: text, ResultBy: by}
}

// lastWord is what was said last, and by whom.
func (a *attempt) lastWord() (text, by string) {
	if a.turn.Text != "" {
		return a.turn.Text, a.agent.Slug
	}
	for _, r := range slices.Backward(a.earlier) {
		if r.Text != "" {
			return r.Text, r.Agent
		}
	}
	return "", ""
}
