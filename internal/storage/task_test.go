package storage_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// workplace is a database with sessions where tasks are worked on.
//
//	atlas: alpha with room, a session of mara's; claude and codex, connections of ben, have seats in it
//	globex: gamma with theirs
type workplace struct{ library }

func eachWorkplace(t *testing.T, f func(w workplace)) {
	eachLibrary(t, func(l library) {
		w := workplace{l}
		for _, s := range [][]any{{"room", "atlas", "alpha"}, {"other", "atlas", "beta"}, {"theirs", "globex", "gamma"}} {
			w.exec(`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes,
				local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
				VALUES ($1, $2, $3, 'team', $1, 'mara', 1, '[{"slug":"lead","provider":"rehearsal"},{"slug":"aide","provider":"rehearsal"}]', '{"phrase":"done"}', 5, 7, 8, 9, 0, 0, 0, 1, 'mara', 1, 'mara')`, s...)
		}
		for _, c := range []string{"claude", "codex"} {
			w.exec(`INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes, consent_address, family_revoked_at, family_reason, created_at, last_used_at)
				VALUES ($1, 'atlas', 'ben', 'client', $2, $3, '', '', 'active', 'osfoundry:read', '', 0, '', 1, 0)`, c, "Name of "+c, c+"-slug")
			w.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ($1, 'alpha', 'mara', 1)`, c)
			w.exec(`INSERT INTO session_seats (session_id, connection_id, seat, given_by, created_at) VALUES ('room', $1, 'runner', 'mara', 1)`, c)
		}
		f(w)
	})
}

// write runs f in a unit of work that writes.
func (w workplace) write(f func(ctx context.Context, tx access.Tx) error) {
	w.Helper()
	if err := w.db.Write(context.Background(), func(tx access.Tx) error { return f(context.Background(), tx) }); err != nil {
		w.Fatal(err)
	}
}

// did runs a write that answers whether it did anything.
func (w workplace) did(f func(ctx context.Context, tx access.Tx) (bool, error)) (ok bool) {
	w.Helper()
	w.write(func(ctx context.Context, tx access.Tx) (err error) {
		ok, err = f(ctx, tx)
		return err
	})
	return ok
}

func newTask(id string) workspace.Task {
	return workspace.Task{
		ID: id, WorkspaceID: "atlas", SessionID: "room", ConnectionID: "claude", Goal: "Goal of " + id, MaxRounds: 3, Type: workspace.SessionTeam,
		Agents: []workspace.Agent{{Slug: "lead", Instructions: "Lead.", Provider: "rehearsal", Tools: []string{"search"}}}, Done: workspace.Done{Phrase: "done"},
		State: workspace.TaskQueued, CreatedAt: time.UnixMilli(1000).UTC(),
	}
}

func (w workplace) queue(tasks ...workspace.Task) {
	w.Helper()
	for _, t := range tasks {
		if !w.did(func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Tasks{}.AddTask(ctx, tx, t, "lead")
		}) {
			w.Fatalf("task %s was not added", t.ID)
		}
	}
}

func (w workplace) task(id string) (t workspace.ListedTask) {
	w.Helper()
	w.read(func(ctx context.Context, tx access.Tx) (err error) {
		var ok bool
		t, ok, err = storage.Tasks{}.OneTask(ctx, tx, keyOf(id))
		if err == nil && !ok {
			err = fmt.Errorf("there is no task %s", id)
		}
		return err
	})
	return t
}

func keyOf(id string) workspace.TaskKey {
	return workspace.TaskKey{WorkspaceID: "atlas", SessionID: "room", TaskID: id}
}

func TestATaskIsReadAsItWasQueued(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		want := newTask("t1")
		w.queue(want)
		got := w.task("t1")
		if !reflect.DeepEqual(got.Task, want) {
			w.Errorf("got %+v, want %+v", got.Task, want)
		}
		if got.QueuePosition != 1 || got.Connection != (workspace.Named{ID: "claude", Name: "Name of claude"}) || got.Slug != "claude-slug" || got.User != (workspace.Named{}) {
			w.Errorf("got %+v, want the first in the queue, by claude", got)
		}
		for _, key := range []workspace.TaskKey{{WorkspaceID: "globex", SessionID: "room", TaskID: "t1"}, {WorkspaceID: "atlas", SessionID: "other", TaskID: "t1"}, {WorkspaceID: "atlas", SessionID: "room", TaskID: "t2"}} {
			w.read(func(ctx context.Context, tx access.Tx) error {
				_, ok, err := storage.Tasks{}.OneTask(ctx, tx, key)
				rounds, err2 := storage.Tasks{}.TaskRounds(ctx, tx, key, 0, 9)
				if ok || len(rounds) != 0 {
					w.Errorf("found a task, or %d rounds, under %+v", len(rounds), key)
				}
				return errors.Join(err, err2)
			})
			stopped := w.did(func(ctx context.Context, tx access.Tx) (bool, error) {
				return storage.Tasks{}.StopTask(ctx, tx, key, "ben", "reason", time.UnixMilli(5))
			})
			if stopped {
				w.Errorf("stopped a task under %+v", key)
			}
		}
	})
}

func TestAHandoffHasOneTask(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.exec(`INSERT INTO handoffs (id, workspace_id, session_id, connection_id, goal, context_summary, requested_output, max_rounds, state, reason, created_at, expires_at, decided_at, decided_by)
			VALUES ('offer', 'atlas', 'room', 'claude', 'g', 'c', 'o', 3, 'accepted', '', 1, 0, 1, 'mara')`)
		var wait sync.WaitGroup
		var mu sync.Mutex
		added := 0
		for i := range 8 {
			wait.Go(func() {
				task := newTask(fmt.Sprintf("t%d", i))
				task.HandoffID, task.UserID = "offer", "mara"
				err := w.db.Write(context.Background(), func(tx access.Tx) error {
					ok, err := storage.Tasks{}.AddTask(context.Background(), tx, task, "lead")
					mu.Lock()
					defer mu.Unlock()
					if ok {
						added++
					}
					return err
				})
				if err != nil {
					w.Errorf("add a task of the handoff: %v", err)
				}
			})
		}
		wait.Wait()
		var tasks, rounds int
		if err := w.raw.QueryRow(`SELECT (SELECT COUNT(*) FROM tasks), (SELECT COUNT(*) FROM rounds)`).Scan(&tasks, &rounds); err != nil {
			w.Fatal(err)
		}
		if added != 1 || tasks != 1 || rounds != 1 {
			w.Errorf("%d were told that they queued it; there are %d tasks and %d rounds; want 1 of each", added, tasks, rounds)
		}
	})
}

func TestListsOfTasksAreNewestFirstAndAsNarrowAsAsked(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		byPerson, byOther, elsewhere := newTask("t3"), newTask("t4"), newTask("t5")
		byPerson.ConnectionID, byPerson.UserID = "", "ben"
		byOther.ConnectionID = "codex"
		elsewhere.SessionID = "other"
		w.queue(newTask("t1"), newTask("t2"), byPerson, byOther, elsewhere, newTask("t6"))
		w.exec(`UPDATE tasks SET state = 'succeeded', result = 'secret', chars = 6 WHERE id = 't2'`)
		w.exec(`UPDATE tasks SET state = 'waiting' WHERE id = 't1'`)
		for name, c := range map[string]struct {
			session   string
			filter    workspace.TaskFilter
			page      workspace.Page
			want      []string
			positions []int64
		}{
			"all":            {"room", workspace.TaskFilter{}, workspace.Page{Limit: 9}, []string{"t6", "t4", "t3", "t2", "t1"}, []int64{3, 2, 1, 0, 0}},
			"of one":         {"room", workspace.TaskFilter{ConnectionID: "claude"}, workspace.Page{Limit: 9}, []string{"t6", "t2", "t1"}, []int64{3, 0, 0}},
			"open of one":    {"room", workspace.TaskFilter{ConnectionID: "claude", Open: true}, workspace.Page{Limit: 9}, []string{"t6", "t1"}, []int64{3, 0}},
			"going on":       {"room", workspace.TaskFilter{}, workspace.Page{After: "t4", Limit: 2}, []string{"t3", "t2"}, []int64{1, 0}},
			"other session":  {"other", workspace.TaskFilter{}, workspace.Page{Limit: 9}, []string{"t5"}, []int64{1}},
			"foreign":        {"theirs", workspace.TaskFilter{}, workspace.Page{Limit: 9}, nil, nil},
			"of nobody here": {"room", workspace.TaskFilter{ConnectionID: "nobody"}, workspace.Page{Limit: 9}, nil, nil},
		} {
			w.read(func(ctx context.Context, tx access.Tx) error {
				rows, err := storage.Tasks{}.TasksOf(ctx, tx, "atlas", c.session, c.filter, c.page)
				var ids []string
				var positions []int64
				for _, r := range rows {
					ids, positions = append(ids, r.ID), append(positions, r.QueuePosition)
					if r.Result != "" {
						w.Errorf("%s: the list holds the result of %s", name, r.ID)
					}
				}
				if !slices.Equal(ids, c.want) || !slices.Equal(positions, c.positions) {
					w.Errorf("%s: got %q at %v, want %q at %v", name, ids, positions, c.want, c.positions)
				}
				return err
			})
		}
		w.read(func(ctx context.Context, tx access.Tx) error {
			n, err := storage.Tasks{}.QueuedRequests(ctx, tx, "claude")
			if n != 2 {
				w.Errorf("claude has %d queued requests, want t5 and t6", n)
			}
			return err
		})
	})
}

// A handoff's task is no request of its connection: a person queued it.
func TestTasksOfHandoffsDoNotCountAsRequests(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		accepted := newTask("t1")
		accepted.UserID = "mara"
		w.queue(accepted, newTask("t2"))
		w.read(func(ctx context.Context, tx access.Tx) error {
			n, err := storage.Tasks{}.QueuedRequests(ctx, tx, "claude")
			if n != 1 {
				w.Errorf("claude has %d queued requests, want 1", n)
			}
			return err
		})
	})
}

func TestAStoppedTaskStaysStopped(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.queue(newTask("t1"))
		ref := w.begin("t1", 1, "here")
		stop := func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Tasks{}.StopTask(ctx, tx, keyOf("t1"), "ben", "stopped_by_person: enough", time.UnixMilli(9000))
		}
		if !w.did(stop) || w.did(stop) {
			w.Error("the task was not stopped, or twice")
		}
		got := w.task("t1")
		if got.State != workspace.TaskStopped || got.Reason != "stopped_by_person: enough" || got.Stopper.Name != "ben" || !got.EndedAt.Equal(time.UnixMilli(9000)) {
			w.Errorf("got %+v, want a task that ben stopped", got)
		}
		w.lost("a stopped round", ref)
		if _, ok := w.tryBegin("t1", 1, "there"); ok {
			w.Error("a round of the stopped task was begun")
		}
		if ended := w.did(func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.EndTask(ctx, tx, "t1", workspace.TaskEnd{State: workspace.TaskSucceeded, Result: "late"}, time.UnixMilli(9500))
		}); ended || w.task("t1").Result != "" {
			w.Error("the stopped task was ended again")
		}
	})
}

func TestAWaitingTaskGoesOnWhenAPersonSaysSo(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.queue(newTask("t1"))
		ref := w.begin("t1", 1, "here")
		w.holds("mark", func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.MarkEffect(ctx, tx, ref, time.UnixMilli(4000))
		})
		resume := func(ctx context.Context, tx access.Tx) (bool, error) {
			number, ok, err := storage.Tasks{}.ResumeTask(ctx, tx, keyOf("t1"))
			if ok && number != 1 {
				w.Errorf("round %d goes on, want 1", number)
			}
			return ok, err
		}
		if w.did(resume) {
			w.Error("a running task was resumed")
		}
		w.holds("wait", func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.WaitTask(ctx, tx, ref, "unknown_outcome: who knows")
		})
		if got := w.task("t1"); got.State != workspace.TaskWaiting || got.Reason != "unknown_outcome: who knows" {
			w.Errorf("got %s (%s), want a waiting task", got.State, got.Reason)
		}
		w.lost("a round of a waiting task", ref)
		if _, ok := w.tryBegin("t1", 1, "there"); ok {
			w.Error("a round of the waiting task was begun")
		}
		if got := w.rounds("t1"); got[0].State != workspace.RoundQueued || !got[0].EffectAt.Equal(time.UnixMilli(4000)) {
			w.Errorf("the round is %+v, want it queued with its effect", got[0])
		}
		if !w.did(resume) || w.did(resume) {
			w.Error("the task was not resumed, or twice")
		}
		b, ok := w.tryBegin("t1", 1, "there")
		if !ok || !b.Round.EffectAt.IsZero() || b.Round.Attempt != 2 {
			w.Errorf("got %+v, %v, want the second attempt, free of the first one's effect", b.Round, ok)
		}
	})
}
