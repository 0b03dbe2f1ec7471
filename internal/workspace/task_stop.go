package workspace

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Stop stops a task of the permit's session that is not over. What it did stays.
// A round that runs is told at once in this process (Stopping) and sees it in its
// row elsewhere; it can't write any more from now on. A task that is over is
// AlreadyDecided with its state.
func (s *Tasks) Stop(ctx context.Context, tx access.Tx, p access.Permit, taskID string) (ListedTask, error) {
	key, err := s.forPeople(p, taskID, access.RightEdit)
	if err != nil {
		return ListedTask{}, err
	}
	who := p.Principal()
	ok, err := s.store.StopTask(ctx, tx, key, who.UserID, "stopped_by_person: "+who.UserName+" stopped the task.", s.now())
	if err != nil {
		return ListedTask{}, err
	}
	t, err := s.one(ctx, tx, key)
	if err != nil {
		return ListedTask{}, err
	}
	if !ok {
		return ListedTask{}, access.Refuse(access.AlreadyDecided, "This task is %s already.", t.State).With("state", string(t.State))
	}
	tx.AfterCommit(func() { s.stopping.stop(taskID) })
	return t, s.record(ctx, tx, p, taskID, "task.ended", map[string]any{"state": string(TaskStopped)})
}

// Resume settles what becomes of a task of the permit's session that waits for a
// person, because it began something outside with an outcome that nobody knows:
// "again" queues it anew and lets that be done again, "stop" stops it. A task that
// does not wait is AlreadyDecided with its state.
func (s *Tasks) Resume(ctx context.Context, tx access.Tx, p access.Permit, taskID, decision string) (ListedTask, error) {
	key, err := s.forPeople(p, taskID, access.RightEdit)
	if err != nil {
		return ListedTask{}, err
	}
	switch decision {
	case "again":
		return s.again(ctx, tx, p, key)
	case "stop":
		if t, err := s.one(ctx, tx, key); err != nil || t.State != TaskWaiting {
			return ListedTask{}, cmp.Or(err, notWaiting(t))
		}
		return s.Stop(ctx, tx, p, taskID)
	}
	return ListedTask{}, refuseFaults(faultf("/decision", "must be again or stop"))
}

func (s *Tasks) again(ctx context.Context, tx access.Tx, p access.Permit, key TaskKey) (ListedTask, error) {
	if _, err := s.sessionToWorkIn(p); err != nil {
		return ListedTask{}, err
	}
	number, ok, err := s.store.ResumeTask(ctx, tx, key)
	if err != nil {
		return ListedTask{}, err
	}
	t, err := s.one(ctx, tx, key)
	if err != nil || !ok {
		return ListedTask{}, cmp.Or(err, notWaiting(t))
	}
	if err := s.queue.Enqueue(ctx, tx, key.TaskID, number); err != nil {
		return ListedTask{}, err
	}
	return t, s.record(ctx, tx, p, key.TaskID, "task.queued", map[string]any{"number": number})
}

func notWaiting(t ListedTask) error {
	return access.Refuse(access.AlreadyDecided, "This task does not wait for a person: it is %s.", t.State).With("state", string(t.State))
}

// Stopping tells whoever runs a round that its task was stopped in this process.
// What other processes stopped is seen in the row (Rounds.RoundHeld).
type Stopping struct {
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by task ID; guarded by mu
}

// Watch gives a channel that is closed when the task is stopped. Done ends the
// watch; call it.
func (s *Stopping) Watch(taskID string) (stopped <-chan struct{}, done func()) {
	c := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[string][]chan struct{}{}
	}
	s.waiting[taskID] = append(s.waiting[taskID], c)
	return c, func() { s.leave(taskID, c) }
}

func (s *Stopping) leave(taskID string, c chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.waiting[taskID], func(other chan struct{}) bool { return other == c })
	if s.waiting[taskID] = left; len(left) == 0 {
		delete(s.waiting, taskID)
	}
}

func (s *Stopping) stop(taskID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.waiting[taskID] {
		close(c)
	}
	delete(s.waiting, taskID)
}
