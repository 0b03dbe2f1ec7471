package rehearse

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// Cell is one call of the seat matrix: a tool, by a connection with a seat, with a
// token of some scopes.
type Cell struct {
	Tool     string   `json:"tool"`
	Seat     string   `json:"seat"`
	Scopes   []string `json:"scopes"`
	Expected string   `json:"expected"`
	Found    string   `json:"found"`
}

// Held reports whether the call was answered as the rules say.
func (c Cell) Held() bool { return c.Found == c.Expected }

// Case is one thing that happens to a handoff, and what it should come to.
type Case struct {
	What          string `json:"what"`
	Expected      string `json:"expected"`
	Found         string `json:"found"`
	ExpectedTasks int    `json:"expected_tasks"`
	Tasks         int    `json:"tasks"`
}

// Held reports whether it came to what it should, and left so many tasks.
func (c Case) Held() bool { return c.Found == c.Expected && c.Tasks == c.ExpectedTasks }

// Races are rounds in which the host's cancel and the owner's accept of one handoff
// are under way at once.
type Races struct {
	Rounds  int `json:"rounds"`
	Accepts int `json:"accepts"` // rounds that accept won
	Cancels int `json:"cancels"` // rounds that cancel won
	Both    int `json:"both"`    // rounds in which both were told that they won
	Neither int `json:"neither"` // rounds in which neither was
	Misled  int `json:"misled"`  // losers that were told another state than the winner's
	Tasks   int `json:"tasks"`   // queued by all rounds
}

// Held reports whether exactly one side won each round, the loser was told so, and
// each accept queued one task.
func (r Races) Held() bool {
	return r.Both == 0 && r.Neither == 0 && r.Misled == 0 && r.Accepts+r.Cancels == r.Rounds && r.Tasks == r.Accepts
}

// HandoffReport is all that the rehearsal of handoffs found.
type HandoffReport struct {
	Matrix []Cell `json:"matrix"`
	Cases  []Case `json:"cases"`
	Races  Races  `json:"races"`
}

// Held reports whether everything was as the rules say.
func (r HandoffReport) Held() bool {
	return !slices.ContainsFunc(r.Matrix, func(c Cell) bool { return !c.Held() }) &&
		!slices.ContainsFunc(r.Cases, func(c Case) bool { return !c.Held() }) && r.Races.Held()
}

// The scope sets that the matrix is asked with.
var scopeSets = [][]string{
	{scopeRead},
	{scopeRead, scopeWrite},
	{scopeRead, scopeRun},
	{scopeRead, scopeWrite, scopeRun},
}

// ruled is the published table of product.md §4: the scope and the least seat of
// each tool of a session. It is written down apart from the model's own rules, so
// that the two can differ.
var ruled = []struct {
	tool, scope string
	seat        seat
}{
	{"read_session_state", "osfoundry:read", observer},
	{"read_session_task_result", "osfoundry:read", observer},
	{"read_session_mail", "osfoundry:read", observer},
	{"post_session_note", "osfoundry:write", contributor},
	{"propose_session_handoff", "osfoundry:write", contributor},
	{"cancel_session_handoff", "osfoundry:write", contributor},
	{"request_session_run", "osfoundry:run", runner},
}

// expected is the answer that the published table leads to: the scope is judged
// before the seat (product.md §3).
func expected(scope string, least, have seat, scopes []string) string {
	switch {
	case !slices.Contains(scopes, scope):
		return "403 insufficient_scope"
	case have < least:
		return "200 seat_required"
	}
	return "200"
}

// desk is a session with its owner, and hosts in front of it.
type desk struct {
	*server
	host *host
	keys int
}

const desksSession = "session"

func newDesk() (*desk, error) {
	m := newModel(PerCall)
	m.sessions[desksSession] = &session{project: projectA, seats: map[string]seat{}}
	s, err := serve(m)
	if err != nil {
		return nil, err
	}
	return &desk{server: s, host: newHost(s.url)}, nil
}

func (d *desk) close() {
	d.host.close()
	d.server.close()
}

// seated is a connection in the session's project with the seat, and its tokens.
func (d *desk) seated(s seat, scopes ...[]string) (id string, keys []credentials) {
	id, keys = d.connect(scopes...)
	d.change(func(m *model) {
		m.connections[id].projects[projectA] = true
		m.sessions[desksSession].seats[id] = s
	})
	return id, keys
}

// newKey is one that was not used before.
func (d *desk) newKey() string {
	d.keys++
	return fmt.Sprintf("rehearsal-%06d", d.keys)
}

// Handoff asks for every cell of the seat matrix, lets one thing after another
// happen to handoffs, and runs so many races of cancel and accept. An error is of
// the machine, never of a rule that did not hold.
func Handoff(ctx context.Context, rounds int, progress Progress) (report HandoffReport, err error) {
	d, err := newDesk()
	if err != nil {
		return report, err
	}
	defer d.close()
	if report.Matrix, err = d.matrix(ctx); err != nil {
		return report, err
	}
	if report.Cases, err = d.cases(ctx); err != nil {
		return report, err
	}
	report.Races, err = d.races(ctx, rounds, progress)
	return report, err
}

// matrix calls each tool with each seat and each set of scopes. What a tool needs
// to be there, a handoff or a task of the same connection, is made before.
func (d *desk) matrix(ctx context.Context) (cells []Cell, err error) {
	for have := noSeat; have <= runner; have++ {
		id, keys := d.seated(have, scopeSets...)
		for i, scopes := range scopeSets {
			for _, r := range ruled {
				a := arguments{SessionID: desksSession, Goal: "a goal", Subject: "a subject", Key: d.newKey()}
				d.change(func(m *model) { m.prepare(&a, r.tool, id) })
				o, err := d.host.call(ctx, keys[i], r.tool, a)
				if err != nil {
					return nil, err
				}
				cells = append(cells, Cell{r.tool, have.String(), scopes, expected(r.scope, r.seat, have, scopes), o.String()})
			}
		}
	}
	return cells, nil
}

// prepare makes what the call is about. It is called under the lock.
func (m *model) prepare(a *arguments, tool, connection string) {
	switch tool {
	case "cancel_session_handoff":
		a.HandoffID = m.newID("handoff")
		m.handoffs[a.HandoffID] = &handoff{session: desksSession, connection: connection, goal: a.Goal, state: pending}
	case "read_session_task_result":
		a.TaskID = m.queue(desksSession, connection, a.Goal)
	}
}

// races lets cancel and accept meet, first the one and then the other a moment
// earlier.
func (d *desk) races(ctx context.Context, rounds int, progress Progress) (r Races, err error) {
	_, keys := d.seated(contributor, []string{scopeRead, scopeWrite})
	before := d.tasks()
	r.Rounds = rounds
	for round := range rounds {
		progress(round, rounds, "races of cancel and accept")
		if err := d.race(ctx, keys[0], round%2 == 0, &r); err != nil {
			return r, err
		}
	}
	r.Tasks = d.tasks() - before
	return r, nil
}

func (d *desk) tasks() (n int) {
	d.change(func(m *model) { n = len(m.tasks) })
	return n
}

func (d *desk) race(ctx context.Context, as credentials, cancelFirst bool, r *Races) error {
	proposed, err := d.propose(ctx, as)
	if err != nil {
		return err
	}
	type end struct {
		outcome outcome
		err     error
	}
	cancels, accepts := make(chan end, 1), make(chan end, 1)
	cancel := func() {
		o, err := d.host.call(ctx, as, "cancel_session_handoff", arguments{HandoffID: proposed})
		cancels <- end{o, err}
	}
	accept := func() {
		o, err := d.host.decide(ctx, d.owner, proposed, "accept")
		accepts <- end{o, err}
	}
	if cancelFirst {
		go cancel()
		accept()
	} else {
		go accept()
		cancel()
	}
	c, a := <-cancels, <-accepts
	if c.err != nil {
		return c.err
	}
	if a.err != nil {
		return a.err
	}
	r.add(c.outcome, a.outcome)
	return nil
}

// add counts one round by what both sides were told.
func (r *Races) add(cancel, accept outcome) {
	cancelWon := cancel.allowed() && cancel.result.Status == cancelled
	acceptWon := accept.allowed() && accept.result.State == accepted
	switch {
	case cancelWon && acceptWon:
		r.Both++
	case cancelWon:
		r.Cancels++
		r.misled(accept, http.StatusConflict, cancelled)
	case acceptWon:
		r.Accepts++
		r.misled(cancel, http.StatusOK, accepted)
	default:
		r.Neither++
	}
}

// misled counts a loser that was not told how the handoff was decided.
func (r *Races) misled(loser outcome, status int, state string) {
	if loser.status != status || loser.code != alreadyDecided || loser.result.State != state {
		r.Misled++
	}
}

// propose makes a handoff that waits for the owner.
func (d *desk) propose(ctx context.Context, as credentials) (id string, err error) {
	o, err := d.host.call(ctx, as, "propose_session_handoff", arguments{SessionID: desksSession, Goal: "a goal", Key: d.newKey()})
	if err == nil && (!o.allowed() || o.result.Status != pending) {
		err = fmt.Errorf("a handoff was not proposed: %s", o)
	}
	return o.result.HandoffID, err
}
