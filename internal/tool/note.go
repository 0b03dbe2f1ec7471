package tool

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// versionLimit is how many versions list_note_versions has a page.
const versionLimit = 50

// writing is what every tool needs that changes content.
var writing = access.Permission{Scopes: access.ScopeWrite, Right: access.RightEdit}

type noteArguments struct {
	NoteID string `json:"note_id"`
}

type tabArguments struct {
	NoteID   string `json:"note_id"`
	TabID    string `json:"tab_id" doc:"Exact tab ID"`
	Heading  string `json:"heading,omitzero" arg:"len=..200"`
	Offset   int64  `json:"offset,omitzero" arg:"min=0"`
	MaxChars int64  `json:"max_chars,omitzero" arg:"min=500,max=20000"`
}

type versionsArguments struct {
	NoteID string `json:"note_id"`
	TabID  string `json:"tab_id" doc:"Exact tab ID"`
	Cursor string `json:"cursor,omitzero"`
}

type versionArguments struct {
	NoteID  string `json:"note_id"`
	TabID   string `json:"tab_id" doc:"Exact tab ID"`
	Version int64  `json:"version" arg:"min=1"`
	AsDiff  bool   `json:"as_diff,omitzero"`
}

type newTab struct {
	Title    string `json:"title" arg:"len=..100"`
	Markdown string `json:"markdown" arg:"len=..100000"`
}

type createArguments struct {
	ProjectID      string   `json:"project_id"`
	Title          string   `json:"title" arg:"len=..200"`
	Tabs           []newTab `json:"tabs" arg:"items=1..10"`
	IdempotencyKey string   `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type addTabArguments struct {
	NoteID          string `json:"note_id"`
	Title           string `json:"title" arg:"len=..100"`
	Markdown        string `json:"markdown" arg:"len=..100000"`
	ExpectedVersion int64  `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type textEdit struct {
	Find    string `json:"find" arg:"len=1..4000"`
	Replace string `json:"replace" arg:"len=..20000"`
}

type editArguments struct {
	NoteID          string     `json:"note_id"`
	TabID           string     `json:"tab_id" doc:"Exact tab ID"`
	Edits           []textEdit `json:"edits" arg:"items=1..20"`
	ExpectedVersion int64      `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string     `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type appendArguments struct {
	NoteID         string `json:"note_id"`
	TabID          string `json:"tab_id" doc:"Exact tab ID"`
	Markdown       string `json:"markdown" arg:"len=..50000"`
	Heading        string `json:"heading,omitzero" arg:"len=..200"`
	IdempotencyKey string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type replaceArguments struct {
	NoteID          string `json:"note_id"`
	TabID           string `json:"tab_id" doc:"Exact tab ID"`
	Markdown        string `json:"markdown" arg:"len=..200000"`
	ExpectedVersion int64  `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type tabChange struct {
	TabID string  `json:"tab_id" doc:"Exact tab ID"`
	Title *string `json:"title,omitzero" arg:"len=..100"`
}

type renameArguments struct {
	NoteID          string      `json:"note_id"`
	Title           *string     `json:"title,omitzero" arg:"len=..200"`
	Tabs            []tabChange `json:"tabs,omitzero" arg:"items=1..50"`
	ExpectedVersion int64       `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string      `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type moveNoteArguments struct {
	NoteID          string `json:"note_id"`
	ProjectID       string `json:"project_id"`
	ExpectedVersion int64  `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type archiveArguments struct {
	NoteID          string `json:"note_id"`
	ExpectedVersion int64  `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type restoreArguments struct {
	NoteID          string `json:"note_id"`
	TabID           string `json:"tab_id" doc:"Exact tab ID"`
	Version         int64  `json:"version" arg:"min=1"`
	ExpectedVersion int64  `json:"expected_version" arg:"min=1"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

// author says whose words a text is, so that a model can tell the words of other
// assistants from those of people.
type author struct {
	Kind         string `json:"kind"` // person, outside_assistant
	Name         string `json:"name"`
	UserID       string `json:"user_id"` // of an outside assistant, its approver
	ConnectionID string `json:"connection_id,omitzero"`
}

func authorOf(a workspace.Author) author {
	kind := "person"
	if a.ConnectionID != "" {
		kind = "outside_assistant"
	}
	return author{kind, a.Name(), a.UserID, a.ConnectionID}
}

type noteTab struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Version   int64     `json:"version"`
	Chars     int64     `json:"chars"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy author    `json:"updated_by"`
}

// noteOutline is what all calls about a note as a whole answer.
type noteOutline struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	ProjectID string    `json:"project_id"`
	Version   int64     `json:"version"` // the note's: of title, place and tabs
	Archived  bool      `json:"archived"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy author    `json:"updated_by"`
	TabID     string    `json:"tab_id,omitzero"` // of the tab that was added
	Tabs      []noteTab `json:"tabs"`
}

func outlineOf(n workspace.NoteOutline) noteOutline {
	o := noteOutline{
		ID: n.ID, Title: n.Title, ProjectID: n.ProjectID, Version: n.Version, Archived: n.Archived(),
		UpdatedAt: n.UpdatedAt, UpdatedBy: authorOf(n.Author), Tabs: make([]noteTab, len(n.Tabs)),
	}
	for i, t := range n.Tabs {
		o.Tabs[i] = noteTab{t.ID, t.Title, t.Version, t.Chars, t.UpdatedAt, authorOf(t.UpdatedBy)}
	}
	return o
}

// tabText is a part of a tab's text as it was stored, or of a section of it.
type tabText struct {
	NoteID     string    `json:"note_id"`
	TabID      string    `json:"tab_id"`
	Title      string    `json:"title"`
	Version    int64     `json:"version"` // the tab's
	Archived   bool      `json:"archived"`
	UpdatedAt  time.Time `json:"updated_at"`
	UpdatedBy  author    `json:"updated_by"`
	Offset     int64     `json:"offset"`
	NextOffset int64     `json:"next_offset,omitzero"`
	TotalChars int64     `json:"total_chars"`
	Text       string    `json:"text"`
}

// savedTab is what all changes of a tab's text answer.
type savedTab struct {
	NoteID  string `json:"note_id"`
	TabID   string `json:"tab_id"`
	Title   string `json:"title"`
	Version int64  `json:"version"` // the tab's, to be expected by the next change
	Chars   int64  `json:"chars"`
}

type tabVersion struct {
	Version   int64     `json:"version"`
	Chars     int64     `json:"chars"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy author    `json:"created_by"`
}

type tabVersionList struct {
	Items      []tabVersion `json:"items"`
	NextCursor string       `json:"next_cursor,omitzero"`
}

// versionText is one version of a tab, or its diff to the current one. Text and
// diff end where one answer does; truncated then says so.
type versionText struct {
	NoteID         string    `json:"note_id"`
	TabID          string    `json:"tab_id"`
	Version        int64     `json:"version"`
	CurrentVersion int64     `json:"current_version,omitzero"` // with diff
	CreatedAt      time.Time `json:"created_at"`
	CreatedBy      author    `json:"created_by"`
	TotalChars     int64     `json:"total_chars"` // of the text, or of the diff
	Truncated      bool      `json:"truncated"`
	Text           *string   `json:"text,omitzero"`
	Diff           *string   `json:"diff,omitzero"`
}

// Notes are the tools about notes, their tabs and their history.
func Notes(notes *workspace.Notes, cursors Cursors) []*Tool {
	t := noteTools{notes, cursors}
	return append(t.readers(), t.writers()...)
}

type noteTools struct {
	notes   *workspace.Notes
	cursors Cursors
}

func noteRefs(id string) []access.Ref { return []access.Ref{{Kind: access.KindNote, ID: id}} }

func (t noteTools) readers() []*Tool {
	return []*Tool{
		define(Tool{
			Name:        "read_note",
			Title:       "Note outline",
			Description: "A note's title, place and tabs (IDs, titles, sizes, versions), without tab text.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
			ReadsAlong:  true,
		}, func(a noteArguments) []access.Ref {
			return []access.Ref{{Kind: access.KindNote, ID: a.NoteID, Along: access.AlongOutline}}
		}, t.read),
		define(Tool{
			Name:        "read_note_tab",
			Title:       "Read tab",
			Description: "Markdown of one tab, or of one heading's section, with its version.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a tabArguments) []access.Ref { return noteRefs(a.NoteID) }, t.readTab),
		define(Tool{
			Name:        "list_note_versions",
			Title:       "Tab history",
			Description: "Version history of a tab: who, when, through which client.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a versionsArguments) []access.Ref { return noteRefs(a.NoteID) }, t.listVersions),
		define(Tool{
			Name:        "read_note_version",
			Title:       "Old tab version",
			Description: "One past version of a tab, or its diff to the current one.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a versionArguments) []access.Ref { return noteRefs(a.NoteID) }, t.readVersion),
	}
}

func (t noteTools) writers() []*Tool {
	return []*Tool{
		define(Tool{
			Name:        "create_note",
			Title:       "Create note",
			Description: "New note with one or more tabs.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Idempotent: true},
		}, func(a createArguments) []access.Ref { return projectRefs(a.ProjectID) }, t.create),
		define(Tool{
			Name:        "add_note_tab",
			Title:       "Add tab",
			Description: "Add a tab to a note; expected_version is the note's.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Idempotent: true},
		}, func(a addTabArguments) []access.Ref { return noteRefs(a.NoteID) }, t.addTab),
		define(Tool{
			Name:        "edit_note_tab",
			Title:       "Edit tab text",
			Description: "Replace exact passages of one tab; each find must match once.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Destructive: true, Idempotent: true},
		}, func(a editArguments) []access.Ref { return noteRefs(a.NoteID) }, t.editTab),
		define(Tool{
			Name:        "append_note_tab",
			Title:       "Append to tab",
			Description: "Add Markdown at the end of a tab or of one heading's section.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Idempotent: true},
		}, func(a appendArguments) []access.Ref { return noteRefs(a.NoteID) }, t.appendTab),
		define(Tool{
			Name:        "replace_note_tab",
			Title:       "Replace tab",
			Description: "Overwrite a whole tab; the old text stays in its history.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Destructive: true, Idempotent: true},
		}, func(a replaceArguments) []access.Ref { return noteRefs(a.NoteID) }, t.replaceTab),
		define(Tool{
			Name:        "rename_note",
			Title:       "Rename note",
			Description: "Rename a note, or rename and reorder its tabs.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Destructive: true, Idempotent: true},
		}, func(a renameArguments) []access.Ref { return noteRefs(a.NoteID) }, t.rename),
		define(Tool{
			Name:        "move_note",
			Title:       "Move note",
			Description: "Move a note to another granted project; access follows its new project at once.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Destructive: true, Idempotent: true},
		}, func(a moveNoteArguments) []access.Ref {
			return append(noteRefs(a.NoteID), projectRefs(a.ProjectID)...)
		}, t.move),
		define(Tool{
			Name:        "archive_note",
			Title:       "Archive note",
			Description: "Move a note to the archive; a person can restore or delete it.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Destructive: true, Idempotent: true},
		}, func(a archiveArguments) []access.Ref { return noteRefs(a.NoteID) }, t.archive),
		define(Tool{
			Name:        "restore_note_version",
			Title:       "Restore tab version",
			Description: "Make a past version of a tab current, as a new version.",
			Needs:       writing,
			ForAgents:   true,
			Hints:       Hints{Destructive: true, Idempotent: true},
		}, func(a restoreArguments) []access.Ref { return noteRefs(a.NoteID) }, t.restore),
	}
}

func (t noteTools) read(ctx context.Context, c *Run, _ noteArguments) (noteOutline, error) {
	n, err := t.notes.Outline(ctx, c.Tx, c.Permit())
	if err != nil {
		return noteOutline{}, err
	}
	return outlineOf(n), nil
}

func (t noteTools) readTab(ctx context.Context, c *Run, a tabArguments) (tabText, error) {
	n, err := t.notes.Row(ctx, c.Tx, c.Permit())
	if err != nil {
		return tabText{}, err
	}
	r := workspace.TextRange{Heading: a.Heading, Offset: a.Offset, MaxChars: a.MaxChars}
	tab, part, err := t.notes.ReadTab(ctx, c.Tx, c.Permit(), a.TabID, r)
	if err != nil {
		return tabText{}, err
	}
	return tabText{
		NoteID: n.ID, TabID: tab.ID, Title: tab.Title, Version: tab.Version, Archived: n.Archived(),
		UpdatedAt: tab.UpdatedAt, UpdatedBy: authorOf(tab.UpdatedBy),
		Offset: part.Offset, NextOffset: part.Next, TotalChars: part.Total, Text: part.Text,
	}, nil
}

func (t noteTools) listVersions(ctx context.Context, c *Run, a versionsArguments) (tabVersionList, error) {
	filters := versionsArguments{NoteID: a.NoteID, TabID: a.TabID}
	after, err := t.cursors.open(c, "list_note_versions", a.Cursor, filters)
	if err != nil {
		return tabVersionList{}, err
	}
	list, err := t.notes.TabVersions(ctx, c.Tx, c.Permit(), a.TabID, workspace.Page{After: after, Limit: versionLimit})
	if err != nil {
		return tabVersionList{}, err
	}
	answer := tabVersionList{Items: make([]tabVersion, len(list.Items))}
	for i, v := range list.Items {
		answer.Items[i] = tabVersion{v.Version, v.Chars, v.CreatedAt, authorOf(v.CreatedBy)}
	}
	answer.NextCursor, err = t.cursors.next(c, "list_note_versions", list.Next, filters)
	return answer, err
}

func (t noteTools) readVersion(ctx context.Context, c *Run, a versionArguments) (versionText, error) {
	if a.AsDiff {
		return t.diffVersion(ctx, c, a)
	}
	v, err := t.notes.TabVersion(ctx, c.Tx, c.Permit(), a.TabID, a.Version)
	if err != nil {
		return versionText{}, err
	}
	answer, shown := versionTextOf(a, v, v.Markdown)
	answer.Text = &shown
	return answer, nil
}

func (t noteTools) diffVersion(ctx context.Context, c *Run, a versionArguments) (versionText, error) {
	diff, v, current, err := t.notes.TabDiff(ctx, c.Tx, c.Permit(), a.TabID, a.Version)
	if err != nil {
		return versionText{}, err
	}
	answer, shown := versionTextOf(a, v, diff)
	answer.CurrentVersion, answer.Diff = current.Version, &shown
	return answer, nil
}

// versionTextOf is the answer about a version, and as much of a text as it holds.
func versionTextOf(a versionArguments, v workspace.NoteTabVersion, text string) (answer versionText, shown string) {
	part := workspace.FirstPart(text)
	return versionText{
		NoteID: a.NoteID, TabID: a.TabID, Version: v.Version, CreatedAt: v.CreatedAt, CreatedBy: authorOf(v.CreatedBy),
		TotalChars: part.Total, Truncated: part.Next > 0,
	}, part.Text
}

func (t noteTools) create(ctx context.Context, c *Run, a createArguments) (noteOutline, error) {
	tabs := make([]workspace.NewTab, len(a.Tabs))
	for i, tab := range a.Tabs {
		tabs[i] = workspace.NewTab(tab)
	}
	n, err := t.notes.Create(ctx, c.Tx, c.Permit(), a.Title, tabs)
	if err != nil {
		return noteOutline{}, err
	}
	return outlineOf(n), nil
}

func (t noteTools) addTab(ctx context.Context, c *Run, a addTabArguments) (noteOutline, error) {
	n, err := t.notes.AddTab(ctx, c.Tx, c.Permit(), workspace.NewTab{Title: a.Title, Markdown: a.Markdown}, a.ExpectedVersion)
	if err != nil {
		return noteOutline{}, err
	}
	answer := outlineOf(n)
	answer.TabID = n.Tabs[len(n.Tabs)-1].ID
	return answer, nil
}

func (t noteTools) rename(ctx context.Context, c *Run, a renameArguments) (noteOutline, error) {
	tabs := make([]workspace.TabChange, len(a.Tabs))
	for i, tab := range a.Tabs {
		tabs[i] = workspace.TabChange{ID: tab.TabID, Title: tab.Title}
	}
	n, err := t.notes.Rename(ctx, c.Tx, c.Permit(), a.Title, tabs, a.ExpectedVersion)
	if err != nil {
		return noteOutline{}, err
	}
	return outlineOf(n), nil
}

func (t noteTools) move(ctx context.Context, c *Run, a moveNoteArguments) (noteOutline, error) {
	n, err := t.notes.Move(ctx, c.Tx, c.Permits[0], c.Permits[1], a.ExpectedVersion)
	if err != nil {
		return noteOutline{}, err
	}
	return outlineOf(n), nil
}

func (t noteTools) archive(ctx context.Context, c *Run, a archiveArguments) (noteOutline, error) {
	n, err := t.notes.Archive(ctx, c.Tx, c.Permit(), a.ExpectedVersion)
	if err != nil {
		return noteOutline{}, err
	}
	return outlineOf(n), nil
}

func (t noteTools) editTab(ctx context.Context, c *Run, a editArguments) (savedTab, error) {
	edits := make([]workspace.TextEdit, len(a.Edits))
	for i, e := range a.Edits {
		edits[i] = workspace.TextEdit(e)
	}
	tab, err := t.notes.EditTab(ctx, c.Tx, c.Permit(), a.TabID, edits, a.ExpectedVersion)
	return saved(c, tab, err)
}

func (t noteTools) appendTab(ctx context.Context, c *Run, a appendArguments) (savedTab, error) {
	tab, err := t.notes.AppendTab(ctx, c.Tx, c.Permit(), a.TabID, a.Markdown, a.Heading)
	return saved(c, tab, err)
}

func (t noteTools) replaceTab(ctx context.Context, c *Run, a replaceArguments) (savedTab, error) {
	tab, err := t.notes.ReplaceTab(ctx, c.Tx, c.Permit(), a.TabID, a.Markdown, a.ExpectedVersion)
	return saved(c, tab, err)
}

func (t noteTools) restore(ctx context.Context, c *Run, a restoreArguments) (savedTab, error) {
	tab, err := t.notes.RestoreTab(ctx, c.Tx, c.Permit(), a.TabID, a.Version, a.ExpectedVersion)
	return saved(c, tab, err)
}

func saved(c *Run, t workspace.NoteTab, err error) (savedTab, error) {
	if err != nil {
		return savedTab{}, err
	}
	return savedTab{c.Permit().ID(), t.ID, t.Title, t.Version, t.Chars}, nil
}
