package api

import (
	"context"
	"fmt"
	"net/http"
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
	lookAgain  = time.Second      // how late the end of a session, or another node's event, is noticed
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
	// EventsSince lists events of the workspace with IDs above after, in order.
	EventsSince(ctx context.Context, tx access.Tx, workspaceID, after string, limit int) ([]workspace.Event, error)
	// EventExists reports whether the workspace still keeps the event.
	EventExists(ctx context.Context, tx access.Tx, workspaceID, id string) (bool, error)
}

type eventCalls struct {
	log      EventLog
	events   *workspace.Events
	members  *workspace.Members
	source   access.Source
	work     access.Work
	sessions *Sessions
	now      func() time.Time
	version  string
}

// EventRoutes are the stream of what happens.
func EventRoutes(log EventLog, events *workspace.Events, members *workspace.Members, c Config) []Route {
	s := eventCalls{log, events, members, c.Source, c.Work, c.Sessions, c.Now, c.Version}
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
	after string               // lower bound of the events still to look at
	sent  map[string]time.Time // IDs above after that were dealt with, and when
}

// stream answers with events until the caller goes, loses the session, or the
// server stops.
func (s eventCalls) stream(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	p := c.passage
	if err := guard.Unhurried(p.w); err != nil {
		return Nothing{}, fmt.Errorf("lift the time limits of a stream: %w", err)
	}
	st := &stream{eventCalls: s, w: p.w, r: p.r, who: c.Who, sent: map[string]time.Time{}}
	changed := s.events.Changed() // before the first look, or an event is missed
	resync, err := st.begin(ctx)
	if err != nil {
		return Nothing{}, err
	}
	p.direct = true
	h := p.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	p.w.WriteHeader(http.StatusOK)
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
	if last == "" {
		st.after = idAt(st.now())
		return false, nil
	}
	last = idOf(last)
	known := false
	err = st.work.Read(ctx, func(tx access.Tx) error {
		known = false
		return st.eachTeam(ctx, tx, func(workspaceID string) error {
			found, err := st.log.EventExists(ctx, tx, workspaceID, last)
			known = known || found
			return err
		})
	})
	if err != nil {
		return false, err
	}
	if !known {
		st.after = idAt(st.now())
		return true, nil
	}
	st.after = last
	return false, nil
}

// run passes events on. It returns when there is nobody to pass them to.
func (st *stream) run(ctx context.Context, changed <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		if err := st.pass(ctx); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
			changed = st.events.Changed()
		case <-look.C:
			who, err := st.sessions.Principal(st.r)
			if err != nil || who.UserID != st.who.UserID {
				return
			}
		case <-beat.C:
			if _, err := fmt.Fprint(st.w, ": still here\n\n"); err != nil {
				return
			}
		}
		if http.NewResponseController(st.w).Flush() != nil {
			return
		}
	}
}

// pass reads new events, drops those the person may not see as things stand now,
// and sends the others.
func (st *stream) pass(ctx context.Context) error {
	var visible []workspace.Event
	err := st.work.Read(ctx, func(tx access.Tx) error {
		visible = nil
		return st.eachTeam(ctx, tx, func(workspaceID string) error {
			found, err := st.newEvents(ctx, tx, workspaceID)
			visible = append(visible, found...)
			return err
		})
	})
	if err != nil {
		return err
	}
	for _, e := range visible {
		if err := st.send(e); err != nil {
			return err
		}
		st.sent[e.ID] = st.now()
	}
	st.moveOn()
	return http.NewResponseController(st.w).Flush()
}

// newEvents are the workspace's events that the person may see and did not get yet.
func (st *stream) newEvents(ctx context.Context, tx access.Tx, workspaceID string) (visible []workspace.Event, err error) {
	after := st.after
	for {
		found, err := st.log.EventsSince(ctx, tx, workspaceID, after, eventBatch)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			after = e.ID
			if _, done := st.sent[e.ID]; done {
				continue
			}
			sees, err := st.sees(ctx, tx, e)
			if err != nil {
				return nil, err
			}
			if sees {
				visible = append(visible, e)
			}
		}
		if len(found) < eventBatch {
			return visible, nil
		}
	}
}

// moveOn forgets events that are too old for others to appear before them.
func (st *stream) moveOn() {
	bound := idAt(st.now().Add(-lateEvents))
	if bound > st.after {
		st.after = bound
	}
	for id := range st.sent {
		if id <= st.after {
			delete(st.sent, id)
		}
	}
}

func (st *stream) eachTeam(ctx context.Context, tx access.Tx, do func(workspaceID string) error) error {
	teams, err := st.members.Teams(ctx, tx, st.who, workspace.Page{Limit: mostTeams})
	if err != nil {
		return err
	}
	for _, t := range teams.Items {
		if err := do(t.ID); err != nil {
			return err
		}
	}
	return nil
}

// sees judges an event like a call that reads what it is about. What is gone is
// judged by its project.
func (st *stream) sees(ctx context.Context, tx access.Tx, e workspace.Event) (bool, error) {
	ok, gone, err := st.mayView(ctx, tx, access.Ref{Kind: e.Kind, ID: e.ResourceID})
	if gone && e.ProjectID != "" {
		ok, _, err = st.mayView(ctx, tx, access.Ref{Kind: access.KindProject, ID: e.ProjectID})
	}
	return ok, err
}

func (st *stream) mayView(ctx context.Context, tx access.Tx, ref access.Ref) (ok, gone bool, err error) {
	facts, err := st.source.PersonFacts(ctx, tx, st.who.UserID, ref)
	if err != nil {
		return false, false, err
	}
	_, refusal := access.CheckPerson(facts, st.who, access.Permission{Right: access.RightView}, ref)
	return refusal == nil, access.CodeOf(refusal) == access.NotFound, nil
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
