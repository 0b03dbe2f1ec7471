package tool

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// reading is what every tool needs that only reads.
var reading = access.Permission{Scopes: access.ScopeRead, Right: access.RightView}

// named is a thing with its name.
type named struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// nothing is no arguments at all.
type nothing struct{}

// grants is the answer of list_granted_resources [fixed] (product.md §3).
type grants struct {
	Workspace  named `json:"workspace"`
	Connection struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Slug   string `json:"slug"`
		Status string `json:"status"`
	} `json:"connection"`
	Approver    named    `json:"approver"`
	Scopes      []string `json:"scopes"`
	Projects    []named  `json:"projects"`
	Seats       []seat   `json:"seats"`
	LinkedChats []chat   `json:"linked_chats"`
	Limits      Limits   `json:"limits"`
}

// seat is a role in a session.
type seat struct {
	SessionType string `json:"session_type"`
	SessionID   string `json:"session_id"`
	Seat        string `json:"seat"`
}

// chat is a conversation that the connection linked.
type chat struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}

// Connection is the tool about the connection itself.
func Connection(resources *workspace.Resources, limits Limits) []*Tool {
	return []*Tool{define(Tool{
		Name:        "list_granted_resources",
		Title:       "Granted access",
		Description: "To be called first. This connection's workspace, approver, scopes, granted projects, session seats, linked chats and limits. Local-only data is unavailable to cloud clients.",
		Needs:       reading,
		Hints:       Hints{ReadOnly: true},
	}, nil, func(ctx context.Context, c *Run, _ nothing) (grants, error) {
		g, err := resources.Grants(ctx, c.Tx, c.Permit())
		if err != nil {
			return grants{}, err
		}
		who := c.Permit().Principal()
		answer := grants{
			Workspace: named(g.Workspace), Approver: named(g.Approver), Scopes: who.Scopes.Names(),
			Projects: make([]named, len(g.Projects)), Seats: make([]seat, len(g.Seats)), LinkedChats: []chat{}, Limits: limits,
		}
		// A permit is made for active connections only.
		answer.Connection.ID, answer.Connection.Name = who.ConnectionID, who.ConnectionName
		answer.Connection.Slug, answer.Connection.Status = who.ConnectionSlug, "active"
		for i, p := range g.Projects {
			answer.Projects[i] = named(p)
		}
		for i, s := range g.Seats {
			answer.Seats[i] = seat{string(s.Type), s.ID, s.Seat.String()}
		}
		return answer, nil
	})}
}
