package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Notes implements workspace.NoteStore.
type Notes struct{}

// NoteOutline is workspace.NoteStore.NoteOutline. A note has one tab at least, so
// one statement finds all.
func (Notes) NoteOutline(ctx context.Context, tx access.Tx, key workspace.NoteKey) (workspace.NoteOutline, bool, error) {
	rows, err := on(tx).NoteOutline(ctx, key.NoteID, key.WorkspaceID, key.ProjectID)
	if err != nil {
		return workspace.NoteOutline{}, false, fmt.Errorf("read outline of note: %w", err)
	}
	if len(rows) == 0 {
		return workspace.NoteOutline{}, false, nil
	}
	first := rows[0]
	n := workspace.NoteOutline{
		Note: noteOf(gen.Note{
			ID: first.ID, WorkspaceID: first.WorkspaceID, ProjectID: first.ProjectID, Title: first.Title, Version: first.Version,
			LocalOnly: first.LocalOnly, HasAcl: first.HasAcl, ArchivedAt: first.ArchivedAt, CreatedAt: first.CreatedAt, CreatedBy: first.CreatedBy,
			UpdatedAt: first.UpdatedAt, UpdatedBy: first.UpdatedBy, UpdatedVia: first.UpdatedVia,
		}),
		Author: workspace.Author{UserID: first.UpdatedBy, UserName: first.UserName, ConnectionID: first.UpdatedVia, ConnectionName: first.ConnectionName},
		Tabs:   make([]workspace.NoteTab, len(rows)),
	}
	for i, r := range rows {
		n.Tabs[i] = workspace.NoteTab{
			ID: r.TabID, Title: r.TabTitle, Version: r.TabVersion, Chars: r.TabChars, UpdatedAt: timeOf(r.TabUpdatedAt),
			UpdatedBy: workspace.Author{UserID: r.TabUpdatedBy, UserName: r.TabUserName, ConnectionID: r.TabUpdatedVia, ConnectionName: r.TabConnectionName},
		}
	}
	return n, true, nil
}

// ProjectNotes is workspace.NoteStore.ProjectNotes.
func (Notes) ProjectNotes(ctx context.Context, tx access.Tx, workspaceID, projectID string, f workspace.NoteFilter, page workspace.Page) ([]workspace.Note, error) {
	rows, err := on(tx).ProjectNotes(ctx, gen.ProjectNotesParams{
		WorkspaceID: workspaceID, ProjectID: projectID, After: page.After, Archived: number(f.Archived),
		Connection: number(f.Connection), UserID: f.UserID, Most: int32(page.Limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list notes of project: %w", err)
	}
	notes := make([]workspace.Note, len(rows))
	for i, r := range rows {
		notes[i] = noteOf(r)
	}
	return notes, nil
}

// NoteTab is workspace.NoteStore.NoteTab.
func (Notes) NoteTab(ctx context.Context, tx access.Tx, key workspace.NoteKey, tabID string) (workspace.NoteTab, bool, error) {
	r, err := on(tx).NoteTab(ctx, gen.NoteTabParams{TabID: tabID, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID})
	if found, err := foundRow(err, "read tab"); !found {
		return workspace.NoteTab{}, false, err
	}
	return workspace.NoteTab{
		ID: r.ID, Title: r.Title, Version: r.Version, Chars: r.Chars, Markdown: r.Markdown, UpdatedAt: timeOf(r.UpdatedAt),
		UpdatedBy: workspace.Author{UserID: r.UpdatedBy, UserName: r.UserName, ConnectionID: r.UpdatedVia, ConnectionName: r.ConnectionName},
	}, true, nil
}

// NoteTabVersion is workspace.NoteStore.NoteTabVersion.
func (Notes) NoteTabVersion(ctx context.Context, tx access.Tx, key workspace.NoteKey, tabID string, version int64) (workspace.NoteTabVersion, bool, error) {
	r, err := on(tx).NoteTabVersion(ctx, gen.NoteTabVersionParams{
		Version: version, TabID: tabID, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	if found, err := foundRow(err, "read version of tab"); !found {
		return workspace.NoteTabVersion{}, false, err
	}
	return workspace.NoteTabVersion{
		Version: r.Version, Chars: r.Chars, Markdown: r.Markdown, CreatedAt: timeOf(r.CreatedAt),
		CreatedBy: workspace.Author{UserID: r.CreatedBy, UserName: r.UserName, ConnectionID: r.CreatedVia, ConnectionName: r.ConnectionName},
	}, true, nil
}

// NoteTabVersions is workspace.NoteStore.NoteTabVersions.
func (Notes) NoteTabVersions(ctx context.Context, tx access.Tx, key workspace.NoteKey, tabID string, before int64, limit int) ([]workspace.NoteTabVersion, error) {
	rows, err := on(tx).NoteTabVersions(ctx, gen.NoteTabVersionsParams{
		Before: before, TabID: tabID, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID, Most: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list versions of tab: %w", err)
	}
	versions := make([]workspace.NoteTabVersion, len(rows))
	for i, r := range rows {
		versions[i] = workspace.NoteTabVersion{
			Version: r.Version, Chars: r.Chars, CreatedAt: timeOf(r.CreatedAt),
			CreatedBy: workspace.Author{UserID: r.CreatedBy, UserName: r.UserName, ConnectionID: r.CreatedVia, ConnectionName: r.ConnectionName},
		}
	}
	return versions, nil
}

// NoteVersion is workspace.NoteStore.NoteVersion.
func (Notes) NoteVersion(ctx context.Context, tx access.Tx, key workspace.NoteKey, version int64) (workspace.NoteVersion, bool, error) {
	r, err := on(tx).NoteVersion(ctx, gen.NoteVersionParams{
		Version: version, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	if found, err := foundRow(err, "read version of note"); !found {
		return workspace.NoteVersion{}, false, err
	}
	v := workspace.NoteVersion{
		Version: r.Version, ProjectID: r.ProjectID, Title: r.Title, Archived: r.Archived != 0, CreatedAt: timeOf(r.CreatedAt),
		CreatedBy: workspace.Author{UserID: r.CreatedBy, ConnectionID: r.CreatedVia},
	}
	if err := json.Unmarshal([]byte(r.Tabs), &v.Tabs); err != nil {
		return workspace.NoteVersion{}, false, fmt.Errorf("read tabs of version %d of note: %w", version, err)
	}
	return v, true, nil
}

// HoldNote is workspace.NoteStore.HoldNote. Updating the row makes other writers
// of it wait on PostgreSQL; on SQLite there are none.
func (Notes) HoldNote(ctx context.Context, tx access.Tx, key workspace.NoteKey, by workspace.Author, now time.Time) (workspace.Note, bool, error) {
	r, err := on(tx).HoldNote(ctx, gen.HoldNoteParams{
		UpdatedAt: now.UnixMilli(), UpdatedBy: by.UserID, UpdatedVia: by.ConnectionID,
		ID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	if found, err := foundRow(err, "hold note"); !found {
		return workspace.Note{}, false, err
	}
	return noteOf(r), true, nil
}

// InsertNote is workspace.NoteStore.InsertNote.
func (s Notes) InsertNote(ctx context.Context, tx access.Tx, n workspace.NoteOutline) error {
	err := on(tx).InsertNote(ctx, gen.InsertNoteParams{
		ID: n.ID, WorkspaceID: n.WorkspaceID, ProjectID: n.ProjectID, Title: n.Title, Version: n.Version,
		LocalOnly: number(n.LocalOnly), HasAcl: number(n.HasACL), ArchivedAt: msOf(n.ArchivedAt),
		CreatedAt: msOf(n.CreatedAt), CreatedBy: n.CreatedBy,
		UpdatedAt: msOf(n.UpdatedAt), UpdatedBy: n.UpdatedBy, UpdatedVia: n.UpdatedVia,
	})
	if err != nil {
		return fmt.Errorf("insert note: %w", err)
	}
	key := workspace.NoteKey{WorkspaceID: n.WorkspaceID, ProjectID: n.ProjectID, NoteID: n.ID}
	for i, t := range n.Tabs {
		if err := s.InsertNoteTab(ctx, tx, key, t, i); err != nil {
			return err
		}
	}
	return nil
}

// UpdateNote is workspace.NoteStore.UpdateNote.
func (Notes) UpdateNote(ctx context.Context, tx access.Tx, key workspace.NoteKey, n workspace.Note, was int64) (bool, error) {
	rows, err := on(tx).UpdateNote(ctx, gen.UpdateNoteParams{
		Title: n.Title, ToProjectID: n.ProjectID, ArchivedAt: msOf(n.ArchivedAt), Version: n.Version,
		ID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID, Was: was,
	})
	if err != nil {
		return false, fmt.Errorf("update note: %w", err)
	}
	return rows == 1, nil
}

// KeepNoteVersion is workspace.NoteStore.KeepNoteVersion.
func (Notes) KeepNoteVersion(ctx context.Context, tx access.Tx, key workspace.NoteKey, v workspace.NoteVersion) error {
	tabs, err := json.Marshal(v.Tabs)
	if err != nil {
		return fmt.Errorf("write tabs of version %d of note: %w", v.Version, err)
	}
	rows, err := on(tx).InsertNoteVersion(ctx, gen.InsertNoteVersionParams{
		Version: v.Version, Tabs: string(tabs), NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return oneRow(rows, err, "keep version of note")
}

// DeleteNote is workspace.NoteStore.DeleteNote.
func (Notes) DeleteNote(ctx context.Context, tx access.Tx, key workspace.NoteKey, was int64) (bool, error) {
	q := on(tx)
	parts := []func(ctx context.Context, noteID, workspaceID, projectID string) error{
		q.DeleteTabVersionsOfNote, q.DeleteTabsOfNote, q.DeleteVersionsOfNote, q.DeleteACLOfNote,
	}
	for _, deletePart := range parts {
		if err := deletePart(ctx, key.NoteID, key.WorkspaceID, key.ProjectID); err != nil {
			return false, fmt.Errorf("delete what belongs to note: %w", err)
		}
	}
	rows, err := q.DeleteNote(ctx, gen.DeleteNoteParams{ID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID, Version: was})
	if err != nil {
		return false, fmt.Errorf("delete note: %w", err)
	}
	return rows == 1, nil
}

// InsertNoteTab is workspace.NoteStore.InsertNoteTab.
func (Notes) InsertNoteTab(ctx context.Context, tx access.Tx, key workspace.NoteKey, t workspace.NoteTab, position int) error {
	rows, err := on(tx).InsertNoteTab(ctx, gen.InsertNoteTabParams{
		ID: t.ID, Title: t.Title, Position: int64(position), Version: t.Version, Chars: t.Chars, Markdown: t.Markdown,
		UpdatedAt: msOf(t.UpdatedAt), UpdatedBy: t.UpdatedBy.UserID, UpdatedVia: t.UpdatedBy.ConnectionID,
		NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	if err := oneRow(rows, err, "insert tab"); err != nil {
		return err
	}
	return keepTabVersion(ctx, tx, key, t.ID)
}

func keepTabVersion(ctx context.Context, tx access.Tx, key workspace.NoteKey, tabID string) error {
	rows, err := on(tx).InsertNoteTabVersion(ctx, gen.InsertNoteTabVersionParams{
		TabID: tabID, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return oneRow(rows, err, "keep version of tab")
}

// PlaceNoteTab is workspace.NoteStore.PlaceNoteTab.
func (Notes) PlaceNoteTab(ctx context.Context, tx access.Tx, key workspace.NoteKey, tabID, title string, position int) error {
	rows, err := on(tx).PlaceNoteTab(ctx, gen.PlaceNoteTabParams{
		Title: title, Position: int64(position), TabID: tabID,
		NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return oneRow(rows, err, "place tab")
}

// SaveNoteTab is workspace.NoteStore.SaveNoteTab.
func (Notes) SaveNoteTab(ctx context.Context, tx access.Tx, key workspace.NoteKey, t workspace.NoteTab, was int64) (bool, error) {
	rows, err := on(tx).UpdateNoteTab(ctx, gen.UpdateNoteTabParams{
		Version: t.Version, Chars: t.Chars, Markdown: t.Markdown,
		UpdatedAt: msOf(t.UpdatedAt), UpdatedBy: t.UpdatedBy.UserID, UpdatedVia: t.UpdatedBy.ConnectionID,
		TabID: t.ID, Was: was, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	if err != nil {
		return false, fmt.Errorf("save tab: %w", err)
	}
	if rows != 1 {
		return false, nil
	}
	return true, keepTabVersion(ctx, tx, key, t.ID)
}

// DeleteNoteTab is workspace.NoteStore.DeleteNoteTab.
func (Notes) DeleteNoteTab(ctx context.Context, tx access.Tx, key workspace.NoteKey, tabID string) error {
	q := on(tx)
	err := q.DeleteNoteTabVersions(ctx, gen.DeleteNoteTabVersionsParams{
		TabID: tabID, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	if err != nil {
		return fmt.Errorf("delete versions of tab: %w", err)
	}
	rows, err := q.DeleteNoteTab(ctx, gen.DeleteNoteTabParams{
		TabID: tabID, NoteID: key.NoteID, WorkspaceID: key.WorkspaceID, ProjectID: key.ProjectID,
	})
	return oneRow(rows, err, "delete tab")
}

func noteOf(r gen.Note) workspace.Note {
	return workspace.Note{
		ID: r.ID, WorkspaceID: r.WorkspaceID, ProjectID: r.ProjectID, Title: r.Title, Version: r.Version,
		LocalOnly: r.LocalOnly != 0, HasACL: r.HasAcl != 0, ArchivedAt: timeOf(r.ArchivedAt),
		CreatedAt: timeOf(r.CreatedAt), CreatedBy: r.CreatedBy,
		UpdatedAt: timeOf(r.UpdatedAt), UpdatedBy: r.UpdatedBy, UpdatedVia: r.UpdatedVia,
	}
}

// foundRow parts "there is none" from a failure.
func foundRow(err error, doing string) (bool, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", doing, err)
	}
	return true, nil
}

// oneRow is for statements that cannot miss their row unless the program is wrong.
func oneRow(rows int64, err error, doing string) error {
	if err == nil && rows != 1 {
		err = fmt.Errorf("changed %d rows, want 1", rows)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// number is how yes and no are kept.
func number(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
