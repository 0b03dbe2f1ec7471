package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// MaxTaskGoal is how many code points the goal of a task has that a person or a
// connection asks for.
const MaxTaskGoal = 10_000

// TaskKey finds a task: its workspace and session come from a permit.
type TaskKey struct{ WorkspaceID, SessionID, TaskID string }

// ListedTask is a task as lists show it, without its agents and its result.
type ListedTask struct {
	Task
	QueuePosition int64  // among the queued tasks of its session, from 1; 0 unless it is queued
	Connection    Named  // that requested it or proposed its handoff; zero for a person's
	Slug          string // of that connection
	User          Named  // who queued or accepted it; zero where a connection requested it
	Stopper       Named  // who stopped it
}

// TaskFilter narrows a list of tasks.
type TaskFilter struct {
	ConnectionID string // only those it requested, or proposed the handoff of
	Open         bool   // only those that are not over
}

// TaskStore keeps tasks.
type TaskStore interface {
	// AddTask keeps a new task with its first round, for the agent. Ok is false if its
	// handoff has a task already.
	AddTask(ctx context.Context, tx access.Tx, t Task, agent string) (ok bool, err error)
	// QueuePosition is the number of queued tasks of the session up to this one.
	QueuePosition(ctx context.Context, tx access.Tx, sessionID, taskID string) (int64, error)
	// QueuedRequests counts the queued tasks that the connection requested by itself.
	QueuedRequests(ctx context.Context, tx access.Tx, connectionID string) (int64, error)
	// TasksOf lists tasks of the session, newest first, going on before page.After.
	TasksOf(ctx context.Context, tx access.Tx, workspaceID, sessionID string, f TaskFilter, page Page) ([]ListedTask, error)
	// OneTask reads one with all that it holds.
	OneTask(ctx context.Context, tx access.Tx, key TaskKey) (t ListedTask, ok bool, err error)
	// TaskRounds lists the rounds of a task of the session in order, whatever their
	// state, after the given number.
	TaskRounds(ctx context.Context, tx access.Tx, key TaskKey, after int64, limit int) ([]Round, error)
	// StopTask stops a task that is not over, with its open round.
	StopTask(ctx context.Context, tx access.Tx, key TaskKey, userID, reason string, now time.Time) (ok bool, err error)
	// ResumeTask queues a waiting task again. Its round, whose number it gives, may
	// do again what it had begun.
	ResumeTask(ctx context.Context, tx access.Tx, key TaskKey) (number int64, ok bool, err error)
}

// TaskConfig is what differs between installations.
type TaskConfig struct {
	QueuedRequests int64  // of one connection, at once (product.md §4: 50)
	PublicURL      string // under which people reach the web app, without a slash at the end
}

// Tasks is what people and connections do with tasks.
type Tasks struct {
	store    TaskStore
	queue    Queue
	events   *Events
	now      func() time.Time
	config   TaskConfig
	stopping Stopping
}

// NewTasks makes the service on its store, the queue, the events and the clock.
func NewTasks(store TaskStore, queue Queue, events *Events, now func() time.Time, c TaskConfig) *Tasks {
	return &Tasks{store: store, queue: queue, events: events, now: now, config: c}
}

// Stopping tells of tasks that this process stopped.
func (s *Tasks) Stopping() *Stopping { return &s.stopping }
