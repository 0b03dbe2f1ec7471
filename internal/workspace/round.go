package workspace

import (
	"context"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// MaxResult is how many code points of a result are kept.
const MaxResult = 200_000

// Begun is a round that was taken, with what its turn is made of.
type Begun struct {
	Task    Task
	Session Session // as it is now
	// Round holds Calls without results where an earlier attempt kept its turn: they
	// are called, and nobody is asked again. EffectAt is of an earlier attempt too.
	Round Round
	From  Author // of the goal: the connection, or the person who queued the task
}

// Use is what a round used, or less than nothing where that is given back.
type Use struct {
	Rounds    int64
	ToolCalls int64
	Tokens    int64
	Took      time.Duration
}

// Turn is what an agent said in a round, and the tools it asked for.
type Turn struct {
	Text      string
	Calls     []ToolCall
	Model     string // as the provider named it
	TokensIn  int64
	TokensOut int64
}

// RoundEnd is how a round ends.
type RoundEnd struct {
	State  RoundState // done, failed or stopped
	Reason string
	Turn
}

// TaskEnd is how a task ends.
type TaskEnd struct {
	State    TaskState // one that is over
	Reason   string    // that a person can read; "" where the state says all
	Result   string
	ResultBy string // slug of the agent whose word the result is
}

// GivenBack is what becomes of a round that its worker gives back.
type GivenBack struct {
	Faults int64  // turns that failed by now
	Reason string // of the last one; "" where it was only interrupted
	Effect bool   // what MarkEffect announced may have happened
	Use    Use
}

// RoundStore keeps rounds for whoever runs them. A method that names an attempt
// changes nothing and answers false where that attempt is not the one that runs:
// the task was stopped, or somebody else took the round over.
type RoundStore interface {
	// BeginRound takes the next round of a task that is queued or running: one that
	// waits, or one that another attempt left behind. Its attempt counts up and the
	// task runs; started says that it did not before. The text of earlier attempts
	// goes, unless a turn was kept or an effect is open. False says that nothing is
	// left to do: the round is over, or its task is, or waits.
	BeginRound(ctx context.Context, tx access.Tx, taskID string, number int64, node string, now time.Time) (b Begun, started, ok bool, err error)
	// RoundHeld reports whether this attempt of the round still runs.
	RoundHeld(ctx context.Context, tx access.Tx, ref access.RoundRef) (bool, error)
	// RoundsOf lists the rounds of the task that ended, in order.
	RoundsOf(ctx context.Context, tx access.Tx, taskID string) ([]Round, error)

	// MarkEffect writes down that something outside begins now.
	MarkEffect(ctx context.Context, tx access.Tx, ref access.RoundRef, now time.Time) (bool, error)
	// AppendText adds to what the agent says.
	AppendText(ctx context.Context, tx access.Tx, ref access.RoundRef, text string) (bool, error)
	// KeepTurn keeps a turn whose tools are about to be called, takes back MarkEffect
	// and adds to the figures of the task.
	KeepTurn(ctx context.Context, tx access.Tx, ref access.RoundRef, t Turn, use Use) (bool, error)
	// EndRound commits the round and adds to the figures of the task.
	EndRound(ctx context.Context, tx access.Tx, ref access.RoundRef, end RoundEnd, use Use, now time.Time) (bool, error)
	// GiveBack makes the round wait for another attempt and adds to the figures of
	// the task.
	GiveBack(ctx context.Context, tx access.Tx, ref access.RoundRef, g GivenBack) (bool, error)
	// WaitTask makes the task of the round wait for a person. The round is queued
	// again; its effect stays marked.
	WaitTask(ctx context.Context, tx access.Tx, ref access.RoundRef, reason string) (bool, error)

	// AddRound adds a queued round of the task; one that is there stays as it is.
	AddRound(ctx context.Context, tx access.Tx, t Task, number int64, agent string) error
	// EndTask ends a task that is queued or running, with its open round; false says
	// that it was over, or waits.
	EndTask(ctx context.Context, tx access.Tx, taskID string, end TaskEnd, now time.Time) (bool, error)
	// TaskPlace says where the task happens and who is behind it.
	TaskPlace(ctx context.Context, tx access.Tx, taskID string) (TaskPlace, error)
}

// TaskPlace is where a task happens and who is behind it.
type TaskPlace struct {
	TaskID       string
	WorkspaceID  string
	ProjectID    string
	SessionID    string
	OwnerID      string // of the session
	UserID       string // who queued or accepted the task; "" where a connection requested it
	ConnectionID string // "" for a person's
	Connection   string // display name of that connection
}

// Rounds is what whoever runs rounds does with them, within units of work of
// theirs. What happens is recorded as events, of whoever the task works for.
// Methods that name an attempt answer as those of RoundStore.
type Rounds struct {
	store    RoundStore
	spending SpendingStore
	mails    *Mails
	notices  *Notices
	queue    Queue
	events   *Events
	now      func() time.Time
}

// NewRounds makes the service on its stores, the services that it tells, the queue
// and the clock.
func NewRounds(store RoundStore, spending SpendingStore, mails *Mails, notices *Notices, queue Queue, events *Events, now func() time.Time) *Rounds {
	return &Rounds{store, spending, mails, notices, queue, events, now}
}

// BeginRound takes a round; see RoundStore.
func (s *Rounds) BeginRound(ctx context.Context, tx access.Tx, taskID string, number int64, node string) (b Begun, ok bool, err error) {
	b, started, ok, err := s.store.BeginRound(ctx, tx, taskID, number, node, s.now())
	if err != nil || !ok {
		return Begun{}, false, err
	}
	if started {
		if _, err := s.record(ctx, tx, taskID, "task.started", nil); err != nil {
			return Begun{}, false, err
		}
	}
	r := b.Round
	_, err = s.record(ctx, tx, taskID, "round.started", map[string]any{"number": r.Number, "agent": r.Agent, "attempt": r.Attempt})
	return b, err == nil, err
}

// RoundHeld reports whether this attempt of the round still runs.
func (s *Rounds) RoundHeld(ctx context.Context, tx access.Tx, ref access.RoundRef) (bool, error) {
	return s.store.RoundHeld(ctx, tx, ref)
}

// RoundsOf lists the rounds of the task that ended, in order.
func (s *Rounds) RoundsOf(ctx context.Context, tx access.Tx, taskID string) ([]Round, error) {
	return s.store.RoundsOf(ctx, tx, taskID)
}

// DebitRound adds to what the task's session and workspace used on the day, and
// says what they used by now; see SpendingStore.
func (s *Rounds) DebitRound(ctx context.Context, tx access.Tx, t Task, day string, use Use) (Spent, error) {
	return s.spending.DebitRound(ctx, tx, t, day, use)
}

// MarkEffect says that something outside begins now, whose outcome the row does
// not hold yet.
func (s *Rounds) MarkEffect(ctx context.Context, tx access.Tx, ref access.RoundRef) (bool, error) {
	return s.store.MarkEffect(ctx, tx, ref, s.now())
}

// AppendText adds to what the agent says while it speaks.
func (s *Rounds) AppendText(ctx context.Context, tx access.Tx, ref access.RoundRef, text string) (bool, error) {
	return s.store.AppendText(ctx, tx, ref, storable(text))
}

// KeepTurn keeps a turn before its tools are called; see RoundStore.
func (s *Rounds) KeepTurn(ctx context.Context, tx access.Tx, ref access.RoundRef, t Turn, use Use) (bool, error) {
	return s.store.KeepTurn(ctx, tx, ref, storableTurn(t), use)
}

// EndRound commits the round and adds to the figures of the task.
func (s *Rounds) EndRound(ctx context.Context, tx access.Tx, ref access.RoundRef, end RoundEnd, use Use) (bool, error) {
	end.Turn, end.Reason = storableTurn(end.Turn), storable(end.Reason)
	ok, err := s.store.EndRound(ctx, tx, ref, end, use, s.now())
	if err != nil || !ok {
		return false, err
	}
	_, err = s.record(ctx, tx, ref.TaskID, "round.ended", map[string]any{"number": ref.Number, "state": string(end.State)})
	return err == nil, err
}

// NextRound adds the round of this number, for the agent, and its job.
func (s *Rounds) NextRound(ctx context.Context, tx access.Tx, t Task, number int64, agent string) error {
	if err := s.store.AddRound(ctx, tx, t, number, agent); err != nil {
		return err
	}
	return s.queue.Enqueue(ctx, tx, t.ID, number)
}

// EndTask ends a task, and tells the person who queued it. One that is over by
// then, or waits, stays as it is.
func (s *Rounds) EndTask(ctx context.Context, tx access.Tx, t Task, end TaskEnd) error {
	end.Result, end.Reason = clip(storable(end.Result), MaxResult), storable(end.Reason)
	ok, err := s.store.EndTask(ctx, tx, t.ID, end, s.now())
	if err != nil || !ok {
		return err
	}
	place, err := s.record(ctx, tx, t.ID, "task.ended", map[string]any{"state": string(end.State)})
	if err != nil || place.UserID == "" {
		return err
	}
	return s.tell(ctx, tx, place, place.UserID, NoticeTaskEnded, end.State)
}

// GiveBack makes the round wait for another attempt. Faults is how often its turns
// failed by now, and reason why. Where effect is false, MarkEffect is taken back.
func (s *Rounds) GiveBack(ctx context.Context, tx access.Tx, ref access.RoundRef, faults int64, reason string, effect bool, use Use) (bool, error) {
	return s.store.GiveBack(ctx, tx, ref, GivenBack{Faults: faults, Reason: storable(reason), Effect: effect, Use: use})
}

// WaitTask makes the task wait for a person: the session's owner is told, and
// whoever queued the task.
func (s *Rounds) WaitTask(ctx context.Context, tx access.Tx, t Task, ref access.RoundRef, reason string) (bool, error) {
	ok, err := s.store.WaitTask(ctx, tx, ref, storable(reason))
	if err != nil || !ok {
		return false, err
	}
	place, err := s.record(ctx, tx, t.ID, "task.waiting", map[string]any{"number": ref.Number})
	if err != nil {
		return false, err
	}
	if err := s.tell(ctx, tx, place, place.OwnerID, NoticeTaskWaiting, TaskWaiting); err != nil {
		return false, err
	}
	if place.UserID == "" || place.UserID == place.OwnerID {
		return true, nil
	}
	err = s.tell(ctx, tx, place, place.UserID, NoticeTaskWaiting, TaskWaiting)
	return err == nil, err
}

func (s *Rounds) tell(ctx context.Context, tx access.Tx, place TaskPlace, userID string, kind NoticeType, state TaskState) error {
	return s.notices.Tell(ctx, tx, place.principal(), Notice{
		WorkspaceID: place.WorkspaceID, UserID: userID, Type: kind,
		About: NoticeAbout{SessionID: place.SessionID, TaskID: place.TaskID, State: state, ConnectionID: place.ConnectionID, Connection: place.Connection},
	})
}

// principal is who the task works for.
func (p TaskPlace) principal() access.Principal {
	return access.Principal{UserID: p.UserID, ConnectionID: p.ConnectionID}
}

// MailFor is the mail that a round of the task may show to the agent; see
// MailStore.AgentMail.
func (s *Rounds) MailFor(ctx context.Context, tx access.Tx, t Task, agent string, until time.Time, limit int) ([]Mail, error) {
	return s.mails.store.AgentMail(ctx, tx, t, agent, until, limit)
}

// MailAddress finds the connection that agents of the task can write to under its
// external sender slug; see MailStore.
func (s *Rounds) MailAddress(ctx context.Context, tx access.Tx, t Task, slug string) (connectionID string, ok bool, err error) {
	return s.mails.store.MailAddress(ctx, tx, t.SessionID, slug)
}

// SendMail posts mail of an agent, within its task.
func (s *Rounds) SendMail(ctx context.Context, tx access.Tx, m Mail) error {
	place, err := s.store.TaskPlace(ctx, tx, m.TaskID)
	if err != nil {
		return err
	}
	return s.mails.sendFromTask(ctx, tx, place, m)
}

// record writes an event about a task, of whoever it works for, and says where it
// happened.
func (s *Rounds) record(ctx context.Context, tx access.Tx, taskID, event string, data map[string]any) (TaskPlace, error) {
	place, err := s.store.TaskPlace(ctx, tx, taskID)
	if err != nil {
		return TaskPlace{}, err
	}
	return place, s.events.Record(ctx, tx, place.principal(), place.event(event, data))
}

// event is an event about the task, which is one of its session.
func (p TaskPlace) event(name string, data map[string]any) Event {
	if data == nil {
		data = map[string]any{}
	}
	data["task_id"] = p.TaskID
	return Event{WorkspaceID: p.WorkspaceID, ProjectID: p.ProjectID, Type: name, Kind: access.KindSession, ResourceID: p.SessionID, Data: data}
}

// storable is text as both databases hold it: valid UTF-8 without U+0000, which
// models and commands can put out.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func storableTurn(t Turn) Turn {
	calls := make([]ToolCall, len(t.Calls))
	for i, c := range t.Calls {
		c.ID, c.Name, c.Arguments, c.Result = storable(c.ID), storable(c.Name), storable(c.Arguments), storable(c.Result)
		calls[i] = c
	}
	t.Text, t.Model, t.Calls = storable(t.Text), storable(t.Model), calls
	return t
}

// clip is the beginning of a text, at most so many code points of it.
func clip(text string, most int64) string {
	part, _ := cutChars(text, 0, most)
	return part
}
