package workspace

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
)

// HandoffState is where a handoff stands (product.md §4).
type HandoffState string

// The states. All but pending are final.
const (
	HandoffPending   HandoffState = "pending"
	HandoffAccepted  HandoffState = "accepted"
	HandoffDeclined  HandoffState = "declined"
	HandoffCancelled HandoffState = "cancelled" // by its connection, or because nobody decided in time
)

// Limits of handoffs (product.md §4). Texts are counted in Unicode code points.
const (
	MaxGoal            = 5000
	MaxContextSummary  = 5000
	MaxRequestedOutput = 1000
	MaxReason          = 1000
)

const (
	reasonExpired = "expired"

	// retryPendingHandoff is after how long asking again is no bother, where nothing
	// says when a person will have decided.
	retryPendingHandoff = time.Minute
)

// Handoff is an outside assistant's proposal, which a person decides.
type Handoff struct {
	ID              string
	WorkspaceID     string
	SessionID       string
	SessionType     SessionType
	ProjectID       string // of the session now
	ConnectionID    string // that proposed it
	Connection      string // its display name now
	Slug            string // of the connection
	Host            string // where the connection's approver was sent back to
	Approver        Named  // of the connection
	Goal            string
	ContextSummary  string
	RequestedOutput string
	MaxRounds       int64 // asked for, or the default
	State           HandoffState
	Reason          string // of the decision, for people and the connection
	CreatedAt       time.Time
	ExpiresAt       time.Time // zero: never
	DecidedAt       time.Time // zero: not yet
	DecidedBy       Named     // zero where the connection cancelled, or nobody decided in time
	TaskID          string    // that accepting queued
}

// at is the handoff as it stands at a moment: one that nobody decided in time is
// cancelled, whether or not that was written down yet.
func (h Handoff) at(now time.Time) Handoff {
	if h.State == HandoffPending && !h.ExpiresAt.IsZero() && !h.ExpiresAt.After(now) {
		h.State, h.Reason, h.DecidedAt = HandoffCancelled, reasonExpired, h.ExpiresAt
	}
	return h
}

// Proposal is what an assistant proposes.
type Proposal struct {
	Goal            string
	ContextSummary  string
	RequestedOutput string
	MaxRounds       int64 // 0: DefaultMaxRounds
}

// HandoffFilter narrows a list of handoffs. Zero values narrow nothing.
type HandoffFilter struct {
	WorkspaceID string
	SessionID   string
	SessionType SessionType
	State       HandoffState
	Now         time.Time // pending ones that expired by then count as cancelled
}

// WaitingRequest is something of a connection that waits for a person: a handoff
// to be decided, or a task that asks for help.
type WaitingRequest struct {
	ID          string
	Run         bool // a task; else a handoff
	SessionID   string
	SessionType SessionType
	Goal        string
	Reason      string // of a task: what it waits for
	CreatedAt   time.Time
	ExpiresAt   time.Time // of a handoff; zero: never
}

// HandoffVerdict is a decision about a handoff as it is written down.
type HandoffVerdict struct {
	WorkspaceID string
	HandoffID   string
	State       HandoffState // the one that it ends in
	Reason      string
	By          string // user; "" where the connection cancelled
	Now         time.Time
}

// HandoffStore keeps handoffs. Lists are newest first; Page.After is then the ID
// to go on before, "" at the beginning.
type HandoffStore interface {
	// CountPending is how many handoffs of the connection wait for a person, and when
	// the first of them expires; the zero time if none does.
	CountPending(ctx context.Context, tx access.Tx, connectionID string, now time.Time) (n int64, soonest time.Time, err error)
	InsertHandoff(ctx context.Context, tx access.Tx, h Handoff) error
	Handoff(ctx context.Context, tx access.Tx, workspaceID, handoffID string) (h Handoff, ok bool, err error)
	// SessionHandoffs lists those of a session, whoever proposed them.
	SessionHandoffs(ctx context.Context, tx access.Tx, workspaceID, sessionID string, f HandoffFilter, page Page) ([]Handoff, error)
	// DecidableHandoffs lists those of all sessions that the person may edit.
	DecidableHandoffs(ctx context.Context, tx access.Tx, userID string, f HandoffFilter, page Page) ([]Handoff, error)
	// SessionsOf reads the sessions of these handoffs, by ID.
	SessionsOf(ctx context.Context, tx access.Tx, handoffs []Handoff) (map[string]Session, error)
	// OwnHandoffs lists those that the scope's connection proposed, in sessions that
	// it may see.
	OwnHandoffs(ctx context.Context, tx access.Tx, in Scope, f HandoffFilter, page Page) ([]Handoff, error)
	// WaitingRequests lists what of the scope's connection waits for a person, in
	// sessions that it may see.
	WaitingRequests(ctx context.Context, tx access.Tx, in Scope, now time.Time, page Page) ([]WaitingRequest, error)
	// DecideHandoff ends the handoff if it is pending and did not expire; ok says
	// whether it was. It is the one statement that decides.
	DecideHandoff(ctx context.Context, tx access.Tx, v HandoffVerdict) (ok bool, err error)
	// Expired lists pending handoffs that expired by now, with their sessions.
	Expired(ctx context.Context, tx access.Tx, now time.Time, limit int) ([]ExpiredHandoff, error)
	// ExpireHandoff cancels the handoff if it is still pending and expired.
	ExpireHandoff(ctx context.Context, tx access.Tx, workspaceID, handoffID, reason string, now time.Time) (ok bool, err error)
	// ProposerFacts are the facts of the connection and the session at this moment.
	ProposerFacts(ctx context.Context, tx access.Tx, connectionID string, ref access.Ref) (access.Facts, error)
}

// ExpiredHandoff is a handoff that nobody decided in time.
type ExpiredHandoff struct {
	ID          string
	WorkspaceID string
	ProjectID   string
	SessionID   string
}

// TaskQueuer queues the task of a handoff that is being accepted: the row, which
// its handoff has only one of, and the job of its first round, in tx. P is the
// permit of who accepts, for the session with RightEdit. H holds as MaxRounds what
// was shown: what was asked for, within the session's own cap.
type TaskQueuer interface {
	QueueHandoff(ctx context.Context, tx access.Tx, p access.Permit, s Session, h Handoff) (Task, error)
}

// HandoffConfig is what differs between installations.
type HandoffConfig struct {
	MaxPending int64  // of one connection
	PublicURL  string // under which people reach the web app, without a slash at the end
}

// Handoffs is what can be done with handoffs.
type Handoffs struct {
	store     HandoffStore
	providers ProviderStore
	figures   FiguresStore
	resources ResourceStore
	notices   *Notices
	queue     TaskQueuer
	events    *Events
	config    HandoffConfig
	now       func() time.Time
}

// HandoffParts are the stores and services that Handoffs is made of.
type HandoffParts struct {
	Store     HandoffStore
	Providers ProviderStore
	Figures   FiguresStore
	Resources ResourceStore
	Notices   *Notices
	Queue     TaskQueuer
	Events    *Events
	Now       func() time.Time
}

// NewHandoffs makes the service.
func NewHandoffs(p HandoffParts, c HandoffConfig) *Handoffs {
	return &Handoffs{p.Store, p.Providers, p.Figures, p.Resources, p.Notices, p.Queue, p.Events, c, p.Now}
}

// Propose keeps a proposal of the permit's connection for the session's owner, who
// is told. Nothing is queued.
func (s *Handoffs) Propose(ctx context.Context, tx access.Tx, p access.Permit, in Proposal) (Handoff, error) {
	if err := p.Seated(access.KindSession, access.SeatContributor); err != nil {
		return Handoff{}, err
	}
	session, err := loadedSession(p)
	if err != nil {
		return Handoff{}, err
	}
	if faults := in.faults(); faults != nil {
		return Handoff{}, refuseFaults(faults...)
	}
	if session.Archived() {
		return Handoff{}, access.Refuse(access.HumanRequired, "This session is in the archive. A person must restore it before it takes handoffs.").
			With("url", s.config.PublicURL+"/sessions/"+session.ID)
	}
	now, who := s.now(), p.Principal()
	if err := s.room(ctx, tx, who.ConnectionID, now); err != nil {
		return Handoff{}, err
	}
	figures, err := s.figures.Figures(ctx, tx, p.Workspace())
	if err != nil {
		return Handoff{}, err
	}
	h := Handoff{
		ID: NewID(), WorkspaceID: p.Workspace(), SessionID: p.ID(), SessionType: session.Type,
		ConnectionID: who.ConnectionID, Connection: who.ConnectionName, Slug: who.ConnectionSlug,
		Goal: in.Goal, ContextSummary: in.ContextSummary, RequestedOutput: in.RequestedOutput, MaxRounds: in.MaxRounds,
		State: HandoffPending, CreatedAt: now,
	}
	if h.MaxRounds == 0 {
		h.MaxRounds = DefaultMaxRounds
	}
	if figures.HandoffMinutes > 0 {
		h.ExpiresAt = now.Add(time.Duration(figures.HandoffMinutes) * time.Minute)
	}
	if err := s.store.InsertHandoff(ctx, tx, h); err != nil {
		return Handoff{}, err
	}
	err = s.notices.Tell(ctx, tx, who, Notice{
		WorkspaceID: h.WorkspaceID, UserID: session.OwnerID, Type: NoticeHandoffProposed,
		About: NoticeAbout{SessionID: h.SessionID, HandoffID: h.ID, ConnectionID: who.ConnectionID, Connection: who.ConnectionName},
	})
	if err != nil {
		return Handoff{}, err
	}
	return h, s.record(ctx, tx, who, "handoff.proposed", p, h, "")
}

func (in Proposal) faults() []Fault {
	faults := proseFaults("/goal", in.Goal, MaxGoal)
	if faults == nil && strings.TrimFunc(in.Goal, blank) == "" {
		faults = append(faults, faultf("/goal", "must not be blank"))
	}
	faults = append(faults, proseFaults("/context_summary", in.ContextSummary, MaxContextSummary)...)
	faults = append(faults, proseFaults("/requested_output", in.RequestedOutput, MaxRequestedOutput)...)
	if in.MaxRounds < 0 || in.MaxRounds > MaxAskedRounds {
		faults = append(faults, faultf("/max_rounds", "takes 1 to %d, got %d", MaxAskedRounds, in.MaxRounds))
	}
	return faults
}

// proseFaults says what is wrong with a text of at most so many code points.
func proseFaults(pointer, text string, most int) []Fault {
	if faults := textFaults(pointer, text); faults != nil {
		return faults
	}
	if n := utf8.RuneCountInString(text); n > most {
		return []Fault{faultf(pointer, "takes at most %d characters, got %d", most, n)}
	}
	return nil
}

// room refuses a connection that has as many handoffs waiting as it may. Its row
// is held, so that calls side by side cannot both take the last place.
func (s *Handoffs) room(ctx context.Context, tx access.Tx, connectionID string, now time.Time) error {
	n, soonest, err := s.store.CountPending(ctx, tx, connectionID, now)
	if err != nil || n < s.config.MaxPending {
		return err
	}
	wait := retryPendingHandoff
	if !soonest.IsZero() {
		wait = min(wait, soonest.Sub(now))
	}
	return access.Refuse(access.RateLimited, "%d handoffs of this connection wait for a person, which is the most. Cancel one, or wait until one is decided.", n).
		With("retry_after_ms", max(1, wait.Milliseconds())).With("limit", s.config.MaxPending)
}

// Cancel withdraws a pending handoff that the permit's connection proposed. To one
// that it cancelled before, or that expired, the answer is the same.
func (s *Handoffs) Cancel(ctx context.Context, tx access.Tx, p access.Permit) (Handoff, error) {
	if err := p.Seated(access.KindHandoff, access.SeatContributor); err != nil {
		return Handoff{}, err
	}
	now, who := s.now(), p.Principal()
	ok, err := s.store.DecideHandoff(ctx, tx, HandoffVerdict{
		WorkspaceID: p.Workspace(), HandoffID: p.ID(), State: HandoffCancelled, Now: now,
	})
	if err != nil {
		return Handoff{}, err
	}
	h, err := s.find(ctx, tx, p.Workspace(), p.ID(), now)
	if err != nil {
		return Handoff{}, err
	}
	if h.ConnectionID != who.ConnectionID { // the check saw to it
		return Handoff{}, access.Refuse(access.NotYours, "This handoff was not made by this connection.")
	}
	if !ok && h.State != HandoffCancelled {
		return Handoff{}, decidedAlready(h)
	}
	if !ok {
		return h, nil
	}
	return h, s.record(ctx, tx, who, "handoff.cancelled", p, h, "")
}

// find reads a handoff as it stands now.
func (s *Handoffs) find(ctx context.Context, tx access.Tx, workspaceID, id string, now time.Time) (Handoff, error) {
	h, ok, err := s.store.Handoff(ctx, tx, workspaceID, id)
	if err == nil && !ok {
		err = unknownHandoff()
	}
	return h.at(now), err
}

func unknownHandoff() error {
	return access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindHandoff)
}

// decidedAlready tells whoever comes second how the handoff was decided.
func decidedAlready(h Handoff) error {
	text := "This handoff was " + string(h.State) + " already."
	if h.Reason == reasonExpired && h.State == HandoffCancelled {
		text = "This handoff expired: nobody decided it in time."
	}
	return access.Refuse(access.AlreadyDecided, "%s", text).With("state", string(h.State))
}

// record says what became of a handoff; the event is about its session.
func (s *Handoffs) record(ctx context.Context, tx access.Tx, who access.Principal, event string, p access.Permit, h Handoff, taskID string) error {
	data := map[string]any{"handoff_id": h.ID}
	if taskID != "" {
		data["task_id"] = taskID
	}
	return s.events.Record(ctx, tx, who, Event{
		WorkspaceID: h.WorkspaceID, ProjectID: p.Project(), Type: event, Kind: access.KindSession, ResourceID: h.SessionID, Data: data,
	})
}

// Own lists handoffs that the permit's connection proposed, newest first. A permit
// for a session narrows them to it; one for the connection leaves out those of
// sessions that a call would be denied.
func (s *Handoffs) Own(ctx context.Context, tx access.Tx, p access.Permit, f HandoffFilter, page Page) (Listing[Handoff], error) {
	in, err := s.scope(ctx, tx, p)
	if err != nil {
		return Listing[Handoff]{}, err
	}
	f.Now = s.now()
	if p.Kind() == access.KindSession {
		f.SessionID = p.ID()
	}
	rows, err := s.store.OwnHandoffs(ctx, tx, in, f, Page{page.After, page.Limit + 1})
	return Cut(asOf(rows, f.Now), page.Limit, handoffID), err
}

// Waiting lists what of the permit's connection waits for a person, newest first.
func (s *Handoffs) Waiting(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[WaitingRequest], error) {
	in, err := s.scope(ctx, tx, p)
	if err != nil {
		return Listing[WaitingRequest]{}, err
	}
	rows, err := s.store.WaitingRequests(ctx, tx, in, s.now(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(r WaitingRequest) string { return r.ID }), err
}

// scope is what a permit for the connection, or for a session, opens.
func (s *Handoffs) scope(ctx context.Context, tx access.Tx, p access.Permit) (Scope, error) {
	if p.Kind() != access.KindSession {
		return connectionScope(ctx, tx, s.resources, p)
	}
	return sessionScope(p)
}

// OfSession lists the handoffs of the permit's session for people, newest first.
func (s *Handoffs) OfSession(ctx context.Context, tx access.Tx, p access.Permit, state HandoffState, page Page) (Listing[ShownHandoff], error) {
	if err := p.Covers(access.KindSession, access.RightView); err != nil {
		return Listing[ShownHandoff]{}, err
	}
	f := HandoffFilter{State: state, Now: s.now()}
	rows, err := s.store.SessionHandoffs(ctx, tx, p.Workspace(), p.ID(), f, Page{page.After, page.Limit + 1})
	if err != nil {
		return Listing[ShownHandoff]{}, err
	}
	cut := Cut(asOf(rows, f.Now), page.Limit, handoffID)
	shown, err := s.show(ctx, tx, p, cut.Items...)
	return Listing[ShownHandoff]{Items: shown, Next: cut.Next}, err
}

// Decidable lists the handoffs of all sessions where the person may decide, newest
// first. What is listed is no permit: deciding is checked anew.
func (s *Handoffs) Decidable(ctx context.Context, tx access.Tx, who access.Principal, f HandoffFilter, page Page) (Listing[ShownHandoff], error) {
	f.Now = s.now()
	rows, err := s.store.DecidableHandoffs(ctx, tx, who.UserID, f, Page{page.After, page.Limit + 1})
	if err != nil {
		return Listing[ShownHandoff]{}, err
	}
	cut := Cut(asOf(rows, f.Now), page.Limit, handoffID)
	sessions, err := s.store.SessionsOf(ctx, tx, cut.Items)
	if err != nil {
		return Listing[ShownHandoff]{}, err
	}
	providers := make(map[string][]Provider, len(sessions))
	for id, session := range sessions {
		if providers[id], err = s.providersOf(ctx, tx, session); err != nil {
			return Listing[ShownHandoff]{}, err
		}
	}
	shown := make([]ShownHandoff, len(cut.Items))
	for i, h := range cut.Items {
		if shown[i], err = show(h, sessions[h.SessionID], providers[h.SessionID]); err != nil {
			return Listing[ShownHandoff]{}, err
		}
	}
	return Listing[ShownHandoff]{Items: shown, Next: cut.Next}, nil
}

// OneOfSession is one handoff of the permit's session, for people.
func (s *Handoffs) OneOfSession(ctx context.Context, tx access.Tx, p access.Permit, id string) (ShownHandoff, error) {
	if err := p.Covers(access.KindSession, access.RightView); err != nil {
		return ShownHandoff{}, err
	}
	h, err := s.find(ctx, tx, p.Workspace(), id, s.now())
	if err == nil && h.SessionID != p.ID() {
		err = unknownHandoff()
	}
	if err != nil {
		return ShownHandoff{}, err
	}
	shown, err := s.show(ctx, tx, p, h)
	if err != nil {
		return ShownHandoff{}, err
	}
	return shown[0], nil
}

func handoffID(h Handoff) string { return h.ID }

func asOf(rows []Handoff, now time.Time) []Handoff {
	for i := range rows {
		rows[i] = rows[i].at(now)
	}
	return rows
}
