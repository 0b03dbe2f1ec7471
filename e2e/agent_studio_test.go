package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The tests of the agent runtime put up a studio: a house whose agents ask model
// servers that play scripts. What the servers were asked and what people and
// assistants get to read is judged, and the database where that is the point.

// modelKey is the key of every model server. It belongs into the header of their
// requests, and nowhere else.
const modelKey = "sk-canary-4711-0815-of-the-studio"

// overAfter is how long a task may take that does not wait for anything.
const overAfter = 30 * time.Second

// studio is a house with a model server of each protocol, which its workspace
// knows by the protocol's name.
type studio struct {
	*testkit.House
	project string
	models  map[providertest.Protocol]*model
}

// model is a model server whose script can be changed.
type model struct {
	*providertest.Server
	mu     sync.Mutex
	script providertest.Script // guarded by mu
	from   int                 // requests before the script; guarded by mu
}

var protocols = []providertest.Protocol{providertest.OpenAI, providertest.Anthropic}

func newModel(t testing.TB, p providertest.Protocol) *model {
	t.Helper()
	m := &model{script: providertest.Moves()}
	m.Server = providertest.NewServer(t, p, func(r providertest.Request) providertest.Move {
		m.mu.Lock()
		script := m.script
		r.Number -= m.from
		m.mu.Unlock()
		return script(r)
	})
	return m
}

// play begins another script, which counts requests from 1.
func (m *model) play(s providertest.Script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script, m.from = s, len(m.Server.Requests())
}

// asked are the requests since the script began.
func (m *model) asked() []providertest.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.Server.Requests()[m.from:]
}

// eachStudio runs f in a studio on each database.
func eachStudio(t *testing.T, f func(t *testing.T, s *studio)) {
	t.Helper()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) { f(t, openStudio(t, o, nil)) })
}

// eachModel runs f in a studio on each database, with each model.
func eachModel(t *testing.T, f func(t *testing.T, s *studio, m *model, provider string)) {
	t.Helper()
	eachStudio(t, func(t *testing.T, s *studio) {
		for _, p := range protocols {
			t.Run(string(p), func(t *testing.T) {
				whole := s.TB
				s.TB = t // failures are this test's
				defer func() { s.TB = whole }()
				f(t, s, s.models[p], string(p))
			})
		}
	})
}

// openStudio puts up a studio with other settings.
func openStudio(t *testing.T, o storage.Options, tune func(*config.Config)) *studio {
	t.Helper()
	return openStudioLogging(t, o, io.Discard, tune)
}

func openStudioLogging(t *testing.T, o storage.Options, log io.Writer, tune func(*config.Config)) *studio {
	t.Helper()
	s := &studio{models: map[providertest.Protocol]*model{}}
	for _, p := range protocols {
		s.models[p] = newModel(t, p)
	}
	s.House = testkit.OpenLogging(t, o, log, func(c *config.Config) {
		c.ProviderHosts = nil
		for _, p := range protocols {
			c.ProviderHosts = append(c.ProviderHosts, s.models[p].Host())
		}
		c.QueuedTasks = 10_000
		if tune != nil {
			tune(c)
		}
	})
	for _, p := range protocols {
		s.provider(string(p), testkit.Object{"kind": string(p), "base_url": s.models[p].BaseURL(), "model": "stub-1", "key": modelKey})
	}
	s.project = s.Owner.Project("Alpha", false)
	s.Raw() // for as long as the studio stands
	return s
}

// provider configures a provider of the workspace.
func (s *studio) provider(name string, body testkit.Object) {
	s.Helper()
	s.Owner.Must("PUT", "/workspaces/"+s.Workspace+"/providers/"+name, body, nil)
}

// worker is an agent of a session.
func worker(slug, provider string, tools ...string) testkit.Object {
	return testkit.Object{"slug": slug, "instructions": "Do what is asked.", "provider": provider, "tools": slices.Concat([]string{}, tools)}
}

// session makes a session in the studio's project; more is besides type, title and
// agents.
func (s *studio) session(kind string, more testkit.Object, agents ...testkit.Object) string {
	s.Helper()
	body := testkit.Object{"type": kind, "title": "Session", "agents": agents}
	for name, value := range more {
		body[name] = value
	}
	var m testkit.Made
	s.Owner.Must("POST", "/projects/"+s.project+"/agent-sessions", body, &m)
	return m.ID
}

// task is a task as people see it.
type task struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
	Result    string `json:"result"`
	ResultBy  string `json:"result_by"`
	RoundsN   int64  `json:"rounds_done"`
	ToolCalls int64  `json:"tool_calls"`
	Tokens    int64  `json:"tokens"`
	Rounds    []struct {
		Number  int64  `json:"number"`
		Agent   string `json:"agent"`
		State   string `json:"state"`
		Attempt int64  `json:"attempt"`
		Text    string `json:"text"`
		Reason  string `json:"reason"`
		Model   string `json:"model"`
		Calls   []struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Result    string `json:"result"`
			Failed    bool   `json:"failed"`
			Code      string `json:"code"`
		} `json:"calls"`
		TokensIn  int64      `json:"tokens_in"`
		TokensOut int64      `json:"tokens_out"`
		EffectAt  *time.Time `json:"effect_at"`
	} `json:"rounds"`
}

func (k task) over() bool {
	return slices.Contains([]string{"succeeded", "failed", "stopped"}, k.State)
}

// String is what failures print of a task.
func (k task) String() string {
	text, _ := json.MarshalIndent(k, "", " ")
	return string(text)
}

// queue queues a task as the person.
func (s *studio) queue(by *testkit.Person, session, goal string, rounds int) string {
	s.Helper()
	body := testkit.Object{"goal": goal}
	if rounds > 0 {
		body["max_rounds"] = rounds
	}
	var m testkit.Made
	by.Must("POST", "/agent-sessions/"+session+"/tasks", body, &m)
	return m.ID
}

// propose proposes a handoff of three rounds to a session of type agent.
func (s *studio) propose(assistant *probe.Session, session, goal string) string {
	s.Helper()
	var made struct {
		ID string `json:"handoff_id"`
	}
	r := testkit.Call(s, assistant, "propose_session_handoff", testkit.Object{
		"session_type": "agent", "session_id": session, "goal": goal, "context_summary": "Some context.", "requested_output": "A page.",
		"idempotency_key": "studio-" + workspaceID(),
	})
	if err := r.Read(&made); err != nil || made.ID == "" {
		s.Fatalf("propose: got %s (%s), want a pending handoff", said(r), r.Text)
	}
	return made.ID
}

// accept accepts a handoff as the owner and returns its task.
func (s *studio) accept(session, handoff string) string {
	s.Helper()
	var accepted struct {
		TaskID string `json:"task_id"`
	}
	s.Owner.Must("POST", "/agent-sessions/"+session+"/external-handoffs/"+handoff+"/decision", testkit.Object{"decision": "accept"}, &accepted)
	return accepted.TaskID
}

// look reads a task.
func (s *studio) look(session, id string) (k task) {
	s.Helper()
	s.Owner.Must("GET", "/agent-sessions/"+session+"/tasks/"+id+"?limit=100", nil, &k)
	return k
}

// until reads a task until it is as wanted.
func (s *studio) until(session, id, what string, wanted func(task) bool) task {
	s.Helper()
	for since := time.Now(); ; wait(15 * time.Millisecond) {
		k := s.look(session, id)
		if wanted(k) {
			return k
		}
		if time.Since(since) > overAfter {
			s.Fatalf("the task is not %s after %v: %v", what, overAfter, k)
		}
	}
}

// ended waits for the end of a task.
func (s *studio) ended(session, id string) task {
	s.Helper()
	return s.until(session, id, "over", task.over)
}

// run queues a task as the owner and waits for its end.
func (s *studio) run(session, goal string, rounds int) task {
	s.Helper()
	return s.ended(session, s.queue(s.Owner, session, goal, rounds))
}

// wants fails the test unless the task ended in the state, with a reason that begins
// so.
func (k task) wants(t testing.TB, state, reason string) {
	t.Helper()
	if k.State != state || !strings.HasPrefix(k.Reason, reason) || reason == "" && k.Reason != "" {
		t.Errorf("the task is %s (%q), want %s (%q…): %v", k.State, k.Reason, state, reason, k)
	}
}

// call is a tool call of a script.
func call(name string, arguments testkit.Object) agent.Call {
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // scripts are of plain values
	}
	return agent.Call{ID: "call-1", Name: name, Arguments: jsontext.Value(text)}
}

// says and calls are moves that use tokens.
func says(text ...string) providertest.Move {
	return providertest.Move{Text: text, In: 100, Out: 10}
}

func calls(c ...agent.Call) providertest.Move {
	for i := range c {
		c[i].ID = fmt.Sprintf("call-%d", i+1)
	}
	return providertest.Move{Calls: c, In: 100, Out: 10}
}

// entry is a line of the audit.
type entry struct {
	UserID       string `json:"user_id"`
	ConnectionID string `json:"connection_id"`
	Tool         string `json:"tool"`
	ResourceID   string `json:"resource_id"`
	Decision     string `json:"decision"`
	Code         string `json:"code"`
	Detail       struct {
		Agent     string `json:"agent"`
		TaskID    string `json:"task_id"`
		HandoffID string `json:"handoff_id"`
		State     string `json:"state"`
	} `json:"detail"`
}

// audit is what the audit holds about a task's calls of tools, oldest first.
func (s *studio) audit(task string) (of []entry) {
	s.Helper()
	for _, e := range s.audited("") {
		if e.Detail.TaskID == task && e.Detail.Agent != "" {
			of = append(of, e)
		}
	}
	slices.Reverse(of)
	return of
}

// audited are all entries of a tool, or all there are, newest first.
func (s *studio) audited(tool string) (all []entry) {
	s.Helper()
	for path := "/workspaces/" + s.Workspace + "/audit?limit=100&tool=" + tool; ; {
		var page struct {
			Items []entry `json:"items"`
			Next  string  `json:"next_cursor"`
		}
		s.Owner.Must("GET", path, nil, &page)
		all = append(all, page.Items...)
		if page.Next == "" {
			return all
		}
		path = "/workspaces/" + s.Workspace + "/audit?limit=100&tool=" + tool + "&cursor=" + page.Next
	}
}

// buffer is a log that many write and a test reads.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
