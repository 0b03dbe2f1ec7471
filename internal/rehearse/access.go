package rehearse

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Progress is told how much is done of all, and what is next. It is called by one
// goroutine at a time.
type Progress func(done, all int, next string)

// Step is one of the nine steps of product.md §3 under one check.
type Step struct {
	Number   int    `json:"step"`
	What     string `json:"what"`
	Expected string `json:"expected"` // by the rules, whatever the check
	Found    string `json:"found"`
	Allowed  bool   `json:"allowed"` // the call that the step is about
	AsRuled  bool   `json:"as_ruled"`
}

// Cost is what the calls of one run cost.
type Cost struct {
	Calls    int             `json:"calls"`
	Allowed  int             `json:"allowed"`
	Checks   []time.Duration `json:"-"` // in the server, one for each call
	Loopback []time.Duration `json:"-"` // as the host sees the calls
}

// AccessRun is one host against a model server with one check.
type AccessRun struct {
	Check Check  `json:"check"`
	Steps []Step `json:"steps"`
	Cost  Cost   `json:"cost"`
}

// Deviations are the numbers of the steps that did not go as the rules say.
func (r AccessRun) Deviations() []int {
	deviations := []int{}
	for _, s := range r.Steps {
		if !s.AsRuled {
			deviations = append(deviations, s.Number)
		}
	}
	return deviations
}

// AsPublished reports whether the run shows what the published experiment did: per
// call, every step goes as the rules say; token-only, all but steps 8 and 9, which
// it allows; and of the calls that were timed, half are allowed.
func (r AccessRun) AsPublished() bool {
	want := []int{}
	if r.Check == TokenOnly {
		want = []int{8, 9}
	}
	allowed := true
	for _, number := range want {
		allowed = allowed && r.Steps[number-1].Allowed
	}
	return len(r.Steps) == 9 && slices.Equal(r.Deviations(), want) && allowed && r.Cost.Allowed == (r.Cost.Calls+1)/2
}

// Access plays the nine steps against a model server with the check, and then
// makes so many calls, every second one of them denied, to time them. An error is
// of the machine, never of a step.
func Access(ctx context.Context, check Check, calls int, progress Progress) (run AccessRun, err error) {
	p, err := newPlay(check)
	if err != nil {
		return run, err
	}
	defer p.close()
	run.Check = check
	if run.Steps, err = p.nine(ctx); err != nil {
		return run, err
	}
	run.Cost, err = p.cost(ctx, calls, progress)
	return run, err
}

// play is one host in front of a model server with two projects.
type play struct {
	*server
	host       *host
	connection string
	writer     credentials // read and write
	reader     credentials // read alone
}

// What lies in the projects of the play.
const (
	projectA = "A"
	projectB = "B"
	noteMove = "launch" // in A, until it moves
	noteA    = "budget"
	noteB    = "hiring"
)

func newPlay(check Check) (*play, error) {
	m := newModel(check)
	m.notes = map[string]*note{noteMove: {projectA, "Launch.\n"}, noteA: {projectA, "Budget.\n"}, noteB: {projectB, "Hiring.\n"}}
	p := &play{}
	id, keys := m.connect([]string{scopeRead, scopeWrite}, []string{scopeRead})
	p.connection, p.writer, p.reader = id, keys[0], keys[1]
	var err error
	if p.server, err = serve(m); err != nil {
		return nil, err
	}
	p.host = newHost(p.url)
	return p, nil
}

func (p *play) close() {
	p.host.close()
	p.server.close()
}

// finding is what a step came to, and whether its call was allowed.
type finding struct {
	text    string
	allowed bool
}

// nine are the nine steps of product.md §3: what the owner does, then what the
// host tries.
func (p *play) nine(ctx context.Context) (steps []Step, err error) {
	mine := func(f func(c *connection)) func(m *model) {
		return func(m *model) { f(m.connections[p.connection]) }
	}
	for i, step := range []struct {
		what, expected string
		owner          func(m *model)
		try            func(ctx context.Context) (finding, error)
	}{
		{"a new connection lists nothing", "200, 0 projects", nil, p.list},
		{"A is added: its notes appear", "200, 1 project, 2 notes", mine(func(c *connection) { c.projects[projectA] = true }), p.listAgain},
		{"read in A", "200", nil, p.read(noteMove)},
		{"read in B", "200 " + notInProject, nil, p.read(noteB)},
		{"write with a token for reading", "403 " + insufficientScope, nil, p.add(&p.reader)},
		{"write with a token for writing", "200", nil, p.add(&p.writer)},
		{"the note moves to B: same read", "200 " + notInProject, func(m *model) { m.notes[noteMove].project = projectB }, p.read(noteMove)},
		{"A is removed: read in A", "200 " + notInProject, mine(func(c *connection) { delete(c.projects, projectA) }), p.read(noteA)},
		{"revoked: read in A", "200 " + connectionRevoked + ", refresh invalid_grant", mine(func(c *connection) { c.revoked = true }), p.readAndRefresh},
	} {
		if step.owner != nil {
			p.change(step.owner)
		}
		found, err := step.try(ctx)
		if err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		steps = append(steps, Step{i + 1, step.what, step.expected, found.text, found.allowed, found.text == step.expected})
	}
	return steps, nil
}

// list asks what the connection was given.
func (p *play) list(ctx context.Context) (finding, error) {
	o, err := p.host.call(ctx, p.writer, "list_granted_resources", arguments{})
	return finding{fmt.Sprintf("%s, %d projects", o, len(o.result.Projects)), o.allowed()}, err
}

// listAgain takes a new token first, which a token-only server needs to show
// anything new, and lists the notes of what there is.
func (p *play) listAgain(ctx context.Context) (finding, error) {
	for _, c := range []*credentials{&p.writer, &p.reader} {
		if code, err := p.host.renew(ctx, c); err != nil || code != "" {
			return finding{text: "refresh " + code}, err
		}
	}
	granted, err := p.host.call(ctx, p.writer, "list_granted_resources", arguments{})
	if err != nil || len(granted.result.Projects) != 1 {
		return finding{fmt.Sprintf("%s, %d projects", granted, len(granted.result.Projects)), granted.allowed()}, err
	}
	o, err := p.host.call(ctx, p.writer, "list_project_resources", arguments{ProjectID: granted.result.Projects[0]})
	return finding{fmt.Sprintf("%s, 1 project, %d notes", o, len(o.result.Items)), o.allowed()}, err
}

func (p *play) read(note string) func(context.Context) (finding, error) {
	return func(ctx context.Context) (finding, error) {
		o, err := p.host.call(ctx, p.writer, "read_note_tab", arguments{NoteID: note})
		return finding{o.String(), o.allowed()}, err
	}
}

// add writes with one of the play's tokens, as it is by then.
func (p *play) add(as *credentials) func(context.Context) (finding, error) {
	return func(ctx context.Context) (finding, error) {
		o, err := p.host.call(ctx, *as, "append_note_tab", arguments{NoteID: noteMove, Text: "More.\n", Key: "rehearsal-0001"})
		return finding{o.String(), o.allowed()}, err
	}
}

func (p *play) readAndRefresh(ctx context.Context) (finding, error) {
	o, err := p.host.call(ctx, p.writer, "read_note_tab", arguments{NoteID: noteA})
	if err != nil {
		return finding{}, err
	}
	code, err := p.host.renew(ctx, &p.writer)
	if code == "" {
		code = "accepted"
	}
	return finding{o.String() + ", refresh " + code, o.allowed()}, err
}

// cost times reads by a second connection, of a note that it may read and of one
// that it may not, in turn. One call goes ahead, so that none of those that count
// opens the TCP connection.
func (p *play) cost(ctx context.Context, calls int, progress Progress) (c Cost, err error) {
	id, keys := p.connect([]string{scopeRead})
	p.change(func(m *model) { m.connections[id].projects[projectA] = true })
	if _, err := p.host.renew(ctx, &keys[0]); err != nil {
		return c, err
	}
	notes := [...]string{noteA, noteB}
	c.Calls = calls
	for i := range calls + 1 {
		progress(i, calls+1, "calls under "+string(p.check))
		started := time.Now()
		o, err := p.host.call(ctx, keys[0], "read_note_tab", arguments{NoteID: notes[(i+1)%2]})
		if err != nil {
			return c, err
		}
		if i == 0 {
			continue
		}
		c.Loopback = append(c.Loopback, time.Since(started))
		if o.allowed() {
			c.Allowed++
		}
	}
	p.change(func(m *model) { c.Checks = slices.Clone(m.checkCosts[len(m.checkCosts)-calls:]) })
	return c, nil
}
