package tool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

func handoffIn(session, kind, goal string, i int) string {
	return fmt.Sprintf(`{"session_type":%q,"session_id":%q,"goal":%q,"context_summary":"Two notes.","requested_output":"A page.","idempotency_key":"handoff-%06d"}`,
		kind, session, goal, i)
}

// propose makes a pending handoff of the connection in the room.
func (w *world) propose(token string, i int) string {
	w.Helper()
	return ask[proposed](w, token, "propose_session_handoff", handoffIn("room", "team", "Sum up", i)).HandoffID
}

func (w *world) cancel(token, handoff string) (string, error) {
	answer, err := w.call(token, "cancel_session_handoff", `{"handoff_id":"`+handoff+`"}`)
	return string(answer), err
}

// decide is mara's decision, in the browser, about a handoff of the room.
func (w *world) decide(db *storage.DB, handoff, decision string) (workspace.ShownHandoff, error) {
	var shown workspace.ShownHandoff
	ctx, ref := context.Background(), access.Ref{Kind: access.KindSession, ID: "room"}
	err := db.Write(ctx, func(tx access.Tx) error {
		if err := db.HoldPerson(ctx, tx, "mara", ref, access.RightEdit); err != nil {
			return err
		}
		facts, err := db.PersonFacts(ctx, tx, "mara", ref)
		if err != nil {
			return err
		}
		who := access.Principal{Credential: access.CredentialSession, UserID: "mara", UserName: "Name of mara", SignedInAt: w.clock()}
		permit, err := access.CheckPerson(facts, who, access.Permission{Right: access.RightEdit}, ref)
		if err != nil {
			return err
		}
		shown, err = w.handoffs.Decide(ctx, tx, permit, handoff, workspace.HandoffDecision{Decision: decision})
		return err
	})
	return shown, err
}

func (w *world) stateOf(handoff string) (state string) {
	w.Helper()
	if err := w.raw.QueryRow(`SELECT state FROM handoffs WHERE id = $1`, handoff).Scan(&state); err != nil {
		w.Fatal(err)
	}
	return state
}

func TestAProposalWaitsForTheSessionsOwner(t *testing.T) {
	eachCrew(t, func(w *world) {
		answer, err := w.call("claude-write", "propose_session_handoff", handoffIn("room", "team", "Sum up", 1))
		if err != nil {
			w.Fatal(err)
		}
		again, err := w.call("claude-write", "propose_session_handoff", handoffIn("room", "team", "Sum up", 1))
		if want := strings.TrimSuffix(string(answer), "}") + `,"replayed":true}`; err != nil || string(again) != want {
			w.Errorf("a repeat: got %s, %v; want %s", again, err, want)
		}
		var id string
		if err := w.raw.QueryRow(`SELECT id FROM handoffs`).Scan(&id); err != nil {
			w.Fatal(err)
		}
		if want := `{"handoff_id":"` + id + `","status":"pending"}`; string(answer) != want {
			w.Errorf("got %s, want %s", answer, want)
		}
		for query, want := range map[string]int{
			`SELECT COUNT(*) FROM handoffs WHERE state = 'pending' AND session_id = 'room' AND connection_id = 'claude' AND max_rounds = 3 AND expires_at = 0`: 1,
			`SELECT COUNT(*) FROM tasks`: 0,
			`SELECT COUNT(*) FROM notices WHERE user_id = 'mara' AND type = 'handoff.proposed' AND read_at = 0 AND data LIKE '%` + id + `%' AND data LIKE '%Name of claude%'`: 1,
			`SELECT COUNT(*) FROM notices`: 1,
			`SELECT COUNT(*) FROM events WHERE type = 'handoff.proposed' AND kind = 'session' AND resource_id = 'room' AND project_id = 'alpha' AND connection_id = 'claude' AND data LIKE '%` + id + `%'`: 1,
			`SELECT COUNT(*) FROM events WHERE data LIKE '%Sum up%' OR data LIKE '%notes%'`:                                                                                                                0,
		} {
			if n := w.count(query); n != want {
				w.Errorf("%s: got %d, want %d", query, n, want)
			}
		}
		if len(w.queued) != 0 {
			w.Errorf("the queue got %q, want nothing", w.queued)
		}
	})
}

func TestAProposalNeedsItsScopeItsSeatAndASessionInUse(t *testing.T) {
	eachCrew(t, func(w *world) {
		with := func(old, new string) string {
			return strings.Replace(handoffIn("room", "team", "Sum up", 1), old, new, 1)
		}
		for name, c := range map[string]struct {
			token, arguments string
			want             access.Code
		}{
			"no scope":       {"claude-read", with("", ""), access.InsufficientScope},
			"observer":       {"codex-write", with("", ""), access.SeatRequired},
			"other type":     {"claude-write", with("team", "agent"), access.NotFound},
			"not in project": {"claude-write", with(`"room"`, `"hidden"`), access.NotInProject},
			"unknown":        {"claude-write", with(`"room"`, `"never"`), access.NotFound},
			"room":           {"claude-write", with("team", "room"), access.InvalidArguments},
			"model":          {"claude-write", with(`{`, `{"model":"big",`), access.InvalidArguments},
			"tools":          {"claude-write", with(`{`, `{"tools":[],`), access.InvalidArguments},
			"no key":         {"claude-write", with(`,"idempotency_key":"handoff-000001"`, ``), access.InvalidArguments},
			"short key":      {"claude-write", with(`handoff-000001`, `handoff`), access.InvalidArguments},
			"no context":     {"claude-write", with(`"context_summary":"Two notes.",`, ``), access.InvalidArguments},
			"blank goal":     {"claude-write", with("Sum up", " \u00a0 "), access.InvalidArguments},
			"empty goal":     {"claude-write", with("Sum up", ""), access.InvalidArguments},
			"NUL":            {"claude-write", with("Two notes.", `\u0000`), access.InvalidArguments},
			"long goal":      {"claude-write", with("Sum up", strings.Repeat("ß", 5001)), access.InvalidArguments},
			"long context":   {"claude-write", with("Two notes.", strings.Repeat("ß", 5001)), access.InvalidArguments},
			"long output":    {"claude-write", with("A page.", strings.Repeat("ß", 1001)), access.InvalidArguments},
			"no rounds":      {"claude-write", with(`{`, `{"max_rounds":0,`), access.InvalidArguments},
			"many rounds":    {"claude-write", with(`{`, `{"max_rounds":11,`), access.InvalidArguments},
		} {
			t.Logf("%s", name)
			w.refused(c.want, c.token, "propose_session_handoff", c.arguments)
		}
		w.exec(`UPDATE sessions SET archived_at = 5 WHERE id = 'room'`)
		err := w.refused(access.HumanRequired, "claude-write", "propose_session_handoff", with("", ""))
		if e, _ := errors.AsType[*access.Error](err); e == nil || e.Details["url"] != "https://osfoundry.example/sessions/room" {
			w.Errorf("archived: got %+v, want the address of the session", e)
		}
		if n := w.count(`SELECT COUNT(*) FROM handoffs`) + w.count(`SELECT COUNT(*) FROM notices`); n != 0 {
			w.Errorf("%d rows of refused proposals, want none", n)
		}
		w.exec(`UPDATE sessions SET archived_at = 0 WHERE id = 'room'`)
		long := strings.NewReplacer("Sum up", strings.Repeat("ß", 5000), "Two notes.", strings.Repeat("ß", 5000), "A page.", strings.Repeat("ß", 1000), `{`, `{"max_rounds":10,`)
		ask[proposed](w, "claude-write", "propose_session_handoff", long.Replace(with("", "")))
	})
}

func TestAConnectionHasSoManyPendingHandoffs(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		limits := noRates
		limits.PendingHandoffs = 3
		w := newWorld(t, o, limits)
		w.crew()
		w.exec(`UPDATE session_seats SET seat = 'contributor'`)
		var made []string
		for i := range 3 {
			made = append(made, w.propose("claude-write", i))
		}
		refused := func() time.Duration {
			err := w.refused(access.RateLimited, "claude-write", "propose_session_handoff", handoffIn("loop", "loop", "More", 9))
			e, _ := errors.AsType[*access.Error](err)
			ms, ok := e.Details["retry_after_ms"].(int64)
			if !ok || ms < 1 {
				w.Errorf("got details %v, want retry_after_ms", e.Details)
			}
			return time.Duration(ms) * time.Millisecond
		}
		refused()
		w.propose("codex-write", 1) // has places of its own
		if _, err := w.cancel("claude-write", made[0]); err != nil {
			w.Fatal(err)
		}
		made = append(made, w.propose("claude-write", 4))
		refused()
		if _, err := w.decide(w.db, made[1], "decline"); err != nil {
			w.Fatal(err)
		}
		w.exec(`INSERT INTO workspace_figures (workspace_id, handoff_minutes, day_rounds, day_tokens, day_minutes) VALUES ('atlas', 1, 0, 0, 0)`)
		w.propose("claude-write", 5)
		w.pass(45 * time.Second)
		if wait := refused(); wait != 15*time.Second {
			w.Errorf("wait %s, want the 15 s after which one expires", wait)
		}
		w.pass(15 * time.Second)
		w.propose("claude-write", 6)
	})
}

func TestOnlyWhoProposedCancelsAndOnlyOnce(t *testing.T) {
	eachCrew(t, func(w *world) {
		w.exec(`UPDATE session_seats SET seat = 'contributor'`)
		id := w.propose("claude-write", 1)
		w.refused(access.NotYours, "codex-write", "cancel_session_handoff", `{"handoff_id":"`+id+`"}`)
		w.refused(access.InsufficientScope, "claude-read", "cancel_session_handoff", `{"handoff_id":"`+id+`"}`)
		w.refused(access.NotFound, "claude-write", "cancel_session_handoff", `{"handoff_id":"never"}`)
		w.refused(access.InvalidArguments, "claude-write", "cancel_session_handoff", `{"handoff_id":"`+id+`","idempotency_key":"cancel-0001"}`)
		w.exec(`UPDATE session_seats SET seat = 'observer' WHERE connection_id = 'claude'`)
		w.refused(access.SeatRequired, "claude-write", "cancel_session_handoff", `{"handoff_id":"`+id+`"}`)
		w.exec(`UPDATE session_seats SET seat = 'contributor' WHERE connection_id = 'claude'`)
		if got := w.stateOf(id); got != "pending" {
			w.Fatalf("after refusals: got %s, want pending", got)
		}
		w.exec(`UPDATE sessions SET archived_at = 5 WHERE id = 'room'`) // which takes no work, but lets go
		want := `{"handoff_id":"` + id + `","status":"cancelled"}`
		for range 3 {
			if got, err := w.cancel("claude-write", id); err != nil || got != want {
				w.Errorf("got %s, %v; want %s", got, err, want)
			}
		}
		w.exec(`UPDATE sessions SET archived_at = 0 WHERE id = 'room'`)
		if n := w.count(`SELECT COUNT(*) FROM events WHERE type = 'handoff.cancelled'`); n != 1 {
			w.Errorf("%d events of one cancellation, want 1", n)
		}
		for _, decision := range []string{"accept", "decline"} {
			_, err := w.decide(w.db, id, decision)
			w.decided(err, "cancelled")
		}
		for i, verdict := range map[int][2]string{2: {"accept", "accepted"}, 3: {"decline", "declined"}} {
			id := w.propose("claude-write", i)
			if _, err := w.decide(w.db, id, verdict[0]); err != nil {
				w.Fatal(err)
			}
			_, err := w.cancel("claude-write", id)
			w.decided(err, verdict[1])
		}
	})
}

// decided wants the refusal of somebody who comes second.
func (w *world) decided(err error, state string) {
	w.Helper()
	e, _ := errors.AsType[*access.Error](err)
	if e == nil || e.Code != access.AlreadyDecided || e.Details["state"] != state {
		w.Errorf("got %v, want already_decided with the state %s", err, state)
	}
}

func TestOwnHandoffsAreListedWithTheirDecisions(t *testing.T) {
	eachCrew(t, func(w *world) {
		w.exec(`UPDATE session_seats SET seat = 'contributor'`)
		var ids [5]string
		for i := range ids {
			ids[i] = w.propose("claude-write", i)
		}
		elsewhere := ask[proposed](w, "claude-write", "propose_session_handoff", handoffIn("loop", "loop", "Again", 7)).HandoffID
		w.propose("codex-write", 1)
		accepted, err := w.decide(w.db, ids[0], "accept")
		if err != nil {
			w.Fatal(err)
		}
		if _, err := w.decide(w.db, ids[1], "decline"); err != nil {
			w.Fatal(err)
		}
		if _, err := w.cancel("claude-write", ids[2]); err != nil {
			w.Fatal(err)
		}
		w.exec(`UPDATE handoffs SET expires_at = $2 WHERE id = $1`, ids[3], w.clock().UnixMilli()) // and nobody wrote that down
		for arguments, want := range map[string][]string{
			`{}`:                      {elsewhere, ids[4], ids[3], ids[2], ids[1], ids[0]},
			`{"session_type":"team"}`: {ids[4], ids[3], ids[2], ids[1], ids[0]},
			`{"session_type":"loop"}`: {elsewhere},
			`{"session_id":"loop"}`:   {elsewhere},
			`{"session_id":"loop","session_type":"loop","status":"accepted"}`: nil,
			`{"status":"pending"}`:   {elsewhere, ids[4]},
			`{"status":"cancelled"}`: {ids[3], ids[2]},
			`{"status":"declined"}`:  {ids[1]},
			`{"status":"accepted"}`:  {ids[0]},
		} {
			var got []string
			for _, h := range ask[handoffList](w, "claude-read", "list_session_handoffs", arguments).Items {
				got = append(got, h.HandoffID)
			}
			if !slices.Equal(got, want) {
				w.Errorf("%s: got %q, want %q", arguments, got, want)
			}
		}
		h := ask[handoffList](w, "claude-read", "list_session_handoffs", `{"status":"accepted"}`).Items[0]
		if h.TaskID != accepted.TaskID || h.TaskID == "" || h.DecidedBy != "Name of mara" || h.DecidedAt == nil || h.Status != "accepted" || h.SessionType != "team" {
			w.Errorf("got %+v, want the task %s, decided by mara", h, accepted.TaskID)
		}
		if expired := ask[handoffList](w, "claude-read", "list_session_handoffs", `{"status":"cancelled"}`).Items[0]; expired.Reason != "expired" || expired.Status != "cancelled" {
			w.Errorf("got %+v, want one that expired", expired)
		}
		w.refused(access.NotFound, "claude-read", "list_session_handoffs", `{"session_id":"room","session_type":"agent"}`)
		w.refused(access.NotInProject, "claude-read", "list_session_handoffs", `{"session_id":"hidden"}`)
		w.refused(access.InvalidArguments, "claude-read", "list_session_handoffs", `{"status":"expired"}`)
		w.exec(`DELETE FROM session_seats WHERE session_id = 'room' AND connection_id = 'claude'`)
		if got := ask[handoffList](w, "claude-read", "list_session_handoffs", `{}`).Items; len(got) != 1 || got[0].HandoffID != elsewhere {
			w.Errorf("without the seat: got %+v, want only %s", got, elsewhere)
		}
		w.refused(access.SeatRequired, "claude-read", "list_session_handoffs", `{"session_id":"room"}`)
	})
}

func TestPendingRequestsAreThoseThatWaitForAPerson(t *testing.T) {
	eachCrew(t, func(w *world) {
		w.exec(`UPDATE session_seats SET seat = 'contributor'`)
		pending, expired, declined := w.propose("claude-write", 1), w.propose("claude-write", 2), w.propose("claude-write", 3)
		w.propose("codex-write", 1)
		w.exec(`UPDATE handoffs SET expires_at = $2 WHERE id = $1`, expired, w.clock().UnixMilli())
		if _, err := w.decide(w.db, declined, "decline"); err != nil {
			w.Fatal(err)
		}
		w.task("k1", "claude", "", "waiting")
		w.task("k2", "claude", "", "running")
		w.task("k3", "codex", "", "waiting")
		list := ask[waitingList](w, "claude-read", "list_pending_requests", `{}`)
		var got []string
		for _, r := range list.Items {
			got = append(got, r.Kind+" "+r.HandoffID+r.TaskID+" in "+r.SessionID+": "+r.Goal+", "+r.Reason)
		}
		if want := []string{"run k1 in room: Goal of k1, Reason of k1", "handoff " + pending + " in room: Sum up, "}; !slices.Equal(got, want) {
			w.Errorf("got %q, want %q", got, want)
		}
		w.exec(`UPDATE sessions SET local_only = 1 WHERE id = 'room'`)
		if got := ask[waitingList](w, "claude-read", "list_pending_requests", `{}`).Items; len(got) != 0 {
			w.Errorf("of a session that is kept from it: got %+v, want nothing", got)
		}
	})
}

func TestPendingRequestsComeInPages(t *testing.T) {
	eachCrew(t, func(w *world) {
		for i := range listLimit + 3 {
			w.task(fmt.Sprintf("k%03d", i), "claude", "", "waiting")
		}
		first := ask[waitingList](w, "claude-read", "list_pending_requests", `{}`)
		second := ask[waitingList](w, "claude-read", "list_pending_requests", fmt.Sprintf(`{"cursor":%q}`, first.NextCursor))
		if len(first.Items) != listLimit || len(second.Items) != 3 || second.Items[2].TaskID != "k000" || second.NextCursor != "" {
			w.Errorf("got %d and %d, want %d and 3", len(first.Items), len(second.Items), listLimit)
		}
	})
}

func TestAHandoffThatNobodyDecidesInTimeIsCancelled(t *testing.T) {
	eachCrew(t, func(w *world) {
		w.exec(`INSERT INTO workspace_figures (workspace_id, handoff_minutes, day_rounds, day_tokens, day_minutes) VALUES ('atlas', 60, 0, 0, 0)`)
		late, early := w.propose("claude-write", 1), w.propose("claude-write", 2)
		w.pass(time.Hour - time.Millisecond)
		if _, err := w.decide(w.db, early, "decline"); err != nil {
			w.Errorf("in the last moment: %v", err)
		}
		if err := w.handoffs.Expire(t.Context(), w.db); err != nil || w.stateOf(late) != "pending" {
			w.Errorf("marked before its time: %s, %v", w.stateOf(late), err)
		}
		w.pass(time.Millisecond)
		for _, decision := range []string{"accept", "decline"} {
			_, err := w.decide(w.db, late, decision)
			w.decided(err, "cancelled")
		}
		w.exec(`UPDATE access_tokens SET expires_at = $1`, w.clock().Add(time.Hour).UnixMilli())
		if got, err := w.cancel("claude-write", late); err != nil || !strings.Contains(got, `"cancelled"`) {
			w.Errorf("cancel what expired: got %s, %v", got, err)
		}
		for range 2 {
			if err := w.handoffs.Expire(t.Context(), w.db); err != nil {
				w.Fatal(err)
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM handoffs WHERE id = $1 AND state = 'cancelled' AND reason = 'expired' AND decided_at = expires_at AND decided_by = ''`, late); n != 1 {
			w.Error("the handoff was not marked as expired")
		}
		if n := w.count(`SELECT COUNT(*) FROM events WHERE type = 'handoff.cancelled' AND resource_id = 'room' AND project_id = 'alpha'`); n != 1 {
			w.Errorf("%d events of one expiry, want 1", n)
		}
	})
}

// racers is how many decide about one handoff at once.
const racers = 64

// Whichever decision commits first stands; everybody else is told the state; tasks
// are as many as were accepted. On PostgreSQL three servers take part.
func TestOneDecisionStandsAndAllOthersAreToldIt(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		w := newWorld(t, o, noRates)
		w.crew()
		nodes := []*storage.DB{w.db}
		for o.DatabaseURL != "" && len(nodes) < 3 { // SQLite has room for one
			db, err := storage.Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			nodes = append(nodes, db)
		}
		for i := range 6 {
			w.race(nodes, w.propose("claude-write", i))
		}
		accepted := w.count(`SELECT COUNT(*) FROM handoffs WHERE state = 'accepted'`)
		if tasks := w.count(`SELECT COUNT(*) FROM tasks k JOIN handoffs h ON h.id = k.handoff_id WHERE h.state = 'accepted'`); tasks != accepted || w.count(`SELECT COUNT(*) FROM tasks`) != tasks {
			w.Errorf("%d handoffs were accepted and %d tasks queued", accepted, tasks)
		}
	})
}

func (w *world) race(nodes []*storage.DB, handoff string) {
	w.Helper()
	type outcome struct {
		verb, told string
		won        bool
	}
	var all sync.WaitGroup
	outcomes, start := make([]outcome, racers), make(chan struct{})
	ends := map[string]string{"accept": "accepted", "decline": "declined", "cancel": "cancelled"}
	for i := range racers {
		verb := []string{"accept", "decline", "cancel"}[rand.IntN(3)]
		all.Go(func() {
			<-start
			var err error
			if verb == "cancel" {
				_, err = w.cancel("claude-write", handoff)
			} else {
				_, err = w.decide(nodes[i%len(nodes)], handoff, verb)
			}
			outcomes[i] = outcome{verb, ends[verb], err == nil}
			if e, ok := errors.AsType[*access.Error](err); ok {
				outcomes[i].told = fmt.Sprint(e.Code, " ", e.Details["state"])
			}
		})
	}
	close(start)
	all.Wait()
	state, winners := w.stateOf(handoff), 0
	for _, o := range outcomes {
		switch {
		case o.won && o.told != state:
			w.Errorf("%s was told that it won, but the handoff is %s", o.verb, state)
		case o.won && o.verb != "cancel": // which may be repeated
			winners++
		case !o.won && o.told != "already_decided "+state:
			w.Errorf("%s was told %q, want already_decided %s", o.verb, o.told, state)
		}
	}
	if state == "cancelled" && winners != 0 || state != "cancelled" && winners != 1 {
		w.Errorf("%d decisions stand for a handoff that is %s", winners, state)
	}
	events := w.count(`SELECT COUNT(*) FROM events WHERE type <> 'handoff.proposed' AND type LIKE 'handoff.%' AND data LIKE '%' || $1 || '%'`, handoff)
	if events != 1 {
		w.Errorf("%d events of one decision, want 1", events)
	}
}
