package tool

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// world is a database with a sample workspace, and the gate before it.
//
//	atlas: mara (owner), ben (editor, the approver of claude); alpha, beta, secret (private)
//	globex: gamma
//	claude, codex: connections of ben, claude in alpha, codex in alpha
//	tokens: <connection>-read, <connection>-write
type world struct {
	testing.TB
	db    *storage.DB
	raw   *sql.DB
	gate  *Catalogue
	reads *workspace.AuditLog

	handoffs *workspace.Handoffs

	mu     sync.Mutex
	now    time.Time // guarded by mu
	queued []string  // tasks and rounds whose jobs were added; guarded by mu
}

// jobs is a queue that notes what comes, whether or not it is committed.
type jobs struct{ w *world }

func (j jobs) Enqueue(_ context.Context, _ access.Tx, taskID string, round int64) error {
	j.w.mu.Lock()
	defer j.w.mu.Unlock()
	j.w.queued = append(j.w.queued, fmt.Sprintf("%s %d", taskID, round))
	return nil
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// eachWorld runs f on a fresh world in each database.
func eachWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) { f(newWorld(t, o, noRates)) })
}

// noRates is what tests that are not about rates run with.
var noRates = DefaultLimits.WithoutRates()

func newWorld(t testing.TB, o storage.Options, limits Limits) *world {
	t.Helper()
	db, err := storage.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, db: db, raw: storagetest.Raw(t, o), now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	w.reads = workspace.NewAuditLog(db, storage.Audit{}, quiet)
	t.Cleanup(func() {
		if err := w.reads.Stop(); err != nil {
			t.Errorf("stop the audit of reads: %v", err)
		}
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	cursors, err := NewCursors([]byte("a secret of this test, 32 bytes."), w.clock)
	if err != nil {
		t.Fatal(err)
	}
	resources := workspace.NewResources(storage.Resources{}, storage.Search{}, storage.Changes{})
	tools := marks()
	tools = append(tools, Connection(resources, limits)...)
	tools = append(tools, Resources(resources, cursors)...)
	tools = append(tools, Search(resources, cursors, "https://osfoundry.example")...)
	notes := workspace.NewNotes(storage.Notes{}, storage.Search{}, workspace.NewEvents(storage.Events{}, w.clock), w.clock, "https://osfoundry.example")
	tools = append(tools, Notes(notes, cursors)...)
	events := workspace.NewEvents(storage.Events{}, w.clock)
	config := workspace.TaskConfig{QueuedRequests: int64(limits.QueuedTasks), PublicURL: "https://osfoundry.example"}
	tools = append(tools, Tasks(workspace.NewTasks(storage.Tasks{}, jobs{w}, events, w.clock, config), cursors)...)
	w.handoffs = workspace.NewHandoffs(workspace.HandoffParts{
		Store: storage.Handoffs{}, Providers: storage.Providers{}, Figures: storage.Figures{}, Resources: storage.Resources{},
		Notices: workspace.NewNotices(storage.Notices{}, events, w.clock), Queue: workspace.NewTasks(storage.Tasks{}, jobs{w}, events, w.clock, config),
		Events: events, Now: w.clock,
	}, workspace.HandoffConfig{MaxPending: int64(limits.PendingHandoffs), PublicURL: config.PublicURL})
	sessions := workspace.NewSessions(storage.Sessions{}, storage.Providers{}, storage.Resources{}, events, workspace.SessionRules{}, w.clock)
	tools = append(tools, Sessions(sessions, w.handoffs, cursors)...)
	tools = append(tools, Mail(workspace.NewMails(storage.Mails{}, events, w.clock, "https://osfoundry.example"))...)
	w.gate, err = NewCatalogue(Config{
		Work: db, Source: db, Audit: storage.Audit{}, Reads: w.reads, Replays: storage.Replays{},
		Limits: NewLimiter(limits, w.clock), Now: w.clock, Log: quiet,
	}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	w.seed()
	return w
}

func (w *world) exec(query string, args ...any) {
	w.Helper()
	storagetest.Exec(w, w.raw, query, args...)
}

func (w *world) seed() {
	for _, id := range []string{"mara", "ben"} {
		w.exec(`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $2, $3, '', 0, 1)`, id, id+"@atlas.example", "Name of "+id)
	}
	for _, id := range []string{"atlas", "globex"} {
		w.exec(`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, 1)`, id, "Name of "+id)
	}
	for _, m := range [][]any{{"atlas", "mara", "owner"}, {"atlas", "ben", "editor"}, {"globex", "mara", "owner"}} {
		w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ($1, $2, $3, 1)`, m...)
	}
	for _, p := range [][]any{{"alpha", "atlas", 0}, {"beta", "atlas", 0}, {"secret", "atlas", 1}, {"gamma", "globex", 0}} {
		w.exec(`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at)
			VALUES ($1, $2, $1, $3, 'mara', 1, 0, 1, 1)`, p...)
	}
	for _, c := range []string{"claude", "codex"} {
		w.exec(`INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes, consent_address, family_revoked_at, family_reason, created_at, last_used_at)
			VALUES ($1, 'atlas', 'ben', 'client', $2, $1, '', '', 'active', 'osfoundry:read', '', 0, '', 1, 0)`, c, "Name of "+c)
		for suffix, scopes := range map[string]string{"-read": "osfoundry:read", "-write": "osfoundry:read osfoundry:write"} {
			w.exec(`INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at)
				VALUES ($1, $2, $3, '', 1, $4, 0)`, c+suffix, c, scopes, w.now.Add(time.Hour).UnixMilli())
		}
		w.grant(c, "alpha")
	}
	w.note("n1", "alpha", "First note", "Plan|The launch is in March.", "Log|Nothing yet.")
	w.note("foreign", "gamma", "Foreign note", "|launch")
}

func (w *world) grant(connection, project string) {
	w.Helper()
	w.exec(`INSERT INTO connection_projects (connection_id, project_id, added_by, created_at) VALUES ($1, $2, 'mara', 1)`, connection, project)
}

// note writes a note with tabs "title|text".
func (w *world) note(id, project, title string, tabs ...string) {
	w.Helper()
	w.exec(`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
		SELECT $1, workspace_id, id, $3, 1, 0, 0, 0, 1, 'mara', $4, 'mara', '' FROM projects WHERE id = $2`, id, project, title, w.now.UnixMilli())
	for i, tab := range tabs {
		var tabTitle, text string
		for j, c := range tab {
			if c == '|' {
				tabTitle, text = tab[:j], tab[j+1:]
				break
			}
		}
		w.exec(`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via)
			VALUES ($1, $2, $3, $4, 1, $5, $6, 1, 'mara', '')`, fmt.Sprintf("%s.%d", id, i), id, tabTitle, i, len([]rune(text)), text)
	}
	var workspaceID string
	if err := w.raw.QueryRow(`SELECT workspace_id FROM notes WHERE id = $1`, id).Scan(&workspaceID); err != nil {
		w.Fatal(err)
	}
	err := w.db.Write(context.Background(), func(tx access.Tx) error {
		return storage.Search{}.IndexNote(context.Background(), tx, workspaceID, id)
	})
	if err != nil {
		w.Fatal(err)
	}
}

// call calls a tool with arguments given as JSON.
func (w *world) call(token, tool, arguments string) ([]byte, error) {
	return w.gate.Call(context.Background(), Call{Token: access.TokenHash(token), Name: tool, Arguments: []byte(arguments)})
}

// ask calls a tool that must answer, and decodes the answer.
func ask[R any](w *world, token, tool, arguments string) (r R) {
	w.Helper()
	answer, err := w.call(token, tool, arguments)
	if err != nil {
		w.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		w.Fatalf("%s %s answered %s: %v", tool, arguments, answer, err)
	}
	return r
}

// refused calls a tool that must be refused with the code.
func (w *world) refused(want access.Code, token, tool, arguments string) error {
	w.Helper()
	answer, err := w.call(token, tool, arguments)
	if got := access.CodeOf(err); got != want {
		w.Errorf("%s %s by %s: got %q (%v, answer %s), want %q", tool, arguments, token, got, err, answer, want)
	}
	return err
}

func (w *world) count(query string, args ...any) (n int) {
	w.Helper()
	if err := w.raw.QueryRow(query, args...).Scan(&n); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return n
}

// effects is how often the marking tools took effect.
func (w *world) effects() int {
	w.Helper()
	return w.count(`SELECT COUNT(*) FROM events WHERE type = 'note.marked'`)
}

// audited lists the newest n entries of the audit as "tool kind id project code".
func (w *world) audited(n int) (entries []string) {
	w.Helper()
	rows, err := w.raw.Query(`SELECT tool, kind, resource_id, project_id, decision, code FROM audit ORDER BY id DESC LIMIT $1`, n)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var tool, kind, id, project, decision, code string
		if err := rows.Scan(&tool, &kind, &id, &project, &decision, &code); err != nil {
			w.Fatal(err)
		}
		entries = append(entries, fmt.Sprintf("%s %s %s %s %s %s", tool, kind, id, project, decision, code))
	}
	return entries
}

type markArguments struct {
	NoteID          string `json:"note_id"`
	Count           int64  `json:"count,omitzero" arg:"min=0"`
	Text            string `json:"text,omitzero" arg:"len=..10"`
	ExpectedVersion int64  `json:"expected_version,omitzero" arg:"min=1"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64"`
}

type moveArguments struct {
	NoteID         string `json:"note_id"`
	ProjectID      string `json:"project_id"`
	IdempotencyKey string `json:"idempotency_key" arg:"len=8..64"`
}

type seeArguments struct {
	NoteID string `json:"note_id"`
}

type marked struct {
	NoteID   string `json:"note_id"`
	EventID  string `json:"event_id"`
	Text     string `json:"text"`
	Replayed bool   `json:"replayed,omitzero"`
}

// marks are tools whose effect is an event, for tests of what the gate does with
// effects.
func marks() []*Tool {
	writing := access.Permission{Scopes: access.ScopeWrite, Right: access.RightEdit}
	hints := Hints{Idempotent: true}
	onNote := func(a markArguments) []access.Ref { return []access.Ref{{Kind: access.KindNote, ID: a.NoteID}} }
	return []*Tool{
		define(Tool{Name: "mark", Needs: writing, Hints: hints}, onNote, mark),
		define(Tool{Name: "other_mark", Needs: writing, Hints: hints}, onNote, mark),
		define(Tool{Name: "mark_and_panic", Needs: writing, Hints: hints}, onNote, func(ctx context.Context, c *Run, a markArguments) (marked, error) {
			m, err := mark(ctx, c, a)
			if err == nil {
				panic("the tool is broken")
			}
			return m, err
		}),
		define(Tool{Name: "mark_and_fail", Needs: writing, Hints: hints}, onNote, func(ctx context.Context, c *Run, a markArguments) (marked, error) {
			_, err := mark(ctx, c, a)
			if err == nil {
				err = fmt.Errorf("SELECT secret FROM somewhere")
			}
			return marked{}, err
		}),
		define(Tool{Name: "move_mark", Needs: writing, Hints: hints}, func(a moveArguments) []access.Ref {
			return []access.Ref{{Kind: access.KindNote, ID: a.NoteID}, {Kind: access.KindProject, ID: a.ProjectID}}
		}, func(ctx context.Context, c *Run, a moveArguments) (marked, error) {
			return mark(ctx, c, markArguments{NoteID: a.NoteID})
		}),
		define(Tool{Name: "see", Needs: reading, Hints: Hints{ReadOnly: true}}, func(a seeArguments) []access.Ref {
			return []access.Ref{{Kind: access.KindNote, ID: a.NoteID}}
		}, func(_ context.Context, c *Run, _ seeArguments) (marked, error) {
			return marked{NoteID: c.Permit().ID()}, c.Permit().Covers(access.KindNote, access.RightView)
		}),
	}
}

func mark(ctx context.Context, c *Run, a markArguments) (marked, error) {
	p := c.Permit()
	if err := p.Covers(access.KindNote, access.RightEdit); err != nil {
		return marked{}, err
	}
	if a.ExpectedVersion > 1 {
		return marked{}, access.Refuse(access.VersionConflict, "The note changed.").With("current_version", 1)
	}
	e := workspace.Event{
		ID: workspace.NewID(), WorkspaceID: p.Workspace(), ProjectID: p.Project(), Type: "note.marked", Kind: p.Kind(), ResourceID: p.ID(),
		UserID: p.Principal().UserID, ConnectionID: p.Principal().ConnectionID, Version: 1, CreatedAt: time.UnixMilli(1),
	}
	return marked{NoteID: p.ID(), EventID: e.ID, Text: a.Text}, storage.Events{}.AppendEvent(ctx, c.Tx, e)
}
