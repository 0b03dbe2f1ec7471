package web

import (
	"context"
	"slices"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Most of what the start page lists.
const (
	mostPlaces      = 100
	mostConnections = 100 // of one workspace
)

// Overview is the Start of a real house: it reads through the services of
// package workspace, and asks for a permit to look at each workspace.
type Overview struct {
	Work        access.Work
	Source      access.Source
	Members     *workspace.Members
	Connections *workspace.Connections
}

// Places implements Start.
func (o Overview) Places(ctx context.Context, who access.Principal) (places []Place, err error) {
	err = o.Work.Read(ctx, func(tx access.Tx) error {
		teams, err := o.Members.Teams(ctx, tx, who, workspace.Page{Limit: mostPlaces})
		if err != nil {
			return err
		}
		places = make([]Place, 0, len(teams.Items))
		for _, team := range teams.Items {
			place, err := o.place(ctx, tx, who, team)
			if err != nil {
				return err
			}
			places = append(places, place)
		}
		return nil
	})
	slices.SortStableFunc(places, func(a, b Place) int { return strings.Compare(a.Name, b.Name) })
	return places, err
}

func (o Overview) place(ctx context.Context, tx access.Tx, who access.Principal, team workspace.Team) (Place, error) {
	ref := access.Ref{Kind: access.KindWorkspace, ID: team.ID}
	facts, err := o.Source.PersonFacts(ctx, tx, who.UserID, ref)
	if err != nil {
		return Place{}, err
	}
	permit, err := access.CheckPerson(facts, who, access.Permission{Right: access.RightView}, ref)
	if err != nil {
		return Place{}, err
	}
	connections, err := o.connections(ctx, tx, permit)
	return Place{Name: team.Name, Role: permit.Role(), Connections: connections}, err
}

// connections are the newest of the permit's workspace. They come in the order
// of their making.
func (o Overview) connections(ctx context.Context, tx access.Tx, p access.Permit) (newest []workspace.Connection, err error) {
	for page := (workspace.Page{Limit: mostConnections}); ; {
		list, err := o.Connections.List(ctx, tx, p, page)
		if err != nil {
			return nil, err
		}
		newest = append(newest, list.Items...)
		newest = newest[max(0, len(newest)-mostConnections):]
		if list.Next == "" {
			slices.Reverse(newest)
			return newest, nil
		}
		page.After = list.Next
	}
}
