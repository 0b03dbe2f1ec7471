package openai_test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/openai"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

// on makes the provider of a server.
func on(t *testing.T, s *providertest.Server) agent.Provider {
	t.Helper()
	p, err := openai.New(openai.Config{BaseURL: s.BaseURL(), Model: "small", Client: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func asked() agent.Turn {
	return agent.Turn{Round: 2, LastRound: 3, MaxTokens: 50,
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "Find x."}},
		Tools: []agent.ToolOffer{
			{Name: "search", Parameters: jsontext.Value(`{"type":"object"}`)},
			{Name: "fetch", Parameters: jsontext.Value(`{"type":"object"}`)},
		}}
}

// chunk is a chunk with one delta and no finish_reason.
func chunk(delta string) string {
	return `data: {"choices":[{"index":0,"delta":` + delta + `}]}`
}

func finish(reason string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":` + reason + `}]}`
}

func TestCallsOfCompatibleServersAreUnderstood(t *testing.T) {
	two := []string{`search {"query":"x"}`, `fetch {"id":"n"}`}
	for name, test := range map[string]struct {
		events []string
		want   []string
	}{
		"without IDs, whole, as Ollama": {[]string{
			chunk(`{"content":"","tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"query\":\"x\"}"}},{"index":1,"function":{"name":"fetch","arguments":"{\"id\":\"n\"}"}}]}`),
			finish(`"stop"`)}, two},
		"all with index 0 and IDs": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"query\":\"x\"}"}}]}`),
			chunk(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"fetch","arguments":"{\"id\":\"n\"}"}}]}`),
			finish(`"tool_calls"`)}, two},
		"all with index 0 and no ID": {[]string{
			chunk(`{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"query\":\"x\"}"}}]}`),
			chunk(`{"tool_calls":[{"index":0,"function":{"name":"fetch","arguments":"{\"id\":\"n\"}"}}]}`),
			finish(`"tool_calls"`)}, two},
		"without index": {[]string{
			chunk(`{"tool_calls":[{"id":"a","function":{"name":"search","arguments":"{\"query\":\"x\"}"}},{"id":"b","function":{"name":"fetch","arguments":"{\"id\":\"n\"}"}}]}`),
			finish(`"tool_calls"`)}, two},
		"in pieces, interleaved": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search"}}]}`),
			chunk(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"fetch","arguments":""}}]}`),
			chunk(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"id\":"}},{"index":0,"function":{"arguments":"{\"query\":"}}]}`),
			chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"x\"}"}},{"index":1,"function":{"arguments":"\"n\"}"}}]}`),
			finish(`"tool_calls"`)}, two},
		"with ID and name in every piece": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"query\""}}]}`),
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":":\"x\"}"}}]}`),
			finish(`"tool_calls"`)}, two[:1]},
		"with arguments as an object": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":{"query":"x"}}}]}`),
			finish(`"tool_calls"`)}, two[:1]},
		"without arguments": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search"}}]}`),
			finish(`"tool_calls"`)}, []string{"search {}"}},
		"with the same ID twice": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"query\":\"x\"}"}},{"index":1,"id":"a","function":{"name":"fetch","arguments":"{\"id\":\"n\"}"}}]}`),
			finish(`"tool_calls"`)}, two},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.NewServer(t, providertest.OpenAI, providertest.Always(providertest.Move{Events: test.events, Open: true}))
			reply, _, err := providertest.Take(t, on(t, server), asked())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			ids := map[string]bool{"": true}
			for _, c := range reply.Calls {
				got = append(got, c.Name+" "+string(c.Arguments))
				if ids[c.ID] {
					t.Errorf("the ID %q of %s is empty or was used", c.ID, c.Name)
				}
				ids[c.ID] = true
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("calls %q, want %q", got, test.want)
			}
		})
	}
}

func TestEndsOfCompatibleServersAreUnderstood(t *testing.T) {
	for name, events := range map[string][]string{
		"[DONE] alone":             {chunk(`{"content":"Yes."}`), "data: [DONE]"},
		"a reason, no [DONE]":      {chunk(`{"content":"Yes."}`), finish(`"stop"`)},
		"a reason nobody knows":    {chunk(`{"content":"Yes."}`), finish(`"eos"`), "data: [DONE]"},
		"an empty reason":          {`data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":""}]}`, "data: [DONE]"},
		"the limit of tokens":      {chunk(`{"content":"Yes."}`), finish(`"length"`)},
		"usage with null choices":  {chunk(`{"content":"Yes."}`), finish(`"stop"`), `data: {"choices":null,"usage":{"prompt_tokens":4,"completion_tokens":5}}`, "data: [DONE]"},
		"null usage in each chunk": {`data: {"choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":null}],"usage":null}`, finish(`"stop"`)},
		"comments between":         {": ping", chunk(`{"content":"Yes."}`), ": ping", finish(`"stop"`)},
		"null content":             {chunk(`{"role":"assistant","content":null}`), chunk(`{"content":"Yes."}`), finish(`"stop"`)},
		"thoughts":                 {chunk(`{"reasoning_content":"Hm."}`), chunk(`{"content":"Yes."}`), finish(`"stop"`)},
		"another choice":           {`data: {"choices":[{"index":1,"delta":{"content":"No."}},{"index":0,"delta":{"content":"Yes."}}]}`, finish(`"stop"`)},
		"null error":               {`data: {"error":null,"choices":[{"index":0,"delta":{"content":"Yes."}}]}`, finish(`"stop"`)},
		"carriage returns":         {strings.Join([]string{chunk(`{"content":"Yes."}`) + "\r", "\r", finish(`"stop"`) + "\r", "\r"}, "\n")},
	} {
		t.Run(name, func(t *testing.T) {
			server := providertest.NewServer(t, providertest.OpenAI, providertest.Always(providertest.Move{Events: events, Open: true}))
			reply, _, err := providertest.Take(t, on(t, server), asked())
			if err != nil || reply.Text != "Yes." {
				t.Fatalf("reply %+v, %v, want Yes.", reply, err)
			}
			if reply.Model != "small" || reply.TokensIn <= 0 || reply.TokensOut <= 0 {
				t.Errorf("model %q, %d and %d tokens: want the model that was asked, and an estimate", reply.Model, reply.TokensIn, reply.TokensOut)
			}
		})
	}
}

func TestUsageOfTheLastChunkCounts(t *testing.T) {
	server := providertest.NewServer(t, providertest.OpenAI, providertest.Always(providertest.Move{Open: true, Events: []string{
		`data: {"choices":[{"index":0,"delta":{"content":"Y"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`,
		`data: {"choices":[{"index":0,"delta":{"content":"es."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
	}}))
	reply, _, err := providertest.Take(t, on(t, server), asked())
	if err != nil || reply.TokensIn != 9 || reply.TokensOut != 2 {
		t.Errorf("reply %+v, %v, want 9 and 2 tokens", reply, err)
	}
}

func TestFinishReasonsThatAreFaults(t *testing.T) {
	for name, test := range map[string]struct {
		events []string
		want   agent.FaultKind
	}{
		"a filter": {[]string{finish(`"content_filter"`)}, agent.FaultRefused},
		"the limit of tokens in a call": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"query\":\"x"}}]}`), finish(`"length"`)}, agent.FaultLarge},
		"half a call": {[]string{
			chunk(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"query\":\"x"}}]}`), finish(`"tool_calls"`)}, agent.FaultGarbage},
		"an error as text":       {[]string{`data: {"error":"out of memory"}`}, agent.FaultFailed},
		"a status in the stream": {[]string{`data: {"error":{"code":429,"message":"slow down"}}`}, agent.FaultBusy},
	} {
		server := providertest.NewServer(t, providertest.OpenAI, providertest.Always(providertest.Move{Events: test.events, Open: true}))
		_, _, err := providertest.Take(t, on(t, server), asked())
		if f := providertest.Fault(t, err); f.Kind != test.want {
			t.Errorf("%s is %v, want %s", name, f, test.want)
		}
	}
}

// strict refuses a parameter by name until it is left out.
func strict(parameters ...string) providertest.Script {
	return func(r providertest.Request) providertest.Move {
		for _, p := range parameters {
			if strings.Contains(r.Body, `"`+p+`"`) {
				return providertest.Move{Status: http.StatusBadRequest, Body: fmt.Sprintf(`{"error":{"message":"Unsupported parameter: '%s'","param":%q}}`, p, p)}
			}
		}
		return providertest.Move{Text: []string{"Yes."}}
	}
}

func TestParametersThatAServerRefusesAreLeftOut(t *testing.T) {
	server := providertest.NewServer(t, providertest.OpenAI, strict("stream_options", "max_tokens"))
	p := on(t, server)
	for range 2 {
		if reply, _, err := providertest.Take(t, p, asked()); err != nil || reply.Text != "Yes." {
			t.Fatalf("reply %+v, %v, want Yes.", reply, err)
		}
	}
	requests := server.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests, want three for the first turn and one for the second", len(requests))
	}
	if last := requests[3]; last.MaxTokens != 50 || !strings.Contains(last.Body, `"max_completion_tokens"`) {
		t.Errorf("the limit was lost: %s", last.Body)
	}
}

func TestAServerThatRefusesEverythingIsAskedThrice(t *testing.T) {
	server := providertest.NewServer(t, providertest.OpenAI, providertest.Always(providertest.Move{
		Status: http.StatusBadRequest, Body: `{"error":{"message":"stream_options max_tokens max_completion_tokens"}}`}))
	_, _, err := providertest.Take(t, on(t, server), asked())
	if f := providertest.Fault(t, err); f.Kind != agent.FaultRefused {
		t.Errorf("got %v, want refused", f)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests, want three", n)
	}
}

func TestTheUsersMessagesAreJoined(t *testing.T) {
	server := providertest.NewServer(t, providertest.OpenAI, providertest.Always(providertest.Move{Text: []string{"Yes."}}))
	turn := asked()
	turn.Messages = []agent.Message{{Role: agent.RoleUser, Text: "One."}, {Role: agent.RoleUser, Text: "Two."}}
	if _, _, err := providertest.Take(t, on(t, server), turn); err != nil {
		t.Fatal(err)
	}
	want := []agent.Message{{Role: agent.RoleUser, Text: "One.\n\nTwo."}}
	if got := server.Requests()[0].Messages; !reflect.DeepEqual(got, want) {
		t.Errorf("the server read %+v, want %+v", got, want)
	}
	if turn.Messages[0].Text != "One." {
		t.Errorf("the turn was changed: %+v", turn.Messages)
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	server := providertest.NewServer(t, providertest.OpenAI, nil)
	for _, base := range []string{"", "api.openai.com/v1", "ftp://h/v1", "http://", "http://user:pass@h/v1", "http://h/v1?key=1", "http://h/v1#x", "http://h:port/", ":"} {
		if _, err := openai.New(openai.Config{BaseURL: base, Client: server.Client()}); err == nil {
			t.Errorf("the address %q was taken", base)
		} else if strings.Contains(err.Error(), "pass") || strings.Contains(err.Error(), "key=1") {
			t.Errorf("the error %q repeats the address", err)
		}
	}
	if _, err := openai.New(openai.Config{BaseURL: "http://h/v1"}); err == nil {
		t.Error("no client was taken")
	}
	p, err := openai.New(openai.Config{BaseURL: server.BaseURL(), Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = providertest.Take(t, p, asked())
	if f := providertest.Fault(t, err); f.Kind != agent.FaultRefused {
		t.Errorf("no model is %v, want refused", f)
	}
}
