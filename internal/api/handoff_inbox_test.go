package api_test

import (
	"fmt"
	"slices"
	"testing"
)

// inbox is what the caller finds among all handoffs, newest first.
func (c *caller) inbox(query string) []string {
	c.w.Helper()
	var ids []string
	for _, item := range c.wants(200, "GET", "/handoffs"+query, "").read(c.w)["items"].([]any) {
		ids = append(ids, item.(map[string]any)["id"].(string))
	}
	return ids
}

// TestTheInboxHoldsWhatItsReaderMayDecide compares it with what deciding says: a
// digest of nothing changes nothing, and is refused as such only to who may decide.
func TestTheInboxHoldsWhatItsReaderMayDecide(t *testing.T) {
	eachWorld(t, func(w *world) {
		sessions := map[string]string{"h1": "crew", "h2": "circle", "h3": "cellar", "theirs": "strangers"}
		for _, id := range []string{"h1", "h2", "h3"} {
			w.handoff(id, sessions[id], "desk", "atlas")
		}
		for person, want := range map[string][]string{
			"mara": {"h1"}, "ben": {"h2", "h1"}, "pia": {"h3", "h1"}, "vic": nil, "eve": {"theirs"},
		} {
			got := w.script(person).inbox("")
			if !slices.Equal(got, want) {
				w.Errorf("%s finds %q, want %q", person, got, want)
			}
			browser := w.browser(person)
			for id, session := range sessions {
				status := browser.call("POST", decideAt(session, id), `{"decision":"accept","digest":"of nothing"}`).status
				if may := status == 409; may != slices.Contains(got, id) {
					w.Errorf("%s deciding %s: got %d, but the inbox holds %q", person, id, status, got)
				}
			}
		}
		w.nobody().wants(401, "GET", "/handoffs", "")
		w.exec(`UPDATE memberships SET role = 'viewer' WHERE user_id = 'ben'`)
		if got := w.script("ben").inbox(""); got != nil {
			w.Errorf("as a viewer ben finds %q, want nothing", got)
		}
		w.exec(`DELETE FROM memberships WHERE user_id = 'pia'`)
		if got := w.script("pia").inbox(""); got != nil {
			w.Errorf("after leaving pia finds %q, want nothing", got)
		}
	})
}

func TestTheInboxIsNarrowedAndPaged(t *testing.T) {
	eachWorld(t, func(w *world) {
		for _, id := range []string{"h1", "h2", "h3", "h4", "h5"} {
			w.handoff(id, "crew", "desk", "atlas")
		}
		w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('globex', 'ben', 'editor', 1)`)
		ben := w.browser("ben")
		ben.wants(200, "POST", decideAt("crew", "h2"), `{"decision":"decline"}`)
		w.exec(`UPDATE handoffs SET expires_at = $1 WHERE id = 'h3'`, w.clock().UnixMilli())
		for query, want := range map[string][]string{
			"":                                  {"theirs", "h5", "h4", "h3", "h2", "h1"},
			"?state=pending":                    {"theirs", "h5", "h4", "h1"},
			"?state=declined":                   {"h2"},
			"?state=cancelled":                  {"h3"},
			"?state=accepted":                   nil,
			"?state=pending&workspace=atlas":    {"h5", "h4", "h1"},
			"?workspace=globex":                 {"theirs"},
			"?workspace=nowhere":                nil,
			"?workspace=%27%20OR%20%271%27%3D1": nil,
		} {
			if got := ben.inbox(query); !slices.Equal(got, want) {
				w.Errorf("%s: got %q, want %q", query, got, want)
			}
		}
		ben.wants(400, "GET", "/handoffs?state=lost", "")
		ben.wants(400, "GET", "/handoffs?project=alpha", "")

		page := ben.wants(200, "GET", "/handoffs?state=pending&limit=3", "").read(w)
		if n := len(page["items"].([]any)); n != 3 || page["next_cursor"] == nil {
			w.Fatalf("got %d on the first page and the cursor %v, want 3 and one", n, page["next_cursor"])
		}
		if got := ben.inbox(fmt.Sprintf("?state=pending&limit=3&cursor=%s", page["next_cursor"])); !slices.Equal(got, []string{"h1"}) {
			w.Errorf("the second page holds %q, want h1", got)
		}
		first := page["items"].([]any)[1]
		if one := w.shown("h5"); fmt.Sprint(first) != fmt.Sprint(one) {
			w.Errorf("the inbox shows %v, its session %v", first, one)
		}
	})
}
