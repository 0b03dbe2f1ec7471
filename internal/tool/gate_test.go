package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

// attempt is a call that would succeed, until a condition spoils it.
type attempt struct{ token, tool, noteID, arguments string }

// unknownTool stands in for the code of a call that names no tool.
const unknownTool access.Code = "unknown tool"

// gateConditions are the conditions of product.md §3 in their order.
var gateConditions = []struct {
	name  string
	want  access.Code
	spoil func(w *world, a *attempt)
}{
	{"unknown token", access.InvalidToken, func(_ *world, a *attempt) { a.token = "another" }},
	{"expired token", access.InvalidToken, func(w *world, _ *attempt) {
		w.exec(`UPDATE access_tokens SET expires_at = $1`, w.clock().UnixMilli())
	}},
	{"revoked token", access.InvalidToken, func(w *world, _ *attempt) { w.exec(`UPDATE access_tokens SET revoked_at = 1`) }},
	{"revoked family", access.InvalidToken, func(w *world, _ *attempt) { w.exec(`UPDATE connections SET family_revoked_at = 1`) }},
	{"unknown tool", unknownTool, func(_ *world, a *attempt) { a.tool = "destroy" }},
	{"missing scope", access.InsufficientScope, func(w *world, _ *attempt) { w.exec(`UPDATE access_tokens SET scopes = 'osfoundry:run'`) }},
	{"wrong arguments", access.InvalidArguments, func(_ *world, a *attempt) { a.arguments += `,"surplus":1` }},
	{"paused", access.ConnectionPaused, func(w *world, _ *attempt) { w.exec(`UPDATE connections SET status = 'paused'`) }},
	{"revoked", access.ConnectionRevoked, func(w *world, _ *attempt) {
		w.exec(`UPDATE connections SET status = 'revoked' WHERE status = 'active'`)
	}},
	{"another workspace's", access.NotFound, func(_ *world, a *attempt) { a.noteID = "foreign" }},
	{"disabled approver", access.ApproverLostAccess, func(w *world, _ *attempt) { w.exec(`UPDATE users SET disabled_at = 1`) }},
	{"demoted approver", access.ApproverLostAccess, func(w *world, _ *attempt) { w.exec(`UPDATE memberships SET role = 'viewer'`) }},
	{"removed approver", access.ApproverLostAccess, func(w *world, _ *attempt) { w.exec(`DELETE FROM memberships`) }},
	{"private project", access.ApproverLostAccess, func(w *world, _ *attempt) { w.exec(`UPDATE projects SET private = 1`) }},
	{"not granted", access.NotInProject, func(w *world, _ *attempt) { w.exec(`DELETE FROM connection_projects`) }},
	{"moved away", access.NotInProject, func(w *world, _ *attempt) { w.exec(`UPDATE notes SET project_id = 'beta' WHERE id = 'n1'`) }},
	{"local-only", access.LocalOnly, func(w *world, _ *attempt) { w.exec(`UPDATE notes SET local_only = 1`) }},
	{"not on the list", access.ACLDenied, func(w *world, _ *attempt) { w.exec(`UPDATE notes SET has_acl = 1`) }},
	{"listed to view", access.ACLDenied, func(w *world, _ *attempt) {
		w.exec(`UPDATE notes SET has_acl = 1`)
		w.exec(`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ('n1', 'ben', 'view') ON CONFLICT (resource_id, user_id) DO NOTHING`)
	}},
}

// restore puts back what conditions change.
func (w *world) restore() {
	w.Helper()
	w.exec(`UPDATE access_tokens SET revoked_at = 0, expires_at = $1`, w.clock().Add(time.Hour).UnixMilli())
	w.exec(`UPDATE access_tokens SET scopes = 'osfoundry:read osfoundry:write' WHERE token_hash LIKE '%-write'`)
	w.exec(`UPDATE access_tokens SET scopes = 'osfoundry:read' WHERE token_hash LIKE '%-read'`)
	w.exec(`UPDATE connections SET status = 'active', family_revoked_at = 0`)
	w.exec(`UPDATE users SET disabled_at = 0`)
	w.exec(`DELETE FROM memberships`)
	w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('atlas', 'mara', 'owner', 1), ('atlas', 'ben', 'editor', 1), ('globex', 'mara', 'owner', 1)`)
	w.exec(`UPDATE projects SET private = 0`)
	w.exec(`DELETE FROM connection_projects`)
	w.grant("claude", "alpha")
	w.exec(`UPDATE notes SET local_only = 0, has_acl = 0`)
	w.exec(`UPDATE notes SET project_id = 'alpha' WHERE id = 'n1'`)
	w.exec(`DELETE FROM resource_acl`)
}

func TestTheFirstConditionThatFailsAnswers(t *testing.T) {
	eachWorld(t, func(w *world) {
		for i, first := range gateConditions {
			for _, second := range gateConditions[i:] {
				for _, tool := range []string{"mark", "see"} {
					w.restore()
					w.tryBoth(tool, first.want, first.name+", "+second.name, first.spoil, second.spoil)
				}
			}
		}
		w.restore()
		w.exec(`UPDATE notes SET has_acl = 1`)
		w.exec(`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ('n1', 'ben', 'edit')`)
		w.exec(`UPDATE projects SET private = 1`)
		w.exec(`INSERT INTO project_members (project_id, user_id, created_at) VALUES ('alpha', 'ben', 1)`)
		ask[marked](w, "claude-write", "mark", `{"note_id":"n1","idempotency_key":"allowed again"}`)
		ask[marked](w, "claude-read", "see", `{"note_id":"n1"}`)
	})
}

// tryBoth calls the tool with two things wrong and expects the earlier answer, its
// reason in the audit, and no effect.
func (w *world) tryBoth(tool string, want access.Code, name string, spoils ...func(*world, *attempt)) {
	w.Helper()
	a := attempt{token: "claude-write", tool: tool, noteID: "n1"}
	for _, spoil := range spoils {
		spoil(w, &a)
	}
	arguments := `{"note_id":"` + a.noteID + `"` + a.arguments
	if tool == "mark" {
		arguments += `,"idempotency_key":"same key"`
	}
	before := w.count(`SELECT COUNT(*) FROM audit`)
	answer, err := w.call(a.token, a.tool, arguments+"}")
	got := access.CodeOf(err)
	if errors.Is(err, ErrUnknown) {
		got = unknownTool
	}
	if got != want || answer != nil {
		w.Errorf("%s with %s: got %q and %s, want %q", tool, name, got, answer, want)
	}
	if n := w.effects(); n != 0 {
		w.Fatalf("%s with %s took effect", tool, name)
	}
	written := w.count(`SELECT COUNT(*) FROM audit`) - before
	if want == access.InvalidToken || want == unknownTool {
		if written != 0 {
			w.Errorf("%s with %s: %d audit entries, want none", tool, name, written)
		}
		return
	}
	if entry := w.audited(1); written != 1 || !strings.HasSuffix(entry[0], " denied "+string(want)) {
		w.Errorf("%s with %s: %d audit entries, the last %q, want the denial", tool, name, written, entry)
	}
}

func TestForeignAndAbsentThingsAreRefusedAlike(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, tool := range []string{"see", "fetch"} {
			argument := map[string]string{"see": "note_id", "fetch": "id"}[tool]
			foreign := w.refused(access.NotFound, "claude-read", tool, `{"`+argument+`":"foreign"}`)
			for _, id := range []string{"absent", "alpha", "claude", "", "n1 ", "N1", "n1.0", strings.Repeat("x", 100_000)} {
				if err := w.refused(access.NotFound, "claude-read", tool, `{"`+argument+`":"`+id+`"}`); err.Error() != foreign.Error() {
					w.Errorf("%s of %.20q: got %q, want %q as for the foreign one", tool, id, err, foreign)
				}
			}
		}
		w.refused(access.NotFound, "claude-read", "list_project_resources", `{"project_id":"gamma"}`)
		w.refused(access.NotFound, "claude-read", "list_project_resources", `{"project_id":"absent"}`)
		w.refused(access.NotFound, "claude-read", "list_project_members", `{"project_id":"n1"}`)
		w.refused(access.NotInProject, "claude-read", "list_project_members", `{"project_id":"beta"}`)
	})
}

func TestEachNamedThingIsChecked(t *testing.T) {
	eachWorld(t, func(w *world) {
		move := func(project, key string) string {
			return `{"note_id":"n1","project_id":"` + project + `","idempotency_key":"` + key + `"}`
		}
		w.refused(access.NotInProject, "claude-write", "move_mark", move("beta", "to another"))
		if got := w.audited(1)[0]; got != "move_mark project beta beta denied not_in_project" {
			w.Errorf("got the audit entry %q, want it to name the thing that was denied", got)
		}
		w.refused(access.NotFound, "claude-write", "move_mark", move("gamma", "to a foreign one"))
		w.grant("claude", "secret")
		w.refused(access.ApproverLostAccess, "claude-write", "move_mark", move("secret", "to a private one"))
		w.grant("claude", "beta")
		ask[marked](w, "claude-write", "move_mark", move("beta", "now allowed"))
		if got := w.audited(1)[0]; got != "move_mark note n1 alpha allowed " {
			w.Errorf("got the audit entry %q", got)
		}
	})
}

func TestARepeatedKeyGetsItsFirstAnswer(t *testing.T) {
	eachWorld(t, func(w *world) {
		const arguments = `{"note_id":"n1","text":"é \u003c","count":1,"idempotency_key":"key number 1"}`
		first, err := w.call("claude-write", "mark", arguments)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(string(first), "}") + `,"replayed":true}`
		for _, same := range []string{
			arguments,
			"\n{ \"idempotency_key\" : \"key number 1\", \"count\":1, \"text\":\"\\u00e9 <\", \"note_id\":\"n1\" }",
		} {
			if again, err := w.call("claude-write", "mark", same); err != nil || string(again) != want {
				w.Errorf("%s: got %s and %v, want %s", same, again, err, want)
			}
		}
		for _, other := range []string{
			`{"note_id":"n1","text":"é <","count":2,"idempotency_key":"key number 1"}`,
			`{"note_id":"n1","text":"é <","count":1.0,"idempotency_key":"key number 1"}`,
			`{"note_id":"n1","text":"é <","count":1e0,"idempotency_key":"key number 1"}`,
			`{"note_id":"n1","text":"e <","count":1,"idempotency_key":"key number 1"}`,
			`{"note_id":"n1","count":1,"idempotency_key":"key number 1"}`,
		} {
			w.refused(access.IdempotencyMismatch, "claude-write", "mark", other)
		}
		w.refused(access.InvalidArguments, "claude-write", "mark", `{"note_id":"n1","text":"é <","count":"1","idempotency_key":"key number 1"}`)
		if n := w.effects(); n != 1 {
			w.Errorf("got %d effects, want 1", n)
		}
		// A key belongs to one connection and one tool.
		ask[marked](w, "claude-write", "other_mark", arguments)
		ask[marked](w, "codex-write", "mark", arguments)
		if n := w.effects(); n != 3 {
			w.Errorf("got %d effects, want 3", n)
		}
	})
}

func TestARefusalIsNotRemembered(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.refused(access.VersionConflict, "claude-write", "mark", `{"note_id":"n1","expected_version":5,"idempotency_key":"a stale one"}`)
		ask[marked](w, "claude-write", "mark", `{"note_id":"n1","expected_version":1,"idempotency_key":"a stale one"}`)
	})
}

func TestAReplayIsCheckedAgain(t *testing.T) {
	eachWorld(t, func(w *world) {
		const arguments = `{"note_id":"n1","text":"secret","idempotency_key":"key number 1"}`
		ask[marked](w, "claude-write", "mark", arguments)
		w.exec(`DELETE FROM connection_projects WHERE connection_id = 'claude'`)
		if err := w.refused(access.NotInProject, "claude-write", "mark", arguments); strings.Contains(err.Error(), "secret") {
			w.Errorf("the refusal tells the answer: %v", err)
		}
		w.exec(`UPDATE connections SET status = 'revoked' WHERE id = 'claude'`)
		w.refused(access.ConnectionRevoked, "claude-write", "mark", arguments)
		w.exec(`UPDATE connections SET status = 'active' WHERE id = 'claude'`)
		w.grant("claude", "alpha")
		if again := ask[marked](w, "claude-write", "mark", arguments); !again.Replayed || again.Text != "secret" {
			w.Errorf("got %+v, want the first answer", again)
		}
	})
}

func TestParallelCallsWithOneKeyTakeEffectOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		const parallel = 64
		for round := range 5 {
			key := fmt.Sprintf("round number %d", round)
			var wg sync.WaitGroup
			answers := make(chan string, parallel)
			for range parallel {
				wg.Go(func() {
					answer, err := w.call("claude-write", "mark", `{"note_id":"n1","idempotency_key":"`+key+`"}`)
					if code := access.CodeOf(err); err != nil && code != access.InProgress && code != access.Busy {
						w.Errorf("got %v", err)
					} else if err == nil {
						answers <- strings.Replace(string(answer), `,"replayed":true`, "", 1)
					}
				})
			}
			wg.Wait()
			close(answers)
			distinct := map[string]int{}
			for a := range answers {
				distinct[a]++
			}
			if n := w.effects(); n != round+1 || len(distinct) != 1 {
				w.Fatalf("got %d effects, want %d, and the answers %v", n, round+1, distinct)
			}
		}
	})
}

func TestAPanicIsThatCallsFailure(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, tool := range []string{"mark_and_panic", "mark_and_fail"} {
			const arguments = `{"note_id":"n1","idempotency_key":"key number 1"}`
			err := w.refused(access.Internal, "claude-write", tool, arguments)
			if e, ok := errors.AsType[*access.Error](err); !ok || strings.Contains(e.Message, "SELECT") || strings.Contains(e.Message, "broken") || len(e.Details) > 0 {
				w.Errorf("%s: the caller is told %v", tool, err)
			}
			if n := w.effects() + w.count(`SELECT COUNT(*) FROM idempotency_keys`); n != 0 {
				w.Errorf("%s: %d rows were written", tool, n)
			}
			if got, want := w.audited(1)[0], tool+" note n1 alpha denied internal"; got != want {
				w.Errorf("got the audit entry %q, want %q", got, want)
			}
		}
		ask[marked](w, "claude-write", "mark", `{"note_id":"n1","idempotency_key":"key number 1"}`)
	})
}

func TestReadsAreAuditedInABatch(t *testing.T) {
	eachWorld(t, func(w *world) {
		const calls = 1234
		for range calls {
			ask[marked](w, "claude-read", "see", `{"note_id":"n1"}`)
		}
		if err := w.reads.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE tool = 'see' AND decision = 'allowed' AND resource_id = 'n1' AND connection_id = 'claude'`); n != calls {
			w.Errorf("got %d entries, want %d", n, calls)
		}
	})
}

func TestWritesAreAuditedWithTheirEffect(t *testing.T) {
	eachWorld(t, func(w *world) {
		ask[marked](w, "claude-write", "mark", `{"note_id":"n1","idempotency_key":"key number 1"}`)
		ask[marked](w, "claude-write", "mark", `{"note_id":"n1","idempotency_key":"key number 1"}`)
		want := []string{"mark note n1 alpha allowed ", "mark note n1 alpha allowed "}
		if got := w.audited(5); !slices.Equal(got, want) {
			w.Errorf("got %q, want %q", got, want)
		}
		// What can't be audited does not happen.
		w.exec(`ALTER TABLE audit RENAME TO audit_away`)
		if _, err := w.call("claude-write", "mark", `{"note_id":"n1","idempotency_key":"key number 2"}`); err == nil {
			w.Error("a write without its audit was acknowledged")
		}
		w.exec(`ALTER TABLE audit_away RENAME TO audit`)
		if n := w.effects(); n != 1 {
			w.Errorf("got %d effects, want 1", n)
		}
	})
}

func TestADenialIsAuditedThoughTheCallerIsGone(t *testing.T) {
	eachWorld(t, func(w *world) {
		ctx, cancel := context.WithCancel(context.Background())
		blocked := leaving{w.db, cancel}
		gate := *w.gate
		gate.Source = blocked
		_, err := gate.Call(ctx, Call{Token: "claude-read", Name: "see", Arguments: []byte(`{"note_id":"absent"}`)})
		if access.CodeOf(err) != access.NotFound {
			w.Fatalf("got %v", err)
		}
		if got, want := w.audited(1), []string{"see note absent  denied not_found"}; !slices.Equal(got, want) {
			w.Errorf("got %q, want %q", got, want)
		}
	})
}

// leaving is a Source during whose work the caller hangs up.
type leaving struct {
	access.Source
	hangUp func()
}

func (s leaving) ConnectionFacts(ctx context.Context, tx access.Tx, token access.TokenHash, ref access.Ref) (access.Facts, error) {
	f, err := s.Source.ConnectionFacts(ctx, tx, token, ref)
	s.hangUp()
	return f, err
}

func TestRatesAreLimitedPerConnection(t *testing.T) {
	limits := DefaultLimits
	limits.Reads, limits.Writes = 5, 3
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		w := newWorld(t, o, limits)
		for range 4 {
			ask[marked](w, "claude-read", "see", `{"note_id":"n1"}`)
		}
		w.refused(access.NotFound, "claude-read", "see", `{"note_id":"absent"}`) // denials count
		err := w.refused(access.RateLimited, "claude-read", "see", `{"note_id":"n1"}`)
		if e, ok := errors.AsType[*access.Error](err); !ok || e.Details["retry_after_ms"] != int64(60_000) {
			w.Errorf("got %+v, want how long to wait", e)
		}
		w.refused(access.RateLimited, "claude-read", "see", `{"note_id":"absent"}`)
		w.refused(access.RateLimited, "claude-read", "list_granted_resources", `{}`)
		w.refused(access.RateLimited, "claude-read", "no such tool", `{}`)
		w.refused(access.InvalidToken, "unknown", "see", `{"note_id":"n1"}`)
		for i := range 3 {
			ask[marked](w, "claude-write", "mark", fmt.Sprintf(`{"note_id":"n1","idempotency_key":"write number %d"}`, i))
		}
		w.refused(access.RateLimited, "claude-write", "mark", `{"note_id":"n1","idempotency_key":"one too many"}`)
		if n := w.effects(); n != 3 {
			w.Errorf("got %d effects, want 3", n)
		}
		ask[marked](w, "codex-read", "see", `{"note_id":"n1"}`)
		w.pass(time.Minute)
		ask[marked](w, "claude-read", "see", `{"note_id":"n1"}`)
	})
}

func TestIdentifyJudgesTheTokenAlone(t *testing.T) {
	eachWorld(t, func(w *world) {
		who, err := w.gate.Identify(context.Background(), "claude-read")
		if err != nil || who.ConnectionID != "claude" || who.Scopes != access.ScopeRead {
			w.Errorf("got %+v and %v", who, err)
		}
		w.exec(`UPDATE connections SET status = 'revoked'`) // is still a known token
		if _, err := w.gate.Identify(context.Background(), "claude-read"); err != nil {
			w.Errorf("got %v for a revoked connection's token", err)
		}
		w.pass(time.Hour)
		for _, token := range []access.TokenHash{"claude-read", "unknown", ""} {
			if _, err := w.gate.Identify(context.Background(), token); access.CodeOf(err) != access.InvalidToken {
				w.Errorf("%q: got %v, want %s", token, err, access.InvalidToken)
			}
		}
	})
}

// again is a database that wants each unit of work tried twice.
type again struct{ access.Work }

func (w again) Read(ctx context.Context, f func(tx access.Tx) error) error {
	return w.Work.Read(ctx, func(tx access.Tx) error {
		_ = f(tx)
		return f(tx)
	})
}

func TestACallThatIsTriedAgainCountsOnce(t *testing.T) {
	limits := DefaultLimits
	limits.Reads = 1
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		w := newWorld(t, o, limits)
		w.gate.Work = again{w.db}
		ask[marked](w, "claude-read", "see", `{"note_id":"n1"}`)
		w.refused(access.RateLimited, "claude-read", "see", `{"note_id":"n1"}`)
	})
}

func TestWorkTurnsAPanicIntoARefusal(t *testing.T) {
	for name, cause := range map[string]any{"a text": "broken", "an error": errors.New("broken"), "a refusal": access.Refuse(access.NotFound, "broken")} {
		broken := define(Tool{Name: "broken"}, nil, func(context.Context, *Run, nothing) (nothing, error) { panic(cause) })
		p := passage{tool: broken, arguments: nothing{}}
		if _, err := p.work(context.Background(), &Run{}); access.CodeOf(err) != access.Internal || !strings.Contains(err.Error(), "broken") {
			t.Errorf("%s: got %v, want an internal error with the cause", name, err)
		}
	}
}

func TestFreeTextDoesNotShiftTheFacts(t *testing.T) {
	eachWorld(t, func(w *world) {
		const text = "0|active|'|\x1f|owner"
		w.exec(`UPDATE connections SET name = $1, status = 'paused' WHERE id = 'claude'`, text)
		w.exec(`UPDATE users SET name = $1, email = $1 WHERE id = 'ben'`, text)
		w.exec(`UPDATE notes SET title = $1 WHERE id = 'n1'`, text)
		w.refused(access.ConnectionPaused, "claude-read", "see", `{"note_id":"n1"}`)
		w.exec(`UPDATE connections SET status = 'active' WHERE id = 'claude'`)
		ask[marked](w, "claude-read", "see", `{"note_id":"n1"}`)
		if got := ask[grants](w, "claude-read", "list_granted_resources", `{}`); got.Connection.Name != text || got.Approver.Name != text {
			w.Errorf("got %+v, want the names as they are", got)
		}
	})
}
