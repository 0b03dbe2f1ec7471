package workspace

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Limits of notes. Titles are counted in Unicode code points.
const (
	MaxNoteTitle = 200
	MaxTabTitle  = 100
	MaxNoteTabs  = 50
	MaxTabBytes  = 1 << 20 // of one tab's text in UTF-8; more is too_large
	MaxTextPart  = 20_000  // code points of text in one answer (product.md §4)
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

// NoteVersion is what a note's own version counts: title, place and tabs.
type NoteVersion struct {
	Version   int64
	ProjectID string
	Title     string
	Tabs      []TabTitle
	Archived  bool
	CreatedAt time.Time
	CreatedBy Author
}

// TabTitle names a tab of a NoteVersion.
type TabTitle struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// NoteKey finds a note: all three IDs come from a permit.
type NoteKey struct{ WorkspaceID, ProjectID, NoteID string }

func noteKey(p access.Permit) NoteKey { return NoteKey{p.Workspace(), p.Project(), p.ID()} }

// NoteFilter narrows a list of notes to what its reader could also open.
type NoteFilter struct {
	Archived   bool   // the archive instead of what is in use
	UserID     string // the person, or the approver
	Connection bool   // the reader is an outside assistant: nothing local-only, ACL with edit
}

// NoteStore keeps notes. A method that answers ok finds nothing under IDs that
// do not belong together.
type NoteStore interface {
	// NoteOutline reads the note and its tabs, without their text.
	NoteOutline(ctx context.Context, tx access.Tx, key NoteKey) (n NoteOutline, ok bool, err error)
	// ProjectNotes lists notes of a project in the order of their making.
	ProjectNotes(ctx context.Context, tx access.Tx, workspaceID, projectID string, f NoteFilter, page Page) ([]Note, error)
	NoteTab(ctx context.Context, tx access.Tx, key NoteKey, tabID string) (t NoteTab, ok bool, err error)
	NoteTabVersion(ctx context.Context, tx access.Tx, key NoteKey, tabID string, version int64) (v NoteTabVersion, ok bool, err error)
	// NoteTabVersions lists versions, newest first, from before version on.
	NoteTabVersions(ctx context.Context, tx access.Tx, key NoteKey, tabID string, before int64, limit int) ([]NoteTabVersion, error)
	NoteVersion(ctx context.Context, tx access.Tx, key NoteKey, version int64) (v NoteVersion, ok bool, err error)

	// HoldNote stamps who changes the note and when and returns its row. Until tx
	// ends, nobody else can change the note or its tabs.
	HoldNote(ctx context.Context, tx access.Tx, key NoteKey, by Author, now time.Time) (n Note, ok bool, err error)
	InsertNote(ctx context.Context, tx access.Tx, n NoteOutline) error
	// UpdateNote writes title, place and archive of n, whose version is one more
	// than was, if the stored version is still was.
	UpdateNote(ctx context.Context, tx access.Tx, key NoteKey, n Note, was int64) (ok bool, err error)
	// KeepNoteVersion files the outline that n has now under its version.
	KeepNoteVersion(ctx context.Context, tx access.Tx, key NoteKey, v NoteVersion) error
	// DeleteNote deletes the note with everything that belongs to it.
	DeleteNote(ctx context.Context, tx access.Tx, key NoteKey, was int64) (ok bool, err error)

	InsertNoteTab(ctx context.Context, tx access.Tx, key NoteKey, t NoteTab, position int) error
	// PlaceNoteTab gives a tab its title and position.
	PlaceNoteTab(ctx context.Context, tx access.Tx, key NoteKey, tabID, title string, position int) error
	// SaveNoteTab writes the text of t, whose version is one more than was, if the
	// stored version is still was, and files it in the tab's history.
	SaveNoteTab(ctx context.Context, tx access.Tx, key NoteKey, t NoteTab, was int64) (ok bool, err error)
	DeleteNoteTab(ctx context.Context, tx access.Tx, key NoteKey, tabID string) error
}

// Notes is what can be done with notes. Each method needs a permit for the note,
// or for the project where it says so.
type Notes struct {
	store     NoteStore
	index     SearchIndex
	events    *Events
	now       func() time.Time
	publicURL string
}

// NewNotes makes the service. PublicURL is the origin under which people reach
// the web app, without a slash at the end.
func NewNotes(store NoteStore, index SearchIndex, events *Events, now func() time.Time, publicURL string) *Notes {
	return &Notes{store, index, events, now, strings.TrimSuffix(publicURL, "/")}
}

// Outline is the note with its tabs, without their text.
func (s *Notes) Outline(ctx context.Context, tx access.Tx, p access.Permit) (NoteOutline, error) {
	if err := p.Covers(access.KindNote, access.RightView); err != nil {
		return NoteOutline{}, err
	}
	if n, ok := p.Loaded().(NoteOutline); ok {
		return n, nil
	}
	return s.outline(ctx, tx, noteKey(p))
}

func (s *Notes) outline(ctx context.Context, tx access.Tx, key NoteKey) (NoteOutline, error) {
	n, ok, err := s.store.NoteOutline(ctx, tx, key)
	if err == nil && !ok {
		err = unknownNote()
	}
	return n, err
}

// List is a part of the notes of the project that p names. It leaves out what
// the reader could not open.
func (s *Notes) List(ctx context.Context, tx access.Tx, p access.Permit, archived bool, page Page) (Listing[Note], error) {
	if err := p.Covers(access.KindProject, access.RightView); err != nil {
		return Listing[Note]{}, err
	}
	filter := NoteFilter{Archived: archived, UserID: p.Principal().UserID, Connection: p.Principal().IsConnection()}
	rows, err := s.store.ProjectNotes(ctx, tx, p.Workspace(), p.Project(), filter, Page{page.After, page.Limit + 1})
	if err != nil {
		return Listing[Note]{}, err
	}
	return Cut(rows, page.Limit, func(n Note) string { return n.ID }), nil
}

// Tab is one tab with its whole text.
func (s *Notes) Tab(ctx context.Context, tx access.Tx, p access.Permit, tabID string) (NoteTab, error) {
	if err := p.Covers(access.KindNote, access.RightView); err != nil {
		return NoteTab{}, err
	}
	return s.tab(ctx, tx, noteKey(p), tabID)
}

func (s *Notes) tab(ctx context.Context, tx access.Tx, key NoteKey, tabID string) (NoteTab, error) {
	t, ok, err := s.store.NoteTab(ctx, tx, key, tabID)
	if err == nil && !ok {
		err = unknownTab()
	}
	return t, err
}

// Row is the note without its tabs: the row that the check read along.
func (s *Notes) Row(ctx context.Context, tx access.Tx, p access.Permit) (Note, error) {
	if err := p.Covers(access.KindNote, access.RightView); err != nil {
		return Note{}, err
	}
	if n, ok := p.Loaded().(Note); ok {
		return n, nil
	}
	n, err := s.outline(ctx, tx, noteKey(p))
	return n.Note, err
}

// TextRange asks for a part of a tab's text, or of one heading's section. Offset
// and MaxChars count Unicode code points; MaxChars 0 means MaxTextPart, which is
// also the most.
type TextRange struct {
	Heading  string // "" is the whole tab
	Offset   int64
	MaxChars int64
}

// TextPart is a part of a text, exactly as it was stored.
type TextPart struct {
	Text   string
	Offset int64
	Next   int64 // where the next part begins; 0 if there is none
	Total  int64 // of the whole tab or section
}

// ReadTab is the part of a tab's text that r asks for.
func (s *Notes) ReadTab(ctx context.Context, tx access.Tx, p access.Permit, tabID string, r TextRange) (NoteTab, TextPart, error) {
	t, err := s.Tab(ctx, tx, p, tabID)
	if err != nil {
		return NoteTab{}, TextPart{}, err
	}
	text, total := t.Markdown, t.Chars
	if r.Heading != "" {
		section, err := sectionOf(text, r.Heading)
		if err != nil {
			return NoteTab{}, TextPart{}, err
		}
		text = text[section.start:section.end]
		total = charsIn(text)
	}
	if r.Offset < 0 || r.Offset > total {
		return NoteTab{}, TextPart{}, refuseFaults(faultf("/offset", "lies behind the end: the text has %d characters", total))
	}
	part := partOf(text, total, r.Offset, r.MaxChars)
	return t, part, nil
}

// FirstPart is the beginning of a text, as much as one answer holds.
func FirstPart(text string) TextPart { return partOf(text, charsIn(text), 0, MaxTextPart) }

func partOf(text string, total, offset, most int64) TextPart {
	if most <= 0 || most > MaxTextPart {
		most = MaxTextPart
	}
	part := TextPart{Offset: offset, Total: total}
	var next int64
	if part.Text, next = cutChars(text, offset, most); next < total {
		part.Next = next
	}
	return part
}

func charsIn(text string) int64 { return int64(utf8.RuneCountInString(text)) }

// unknownNote and unknownTab have one text each for what is elsewhere and for
// what never was.
func unknownNote() error { return access.Refuse(access.NotFound, "There is no note with this ID.") }

func unknownTab() error { return access.Refuse(access.NotFound, "There is no tab with this ID.") }

// titleFaults says what is wrong with a title: it must be one line that can be
// read, and may not reorder what stands around it.
func titleFaults(pointer, title string, most int) []Fault {
	switch n := utf8.RuneCountInString(title); {
	case !utf8.ValidString(title):
		return []Fault{faultf(pointer, "is not valid UTF-8")}
	case n > most:
		return []Fault{faultf(pointer, "takes at most %d characters, got %d", most, n)}
	case strings.TrimFunc(title, blank) == "":
		return []Fault{faultf(pointer, "must not be blank")}
	}
	for _, r := range title {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return []Fault{faultf(pointer, "must be one line without control characters, got U+%04X", r)}
		}
		if r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' { // UAX #9 §2.1–2.5
			return []Fault{faultf(pointer, "must not change the direction of text, got U+%04X", r)}
		}
	}
	return nil
}

// textFaults says what is wrong with a tab's text. All but NUL is kept as it is:
// a text is data, whatever a terminal or a model would make of it.
func textFaults(pointer, text string) []Fault {
	if !utf8.ValidString(text) {
		return []Fault{faultf(pointer, "is not valid UTF-8")}
	}
	if strings.IndexByte(text, 0) >= 0 {
		return []Fault{faultf(pointer, "must not hold the character U+0000")}
	}
	return nil
}

// fits refuses a text that is too long for one tab.
func fits(text string) error {
	if len(text) <= MaxTabBytes {
		return nil
	}
	return access.Refuse(access.TooLarge, "A tab holds at most %d bytes of text; this would be %d. Add another tab.", MaxTabBytes, len(text)).
		With("limit", MaxTabBytes).With("size", len(text))
}

func authorOf(p access.Principal) Author {
	return Author{UserID: p.UserID, UserName: p.UserName, ConnectionID: p.ConnectionID, ConnectionName: p.ConnectionName}
}

func itemPointer(list string, i int, member string) string {
	return "/" + list + "/" + strconv.Itoa(i) + "/" + member
}

// pointerTo names the i-th item of the list at a pointer.
func pointerTo(list string, i int) string { return list + "/" + strconv.Itoa(i) }
