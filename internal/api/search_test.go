package api_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

// found are the IDs of the notes of atlas that the caller finds, sorted.
func (c *caller) found(q string) []string {
	c.w.Helper()
	var ids []string
	for _, item := range c.wants(200, "GET", "/workspaces/atlas/search?q="+url.QueryEscape(q), "").read(c.w)["items"].([]any) {
		ids = append(ids, item.(map[string]any)["title"].(string))
	}
	slices.Sort(ids)
	return ids
}

// write makes a note of the project and returns its ID.
func (c *caller) write(project, title, text string) string {
	c.w.Helper()
	return c.wants(201, "POST", "/projects/"+project+"/notes", `{"title":"`+title+`","tabs":[{"title":"Text","markdown":"`+text+`"}]}`).read(c.w)["id"].(string)
}

func TestPeopleFindTheNotesThatTheyCanOpen(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben, pia := w.browser("mara"), w.browser("ben"), w.browser("pia")
		titles := map[string]string{}
		for title, id := range map[string]string{
			"open": ben.write("alpha", "open", "the zebra runs"), "local": ben.write("beta", "local", "a zebra stays"),
			"private": pia.write("secret", "private", "zebra"), "shared": ben.write("alpha", "shared", "zebra"),
			"archived": ben.write("alpha", "archived", "zebra"), "zebra": ben.write("alpha", "zebra", "striped"),
			"other": ben.write("alpha", "other", "horse"),
		} {
			titles[id] = title
			switch title {
			case "local":
				mara.wants(200, "PATCH", "/notes/"+id+"/acl", `{"local_only":true}`)
			case "shared":
				mara.wants(200, "PUT", "/notes/"+id+"/acl", `{"users":[{"id":"ben","right":"edit"},{"id":"vic","right":"view"}]}`)
			case "archived":
				ben.wants(200, "PATCH", "/notes/"+id, `{"archived":true,"expected_version":1}`)
			}
		}
		w.browser("eve").write("gamma", "foreign", "zebra")
		for person, want := range map[string][]string{
			"mara": {"local", "open", "zebra"}, "ben": {"local", "open", "shared", "zebra"},
			"pia": {"local", "open", "private", "zebra"}, "vic": {"local", "open", "shared", "zebra"},
		} {
			if got := w.script(person).found("ZEBRA"); !slices.Equal(got, want) {
				w.Errorf("%s finds %q, want %q", person, got, want)
			}
			for id, title := range titles { // found is what opens
				opens := w.script(person).call("GET", "/notes/"+id, "").status == 200
				if has := slices.Contains(want, title); title != "archived" && title != "other" && opens != has {
					w.Errorf("%s: %s opens: %v, is found: %v", person, title, opens, has)
				}
			}
		}
		w.script("eve").refused(404, access.NotFound, "GET", "/workspaces/atlas/search?q=zebra", "")
		if got := ben.found("the zebra nobody"); got != nil {
			w.Errorf("words that no note has together find %q", got)
		}
	})
}

func TestASearchIsPagedAndSaysWhatItFound(t *testing.T) {
	eachWorld(t, func(w *world) {
		ben := w.browser("ben")
		for _, title := range []string{"one", "two", "three"} {
			ben.write("alpha", title, "A **zebra** in number "+title)
		}
		var got []string
		path := "/workspaces/atlas/search?q=zeb&limit=2"
		for cursor := ""; ; {
			a := ben.wants(200, "GET", path+cursor, "").read(w)
			for _, item := range a["items"].([]any) {
				n := item.(map[string]any)
				got = append(got, n["title"].(string))
				if n["project_id"] != "alpha" || n["tab_id"] == nil || !strings.Contains(n["snippet"].(string), "A zebra in number") {
					w.Errorf("found %v", n)
				}
			}
			next, ok := a["next_cursor"].(string)
			if !ok {
				break
			}
			cursor = "&cursor=" + url.QueryEscape(next)
		}
		slices.Sort(got)
		if want := []string{"one", "three", "two"}; !slices.Equal(got, want) {
			w.Errorf("got %q, want %q", got, want)
		}
		for _, q := range []string{"", "?q=", "?q=%20", "?q=..."} {
			ben.refused(422, access.InvalidArguments, "GET", "/workspaces/atlas/search"+q, "")
		}
		ben.wants(400, "GET", "/workspaces/atlas/search?q="+strings.Repeat("x", 201), "")
	})
}
