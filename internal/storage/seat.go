package storage

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Seats implements workspace.SeatStore.
type Seats struct{}

var _ workspace.SeatStore = Seats{}

// SeatsOf is workspace.SeatStore.SeatsOf.
func (Seats) SeatsOf(ctx context.Context, tx access.Tx, workspaceID, sessionID string, page workspace.Page) ([]workspace.SeatGiven, error) {
	rows, err := on(tx).SeatsOf(ctx, gen.SeatsOfParams{
		WorkspaceID: workspaceID, SessionID: sessionID, After: page.After, Most: int32(page.Limit),
	})
	return each(rows, func(r gen.SeatsOfRow) workspace.SeatGiven {
		return workspace.SeatGiven{
			SessionID: r.ID, SessionType: workspace.SessionType(r.Type), Title: r.Title,
			ConnectionID: r.ConnectionID, Connection: r.Name, Slug: r.Slug, Status: workspace.Status(r.Status), Seat: access.ParseSeat(r.Seat),
			GivenBy: r.GivenBy, LastUsedAt: timeOf(r.LastUsedAt), CreatedAt: timeOf(r.CreatedAt),
		}
	}), err
}

// SeatFor is workspace.SeatStore.SeatFor.
func (Seats) SeatFor(ctx context.Context, tx access.Tx, workspaceID, sessionID, connectionID string) (g workspace.SeatGiven, inProject, ok bool, err error) {
	r, err := on(tx).SeatFor(ctx, workspaceID, sessionID, connectionID)
	if found, err := foundRow(err, "read seat"); !found {
		return workspace.SeatGiven{}, false, false, err
	}
	return workspace.SeatGiven{
		SessionID: r.ID, SessionType: workspace.SessionType(r.Type), Title: r.Title,
		ConnectionID: r.ConnectionID, Connection: r.Name, Slug: r.Slug, Status: workspace.Status(r.Status), Seat: access.ParseSeat(r.Seat),
		GivenBy: r.GivenBy, LastUsedAt: timeOf(r.LastUsedAt), CreatedAt: timeOf(r.CreatedAt),
	}, r.Granted != "", true, nil
}

// PutSeat is workspace.SeatStore.PutSeat. The session's row is held by then; see
// DB.HoldPerson.
func (Seats) PutSeat(ctx context.Context, tx access.Tx, g workspace.SeatGiven) error {
	return on(tx).PutSeat(ctx, gen.PutSeatParams{
		SessionID: g.SessionID, ConnectionID: g.ConnectionID, Seat: g.Seat.String(), GivenBy: g.GivenBy, CreatedAt: msOf(g.CreatedAt),
	})
}

// DeleteSeat is workspace.SeatStore.DeleteSeat.
func (Seats) DeleteSeat(ctx context.Context, tx access.Tx, workspaceID, sessionID, connectionID string) (bool, error) {
	n, err := on(tx).DeleteSeat(ctx, sessionID, connectionID, workspaceID)
	return n == 1, err
}
