package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Members implements workspace.MemberStore.
type Members struct{}

var _ workspace.MemberStore = Members{}

// AddWorkspace is workspace.MemberStore.AddWorkspace.
func (Members) AddWorkspace(ctx context.Context, tx access.Tx, id, name string, now time.Time) error {
	return on(tx).AddWorkspace(ctx, id, name, msOf(now))
}

// RenameWorkspace is workspace.MemberStore.RenameWorkspace.
func (Members) RenameWorkspace(ctx context.Context, tx access.Tx, id, name string) error {
	_, err := on(tx).RenameWorkspace(ctx, id, name)
	return err
}

// TeamsOf is workspace.MemberStore.TeamsOf.
func (Members) TeamsOf(ctx context.Context, tx access.Tx, userID string, page workspace.Page) ([]workspace.Team, error) {
	rows, err := on(tx).WorkspacesOf(ctx, userID, page.After, int32(page.Limit))
	return each(rows, func(r gen.WorkspacesOfRow) workspace.Team {
		return workspace.Team{ID: r.ID, Name: r.Name, Role: access.Role(r.Role), CreatedAt: timeOf(r.CreatedAt)}
	}), err
}

// Members is workspace.MemberStore.Members.
func (Members) Members(ctx context.Context, tx access.Tx, workspaceID string, page workspace.Page) ([]workspace.Member, error) {
	rows, err := on(tx).Members(ctx, workspaceID, page.After, int32(page.Limit))
	return each(rows, func(r gen.MembersRow) workspace.Member { return memberOf(gen.MemberRow(r)) }), err
}

// Member is workspace.MemberStore.Member.
func (Members) Member(ctx context.Context, tx access.Tx, workspaceID, userID string) (workspace.Member, error) {
	row, err := on(tx).Member(ctx, workspaceID, userID)
	if errors.Is(err, sql.ErrNoRows) {
		return workspace.Member{}, access.Refuse(access.NotFound, "There is no member with this ID in the workspace.")
	}
	return memberOf(row), err
}

func memberOf(r gen.MemberRow) workspace.Member {
	return workspace.Member{
		ID: r.ID, Name: r.Name, Email: r.Email, Role: access.Role(r.Role), Invited: r.Invited, JoinedAt: timeOf(r.CreatedAt),
	}
}

// AddMember is workspace.MemberStore.AddMember.
func (Members) AddMember(ctx context.Context, tx access.Tx, workspaceID, userID string, role access.Role, now time.Time) (bool, error) {
	n, err := on(tx).AddMember(ctx, gen.AddMemberParams{WorkspaceID: workspaceID, UserID: userID, Role: string(role), CreatedAt: msOf(now)})
	return n == 1, err
}

// MemberElsewhere is workspace.MemberStore.MemberElsewhere.
func (Members) MemberElsewhere(ctx context.Context, tx access.Tx, workspaceID, userID string) (bool, error) {
	return on(tx).MemberElsewhere(ctx, userID, workspaceID)
}

// ChangeRole is workspace.MemberStore.ChangeRole.
func (Members) ChangeRole(ctx context.Context, tx access.Tx, workspaceID, userID string, role access.Role) error {
	q := on(tx)
	if _, err := q.ChangeRole(ctx, string(role), workspaceID, userID); err != nil {
		return err
	}
	_, err := q.MeetConnectionsOf(ctx, workspaceID, userID)
	return err
}

// RemoveMember is workspace.MemberStore.RemoveMember.
func (Members) RemoveMember(ctx context.Context, tx access.Tx, workspaceID, userID string) error {
	q := on(tx)
	for _, remove := range []func() (int64, error){ // the membership first, as writes of the person hold it first
		func() (int64, error) { return q.RemoveMember(ctx, workspaceID, userID) },
		func() (int64, error) { return q.MeetConnectionsOf(ctx, workspaceID, userID) },
		func() (int64, error) { return q.RemoveFromProjects(ctx, userID, workspaceID) },
		func() (int64, error) { return q.RemoveFromACLs(ctx, userID, workspaceID) },
	} {
		if _, err := remove(); err != nil {
			return err
		}
	}
	return nil
}

// OwnersBeside is workspace.MemberStore.OwnersBeside.
func (Members) OwnersBeside(ctx context.Context, tx access.Tx, workspaceID, userID string) (int64, error) {
	q := on(tx)
	if _, err := q.MeetWorkspace(ctx, workspaceID); err != nil {
		return 0, err
	}
	return q.OwnersBeside(ctx, workspaceID, userID)
}
