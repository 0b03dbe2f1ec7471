package storage_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// voided are the tables of what lets somebody in, and of who ran what.
var voided = []string{"access_tokens", "refresh_tokens", "authorization_codes", "authorize_requests", "browser_sessions", "personal_tokens", "invitations", "nodes"}

// keys is one row in each of the tables of what lets somebody in.
var keys = []string{
	`INSERT INTO refresh_tokens (token_hash, connection_id, client_id, generation, scopes, resource, created_at, expires_at, family_ends, used_at, answer, retries, address)
		VALUES ('r', 'desk', 'client', 1, '', '', 1, 9000, 9000, 0, '', 0, '')`,
	`INSERT INTO authorization_codes (token_hash, connection_id, client_id, redirect_uri, code_challenge, scopes, resource, created_at, expires_at, used_at) VALUES ('c', 'desk', 'client', '', '', '', '', 1, 9000, 0)`,
	`INSERT INTO authorize_requests (id, browser_hash, client_id, redirect_uri, scopes, state, has_state, code_challenge, resource, created_at, expires_at, decided_at) VALUES ('q', '', 'client', '', '', '', 0, '', '', 1, 9000, 0)`,
	`INSERT INTO browser_sessions (id, token_hash, user_id, created_at, last_seen_at, expires_at, user_agent) VALUES ('b', 'b', 'mara', 1, 1, 9000, '')`,
	`INSERT INTO personal_tokens (id, token_hash, user_id, name, created_at, last_used_at, revoked_at) VALUES ('p', 'p', 'mara', '', 1, 0, 0)`,
	`INSERT INTO invitations (token_hash, workspace_id, user_id, created_at, expires_at, used_at) VALUES ('i', 'atlas', 'ben', 1, 9000, 0)`,
	`INSERT INTO nodes (id, started_at, seen_at) VALUES ('node', 1, 1)`,
	`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via) VALUES ('tab', 'note', 'Tab', 0, 1, 9, 'zeppelin é🎈', 1, 'mara', '')`,
}

// dump is all rows of the tables that both databases have, in order.
func dump(t *testing.T, raw *sql.DB, o storage.Options) []string {
	t.Helper()
	query := `SELECT name FROM sqlite_schema WHERE type = 'table'`
	if o.DatabaseURL != "" {
		query = `SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
	}
	var all []string
	for _, name := range scan(t, raw, query) {
		if strings.HasPrefix(name[0], "search") || strings.HasPrefix(name[0], "river") || strings.HasPrefix(name[0], "sqlite") || strings.HasPrefix(name[0], "goose") {
			continue
		}
		all = append(all, name[0])
		for _, row := range scan(t, raw, "SELECT * FROM "+name[0]) {
			all = append(all, fmt.Sprintf("%s %q", name[0], row))
		}
	}
	slices.Sort(all)
	return all
}

func scan(t *testing.T, raw *sql.DB, query string) (all [][]string) {
	t.Helper()
	rows, err := raw.Query(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, dests := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			dests[i] = &values[i]
		}
		if err := rows.Scan(dests...); err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(columns))
		for i, v := range values {
			if row[i] = v.String; !v.Valid {
				row[i] = "NULL"
			}
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// furnish fills a database with one row at least in every table of keys, and with
// notes that can be searched for, and returns what a restored copy must hold.
func furnish(t *testing.T, o storage.Options) (want []string) {
	t.Helper()
	db, raw := openScene(t, o)
	for _, statement := range keys {
		storagetest.Exec(t, raw, statement)
	}
	err := db.Write(t.Context(), func(tx access.Tx) error {
		return errors.Join(storage.Search{}.IndexNote(t.Context(), tx, "atlas", "note"), storage.Search{}.IndexNote(t.Context(), tx, "globex", "foreign"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(dump(t, raw, o), func(row string) bool {
		table, _, isRow := strings.Cut(row, " ")
		return isRow && slices.Contains(voided, table)
	})
}

func TestABackupRestoresIntoEitherDatabaseWithoutItsKeys(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, source storage.Options) {
		want := furnish(t, source)
		backup := filepath.Join(t.TempDir(), "backup")
		if err := storage.Backup(t.Context(), source, backup); err != nil {
			t.Fatal(err)
		}
		wantMode(t, backup, 0o600)
		wantFiles(t, filepath.Dir(backup), "backup")
		before, err := os.ReadFile(backup)
		if err != nil {
			t.Fatal(err)
		}
		eachEmpty(t, func(t *testing.T, target storage.Options) {
			if err := storage.Restore(t.Context(), backup, target); err != nil {
				t.Fatal(err)
			}
			db, err := storage.Open(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			raw := storagetest.Raw(t, target)
			if got := dump(t, raw, target); !slices.Equal(got, want) {
				t.Errorf("got rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if got := scan(t, raw, `SELECT COUNT(*) FROM search_documents`); got[0][0] != "5" {
				t.Errorf("got %s documents in the full-text index, want two notes and three tabs", got[0][0])
			}
			if err := storage.Restore(t.Context(), backup, target); err == nil {
				t.Error("a restore over data was not refused")
			}
		})
		if after, err := os.ReadFile(backup); err != nil || string(after) != string(before) {
			t.Errorf("the backup was changed by restoring it (%v)", err)
		}
		if err := storage.Backup(t.Context(), source, backup); !errors.Is(err, fs.ErrExist) {
			t.Errorf("backup over a backup: got error %v, want %v", err, fs.ErrExist)
		}
	})
}

func wantFiles(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got files %q, want %q", got, want)
	}
}

func TestARestoreOverDataIsRefused(t *testing.T) {
	source := storage.Options{Path: storagetest.SQLiteFile(t)}
	furnish(t, source)
	backup := filepath.Join(t.TempDir(), "backup")
	if err := storage.Backup(t.Context(), source, backup); err != nil {
		t.Fatal(err)
	}
	storagetest.EachOptions(t, func(t *testing.T, target storage.Options) {
		raw := storagetest.Raw(t, target)
		storagetest.Exec(t, raw, `INSERT INTO settings (name, value) VALUES ('a', '1')`)
		before := dump(t, raw, target)
		if err := storage.Restore(t.Context(), backup, target); !errors.Is(err, storage.ErrNotEmpty) {
			t.Errorf("got error %v, want %v", err, storage.ErrNotEmpty)
		}
		if after := dump(t, raw, target); !slices.Equal(after, before) {
			t.Errorf("the refused restore changed the data: %q", after)
		}
	})
}

func TestADamagedBackupIsRefusedAndLeavesNothing(t *testing.T) {
	source := storage.Options{Path: storagetest.SQLiteFile(t)}
	furnish(t, source)
	whole := filepath.Join(t.TempDir(), "backup")
	if err := storage.Backup(t.Context(), source, whole); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	onCopy := func(statements ...string) func(t *testing.T, name string) {
		return func(t *testing.T, name string) {
			raw := storagetest.Raw(t, storage.Options{Path: name})
			for _, s := range statements {
				storagetest.Exec(t, raw, s)
			}
			raw.Close()
		}
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, name string)
		want   error
	}{
		{"cut off", func(t *testing.T, name string) {
			if err := os.Truncate(name, int64(len(content)/2)); err != nil {
				t.Fatal(err)
			}
		}, storage.ErrDamaged},
		{"empty", func(t *testing.T, name string) {
			if err := os.Truncate(name, 0); err != nil {
				t.Fatal(err)
			}
		}, storage.ErrDamaged},
		{"a character of a text", func(t *testing.T, name string) {
			if err := os.WriteFile(name, []byte(strings.Replace(string(content), "zeppelin", "zeppelim", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
		}, storage.ErrDamaged},
		{"a row too few", onCopy(`DELETE FROM resource_acl`), storage.ErrDamaged},
		{"a row that refers to nothing", onCopy(`PRAGMA foreign_keys = 0`, `UPDATE notes SET project_id = 'none' WHERE id = 'note'`), storage.ErrDamaged},
		{"a trigger", onCopy(`CREATE TRIGGER t AFTER DELETE ON access_tokens BEGIN UPDATE users SET name = 'x'; END`), storage.ErrDamaged},
		{"no manifest", onCopy(`DROP TABLE backup_manifest`), storage.ErrDamaged},
		{"a newer schema", onCopy(`UPDATE backup_manifest SET version = 9000`), storage.ErrNewer},
		{"a newer form", onCopy(`UPDATE backup_manifest SET form = 9000`), storage.ErrNewer},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			damaged := filepath.Join(t.TempDir(), "damaged")
			if err := os.WriteFile(damaged, content, 0o600); err != nil {
				t.Fatal(err)
			}
			test.damage(t, damaged)
			dir := t.TempDir()
			err := storage.Restore(t.Context(), damaged, storage.Options{Path: filepath.Join(dir, "osfoundry.db")})
			if !errors.Is(err, test.want) {
				t.Errorf("got error %v, want %v", err, test.want)
			}
			wantFiles(t, dir, "osfoundry.db", "osfoundry.db.lock")
			if info, err := os.Stat(filepath.Join(dir, "osfoundry.db")); err != nil || info.Size() != 0 {
				t.Errorf("the refused restore left %v, %v", info, err)
			}
		})
	}
}

// A restore that fails while it loads leaves no row.
func TestAFailedLoadLeavesPostgresEmpty(t *testing.T) {
	source := storage.Options{Path: storagetest.SQLiteFile(t)}
	furnish(t, source)
	storagetest.Exec(t, storagetest.Raw(t, source), `UPDATE settings SET value = 'x'`)
	storagetest.Exec(t, storagetest.Raw(t, source), `INSERT INTO settings (name, value) VALUES ('nul', CAST(x'610062' AS TEXT))`) // PostgreSQL takes no NUL
	backup := filepath.Join(t.TempDir(), "backup")
	if err := storage.Backup(t.Context(), source, backup); err != nil {
		t.Fatal(err)
	}
	target := storage.Options{DatabaseURL: storagetest.EmptyPostgresURL(t)}
	if err := storage.Restore(t.Context(), backup, target); err == nil {
		t.Fatal("PostgreSQL took a NUL; this test needs another fault")
	}
	for _, row := range dump(t, storagetest.Raw(t, target), target) {
		if strings.Contains(row, " ") {
			t.Errorf("the failed restore left %s", row)
		}
	}
}

// A backup is of one moment: rows of two tables that are always written together
// belong together in it, and it can be made while others write.
func TestABackupUnderLoadIsOfOneMoment(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, err := storage.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		stop := make(chan struct{})
		var group sync.WaitGroup
		writes := make([]int, 4)
		for w := range writes {
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					err := db.Write(t.Context(), func(tx access.Tx) error {
						value := fmt.Sprint(writes[w])
						kept := workspace.Replay{Result: value}
						return errors.Join(put(t.Context(), tx, fmt.Sprint(w), value),
							storage.Replays{}.KeepReplay(t.Context(), tx, fmt.Sprint(w), "", value, kept, time.UnixMilli(1)))
					})
					if err != nil {
						t.Error(err)
						return
					}
					writes[w]++
				}
			})
		}
		for round := range 3 {
			backup := filepath.Join(t.TempDir(), "backup")
			if err := storage.Backup(t.Context(), o, backup); err != nil {
				t.Fatal(err)
			}
			target := storage.Options{Path: filepath.Join(t.TempDir(), "osfoundry.db")}
			if err := storage.Restore(t.Context(), backup, target); err != nil {
				t.Fatal(err)
			}
			raw := storagetest.Raw(t, target)
			got := fmt.Sprint(scan(t, raw, `SELECT name, value FROM settings ORDER BY name`))
			want := fmt.Sprint(scan(t, raw, `SELECT scope, MAX(CAST(result AS INTEGER)) FROM idempotency_keys GROUP BY scope ORDER BY scope`))
			if got != want {
				t.Errorf("round %d: got last writes %s in one table, %s in the other", round, got, want)
			}
		}
		close(stop)
		group.Wait()
		for w, n := range writes {
			if n == 0 {
				t.Errorf("writer %d wrote nothing", w)
			}
		}
	})
}

func TestABackupNeedsADatabase(t *testing.T) {
	dir := t.TempDir()
	for name, o := range map[string]storage.Options{
		"no file":           {Path: filepath.Join(dir, "none.db")},
		"an empty database": {DatabaseURL: storagetest.EmptyPostgresURL(t)},
	} {
		if err := storage.Backup(t.Context(), o, filepath.Join(dir, "backup")); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
	wantFiles(t, dir)
}
