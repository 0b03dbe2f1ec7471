package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// SeatStore keeps the seats of connections in sessions. Who gives or takes one
// holds the session's row, as do all calls of connections in it that change
// something: one of the two is first.
type SeatStore interface {
	// SeatsOf lists seats that have an effect, in the order of the connections' IDs:
	// the session's project is given to the connection, which is not revoked.
	SeatsOf(ctx context.Context, tx access.Tx, workspaceID, sessionID string, page Page) ([]SeatGiven, error)
	// SeatFor is the connection with its seat in the session, if any. InProject says
	// whether it was added to the session's project; ok is false for a connection
	// that the workspace does not have.
	SeatFor(ctx context.Context, tx access.Tx, workspaceID, sessionID, connectionID string) (g SeatGiven, inProject, ok bool, err error)
	PutSeat(ctx context.Context, tx access.Tx, g SeatGiven) error
	// DeleteSeat says whether there was one.
	DeleteSeat(ctx context.Context, tx access.Tx, workspaceID, sessionID, connectionID string) (bool, error)
}

// Seats says what connections may do in sessions.
type Seats struct {
	store  SeatStore
	events *Events
	now    func() time.Time
}

// NewSeats makes the service on its store, the events and the clock.
func NewSeats(store SeatStore, events *Events, now func() time.Time) *Seats {
	return &Seats{store, events, now}
}

// List lists the seats of the permit's session that have an effect.
func (s *Seats) List(ctx context.Context, tx access.Tx, p access.Permit, page Page) (Listing[SeatGiven], error) {
	if err := p.Covers(access.KindSession, access.RightView); err != nil {
		return Listing[SeatGiven]{}, err
	}
	rows, err := s.store.SeatsOf(ctx, tx, p.Workspace(), p.ID(), Page{page.After, page.Limit + 1})
	return Cut(rows, page.Limit, func(g SeatGiven) string { return g.ConnectionID }), err
}

// Give gives a connection a seat in the permit's session, or another one, from its
// next call on. NotInProject if it was not added to the session's project.
func (s *Seats) Give(ctx context.Context, tx access.Tx, p access.Permit, connectionID string, seat access.Seat) (SeatGiven, error) {
	if err := p.Covers(access.KindSession, access.RightManage); err != nil {
		return SeatGiven{}, err
	}
	g, inProject, ok, err := s.store.SeatFor(ctx, tx, p.Workspace(), p.ID(), connectionID)
	if err != nil {
		return SeatGiven{}, err
	}
	switch {
	case !ok:
		return SeatGiven{}, access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindConnection)
	case seat == access.SeatNone:
		return SeatGiven{}, refuseFaults(faultf("/seat", "must be observer, contributor or runner"))
	case g.Status == StatusRevoked:
		return SeatGiven{}, access.Refuse(access.ConnectionRevoked, "This connection was revoked. Connect the assistant again and give that connection a seat.")
	case !inProject:
		return SeatGiven{}, access.Refuse(access.NotInProject, "This connection was not added to the session's project. Add it there first.")
	case g.Seat == seat:
		return g, nil
	}
	was := g.Seat
	g.Seat, g.GivenBy, g.CreatedAt = seat, p.Principal().UserID, s.now()
	if err := s.store.PutSeat(ctx, tx, g); err != nil {
		return SeatGiven{}, err
	}
	return g, s.record(ctx, tx, p, "seat.given", map[string]any{"connection_id": connectionID, "seat": seat.String(), "was": was.String()})
}

// Take takes a connection's seat in the permit's session, from its next call on.
// NotFound if it has none.
func (s *Seats) Take(ctx context.Context, tx access.Tx, p access.Permit, connectionID string) error {
	if err := p.Covers(access.KindSession, access.RightManage); err != nil {
		return err
	}
	had, err := s.store.DeleteSeat(ctx, tx, p.Workspace(), p.ID(), connectionID)
	if err != nil {
		return err
	}
	if !had {
		return access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindConnection)
	}
	return s.record(ctx, tx, p, "seat.taken", map[string]any{"connection_id": connectionID})
}

func (s *Seats) record(ctx context.Context, tx access.Tx, p access.Permit, event string, data map[string]any) error {
	return s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: p.Workspace(), ProjectID: p.Project(), Type: event, Kind: access.KindSession, ResourceID: p.ID(), Data: data,
	})
}
