package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

const houseOfModels = "/workspaces/atlas/providers/house"

// opened is the key of a provider as whoever takes turns gets it.
func (w *world) opened(workspaceID, name string) (key string, ok bool) {
	w.Helper()
	w.must(w.db.Read(w.Context(), func(tx access.Tx) (err error) {
		_, key, ok, err = w.providers.Open(w.Context(), tx, workspaceID, name)
		return err
	}))
	return key, ok
}

func TestAKeyIsTakenAndNeverGivenOut(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		const secret = "sk-canary-0123456789"
		ear := w.browser("mara").listen("")
		answers := mara.wants(200, "PUT", houseOfModels, `{"kind":"openai","base_url":"https://models.example/v1","model":"big","key":"`+secret+`"}`).body
		answers += mara.wants(200, "GET", houseOfModels, "").body
		answers += mara.wants(200, "GET", "/workspaces/atlas/providers", "").body
		answers += mara.wants(200, "GET", "/workspaces/atlas/audit", "").body
		answers += fmt.Sprint(ear.until("provider.changed"))
		if strings.Contains(answers, "canary") || strings.Count(answers, `"has_key":true`) != 3 {
			w.Errorf("the key was given out, or has_key is missing: %s", answers)
		}
		if n := w.count(`SELECT COUNT(*) FROM providers WHERE workspace_id = 'atlas' AND (secret LIKE '%canary%' OR secret = '')`); n != 0 {
			w.Error("the key is kept as it is, or not at all")
		}
		if key, ok := w.opened("atlas", "house"); key != secret || !ok {
			w.Errorf("opened: got %q, %v; want the key", key, ok)
		}
		mara.wants(200, "PUT", houseOfModels, `{"kind":"openai","base_url":"https://models.example/v1","model":"small"}`) // keeps it
		if key, _ := w.opened("atlas", "house"); key != secret {
			w.Errorf("after another model: got %q, want the key", key)
		}
		// Whoever can write the row of one workspace gets no key out of another's.
		w.exec(`UPDATE providers SET secret = (SELECT p.secret FROM providers p WHERE p.workspace_id = 'atlas' AND p.name = 'house') WHERE workspace_id = 'globex'`)
		err := w.db.Read(w.Context(), func(tx access.Tx) error {
			_, _, _, err := w.providers.Open(w.Context(), tx, "globex", "theirs")
			return err
		})
		if access.CodeOf(err) != access.Internal {
			w.Errorf("a key of another workspace: got %v, want an error", err)
		}
		mara.wants(200, "PUT", houseOfModels, `{"kind":"openai","base_url":"https://models.example/v1","key":""}`)
		if key, ok := w.opened("atlas", "house"); key != "" || !ok {
			w.Errorf("after the key was removed: got %q", key)
		}
	})
}

// Otherwise who may change the address could have the key sent to themselves.
func TestAKeyGoesOnlyWhereItWasGivenFor(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		mara.wants(200, "PUT", houseOfModels, `{"kind":"openai","base_url":"https://models.example/v1","key":"secret"}`)
		for _, body := range []string{
			`{"kind":"openai","base_url":"https://elsewhere.example/v1"}`, `{"kind":"openai"}`, `{"kind":"anthropic","base_url":"https://models.example/v1"}`,
			`{"kind":"command","command":["` + allowedProgram + `"]}`,
		} {
			a := mara.call("PUT", houseOfModels, body)
			if _, _, fields := a.refusal(); a.status != 422 || fields["key"] == nil {
				w.Errorf("%s: got %s, want 422 about the key", body, a)
			}
		}
		if key, _ := w.opened("atlas", "house"); key != "secret" {
			w.Errorf("after refusals: got %q, want the key", key)
		}
		got := mara.wants(200, "PUT", houseOfModels, `{"kind":"command","command":["`+allowedProgram+`","-x"],"key":""}`).read(w)
		if got["has_key"] != false || fmt.Sprint(got["command"]) != "["+allowedProgram+" -x]" || got["version"] != 2.0 {
			w.Errorf("got %v, want a command at version 2", got)
		}
	})
}

func TestAProviderThatCouldNotWorkIsRefusedByField(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		for body, field := range map[string]string{
			`{"kind":"local"}`: "kind",
			`{"kind":"openai","base_url":"ftp://models.example"}`:          "base_url",
			`{"kind":"openai","base_url":"models.example"}`:                "base_url",
			`{"kind":"openai","base_url":"https://me:pw@models.example"}`:  "base_url",
			`{"kind":"openai","base_url":"https://models.example?key=1"}`:  "base_url",
			`{"kind":"openai","base_url":"https://models.example/#"}`:      "base_url",
			`{"kind":"openai","base_url":"file:///etc/passwd"}`:            "base_url",
			`{"kind":"openai","key":"two\nlines"}`:                         "key",
			`{"kind":"openai","key":"` + strings.Repeat("k", 4097) + `"}`:  "key",
			`{"kind":"openai","model":"` + strings.Repeat("m", 101) + `"}`: "model",
			`{"kind":"openai","command":["` + allowedProgram + `"]}`:       "command",
			`{"kind":"command"}`: "command",
			`{"kind":"command","command":["/bin/sh","-c","id"]}`:                                          "command/0",
			`{"kind":"command","command":["true"]}`:                                                       "command/0",
			`{"kind":"command","command":["` + allowedProgram + `","` + strings.Repeat("a", 4097) + `"]}`: "command/1",
			`{"kind":"command","command":["` + allowedProgram + `"` + strings.Repeat(`,"a"`, 64) + `]}`:   "command",
			`{"kind":"command","command":["` + allowedProgram + `"],"key":"k"}`:                           "key",
			`{"kind":"command","command":["` + allowedProgram + `"],"base_url":"https://models.example"}`: "base_url",
		} {
			a := mara.call("PUT", houseOfModels, body)
			if _, _, fields := a.refusal(); a.status != 422 || fields[field] == nil {
				w.Errorf("%.80s: got %s, want 422 about %s", body, a, field)
			}
		}
		for _, name := range []string{"rehearsal", "House", "-x", "a_b", strings.Repeat("a", 41), "a%2Fb", "%00"} {
			a := mara.call("PUT", "/workspaces/atlas/providers/"+name, `{"kind":"openai"}`)
			if _, _, fields := a.refusal(); a.status != 422 || fields["name"] == nil {
				w.Errorf("name %s: got %s, want 422 about the name", name, a)
			}
		}
		if n := w.count(`SELECT COUNT(*) FROM providers WHERE workspace_id = 'atlas'`); n != 0 {
			w.Errorf("%d providers of refused calls", n)
		}
	})
}

func TestAnAgentOfADeletedProviderStays(t *testing.T) {
	eachWorld(t, func(w *world) {
		mara := w.script("mara")
		mara.wants(200, "PUT", houseOfModels, `{"kind":"anthropic"}`)
		mara.wants(200, "PATCH", "/agent-sessions/crew", `{"agents":[{"slug":"worker","instructions":"","provider":"house"}],"expected_version":1}`)
		mara.wants(204, "DELETE", houseOfModels, "")
		mara.refused(404, access.NotFound, "DELETE", houseOfModels, "")
		mara.refused(404, access.NotFound, "GET", houseOfModels, "")
		mara.wants(200, "PATCH", "/agent-sessions/crew", `{"title":"Renamed","expected_version":2}`)
		a := mara.call("PATCH", "/agent-sessions/crew", `{"agents":[{"slug":"other","instructions":"","provider":"house"}],"expected_version":3}`)
		if _, _, fields := a.refusal(); a.status != 422 || fields["agents/0/provider"] == nil {
			w.Errorf("a new agent of it: got %s, want 422", a)
		}
		if _, ok := w.opened("atlas", "house"); ok {
			w.Error("a deleted provider can be opened")
		}
	})
}
