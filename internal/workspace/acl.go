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

// ResourceKey finds a resource that can have an ACL: a note or a session. All IDs
// come from a permit.
type ResourceKey struct {
	Kind                       access.Kind
	WorkspaceID, ProjectID, ID string
}

// ACLStore keeps who is listed on a resource. Each method updates the resource's
// row, so that it meets calls that are on their way.
type ACLStore interface {
	ACL(ctx context.Context, tx access.Tx, key ResourceKey) ([]Listed, error)
	// SetACL lists exactly these people; known is false if one is no member of the
	// workspace. No list at all opens the resource to its project again.
	SetACL(ctx context.Context, tx access.Tx, key ResourceKey, listed []Listed) (known bool, err error)
	ClearACL(ctx context.Context, tx access.Tx, key ResourceKey) error
	SetLocalOnly(ctx context.Context, tx access.Tx, key ResourceKey, localOnly bool) error
}

// ACLs says who may see a resource beside, or instead of, the whole project.
type ACLs struct {
	store  ACLStore
	events *Events
}

// NewACLs makes the service on its store and the events.
func NewACLs(store ACLStore, events *Events) *ACLs { return &ACLs{store: store, events: events} }

// Get lists who is listed on the permit's resource.
func (s *ACLs) Get(ctx context.Context, tx access.Tx, p access.Permit) ([]Listed, error) {
	if err := manages(p); err != nil {
		return nil, err
	}
	return s.store.ACL(ctx, tx, resourceKey(p))
}

// Set shares the permit's resource with the listed people only, from the next call
// on. An empty list shares it with nobody.
func (s *ACLs) Set(ctx context.Context, tx access.Tx, p access.Permit, listed []Listed) error {
	if err := manages(p); err != nil {
		return err
	}
	if err := listedFaults(listed); err != nil {
		return err
	}
	known, err := s.store.SetACL(ctx, tx, resourceKey(p), listed)
	if err != nil {
		return err
	}
	if !known {
		return refuseFaults(faultf("/users", "must all be members of the workspace"))
	}
	return s.record(ctx, tx, p, "acl_changed")
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

// Clear opens the permit's resource to everybody in its project again.
func (s *ACLs) Clear(ctx context.Context, tx access.Tx, p access.Permit) error {
	if err := manages(p); err != nil {
		return err
	}
	if err := s.store.ClearACL(ctx, tx, resourceKey(p)); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "acl_changed")
}

// SetLocalOnly keeps the permit's resource from all connections, or shows it to them
// again, from their next call on.
func (s *ACLs) SetLocalOnly(ctx context.Context, tx access.Tx, p access.Permit, localOnly bool) error {
	if err := manages(p); err != nil {
		return err
	}
	if err := s.store.SetLocalOnly(ctx, tx, resourceKey(p), localOnly); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "local_only_changed")
}

// manages returns nil if the permit is to manage something that can have an ACL.
func manages(p access.Permit) error {
	if p.Kind() == access.KindSession {
		return p.Covers(access.KindSession, access.RightManage)
	}
	return p.Covers(access.KindNote, access.RightManage)
}

func resourceKey(p access.Permit) ResourceKey {
	return ResourceKey{p.Kind(), p.Workspace(), p.Project(), p.ID()}
}

// record says what happened; the type of the event begins with the kind of the
// resource.
func (s *ACLs) record(ctx context.Context, tx access.Tx, p access.Permit, what string) error {
	return s.events.Record(ctx, tx, p.Principal(), Event{
		WorkspaceID: p.Workspace(), ProjectID: p.Project(), Type: string(p.Kind()) + "." + what, Kind: p.Kind(), ResourceID: p.ID(),
	})
}
