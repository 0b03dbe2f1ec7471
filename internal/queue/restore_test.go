package queue_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/osfoundry/osfoundry/internal/queue"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// openTasks are five tasks in a session, two of which are open.
var openTasks = []string{
	`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ('mara', 'mara@example.org', 'Mara', '', 0, 1)`,
	`INSERT INTO workspaces (id, name, created_at) VALUES ('atlas', 'Atlas', 1)`,
	`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at) VALUES ('alpha', 'atlas', 'Alpha', 0, 'mara', 1, 0, 1, 1)`,
	`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
		VALUES ('build', 'atlas', 'alpha', 'agent', 'Build', 'mara', 1, '[]', '{}', 5, 0, 0, 0, 0, 0, 0, 1, 'mara', 1, 'mara')`,
	task("queued", 0), task("running", 2), task("waiting", 1), task("succeeded", 5), task("stopped", 1),
}

func task(state string, rounds int) string {
	return `INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason, rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
		VALUES ('` + state + `', 'atlas', 'build', NULL, '', 'mara', 'Build it', 5, '[]', '{}', 'agent', '` + state + `', '', ` + string(rune('0'+rounds)) + `, 0, 0, 0, '', '', 0, 1, 0, 0, '')`
}

// Jobs are no part of a backup. Those of open tasks are made anew, whichever database
// the backup came from and goes to, and whatever ran when it was made.
func TestARestoredServerGoesOnWithItsTasks(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, source storage.Options) {
		w := open(t, source)
		for _, statement := range openTasks {
			storagetest.Exec(t, w.raw, statement)
		}
		has := make(chan queue.Job, 10)
		begin(t, config(t, w.db), do{work: func(ctx context.Context, job queue.Job) error {
			has <- job
			<-ctx.Done()
			return ctx.Err()
		}})
		for range 2 { // of open tasks without jobs
			await(t, has, "the run before the backup")
		}
		file := filepath.Join(t.TempDir(), "backup")
		if err := storage.Backup(t.Context(), source, file); err != nil {
			t.Fatalf("backup: %v", err)
		}
		for name, target := range map[string]storage.Options{
			"sqlite":   {Path: filepath.Join(t.TempDir(), "restored", "osfoundry.db")},
			"postgres": {DatabaseURL: storagetest.EmptyPostgresURL(t)},
		} {
			t.Run("to "+name, func(t *testing.T) {
				if err := storage.Restore(t.Context(), file, target); err != nil {
					t.Fatalf("restore: %v", err)
				}
				w := open(t, target)
				if got := jobs(t, w); len(got) > 0 {
					t.Errorf("the restored database has jobs already: %v", got)
				}
				var known int
				if err := w.raw.QueryRow(`SELECT COUNT(*) FROM nodes`).Scan(&known); err != nil || known > 0 {
					t.Errorf("got %d nodes, %v, want none", known, err)
				}
				begin(t, config(t, w.db), do{work: func(_ context.Context, job queue.Job) error {
					has <- job
					return completed(w.db, job)
				}})
				var got []queue.Round
				for range 2 {
					got = append(got, await(t, has, "the run after the restore").Round)
				}
				slices.SortFunc(got, func(a, b queue.Round) int { return int(a.Number - b.Number) })
				if want := []queue.Round{{TaskID: "queued", Number: 1}, {TaskID: "running", Number: 3}}; !slices.Equal(got, want) {
					t.Errorf("got rounds %v, want %v", got, want)
				}
			})
		}
	})
}
