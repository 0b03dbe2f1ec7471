package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Resources reads what lists across resources need. It implements
// workspace.ResourceStore.
type Resources struct{}

// visible appends the condition that the person or connection of this scope may see
// the note n: the same that the check demands of a call on it (product.md §3).
func visible(s *statement, in workspace.Scope) {
	s.add(`n.workspace_id = ? AND n.project_id IN `, in.WorkspaceID)
	s.list(in.ProjectIDs)
	if in.Person {
		s.add(` AND (n.has_acl = 0 OR EXISTS (SELECT 1 FROM resource_acl a
			WHERE a.resource_id = n.id AND a.user_id = ? AND a.access IN ('view', 'edit')))`, in.UserID)
		return
	}
	s.add(` AND n.local_only = 0`)
	s.add(` AND (n.has_acl = 0 OR EXISTS (SELECT 1 FROM resource_acl a
		WHERE a.resource_id = n.id AND a.user_id = ? AND a.access = 'edit'))`, in.UserID)
}

// WorkspaceName is workspace.ResourceStore.WorkspaceName.
func (Resources) WorkspaceName(ctx context.Context, tx access.Tx, workspaceID string) (string, error) {
	name, err := on(tx).WorkspaceName(ctx, workspaceID)
	if err != nil {
		return "", fmt.Errorf("read workspace name: %w", err)
	}
	return name, nil
}

// GrantedProjects is workspace.ResourceStore.GrantedProjects.
func (Resources) GrantedProjects(ctx context.Context, tx access.Tx, workspaceID, connectionID, userID string) ([]workspace.Named, error) {
	rows, err := on(tx).GrantedProjects(ctx, workspaceID, connectionID, userID)
	if err != nil {
		return nil, fmt.Errorf("list granted projects: %w", err)
	}
	projects := make([]workspace.Named, len(rows))
	for i, r := range rows {
		projects[i] = workspace.Named{ID: r.ID, Name: r.Name}
	}
	return projects, nil
}

// ProjectNotes is workspace.ResourceStore.ProjectNotes.
func (Resources) ProjectNotes(ctx context.Context, tx access.Tx, in workspace.Scope, archived bool, page workspace.Page) ([]workspace.Resource, error) {
	var s statement
	s.add(`SELECT n.id, n.title, n.version, n.archived_at, n.updated_at FROM notes n WHERE n.id > ? AND `, page.After)
	if archived {
		s.add(`n.archived_at > 0 AND `)
	} else {
		s.add(`n.archived_at = 0 AND `)
	}
	visible(&s, in)
	s.add(` ORDER BY n.id LIMIT ?`, page.Limit)
	return collect(ctx, tx, &s, "list notes of project", scanResource(access.KindNote))
}

// ProjectSessions is workspace.ResourceStore.ProjectSessions.
func (Resources) ProjectSessions(ctx context.Context, tx access.Tx, in workspace.Scope, archived bool, page workspace.Page) ([]workspace.Resource, error) {
	var q statement
	q.add(`SELECT s.id, s.title, s.version, s.archived_at, s.updated_at FROM sessions s WHERE s.id > ? AND `, page.After)
	if archived {
		q.add(`s.archived_at > 0 AND `)
	} else {
		q.add(`s.archived_at = 0 AND `)
	}
	visibleSession(&q, in)
	q.add(` ORDER BY s.id LIMIT ?`, page.Limit)
	return collect(ctx, tx, &q, "list sessions of project", scanResource(access.KindSession))
}

func scanResource(kind access.Kind) func(scan func(...any) error) (workspace.Resource, error) {
	return func(scan func(...any) error) (workspace.Resource, error) {
		r := workspace.Resource{Kind: kind}
		var archivedAt, updatedAt int64
		err := scan(&r.ID, &r.Title, &r.Version, &archivedAt, &updatedAt)
		r.ArchivedAt, r.UpdatedAt = timeOf(archivedAt), timeOf(updatedAt)
		return r, err
	}
}

// mostSeats bounds the seats that a connection is told of at once.
const mostSeats = 1000

// Seats is workspace.ResourceStore.Seats.
func (Resources) Seats(ctx context.Context, tx access.Tx, in workspace.Scope) ([]workspace.JoinedSession, error) {
	return Sessions{}.JoinedSessions(ctx, tx, in, workspace.JoinedFilter{}, workspace.Page{Limit: mostSeats})
}

// ProjectParticipants is workspace.ResourceStore.ProjectParticipants.
func (Resources) ProjectParticipants(ctx context.Context, tx access.Tx, workspaceID, projectID string, page workspace.Page) ([]workspace.Participant, error) {
	rows, err := on(tx).ProjectParticipants(ctx, gen.ProjectParticipantsParams{
		WorkspaceID: workspaceID, ProjectID: projectID, After: page.After, Most: int32(page.Limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list members of project: %w", err)
	}
	members := make([]workspace.Participant, len(rows))
	for i, r := range rows {
		members[i] = workspace.Participant{ID: r.ID, Name: r.Name, Role: access.Role(r.Role), Slug: r.Slug, Status: r.Status, Key: r.Key, Outside: r.Slug != ""}
	}
	return members, nil
}

// NoteText is workspace.ResourceStore.NoteText.
func (Resources) NoteText(ctx context.Context, tx access.Tx, workspaceID, noteID string, chars int) (workspace.Note, []workspace.NoteTab, error) {
	q := on(tx)
	head, err := q.NoteHead(ctx, workspaceID, noteID)
	if errors.Is(err, sql.ErrNoRows) {
		return workspace.Note{}, nil, access.Refuse(access.NotFound, "There is no note with this ID.")
	}
	if err != nil {
		return workspace.Note{}, nil, fmt.Errorf("read note: %w", err)
	}
	note := workspace.Note{
		ID: noteID, WorkspaceID: workspaceID, ProjectID: head.ProjectID, Title: head.Title, Version: head.Version,
		ArchivedAt: timeOf(head.ArchivedAt), UpdatedAt: timeOf(head.UpdatedAt),
	}
	rows, err := q.NoteTabTexts(ctx, int32(chars), workspaceID, noteID)
	if err != nil {
		return workspace.Note{}, nil, fmt.Errorf("read tabs of note: %w", err)
	}
	tabs := make([]workspace.NoteTab, len(rows))
	for i, r := range rows {
		tabs[i] = workspace.NoteTab{ID: r.ID, Title: r.Title, Version: r.Version, Chars: r.Chars, Markdown: r.Markdown}
	}
	return note, tabs, nil
}
