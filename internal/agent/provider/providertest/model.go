package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
)

// Model is a provider that speaks to a server: how to make it.
type Model struct {
	Protocol Protocol
	New      func(t testing.TB, base string, key exchange.Key, client *http.Client, l exchange.Limits) agent.Provider
}

// What must not be seen where it does not belong.
const (
	secret = "key-canary-4711"
	prompt = "prompt-canary-0815"
)

// key is the secret as a provider is told it.
func key(t testing.TB) exchange.Key {
	k, err := exchange.NewKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// on makes the provider of a server.
func (m Model) on(t testing.TB, s *Server, l exchange.Limits) agent.Provider {
	return m.New(t, s.BaseURL(), key(t), s.Client(), l)
}

// turn is what is asked if it does not matter what.
func turn() agent.Turn {
	return agent.Turn{
		Model: "model-1", Instructions: "Be brief.", TaskID: "task-1", Agent: "scout", Round: 1, LastRound: 3, MaxTokens: 100,
		Messages: []agent.Message{{Role: agent.RoleUser, Text: prompt}},
		Tools: []agent.ToolOffer{{Name: "search", Description: "Finds notes.",
			Parameters: jsontext.Value(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}`)}},
	}
}

// Suite holds a provider that speaks to a server to its contract, in good times and
// bad.
func (m Model) Suite(t *testing.T) {
	server := NewServer(t, m.Protocol, Always(Move{Text: []string{"Two ", "pieces."}, In: 3, Out: 2}))
	t.Run("contract", func(t *testing.T) { Contract(t, m.on(t, server, exchange.Limits{}), turn()) })
	t.Run("streams", m.streams)
	t.Run("calls tools", m.calls)
	t.Run("tells the whole conversation", m.conversation)
	t.Run("answers with text where no tool is offered", m.withoutTools)
	t.Run("ends soon after its context", m.cancel)
	t.Run("sends the key, and nothing of the environment", m.environment)
	t.Run("shows its key nowhere", m.hidden)
	t.Run("faults", m.faults)
	t.Run("repeats nothing by itself", m.once)
}

func (m Model) streams(t *testing.T) {
	pause := make(chan struct{})
	server := NewServer(t, m.Protocol, Moves(Move{Text: []string{"é", "", "€ first", " second"}, Pause: pause, Model: "model-1-2026", In: 11, Out: 7}))
	var said []string
	reply, err := m.on(t, server, exchange.Limits{}).Take(context.Background(), turn(), func(text string) {
		if len(said) == 0 {
			close(pause) // the rest comes only now: what is said was not held back
		}
		said = append(said, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"é", "€ first", " second"}; !reflect.DeepEqual(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	want := agent.Reply{Text: "é€ first second", Model: "model-1-2026", TokensIn: 11, TokensOut: 7}
	if !reflect.DeepEqual(reply, want) {
		t.Errorf("reply %+v, want %+v", reply, want)
	}
}

func (m Model) calls(t *testing.T) {
	calls := []agent.Call{
		{ID: "a-1", Name: "search", Arguments: jsontext.Value(`{"query":"x \"y\" é"}`)},
		{ID: "a-2", Name: "search", Arguments: jsontext.Value(`{}`)},
	}
	server := NewServer(t, m.Protocol, Moves(Move{Text: []string{"I look."}, Calls: calls}))
	reply, said, err := Take(t, m.on(t, server, exchange.Limits{}), turn())
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "I look." || strings.Join(said, "") != reply.Text {
		t.Errorf("said %q, replied %q", said, reply.Text)
	}
	if !reflect.DeepEqual(reply.Calls, calls) {
		t.Errorf("calls %v, want %v", reply.Calls, calls)
	}
	if reply.TokensIn <= 0 || reply.TokensOut <= 0 {
		t.Errorf("a server without usage is counted as %d and %d tokens, want an estimate", reply.TokensIn, reply.TokensOut)
	}
}

func (m Model) conversation(t *testing.T) {
	server := NewServer(t, m.Protocol, Always(Move{Text: []string{"Done."}}))
	asked := turn()
	asked.Messages = []agent.Message{
		{Role: agent.RoleUser, Text: "Find x."},
		{Role: agent.RoleAgent, Text: "I look.", Calls: []agent.Call{
			{ID: "a-1", Name: "search", Arguments: jsontext.Value(`{"query":"x"}`)}, {ID: "a-2", Name: "search", Arguments: jsontext.Value(`{"query":"y"}`)}}},
		{Role: agent.RoleTool, CallID: "a-1", Text: "found"},
		{Role: agent.RoleTool, CallID: "a-2", Text: "no such project", Failed: m.Protocol == Anthropic}, // OpenAI's has no place for it
		{Role: agent.RoleAgent, Calls: []agent.Call{{ID: "a-3", Name: "search", Arguments: jsontext.Value(`{}`)}}},
		{Role: agent.RoleTool, CallID: "a-3", Text: ""},
		{Role: agent.RoleAgent, Text: "Found."},
		{Role: agent.RoleUser, Text: "Go on."},
	}
	if _, _, err := Take(t, m.on(t, server, exchange.Limits{}), asked); err != nil {
		t.Fatal(err)
	}
	got := server.Requests()[0]
	if !reflect.DeepEqual(got.Messages, asked.Messages) {
		t.Errorf("the server read\n%+v, want\n%+v", got.Messages, asked.Messages)
	}
	if got.Model != "model-1" || got.System != "Be brief." || got.MaxTokens != 100 || !got.Stream || !reflect.DeepEqual(got.Tools, []string{"search"}) {
		t.Errorf("the server read %+v", got)
	}
	if !strings.Contains(got.Body, `"additionalProperties":false`) {
		t.Errorf("the schema was not sent whole: %s", got.Body)
	}
}

func (m Model) withoutTools(t *testing.T) {
	server := NewServer(t, m.Protocol, Moves(
		Move{Text: []string{"The end."}},
		Move{Calls: []agent.Call{{ID: "a-2", Name: "search", Arguments: jsontext.Value(`{}`)}}}))
	asked := turn()
	asked.Tools = nil
	asked.Messages = append(asked.Messages,
		agent.Message{Role: agent.RoleAgent, Calls: []agent.Call{{ID: "a-1", Name: "search", Arguments: jsontext.Value(`{}`)}}},
		agent.Message{Role: agent.RoleTool, CallID: "a-1", Text: "found"})
	p := m.on(t, server, exchange.Limits{})
	reply, _, err := Take(t, p, asked)
	if err != nil || reply.Text != "The end." {
		t.Errorf("reply %+v, %v", reply, err)
	}
	if got := server.Requests()[0]; len(got.Tools) != 0 {
		t.Errorf("tools %q may be called, want none", got.Tools)
	}
	_, _, err = Take(t, p, asked)
	if f := Fault(t, err); f.Kind != agent.FaultGarbage {
		t.Errorf("a call where no tool is offered is %v, want garbage", f)
	}
}

func (m Model) cancel(t *testing.T) {
	for name, move := range map[string]Move{
		"before the answer":        {Hold: make(chan struct{})},
		"in the middle of a text":  {Text: []string{"one", "two"}, Pause: make(chan struct{})},
		"while the server refuses": {Status: 503, Hold: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			ctx, cancel := context.WithTimeout(context.Background(), longest)
			defer cancel()
			stop := func(string) { cancel() }
			server := NewServer(t, m.Protocol, func(Request) Move {
				if move.Hold != nil {
					cancel()
				}
				return move
			})
			_, err := m.on(t, server, exchange.Limits{}).Take(ctx, turn(), stop)
			if fault, ok := errors.AsType[*agent.Fault](err); ok || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, fault %v, want context.Canceled and no fault", err, fault)
			}
			server.http.Close()
		})
	}
}

func (m Model) environment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"} {
		t.Setenv(name, "ambient-canary")
	}
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Ambient: ambient-canary")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Ambient: ambient-canary")
	elsewhere := NewServer(t, m.Protocol, func(Request) Move {
		t.Error("the address in the environment was used")
		return Move{}
	})
	t.Setenv("OPENAI_BASE_URL", elsewhere.BaseURL())
	t.Setenv("ANTHROPIC_BASE_URL", elsewhere.BaseURL())
	server := NewServer(t, m.Protocol, Always(Move{Text: []string{"Yes."}}))
	for _, k := range []exchange.Key{key(t), {}} {
		if _, _, err := Take(t, m.New(t, server.BaseURL(), k, server.Client(), exchange.Limits{}), turn()); err != nil {
			t.Fatal(err)
		}
	}
	requests := server.Requests()
	for i, want := range []bool{true, false} {
		headers := fmt.Sprint(requests[i].Header)
		if got := strings.Contains(headers, secret); got != want {
			t.Errorf("request %d: the key is among %s: %v, want %v", i+1, headers, got, want)
		}
		if strings.Contains(headers, "ambient-canary") || strings.Contains(requests[i].Body, "ambient-canary") {
			t.Errorf("request %d holds what is in the environment: %s", i+1, headers)
		}
	}
	if auth := requests[1].Header["Authorization"]; auth != nil || requests[1].Header["X-Api-Key"] != nil {
		t.Errorf("without a key the server got %q", requests[1].Header)
	}
}

func (m Model) hidden(t *testing.T) {
	server := NewServer(t, m.Protocol, Always(Move{Text: []string{"Yes."}}))
	p := m.on(t, server, exchange.Limits{})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprintf("%v %+v %#v %s", p, p, p, p), fmt.Sprintf("%+v", reflect.ValueOf(p).Elem()), string(text)} {
		if strings.Contains(shown, secret) {
			t.Errorf("the key shows in %s", shown)
		}
	}
}

func (m Model) once(t *testing.T) {
	for _, status := range []int{408, 409, 429, 500, 502, 503} {
		server := NewServer(t, m.Protocol, Always(Move{Status: status, Header: map[string]string{"Retry-After": "0", "X-Should-Retry": "true"}}))
		if _, _, err := Take(t, m.on(t, server, exchange.Limits{}), turn()); err == nil {
			t.Errorf("status %d is no error", status)
		}
		if n := len(server.Requests()); n != 1 {
			t.Errorf("status %d: %d requests, want one", status, n)
		}
	}
}
