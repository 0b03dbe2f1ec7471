package tool

import (
	"context"
	"fmt"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// manyNotes is how many notes a benchmark's database holds, so that no index is
// small.
const manyNotes = 100_000

// BenchmarkCall measures the whole way through the gate in one process: arguments,
// check, work, answer and audit, on SQLite.
func BenchmarkCall(b *testing.B) {
	w := newWorld(b, storage.Options{Path: storagetest.SQLiteFile(b)}, noRates)
	w.fill(manyNotes)
	for _, c := range []struct{ tool, arguments string }{
		{"see", `{"note_id":"n1"}`},
		{"read_note", `{"note_id":"n1"}`},
		{"read_note_tab", `{"note_id":"n1","tab_id":"n1.0"}`},
		{"fetch", `{"id":"n1"}`},
		{"list_granted_resources", `{}`},
		{"list_project_resources", `{"project_id":"alpha","limit":10}`},
		{"search", `{"query":"launch march"}`},
	} {
		call := Call{Token: "claude-read", Name: c.tool, Arguments: []byte(c.arguments)}
		b.Run(c.tool, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.gate.Call(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("denied", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.gate.Call(context.Background(), Call{Token: "claude-read", Name: "see", Arguments: []byte(`{"note_id":"foreign"}`)}); access.CodeOf(err) != access.NotFound {
				b.Fatal(err)
			}
		}
	})
}

// fill writes n notes of one tab into beta.
func (w *world) fill(n int) {
	w.Helper()
	tx, err := w.raw.Begin()
	if err != nil {
		w.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	note, err := tx.Prepare(`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
		VALUES ($1, 'atlas', 'beta', $2, 1, 0, 0, 0, 1, 'mara', 1, 'mara', '')`)
	if err != nil {
		w.Fatal(err)
	}
	tab, err := tx.Prepare(`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via)
		VALUES ($1, $2, 'Tab', 0, 1, 23, 'The launch is in March.', 1, 'mara', '')`)
	if err != nil {
		w.Fatal(err)
	}
	for i := range n {
		id := fmt.Sprintf("filler-%07d", i)
		if _, err := note.Exec(id, fmt.Sprintf("Note number %d", i)); err != nil {
			w.Fatal(err)
		}
		if _, err := tab.Exec(id+".0", id); err != nil {
			w.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		w.Fatal(err)
	}
}
