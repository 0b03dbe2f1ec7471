package workspace

import (
	"context"
	"strconv"

	"github.com/osfoundry/osfoundry/internal/access"
)

// List lists the tasks of the permit's session, for people, newest first.
func (s *Tasks) List(ctx context.Context, tx access.Tx, p access.Permit, open bool, page Page) (Listing[ListedTask], error) {
	if err := p.Covers(access.KindSession, access.RightView); err != nil {
		return Listing[ListedTask]{}, err
	}
	if p.Principal().IsConnection() { // which sees its own only
		return Listing[ListedTask]{}, access.Refuse(access.HumanRequired, "Only a person can do this, in the web app.")
	}
	return s.list(ctx, tx, p, TaskFilter{Open: open}, page)
}

// Own lists the tasks of the permit's session that its connection requested, or
// proposed the handoff of, newest first.
func (s *Tasks) Own(ctx context.Context, tx access.Tx, p access.Permit, open bool, page Page) (Listing[ListedTask], error) {
	if err := p.Seated(access.KindSession, access.SeatObserver); err != nil {
		return Listing[ListedTask]{}, err
	}
	return s.list(ctx, tx, p, TaskFilter{ConnectionID: p.Principal().ConnectionID, Open: open}, page)
}

func (s *Tasks) list(ctx context.Context, tx access.Tx, p access.Permit, f TaskFilter, page Page) (Listing[ListedTask], error) {
	rows, err := s.store.TasksOf(ctx, tx, p.Workspace(), p.ID(), f, Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(t ListedTask) string { return t.ID }), err
}

// One reads a task of the permit's session, for people.
func (s *Tasks) One(ctx context.Context, tx access.Tx, p access.Permit, taskID string) (ListedTask, error) {
	key, err := s.forPeople(p, taskID, access.RightView)
	if err != nil {
		return ListedTask{}, err
	}
	return s.one(ctx, tx, key)
}

// Rounds lists the rounds of a task of the permit's session in order, for people,
// with what was said and called. Page.After is the number of a round.
func (s *Tasks) Rounds(ctx context.Context, tx access.Tx, p access.Permit, taskID string, page Page) (Listing[Round], error) {
	key, err := s.forPeople(p, taskID, access.RightView)
	if err != nil {
		return Listing[Round]{}, err
	}
	after, err := strconv.ParseInt(page.After, 10, 64)
	if err != nil {
		after = 0 // the beginning
	}
	rows, err := s.store.TaskRounds(ctx, tx, key, after, page.Limit+1)
	return Cut(rows, page.Limit, func(r Round) string { return strconv.FormatInt(r.Number, 10) }), err
}

// OwnResult reads a task that the permit is for, with the part of its result that
// r asks for. The permit was made for a task of the connection's own.
func (s *Tasks) OwnResult(ctx context.Context, tx access.Tx, p access.Permit, r TextRange) (ListedTask, TextPart, error) {
	if err := p.Seated(access.KindTask, access.SeatObserver); err != nil {
		return ListedTask{}, TextPart{}, err
	}
	session, _ := p.Loaded().(Session)
	t, err := s.one(ctx, tx, TaskKey{p.Workspace(), session.ID, p.ID()})
	if err != nil {
		return ListedTask{}, TextPart{}, err
	}
	if t.ConnectionID != p.Principal().ConnectionID {
		return ListedTask{}, TextPart{}, access.Refuse(access.NotYours, "This %s was not made by this connection.", access.KindTask)
	}
	if r.Offset < 0 || r.Offset > t.Chars {
		return ListedTask{}, TextPart{}, refuseFaults(faultf("/offset", "lies behind the end: the result has %d characters", t.Chars))
	}
	return t, partOf(t.Result, t.Chars, r.Offset, r.MaxChars), nil
}

func (s *Tasks) one(ctx context.Context, tx access.Tx, key TaskKey) (ListedTask, error) {
	t, ok, err := s.store.OneTask(ctx, tx, key)
	if err == nil && !ok {
		err = unknownTask()
	}
	return t, err
}

// forPeople is the key of a task of the permit's session, for a person with the
// right on it.
func (s *Tasks) forPeople(p access.Permit, taskID string, right access.Right) (TaskKey, error) {
	if err := p.Covers(access.KindSession, right); err != nil {
		return TaskKey{}, err
	}
	if p.Principal().IsConnection() {
		return TaskKey{}, access.Refuse(access.HumanRequired, "Only a person can do this, in the web app.")
	}
	return TaskKey{p.Workspace(), p.ID(), taskID}, nil
}

// unknownTask has one text for what is elsewhere and for what never was.
func unknownTask() error { return access.Refuse(access.NotFound, "There is no task with this ID.") }
