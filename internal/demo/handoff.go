package demo

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
)

// The second half of the story: work that a person decides on, and work that a
// person allowed earlier (product.md §4).

// session is the place of the second half, with who takes part.
type session struct {
	id     string
	worker *probe.Session // a runner with all scopes
	plain  *probe.Session // a contributor without osfoundry:run
	other  *probe.Session // an observer with all scopes
	task   string         // of the accepted handoff
	handed string         // the handoff
}

func (x *session) in(more object) object {
	arguments := object{"session_type": "agent", "session_id": x.id}
	for name, value := range more {
		arguments[name] = value
	}
	return arguments
}

func (x *session) close() {
	for _, s := range []*probe.Session{x.worker, x.plain, x.other} {
		if s != nil {
			s.Close()
		}
	}
}

// work plays the second half.
func (s *story) work(ctx context.Context, endpoint string) error {
	x := &session{}
	defer x.close()
	if err := s.openSession(ctx, endpoint, x); err != nil {
		return err
	}
	run := x.in(object{"goal": "List what is here.", "idempotency_key": "demo-run-0001"})
	var first string
	for _, step := range []func() error{
		func() error { return s.propose(ctx, x) },
		func() error { return s.pending(ctx, x) },
		func() error { return s.accept(ctx, x) },
		func() error { return s.result(ctx, x) },
		func() error {
			return s.call(ctx, "14", "cancel it after it was accepted", "200 already_decided", x.worker, "cancel_session_handoff", object{"handoff_id": x.handed})
		},
		func() error {
			return s.call(ctx, "15", "another connection reads the task", "200 not_yours", x.other, "read_session_task_result", x.in(object{"task_id": x.task}))
		},
		func() error {
			return s.call(ctx, "16", "run with a token that can't run", "403 insufficient_scope", x.plain, "request_session_run", run)
		},
		func() error {
			return s.call(ctx, "17", "run without the Runner seat", "200 seat_required", x.other, "request_session_run", run)
		},
		func() (err error) {
			first, err = s.run(ctx, "18", "run with both: it is queued", x.worker, run, "")
			return err
		},
		func() error {
			_, err := s.run(ctx, "19", "the same key: the first task again", x.worker, run, first)
			return err
		},
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// openSession makes a session with one agent that needs no model, and lets three
// connections in.
func (s *story) openSession(ctx context.Context, endpoint string, x *session) error {
	var room made
	err := s.owner.do(ctx, http.MethodPost, "/projects/"+s.place.a+"/agent-sessions", object{
		"type": "agent", "title": "Launch research", "agents": []object{{"slug": "researcher", "instructions": "Read what is here and sum it up.",
			"provider": "rehearsal", "tools": []string{"list_project_resources", "read_note", "search"}}},
	}, &room)
	if err != nil {
		return err
	}
	x.id = room.ID
	reading := []string{"osfoundry:read", "osfoundry:write"}
	for _, who := range []struct {
		name, seat string
		scopes     []string
		session    **probe.Session
	}{
		{"Demo runner", "runner", append(reading, "osfoundry:run"), &x.worker},
		{"Demo contributor", "contributor", reading, &x.plain},
		{"Demo observer", "observer", append(reading, "osfoundry:run"), &x.other},
	} {
		person := probe.Person{Email: email, Password: password, Workspace: s.place.workspace, Scopes: who.scopes}
		if *who.session, err = probe.Connect(ctx, endpoint, probe.Options{Name: who.name, Person: person}); err != nil {
			return fmt.Errorf("connect %s: %w", who.name, err)
		}
		if err := s.seat(ctx, x, who.seat); err != nil {
			return err
		}
	}
	return nil
}

// seat gives the newest connection the project and a seat.
func (s *story) seat(ctx context.Context, x *session, seat string) error {
	all, err := s.owner.connections(ctx, s.place.workspace)
	if err != nil {
		return err
	}
	newest := all[len(all)-1].ID
	if err := s.owner.do(ctx, http.MethodPost, "/projects/"+s.place.a+"/connections", object{"connection_id": newest}, nil); err != nil {
		return err
	}
	return s.owner.do(ctx, http.MethodPut, "/agent-sessions/"+x.id+"/connections/"+newest, object{"seat": seat}, nil)
}

func (s *story) propose(ctx context.Context, x *session) error {
	started := time.Now()
	r, err := x.worker.Call(ctx, "propose_session_handoff", x.in(object{
		"goal": "Sum up the launch plan.", "context_summary": "The plan lies in project A.", "requested_output": "Five lines.", "idempotency_key": "demo-handoff-01",
	}))
	if err != nil {
		return fmt.Errorf("step 10: %w", err)
	}
	var proposed struct {
		ID     string `json:"handoff_id"`
		Status string `json:"status"`
	}
	if err := r.Read(&proposed); err != nil {
		return fmt.Errorf("step 10: %w", err)
	}
	x.handed = proposed.ID
	s.note("10", "a handoff is proposed", "200 pending", outcome(r)+" "+proposed.Status, started)
	return nil
}

func (s *story) pending(ctx context.Context, x *session) error {
	started := time.Now()
	var shown listed
	if err := s.owner.do(ctx, http.MethodGet, "/agent-sessions/"+x.id+"/external-handoffs", object{}, &shown); err != nil {
		return err
	}
	s.note("11", "its owner sees it", "1 handoff", fmt.Sprintf("%d handoff", len(shown.Items)), started)
	return nil
}

func (s *story) accept(ctx context.Context, x *session) error {
	started := time.Now()
	var queued struct {
		TaskID string `json:"task_id"`
	}
	err := s.owner.do(ctx, http.MethodPost, "/agent-sessions/"+x.id+"/external-handoffs/"+x.handed+"/decision", object{"decision": "accept"}, &queued)
	if err != nil {
		return err
	}
	got := "nothing queued"
	if x.task = queued.TaskID; x.task != "" {
		got = "run queued"
	}
	s.note("12", "the owner accepts: Accept and run", "run queued", got, started)
	return nil
}

// patience is how long the story waits for a task of the rehearsal, and glance how
// often it looks.
const (
	patience = time.Minute
	glance   = 20 * time.Millisecond
)

// result asks until the task is over.
func (s *story) result(ctx context.Context, x *session) error {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look := time.NewTicker(glance)
	defer look.Stop()
	for {
		r, err := x.worker.Call(ctx, "read_session_task_result", x.in(object{"task_id": x.task}))
		if err != nil {
			return fmt.Errorf("step 13: %w", err)
		}
		var task struct {
			Status string `json:"status"`
		}
		if err := r.Read(&task); err != nil {
			return fmt.Errorf("step 13: %w", err)
		}
		if r.IsError || task.Status != "queued" && task.Status != "running" {
			s.note("13", "it runs, and the result is read back", "200 succeeded", outcome(r)+" "+task.Status, started)
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("step 13: the task is still %s after %v", task.Status, patience)
		}
	}
}

// run requests a run. First is the task that it must be, "" for a new one.
func (s *story) run(ctx context.Context, number, what string, as *probe.Session, arguments object, first string) (task string, err error) {
	started := time.Now()
	r, err := as.Call(ctx, "request_session_run", arguments)
	if err != nil {
		return "", fmt.Errorf("step %s: %w", number, err)
	}
	var queued struct {
		TaskID   string `json:"task_id"`
		Status   string `json:"status"`
		Replayed bool   `json:"replayed"`
	}
	if err := r.Read(&queued); err != nil {
		return "", fmt.Errorf("step %s: %w", number, err)
	}
	want, got := "200 queued", outcome(r)+" "+queued.Status
	if first != "" {
		want, got = "200 the first task", outcome(r)+" another task"
		if queued.TaskID == first && queued.Replayed {
			got = want
		}
	}
	s.note(number, what, want, got, started)
	return queued.TaskID, nil
}

// note keeps what a step came to.
func (s *story) note(number, what, want, got string, started time.Time) {
	s.steps = append(s.steps, Step{Number: number, What: what, Want: want, Got: got, Duration: time.Since(started)})
}
