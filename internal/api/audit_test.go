package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// audited lists entries as "tool kind thing decision code", oldest first.
func audited(c *caller, path string) (all []string) {
	c.w.Helper()
	for _, item := range c.wants(200, "GET", path, "").read(c.w)["items"].([]any) {
		e := item.(map[string]any)
		line := []string{}
		for _, name := range []string{"user_id", "tool", "kind", "resource_id", "project_id", "decision", "code"} {
			if text, _ := e[name].(string); text != "" {
				line = append(line, text)
			}
		}
		all = append(all, strings.Join(line, " "))
	}
	slices.Reverse(all)
	return all
}

func TestTheAuditHoldsChangesAndDenialsWithTheirReason(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara, ben, pia, vic, eve := w.script("mara"), w.script("ben"), w.script("pia"), w.script("vic"), w.script("eve")
		ben.wants(200, "PATCH", "/notes/plan", `{"title":"Secret title","expected_version":1}`)
		ben.wants(200, "GET", "/notes/plan", "") // reading one's own is not noted
		vic.wants(403, "PATCH", "/notes/plan", `{"title":"x","expected_version":2}`)
		pia.wants(403, "GET", "/notes/listed", "")
		ben.wants(403, "GET", "/notes/hidden", "")
		ben.wants(409, "PATCH", "/notes/plan", `{"title":"x","expected_version":1}`)
		mara.wants(200, "PATCH", "/connections/desk", `{"status":"paused"}`)
		mara.wants(201, "POST", "/projects/alpha/connections", `{"connection_id":"desk"}`)
		eve.wants(404, "GET", "/notes/plan", "")
		ben.wants(422, "PATCH", "/notes/plan", `{"title":"","expected_version":2}`)
		want := []string{
			"ben note.change note plan alpha allowed",
			"vic note.change note plan alpha denied forbidden",
			"pia note.get note listed alpha denied acl_denied",
			"ben note.get note hidden secret denied not_in_project",
			"ben note.change note plan alpha denied version_conflict",
			"mara connection.change connection desk allowed",
			"mara project.connection.add project alpha alpha allowed",
		}
		if got := audited(mara, "/workspaces/atlas/audit"); !slices.Equal(got, want) {
			w.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		of := func(project string) (all []string) {
			for _, line := range want {
				if strings.Contains(line, " "+project+" allowed") || strings.Contains(line, " "+project+" denied") {
					all = append(all, line)
				}
			}
			return all
		}
		if got := audited(mara, "/projects/alpha/audit"); !slices.Equal(got, of("alpha")) {
			w.Errorf("of alpha: got %q, want %q", got, of("alpha"))
		}
		if got := audited(pia, "/projects/secret/audit"); !slices.Equal(got, of("secret")) { // whose project it is
			w.Errorf("of secret: got %q, want %q", got, of("secret"))
		}
		if got := audited(mara, "/workspaces/atlas/audit?decision=denied&tool=note.change"); len(got) != 2 {
			w.Errorf("denied changes: got %q", got)
		}
		body := mara.wants(200, "GET", "/workspaces/atlas/audit", "").body
		for _, secret := range []string{"Secret title", password, mara.token, "osf_"} {
			if strings.Contains(body, secret) {
				w.Errorf("the audit holds %q", secret)
			}
		}
		ben.refused(403, access.Forbidden, "GET", "/workspaces/atlas/audit", "")
	})
}

func TestReadsOfConnectionsAreInTheAuditAtOnce(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		began := w.clock()
		for i := range 3 {
			w.pass(time.Minute)
			w.log.Later(workspace.Entry{
				ID: workspace.NewID(), WorkspaceID: "atlas", ProjectID: "alpha", UserID: "ben", ConnectionID: "desk",
				Tool: "read_note", Kind: access.KindNote, ResourceID: "plan", CreatedAt: w.clock(), Duration: 1500 * time.Microsecond,
			})
			if got := audited(mara, "/workspaces/atlas/audit?connection=desk"); len(got) != i+1 {
				w.Fatalf("after read %d: got %q", i+1, got)
			}
		}
		at := func(minutes int) string {
			return began.Add(time.Duration(minutes) * time.Minute).UTC().Format(time.RFC3339Nano)
		}
		if got := audited(mara, "/projects/alpha/audit?since="+at(2)+"&until="+at(3)); len(got) != 1 {
			w.Errorf("from the second minute to before the third: got %q, want one", got)
		}
		page := mara.wants(200, "GET", "/workspaces/atlas/audit?limit=2", "").read(w)
		first := page["items"].([]any)[0].(map[string]any)
		if first["connection_id"] != "desk" || first["duration_us"] != 1500.0 || first["at"] != at(3) {
			w.Errorf("the newest is %v", first)
		}
		rest := mara.wants(200, "GET", fmt.Sprint("/workspaces/atlas/audit?limit=2&cursor=", page["next_cursor"]), "").read(w)
		if len(rest["items"].([]any)) != 1 || rest["next_cursor"] != nil {
			w.Errorf("the second page is %v", rest)
		}
	})
}
