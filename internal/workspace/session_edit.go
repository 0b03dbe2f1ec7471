package workspace

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// SessionStore keeps sessions.
type SessionStore interface {
	InsertSession(ctx context.Context, tx access.Tx, s Session) error
	// UpdateSession writes title, place, agents, figures and archive of s, whose
	// version is one more than was, if the stored version is still was and it lies in
	// the project from.
	UpdateSession(ctx context.Context, tx access.Tx, s Session, from string, was int64) (ok bool, err error)
	// ProjectSessions lists sessions of a project that the person can open, in the
	// order of their making.
	ProjectSessions(ctx context.Context, tx access.Tx, workspaceID, projectID, userID string, archived bool, page Page) ([]Session, error)
	// JoinedSessions lists sessions that the scope's connection may see, with its
	// seats, in the order of their making.
	JoinedSessions(ctx context.Context, tx access.Tx, in Scope, f JoinedFilter, page Page) ([]JoinedSession, error)
	// SessionStates says of sessions what goes on there; those that are not in the
	// answer are idle.
	SessionStates(ctx context.Context, tx access.Tx, workspaceID string, ids []string) (map[string]SessionState, error)
	// RecentTasks are the newest tasks of a session, newest first. Of each it reads
	// who is behind it and how it goes, and the goal; no agents and no result.
	RecentTasks(ctx context.Context, tx access.Tx, workspaceID, sessionID string, limit int) ([]Task, error)
}

// NewSession is a session to be made.
type NewSession struct {
	Type      SessionType
	Title     string
	Agents    []Agent
	Done      Done
	MaxRounds int64 // 0: MaxAskedRounds
	Budget    Budget
}

// SessionChange says what to change; nil leaves it as it is.
type SessionChange struct {
	Title           *string
	Agents          []Agent
	Done            *Done
	MaxRounds       *int64
	Budget          *Budget
	Archived        *bool
	To              *access.Permit // for the project to move to
	ExpectedVersion int64
}

// SessionRules are what agents can be given on this server.
type SessionRules struct {
	Tools    []string // names of the tools
	Reading  []string // those of them that an agent gets whose tools nobody named
	Programs []string // that the command of a done-condition may run, as absolute paths
}

// Sessions is what can be done with sessions.
type Sessions struct {
	store     SessionStore
	providers ProviderStore
	resources ResourceStore
	events    *Events
	rules     SessionRules
	now       func() time.Time
}

// NewSessions makes the service on its stores, the events, what agents can be
// given, and the clock.
func NewSessions(store SessionStore, providers ProviderStore, resources ResourceStore, events *Events, rules SessionRules, now func() time.Time) *Sessions {
	return &Sessions{store, providers, resources, events, rules, now}
}

// loadedSession is the row that the check read along, of the permit's session or of
// the one that its handoff or task is of.
func loadedSession(p access.Permit) (Session, error) {
	s, ok := p.Loaded().(Session)
	if !ok {
		return Session{}, access.Refuse(access.Internal, "This call was not checked.").Because(errors.New("the permit came without its session"))
	}
	return s, nil
}

// Create makes a session in the permit's project. The person is its owner.
func (s *Sessions) Create(ctx context.Context, tx access.Tx, p access.Permit, n NewSession) (Session, error) {
	if err := p.Covers(access.KindProject, access.RightEdit); err != nil {
		return Session{}, err
	}
	if err := takesMore(p, ""); err != nil {
		return Session{}, err
	}
	now, who := s.now(), p.Principal()
	made := Session{
		ID: NewID(), WorkspaceID: p.Workspace(), ProjectID: p.Project(), Type: n.Type, Title: n.Title, OwnerID: who.UserID, Version: 1,
		Agents: s.equipped(n.Agents), Done: n.Done, MaxRounds: n.MaxRounds, Budget: n.Budget,
		CreatedAt: now, CreatedBy: who.UserID, UpdatedAt: now, UpdatedBy: who.UserID,
	}
	if made.MaxRounds == 0 {
		made.MaxRounds = MaxAskedRounds
	}
	if err := s.judge(ctx, tx, p, made, Session{}); err != nil {
		return Session{}, err
	}
	if err := s.store.InsertSession(ctx, tx, made); err != nil {
		return Session{}, err
	}
	return made, s.record(ctx, tx, p, "session.created", made)
}

// equipped gives agents whose tools nobody named those that read: without any, an
// agent would know nothing but its goal. An empty list is no tools.
func (s *Sessions) equipped(agents []Agent) []Agent {
	agents = slices.Clone(agents)
	for i := range agents {
		if agents[i].Tools == nil {
			agents[i].Tools = slices.Clone(s.rules.Reading)
		}
	}
	return agents
}

// Change changes the permit's session as one new version. In the archive it can
// only be taken out.
func (s *Sessions) Change(ctx context.Context, tx access.Tx, p access.Permit, c SessionChange) (Session, error) {
	if err := p.Covers(access.KindSession, access.RightEdit); err != nil {
		return Session{}, err
	}
	was, err := loadedSession(p)
	if err != nil {
		return Session{}, err
	}
	if was.Version != c.ExpectedVersion {
		return Session{}, refuseStale("session", c.ExpectedVersion, was.Version, "")
	}
	if was.Archived() && (c.Archived == nil || *c.Archived) {
		return Session{}, access.Refuse(access.Conflict, "This session is in the archive. Restore it first.")
	}
	next := c.applied(was)
	next.Agents = s.equipped(next.Agents)
	if err := s.place(p, c, &next); err != nil {
		return Session{}, err
	}
	if err := s.judge(ctx, tx, p, next, was); err != nil {
		return Session{}, err
	}
	next.Version, next.UpdatedAt, next.UpdatedBy = was.Version+1, s.now(), p.Principal().UserID
	if next.Archived() && !was.Archived() {
		next.ArchivedAt = next.UpdatedAt
	}
	ok, err := s.store.UpdateSession(ctx, tx, next, was.ProjectID, was.Version)
	if err != nil {
		return Session{}, err
	}
	if !ok { // somebody else was first
		return Session{}, refuseStale("session", was.Version, was.Version+1, "")
	}
	return next, s.recordChange(ctx, tx, p, next, was)
}

// applied is the session with the changes, still to be judged.
func (c SessionChange) applied(s Session) Session {
	if c.Title != nil {
		s.Title = *c.Title
	}
	if c.Agents != nil {
		s.Agents = c.Agents
	}
	if c.Done != nil {
		s.Done = *c.Done
	}
	if c.MaxRounds != nil {
		s.MaxRounds = *c.MaxRounds
	}
	if c.Budget != nil {
		s.Budget = *c.Budget
	}
	switch {
	case c.Archived != nil && !*c.Archived:
		s.ArchivedAt = time.Time{}
	case c.Archived != nil:
		s.ArchivedAt = time.Unix(0, 0) // the moment follows
	}
	return s
}

// place puts the session where the change says.
func (s *Sessions) place(p access.Permit, c SessionChange, next *Session) error {
	if c.To == nil {
		return nil
	}
	if err := c.To.Covers(access.KindProject, access.RightEdit); err != nil {
		return err
	}
	switch {
	case c.To.Workspace() != p.Workspace(): // a person may be in both, a session never
		return access.Refuse(access.NotFound, "There is no project with this ID.")
	case c.To.Project() == next.ProjectID:
		return refuseFaults(faultf("/project_id", "is where the session lies already"))
	}
	next.ProjectID = c.To.Project()
	return takesMore(*c.To, "")
}

func (s *Sessions) recordChange(ctx context.Context, tx access.Tx, p access.Permit, next, was Session) error {
	event := "session.changed"
	switch {
	case next.Archived() && !was.Archived():
		event = "session.archived"
	case was.Archived() && !next.Archived():
		event = "session.restored"
	}
	if err := s.record(ctx, tx, p, event, next); err != nil {
		return err
	}
	if next.ProjectID == was.ProjectID {
		return nil
	}
	// Whoever sees only the old project learns that the session left, not where to.
	was.Version = next.Version
	return s.record(ctx, tx, p, "session.left", was)
}

func (s *Sessions) record(ctx context.Context, tx access.Tx, p access.Permit, event string, made Session) error {
	return s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: made.WorkspaceID, ProjectID: made.ProjectID, Type: event, Kind: access.KindSession, ResourceID: made.ID, Version: made.Version,
	})
}

// judge refuses a session that could not work. Was is the session before, so that
// nobody is asked about what they leave as it is.
func (s *Sessions) judge(ctx context.Context, tx access.Tx, p access.Permit, next, was Session) error {
	faults := titleFaults("/title", next.Title, MaxSessionTitle)
	if !next.Type.Valid() {
		faults = append(faults, faultf("/type", "must be agent, team or loop"))
	} else {
		faults = append(faults, countFaults(next)...)
	}
	if next.MaxRounds < 1 || next.MaxRounds > MaxRounds {
		faults = append(faults, faultf("/max_rounds", "takes 1 to %d, got %d", MaxRounds, next.MaxRounds))
	}
	faults = append(faults, next.Budget.faults()...)
	seen := map[string]bool{}
	for i, a := range next.Agents[:min(len(next.Agents), MaxAgents)] {
		faults = append(faults, s.agentFaults(i, a)...)
		if seen[a.Slug] {
			faults = append(faults, faultf(itemPointer("agents", i, "slug"), "is the slug of another agent"))
		}
		seen[a.Slug] = true
	}
	unknown, err := s.providerFaults(ctx, tx, next, was)
	if err != nil {
		return err
	}
	faults = append(append(faults, unknown...), s.doneFaults(next)...)
	if faults != nil {
		return refuseFaults(faults...)
	}
	if len(next.Done.Command) > 0 && !slices.Equal(next.Done.Command, was.Done.Command) && p.Role() != access.RoleOwner {
		return access.Refuse(access.Forbidden, "Only an owner of the workspace can have a command run on this server.")
	}
	return nil
}

func countFaults(s Session) []Fault {
	n := len(s.Agents)
	switch {
	case s.Type == SessionTeam && (n < MinTeam || n > MaxAgents):
		return []Fault{faultf("/agents", "of a team are %d to %d, got %d", MinTeam, MaxAgents, n)}
	case s.Type != SessionTeam && n != 1:
		return []Fault{faultf("/agents", "must be one for the type %s, got %d", s.Type, n)}
	}
	return nil
}

func (s *Sessions) agentFaults(i int, a Agent) []Fault {
	at := func(member string) string { return itemPointer("agents", i, member) }
	var faults []Fault
	if len(a.Slug) > MaxAgentSlug || !slugForm.MatchString(a.Slug) {
		faults = append(faults, faultf(at("slug"), "takes a to z, 0 to 9 and hyphens, at most %d, not a hyphen first", MaxAgentSlug))
	}
	faults = append(faults, proseFaults(at("instructions"), a.Instructions, MaxInstructions)...)
	if a.Model != "" {
		faults = append(faults, titleFaults(at("model"), a.Model, MaxModel)...)
	}
	if len(a.Tools) > MaxAgentTools {
		return append(faults, faultf(at("tools"), "takes at most %d tools, got %d", MaxAgentTools, len(a.Tools)))
	}
	for j, name := range a.Tools {
		switch {
		case !slices.Contains(s.rules.Tools, name):
			faults = append(faults, faultf(pointerTo(at("tools"), j), "%s is no tool that agents can use", strconv.Quote(clip(strings.ToValidUTF8(name, "\uFFFD"), 60))))
		case slices.Index(a.Tools, name) != j:
			faults = append(faults, faultf(pointerTo(at("tools"), j), "%s is listed twice", name))
		}
	}
	return faults
}

// providerFaults names agents whose provider the workspace does not have. One that
// was deleted does not keep people from changing something else.
func (s *Sessions) providerFaults(ctx context.Context, tx access.Tx, next, was Session) (faults []Fault, err error) {
	for i, a := range next.Agents[:min(len(next.Agents), MaxAgents)] {
		if a.Provider == RehearsalProvider || a.Provider != "" && was.Agent(a.Slug).Provider == a.Provider {
			continue
		}
		known := false
		if providerNameFault(a.Provider) == "" {
			if _, known, err = s.providers.Provider(ctx, tx, next.WorkspaceID, a.Provider); err != nil {
				return nil, err
			}
		}
		if !known {
			faults = append(faults, faultf(itemPointer("agents", i, "provider"), "must be %s or the name of a provider of this workspace", RehearsalProvider))
		}
	}
	return faults, nil
}

// doneFaults says what is wrong with a done-condition, which only a loop has.
func (s *Sessions) doneFaults(next Session) []Fault {
	d, set := next.Done, 0
	for _, is := range []bool{d.Phrase != "", d.Verdict, d.Command != nil} {
		if is {
			set++
		}
	}
	switch {
	case set == 0:
		return nil
	case next.Type != SessionLoop:
		return []Fault{faultf("/done", "is for the type loop only")}
	case set > 1:
		return []Fault{faultf("/done", "takes one of phrase, verdict and command")}
	case d.Command != nil:
		return commandFaults("/done/command", d.Command, s.rules.Programs)
	case d.Phrase != "":
		return titleFaults("/done/phrase", d.Phrase, MaxDonePhrase)
	}
	return nil
}
