package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// propose has desk propose a handoff in crew, as its tool does.
func (w *world) propose() (id string) {
	w.Helper()
	ref := access.Ref{Kind: access.KindSession, ID: "crew"}
	token, hash := access.MintToken(access.TokenAccess)
	_ = token
	w.exec(`INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at)
		VALUES ($1, 'desk', 'osfoundry:read osfoundry:write', '', 1, $2, 0)`, string(hash), w.clock().UnixMilli()+60_000)
	w.must(w.db.Write(w.Context(), func(tx access.Tx) error {
		if err := w.db.Touch(w.Context(), tx, hash, ref, w.clock()); err != nil {
			return err
		}
		facts, err := w.db.ConnectionFacts(w.Context(), tx, hash, ref)
		if err != nil {
			return err
		}
		permit, err := access.CheckConnection(facts, access.Permission{Scopes: access.ScopeWrite, Right: access.RightEdit, Seat: access.SeatContributor}, ref, w.clock())
		if err != nil {
			return err
		}
		h, err := w.handoffs.Propose(w.Context(), tx, permit, workspace.Proposal{Goal: "A private goal", ContextSummary: "", RequestedOutput: ""})
		id = h.ID
		return err
	}))
	return id
}

func TestAProposalIsToldToTheSessionsOwnerOnly(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		ben, mara := w.browser("ben"), w.browser("mara")
		his, hers := ben.listen(""), mara.listen("")
		id := w.propose()
		if got := his.until("handoff.proposed"); !slices.Equal(got, []string{"notice.created crew", "handoff.proposed crew"}) {
			w.Errorf("ben hears %q", got)
		}
		if got := hers.until("handoff.proposed"); !slices.Equal(got, []string{"handoff.proposed crew"}) {
			w.Errorf("mara hears %q, want nothing of ben's notice", got)
		}
		list := ben.wants(200, "GET", "/notices", "").read(w)["items"].([]any)
		if len(list) != 1 {
			w.Fatalf("got %v, want one notice", list)
		}
		n := list[0].(map[string]any)
		for field, want := range map[string]any{
			"type": "handoff.proposed", "text": "desk requests a handoff", "session_id": "crew", "handoff_id": id, "connection_id": "desk", "workspace_id": "atlas", "read_at": nil,
		} {
			if n[field] != want {
				w.Errorf("%s: got %v, want %v", field, n[field], want)
			}
		}
		if strings.Contains(fmt.Sprint(n), "goal") {
			w.Errorf("the notice holds words of the proposal: %v", n)
		}
		if got := mara.wants(200, "GET", "/notices", "").body; got != `{"items":[]}` {
			w.Errorf("mara's notices: %s", got)
		}
	})
}

func TestNoticesAreReadByWhoTheyAreFor(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.seated("contributor")
		first, second, third := w.propose(), w.propose(), w.propose()
		ben := w.script("ben")
		var ids, handoffs []string
		for cursor := ""; ; {
			page := ben.wants(200, "GET", "/notices?limit=1"+cursor, "").read(w)
			for _, item := range page["items"].([]any) {
				n := item.(map[string]any)
				ids, handoffs = append(ids, fmt.Sprint(n["id"])), append(handoffs, fmt.Sprint(n["handoff_id"]))
			}
			if page["next_cursor"] == nil {
				break
			}
			cursor = fmt.Sprint("&cursor=", page["next_cursor"])
		}
		if want := []string{third, second, first}; !slices.Equal(handoffs, want) {
			w.Fatalf("got notices of %q, want %q", handoffs, want)
		}
		w.script("mara").wants(200, "POST", "/notices/read", fmt.Sprintf(`{"ids":[%q]}`, ids[0])) // not hers
		if got := ben.wants(200, "POST", "/notices/read", `{"ids":["never"]}`).body; got != `{"unread":3}` {
			w.Errorf("got %s, want three unread", got)
		}
		if got := ben.wants(200, "POST", "/notices/read", fmt.Sprintf(`{"ids":[%q]}`, ids[0])).body; got != `{"unread":2}` {
			w.Errorf("got %s, want two unread", got)
		}
		list := ben.wants(200, "GET", "/notices?unread=true", "").body
		if strings.Contains(list, ids[0]) || !strings.Contains(list, ids[1]) {
			w.Errorf("unread: got %s", list)
		}
		if got := ben.wants(200, "POST", "/notices/read", `{}`).body; got != `{"unread":0}` {
			w.Errorf("got %s, want none unread", got)
		}
		a := ben.call("POST", "/notices/read", `{"ids":[`+strings.TrimSuffix(strings.Repeat(`"x",`, 201), ",")+`]}`)
		if _, _, fields := a.refusal(); a.status != 422 || fields["ids"] == nil {
			w.Errorf("201 IDs: got %s, want 422 about ids", a)
		}
		w.exec(`DELETE FROM memberships WHERE user_id = 'ben'`)
		if got := ben.wants(200, "GET", "/notices", "").body; got != `{"items":[]}` {
			w.Errorf("after ben left: got %s", got)
		}
	})
}
