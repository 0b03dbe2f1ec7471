package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// seat is a connection's seat in a session.
type seat struct {
	ConnectionID string           `json:"connection_id"`
	Name         string           `json:"name"`
	Slug         string           `json:"slug"`
	Status       workspace.Status `json:"status"`
	Seat         string           `json:"seat"` // observer, contributor or runner
	Help         string           `json:"help"` // what the seat allows, in plain words
	GivenBy      string           `json:"given_by"`
	GivenAt      time.Time        `json:"given_at"`
	LastUsedAt   *time.Time       `json:"last_used_at"` // of the connection; null: never
}

// seatHelp says what each seat allows.
var seatHelp = map[access.Seat]string{
	access.SeatObserver:    "Reads the session. Changes nothing.",
	access.SeatContributor: "Reads, writes session notes, and proposes handoffs that you accept or decline.",
	access.SeatRunner:      "Contributor, and starts runs without asking you again.",
}

func seatOf(g workspace.SeatGiven) seat {
	return seat{
		ConnectionID: g.ConnectionID, Name: g.Connection, Slug: g.Slug, Status: g.Status, Seat: g.Seat.String(), Help: seatHelp[g.Seat],
		GivenBy: g.GivenBy, GivenAt: g.CreatedAt, LastUsedAt: unlessZero(g.LastUsedAt),
	}
}

// unlessZero is how a time that may not have come yet is answered: null.
func unlessZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

type seatBody struct {
	Seat string `json:"seat"` // observer, contributor or runner
}

type seatCalls struct{ seats *workspace.Seats }

// SeatRoutes are what connections may do in a session.
func SeatRoutes(seats *workspace.Seats) []Route {
	s := seatCalls{seats}
	const path = "/api/v1/agent-sessions/{session}/connections"
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "seat.list", Summary: "The connections that have a seat in the session",
			Kind: access.KindSession, Right: access.RightView, Paged: true}, s.list),
		Handle(Rule{Method: http.MethodPut, Path: path + "/{connection}", Operation: "seat.give",
			Summary: "Give a connection of the session's project a seat, or another one, from its next call on",
			Kind:    access.KindSession, Right: access.RightManage}, s.give),
		Handle(Rule{Method: http.MethodDelete, Path: path + "/{connection}", Operation: "seat.take",
			Summary: "Take a connection's seat, from its next call on", Kind: access.KindSession, Right: access.RightManage}, s.take),
	}
}

func (s seatCalls) list(ctx context.Context, c *Call, _ Nothing) (List[seat], error) {
	l, err := s.seats.List(ctx, c.Tx, c.Permit, c.Page)
	return listOf(c, l, seatOf), err
}

func (s seatCalls) give(ctx context.Context, c *Call, in seatBody) (seat, error) {
	c.Entry.Detail = map[string]any{"connection_id": c.Path("connection"), "seat": access.ParseSeat(in.Seat).String()}
	g, err := s.seats.Give(ctx, c.Tx, c.Permit, c.Path("connection"), access.ParseSeat(in.Seat))
	return seatOf(g), asConflict(err, access.NotInProject)
}

func (s seatCalls) take(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	c.Entry.Detail = map[string]any{"connection_id": c.Path("connection")}
	return Nothing{}, s.seats.Take(ctx, c.Tx, c.Permit, c.Path("connection"))
}
