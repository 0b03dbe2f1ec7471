package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

func TestGrantedResourcesAnswerIsExact(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.grant("claude", "secret") // which ben can't open
		answer, err := w.call("claude-write", "list_granted_resources", `{}`)
		want := `{"workspace":{"id":"atlas","name":"Name of atlas"},` +
			`"connection":{"id":"claude","name":"Name of claude","slug":"claude","status":"active"},` +
			`"approver":{"id":"ben","name":"Name of ben"},"scopes":["osfoundry:read","osfoundry:write"],` +
			`"projects":[{"id":"alpha","name":"alpha"}],"seats":[],"linked_chats":[],` +
			`"limits":{"queued_tasks":50,"pending_handoffs":50,"request_body_bytes":4194304,"result_chars":20000}}`
		if err != nil || string(answer) != want {
			w.Errorf("got %s and %v\nwant %s", answer, err, want)
		}
		w.exec(`DELETE FROM connection_projects`)
		if got := ask[grants](w, "claude-read", "list_granted_resources", ``); got.Projects == nil || len(got.Projects) != 0 {
			w.Errorf("got the projects %v of a fresh connection, want an empty list", got.Projects)
		}
		w.exec(`UPDATE memberships SET role = 'viewer' WHERE user_id = 'ben'`)
		w.refused(access.ApproverLostAccess, "claude-read", "list_granted_resources", `{}`)
		w.refused(access.InvalidArguments, "claude-read", "list_granted_resources", `{"verbose":true}`)
	})
}

func TestLimitsAreShown(t *testing.T) {
	if DefaultLimits.Reads != 1200 || DefaultLimits.Writes != 300 || DefaultLimits.RunRequests != 60 || DefaultLimits.BodyBytes != 4<<20 || DefaultLimits.ResultChars != 20_000 {
		t.Errorf("got %+v, want the figures of product.md §4", DefaultLimits)
	}
	none := NewLimiter(DefaultLimits.WithoutRates(), time.Now)
	for range 10_000 {
		if _, ok := none.Allow("c", ClassRun); !ok {
			t.Fatal("a call was limited though rates are off")
		}
	}
}

// Each class of calls has a rate of its own, and so has each connection.
func TestRatesCountEachClassOfCallsApart(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	limits := NewLimiter(Limits{Reads: 30, Writes: 20, RunRequests: 10}, func() time.Time { return now })
	allowed := map[Class]int{}
	for _, class := range []Class{ClassRun, ClassWrite, ClassRead} {
		for range 40 {
			if _, ok := limits.Allow("c", class); ok {
				allowed[class]++
			}
		}
	}
	if allowed[ClassRead] != 30 || allowed[ClassWrite] != 20 || allowed[ClassRun] != 10 {
		t.Errorf("allowed %v, want 30 reads, 20 writes, 10 runs", allowed)
	}
	if _, ok := limits.Allow("d", ClassRun); !ok {
		t.Error("another connection was limited with the first one")
	}
	for _, tool := range allTools(t) {
		want := ClassRead
		if tool.Writes() {
			want = ClassWrite
		}
		if tool.Name == "request_session_run" {
			want = ClassRun
		}
		if got := tool.class(); got != want {
			t.Errorf("%s counts as %d, want %d", tool.Name, got, want)
		}
	}
}

// pages calls a list tool until its end and gives what collect took of each page.
func pages[R any](w *world, tool, filters string, limit int, collect func(R) (items []string, next string)) (all []string, sizes []int) {
	w.Helper()
	cursor := ""
	for range 100 {
		arguments := fmt.Sprintf(`{%s,"limit":%d`, filters, limit)
		if cursor != "" {
			arguments += `,"cursor":"` + cursor + `"`
		}
		items, next := collect(ask[R](w, "claude-read", tool, arguments+"}"))
		all, sizes = append(all, items...), append(sizes, len(items))
		if cursor = next; cursor == "" {
			return all, sizes
		}
	}
	w.Fatalf("%s never ends", tool)
	return nil, nil
}

func resourceIDs(l resourceList) (ids []string, next string) {
	for _, r := range l.Items {
		ids = append(ids, r.ID)
	}
	return ids, l.NextCursor
}

func TestProjectResourcesArePagedAndFiltered(t *testing.T) {
	eachWorld(t, func(w *world) {
		var want []string
		for i := range 7 {
			id := fmt.Sprintf("m%d", i)
			w.note(id, "alpha", fmt.Sprintf("100%% Größe_%d", i))
			want = append(want, id)
		}
		w.note("other", "beta", "100% Größe")
		w.note("hidden", "alpha", "100% Größe hidden")
		w.exec(`UPDATE notes SET local_only = 1 WHERE id = 'hidden'`)
		all := append(slices.Clone(want), "n1")
		got, sizes := pages(w, "list_project_resources", `"project_id":"alpha"`, 3, resourceIDs)
		if !slices.Equal(got, all) || !slices.Equal(sizes, []int{3, 3, 2}) {
			w.Errorf("got %q in pages of %v, want %q", got, sizes, all)
		}
		for filter, want := range map[string][]string{
			`"title_contains":"GRÖSSE"`:                           want,
			`"title_contains":"grosse_3"`:                         {"m3"},
			`"title_contains":"%"`:                                want,
			`"title_contains":"_"`:                                want,
			`"title_contains":"0% G"`:                             want,
			`"title_contains":"%%"`:                               nil,
			`"title_contains":"' OR '1'='1"`:                      nil,
			`"title_contains":""`:                                 all,
			`"kinds":["note"]`:                                    all,
			`"kinds":["table","note"]`:                            all,
			`"kinds":["table","channel"]`:                         nil,
			`"kinds":[]`:                                          all,
			`"archived":true`:                                     nil,
			`"archived":false,"kinds":["note"]`:                   all,
			`"kinds":["note"],"title_contains":"first"`:           {"n1"},
			`"kinds":["note"],"title_contains":"ﬁrst"`:            {"n1"},
			`"kinds":["file"],"title_contains":"first"`:           nil,
			`"archived":true,"title_contains":"first"`:            nil,
			`"title_contains":"` + strings.Repeat("ß", 200) + `"`: nil,
		} {
			got, _ := pages(w, "list_project_resources", `"project_id":"alpha",`+filter, 2, resourceIDs)
			if !slices.Equal(got, want) {
				w.Errorf("%s: got %q, want %q", filter, got, want)
			}
		}
		w.exec(`UPDATE notes SET archived_at = 5 WHERE id = 'm3'`)
		archive := ask[resourceList](w, "claude-read", "list_project_resources", `{"project_id":"alpha","archived":true}`)
		wantItem := resource{access.KindNote, "m3", "100% Größe_3", 1, true, w.clock()}
		if len(archive.Items) != 1 || archive.Items[0] != wantItem {
			w.Errorf("got the archive %+v, want %+v", archive.Items, wantItem)
		}
		if got, _ := pages(w, "list_project_resources", `"project_id":"alpha"`, 100, resourceIDs); slices.Contains(got, "m3") {
			w.Errorf("got %q, want no archived notes", got)
		}
		w.refused(access.NotInProject, "claude-read", "list_project_resources", `{"project_id":"beta"}`)
	})
}

func TestATitleFilterLooksThroughLongLists(t *testing.T) {
	eachWorld(t, func(w *world) {
		for i := range 1100 {
			w.exec(`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
				VALUES ($1, 'atlas', 'alpha', $2, 1, 0, 0, 0, 1, 'mara', 1, 'mara', '')`, fmt.Sprintf("m%04d", i), fmt.Sprintf("Number %04d", i))
		}
		got, sizes := pages(w, "list_project_resources", `"project_id":"alpha","title_contains":"99"`, 4, resourceIDs)
		want := []string{"m0099", "m0199", "m0299", "m0399", "m0499", "m0599", "m0699", "m0799", "m0899", "m0990", "m0991", "m0992", "m0993", "m0994", "m0995", "m0996", "m0997", "m0998", "m0999", "m1099"}
		if !slices.Equal(got, want) || !slices.Equal(sizes, []int{4, 4, 4, 4, 4}) {
			w.Errorf("got %q in pages of %v", got, sizes)
		}
	})
}

func TestMembersHaveNoAddresses(t *testing.T) {
	eachWorld(t, func(w *world) {
		answer, err := w.call("claude-read", "list_project_members", `{"project_id":"alpha"}`)
		want := `{"people":[{"id":"ben","name":"Name of ben","role":"editor"},{"id":"mara","name":"Name of mara","role":"owner"}],` +
			`"assistants":[{"id":"claude","name":"Name of claude","slug":"claude","label":"outside assistant","status":"active"},` +
			`{"id":"codex","name":"Name of codex","slug":"codex","label":"outside assistant","status":"active"}]}`
		if err != nil || string(answer) != want {
			w.Errorf("got %s and %v\nwant %s", answer, err, want)
		}
		for i := range 150 {
			id := fmt.Sprintf("user%03d", i)
			w.exec(`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $1, $1, '', 0, 1)`, id)
			w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ('atlas', $1, 'viewer', 1)`, id)
		}
		first := ask[memberList](w, "claude-read", "list_project_members", `{"project_id":"alpha"}`)
		second := ask[memberList](w, "claude-read", "list_project_members", `{"project_id":"alpha","cursor":"`+first.NextCursor+`"}`)
		if len(first.People) != 100 || len(second.People) != 52 || len(second.Assistants) != 2 || second.NextCursor != "" {
			w.Errorf("got %d and %d people and %d assistants", len(first.People), len(second.People), len(second.Assistants))
		}
	})
}

func TestCursorsAreOfOneConnectionToolAndArguments(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.grant("claude", "beta")
		for i := range 5 {
			w.note(fmt.Sprintf("m%d", i), "alpha", "Same words")
			w.note(fmt.Sprintf("b%d", i), "beta", "Same words")
		}
		resources := ask[resourceList](w, "claude-read", "list_project_resources", `{"project_id":"alpha","limit":2}`).NextCursor
		hits := ask[hitList](w, "claude-read", "search", `{"query":"words","limit":2}`).NextCursor
		changes := ask[changeList](w, "claude-read", "list_resource_changes", `{}`).NextCursor
		for _, c := range []struct{ token, tool, arguments, cursor string }{
			{"claude-read", "list_project_resources", `"project_id":"alpha","limit":3`, resources}, // another number of rows is fine
			{"claude-write", "list_project_resources", `"project_id":"alpha"`, resources},          // so is another token
			{"claude-read", "search", `"query":"words"`, hits},
			{"claude-read", "list_resource_changes", `"limit":7`, changes},
		} {
			if _, err := w.call(c.token, c.tool, `{`+c.arguments+`,"cursor":"`+c.cursor+`"}`); err != nil {
				w.Errorf("%+v: %v", c, err)
			}
		}
		flipped := []byte(resources)
		flipped[len(flipped)/2] ^= 1
		for name, c := range map[string]struct{ token, tool, arguments, cursor string }{
			"another connection":     {"codex-read", "list_project_resources", `"project_id":"alpha"`, resources},
			"another project":        {"claude-read", "list_project_resources", `"project_id":"beta"`, resources},
			"another filter":         {"claude-read", "list_project_resources", `"project_id":"alpha","archived":true`, resources},
			"another title":          {"claude-read", "list_project_resources", `"project_id":"alpha","title_contains":"x"`, resources},
			"another tool":           {"claude-read", "list_project_members", `"project_id":"alpha"`, resources},
			"altered":                {"claude-read", "list_project_resources", `"project_id":"alpha"`, string(flipped)},
			"cut":                    {"claude-read", "list_project_resources", `"project_id":"alpha"`, resources[:20]},
			"not one":                {"claude-read", "list_project_resources", `"project_id":"alpha"`, "m3"},
			"too long":               {"claude-read", "list_project_resources", `"project_id":"alpha"`, strings.Repeat("A", 1<<20)},
			"another query":          {"claude-read", "search", `"query":"same"`, hits},
			"other projects":         {"claude-read", "search", `"query":"words","project_ids":["alpha"]`, hits},
			"a search's for changes": {"claude-read", "list_resource_changes", `"limit":5`, hits},
			"another author":         {"claude-read", "list_resource_changes", `"by":"me"`, changes},
		} {
			err := w.refused(access.InvalidArguments, c.token, c.tool, `{`+c.arguments+`,"cursor":"`+c.cursor+`"}`)
			if !strings.Contains(err.Error(), "/cursor") {
				w.Errorf("%s: got %v, want it to name /cursor", name, err)
			}
		}
		w.exec(`UPDATE access_tokens SET expires_at = $1`, w.clock().Add(100*time.Hour).UnixMilli())
		w.pass(listCursorLife)
		w.refused(access.InvalidArguments, "claude-read", "search", `{"query":"words","cursor":"`+hits+`"}`)
		ask[changeList](w, "claude-read", "list_resource_changes", `{"cursor":"`+changes+`"}`) // is kept until the next visit
	})
}

// event writes an event as a store would.
func (w *world) event(id, eventType, noteID, connection string, at time.Time) {
	w.Helper()
	w.exec(`INSERT INTO events (id, workspace_id, project_id, type, kind, resource_id, version, user_id, connection_id, data, created_at)
		VALUES ($1, 'atlas', 'alpha', $2, 'note', $3, 2, 'mara', $4, '{}', $5)`, id, eventType, noteID, connection, at.UnixMilli())
}

func TestChangesGoOnWhereTheyEnded(t *testing.T) {
	eachWorld(t, func(w *world) {
		nothing := ask[changeList](w, "claude-read", "list_resource_changes", `{}`)
		if nothing.NextCursor == "" || nothing.More || len(nothing.Items) != 0 {
			t.Errorf("got %+v, want no changes and a cursor", nothing)
		}
		w.note("m1", "alpha", "Mine")
		w.note("m2", "beta", "Elsewhere")
		w.event("e0", "note.edited", "n1", "", w.clock().Add(-8*24*time.Hour)) // too long ago for a first look
		w.event("e1", "note.created", "m1", "claude", w.clock())
		w.event("e2", "note.edited", "n1", "", w.clock())
		w.event("e3", "note.moved", "m2", "codex", w.clock())
		w.event("e4", "note.archived", "n1", "codex", w.clock())
		page := func(filters, cursor string) (list changeList, words string) {
			w.Helper()
			if cursor != "" {
				filters += `,"cursor":"` + cursor + `"`
			}
			list = ask[changeList](w, "claude-read", "list_resource_changes", `{`+strings.TrimPrefix(filters, ",")+`}`)
			var b []string
			for _, c := range list.Items {
				b = append(b, fmt.Sprintf("%s %s by %s %v", c.Change, c.ID, c.By, c.ByMe))
			}
			return list, strings.Join(b, "; ")
		}
		first, words := page(`,"limit":2`, "")
		if want := "created m1 by outside assistant Name of claude true; edited n1 by Name of mara false"; words != want || !first.More {
			w.Errorf("got %q, more %v, want %q and more", words, first.More, want)
		}
		second, words := page(`,"limit":2`, first.NextCursor)
		if want := "archived n1 by outside assistant Name of codex false"; words != want || second.More {
			w.Errorf("got %q, more %v, want %q", words, second.More, want)
		}
		third, words := page(`,"limit":2`, second.NextCursor)
		if words != "" || third.NextCursor == "" {
			w.Errorf("got %q and the cursor %q, want nothing new and a cursor", words, third.NextCursor)
		}
		w.event("e5", "note.renamed", "m1", "", w.clock())
		w.event("e6", "note.edited", "m2", "", w.clock())
		w.event("e6left", "note.left", "m1", "", w.clock()) // told to whoever sees only where it was
		w.exec(`INSERT INTO events (id, workspace_id, project_id, type, kind, resource_id, version, user_id, connection_id, data, created_at)
			VALUES ('e6foreign', 'globex', 'gamma', 'note.edited', 'note', 'n1', 2, 'mara', '', '{}', $1)`, w.clock().UnixMilli())
		if _, words = page(`,"limit":2`, third.NextCursor); words != "edited m1 by Name of mara false" {
			w.Errorf("got %q after something new", words)
		}
		// The cursor of an empty history goes on as well.
		if _, words = page("", nothing.NextCursor); !strings.HasPrefix(words, "created m1") {
			w.Errorf("got %q after the first cursor", words)
		}
		if _, words = page(`,"by":"me"`, ""); words != "created m1 by outside assistant Name of claude true" {
			w.Errorf("by me: got %q", words)
		}
		if _, words = page(`,"by":"others"`, ""); strings.Contains(words, "created") || !strings.Contains(words, "archived n1") {
			w.Errorf("by others: got %q", words)
		}
		w.refused(access.NotInProject, "claude-read", "list_resource_changes", `{"project_id":"beta"}`)
		w.refused(access.NotFound, "claude-read", "list_resource_changes", `{"project_id":"gamma"}`)
		w.grant("claude", "beta")
		if _, words = page(`,"project_id":"beta"`, ""); words != "moved m2 by outside assistant Name of codex false; edited m2 by Name of mara false" {
			w.Errorf("of beta: got %q", words)
		}
		for _, connection := range []string{"claude", "codex"} {
			w.exec(`INSERT INTO events (id, workspace_id, project_id, type, kind, resource_id, version, user_id, connection_id, data, created_at)
				VALUES ($1, 'atlas', 'beta', 'connection.added_to_project', 'connection', $2, 2, 'mara', '', '{}', $3)`, "e7"+connection, connection, w.clock().UnixMilli())
		}
		if list, words := page(`,"project_id":"beta","by":"others"`, ""); !strings.HasSuffix(words, "; re-granted beta by Name of mara false") || len(list.Items) != 3 || list.Items[2].Kind != access.KindProject || list.Items[2].Title != "beta" {
			w.Errorf("of beta, when it was given to both: got %q", words)
		}
		w.exec(`DELETE FROM connection_projects WHERE project_id = 'alpha'`)
		if _, words = page("", ""); strings.Contains(words, "m1") || strings.Contains(words, "n1") {
			w.Errorf("got %q of a project that was taken away", words)
		}
	})
}

func TestSearchFindsInGrantedProjects(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.note("b1", "beta", "Launch list", "|things to do")
		found := ask[hitList](w, "claude-read", "search", `{"query":"launch"}`)
		want := hit{
			ID: "n1", Kind: access.KindNote, Title: "First note", TabID: "n1.0", Snippet: "The launch is in March.", Version: 1, ProjectID: "alpha",
			UpdatedAt: w.clock(), URL: "https://osfoundry.example/notes/n1",
		}
		if len(found.Results) != 1 || found.Results[0] != want || found.NextCursor != "" {
			w.Errorf("got %+v, want %+v", found, want)
		}
		w.grant("claude", "beta")
		if got := ask[hitList](w, "claude-read", "search", `{"query":"launch"}`).Results; len(got) != 2 || got[0].ID != "b1" || got[0].TabID != "" || got[0].Snippet != "things to do" {
			w.Errorf("got %+v, want the title first, with the beginning of the note", got)
		}
		for arguments, want := range map[string]int{
			`"query":"launch","project_ids":["alpha"]`:                           1,
			`"query":"launch","project_ids":["alpha","beta","beta"]`:             2,
			`"query":"launch","project_ids":[]`:                                  2,
			`"query":"launch","kinds":["note"]`:                                  2,
			`"query":"launch","kinds":["table"]`:                                 0,
			`"query":"launch","updated_after":"2026-03-01T11:59:59Z"`:            2,
			`"query":"launch","updated_after":"2026-03-01T14:00:00+02:00"`:       0,
			`"query":"launch","limit":1`:                                         1,
			`"query":"launch absent"`:                                            0,
			`"query":"` + strings.Repeat("launch ", 42) + `"`:                    2,
			`"query":"launch\" OR \"x"`:                                          0,
			`"query":"LAUN"`:                                                     2,
			`"query":"launch","project_ids":["beta"],"kinds":["note","channel"]`: 1,
		} {
			if got := ask[hitList](w, "claude-read", "search", "{"+arguments+"}").Results; len(got) != want || got == nil {
				w.Errorf("%s: got %d results, want %d", arguments, len(got), want)
			}
		}
		for arguments, want := range map[string]access.Code{
			`"query":"launch","project_ids":["alpha","gamma"]`:  access.NotFound,
			`"query":"launch","project_ids":["alpha","secret"]`: access.ApproverLostAccess,
			`"query":""`:                                    access.InvalidArguments,
			`"query":" \"*' "`:                              access.InvalidArguments,
			`"query":"launch","limit":51`:                   access.InvalidArguments,
			`"query":"launch","kinds":["person"]`:           access.InvalidArguments,
			`"query":"launch","updated_after":"2026-03-01"`: access.InvalidArguments,
			`"query":"` + strings.Repeat("a", 301) + `"`:    access.InvalidArguments,
		} {
			w.refused(want, "claude-read", "search", "{"+arguments+"}")
		}
		w.exec(`UPDATE projects SET private = 0 WHERE id = 'secret'`)
		w.refused(access.NotInProject, "claude-read", "search", `{"query":"launch","project_ids":["secret","gamma"]}`)
	})
}

func TestSearchPagesThroughAllHits(t *testing.T) {
	eachWorld(t, func(w *world) {
		var want []string
		for i := range 11 {
			w.note(fmt.Sprintf("m%02d", i), "alpha", "Lighthouse", "|lamp")
			want = append(want, fmt.Sprintf("m%02d", i))
		}
		got, sizes := pages(w, "search", `"query":"lighthouse lamp"`, 4, func(l hitList) (ids []string, next string) {
			for _, h := range l.Results {
				ids = append(ids, h.ID)
			}
			return ids, l.NextCursor
		})
		if !slices.Equal(got, want) || !slices.Equal(sizes, []int{4, 4, 3}) {
			w.Errorf("got %q in pages of %v, want %q", got, sizes, want)
		}
	})
}

func TestFetchGivesTheWholeNoteOrSaysHowToGoOn(t *testing.T) {
	eachWorld(t, func(w *world) {
		whole := ask[document](w, "claude-read", "fetch", `{"id":"n1"}`)
		if whole.Text != "# Plan\n\nThe launch is in March.\n\n# Log\n\nNothing yet." || whole.Truncated || whole.Next != nil {
			w.Errorf("got %+v, want the whole text", whole)
		}
		if whole.Title != "First note" || whole.Kind != access.KindNote || whole.URL != "https://osfoundry.example/notes/n1" || whole.Version != 1 ||
			!slices.Equal(whole.Tabs, []documentTab{{"n1.0", "Plan", 1, 23}, {"n1.1", "Log", 1, 12}}) {
			w.Errorf("got %+v", whole)
		}
		const most = workspace.MaxTextPart
		for name, c := range map[string]struct {
			tabs   []string
			tab    string
			offset int64
		}{
			"just full":                {[]string{"A|" + strings.Repeat("字", most-5)}, "", 0},
			"one too many":             {[]string{"A|" + strings.Repeat("字", most-4)}, ".0", most - 5},
			"in the second tab":        {[]string{"A|" + strings.Repeat("𝄞", 10_000), "B|" + strings.Repeat("b", 100_000)}, ".1", most - 10_000 - 5 - 7},
			"full before the second":   {[]string{"A|" + strings.Repeat("a", most-5), "B|b"}, ".1", 0},
			"no room for a heading":    {[]string{"A|" + strings.Repeat("a", most-10), "B|"}, ".1", 0},
			"room for a heading alone": {[]string{"A|" + strings.Repeat("a", most-12), "B|b"}, ".1", 0},
			"an empty tab at the end":  {[]string{"A|" + strings.Repeat("a", most-12), "B|"}, "", 0},
		} {
			id := strings.ReplaceAll(name, " ", "-")
			w.note(id, "alpha", name, c.tabs...)
			d := ask[document](w, "claude-read", "fetch", `{"id":"`+id+`"}`)
			if n := utf8.RuneCountInString(d.Text); n > most || !utf8.ValidString(d.Text) {
				w.Errorf("%s: got %d characters", name, n)
			}
			if d.Truncated != (c.tab != "") || d.Truncated != (d.Next != nil) {
				w.Errorf("%s: truncated %v, next %+v", name, d.Truncated, d.Next)
				continue
			}
			if d.Truncated && (d.Next.Tool != "read_note_tab" || d.Next.Arguments != readOnNextPart{id, id + c.tab, c.offset}) {
				w.Errorf("%s: got %+v, want to go on at %d of %s", name, d.Next, c.offset, c.tab)
			}
		}
	})
}

// Each change of a note through its tools is found at once, and what it replaced
// is not.
func TestSearchFollowsTheNoteTools(t *testing.T) {
	eachWorld(t, func(w *world) {
		w.grant("claude", "beta")
		key := 0
		do := func(tool, arguments string) (noteID, tabID string) {
			w.Helper()
			key++
			answer := ask[map[string]any](w, "claude-write", tool, fmt.Sprintf(`{%s,"idempotency_key":"change number %d"}`, arguments, key))
			noteID, _ = answer["id"].(string)
			if tabs, ok := answer["tabs"].([]any); ok {
				tabID, _ = tabs[len(tabs)-1].(map[string]any)["id"].(string)
			}
			return noteID, tabID
		}
		expect := func(query string, want int) {
			w.Helper()
			if got := ask[hitList](w, "claude-read", "search", `{"query":"`+query+`"}`).Results; len(got) != want {
				w.Errorf("%q: got %+v, want %d", query, got, want)
			}
		}
		note, tab := do("create_note", `"project_id":"alpha","title":"Kayak","tabs":[{"title":"Gear","markdown":"paddle"}]`)
		of := `"note_id":"` + note + `"`
		expect("kayak gear paddle", 1)
		do("edit_note_tab", of+`,"tab_id":"`+tab+`","edits":[{"find":"paddle","replace":"helmet"}],"expected_version":1`)
		expect("paddle", 0)
		expect("helmet", 1)
		do("append_note_tab", of+`,"tab_id":"`+tab+`","markdown":"whistle"`)
		expect("helmet whistle", 1)
		do("replace_note_tab", of+`,"tab_id":"`+tab+`","markdown":"rope","expected_version":3`)
		expect("whistle", 0)
		expect("rope", 1)
		do("restore_note_version", of+`,"tab_id":"`+tab+`","version":1,"expected_version":4`)
		expect("rope", 0)
		expect("paddle", 1)
		do("add_note_tab", of+`,"title":"Route","markdown":"fjord","expected_version":1`)
		expect("kayak route fjord", 1)
		do("rename_note", of+`,"title":"Canoe","expected_version":2`)
		expect("kayak", 0)
		expect("canoe fjord", 1)
		do("move_note", of+`,"project_id":"beta","expected_version":3`)
		if got := ask[hitList](w, "claude-read", "search", `{"query":"canoe","project_ids":["beta"]}`).Results; len(got) != 1 || got[0].ProjectID != "beta" {
			w.Errorf("got %+v after the move", got)
		}
		if got := ask[hitList](w, "claude-read", "search", `{"query":"canoe","project_ids":["alpha"]}`).Results; len(got) != 0 {
			w.Errorf("got %+v where the note was", got)
		}
		do("archive_note", of+`,"expected_version":4`)
		expect("canoe", 0)
		words := ""
		for _, c := range ask[changeList](w, "claude-read", "list_resource_changes", `{"by":"me"}`).Items {
			words += c.Change + " "
		}
		if want := "created edited edited edited edited edited edited moved archived "; words != want {
			w.Errorf("got the changes %q, want %q", words, want)
		}
	})
}
