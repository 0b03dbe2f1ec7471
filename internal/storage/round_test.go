package storage_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

func (w workplace) tryBegin(task string, number int64, node string) (b workspace.Begun, ok bool) {
	w.Helper()
	ok = w.did(func(ctx context.Context, tx access.Tx) (ok bool, err error) {
		b, _, ok, err = storage.Rounds{}.BeginRound(ctx, tx, task, number, node, time.UnixMilli(3000))
		return ok, err
	})
	return b, ok
}

func (w workplace) begin(task string, number int64, node string) access.RoundRef {
	w.Helper()
	b, ok := w.tryBegin(task, number, node)
	if !ok {
		w.Fatalf("round %d of %s was not begun", number, task)
	}
	return access.RoundRef{TaskID: task, Number: number, Attempt: b.Round.Attempt}
}

// holds fails the test unless f did something.
func (w workplace) holds(what string, f func(ctx context.Context, tx access.Tx) (bool, error)) {
	w.Helper()
	if !w.did(f) {
		w.Fatalf("%s: found nothing, want the round", what)
	}
}

func (w workplace) rounds(task string) (rounds []workspace.Round) {
	w.Helper()
	w.read(func(ctx context.Context, tx access.Tx) (err error) {
		rounds, err = storage.Tasks{}.TaskRounds(ctx, tx, keyOf(task), 0, 99)
		return err
	})
	return rounds
}

// writes are all that an attempt can do to its round.
func writes(ref access.RoundRef) map[string]func(ctx context.Context, tx access.Tx) (bool, error) {
	use := workspace.Use{Rounds: 1, ToolCalls: 2, Tokens: 3, Took: time.Second}
	turn := workspace.Turn{Text: "late", Calls: []workspace.ToolCall{{ID: "9", Name: "late"}}}
	return map[string]func(ctx context.Context, tx access.Tx) (bool, error){
		"mark": func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.MarkEffect(ctx, tx, ref, time.UnixMilli(7))
		},
		"append": func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.AppendText(ctx, tx, ref, "late")
		},
		"keep": func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.KeepTurn(ctx, tx, ref, turn, use)
		},
		"end": func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.EndRound(ctx, tx, ref, workspace.RoundEnd{State: workspace.RoundDone, Turn: turn}, use, time.UnixMilli(7))
		},
		"give back": func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.GiveBack(ctx, tx, ref, workspace.GivenBack{Faults: 9, Reason: "late", Use: use})
		},
		"wait": func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.WaitTask(ctx, tx, ref, "late")
		},
	}
}

// lost fails the test if the attempt can still do anything.
func (w workplace) lost(what string, ref access.RoundRef) {
	w.Helper()
	tasks, rounds := w.task(ref.TaskID), w.rounds(ref.TaskID)
	for name, f := range writes(ref) {
		if w.did(f) {
			w.Errorf("%s: %s was done", what, name)
		}
		if got := w.task(ref.TaskID); !reflect.DeepEqual(got, tasks) {
			w.Errorf("%s: %s changed the task to %+v from %+v", what, name, got, tasks)
		}
		if got := w.rounds(ref.TaskID); !reflect.DeepEqual(got, rounds) {
			w.Errorf("%s: %s changed the rounds to %+v from %+v", what, name, got, rounds)
		}
	}
	w.read(func(ctx context.Context, tx access.Tx) error {
		held, err := storage.Rounds{}.RoundHeld(ctx, tx, ref)
		if held {
			w.Errorf("%s: it is still held", what)
		}
		return err
	})
}

func TestARoundIsTakenSaidKeptAndCommitted(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.queue(newTask("t1"))
		b, ok := w.tryBegin("t1", 1, "here")
		if !ok || b.Task.State != workspace.TaskRunning || !b.Task.StartedAt.Equal(time.UnixMilli(3000)) || b.Session.ProjectID != "alpha" ||
			b.Session.Budget != (workspace.Budget{Rounds: 7, Tokens: 8, Minutes: 9}) || len(b.Session.Agents) != 2 || len(b.Task.Agents) != 1 ||
			b.From != (workspace.Author{ConnectionID: "claude", ConnectionName: "Name of claude"}) {
			w.Fatalf("got %+v, %v", b, ok)
		}
		r := b.Round
		if r.Agent != "lead" || r.State != workspace.RoundRunning || r.Attempt != 1 || r.Node != "here" || r.Text != "" || len(r.Calls) != 0 {
			w.Errorf("got the round %+v", r)
		}
		ref := access.RoundRef{TaskID: "t1", Number: 1, Attempt: 1}
		for _, text := range []string{"Grüße ", "an 東京"} {
			w.holds("append", func(ctx context.Context, tx access.Tx) (bool, error) {
				return storage.Rounds{}.AppendText(ctx, tx, ref, text)
			})
		}
		w.read(func(ctx context.Context, tx access.Tx) error {
			got, err := storage.Events{}.RoundText(ctx, tx, "t1", 1, 3)
			if got.Text != "ße an 東京" || got.Attempt != 1 || got.State != workspace.RoundRunning {
				w.Errorf("got %+v behind three characters", got)
			}
			return err
		})
		calls := []workspace.ToolCall{{ID: "c1", Name: "search", Arguments: `{"query":"x"}`}}
		w.holds("mark", func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.MarkEffect(ctx, tx, ref, time.UnixMilli(4000))
		})
		w.holds("keep", func(ctx context.Context, tx access.Tx) (bool, error) {
			turn := workspace.Turn{Text: "Kept", Calls: calls, Model: "m", TokensIn: 10, TokensOut: 5}
			return storage.Rounds{}.KeepTurn(ctx, tx, ref, turn, workspace.Use{ToolCalls: 1, Tokens: 15})
		})
		again, ok := w.tryBegin("t1", 1, "there")
		if !ok || again.Round.Attempt != 2 || again.Round.Text != "Kept" || !reflect.DeepEqual(again.Round.Calls, calls) || again.Round.TokensOut != 5 || !again.Round.EffectAt.IsZero() {
			w.Fatalf("taken over: got %+v, %v, want the turn that was kept", again.Round, ok)
		}
		w.lost("the attempt that was taken over", ref)
		ref.Attempt = 2
		calls[0].Result = "found"
		w.holds("end", func(ctx context.Context, tx access.Tx) (bool, error) {
			end := workspace.RoundEnd{State: workspace.RoundDone, Turn: workspace.Turn{Text: "Kept", Calls: calls, Model: "m", TokensIn: 10, TokensOut: 5}}
			return storage.Rounds{}.EndRound(ctx, tx, ref, end, workspace.Use{Rounds: 1, Took: 1500 * time.Millisecond}, time.UnixMilli(5000))
		})
		w.lost("a committed round", ref)
		task := w.task("t1")
		if task.Rounds != 1 || task.ToolCalls != 1 || task.Tokens != 15 || task.Spent != 1500*time.Millisecond || task.State != workspace.TaskRunning {
			w.Errorf("the figures of the task are %+v", task.Task)
		}
		if _, ok := w.tryBegin("t1", 1, "there"); ok {
			w.Error("a committed round was begun again")
		}
		if _, ok := w.tryBegin("t1", 2, "there"); ok {
			w.Error("a round that is not there was begun")
		}
		w.write(func(ctx context.Context, tx access.Tx) error {
			return storage.Rounds{}.AddRound(ctx, tx, newTask("t1"), 2, "aide")
		})
		w.begin("t1", 2, "there")
		w.holds("end task", func(ctx context.Context, tx access.Tx) (bool, error) {
			return storage.Rounds{}.EndTask(ctx, tx, "t1", workspace.TaskEnd{State: workspace.TaskFailed, Reason: "provider_down: gone", Result: "Größe", ResultBy: "lead"}, time.UnixMilli(6000))
		})
		task, rounds := w.task("t1"), w.rounds("t1")
		if task.State != workspace.TaskFailed || task.Result != "Größe" || task.Chars != 5 || task.ResultBy != "lead" || !task.EndedAt.Equal(time.UnixMilli(6000)) {
			w.Errorf("got %+v", task.Task)
		}
		if len(rounds) != 2 || rounds[0].State != workspace.RoundDone || !reflect.DeepEqual(rounds[0].Calls, calls) || rounds[1].State != workspace.RoundFailed || rounds[1].Agent != "aide" {
			w.Errorf("got the rounds %+v", rounds)
		}
	})
}

func TestWhatIsGivenBackForgetsWhatWasSaidButNotWhatWasBegun(t *testing.T) {
	for name, c := range map[string]struct {
		mark, effect bool
		text         string
		begun        bool
	}{
		"nothing begun":          {false, false, "", false},
		"nothing begun, unknown": {false, true, "", false},
		"known not to have":      {true, false, "", false},
		"unknown":                {true, true, "Said", true},
	} {
		t.Run(name, func(t *testing.T) {
			eachWorkplace(t, func(w workplace) {
				w.queue(newTask("t1"))
				ref := w.begin("t1", 1, "here")
				w.holds("append", func(ctx context.Context, tx access.Tx) (bool, error) {
					return storage.Rounds{}.AppendText(ctx, tx, ref, "Said")
				})
				if c.mark {
					w.holds("mark", writes(ref)["mark"])
				}
				w.holds("give back", func(ctx context.Context, tx access.Tx) (bool, error) {
					return storage.Rounds{}.GiveBack(ctx, tx, ref, workspace.GivenBack{Faults: 2, Reason: "down", Effect: c.effect, Use: workspace.Use{Took: time.Second}})
				})
				w.lost("what was given back", ref)
				b, ok := w.tryBegin("t1", 1, "there")
				if !ok || b.Round.Text != c.text || b.Round.EffectAt.IsZero() == c.begun || b.Round.Faults != 2 || b.Round.Attempt != 2 || b.Task.Spent != time.Second {
					w.Errorf("got %+v, %v of a task that took %s, want the text %q, an effect: %v", b.Round, ok, b.Task.Spent, c.text, c.begun)
				}
			})
		})
	}
}

func TestRoundsOfATaskAreTakenInTheirOrderWhileItRuns(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.queue(newTask("t1"))
		w.write(func(ctx context.Context, tx access.Tx) error {
			return storage.Rounds{}.AddRound(ctx, tx, newTask("t1"), 2, "aide")
		})
		if _, ok := w.tryBegin("t1", 2, "here"); ok {
			w.Error("the second round of a queued task was begun")
		}
		ref := w.begin("t1", 1, "here")
		if _, ok := w.tryBegin("t1", 2, "there"); ok {
			w.Error("the second round was begun before the first one was committed")
		}
		w.exec(`UPDATE tasks SET state = 'failed' WHERE id = 't1'`)
		for _, name := range []string{"keep", "end", "give back", "wait"} {
			if w.did(writes(ref)[name]) {
				w.Errorf("%s was done in a task that is over", name)
			}
		}
	})
}

// Whoever commits first wins; the other one finds nothing to change.
func TestOfAStopAndTheEndOfARoundOneIsFirst(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		for i := range 40 {
			id := fmt.Sprintf("t%02d", i)
			w.queue(newTask(id))
			ref := w.begin(id, 1, "here")
			var wait sync.WaitGroup
			var ended, over, stopped bool
			race := func(f func(ctx context.Context, tx access.Tx) error) {
				wait.Go(func() {
					if err := w.db.Write(context.Background(), func(tx access.Tx) error { return f(context.Background(), tx) }); err != nil {
						w.Errorf("%s: %v", id, err)
					}
				})
			}
			race(func(ctx context.Context, tx access.Tx) (err error) {
				if ended, err = writes(ref)["end"](ctx, tx); err != nil || !ended {
					return err
				}
				over, err = storage.Rounds{}.EndTask(ctx, tx, id, workspace.TaskEnd{State: workspace.TaskSucceeded, Result: "r"}, time.UnixMilli(8))
				return err
			})
			race(func(ctx context.Context, tx access.Tx) (err error) {
				stopped, err = storage.Tasks{}.StopTask(ctx, tx, keyOf(id), "ben", "stopped_by_person: x", time.UnixMilli(9))
				return err
			})
			wait.Wait()
			got, round := w.task(id), w.rounds(id)[0]
			wantTask, wantRound := workspace.TaskSucceeded, workspace.RoundDone
			if stopped {
				wantTask, wantRound = workspace.TaskStopped, workspace.RoundStopped
			}
			if ended == stopped || ended != over || got.State != wantTask || round.State != wantRound || (got.Rounds == 1) != ended {
				w.Errorf("%s: ended %v, over %v, stopped %v; the task is %s after %d rounds, the round %s", id, ended, over, stopped, got.State, got.Rounds, round.State)
			}
		}
	})
}

// 16 workers want one round; those that find it running take it over, and only the
// last one may end it.
func TestOfManyAttemptsOneCommits(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.queue(newTask("t1"))
		var wait sync.WaitGroup
		var mu sync.Mutex
		commits := 0
		for i := range 16 {
			wait.Go(func() {
				ctx := context.Background()
				var b workspace.Begun
				err := w.db.Write(ctx, func(tx access.Tx) (err error) {
					b, _, _, err = storage.Rounds{}.BeginRound(ctx, tx, "t1", 1, fmt.Sprintf("node %d", i), time.UnixMilli(3000))
					return err
				})
				if err == nil && b.Round.Attempt > 0 {
					err = w.db.Write(ctx, func(tx access.Tx) error {
						ok, err := writes(access.RoundRef{TaskID: "t1", Number: 1, Attempt: b.Round.Attempt})["end"](ctx, tx)
						mu.Lock()
						defer mu.Unlock()
						if ok {
							commits++
						}
						return err
					})
				}
				if err != nil {
					w.Error(err)
				}
			})
		}
		wait.Wait()
		if got := w.task("t1"); commits != 1 || got.Rounds != 1 {
			w.Errorf("%d attempts committed, and the task has %d rounds; want 1", commits, got.Rounds)
		}
	})
}

func TestDebitsOfADayComeOneAfterAnother(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.exec(`INSERT INTO workspace_figures (workspace_id, handoff_minutes, day_rounds, day_tokens, day_minutes) VALUES ('atlas', 0, 100, 200, 300)`)
		const each = 10
		var wait sync.WaitGroup
		var mu sync.Mutex
		seen := map[int64]int{}
		for _, session := range []string{"room", "other"} {
			for range each {
				wait.Go(func() {
					ctx, task := context.Background(), newTask("t")
					task.SessionID = session
					err := w.db.Write(ctx, func(tx access.Tx) error {
						s, err := storage.Spending{}.DebitRound(ctx, tx, task, "2026-01-31", workspace.Use{Rounds: 1, Tokens: 10, Took: 20 * time.Millisecond})
						mu.Lock()
						defer mu.Unlock()
						seen[s.Workspace.Rounds]++
						if s.Limit != (workspace.Budget{Rounds: 100, Tokens: 200, Minutes: 300}) {
							w.Errorf("got the limits %+v", s.Limit)
						}
						return err
					})
					if err != nil {
						w.Error(err)
					}
				})
			}
		}
		wait.Wait()
		for n := int64(1); n <= 2*each; n++ {
			if seen[n] != 1 {
				w.Errorf("%d rounds of the day were the last of %d debits, want 1", n, seen[n])
			}
		}
		w.write(func(ctx context.Context, tx access.Tx) error {
			_, err := storage.Spending{}.DebitRound(ctx, tx, newTask("t"), "2026-01-31", workspace.Use{Rounds: -1, Tokens: -5})
			return err
		})
		w.read(func(ctx context.Context, tx access.Tx) error {
			got, err := storage.Spending{}.SpentOn(ctx, tx, "atlas", "room", "2026-01-31")
			want := workspace.Spent{
				Session:   workspace.Use{Rounds: each - 1, Tokens: 10*each - 5, Took: each * 20 * time.Millisecond},
				Workspace: workspace.Use{Rounds: 2*each - 1, Tokens: 20*each - 5, Took: 2 * each * 20 * time.Millisecond},
				Limit:     workspace.Budget{Rounds: 100, Tokens: 200, Minutes: 300},
			}
			if got != want {
				w.Errorf("got %+v, want %+v", got, want)
			}
			if err != nil {
				return err
			}
			next, err := storage.Spending{}.SpentOn(ctx, tx, "globex", "theirs", "2026-02-01")
			if next != (workspace.Spent{}) {
				w.Errorf("another day of another workspace: got %+v", next)
			}
			return err
		})
	})
}
