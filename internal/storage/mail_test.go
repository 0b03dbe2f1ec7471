package storage_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

func (w workplace) mail(m ...workspace.Mail) {
	w.Helper()
	w.write(func(ctx context.Context, tx access.Tx) error {
		for _, m := range m {
			if m.WorkspaceID == "" {
				m.WorkspaceID, m.SessionID = "atlas", "room"
			}
			if m.CreatedAt.IsZero() {
				m.CreatedAt = time.UnixMilli(1000)
			}
			if err := (storage.Mails{}).AddMail(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
}

// A task that a connection is behind must not carry to it what others wrote.
func TestAgentsAreShownMailOfTheirTaskAndForThoseBehindIt(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.mail(
			workspace.Mail{ID: "m01", FromKind: workspace.FromAgent, FromID: "aide", TaskID: "t1", ToAgent: "lead", Internal: true},
			workspace.Mail{ID: "m02", FromKind: workspace.FromAgent, FromID: "aide", TaskID: "t1"},
			workspace.Mail{ID: "m03", FromKind: workspace.FromAgent, FromID: "lead", TaskID: "t1", ToAgent: "aide"}, // its own
			workspace.Mail{ID: "m04", FromKind: workspace.FromAgent, FromID: "aide", TaskID: "t1", ToAgent: "cook"},
			workspace.Mail{ID: "m05", FromKind: workspace.FromAgent, FromID: "aide", TaskID: "t2", ToAgent: "lead"}, // of another task
			workspace.Mail{ID: "m06", FromKind: workspace.FromPerson, FromID: "ben", ToAgent: "lead"},
			workspace.Mail{ID: "m07", FromKind: workspace.FromPerson, FromID: "claude"}, // a person with the ID of a connection
			workspace.Mail{ID: "m08", FromKind: workspace.FromConnection, FromID: "claude"},
			workspace.Mail{ID: "m09", FromKind: workspace.FromConnection, FromID: "codex", ToAgent: "lead"},
			workspace.Mail{ID: "m10", FromKind: workspace.FromConnection, FromID: "claude", ToAgent: "aide"},
			workspace.Mail{ID: "m11", FromKind: workspace.FromAgent, FromID: "lead", TaskID: "t2", ToConnection: "claude"},
			workspace.Mail{ID: "m12", FromKind: workspace.FromAgent, FromID: "lead", TaskID: "t1", ToConnection: "codex"},
			workspace.Mail{ID: "m13", FromKind: workspace.FromConnection, FromID: "claude", CreatedAt: time.UnixMilli(2001)},
			workspace.Mail{ID: "m14", WorkspaceID: "atlas", SessionID: "other", FromKind: workspace.FromConnection, FromID: "claude"},
		)
		for behind, want := range map[string][]string{
			"":       {"m01", "m02", "m06", "m07", "m08", "m09", "m11", "m12"},
			"claude": {"m01", "m02", "m08", "m11"},
			"codex":  {"m01", "m02", "m09", "m12"},
		} {
			task := newTask("t1")
			task.ConnectionID = behind
			for _, limit := range []int{99, 2} {
				w.read(func(ctx context.Context, tx access.Tx) error {
					got, err := storage.Mails{}.AgentMail(ctx, tx, task, "lead", time.UnixMilli(2000), limit)
					var ids []string
					for _, m := range got {
						ids = append(ids, m.ID)
					}
					if want := want[max(0, len(want)-limit):]; !slices.Equal(ids, want) {
						w.Errorf("at most %d, with %q behind the task: got %q, want %q", limit, behind, ids, want)
					}
					return err
				})
			}
		}
	})
}

func TestMailNamesWhoWroteItAndWhomItIsFor(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.mail(
			workspace.Mail{ID: "m1", FromKind: workspace.FromConnection, FromID: "claude", Subject: "S", Body: "B", ReplyTo: "m0"},
			workspace.Mail{ID: "m2", FromKind: workspace.FromAgent, FromID: "lead", ToConnection: "claude", TaskID: "t"},
			workspace.Mail{ID: "m3", FromKind: workspace.FromPerson, FromID: "ben", ToAgent: "lead"},
		)
		w.read(func(ctx context.Context, tx access.Tx) error {
			got, err := storage.Mails{}.SessionMail(ctx, tx, "atlas", "room", workspace.Page{Limit: 9})
			at := time.UnixMilli(1000).UTC()
			want := []workspace.Mail{
				{ID: "m3", WorkspaceID: "atlas", SessionID: "room", FromKind: workspace.FromPerson, FromID: "ben", FromName: "ben", ToAgent: "lead", CreatedAt: at},
				{ID: "m2", WorkspaceID: "atlas", SessionID: "room", TaskID: "t", FromKind: workspace.FromAgent, FromID: "lead", FromName: "lead", FromSlug: "lead",
					ToConnection: "claude", ToName: "Name of claude", ToSlug: "claude-slug", CreatedAt: at},
				{ID: "m1", WorkspaceID: "atlas", SessionID: "room", FromKind: workspace.FromConnection, FromID: "claude", FromName: "Name of claude", FromSlug: "claude-slug",
					ReplyTo: "m0", Subject: "S", Body: "B", CreatedAt: at},
			}
			if !slices.Equal(got, want) {
				w.Errorf("got %+v, want %+v", got, want)
			}
			foreign, err2 := storage.Mails{}.SessionMail(ctx, tx, "globex", "room", workspace.Page{Limit: 9})
			nobody, err3 := storage.Mails{}.ConnectionMail(ctx, tx, "atlas", "room", "", workspace.Page{Limit: 9})
			if len(foreign) > 0 || len(nobody) > 0 || err2 != nil || err3 != nil {
				w.Errorf("another workspace reads %+v (%v), and nobody in particular %+v (%v)", foreign, err2, nobody, err3)
			}
			return err
		})
	})
}

func TestAgentsCanAnswerThoseWhoseSeatHasAnEffect(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		for name, c := range map[string]struct {
			change, back string
			want         string
		}{
			"seated":        {`SELECT 1`, `SELECT 1`, "claude"},
			"paused":        {`UPDATE connections SET status = 'paused' WHERE id = 'claude'`, `UPDATE connections SET status = 'active'`, ""},
			"family gone":   {`UPDATE connections SET family_revoked_at = 5 WHERE id = 'claude'`, `UPDATE connections SET family_revoked_at = 0`, ""},
			"project taken": {`UPDATE connection_projects SET project_id = 'beta' WHERE connection_id = 'claude'`, `UPDATE connection_projects SET project_id = 'alpha'`, ""},
			"seat taken":    {`UPDATE session_seats SET session_id = 'other' WHERE connection_id = 'claude'`, `UPDATE session_seats SET session_id = 'room'`, ""},
		} {
			w.exec(c.change)
			w.read(func(ctx context.Context, tx access.Tx) error {
				got, ok, err := storage.Mails{}.MailAddress(ctx, tx, "room", "claude-slug")
				if got != c.want || ok != (c.want != "") {
					w.Errorf("%s: got %q, %v; want %q", name, got, ok, c.want)
				}
				return err
			})
			w.exec(c.back)
		}
	})
}
