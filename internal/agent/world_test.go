package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/tool"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// world is a database, a gate and a queue in memory, with the meaning that
// agent.Store and agent.Gate say they have. One task lives in it.
type world struct {
	testing.TB
	mu    sync.Mutex
	rows  rows
	caps  agent.Caps
	turns []agent.Turn // that were asked, in order
	// take takes the turns; external says of what kind it is.
	take     func(ctx context.Context, t agent.Turn, say func(string)) (agent.Reply, error)
	external bool
	missing  error // what finding the provider gives instead
	holds    func(round int64) (bool, error)
	refuse   map[string]error // by tool: what the gate says
	outages  int              // calls for which the gate has no database
}

// rows are what a transaction can roll back.
type rows struct {
	task    workspace.Task
	session workspace.Session
	limit   workspace.Budget
	rounds  []workspace.Round
	mail    []workspace.Mail
	slugs   map[string]string // connection by external sender slug
	spent   map[string]workspace.Use
	jobs    map[int64]time.Time // not done, with when each is due
	replays map[string]string
	effects []string
	commits []int64 // numbers of the rounds that were committed
	appends []time.Time
	shown   []string // what was appended
}

func (r rows) clone() rows {
	r.rounds, r.mail, r.effects = slices.Clone(r.rounds), slices.Clone(r.mail), slices.Clone(r.effects)
	r.commits, r.appends = slices.Clone(r.commits), slices.Clone(r.appends)
	r.shown = slices.Clone(r.shown)
	r.spent, r.jobs, r.replays = maps.Clone(r.spent), maps.Clone(r.jobs), maps.Clone(r.replays)
	return r
}

const theTask, theSession = "task1", "session1"

// newWorld has a task of the type with the agents ann, ben and cid, as many as
// named, who may use the tools read and write.
func newWorld(t testing.TB, kind workspace.SessionType, agents int, rounds int64) *world {
	w := &world{TB: t, caps: agent.DefaultCaps()}
	s := workspace.Session{ID: theSession, WorkspaceID: "ws", ProjectID: "project1", Type: kind, Title: "Plan"}
	for _, slug := range []string{"ann", "ben", "cid"}[:agents] {
		s.Agents = append(s.Agents, workspace.Agent{Slug: slug, Instructions: "Be " + slug + ".", Provider: "p", Tools: []string{"read", "write"}})
	}
	w.rows = rows{
		session: s,
		task: workspace.Task{ID: theTask, WorkspaceID: "ws", SessionID: theSession, UserID: "mara", Goal: "Count the trees.",
			MaxRounds: rounds, Agents: s.Agents, Type: kind, State: workspace.TaskQueued},
		rounds: []workspace.Round{{TaskID: theTask, Number: 1, Agent: "ann", State: workspace.RoundQueued}},
		spent:  map[string]workspace.Use{}, jobs: map[int64]time.Time{1: time.Now()}, replays: map[string]string{}, slugs: map[string]string{},
	}
	return w
}

// tx is a unit of work.
type tx struct {
	*rows
	writable bool
}

func (t tx) Writable() bool     { return t.writable }
func (t tx) AfterCommit(func()) {}

// node is a process that works on the world, until it dies.
type node struct {
	*world
	mu    sync.Mutex
	dead  bool
	units int  // of work that it may still begin before it dies; 0 is no end
	late  bool // it dies after the last one is durable
}

var errDead = access.Refuse(access.Unavailable, "The node is dead.")

func (n *node) die() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
}

// alive counts a unit of work. Dying says that it is the last one.
func (n *node) alive() (ok, dying bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return false, false
	}
	if n.units > 0 {
		n.units--
		n.dead = n.units == 0
	}
	return true, n.dead
}

func (n *node) Write(ctx context.Context, f func(access.Tx) error) error {
	ok, dying := n.alive()
	if !ok || dying && !n.late {
		return errDead
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w := n.world
	w.mu.Lock()
	defer w.mu.Unlock()
	tried := w.rows.clone() // whoever asks the database for another try gets one
	if err := f(tx{&tried, true}); err != nil {
		return err
	}
	again := w.rows.clone()
	if err := f(tx{&again, true}); err != nil {
		return err
	}
	w.rows = again
	if dying {
		return errDead
	}
	return nil
}

func (n *node) Read(ctx context.Context, f func(access.Tx) error) error {
	if ok, dying := n.alive(); !ok || dying {
		return errDead
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.world.mu.Lock()
	defer n.world.mu.Unlock()
	seen := n.rows.clone()
	return f(tx{&seen, false})
}

func (n *node) ReadOne(ctx context.Context, f func(access.Tx) error) error { return n.Read(ctx, f) }

// OfferAgent implements agent.Gate.
func (n *node) OfferAgent(names []string) (offers []tool.Offer, err error) {
	for _, name := range names {
		offers = append(offers, tool.Offer{Name: name, Description: "Does " + name, Parameters: jsontext.Value(`{"type":"object"}`)})
	}
	return offers, nil
}

// CallAgent implements agent.Gate. The tool write has an effect, read has none.
func (n *node) CallAgent(ctx context.Context, c tool.AgentCall) (answer []byte, err error) {
	if n.outages > 0 {
		n.outages--
		return nil, access.Refuse(access.Unavailable, "The database is away.")
	}
	err = n.Write(ctx, func(unit access.Tx) error {
		r := unit.(tx).rows
		if _, ok := r.held(c.Round); !ok {
			return access.Refuse(access.Forbidden, "The task is over.")
		}
		if err := n.refuse[c.Name]; err != nil {
			return err
		}
		of := workspace.Session{Agents: r.task.Agents}.Agent(r.rounds[c.Round.Number-1].Agent)
		if !slices.Contains(of.Tools, c.Name) {
			return access.Refuse(access.Forbidden, "The session does not give this agent the tool %s.", c.Name)
		}
		key := fmt.Sprintf("%s %d %d", c.Name, c.Round.Number, c.Number)
		said := c.Name + string(c.Arguments)
		if old, ok := r.replays[key]; ok && old != said {
			return access.Refuse(access.IdempotencyMismatch, "This key was used with other arguments.")
		} else if !ok && c.Name == "write" {
			r.replays[key] = said
			r.effects = append(r.effects, fmt.Sprintf("%d.%d %s", c.Round.Number, c.Number, c.Arguments))
		}
		answer = []byte(`{"did":"` + c.Name + `"}`)
		return nil
	})
	return answer, err
}

// Provider implements agent.Providers.
func (n *node) Local(context.Context, string, string) (bool, error) { return true, nil }

func (n *node) Provider(context.Context, string, string, time.Time) (agent.Provider, error) {
	return n.world, n.missing
}

// Holds implements agent.Condition.
func (n *node) Holds(_ context.Context, _ string, command []string) (bool, error) {
	n.world.mu.Lock()
	round := int64(len(n.rows.commits) + 1)
	n.world.mu.Unlock()
	return n.holds(round)
}

// Take implements agent.Provider.
func (w *world) Take(ctx context.Context, t agent.Turn, say func(string)) (agent.Reply, error) {
	w.mu.Lock()
	w.turns = append(w.turns, t)
	w.mu.Unlock()
	return w.take(ctx, t, say)
}

// External implements agent.Provider.
func (w *world) External() bool { return w.external }

// runner is a runner on the node.
func (n *node) runner() *agent.Runner {
	return agent.NewRunner(agent.Config{
		Units: n, Store: store{}, Gate: n, Providers: n, Condition: n, Stopping: new(workspace.Stopping),
		Caps: n.caps, Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
}

// job is the job of a round, as the queue brings it.
func job(number int64) agent.Job {
	return agent.Job{TaskID: theTask, Number: number, Node: "n", Complete: func(_ context.Context, unit access.Tx) error {
		jobs := unit.(tx).jobs
		if _, ok := jobs[number]; !ok {
			return errors.New("the job is not there any more")
		}
		delete(jobs, number)
		return nil
	}}
}

// work brings due jobs to the nodes until none is left, as the queue does: what
// fails is brought again, and so is what a dead node had. It gives up after many
// jobs, which no test may need.
func (w *world) work(next func() *node) {
	w.Helper()
	n := next()
	for range 1000 {
		number, due, ok := w.dueJob()
		if !ok {
			return
		}
		time.Sleep(time.Until(due))
		err := n.runner().Work(w.Context(), job(number))
		if n.dead {
			n = next()
			continue
		}
		w.settle(number, err)
	}
	w.Fatalf("still at work after 1000 jobs; task %+v", w.rows.task)
}

func (w *world) dueJob() (number int64, due time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for number, due = range w.rows.jobs {
		return number, due, true
	}
	return 0, due, false
}

// settle does with a job what its worker's answer means.
func (w *world) settle(number int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	later, isLater := errors.AsType[*agent.Later](err)
	switch {
	case err == nil:
		delete(w.rows.jobs, number)
	case isLater:
		w.rows.jobs[number] = time.Now().Add(later.Delay)
	default:
		w.rows.jobs[number] = time.Now().Add(time.Second)
	}
}

// run works with one node that lives, and gives the task as it is then.
func (w *world) run() workspace.Task {
	w.Helper()
	w.work(func() *node { return &node{world: w} })
	return w.rows.task
}
