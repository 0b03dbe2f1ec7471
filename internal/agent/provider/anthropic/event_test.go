package anthropic_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/anthropic"
	"github.com/osfoundry/osfoundry/internal/agent/provider/providertest"
)

// take asks a server that answers with the events, given as JSON.
func take(t *testing.T, events ...string) (agent.Reply, error) {
	t.Helper()
	for i, e := range events {
		events[i] = "data: " + e
	}
	server := providertest.NewServer(t, providertest.Anthropic, providertest.Always(providertest.Move{Events: events, Open: true}))
	p, err := anthropic.New(anthropic.Config{BaseURL: server.BaseURL() + "/v1", Model: "small", Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	reply, _, err := providertest.Take(t, p, agent.Turn{Round: 2, LastRound: 3,
		Messages: []agent.Message{{Role: agent.RoleUser, Text: "Find x."}},
		Tools:    []agent.ToolOffer{{Name: "search", Parameters: jsontext.Value(`{"type":"object"}`)}}})
	return reply, err
}

const (
	textBegins = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textYes    = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Yes."}}`
	callBegins = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"search","input":{}}}`
	stopped    = `{"type":"message_stop"}`
)

func stop(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}

func TestEventsWithoutNamesAreUnderstood(t *testing.T) {
	for name, events := range map[string][]string{
		"all of them":           {textBegins, textYes, `{"type":"content_block_stop","index":0}`, stop("end_turn"), stopped},
		"no message_stop":       {textBegins, textYes, stop("end_turn")},
		"no message_delta":      {textBegins, textYes, stopped},
		"no content_block_stop": {textBegins, textYes, stop("stop_sequence"), stopped},
		"text at the beginning": {`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Yes."}}`, stopped},
		"events of the future":  {`{"type":"weather","sun":true}`, textBegins, textYes, stop("end_turn"), stopped},
		"thoughts": {`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Yes."}}`, stop("end_turn"), stopped},
		"the limit of tokens": {textBegins, textYes, stop("max_tokens"), stopped},
	} {
		if reply, err := take(t, events...); err != nil || reply.Text != "Yes." || len(reply.Calls) != 0 {
			t.Errorf("%s: reply %+v, %v, want Yes.", name, reply, err)
		}
	}
}

func TestInputsOfToolsAreUnderstood(t *testing.T) {
	for name, test := range map[string]struct {
		events []string
		want   string
	}{
		"none":             {[]string{callBegins}, `{}`},
		"in pieces":        {[]string{callBegins, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}}`}, `{"query":"x"}`},
		"at the beginning": {[]string{`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"search","input":{"query":"x"}}}`}, `{"query":"x"}`},
	} {
		reply, err := take(t, append(test.events, stop("tool_use"), stopped)...)
		want := []agent.Call{{ID: "a", Name: "search", Arguments: jsontext.Value(test.want)}}
		if err != nil || !reflect.DeepEqual(reply.Calls, want) {
			t.Errorf("%s: calls %v, %v, want %v", name, reply.Calls, err, want)
		}
	}
}

func TestToolsOfTheServerAreNotCalledHere(t *testing.T) {
	reply, err := take(t, `{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"a","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, textYes, stop("end_turn"), stopped)
	if err != nil || len(reply.Calls) != 0 || reply.Text != "Yes." {
		t.Errorf("reply %+v, %v, want text only", reply, err)
	}
}

func TestCachedTokensCount(t *testing.T) {
	reply, err := take(t, `{"type":"message_start","message":{"model":"m","usage":{"input_tokens":1,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":1}}}`,
		textBegins, textYes, stop("end_turn"), stopped)
	if err != nil || reply.TokensIn != 321 || reply.TokensOut != 5 || reply.Model != "m" {
		t.Errorf("reply %+v, %v, want 321 and 5 tokens of m", reply, err)
	}
}

func TestReasonsToStopThatAreFaults(t *testing.T) {
	half := `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"query\":"}}`
	for name, test := range map[string]struct {
		events []string
		want   agent.FaultKind
	}{
		"a refusal":                     {[]string{textBegins, textYes, stop("refusal"), stopped}, agent.FaultRefused},
		"the limit of tokens in a call": {[]string{callBegins, half, stop("max_tokens"), stopped}, agent.FaultLarge},
		"half a call":                   {[]string{callBegins, half, stop("tool_use"), stopped}, agent.FaultGarbage},
		"a limit of the rate":           {[]string{textBegins, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`}, agent.FaultBusy},
		"an event without a type":       {[]string{`{"index":0}`}, agent.FaultGarbage},
	} {
		_, err := take(t, test.events...)
		if f := providertest.Fault(t, err); f.Kind != test.want {
			t.Errorf("%s is %v, want %s", name, f, test.want)
		}
	}
}

func TestAnAnswerHasALimitOfTokens(t *testing.T) {
	server := providertest.NewServer(t, providertest.Anthropic, providertest.Always(providertest.Move{Text: []string{"Yes."}}))
	p, err := anthropic.New(anthropic.Config{BaseURL: server.BaseURL() + "/", Client: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	turn := agent.Turn{Model: "m", Messages: []agent.Message{
		{Role: agent.RoleUser, Text: "One."}, {Role: agent.RoleUser, Text: "Two."}, {Role: agent.RoleUser, Text: ""}}}
	if _, _, err := providertest.Take(t, p, turn); err != nil {
		t.Fatal(err)
	}
	got := server.Requests()[0]
	if got.MaxTokens != anthropic.DefaultMaxTokens {
		t.Errorf("max_tokens is %d, want %d", got.MaxTokens, anthropic.DefaultMaxTokens)
	}
	if want := []agent.Message{{Role: agent.RoleUser, Text: "One.\n\nTwo."}}; !reflect.DeepEqual(got.Messages, want) {
		t.Errorf("the server read %+v, want %+v", got.Messages, want)
	}
	if strings.Contains(got.Body, `"text":""`) {
		t.Errorf("text that is empty was sent: %s", got.Body)
	}
}
