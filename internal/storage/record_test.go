package storage_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

func write(t *testing.T, db *storage.DB, f func(tx access.Tx) error) {
	t.Helper()
	if err := db.Write(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func TestEventsComeBackAsTheyWereInOrder(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		var want []workspace.Event
		for i := range 5 {
			e := workspace.Event{
				ID: fmt.Sprintf("e%d", i), WorkspaceID: "atlas", ProjectID: "alpha", Type: "note.created", Kind: access.KindNote,
				ResourceID: "note", Version: int64(i), UserID: "mara", ConnectionID: "desk", CreatedAt: time.UnixMilli(int64(i + 1)).UTC(),
			}
			if i > 0 {
				e.Data = map[string]any{"title": "\"é\"", "n": float64(i)}
			}
			want = append(want, e)
		}
		write(t, db, func(tx access.Tx) error {
			for _, i := range []int{3, 0, 4, 1, 2} {
				if err := (storage.Events{}).AppendEvent(ctx, tx, want[i]); err != nil {
					return err
				}
			}
			return storage.Events{}.AppendEvent(ctx, tx, workspace.Event{ID: "e2b", WorkspaceID: "globex"})
		})
		for _, test := range []struct {
			workspace, after string
			limit            int
			want             []workspace.Event
			known            bool
		}{
			{"atlas", "", 10, want, true},
			{"atlas", "", 2, want[:2], true},
			{"atlas", "e1", 2, want[2:4], true},
			{"atlas", "e4", 10, nil, true},
			{"atlas", "e9", 10, nil, false},
			{"atlas", "e2b", 10, nil, false}, // of another workspace
			{"nowhere", "", 10, nil, true},
		} {
			err := db.Read(ctx, func(tx access.Tx) error {
				got, known, err := storage.Events{}.EventsAfter(ctx, tx, test.workspace, test.after, test.limit)
				if known != test.known || len(got) != len(test.want) || len(got) > 0 && !reflect.DeepEqual(got, test.want) {
					t.Errorf("events of %s after %q: got %v, %+v, want %v, %+v", test.workspace, test.after, known, got, test.known, test.want)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAuditIsListedNewestFirstAndNarrowed(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		entry := func(id, workspaceID, projectID, connection, tool string, code access.Code, at int64) workspace.Entry {
			return workspace.Entry{
				ID: id, WorkspaceID: workspaceID, ProjectID: projectID, UserID: "mara", ConnectionID: connection, Tool: tool, Kind: access.KindNote,
				ResourceID: "note", Code: code, Duration: 1500 * time.Microsecond, CreatedAt: time.UnixMilli(at).UTC(),
			}
		}
		entries := []workspace.Entry{
			entry("a1", "atlas", "alpha", "desk", "read_note", "", 10),
			entry("a2", "atlas", "alpha", "desk", "edit_note_tab", access.NotInProject, 20),
			entry("a3", "atlas", "beta", "other", "read_note", access.ACLDenied, 30),
			entry("a4", "globex", "gamma", "desk", "read_note", "", 40),
			entry("a5", "atlas", "", "", "member.add", "", 50),
		}
		entries[1].Detail = map[string]any{"note": "why"}
		write(t, db, func(tx access.Tx) error { return storage.Audit{}.AppendAudit(ctx, tx, entries...) })
		write(t, db, func(tx access.Tx) error { return storage.Audit{}.AppendAudit(ctx, tx, entries[0]) }) // once more

		for name, test := range map[string]struct {
			project string
			filter  workspace.AuditFilter
			page    workspace.Page
			want    string
		}{
			"all":                       {want: "a5 a3 a2 a1"},
			"a page":                    {page: workspace.Page{Limit: 2}, want: "a5 a3"},
			"the next page":             {page: workspace.Page{After: "a3", Limit: 2}, want: "a2 a1"},
			"a project":                 {project: "alpha", want: "a2 a1"},
			"a project elsewhere":       {project: "gamma"},
			"a connection":              {filter: workspace.AuditFilter{ConnectionID: "desk"}, want: "a2 a1"},
			"a tool":                    {filter: workspace.AuditFilter{Tool: "read_note"}, want: "a3 a1"},
			"allowed":                   {filter: workspace.AuditFilter{Decision: "allowed"}, want: "a5 a1"},
			"denied":                    {filter: workspace.AuditFilter{Decision: "denied"}, want: "a3 a2"},
			"since":                     {filter: workspace.AuditFilter{Since: time.UnixMilli(20)}, want: "a5 a3 a2"},
			"until":                     {filter: workspace.AuditFilter{Until: time.UnixMilli(30)}, want: "a2 a1"},
			"a connection in a project": {project: "beta", filter: workspace.AuditFilter{ConnectionID: "desk"}},
			"SQL in a filter":           {filter: workspace.AuditFilter{Tool: "' OR 1 = 1 --"}},
		} {
			if test.page.Limit == 0 {
				test.page.Limit = 10
			}
			err := db.Read(ctx, func(tx access.Tx) (err error) {
				var got []workspace.Entry
				if test.project == "" {
					got, err = storage.Audit{}.WorkspaceAudit(ctx, tx, "atlas", test.filter, test.page)
				} else {
					got, err = storage.Audit{}.ProjectAudit(ctx, tx, "atlas", test.project, test.filter, test.page)
				}
				var ids []string
				for _, e := range got {
					ids = append(ids, e.ID)
					for _, written := range entries {
						if written.ID == e.ID && !reflect.DeepEqual(e, written) {
							t.Errorf("got entry %+v, want %+v", e, written)
						}
					}
				}
				if strings.Join(ids, " ") != test.want {
					t.Errorf("%s: got %v, want %s", name, ids, test.want)
				}
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestAReplayIsKeptOnceWithItsEffect(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx, now := t.Context(), time.UnixMilli(1)
		first := workspace.Replay{Digest: "d1", Result: `{"a":1}`}
		keep := func(key string, r workspace.Replay, end error) error {
			return db.Write(ctx, func(tx access.Tx) error {
				if err := (storage.Replays{}).KeepReplay(ctx, tx, "desk", "create_note", key, r, now); err != nil {
					return err
				}
				return end
			})
		}
		find := func(scope, operation, key string) (r workspace.Replay, ok bool) {
			err := db.ReadOne(ctx, func(tx access.Tx) (err error) {
				r, ok, err = storage.Replays{}.Replay(ctx, tx, scope, operation, key)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			return r, ok
		}
		if err := keep("rolled back", first, fmt.Errorf("no")); err == nil {
			t.Error("the rollback was not reported")
		}
		if err := keep("key", first, nil); err != nil {
			t.Fatal(err)
		}
		if err := keep("key", workspace.Replay{Digest: "d2", Result: `{}`}, nil); access.CodeOf(err) != access.InProgress {
			t.Errorf("a taken key: got error %v, want %s", err, access.InProgress)
		}
		if got, ok := find("desk", "create_note", "key"); !ok || got != first {
			t.Errorf("got %+v, %v, want %+v", got, ok, first)
		}
		for _, other := range [][3]string{{"desk", "create_note", "rolled back"}, {"other", "create_note", "key"}, {"desk", "move_note", "key"}, {"desk", "create_note", "KEY"}} {
			if got, ok := find(other[0], other[1], other[2]); ok {
				t.Errorf("%v: found %+v", other, got)
			}
		}
	})
}

func TestSettings(t *testing.T) {
	storagetest.Each(t, func(t *testing.T, db *storage.DB) {
		ctx := t.Context()
		var s storage.Settings
		write(t, db, func(tx access.Tx) error {
			if _, ok, err := s.Setting(ctx, tx, "key"); ok || err != nil {
				t.Errorf("no setting: got %v, %v", ok, err)
			}
			for _, value := range []string{"first", "second"} {
				if got, err := s.KeepSetting(ctx, tx, "key", value); got != "first" || err != nil {
					t.Errorf("keep %s: got %q, %v, want first", value, got, err)
				}
			}
			if err := s.PutSetting(ctx, tx, "key", "third"); err != nil {
				return err
			}
			if got, ok, err := s.Setting(ctx, tx, "key"); got != "third" || !ok || err != nil {
				t.Errorf("after put: got %q, %v, %v", got, ok, err)
			}
			for _, want := range []bool{true, false} {
				if ok, err := s.TakeSetting(ctx, tx, "key"); ok != want || err != nil {
					t.Errorf("take: got %v, %v, want %v", ok, err, want)
				}
			}
			return nil
		})
	})
}
