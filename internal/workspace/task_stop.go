package workspace

import (
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

// Resume queues a task of the permit's session again that waits for a person: they
// say that what was begun outside, with an outcome that nobody knows, may be done
// again. A task that does not wait is AlreadyDecided with its state.
func (s *Tasks) Resume(ctx context.Context, tx access.Tx, p access.Permit, taskID string) (ListedTask, error) {
	key, err := s.forPeople(p, taskID, access.RightEdit)
	if err != nil {
		return ListedTask{}, err
	}
	if _, err := s.sessionToWorkIn(p); err != nil {
		return ListedTask{}, err
	}
	number, ok, err := s.store.ResumeTask(ctx, tx, key)
	if err != nil {
		return ListedTask{}, err
	}
	t, err := s.one(ctx, tx, key)
	if err != nil {
		return ListedTask{}, err
	}
	if !ok {
		return ListedTask{}, access.Refuse(access.AlreadyDecided, "This task does not wait for a person: it is %s.", t.State).With("state", string(t.State))
	}
	if err := s.queue.Enqueue(ctx, tx, taskID, number); err != nil {
		return ListedTask{}, err
	}
	return t, s.record(ctx, tx, p, taskID, "task.queued", map[string]any{"number": number})
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
