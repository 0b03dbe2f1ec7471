package storage

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// ACLs implements workspace.ACLStore.
type ACLs struct{}

var _ workspace.ACLStore = ACLs{}

// ACL is workspace.ACLStore.ACL.
func (ACLs) ACL(ctx context.Context, tx access.Tx, key workspace.ResourceKey) ([]workspace.Listed, error) {
	q := on(tx)
	if key.Kind == access.KindSession {
		rows, err := q.SessionACL(ctx, key.ID, key.WorkspaceID, key.ProjectID)
		return each(rows, func(r gen.SessionACLRow) workspace.Listed { return listedOf(gen.NoteACLRow(r)) }), err
	}
	rows, err := q.NoteACL(ctx, key.ID, key.WorkspaceID, key.ProjectID)
	return each(rows, listedOf), err
}

func listedOf(r gen.NoteACLRow) workspace.Listed {
	return workspace.Listed{User: workspace.Named{ID: r.UserID, Name: r.Name}, Right: access.ParseRight(r.Access)}
}

// SetACL is workspace.ACLStore.SetACL.
func (ACLs) SetACL(ctx context.Context, tx access.Tx, key workspace.ResourceKey, listed []workspace.Listed) (known bool, err error) {
	q := on(tx)
	if err := setHasACL(ctx, q, key, true); err != nil {
		return false, err
	}
	if _, err := q.ClearACL(ctx, key.ID); err != nil {
		return false, err
	}
	for _, l := range listed {
		n, err := q.AddToACL(ctx, gen.AddToACLParams{
			ResourceID: key.ID, Access: l.Right.String(), WorkspaceID: key.WorkspaceID, UserID: l.User.ID,
		})
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// ClearACL is workspace.ACLStore.ClearACL.
func (ACLs) ClearACL(ctx context.Context, tx access.Tx, key workspace.ResourceKey) error {
	q := on(tx)
	if err := setHasACL(ctx, q, key, false); err != nil {
		return err
	}
	_, err := q.ClearACL(ctx, key.ID)
	return err
}

// SetLocalOnly is workspace.ACLStore.SetLocalOnly.
func (ACLs) SetLocalOnly(ctx context.Context, tx access.Tx, key workspace.ResourceKey, localOnly bool) error {
	if key.Kind == access.KindSession {
		n, err := on(tx).SetSessionLocalOnly(ctx, gen.SetSessionLocalOnlyParams{
			LocalOnly: flagOf(localOnly), SessionID: key.ID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
		})
		return goneIfNone(key, n, err)
	}
	n, err := on(tx).SetNoteLocalOnly(ctx, gen.SetNoteLocalOnlyParams{
		LocalOnly: flagOf(localOnly), NoteID: key.ID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return goneIfNone(key, n, err)
}

func setHasACL(ctx context.Context, q *gen.Queries, key workspace.ResourceKey, has bool) error {
	if key.Kind == access.KindSession {
		n, err := q.SetSessionACL(ctx, gen.SetSessionACLParams{
			HasAcl: flagOf(has), SessionID: key.ID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
		})
		return goneIfNone(key, n, err)
	}
	n, err := q.SetNoteACL(ctx, gen.SetNoteACLParams{
		HasAcl: flagOf(has), NoteID: key.ID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return goneIfNone(key, n, err)
}

// goneIfNone says NotFound where the resource moved or went between check and
// effect.
func goneIfNone(key workspace.ResourceKey, n int64, err error) error {
	if err == nil && n == 0 {
		return access.Refuse(access.NotFound, "There is no %s with this ID.", key.Kind)
	}
	return err
}
