package workspace

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// NewTab is a tab to be made.
type NewTab struct{ Title, Markdown string }

// TabChange names a tab of a note, and its new title where it gets one.
type TabChange struct {
	ID    string
	Title *string
}

func (t NewTab) faults(titleAt, textAt string) []Fault {
	return append(titleFaults(titleAt, t.Title, MaxTabTitle), textFaults(textAt, t.Markdown)...)
}

// Create makes a note with its tabs in the project that p names.
func (s *Notes) Create(ctx context.Context, tx access.Tx, p access.Permit, title string, tabs []NewTab) (NoteOutline, error) {
	if err := p.Covers(access.KindProject, access.RightEdit); err != nil {
		return NoteOutline{}, err
	}
	faults := titleFaults("/title", title, MaxNoteTitle)
	if len(tabs) == 0 || len(tabs) > MaxNoteTabs {
		faults = append(faults, faultf("/tabs", "needs 1 to %d tabs, got %d", MaxNoteTabs, len(tabs)))
	}
	for i, t := range tabs[:min(len(tabs), MaxNoteTabs)] {
		faults = append(faults, t.faults(itemPointer("tabs", i, "title"), itemPointer("tabs", i, "markdown"))...)
	}
	if faults != nil {
		return NoteOutline{}, refuseFaults(faults...)
	}
	if err := takesMore(p, s.publicURL); err != nil {
		return NoteOutline{}, err
	}
	by, now := authorOf(p.Principal()), s.now()
	n := NoteOutline{Author: by, Note: Note{
		ID: NewID(), WorkspaceID: p.Workspace(), ProjectID: p.Project(), Title: title, Version: 1,
		CreatedAt: now, CreatedBy: by.UserID, UpdatedAt: now, UpdatedBy: by.UserID, UpdatedVia: by.ConnectionID,
	}}
	for _, t := range tabs {
		if err := fits(t.Markdown); err != nil {
			return NoteOutline{}, err
		}
		n.Tabs = append(n.Tabs, NoteTab{
			ID: NewID(), Title: t.Title, Version: 1, Chars: charsIn(t.Markdown), Markdown: t.Markdown, UpdatedAt: now, UpdatedBy: by,
		})
	}
	if err := s.store.InsertNote(ctx, tx, n); err != nil {
		return NoteOutline{}, err
	}
	key := NoteKey{n.WorkspaceID, n.ProjectID, n.ID}
	return s.filed(ctx, tx, p, key, "note.created", nil)
}

// AddTab adds a tab behind the others. Expected is the note's version.
func (s *Notes) AddTab(ctx context.Context, tx access.Tx, p access.Permit, t NewTab, expected int64) (NoteOutline, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteOutline{}, err
	}
	if faults := t.faults("/title", "/markdown"); faults != nil {
		return NoteOutline{}, refuseFaults(faults...)
	}
	if err := fits(t.Markdown); err != nil {
		return NoteOutline{}, err
	}
	n, err := s.holdVersion(ctx, tx, p, expected)
	if err != nil {
		return NoteOutline{}, err
	}
	if len(n.Tabs) >= MaxNoteTabs {
		return NoteOutline{}, access.Refuse(access.TooLarge, "A note holds at most %d tabs. Make another note.", MaxNoteTabs).With("limit", MaxNoteTabs)
	}
	tab := NoteTab{
		ID: NewID(), Title: t.Title, Version: 1, Chars: charsIn(t.Markdown), Markdown: t.Markdown,
		UpdatedAt: n.UpdatedAt, UpdatedBy: authorOf(p.Principal()),
	}
	if err := s.store.InsertNoteTab(ctx, tx, noteKey(p), tab, len(n.Tabs)); err != nil {
		return NoteOutline{}, err
	}
	return s.save(ctx, tx, p, n.Note, expected, "note.tab_added", map[string]any{"tab_id": tab.ID})
}

// DeleteTab deletes a tab with its history, which only people do (product.md
// §3). The last tab stays. Expected is the note's version.
func (s *Notes) DeleteTab(ctx context.Context, tx access.Tx, p access.Permit, tabID string, expected int64) (NoteOutline, error) {
	if err := s.forPeople(p); err != nil {
		return NoteOutline{}, err
	}
	n, err := s.holdNote(ctx, tx, p)
	if err != nil {
		return NoteOutline{}, err
	}
	at := indexOfTab(n.Tabs, tabID)
	if at < 0 {
		return NoteOutline{}, unknownTab()
	}
	if n.Version != expected {
		return NoteOutline{}, s.staleNote(ctx, tx, noteKey(p), expected)
	}
	if len(n.Tabs) == 1 {
		return NoteOutline{}, access.Refuse(access.Conflict, "A note keeps its last tab. Archive the note instead.")
	}
	if err := s.store.DeleteNoteTab(ctx, tx, noteKey(p), tabID); err != nil {
		return NoteOutline{}, err
	}
	for i, t := range n.Tabs[at+1:] {
		if err := s.store.PlaceNoteTab(ctx, tx, noteKey(p), t.ID, t.Title, at+i); err != nil {
			return NoteOutline{}, err
		}
	}
	return s.save(ctx, tx, p, n.Note, expected, "note.tab_deleted", map[string]any{"tab_id": tabID})
}

// Rename gives the note a title where title is not nil, and its tabs titles and
// an order. The tabs listed take the places that they hold now in the order
// listed; the others stay where they are. So one tab alone is renamed in place,
// and a list of all is the new order. Expected is the note's version.
func (s *Notes) Rename(ctx context.Context, tx access.Tx, p access.Permit, title *string, tabs []TabChange, expected int64) (NoteOutline, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteOutline{}, err
	}
	if faults := renameFaults(title, tabs); faults != nil {
		return NoteOutline{}, refuseFaults(faults...)
	}
	n, err := s.holdNote(ctx, tx, p)
	if err != nil {
		return NoteOutline{}, err
	}
	order, err := reordered(n.Tabs, tabs)
	if err != nil {
		return NoteOutline{}, err
	}
	if n.Version != expected {
		return NoteOutline{}, s.staleNote(ctx, tx, noteKey(p), expected)
	}
	if title != nil {
		n.Title = *title
	}
	for i, t := range order {
		if t.ID == n.Tabs[i].ID && t.Title == n.Tabs[i].Title {
			continue
		}
		if err := s.store.PlaceNoteTab(ctx, tx, noteKey(p), t.ID, t.Title, i); err != nil {
			return NoteOutline{}, err
		}
	}
	return s.save(ctx, tx, p, n.Note, expected, "note.renamed", nil)
}

func renameFaults(title *string, tabs []TabChange) []Fault {
	if title == nil && len(tabs) == 0 {
		return []Fault{faultf("/title", "or tabs is required")}
	}
	var faults []Fault
	if title != nil {
		faults = titleFaults("/title", *title, MaxNoteTitle)
	}
	seen := map[string]bool{}
	for i, t := range tabs {
		if seen[t.ID] {
			faults = append(faults, faultf(itemPointer("tabs", i, "tab_id"), "is listed twice"))
		}
		seen[t.ID] = true
		if t.Title != nil {
			faults = append(faults, titleFaults(itemPointer("tabs", i, "title"), *t.Title, MaxTabTitle)...)
		}
	}
	return faults
}

// reordered puts the listed tabs, with their new titles, into the places that
// they hold together.
func reordered(tabs []NoteTab, changes []TabChange) ([]NoteTab, error) {
	listed := map[string]bool{}
	var moved []NoteTab
	for _, c := range changes {
		at := indexOfTab(tabs, c.ID)
		if at < 0 {
			return nil, unknownTab()
		}
		t := tabs[at]
		if c.Title != nil {
			t.Title = *c.Title
		}
		listed[c.ID] = true
		moved = append(moved, t)
	}
	order := make([]NoteTab, 0, len(tabs))
	for _, t := range tabs {
		if listed[t.ID] {
			t, moved = moved[0], moved[1:]
		}
		order = append(order, t)
	}
	return order, nil
}

func indexOfTab(tabs []NoteTab, id string) int {
	for i, t := range tabs {
		if t.ID == id {
			return i
		}
	}
	return -1
}

// Move puts the note into the project that to names. Who may see it follows from
// its new project at once. Expected is the note's version.
func (s *Notes) Move(ctx context.Context, tx access.Tx, p, to access.Permit, expected int64) (NoteOutline, error) {
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return NoteOutline{}, err
	}
	if err := to.Covers(access.KindProject, access.RightEdit); err != nil {
		return NoteOutline{}, err
	}
	if to.Workspace() != p.Workspace() { // a person may be in both, a note never
		return NoteOutline{}, access.Refuse(access.NotFound, "There is no project with this ID.")
	}
	n, err := s.holdVersion(ctx, tx, p, expected)
	if err != nil {
		return NoteOutline{}, err
	}
	if to.Project() == n.ProjectID {
		return NoteOutline{}, refuseFaults(faultf("/project_id", "is where the note lies already"))
	}
	if err := takesMore(to, s.publicURL); err != nil {
		return NoteOutline{}, err
	}
	from := n.Note
	n.ProjectID = to.Project()
	moved, err := s.save(ctx, tx, p, n.Note, expected, "note.moved", nil)
	if err != nil {
		return NoteOutline{}, err
	}
	// Whoever sees only the old project learns that the note left, not where to.
	from.Version = moved.Version
	return moved, s.record(ctx, tx, p, "note.left", from, nil)
}

// Archive puts the note into the archive: it can be read there, but not changed
// until a person takes it out. Expected is the note's version.
func (s *Notes) Archive(ctx context.Context, tx access.Tx, p access.Permit, expected int64) (NoteOutline, error) {
	n, err := s.holdVersion(ctx, tx, p, expected)
	if err != nil {
		return NoteOutline{}, err
	}
	n.ArchivedAt = n.UpdatedAt
	return s.save(ctx, tx, p, n.Note, expected, "note.archived", nil)
}

// Unarchive takes the note out of the archive, which only people do. Expected is
// the note's version.
func (s *Notes) Unarchive(ctx context.Context, tx access.Tx, p access.Permit, expected int64) (NoteOutline, error) {
	if err := s.forPeople(p); err != nil {
		return NoteOutline{}, err
	}
	n, err := s.holdAnyway(ctx, tx, p)
	if err != nil {
		return NoteOutline{}, err
	}
	if n.Version != expected {
		return NoteOutline{}, s.staleNote(ctx, tx, noteKey(p), expected)
	}
	if !n.Archived() {
		return NoteOutline{}, access.Refuse(access.Conflict, "This note is not in the archive.")
	}
	n.ArchivedAt = Note{}.ArchivedAt
	return s.save(ctx, tx, p, n, expected, "note.restored", nil)
}

// Delete deletes an archived note for good, with its history. Only people do
// (product.md §3), and only in two steps. Expected is the note's version.
func (s *Notes) Delete(ctx context.Context, tx access.Tx, p access.Permit, expected int64) error {
	if err := s.forPeople(p); err != nil {
		return err
	}
	n, err := s.holdAnyway(ctx, tx, p)
	if err != nil {
		return err
	}
	if n.Version != expected {
		return s.staleNote(ctx, tx, noteKey(p), expected)
	}
	if !n.Archived() {
		return access.Refuse(access.Conflict, "Only an archived note can be deleted. Archive it first.")
	}
	ok, err := s.store.DeleteNote(ctx, tx, noteKey(p), expected)
	if err != nil {
		return err
	}
	if !ok {
		return refuseStale("note", expected, n.Version, "")
	}
	if err := s.index.IndexNote(ctx, tx, n.WorkspaceID, n.ID); err != nil {
		return err
	}
	return s.record(ctx, tx, p, "note.deleted", n, nil)
}

func (s *Notes) forPeople(p access.Permit) error {
	if p.Principal().IsConnection() {
		return access.Refuse(access.HumanRequired, "Only a person can do this, in the web app.").With("url", s.publicURL+"/notes/"+p.ID())
	}
	return nil
}

// holdNote is hold, with the tabs.
func (s *Notes) holdNote(ctx context.Context, tx access.Tx, p access.Permit) (NoteOutline, error) {
	if _, err := s.hold(ctx, tx, p); err != nil {
		return NoteOutline{}, err
	}
	return s.outline(ctx, tx, noteKey(p))
}

// holdVersion is holdNote at the expected version.
func (s *Notes) holdVersion(ctx context.Context, tx access.Tx, p access.Permit, expected int64) (NoteOutline, error) {
	n, err := s.holdNote(ctx, tx, p)
	if err == nil && n.Version != expected {
		err = s.staleNote(ctx, tx, noteKey(p), expected)
	}
	return n, err
}

// save writes n as the version after was.
func (s *Notes) save(ctx context.Context, tx access.Tx, p access.Permit, n Note, was int64, event string, data map[string]any) (NoteOutline, error) {
	n.Version = was + 1
	ok, err := s.store.UpdateNote(ctx, tx, noteKey(p), n, was)
	if err != nil {
		return NoteOutline{}, err
	}
	if !ok {
		return NoteOutline{}, refuseStale("note", was, was+1, "")
	}
	return s.filed(ctx, tx, p, NoteKey{n.WorkspaceID, n.ProjectID, n.ID}, event, data)
}

// filed keeps the outline that the note has now in its history and in the search
// index, says what happened, and returns it.
func (s *Notes) filed(ctx context.Context, tx access.Tx, p access.Permit, key NoteKey, event string, data map[string]any) (NoteOutline, error) {
	n, err := s.outline(ctx, tx, key)
	if err != nil {
		return NoteOutline{}, err
	}
	if err := s.store.KeepNoteVersion(ctx, tx, key, versionOf(n)); err != nil {
		return NoteOutline{}, err
	}
	if err := s.index.IndexNote(ctx, tx, n.WorkspaceID, n.ID); err != nil {
		return NoteOutline{}, err
	}
	return n, s.record(ctx, tx, p, event, n.Note, data)
}
