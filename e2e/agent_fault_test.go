package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// byGoal is a script for tasks side by side: the word before the first full stop of
// a goal says which moves are its own.
type byGoal struct {
	mu    sync.Mutex
	moves map[string][]providertest.Move
	times map[string][]time.Time // of requests
}

func (b *byGoal) script(r providertest.Request) providertest.Move {
	b.mu.Lock()
	defer b.mu.Unlock()
	for goal, moves := range b.moves {
		if !strings.Contains(heard(r), "\n"+goal+".") {
			continue
		}
		n := len(b.times[goal])
		b.times[goal] = append(b.times[goal], time.Now())
		return moves[min(n, len(moves)-1)]
	}
	return providertest.Move{Status: 400, Body: "no such script"}
}

func (b *byGoal) asked(goal string) []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.times[goal]
}

// What goes wrong once is tried again after a pause, and the round says meanwhile
// what it waits for.
func TestATurnThatFailsIsTakenAgainAfterAPause(t *testing.T) {
	eachModel(t, func(t *testing.T, s *studio, m *model, provider string) {
		good := says("It works.")
		b := &byGoal{times: map[string][]time.Time{}, moves: map[string][]providertest.Move{
			"down":    {{Hangup: true}, good},
			"failed":  {{Status: 500, Body: `{"error":{"message":"` + modelKey + `"}}`}, good},
			"busy":    {{Status: 429, Header: map[string]string{"Retry-After": "2"}, Body: `{"error":{}}`}, good},
			"cut":     {{Text: []string{"Half of"}, Cut: true}, good},
			"open":    {{Text: []string{"Half of"}, Open: true}, good},
			"garbage": {{Text: []string{"Half of"}, Events: []string{"data: {not json"}, Open: true}, good},
			"page":    {{Header: map[string]string{"Content-Type": "text/html"}, Text: []string{"<html>"}}, good},
			"arguments": {{Calls: []agent.Call{{ID: "call-1", Name: "search", Arguments: []byte(`{"query": `)}}, In: 1, Out: 1},
				good},
			"list": {{Calls: []agent.Call{{ID: "call-1", Name: "search", Arguments: []byte(`["query"]`)}}, In: 1, Out: 1}, good},
		}}
		m.play(b.script)
		reasons := map[string]string{"down": "down", "failed": "failed", "busy": "busy", "cut": "cut", "open": "cut", "garbage": "garbage", "page": "garbage",
			"arguments": "garbage", "list": "garbage"}
		session := s.session("agent", nil, worker("tester", provider, "search"))
		tasks := map[string]string{}
		for goal := range b.moves {
			tasks[goal] = s.queue(s.Owner, session, goal+". Do it.", 3)
		}
		for goal, id := range tasks {
			k := s.until(session, id, "given back", func(k task) bool { return len(k.Rounds) > 0 && k.Rounds[0].Reason != "" || k.over() })
			if reason := k.Rounds[0].Reason; !k.over() && !strings.HasPrefix(reason, "provider_"+reasons[goal]+": ") {
				t.Errorf("%s: the round waits because of %q, want provider_%s", goal, reason, reasons[goal])
			}
		}
		for goal, id := range tasks {
			k := s.ended(session, id)
			k.wants(t, "succeeded", "")
			at := b.asked(goal)
			least := time.Second
			if goal == "busy" {
				least = 2 * time.Second
			}
			if len(at) != 2 || at[1].Sub(at[0]) < least || k.Rounds[0].Attempt != 2 || k.Result != "It works." {
				t.Errorf("%s: asked at %v, want twice with %v between: %v", goal, at, least, k)
			}
		}
	})
}

// What will not get better fails at once, and what does not get better in five turns
// fails then. The reason says what and where, in words.
func TestATaskWhoseTurnsFailEndsWithAReasonToRead(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := nobody.Addr().String()
	nobody.Close()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		s := openStudio(t, o, func(c *config.Config) { c.ProviderHosts = append(c.ProviderHosts, nowhere) })
		s.provider("absent", testkit.Object{"kind": "openai", "base_url": "http://" + nowhere + "/v1", "model": "m", "key": modelKey})
		s.provider("forbidden", testkit.Object{"kind": "anthropic", "base_url": "http://127.0.0.1:9", "model": "m", "key": modelKey})
		for _, p := range protocols {
			s.models[p].play(func(r providertest.Request) providertest.Move {
				if strings.Contains(heard(r), "wrong key") {
					return providertest.Move{Status: 401, Body: `{"error":{"message":"bad key ` + modelKey + `","type":"authentication_error","code":"invalid_api_key"}}`}
				}
				return providertest.Move{Status: 503, Body: modelKey}
			})
		}
		for _, c := range []struct{ provider, goal, reason string }{
			{"openai", "wrong key", "provider_refused: "}, {"anthropic", "wrong key", "provider_refused: "}, {"forbidden", "x", "provider_refused: "},
			{"openai", "fails", "provider_failed: "}, {"absent", "x", "provider_down: "},
		} {
			session := s.session("agent", nil, worker("tester", c.provider))
			id := s.queue(s.Owner, session, c.goal, 2)
			if c.reason != "provider_refused: " {
				s.fourFaults(session, id)
			}
			k := s.ended(session, id)
			k.wants(t, "failed", c.reason)
			host := nowhere
			if m := s.models[providertest.Protocol(c.provider)]; m != nil {
				host = m.Host()
			}
			if c.provider == "forbidden" {
				host = "127.0.0.1:9"
			}
			if !strings.Contains(k.Reason, host) || !strings.HasSuffix(k.Reason, ".") || k.Rounds[0].Reason != k.Reason {
				t.Errorf("the reason is %q, want a sentence that names %s", k.Reason, host)
			}
		}
	})
}

// fourFaults waits for the first fault of a task and makes it the fourth, so that a
// test need not wait for the longer pauses.
func (s *studio) fourFaults(session, id string) {
	s.Helper()
	s.until(session, id, "given back", func(k task) bool { return len(k.Rounds) > 0 && k.Rounds[0].Reason != "" })
	done, err := s.Raw().Exec(`UPDATE rounds SET faults = 4 WHERE task_id = $1 AND state = 'queued' AND faults = 1`, id)
	if err != nil {
		s.Fatal(err)
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		s.Fatalf("one fault was noted on %d rounds (%v), want on one", n, err)
	}
}

// A key that a person gave is for its server alone.
func TestTheKeyOfAModelServerShowsNowhere(t *testing.T) {
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		log := &buffer{}
		s := openStudioLogging(t, o, log, func(c *config.Config) { c.AgentPrograms = []string{"/usr/bin/env"} })
		s.provider("program", testkit.Object{"kind": "command", "command": []string{"/usr/bin/env"}})
		e := listen(t, s.House, s.Owner)
		assistant, connection := s.Owner.Connect(probe.Version20251125)
		s.Owner.AddConnection(s.project, connection)
		shown := ""
		for _, p := range protocols {
			m := s.models[p]
			m.play(func(r providertest.Request) providertest.Move {
				switch {
				case strings.Contains(heard(r), "\nrefuse"):
					return providertest.Move{Status: 401, Body: `{"error":{"message":"not ` + modelKey + `","code":"` + modelKey + `","type":"` + modelKey + `"}}`}
				case r.Number == 1:
					return calls(call("search", testkit.Object{"query": "anything"}))
				}
				return says("Done.")
			})
			session := s.session("agent", nil, worker("asker", string(p), "search"))
			s.Owner.Seat(session, connection, "runner")
			s.run(session, "work", 3).wants(t, "succeeded", "")
			s.run(session, "refuse", 3).wants(t, "failed", "provider_refused")
			id := s.accept(session, s.propose(assistant, session, "refuse again"))
			shown += awaitResult(t, assistant, session, id).Reason
			for _, r := range m.asked() {
				if !strings.Contains(fmt.Sprint(r.Header), modelKey) {
					t.Error("a request came without the key: the test would see nothing")
				}
				shown += r.Body
			}
			_, body := s.Owner.Do("GET", "/agent-sessions/"+session+"/tasks", nil)
			shown += string(body)
			shown += testkit.Call(t, assistant, "read_session_state", testkit.Object{"session_type": "agent", "session_id": session}).Text
		}
		k := s.run(s.session("agent", nil, worker("printer", "program")), "print", 1)
		k.wants(t, "succeeded", "")
		if !strings.Contains(k.Result, "HOME=") {
			t.Errorf("the program shows its environment as %q", k.Result)
		}
		shown += k.String()
		for _, path := range []string{"/providers", "/providers/openai", "/audit?limit=100", "/figures"} {
			status, body := s.Owner.Do("GET", "/workspaces/"+s.Workspace+path, nil)
			if status != 200 {
				t.Errorf("GET %s: %d %s", path, status, body)
			}
			shown += string(body)
		}
		_, body := s.Owner.Do("GET", "/openapi.json", nil)
		shown += string(body)
		e.untilTold("task.ended")
		if log.String() == "" {
			t.Error("nothing was logged: the test would see nothing")
		}
		for where, text := range map[string]string{"what was answered and asked": shown, "the log": log.String(), "the stream": e.everything(), "the database": dump(t, s.House)} {
			for _, form := range []string{modelKey, hex.EncodeToString([]byte(modelKey)), base64.StdEncoding.EncodeToString([]byte(modelKey))[:24], "canary-4711"} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("the key shows in %s: …%s…", where, text[max(0, at-200):min(len(text), at+200)])
				}
			}
		}
	})
}

// dump is everything in the database, as text.
func dump(t *testing.T, h *testkit.House) string {
	t.Helper()
	var all strings.Builder
	for _, table := range tables(t, h) {
		rows, err := h.Raw().Query("SELECT * FROM " + table)
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		names, err := rows.Columns()
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			for _, v := range values {
				if text, ok := v.([]byte); ok {
					v = string(text)
				}
				fmt.Fprintln(&all, v)
			}
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(all.String(), "provider_refused") {
		t.Error("the dump does not hold what must be in it")
	}
	for _, file := range []string{h.Options.Path, h.Options.Path + "-wal"} { // what was deleted too
		if h.Options.Path == "" {
			break
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
		}
		all.Write(text)
	}
	return all.String()
}

// tables are the names of all tables.
func tables(t *testing.T, h *testkit.House) (names []string) {
	t.Helper()
	query := `SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`
	if h.Options.DatabaseURL != "" {
		query = `SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()`
	}
	rows, err := h.Raw().Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
