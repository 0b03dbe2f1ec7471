package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// writer is who wrote something: a person, or an outside assistant with the
// approval of a person.
type writer struct {
	Kind         string `json:"kind"` // person, outside_assistant
	Name         string `json:"name"`
	UserID       string `json:"user_id"`
	ConnectionID string `json:"connection_id,omitzero"`
}

func writerOf(a workspace.Author) writer {
	kind := "person"
	if a.ConnectionID != "" {
		kind = "outside_assistant"
	}
	return writer{Kind: kind, Name: a.Name(), UserID: a.UserID, ConnectionID: a.ConnectionID}
}

// noteFields is a note without its tabs.
type noteFields struct {
	ID          string    `json:"id"`
	WorkspaceID string    `json:"workspace_id"`
	ProjectID   string    `json:"project_id"`
	Title       string    `json:"title"`
	Version     int64     `json:"version"` // of title, place and tabs
	Archived    bool      `json:"archived"`
	LocalOnly   bool      `json:"local_only"`
	Restricted  bool      `json:"restricted"` // to the people of its ACL
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
}

func noteFieldsOf(n workspace.Note) noteFields {
	return noteFields{
		ID: n.ID, WorkspaceID: n.WorkspaceID, ProjectID: n.ProjectID, Title: n.Title, Version: n.Version, Archived: n.Archived(),
		LocalOnly: n.LocalOnly, Restricted: n.HasACL, CreatedAt: n.CreatedAt, UpdatedAt: n.UpdatedAt,
	}
}

type note struct {
	ID          string    `json:"id"`
	WorkspaceID string    `json:"workspace_id"`
	ProjectID   string    `json:"project_id"`
	Title       string    `json:"title"`
	Version     int64     `json:"version"`
	Archived    bool      `json:"archived"`
	LocalOnly   bool      `json:"local_only"`
	Restricted  bool      `json:"restricted"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	UpdatedBy   writer    `json:"updated_by"`
	TabID       string    `json:"tab_id,omitzero"` // of the tab that was added
	Tabs        []noteTab `json:"tabs"`
}

func noteOf(n workspace.NoteOutline) note {
	f := noteFieldsOf(n.Note)
	out := note{
		ID: f.ID, WorkspaceID: f.WorkspaceID, ProjectID: f.ProjectID, Title: f.Title, Version: f.Version, Archived: f.Archived,
		LocalOnly: f.LocalOnly, Restricted: f.Restricted, CreatedAt: f.CreatedAt, UpdatedAt: f.UpdatedAt,
		UpdatedBy: writerOf(n.Author), Tabs: make([]noteTab, len(n.Tabs)),
	}
	for i, t := range n.Tabs {
		out.Tabs[i] = noteTabOf(t)
	}
	return out
}

type noteTab struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Version   int64     `json:"version"` // of the text
	Chars     int64     `json:"chars"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy writer    `json:"updated_by"`
}

func noteTabOf(t workspace.NoteTab) noteTab {
	return noteTab{ID: t.ID, Title: t.Title, Version: t.Version, Chars: t.Chars, UpdatedAt: t.UpdatedAt, UpdatedBy: writerOf(t.UpdatedBy)}
}

type tabText struct {
	ID        string    `json:"id"`
	NoteID    string    `json:"note_id"`
	Title     string    `json:"title"`
	Version   int64     `json:"version"` // of the text
	Chars     int64     `json:"chars"`
	UpdatedAt time.Time `json:"updated_at"`
	UpdatedBy writer    `json:"updated_by"`
	Markdown  string    `json:"markdown"`
}

func tabTextOf(c *Call, t workspace.NoteTab) tabText {
	return tabText{
		ID: t.ID, NoteID: c.Permit.ID(), Title: t.Title, Version: t.Version, Chars: t.Chars,
		UpdatedAt: t.UpdatedAt, UpdatedBy: writerOf(t.UpdatedBy), Markdown: t.Markdown,
	}
}

type tabVersion struct {
	Version   int64     `json:"version"`
	Chars     int64     `json:"chars"`
	CreatedAt time.Time `json:"created_at"`
	CreatedBy writer    `json:"created_by"`
}

func tabVersionOf(v workspace.NoteTabVersion) tabVersion {
	return tabVersion{Version: v.Version, Chars: v.Chars, CreatedAt: v.CreatedAt, CreatedBy: writerOf(v.CreatedBy)}
}

// tabVersionText is a version with its text or, where that was asked for, its
// unified diff to the current one.
type tabVersionText struct {
	Version        int64     `json:"version"`
	Chars          int64     `json:"chars"`
	CreatedAt      time.Time `json:"created_at"`
	CreatedBy      writer    `json:"created_by"`
	Markdown       *string   `json:"markdown,omitzero"`
	Diff           *string   `json:"diff,omitzero"`
	CurrentVersion int64     `json:"current_version,omitzero"`
}

func tabVersionTextOf(v workspace.NoteTabVersion) tabVersionText {
	return tabVersionText{Version: v.Version, Chars: v.Chars, CreatedAt: v.CreatedAt, CreatedBy: writerOf(v.CreatedBy)}
}

type newTabBody struct {
	Title    string `json:"title"`
	Markdown string `json:"markdown"`
}

type noteBody struct {
	Title string       `json:"title"`
	Tabs  []newTabBody `json:"tabs"`
}

type addTabBody struct {
	Title           string `json:"title"`
	Markdown        string `json:"markdown"`
	ExpectedVersion int64  `json:"expected_version"`
}

type tabChange struct {
	ID    string  `json:"id"`
	Title *string `json:"title,omitzero"`
}

type noteChange struct {
	Title           *string     `json:"title,omitzero"`
	Tabs            []tabChange `json:"tabs,omitzero"` // in their new order
	ProjectID       *string     `json:"project_id,omitzero"`
	Archived        *bool       `json:"archived,omitzero"`
	LocalOnly       *bool       `json:"local_only,omitzero"`
	ExpectedVersion int64       `json:"expected_version,omitzero"` // the note's; needed for all but local_only
}

// versioned reports whether the change needs the note's version.
func (n noteChange) versioned() bool {
	return n.Title != nil || n.Tabs != nil || n.ProjectID != nil || n.Archived != nil
}

type tabTextChange struct {
	Markdown        string `json:"markdown"`
	ExpectedVersion int64  `json:"expected_version"` // the tab's
}

type restoreBody struct {
	ExpectedVersion int64 `json:"expected_version"` // the tab's current one
}

type localOnlyBody struct {
	LocalOnly bool `json:"local_only"`
}

type noteCalls struct {
	notes *workspace.Notes
	acls  *workspace.ACLs
}

// NoteRoutes are notes, their tabs and the history of these.
func NoteRoutes(notes *workspace.Notes, acls *workspace.ACLs) []Route {
	s := noteCalls{notes, acls}
	const path = "/api/v1/notes/{note}"
	expected := []Query{{Name: "expected_version", Doc: "The note's version"}}
	return append([]Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/projects/{project}/notes", Operation: "note.list",
			Summary: "The notes of the project that the caller can open", Kind: access.KindProject, Right: access.RightView, Paged: true,
			Filters: []Query{{Name: "archived", Arg: "enum=true|false", Doc: "The archive, instead of what is in use"}}}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/projects/{project}/notes", Operation: "note.create",
			Summary: "Make a note with its tabs", Kind: access.KindProject, Right: access.RightEdit, Status: http.StatusCreated}, s.create),
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "note.get", Summary: "One note, without the text of its tabs",
			Kind: access.KindNote, Right: access.RightView}, s.get),
		Handle(Rule{Method: http.MethodPatch, Path: path, Operation: "note.change",
			Summary: "Rename a note or its tabs, put them in order, move it to another project, to the archive or back, or keep it on this server",
			Kind:    access.KindNote, Right: access.RightEdit, RightOf: rightToChange}, s.change),
		Handle(Rule{Method: http.MethodDelete, Path: path, Operation: "note.delete", Summary: "Delete an archived note and its history for good",
			Kind: access.KindNote, Right: access.RightEdit, Filters: expected}, s.delete),
		Handle(Rule{Method: http.MethodPatch, Path: path + "/acl", Operation: "note.local_only.set",
			Summary: "Keep the note on this server, away from all connections, or not",
			Kind:    access.KindNote, Right: access.RightManage}, s.setLocalOnly),
		s.searchRoute(),
	}, s.tabRoutes(path+"/tabs", expected)...)
}

func (s noteCalls) tabRoutes(path string, expected []Query) []Route {
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: path, Operation: "note.tab.list", Summary: "The tabs of a note in order, without their text",
			Kind: access.KindNote, Right: access.RightView}, s.listTabs),
		Handle(Rule{Method: http.MethodPost, Path: path, Operation: "note.tab.add", Summary: "Add a tab behind the others",
			Kind: access.KindNote, Right: access.RightEdit, Status: http.StatusCreated}, s.addTab),
		Handle(Rule{Method: http.MethodGet, Path: path + "/{tab}", Operation: "note.tab.get", Summary: "One tab with its text",
			Kind: access.KindNote, Right: access.RightView}, s.getTab),
		Handle(Rule{Method: http.MethodPatch, Path: path + "/{tab}", Operation: "note.tab.write", Summary: "Write a tab's text",
			Kind: access.KindNote, Right: access.RightEdit}, s.writeTab),
		Handle(Rule{Method: http.MethodDelete, Path: path + "/{tab}", Operation: "note.tab.delete", Summary: "Delete a tab and its history for good; the last one stays",
			Kind: access.KindNote, Right: access.RightEdit, Filters: expected}, s.deleteTab),
		Handle(Rule{Method: http.MethodGet, Path: path + "/{tab}/versions", Operation: "note.version.list", Summary: "The versions of a tab's text, newest first",
			Kind: access.KindNote, Right: access.RightView, Paged: true}, s.listVersions),
		Handle(Rule{Method: http.MethodGet, Path: path + "/{tab}/versions/{version}", Operation: "note.version.get",
			Summary: "One version of a tab's text, or its diff to the current one", Kind: access.KindNote, Right: access.RightView,
			Filters: []Query{{Name: "diff", Arg: "enum=true|false", Doc: "The unified diff instead of the text"}}}, s.getVersion),
		Handle(Rule{Method: http.MethodPost, Path: path + "/{tab}/versions/{version}/restore", Operation: "note.version.restore",
			Summary: "Make a past version current again, as a new version", Kind: access.KindNote, Right: access.RightEdit}, s.restore),
	}
}

// rightToChange lets owners keep a note on the server that its ACL hides from
// them; everything else is an edit.
func rightToChange(in any) access.Right {
	if n := in.(*noteChange); n.LocalOnly != nil && !n.versioned() {
		return access.RightManage
	}
	return access.RightEdit
}

func (s noteCalls) list(ctx context.Context, c *Call, _ Nothing) (List[noteFields], error) {
	l, err := s.notes.List(ctx, c.Tx, c.Permit, c.Query("archived") == "true", c.Page)
	return listOf(c, l, noteFieldsOf), err
}

func (s noteCalls) create(ctx context.Context, c *Call, in noteBody) (note, error) {
	tabs := make([]workspace.NewTab, len(in.Tabs))
	for i, t := range in.Tabs {
		tabs[i] = workspace.NewTab(t)
	}
	n, err := s.notes.Create(ctx, c.Tx, c.Permit, in.Title, tabs)
	c.Entry.Kind, c.Entry.ResourceID = access.KindNote, n.ID
	return noteOf(n), err
}

func (s noteCalls) get(ctx context.Context, c *Call, _ Nothing) (note, error) {
	n, err := s.notes.Outline(ctx, c.Tx, c.Permit)
	return noteOf(n), err
}

// change does what the body asks for in one unit of work, each step on the
// version that the one before it made: out of the archive, titles and order,
// place, into the archive.
func (s noteCalls) change(ctx context.Context, c *Call, in noteChange) (note, error) {
	if !in.versioned() && in.LocalOnly == nil {
		return note{}, refuseField("title", "or tabs, project_id, archived or local_only is required")
	}
	if in.versioned() && in.ExpectedVersion < 1 {
		return note{}, refuseField("expected_version", "is required, and at least 1")
	}
	if in.LocalOnly != nil {
		if err := s.keepLocal(ctx, c, *in.LocalOnly); err != nil {
			return note{}, err
		}
	}
	if err := s.place(ctx, c, in); err != nil {
		return note{}, err
	}
	n, err := s.notes.Outline(ctx, c.Tx, c.Permit)
	return noteOf(n), err
}

func (s noteCalls) place(ctx context.Context, c *Call, in noteChange) error {
	version := in.ExpectedVersion
	if in.Archived != nil && !*in.Archived {
		if _, err := s.notes.Unarchive(ctx, c.Tx, c.Permit, version); err != nil {
			return err
		}
		version++
	}
	if in.Title != nil || in.Tabs != nil {
		tabs := make([]workspace.TabChange, len(in.Tabs))
		for i, t := range in.Tabs {
			tabs[i] = workspace.TabChange(t)
		}
		if _, err := s.notes.Rename(ctx, c.Tx, c.Permit, in.Title, tabs, version); err != nil {
			return err
		}
		version++
	}
	if in.ProjectID != nil {
		if err := s.move(ctx, c, *in.ProjectID, version); err != nil {
			return err
		}
		version++
	}
	if in.Archived != nil && *in.Archived {
		_, err := s.notes.Archive(ctx, c.Tx, c.Permit, version)
		return err
	}
	return nil
}

// move leaves the call with a permit for the note in its new place.
func (s noteCalls) move(ctx context.Context, c *Call, projectID string, version int64) error {
	to, err := c.Need(ctx, access.Ref{Kind: access.KindProject, ID: projectID}, access.RightEdit)
	if err != nil {
		return err
	}
	if _, err := s.notes.Move(ctx, c.Tx, c.Permit, to, version); err != nil {
		return err
	}
	c.Entry.Detail = map[string]any{"from_project_id": c.Permit.Project(), "to_project_id": to.Project()}
	c.Permit, err = c.Need(ctx, access.Ref{Kind: access.KindNote, ID: c.Permit.ID()}, access.RightEdit)
	return err
}

func (s noteCalls) keepLocal(ctx context.Context, c *Call, localOnly bool) error {
	p, err := c.Need(ctx, access.Ref{Kind: access.KindNote, ID: c.Permit.ID()}, access.RightManage)
	if err != nil {
		return err
	}
	c.Entry.Detail = map[string]any{"local_only": localOnly}
	return s.acls.SetLocalOnly(ctx, c.Tx, p, localOnly)
}

func (s noteCalls) setLocalOnly(ctx context.Context, c *Call, in localOnlyBody) (localOnlyBody, error) {
	return in, s.keepLocal(ctx, c, in.LocalOnly)
}

func (s noteCalls) delete(ctx context.Context, c *Call, _ Nothing) (Nothing, error) {
	expected, err := expectedVersion(c)
	if err != nil {
		return Nothing{}, err
	}
	return Nothing{}, s.notes.Delete(ctx, c.Tx, c.Permit, expected)
}

func (s noteCalls) listTabs(ctx context.Context, c *Call, _ Nothing) (List[noteTab], error) {
	n, err := s.notes.Outline(ctx, c.Tx, c.Permit)
	return listOf(c, workspace.Listing[workspace.NoteTab]{Items: n.Tabs}, noteTabOf), err
}

func (s noteCalls) addTab(ctx context.Context, c *Call, in addTabBody) (note, error) {
	n, err := s.notes.AddTab(ctx, c.Tx, c.Permit, workspace.NewTab{Title: in.Title, Markdown: in.Markdown}, in.ExpectedVersion)
	if err != nil {
		return note{}, err
	}
	out := noteOf(n)
	out.TabID = n.Tabs[len(n.Tabs)-1].ID
	return out, nil
}

func (s noteCalls) getTab(ctx context.Context, c *Call, _ Nothing) (tabText, error) {
	t, err := s.notes.Tab(ctx, c.Tx, c.Permit, c.Path("tab"))
	return tabTextOf(c, t), err
}

func (s noteCalls) writeTab(ctx context.Context, c *Call, in tabTextChange) (tabText, error) {
	t, err := s.notes.ReplaceTab(ctx, c.Tx, c.Permit, c.Path("tab"), in.Markdown, in.ExpectedVersion)
	return tabTextOf(c, t), err
}

func (s noteCalls) deleteTab(ctx context.Context, c *Call, _ Nothing) (note, error) {
	expected, err := expectedVersion(c)
	if err != nil {
		return note{}, err
	}
	c.Entry.Detail = map[string]any{"tab_id": c.Path("tab")}
	n, err := s.notes.DeleteTab(ctx, c.Tx, c.Permit, c.Path("tab"), expected)
	return noteOf(n), err
}

func (s noteCalls) listVersions(ctx context.Context, c *Call, _ Nothing) (List[tabVersion], error) {
	l, err := s.notes.TabVersions(ctx, c.Tx, c.Permit, c.Path("tab"), c.Page)
	return listOf(c, l, tabVersionOf), err
}

func (s noteCalls) getVersion(ctx context.Context, c *Call, _ Nothing) (tabVersionText, error) {
	version, err := pathVersion(c)
	if err != nil {
		return tabVersionText{}, err
	}
	if c.Query("diff") == "true" {
		diff, v, current, err := s.notes.TabDiff(ctx, c.Tx, c.Permit, c.Path("tab"), version)
		out := tabVersionTextOf(v)
		out.Diff, out.CurrentVersion = &diff, current.Version
		return out, err
	}
	v, err := s.notes.TabVersion(ctx, c.Tx, c.Permit, c.Path("tab"), version)
	out := tabVersionTextOf(v)
	out.Markdown = &v.Markdown
	return out, err
}

func (s noteCalls) restore(ctx context.Context, c *Call, in restoreBody) (tabText, error) {
	version, err := pathVersion(c)
	if err != nil {
		return tabText{}, err
	}
	t, err := s.notes.RestoreTab(ctx, c.Tx, c.Permit, c.Path("tab"), version, in.ExpectedVersion)
	return tabTextOf(c, t), err
}

func pathVersion(c *Call) (int64, error) {
	version, err := strconv.ParseInt(c.Path("version"), 10, 64)
	if err != nil || version < 1 {
		return 0, access.Refuse(access.NotFound, "There is no version with this number.")
	}
	return version, nil
}

func expectedVersion(c *Call) (int64, error) {
	version, err := strconv.ParseInt(c.Query("expected_version"), 10, 64)
	if err != nil || version < 1 {
		return 0, refuseField("expected_version", "is required in the query, as a whole number of at least 1")
	}
	return version, nil
}

func refuseField(name, message string) error {
	return access.Refuse(access.InvalidArguments, "%s %s.", name, message).
		With("errors", []workspace.Fault{{Pointer: "/" + name, Message: message}})
}
