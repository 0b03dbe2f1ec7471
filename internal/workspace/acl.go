package workspace

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// maxListed bounds how many people an ACL lists.
const maxListed = 200

// Listed is a person on an ACL, and what they may do.
type Listed struct {
	User  Named
	Right access.Right // RightView or RightEdit
}

// ACLStore keeps who is listed on a resource. Each method updates the resource's
// row, so that it meets calls that are on their way.
type ACLStore interface {
	ACL(ctx context.Context, tx access.Tx, key NoteKey) ([]Listed, error)
	// SetACL lists exactly these people; known is false if one is no member of the
	// workspace. No list at all opens the resource to its project again.
	SetACL(ctx context.Context, tx access.Tx, key NoteKey, listed []Listed) (known bool, err error)
	ClearACL(ctx context.Context, tx access.Tx, key NoteKey) error
	SetLocalOnly(ctx context.Context, tx access.Tx, key NoteKey, localOnly bool) error
}

// ACLs says who may see a resource beside, or instead of, the whole project.
type ACLs struct {
	store  ACLStore
	events *Events
}

// NewACLs makes the service on its store and the events.
func NewACLs(store ACLStore, events *Events) *ACLs { return &ACLs{store: store, events: events} }

// Get lists who is listed on the permit's note.
func (s *ACLs) Get(ctx context.Context, tx access.Tx, p access.Permit) ([]Listed, error) {
	if err := p.Covers(access.KindNote, access.RightManage); err != nil {
		return nil, err
	}
	return s.store.ACL(ctx, tx, noteKey(p))
}

// Set shares the permit's note with the listed people only, from the next call
// on. An empty list shares it with nobody.
func (s *ACLs) Set(ctx context.Context, tx access.Tx, p access.Permit, listed []Listed) error {
	if err := p.Covers(access.KindNote, access.RightManage); err != nil {
		return err
	}
	if err := listedFaults(listed); err != nil {
		return err
	}
	known, err := s.store.SetACL(ctx, tx, noteKey(p), listed)
	if err != nil {
		return err
	}
	if !known {
		return refuseFaults(faultf("/users", "must all be members of the workspace"))
	}
	return s.record(ctx, tx, p, "note.acl_changed")
}

func listedFaults(listed []Listed) error {
	if len(listed) > maxListed {
		return refuseFaults(faultf("/users", "takes at most %d people", maxListed))
	}
	seen := map[string]bool{}
	for i, l := range listed {
		if l.Right != access.RightView && l.Right != access.RightEdit {
			return refuseFaults(faultf(itemPointer("users", i, "right"), "must be view or edit"))
		}
		if seen[l.User.ID] {
			return refuseFaults(faultf(itemPointer("users", i, "id"), "is listed twice"))
		}
		seen[l.User.ID] = true
	}
	return nil
}

// Clear opens the permit's note to everybody in its project again.
func (s *ACLs) Clear(ctx context.Context, tx access.Tx, p access.Permit) error {
	if err := p.Covers(access.KindNote, access.RightManage); err != nil {
		return err
	}
	if err := s.store.ClearACL(ctx, tx, noteKey(p)); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "note.acl_changed")
}

// SetLocalOnly keeps the permit's note from all connections, or shows it to them
// again, from their next call on.
func (s *ACLs) SetLocalOnly(ctx context.Context, tx access.Tx, p access.Permit, localOnly bool) error {
	if err := p.Covers(access.KindNote, access.RightManage); err != nil {
		return err
	}
	if err := s.store.SetLocalOnly(ctx, tx, noteKey(p), localOnly); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "note.local_only_changed")
}

func (s *ACLs) record(ctx context.Context, tx access.Tx, p access.Permit, event string) error {
	return s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: p.Workspace(), ProjectID: p.Project(), Type: event, Kind: access.KindNote, ResourceID: p.ID(),
	})
}
