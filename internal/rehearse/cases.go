package rehearse

import (
	"context"
	"fmt"
	"strings"
)

// scene is one case: a contributor with a handoff of its own that waits for the
// owner, and another connection with a runner seat in the same session.
type scene struct {
	*desk
	me      string      // the contributor
	mine    credentials // all three scopes
	other   credentials // of the runner: all three scopes
	narrow  credentials // of the runner: without run
	key     string      // of its run request
	handoff string
	task    string // that its acceptance queued
	before  int    // tasks of earlier scenes
}

// act is something that somebody does in a scene.
type act func(ctx context.Context, s *scene) (outcome, error)

// cases let things happen to a handoff, and ask what the last of them came to and
// how many tasks it left.
func (d *desk) cases(ctx context.Context) (cases []Case, err error) {
	accept, decline := decision("accept"), decision("decline")
	for _, c := range []struct {
		what     string
		acts     []act
		expected string
		tasks    int
	}{
		{"cancel while pending", []act{withdraw}, "200 cancelled", 0},
		{"cancel, cancel again", []act{withdraw, withdraw}, "200 cancelled", 0},
		{"cancel, then accept", []act{withdraw, accept}, "409 already_decided: cancelled", 0},
		{"accept", []act{accept}, "200 accepted", 1},
		{"accept, then cancel", []act{accept, withdraw}, "200 already_decided: accepted", 1},
		{"accept, accept again", []act{accept, accept}, "409 already_decided: accepted", 1},
		{"decline, then cancel", []act{decline, withdraw}, "200 already_decided: declined", 0},
		{"decline, then accept", []act{decline, accept}, "409 already_decided: declined", 0},
		{"another connection cancels it", []act{otherWithdraws}, "200 not_yours", 0},
		{"its seat is taken, then cancel", []act{takeSeat, withdraw}, "200 seat_required: contributor", 0},
		{"its project is taken, then cancel", []act{takeProject, withdraw}, "200 not_in_project", 0},
		{"it is revoked, then cancel", []act{revoke, withdraw}, "200 connection_revoked", 0},
		{"accept, read the task", []act{accept, readResult}, "200 queued", 1},
		{"accept, another connection reads it", []act{accept, otherReadsResult}, "200 not_yours", 1},
		{"run: scope, contributor seat", []act{requestWithoutSeat}, "200 seat_required: runner", 0},
		{"run: runner seat, no run scope", []act{requestWithoutScope}, "403 insufficient_scope: " + strings.Join(scopeSets[3], " "), 0},
		{"run: scope and runner seat", []act{request}, "200 queued", 1},
		{"run, and again with its key", []act{request, request}, "200 queued again", 1},
		{"run, and its key for another goal", []act{request, requestElse}, "200 idempotency_mismatch", 1},
	} {
		s, err := d.scene(ctx)
		if err != nil {
			return nil, err
		}
		var last outcome
		for _, act := range c.acts {
			if last, err = act(ctx, s); err != nil {
				return nil, fmt.Errorf("%s: %w", c.what, err)
			}
		}
		cases = append(cases, Case{c.what, c.expected, last.detailed(), c.tasks, d.tasks() - s.before})
	}
	return cases, nil
}

func (d *desk) scene(ctx context.Context) (s *scene, err error) {
	all, narrow := []string{scopeRead, scopeWrite, scopeRun}, []string{scopeRead, scopeWrite}
	s = &scene{desk: d, key: d.newKey()}
	id, keys := d.seated(contributor, all)
	s.me, s.mine = id, keys[0]
	_, keys = d.seated(runner, all, narrow)
	s.other, s.narrow = keys[0], keys[1]
	s.before = d.tasks()
	s.handoff, err = d.propose(ctx, s.mine)
	return s, err
}

// detailed is the outcome with what else the answer says: the state, the seat that
// is needed, or the scopes to ask for.
func (o outcome) detailed() string {
	switch {
	case o.code == seatRequired:
		return o.String() + ": " + o.result.Needed
	case o.code == alreadyDecided:
		return o.String() + ": " + o.result.State
	case o.code == insufficientScope:
		return o.String() + ": " + o.scope
	}
	text := strings.TrimSpace(o.String() + " " + o.result.Status + o.result.State)
	if o.result.Replayed {
		text += " again"
	}
	return text
}

func (s *scene) cancelAs(ctx context.Context, as credentials) (outcome, error) {
	return s.host.call(ctx, as, "cancel_session_handoff", arguments{HandoffID: s.handoff})
}

func withdraw(ctx context.Context, s *scene) (outcome, error)       { return s.cancelAs(ctx, s.mine) }
func otherWithdraws(ctx context.Context, s *scene) (outcome, error) { return s.cancelAs(ctx, s.other) }

func decision(what string) act {
	return func(ctx context.Context, s *scene) (outcome, error) {
		o, err := s.host.decide(ctx, s.owner, s.handoff, what)
		s.change(func(m *model) { s.task = m.handoffs[s.handoff].task })
		return o, err
	}
}

func takeSeat(_ context.Context, s *scene) (outcome, error) {
	s.change(func(m *model) { delete(m.sessions[desksSession].seats, s.me) })
	return outcome{}, nil
}

func takeProject(_ context.Context, s *scene) (outcome, error) {
	s.change(func(m *model) { delete(m.connections[s.me].projects, projectA) })
	return outcome{}, nil
}

func revoke(_ context.Context, s *scene) (outcome, error) {
	s.change(func(m *model) { m.connections[s.me].revoked = true })
	return outcome{}, nil
}

func (s *scene) readAs(ctx context.Context, as credentials) (outcome, error) {
	return s.host.call(ctx, as, "read_session_task_result", arguments{SessionID: desksSession, TaskID: s.task})
}

func readResult(ctx context.Context, s *scene) (outcome, error)       { return s.readAs(ctx, s.mine) }
func otherReadsResult(ctx context.Context, s *scene) (outcome, error) { return s.readAs(ctx, s.other) }

func (s *scene) requestAs(ctx context.Context, as credentials, goal string) (outcome, error) {
	return s.host.call(ctx, as, "request_session_run", arguments{SessionID: desksSession, Goal: goal, Key: s.key})
}

func requestWithoutSeat(ctx context.Context, s *scene) (outcome, error) {
	return s.requestAs(ctx, s.mine, "a goal")
}

func requestWithoutScope(ctx context.Context, s *scene) (outcome, error) {
	return s.requestAs(ctx, s.narrow, "a goal")
}

func request(ctx context.Context, s *scene) (outcome, error) {
	return s.requestAs(ctx, s.other, "a goal")
}

func requestElse(ctx context.Context, s *scene) (outcome, error) {
	return s.requestAs(ctx, s.other, "another goal")
}
