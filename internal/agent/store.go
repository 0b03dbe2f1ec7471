package agent

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Store keeps tasks and their rounds. Each method runs in a unit of work of the
// runner's. Methods that name an attempt change nothing, and answer false, where
// that attempt of the round is not the one that runs: the task was stopped, or
// somebody else took the round over.
type Store interface {
	// BeginRound takes a round that waits, or one that another attempt left behind:
	// the attempt counts up, the text of earlier attempts goes, the task runs. False
	// says that nothing is left to do: the round is over, or its task is, or waits.
	BeginRound(ctx context.Context, tx access.Tx, taskID string, number int64, node string) (b workspace.Begun, ok bool, err error)
	// RoundHeld reports whether this attempt of the round still runs.
	RoundHeld(ctx context.Context, tx access.Tx, ref access.RoundRef) (ok bool, err error)
	// RoundsOf are the rounds of the task that were committed, in order.
	RoundsOf(ctx context.Context, tx access.Tx, taskID string) ([]workspace.Round, error)

	// DebitRound adds to what the task's session and workspace used on the day (UTC,
	// 2026-01-31), and says what they used by now, this too. It comes before what it
	// counts; use is less than nothing where less was used in the end.
	DebitRound(ctx context.Context, tx access.Tx, task workspace.Task, day string, use workspace.Use) (workspace.Spent, error)

	// MarkEffect says that something outside begins now, whose outcome the row does
	// not hold yet.
	MarkEffect(ctx context.Context, tx access.Tx, ref access.RoundRef) (ok bool, err error)
	// AppendText adds to what the agent says while it speaks.
	AppendText(ctx context.Context, tx access.Tx, ref access.RoundRef, text string) (ok bool, err error)
	// KeepTurn keeps a turn that asks for tools before they are called, so that
	// whoever takes the round over calls the same ones. It takes back MarkEffect, and
	// adds to the figures of the task.
	KeepTurn(ctx context.Context, tx access.Tx, ref access.RoundRef, turn workspace.Turn, use workspace.Use) (ok bool, err error)

	// EndRound commits the round and adds to the figures of the task.
	EndRound(ctx context.Context, tx access.Tx, ref access.RoundRef, end workspace.RoundEnd, use workspace.Use) (ok bool, err error)
	// NextRound adds the round of this number, and its job.
	NextRound(ctx context.Context, tx access.Tx, task workspace.Task, number int64, agent string) error
	// EndTask ends a task that is not over, and tells whoever waits for it.
	EndTask(ctx context.Context, tx access.Tx, task workspace.Task, end workspace.TaskEnd) error
	// GiveBack makes the round wait for another attempt. Faults is how often its
	// turns failed by now, and reason why. Where effect is false, MarkEffect is taken
	// back: nothing was begun, or its outcome is known.
	GiveBack(ctx context.Context, tx access.Tx, ref access.RoundRef, faults int64, reason string, effect bool, use workspace.Use) (ok bool, err error)
	// WaitTask makes the task wait for a person, who is told the reason. Its round
	// waits too, with its effect still marked.
	WaitTask(ctx context.Context, tx access.Tx, task workspace.Task, ref access.RoundRef, reason string) (ok bool, err error)

	// MailFor is the mail that a round of the task may show to the agent: what other
	// agents of the task wrote to it or to the whole team, and what people and
	// connections wrote to it or to all, with the answers that agents gave to
	// connections, in all tasks. Where a connection is behind the task, of the latter
	// only what that connection may read itself. At most limit until the moment, the
	// newest, in order.
	MailFor(ctx context.Context, tx access.Tx, task workspace.Task, agent string, until time.Time, limit int) ([]workspace.Mail, error)
	// MailAddress finds the connection with the external sender slug, if it is active
	// and has a seat in the session.
	MailAddress(ctx context.Context, tx access.Tx, task workspace.Task, slug string) (connectionID string, ok bool, err error)
	// SendMail posts mail of an agent, which gets its ID and its time here.
	SendMail(ctx context.Context, tx access.Tx, m workspace.Mail) error
}
