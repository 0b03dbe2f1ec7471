package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Rhythms of an event stream.
const (
	heartbeat  = 15 * time.Second // so that proxies keep the stream
	lookAgain  = time.Second / 2  // how late the end of a session, or another node's event, is noticed
	lateEvents = 10 * time.Second // an event may become visible this long after its ID was made: a write waits 5 s at most for a lock
	eventBatch = 500
)

// event is one event on the wire. Listeners fetch what it is about; it holds no
// text of anything.
type event struct {
	Type         string         `json:"type"`
	Kind         access.Kind    `json:"kind"`
	ID           string         `json:"id"`
	WorkspaceID  string         `json:"workspace_id"`
	ProjectID    string         `json:"project_id,omitzero"`
	Version      int64          `json:"version,omitzero"`
	UserID       string         `json:"user_id,omitzero"`
	ConnectionID string         `json:"connection_id,omitzero"`
	Data         map[string]any `json:"data,omitzero"`
	At           time.Time      `json:"at"`
}

// EventLog is what a stream reads.
type EventLog interface {
	// EventsSince lists events of the workspace with IDs above after, in order; the
	// server's clock alone can still put one in between.
	EventsSince(ctx context.Context, tx access.Tx, workspaceID, after string, limit int) ([]workspace.Event, error)
	// EventExists reports whether the workspace still keeps the event.
	EventExists(ctx context.Context, tx access.Tx, workspaceID, id string) (bool, error)
	// RunningRounds lists rounds of the workspace that run, on any node, without what
	// they say.
	RunningRounds(ctx context.Context, tx access.Tx, workspaceID string, limit int) ([]workspace.Round, error)
	// RoundText reads what a round says behind so many characters, with its state and
	// attempt.
	RoundText(ctx context.Context, tx access.Tx, taskID string, number, after int64) (workspace.Round, error)
}

type eventCalls struct {
	log      EventLog
	events   *workspace.Events
	members  *workspace.Members
	source   access.Source
	work     access.Work
	sessions *Sessions
	version  string
}

// EventRoutes are the stream of what happens, and of what agents say.
func EventRoutes(log EventLog, events *workspace.Events, members *workspace.Members, c Config) []Route {
	s := eventCalls{log, events, members, c.Source, c.Work, c.Sessions, c.Version}
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/events", Operation: "event.stream",
			Summary: "What happens in the caller's workspaces, as server-sent events; goes on after Last-Event-ID", Alone: true}, s.stream),
	}
}

// stream is one open stream.
type stream struct {
	eventCalls
	w     http.ResponseWriter
	r     *http.Request
	who   access.Principal
	teams []string        // that the person was in at the last look
	after string          // lower bound of the events still to look at
	done  map[string]bool // IDs above after that were dealt with

	speaking []followed // rounds whose text is passed on
	spoke    time.Time  // when their text was last looked at
}

// stream answers with events until the caller goes, loses the session, or the
// server stops.
func (s eventCalls) stream(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	p := c.passage
	if err := guard.Unhurried(p.w); err != nil {
		return Nothing{}, fmt.Errorf("lift the time limits of a stream: %w", err)
	}
	st := &stream{eventCalls: s, w: p.w, r: p.r, who: c.Who, done: map[string]bool{}}
	changed := s.events.Changed() // before the first look, or an event is missed
	resync, err := st.begin(ctx)
	if err != nil {
		return Nothing{}, err
	}
	p.direct = true
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	p.w.WriteHeader(http.StatusOK)
	if p.r.Method == http.MethodHead {
		return Nothing{}, nil
	}
	if err := st.say("", "ready", map[string]any{"version": s.version}); err != nil {
		return Nothing{}, nil
	}
	if resync {
		if err := st.say("", "resync", map[string]any{}); err != nil {
			return Nothing{}, nil
		}
	}
	st.run(ctx, changed)
	return Nothing{}, nil
}

// begin finds where to go on. An event that is no longer kept leaves a gap, which
// the listener is told about.
func (st *stream) begin(ctx context.Context) (resync bool, err error) {
	last := st.r.Header.Get("Last-Event-ID")
	err = st.work.Read(ctx, func(tx access.Tx) error {
		known := false
		if st.teams, err = st.teamsNow(ctx, tx); err != nil {
			return err
		}
		for _, team := range st.teams {
			found, err := st.log.EventExists(ctx, tx, team, idOf(last))
			if err != nil {
				return err
			}
			known = known || found
		}
		st.speaking = nil
		if err := st.followRunning(ctx, tx); err != nil {
			return err
		}
		if known {
			st.after = idOf(last)
			return nil
		}
		resync = last != ""
		return st.beginNow(ctx, tx)
	})
	return resync, err
}

// beginNow passes over what can be read by now. What another unit of work is about
// to write may have an older ID, and is still to come.
func (st *stream) beginNow(ctx context.Context, tx access.Tx) error {
	now := time.Now()
	st.after = idAt(now.Add(-lateEvents))
	clear(st.done)
	for _, team := range st.teams {
		err := st.eachEvent(ctx, tx, team, func(e workspace.Event) error {
			st.done[e.ID] = true
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run passes events on. It returns when there is nobody to pass them to.
func (st *stream) run(ctx context.Context, changed <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for st.pass(ctx) == nil {
		if !st.wait(ctx, &changed, look.C, beat.C) {
			return
		}
	}
}

// wait passes on what agents say until there may be new events. False says that
// there is nobody to pass them to.
func (st *stream) wait(ctx context.Context, changed *<-chan struct{}, look, beat <-chan time.Time) bool {
	for st.speak(ctx) == nil {
		select {
		case <-ctx.Done():
			return false
		case <-*changed:
			*changed = st.events.Changed()
			return true
		case <-st.talk():
		case <-look:
			return st.sessions.still(st.r, st.who)
		case <-beat:
			if _, err := fmt.Fprint(st.w, ": still here\n\n"); err != nil {
				return false
			}
			return true // and flushed
		}
	}
	return false
}

// errLeft ends the stream of a person who signed out or lost a workspace. Who comes
// again is told to read everything anew.
var errLeft = errors.New("the listener left")

// pass reads new events, drops those the person may not see as things stand now,
// and sends the others.
func (st *stream) pass(ctx context.Context) error {
	var visible, judged []workspace.Event
	err := st.work.Read(ctx, func(tx access.Tx) error {
		visible, judged = nil, nil
		teams, err := st.teamsNow(ctx, tx)
		if err != nil {
			return err
		}
		for _, team := range st.teams {
			if !slices.Contains(teams, team) {
				return errLeft
			}
		}
		st.teams = teams
		for _, team := range teams {
			err := st.eachEvent(ctx, tx, team, func(e workspace.Event) error {
				judged = append(judged, e)
				sees, err := st.sees(ctx, tx, e)
				if sees {
					visible = append(visible, e)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(visible) > 0 && !st.sessions.still(st.r, st.who) {
		return errLeft
	}
	// In one order over all workspaces, or going on after one would pass over others.
	slices.SortFunc(visible, func(a, b workspace.Event) int { return strings.Compare(a.ID, b.ID) })
	for _, e := range visible {
		if err := st.send(e); err != nil {
			return err
		}
		st.followStarted(e)
	}
	for _, e := range judged {
		st.done[e.ID] = true
	}
	st.moveOn()
	return http.NewResponseController(st.w).Flush()
}

// eachEvent gives do the workspace's events that were not dealt with yet, in order.
func (st *stream) eachEvent(ctx context.Context, tx access.Tx, workspaceID string, do func(workspace.Event) error) error {
	for after := st.after; ; {
		found, err := st.log.EventsSince(ctx, tx, workspaceID, after, eventBatch)
		if err != nil {
			return err
		}
		for _, e := range found {
			after = e.ID
			if st.done[e.ID] {
				continue
			}
			if err := do(e); err != nil {
				return err
			}
		}
		if len(found) < eventBatch {
			return nil
		}
	}
}

// teamsNow are the workspaces that the person is in.
func (st *stream) teamsNow(ctx context.Context, tx access.Tx) (ids []string, err error) {
	page := workspace.Page{Limit: mostTeams}
	for {
		teams, err := st.members.Teams(ctx, tx, st.who, page)
		if err != nil {
			return nil, err
		}
		for _, t := range teams.Items {
			ids = append(ids, t.ID)
		}
		if page.After = teams.Next; page.After == "" {
			return ids, nil
		}
	}
}

// moveOn forgets events that are too old for others to appear before them.
func (st *stream) moveOn() {
	bound := idAt(time.Now().Add(-lateEvents))
	st.after = max(st.after, bound)
	for id := range st.done {
		if id <= st.after {
			delete(st.done, id)
		}
	}
}

// sees judges an event by what the person may see at this moment: the thing it is
// about, where it lies now, and the project that the event happened in. What left a
// project, or is gone, is judged by that project; one that is for listed people
// stays so. One that is for a single person stays theirs.
func (st *stream) sees(ctx context.Context, tx access.Tx, e workspace.Event) (bool, error) {
	if to, addressed := e.Data[workspace.EventFor]; addressed && to != st.who.UserID {
		return false, nil
	}
	thing := access.Ref{Kind: e.Kind, ID: e.ResourceID}
	facts, err := st.source.PersonFacts(ctx, tx, st.who.UserID, thing)
	if err != nil {
		return false, err
	}
	left := !facts.Found || e.Type == "note.left" || e.Type == "session.left"
	if !left && !st.may(facts, access.RightView, thing) {
		return false, nil
	}
	if e.ProjectID == "" {
		return !left, nil
	}
	project := access.Ref{Kind: access.KindProject, ID: e.ProjectID}
	place, err := st.source.PersonFacts(ctx, tx, st.who.UserID, project)
	if err != nil {
		return false, err
	}
	sees := st.may(place, access.RightView, project)
	if e.Kind == access.KindConnection { // which owners give and take in projects that they do not read
		return sees || st.may(place, access.RightManage, project), nil
	}
	if facts.HasACL && facts.ACLRight < access.RightView {
		return false, nil
	}
	return sees, nil
}

func (st *stream) may(f access.Facts, right access.Right, ref access.Ref) bool {
	_, err := access.CheckPerson(f, st.who, access.Permission{Right: right}, ref)
	return err == nil
}

func (st *stream) send(e workspace.Event) error {
	return st.say(e.ID, "event", event{
		Type: e.Type, Kind: e.Kind, ID: e.ResourceID, WorkspaceID: e.WorkspaceID, ProjectID: e.ProjectID, Version: e.Version,
		UserID: e.UserID, ConnectionID: e.ConnectionID, Data: e.Data, At: e.CreatedAt,
	})
}

// say writes one message (HTML, "Server-sent events").
func (st *stream) say(id, name string, data any) error {
	body, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	_, err = fmt.Fprintf(st.w, "%sevent: %s\ndata: %s\n\n", id, name, body)
	return err
}

// idAt is the least UUIDv7 of a moment (RFC 9562 §5.7).
func idAt(t time.Time) string {
	ms := uint64(t.UnixMilli())
	var id uuid.UUID
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6], id[8] = 0x70, 0x80
	return id.String()
}
