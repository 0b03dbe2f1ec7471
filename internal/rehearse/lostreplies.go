package rehearse

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
)

// parallel is how many calls a host makes at once.
const parallel = 8

// Losses say how many run requests a host makes and how bad the network is.
type Losses struct {
	Calls   int     `json:"calls"`
	Drop    float64 `json:"drop"` // share of the attempts whose answer is lost, 0 to 1
	Seed    uint64  `json:"seed"`
	Retries int     `json:"retries"` // at most, for each call
}

// fates is what will become of each attempt of each call. It is decided before the
// first call is made, so that the same seed gives the same numbers however the
// calls interleave. Half of the lost answers are lost together with the request,
// before it took effect; the last attempt of a call always arrives, or a call
// could end without any task and the count of tasks would say two things at once.
func (l Losses) fates() [][]loss {
	r := rand.New(rand.NewPCG(l.Seed, 0))
	all := make([][]loss, l.Calls)
	for call := range all {
		for attempt := range l.Retries + 1 {
			fate := kept
			lost, early := r.Float64() < l.Drop, r.Float64() < 0.5
			switch {
			case lost && early && attempt < l.Retries:
				fate = before
			case lost:
				fate = after
			}
			all[call] = append(all[call], fate)
		}
	}
	return all
}

// LossRun is what one host left behind on a server that keeps the key or ignores it.
type LossRun struct {
	KeyIgnored bool `json:"key_ignored"`

	// What follows from the losses before any call is made.
	ExpectedTasks      int `json:"expected_tasks"`
	ExpectedDuplicates int `json:"expected_duplicates"`

	Tasks      int `json:"tasks"`
	Duplicates int `json:"duplicates"` // tasks beyond the first of a call

	Attempts    int `json:"attempts"`     // requests that were sent
	LostBefore  int `json:"lost_before"`  // of them, before they took effect
	LostAfter   int `json:"lost_after"`   // of them, after they did
	Requeued    int `json:"requeued"`     // retries that reached the server after an earlier attempt of the call had queued
	Replayed    int `json:"replayed"`     // answers that said so
	Unanswered  int `json:"unanswered"`   // calls that never got an answer
	OtherAnswer int `json:"other_answer"` // answers that were no queued task
}

// AsExpected reports whether the tasks are those that the losses and the rule
// about keys lead to.
func (r LossRun) AsExpected() bool {
	return r.Tasks == r.ExpectedTasks && r.Duplicates == r.ExpectedDuplicates && r.OtherAnswer == 0
}

// count adds up one call's attempts: those until an answer arrives.
func (r *LossRun) count(fates []loss) {
	queued := false
	for _, fate := range fates {
		r.Attempts++
		switch {
		case fate == before:
			r.LostBefore++
			continue
		case queued:
			r.Requeued++
		}
		queued = true
		if fate == kept {
			return
		}
		r.LostAfter++
	}
	r.Unanswered++
}

// LostReplies makes run requests over a network that loses answers, retries each
// as often as it may with the same key and arguments, and counts the tasks that
// are left. An error is of the machine, never of what the server did.
func LostReplies(ctx context.Context, l Losses, ignoreKeys bool, progress Progress) (run LossRun, err error) {
	m := newModel(PerCall)
	m.ignoreKeys = ignoreKeys
	id, keys := m.connect([]string{scopeRead, scopeWrite, scopeRun})
	m.connections[id].projects[projectA] = true
	m.sessions["session"] = &session{project: projectA, seats: map[string]seat{id: runner}}
	s, err := serve(m)
	if err != nil {
		return run, err
	}
	defer s.close()
	fates := l.fates()
	var arrived atomic.Int64
	s.lose = func(r *http.Request) loss {
		arrived.Add(1)
		return fateOf(fates, r)
	}
	h := newHost(s.url)
	defer h.close()

	run = LossRun{KeyIgnored: ignoreKeys}
	for _, f := range fates {
		run.count(f)
	}
	run.ExpectedTasks = l.Calls
	if ignoreKeys {
		run.ExpectedDuplicates = run.Requeued
		run.ExpectedTasks += run.Requeued
	}
	counted := run.Unanswered
	run.Unanswered = 0
	if err := requestAll(ctx, h, keys[0], l, &run, progress); err != nil {
		return run, err
	}
	if run.Unanswered != counted || int(arrived.Load()) != run.Attempts {
		return run, fmt.Errorf("the network lost more than it should: %d attempts and %d calls without answer, want %d and %d",
			arrived.Load(), run.Unanswered, run.Attempts, counted)
	}
	m.change(func(m *model) {
		goals := map[string]bool{}
		for _, t := range m.tasks {
			goals[t.goal] = true
		}
		run.Tasks, run.Duplicates = len(m.tasks), len(m.tasks)-len(goals)
	})
	return run, nil
}

// fateOf finds what was decided for the request.
func fateOf(fates [][]loss, r *http.Request) loss {
	var call, attempt int
	_, err := fmt.Sscanf(r.Header.Get(attemptHeader), "%d/%d", &call, &attempt)
	if err != nil || call < 0 || call >= len(fates) || attempt < 0 || attempt >= len(fates[call]) {
		return kept
	}
	return fates[call][attempt]
}

// answer is what a call came to in the end.
type answer struct {
	outcome outcome
	lost    bool // every attempt
	err     error
}

// requestAll makes all calls, some at once, and counts their answers.
func requestAll(ctx context.Context, h *host, as credentials, l Losses, run *LossRun, progress Progress) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	calls, answers := make(chan int), make(chan answer)
	var workers sync.WaitGroup
	for range parallel {
		workers.Go(func() {
			for call := range calls {
				answers <- requestOne(ctx, h, as, call, l.Retries)
			}
		})
	}
	go func() {
		defer close(calls)
		for call := range l.Calls {
			calls <- call
		}
	}()
	var failed error
	for done := range l.Calls {
		progress(done, l.Calls, "run requests")
		a := <-answers
		switch {
		case a.err != nil:
			failed = a.err
			stop()
		case a.lost:
			run.Unanswered++
		case !a.outcome.allowed() || a.outcome.result.TaskID == "":
			run.OtherAnswer++
		case a.outcome.result.Replayed:
			run.Replayed++
		}
	}
	workers.Wait()
	return failed
}

// requestOne makes one call: the same key and arguments until an answer comes.
func requestOne(ctx context.Context, h *host, as credentials, call, retries int) (a answer) {
	args := arguments{SessionID: "session", Goal: fmt.Sprintf("goal %d", call), Key: fmt.Sprintf("rehearsal-%06d", call)}
	for attempt := range retries + 1 {
		if ctx.Err() != nil {
			return answer{err: ctx.Err()}
		}
		o, err := h.attempt(ctx, as, "request_session_run", args, fmt.Sprintf("%d/%d", call, attempt))
		if err == nil {
			return answer{outcome: o}
		}
	}
	return answer{lost: true, err: ctx.Err()}
}
