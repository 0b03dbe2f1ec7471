package storage_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// sessionFacts is what the scene says about the session, asked with the token.
func sessionFacts() access.Facts {
	f := connectionFacts()
	f.SessionID, f.SessionType, f.SessionOwner, f.Seat = "room", "team", true, access.SeatContributor
	f.Loaded = workspace.Session{
		ID: "room", WorkspaceID: "atlas", ProjectID: "alpha", Type: workspace.SessionTeam, Title: "Research", OwnerID: "mara", Version: 4,
		Agents: []workspace.Agent{{Slug: "lead", Instructions: "Lead.", Provider: "rehearsal", Tools: []string{"search"}}},
		Done:   workspace.Done{Phrase: "done"}, MaxRounds: 5, Budget: workspace.Budget{Rounds: 10, Tokens: 20, Minutes: 30}, HasACL: true,
		CreatedAt: time.UnixMilli(1000).UTC(), CreatedBy: "mara", UpdatedAt: time.UnixMilli(2000).UTC(), UpdatedBy: "mara",
	}
	return f
}

func changedSession(f *access.Facts, change func(*workspace.Session)) {
	s := f.Loaded.(workspace.Session)
	change(&s)
	f.Loaded = s
}

// notThere are the facts of a session, handoff or task that is not there.
func notThere(f *access.Facts) {
	aloof(f)
	f.SessionID, f.SessionType, f.SessionOwner, f.Seat, f.MadeBy = "", "", false, access.SeatNone, ""
}

// Each condition that lies in a session is flipped alone, for the session itself,
// a handoff and a task.
func TestFactsOfSessionsShowEachCondition(t *testing.T) {
	made := map[access.Kind]string{access.KindSession: "", access.KindHandoff: "desk", access.KindTask: "desk"}
	refs := []access.Ref{{Kind: access.KindSession, ID: "room"}, {Kind: access.KindHandoff, ID: "offer"}, {Kind: access.KindTask, ID: "work"}}
	tests := []struct {
		name string
		flip string
		want func(f *access.Facts)
	}{
		{"as it is", "", func(*access.Facts) {}},
		{"no seat", `DELETE FROM session_seats`, func(f *access.Facts) { f.Seat = access.SeatNone }},
		{"a seat that is none", `UPDATE session_seats SET seat = 'king'`, func(f *access.Facts) { f.Seat = access.SeatNone }},
		{"another seat", `UPDATE session_seats SET seat = 'runner'`, func(f *access.Facts) { f.Seat = access.SeatRunner }},
		{"a seat in another session", `UPDATE session_seats SET session_id = 'theirs'`, func(f *access.Facts) { f.Seat = access.SeatNone }},
		{"local-only", `UPDATE sessions SET local_only = 1`, func(f *access.Facts) {
			f.LocalOnly = true
			changedSession(f, func(s *workspace.Session) { s.LocalOnly = true })
		}},
		{"no list", `UPDATE sessions SET has_acl = 0`, func(f *access.Facts) {
			f.HasACL = false
			changedSession(f, func(s *workspace.Session) { s.HasACL = false })
		}},
		{"a list with view", `UPDATE resource_acl SET access = 'view' WHERE resource_id = 'room'`, func(f *access.Facts) { f.ACLRight = access.RightView }},
		{"a list without the approver", `DELETE FROM resource_acl WHERE resource_id = 'room'`, func(f *access.Facts) { f.ACLRight = access.RightNone }},
		{"of somebody else", `UPDATE sessions SET owner_id = 'ben'`, func(f *access.Facts) {
			f.SessionOwner = false
			changedSession(f, func(s *workspace.Session) { s.OwnerID = "ben" })
		}},
		{"archived", `UPDATE sessions SET archived_at = 3000`, func(f *access.Facts) {
			changedSession(f, func(s *workspace.Session) { s.ArchivedAt = time.UnixMilli(3000).UTC() })
		}},
		{"moved to a project not granted", `UPDATE sessions SET project_id = 'beta' WHERE id = 'room'`, func(f *access.Facts) {
			f.ProjectID, f.ProjectPrivate, f.ProjectMember, f.ProjectGranted = "beta", false, false, false
			changedSession(f, func(s *workspace.Session) { s.ProjectID = "beta" })
		}},
		{"project not granted", `DELETE FROM connection_projects`, func(f *access.Facts) { f.ProjectGranted = false }},
		{"texts that look like our marks", `UPDATE sessions SET title = '9:|ü|' WHERE id = 'room'`, func(f *access.Facts) {
			changedSession(f, func(s *workspace.Session) { s.Title = "9:|ü|" })
		}},
		{"agents that cannot be read", `UPDATE sessions SET agents = '{'`, nil},
	}
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, raw := openScene(t, o)
		for _, test := range tests {
			for _, ref := range refs {
				flipped(t, raw, test.flip, func() {
					got, err := ask(t, db, "token", ref)
					if test.want == nil {
						if err == nil {
							t.Errorf("%s, %s: got %+v, want an error", test.name, ref.Kind, got)
						}
						return
					}
					want := sessionFacts()
					test.want(&want)
					want.MadeBy = made[ref.Kind]
					if err != nil || !reflect.DeepEqual(got, want) {
						t.Errorf("%s, %s:\ngot  %+v, %v\nwant %+v", test.name, ref.Kind, got, err, want)
					}
				})
			}
		}
		for _, ref := range []access.Ref{
			{Kind: access.KindSession, ID: "theirs"}, {Kind: access.KindSession, ID: "note"}, {Kind: access.KindHandoff, ID: "room"}, {Kind: access.KindTask, ID: "offer"},
			{Kind: access.KindTask, ID: ""},
		} {
			want := sessionFacts()
			notThere(&want)
			if got, err := ask(t, db, "token", ref); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%v:\ngot  %+v, %v\nwant %+v", ref, got, err, want)
			}
		}
	})
}

// The outline is the note's facts with the tabs in their order, whoever wrote them.
func TestTheOutlineComesAlongWithTheCheck(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, _ := openScene(t, o)
		got, err := ask(t, db, "token", access.Ref{Kind: access.KindNote, ID: "note", Along: access.AlongOutline})
		want := connectionFacts()
		mara, desk := workspace.Author{UserID: "mara", UserName: "Mara"}, workspace.Author{UserID: "mara", UserName: "Mara", ConnectionID: "desk", ConnectionName: "Desk"}
		want.Loaded = workspace.NoteOutline{Note: sceneNote(), Author: desk, Tabs: []workspace.NoteTab{
			{ID: "first", Title: "One", Version: 5, Chars: 6, UpdatedAt: time.UnixMilli(2000).UTC(), UpdatedBy: desk},
			{ID: "second", Title: "Zwei|2:", Version: 3, Chars: 4, UpdatedAt: time.UnixMilli(1500).UTC(), UpdatedBy: mara},
		}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
		for _, token := range []access.TokenHash{"other"} {
			if got, err := ask(t, db, token, access.Ref{Kind: access.KindNote, ID: "note", Along: access.AlongOutline}); err != nil || got.TokenKnown || got.Loaded != nil {
				t.Errorf("an unknown token: got %+v, %v, want nothing", got, err)
			}
		}
	})
}

// ask reads the facts in a unit of work for one statement.
func ask(t *testing.T, db *storage.DB, token access.TokenHash, ref access.Ref) (f access.Facts, err error) {
	t.Helper()
	err = db.ReadOne(t.Context(), func(tx access.Tx) error {
		f, err = db.ConnectionFacts(t.Context(), tx, token, ref)
		return err
	})
	if err != nil {
		return access.Facts{}, fmt.Errorf("%v: %w", ref, err)
	}
	return f, nil
}
