package workspace

import (
	"time"
)

// Note is the row of a note: its title and place, without tabs. Version counts
// changes of the title, the place, the archive and the list of tabs; a tab's
// text has versions of its own.
type Note struct {
	ID          string
	WorkspaceID string
	ProjectID   string
	Title       string
	Version     int64
	LocalOnly   bool
	HasACL      bool
	ArchivedAt  time.Time // zero: not archived
	CreatedAt   time.Time
	CreatedBy   string    // user
	UpdatedAt   time.Time // of the note or any of its tabs
	UpdatedBy   string    // user; the approver where a connection wrote
	UpdatedVia  string    // connection, or ""
}

// Archived reports whether the note is in the archive, where it can be read but
// not changed.
func (n Note) Archived() bool { return !n.ArchivedAt.IsZero() }

// Author is who wrote something: a person, or a connection with the approval of
// a person.
type Author struct {
	UserID         string
	UserName       string
	ConnectionID   string // "" for a person
	ConnectionName string
}

// Name is how the author is shown. What a connection wrote is never shown as if
// its approver had.
func (a Author) Name() string {
	if a.ConnectionID != "" {
		return "outside assistant " + a.ConnectionName
	}
	return a.UserName
}

// NoteTab is one tab of a note. Version counts changes of the text.
type NoteTab struct {
	ID        string
	Title     string
	Version   int64
	Chars     int64  // Unicode code points of Markdown
	Markdown  string // "" in outlines, which hold no text
	UpdatedAt time.Time
	UpdatedBy Author
}

// NoteOutline is a note with its tabs in order, without their text.
type NoteOutline struct {
	Note
	Author Author // of the last change
	Tabs   []NoteTab
}

// NoteTabVersion is one version of a tab's text, the current one too.
type NoteTabVersion struct {
	Version   int64
	Chars     int64
	Markdown  string // "" in lists
	CreatedAt time.Time
	CreatedBy Author
}
