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
func (ACLs) ACL(ctx context.Context, tx access.Tx, key workspace.NoteKey) ([]workspace.Listed, error) {
	rows, err := on(tx).NoteACL(ctx, key.NoteID, key.WorkspaceID, key.ProjectID)
	return each(rows, func(r gen.NoteACLRow) workspace.Listed {
		return workspace.Listed{User: workspace.Named{ID: r.UserID, Name: r.Name}, Right: access.ParseRight(r.Access)}
	}), err
}

// SetACL is workspace.ACLStore.SetACL.
func (ACLs) SetACL(ctx context.Context, tx access.Tx, key workspace.NoteKey, listed []workspace.Listed) (known bool, err error) {
	q := on(tx)
	if err := setHasACL(ctx, q, key, true); err != nil {
		return false, err
	}
	if _, err := q.ClearACL(ctx, key.NoteID); err != nil {
		return false, err
	}
	for _, l := range listed {
		n, err := q.AddToACL(ctx, gen.AddToACLParams{
			ResourceID: key.NoteID, Access: l.Right.String(), WorkspaceID: key.WorkspaceID, UserID: l.User.ID,
		})
		if err != nil || n == 0 {
			return false, err
		}
	}
	return true, nil
}

// ClearACL is workspace.ACLStore.ClearACL.
func (ACLs) ClearACL(ctx context.Context, tx access.Tx, key workspace.NoteKey) error {
	q := on(tx)
	if err := setHasACL(ctx, q, key, false); err != nil {
		return err
	}
	_, err := q.ClearACL(ctx, key.NoteID)
	return err
}

// SetLocalOnly is workspace.ACLStore.SetLocalOnly.
func (ACLs) SetLocalOnly(ctx context.Context, tx access.Tx, key workspace.NoteKey, localOnly bool) error {
	n, err := on(tx).SetNoteLocalOnly(ctx, gen.SetNoteLocalOnlyParams{
		LocalOnly: flagOf(localOnly), NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return goneIfNone(n, err)
}

func setHasACL(ctx context.Context, q *gen.Queries, key workspace.NoteKey, has bool) error {
	n, err := q.SetNoteACL(ctx, gen.SetNoteACLParams{
		HasAcl: flagOf(has), NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return goneIfNone(n, err)
}

// goneIfNone says NotFound where the note moved or went between check and effect.
func goneIfNone(n int64, err error) error {
	if err == nil && n == 0 {
		return access.Refuse(access.NotFound, "There is no %s with this ID.", access.KindNote)
	}
	return err
}
