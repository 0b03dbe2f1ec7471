package workspace

import (
	"context"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Queue brings rounds to whoever works on them.
type Queue interface {
	// Enqueue adds the job of a round in tx: it exists if and only if tx commits,
	// and starts soon after.
	Enqueue(ctx context.Context, tx access.Tx, taskID string, round int64) error
}

// queueRetry is when a connection that has too many queued tasks may try again, in
// milliseconds: about how long a short task takes.
const queueRetry int64 = 10_000

// RequestRun queues a task that the permit's connection asks for, under the Runner
// seat that it was given. It also gives the task's place in the queue of its
// session. MaxRounds 0 means DefaultMaxRounds; the session's own cap lowers it.
func (s *Tasks) RequestRun(ctx context.Context, tx access.Tx, p access.Permit, goal string, maxRounds int64) (t Task, position int64, err error) {
	if err := p.Seated(access.KindSession, access.SeatRunner); err != nil {
		return Task{}, 0, err
	}
	session, err := s.sessionToWorkIn(p)
	if err != nil {
		return Task{}, 0, err
	}
	waiting, err := s.store.QueuedRequests(ctx, tx, p.Principal().ConnectionID)
	if err != nil {
		return Task{}, 0, err
	}
	if waiting >= s.config.QueuedRequests {
		return Task{}, 0, access.Refuse(access.RateLimited, "This connection has %d queued tasks, the most it may. Wait until one has begun.", waiting).
			With("retry_after_ms", queueRetry).With("limit", s.config.QueuedRequests)
	}
	if t, err = newTask(session, goal, maxRounds); err != nil {
		return Task{}, 0, err
	}
	t.ConnectionID = p.Principal().ConnectionID
	if err := s.queueTask(ctx, tx, p, &t); err != nil {
		return Task{}, 0, err
	}
	position, err = s.store.QueuePosition(ctx, tx, t.SessionID, t.ID)
	return t, position, err
}

// Queue queues a task for the person who has the permit, which is for its session.
func (s *Tasks) Queue(ctx context.Context, tx access.Tx, p access.Permit, goal string, maxRounds int64) (ListedTask, error) {
	if err := p.Covers(access.KindSession, access.RightEdit); err != nil {
		return ListedTask{}, err
	}
	if p.Principal().IsConnection() {
		return ListedTask{}, access.Refuse(access.HumanRequired, "Only a person can do this, in the web app.")
	}
	session, err := s.sessionToWorkIn(p)
	if err != nil {
		return ListedTask{}, err
	}
	t, err := newTask(session, goal, maxRounds)
	if err != nil {
		return ListedTask{}, err
	}
	t.UserID = p.Principal().UserID
	if err := s.queueTask(ctx, tx, p, &t); err != nil {
		return ListedTask{}, err
	}
	return s.one(ctx, tx, TaskKey{t.WorkspaceID, t.SessionID, t.ID})
}

// QueueHandoff queues the task of a handoff that is being accepted: its goal is the
// proposal, as it was shown. P is the permit of who accepts. A handoff that has a
// task already is AlreadyDecided.
func (s *Tasks) QueueHandoff(ctx context.Context, tx access.Tx, p access.Permit, session Session, h Handoff) (Task, error) {
	if err := p.Covers(access.KindSession, access.RightEdit); err != nil {
		return Task{}, err
	}
	if err := takesWork(session, p.Principal(), s.config.PublicURL); err != nil {
		return Task{}, err
	}
	t := taskIn(session, h.asGoal(), h.MaxRounds)
	t.HandoffID, t.ConnectionID, t.UserID = h.ID, h.ConnectionID, p.Principal().UserID
	err := s.queueTask(ctx, tx, p, &t)
	return t, err
}

// asGoal is the proposal as the goal of a task, with all that was shown.
func (h Handoff) asGoal() string {
	goal := h.Goal
	if h.ContextSummary != "" {
		goal += "\n\nContext:\n" + h.ContextSummary
	}
	if h.RequestedOutput != "" {
		goal += "\n\nExpected output:\n" + h.RequestedOutput
	}
	return goal
}

// newTask is a task of the session as it is now, if what was asked for fits.
func newTask(session Session, goal string, maxRounds int64) (Task, error) {
	faults := goalFaults("/goal", goal)
	if maxRounds < 0 || maxRounds > MaxAskedRounds {
		faults = append(faults, faultf("/max_rounds", "takes 1 to %d, got %d", MaxAskedRounds, maxRounds))
	}
	if faults != nil {
		return Task{}, refuseFaults(faults...)
	}
	return taskIn(session, goal, maxRounds), nil
}

// taskIn is a task with what the session is made of at this moment.
func taskIn(session Session, goal string, maxRounds int64) Task {
	if maxRounds == 0 {
		maxRounds = DefaultMaxRounds
	}
	return Task{
		WorkspaceID: session.WorkspaceID, SessionID: session.ID, Goal: goal, MaxRounds: min(maxRounds, session.MaxRounds),
		Agents: session.Agents, Done: session.Done, Type: session.Type, State: TaskQueued,
	}
}

// queueTask keeps the task with its first round and the job of it.
func (s *Tasks) queueTask(ctx context.Context, tx access.Tx, p access.Permit, t *Task) error {
	if len(t.Agents) == 0 {
		return access.Refuse(access.Conflict, "This session has no agents.")
	}
	t.ID, t.CreatedAt = NewID(), s.now()
	ok, err := s.store.AddTask(ctx, tx, *t, t.Agents[0].Slug)
	if err != nil {
		return err
	}
	if !ok {
		return access.Refuse(access.AlreadyDecided, "This handoff was accepted before.").With("state", "accepted")
	}
	if err := s.queue.Enqueue(ctx, tx, t.ID, 1); err != nil {
		return err
	}
	data := map[string]any{}
	if t.HandoffID != "" {
		data["handoff_id"] = t.HandoffID
	}
	return s.record(ctx, tx, p, t.ID, "task.queued", data)
}

// sessionToWorkIn is the session that the check read along with the permit, unless
// it is in the archive.
func (s *Tasks) sessionToWorkIn(p access.Permit) (Session, error) {
	session, err := loadedSession(p)
	if err != nil {
		return Session{}, err
	}
	return session, takesWork(session, p.Principal(), s.config.PublicURL)
}

// takesWork refuses what an archived session does not take: runs, handoffs and mail.
func takesWork(session Session, who access.Principal, publicURL string) error {
	switch {
	case !session.Archived():
		return nil
	case who.IsConnection():
		return access.Refuse(access.HumanRequired, "This session is in the archive. A person must restore it before anything can be done in it.").
			With("url", publicURL+"/sessions/"+session.ID)
	}
	return access.Refuse(access.Conflict, "This session is in the archive. Restore it first.")
}

// goalFaults says what is wrong with a goal.
func goalFaults(pointer, goal string) []Fault {
	if strings.TrimFunc(goal, blank) == "" {
		return []Fault{faultf(pointer, "must not be blank")}
	}
	return proseFaults(pointer, goal, MaxTaskGoal)
}

// record writes an event of the principal about a task of the permit's session.
func (s *Tasks) record(ctx context.Context, tx access.Tx, p access.Permit, taskID, event string, data map[string]any) error {
	session, _ := p.Loaded().(Session)
	place := TaskPlace{TaskID: taskID, WorkspaceID: p.Workspace(), ProjectID: p.Project(), SessionID: session.ID}
	return s.events.Record(ctx, tx, p.Principal(), place.event(event, data))
}
