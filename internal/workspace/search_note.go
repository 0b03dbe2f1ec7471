package workspace

import (
	"context"
	"strconv"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Search finds notes of the permit's workspace that the person can open, the most
// relevant first, as deep as MaxSearchOffset. A query without a word is
// InvalidArguments.
func (s *Notes) Search(ctx context.Context, tx access.Tx, p access.Permit, q Search, page Page) (Listing[SearchHit], error) {
	if err := p.Covers(access.KindWorkspace, access.RightView); err != nil {
		return Listing[SearchHit]{}, err
	}
	if len(q.Terms) == 0 {
		return Listing[SearchHit]{}, refuseFaults(faultf("/q", "must hold a letter or a digit"))
	}
	offset := 0
	if page.After != "" {
		var err error
		if offset, err = strconv.Atoi(page.After); err != nil {
			return Listing[SearchHit]{}, access.Refuse(access.Internal, "This part of the search can't be read.").Because(err)
		}
	}
	in := Scope{WorkspaceID: p.Workspace(), UserID: p.Principal().UserID, Person: true}
	var err error
	if in.ProjectIDs, err = s.index.OpenProjects(ctx, tx, in.WorkspaceID, in.UserID); err != nil {
		return Listing[SearchHit]{}, err
	}
	hits, err := s.index.FindNotes(ctx, tx, in, q, offset, page.Limit+1)
	if err != nil {
		return Listing[SearchHit]{}, err
	}
	found := Listing[SearchHit]{Items: hits[:min(len(hits), page.Limit)]}
	if next := offset + page.Limit; len(hits) > page.Limit && next < MaxSearchOffset {
		found.Next = strconv.Itoa(next)
	}
	return found, nil
}
