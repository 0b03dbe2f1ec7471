package workspace

import "sync"

// Stopping tells whoever runs a round that its task was stopped in this process.
// What other processes stopped is seen in the row (RoundStore.RoundHeld).
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
	left := s.waiting[taskID][:0]
	for _, other := range s.waiting[taskID] {
		if other != c {
			left = append(left, other)
		}
	}
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
