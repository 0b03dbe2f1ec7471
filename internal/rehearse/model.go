package rehearse

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Check says what a call is judged by.
type Check string

// The kinds of check. TokenOnly exists in this package alone.
const (
	PerCall   Check = "per-call"   // the state of the moment of the call
	TokenOnly Check = "token-only" // what the token said when it was made, until it expires
)

// The scopes of product.md §1.
const (
	scopeRead  = "osfoundry:read"
	scopeWrite = "osfoundry:write"
	scopeRun   = "osfoundry:run"
)

// Codes of refusals (product.md §3).
const (
	invalidToken        = "invalid_token"
	insufficientScope   = "insufficient_scope"
	connectionRevoked   = "connection_revoked"
	notFound            = "not_found"
	notInProject        = "not_in_project"
	seatRequired        = "seat_required"
	notYours            = "not_yours"
	alreadyDecided      = "already_decided"
	idempotencyMismatch = "idempotency_mismatch"
)

// seat is a connection's role in a session (product.md §4). A greater one includes
// the lesser.
type seat int

const (
	noSeat seat = iota
	observer
	contributor
	runner
)

var seatNames = [...]string{"no seat", "observer", "contributor", "runner"}

func (s seat) String() string { return seatNames[s] }

// states of a handoff
const (
	pending   = "pending"
	accepted  = "accepted"
	declined  = "declined"
	cancelled = "cancelled"
)

type note struct{ project, text string }

type session struct {
	project string
	seats   map[string]seat // by connection
	notes   []string        // subjects
}

type connection struct {
	revoked  bool
	projects map[string]bool
}

// token is an access token. claims are what it said when it was made; only
// TokenOnly looks at them again.
type token struct {
	connection string
	scopes     []string
	claims     grants
	expires    time.Time
}

type handoff struct{ session, connection, goal, state, task string }

type task struct{ session, connection, goal string }

// reply is what a write answered, for a repeat under the same key.
type reply struct {
	arguments arguments
	result    map[string]any
}

type replyKey struct{ connection, tool, key string }

// tokenLife is that of access tokens (product.md §2).
const tokenLife = time.Hour

// model is the state of the world and the rules over it. Its lock stands for the
// transaction that a check shares with its effect.
type model struct {
	check      Check
	ignoreKeys bool
	owner      string // the owner's secret

	mu          sync.Mutex
	made        int // IDs so far
	notes       map[string]*note
	sessions    map[string]*session
	connections map[string]*connection
	tokens      map[string]token
	refreshes   map[string]token // the token that each refresh token was given with
	handoffs    map[string]*handoff
	tasks       map[string]task
	replies     map[replyKey]reply
	checkCosts  []time.Duration // one for each check
}

func newModel(check Check) *model {
	return &model{
		check: check, owner: rand.Text(),
		notes: map[string]*note{}, sessions: map[string]*session{}, connections: map[string]*connection{},
		tokens: map[string]token{}, refreshes: map[string]token{}, handoffs: map[string]*handoff{}, tasks: map[string]task{}, replies: map[replyKey]reply{},
	}
}

// newID must be called under the lock.
func (m *model) newID(kind string) string {
	m.made++
	return fmt.Sprintf("%s_%d", kind, m.made)
}

// grants are what a check reads about a connection.
type grants struct {
	revoked  bool
	projects map[string]bool
}

func (c *connection) grants() grants { return grants{c.revoked, maps.Clone(c.projects)} }

// judge is the check of a call of a tool on the item, in the order of product.md
// §3. It is called under the lock that the effect runs under too.
func (m *model) judge(by caller, rule tool, i item) *refusal {
	if !slices.Contains(by.scopes, rule.scope) {
		return &refusal{status: http.StatusForbidden, code: insufficientScope, scope: union(by.scopes, rule.scope)}
	}
	switch {
	case by.now.revoked:
		return refuse(connectionRevoked)
	case i.missing:
		return refuse(notFound)
	case i.project != "" && !by.now.projects[i.project]:
		return refuse(notInProject)
	}
	if i.session != nil && i.session.seats[by.connection] < rule.seat {
		r := refuse(seatRequired)
		r.detail = map[string]any{"needed": rule.seat.String(), "have": i.session.seats[by.connection].String()}
		return r
	}
	if i.by != "" && i.by != by.connection {
		return refuse(notYours)
	}
	return nil
}

// caller is who calls, with the grants that the check goes by.
type caller struct {
	connection string
	scopes     []string
	now        grants
}

// caller reads the grants. This is all the difference between the checks.
func (m *model) caller(t token) caller {
	if m.check == TokenOnly {
		return caller{t.connection, t.scopes, t.claims}
	}
	return caller{t.connection, t.scopes, m.connections[t.connection].grants()}
}

// union is what a challenge names: all that is granted and all that is needed
// (protocol.md §2, step-up).
func union(granted []string, needed string) (all []string) {
	for _, s := range []string{scopeRead, scopeWrite, scopeRun} {
		if s == needed || slices.Contains(granted, s) {
			all = append(all, s)
		}
	}
	return all
}

// item is what a call is about.
type item struct {
	missing bool
	project string   // where it lies now
	session *session // that it belongs to
	by      string   // the connection that made it, where only that one may go on
}

// item finds what the arguments name.
func (m *model) item(about kind, a arguments) (i item) {
	switch about {
	case aProject:
		return item{project: a.ProjectID, missing: a.ProjectID == ""}
	case aNote:
		n, ok := m.notes[a.NoteID]
		if !ok {
			return item{missing: true}
		}
		return item{project: n.project}
	case aSession:
		return m.sessionItem(a.SessionID)
	case aTask:
		t, ok := m.tasks[a.TaskID]
		i = m.sessionItem(a.SessionID)
		i.missing, i.by = i.missing || !ok || t.session != a.SessionID, t.connection
	case aHandoff:
		h, ok := m.handoffs[a.HandoffID]
		if !ok {
			return item{missing: true}
		}
		i = m.sessionItem(h.session)
		i.by = h.connection
	}
	return i
}

func (m *model) sessionItem(id string) item {
	s, ok := m.sessions[id]
	if !ok {
		return item{missing: true}
	}
	return item{project: s.project, session: s}
}

// call makes one call of a tool: check, replay, effect, under one lock.
func (m *model) call(t token, name string, a arguments) (map[string]any, *refusal) {
	rule := tools[name]
	m.mu.Lock()
	defer m.mu.Unlock()
	started := time.Now()
	by := m.caller(t)
	refused := m.judge(by, rule, m.item(rule.about, a))
	m.checkCosts = append(m.checkCosts, time.Since(started))
	if refused != nil {
		return nil, refused
	}
	if !rule.keyed || m.ignoreKeys {
		return rule.run(m, by, a)
	}
	key := replyKey{t.connection, name, a.Key}
	if before, ok := m.replies[key]; ok {
		return before.again(a)
	}
	result, refused := rule.run(m, by, a)
	if refused == nil {
		m.replies[key] = reply{a, result}
	}
	return result, refused
}

// again is the first result, for the same arguments (product.md §4).
func (r reply) again(a arguments) (map[string]any, *refusal) {
	if r.arguments != a {
		return nil, refuse(idempotencyMismatch)
	}
	result := maps.Clone(r.result)
	result["replayed"] = true
	return result, nil
}

// refusal is why a call was refused. A status other than 200 is a challenge.
type refusal struct {
	status int
	code   string
	scope  []string // of a challenge
	detail map[string]any
}

func refuse(code string) *refusal { return &refusal{status: http.StatusOK, code: code} }

// decide is the owner's answer to a handoff: the first of accept, decline and
// cancel wins, and accepting queues one task (product.md §4). The state is that
// after the call.
func (m *model) decide(id, decision string) (state string, refused *refusal) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, ok := m.handoffs[id]
	if !ok {
		return "", refuse(notFound)
	}
	if h.state != pending {
		return h.state, &refusal{status: http.StatusConflict, code: alreadyDecided, detail: map[string]any{"state": h.state}}
	}
	h.state = declined
	if decision == "accept" {
		h.state, h.task = accepted, m.queue(h.session, h.connection, h.goal)
	}
	return h.state, nil
}

// queue must be called under the lock.
func (m *model) queue(session, connection, goal string) string {
	id := m.newID("task")
	m.tasks[id] = task{session, connection, goal}
	return id
}
