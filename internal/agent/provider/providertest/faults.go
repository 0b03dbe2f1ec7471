package providertest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// short is a limit of time that is meant to be reached.
const short = 50 * time.Millisecond

// fault is a way to fail, and what it is called.
type fault struct {
	move   Move
	limits exchange.Limits
	want   agent.FaultKind
	after  time.Duration
}

// echo is an error as servers write them, with everything in it that must not be
// repeated.
func echo(code string) string {
	return fmt.Sprintf(`{"error":{"type":%q,"code":%q,"message":"key %s, prompt %s"}}`, code, code, secret, prompt)
}

func call(arguments string) []agent.Call {
	return []agent.Call{{ID: "a-1", Name: "search", Arguments: jsontext.Value(arguments)}}
}

func (m Model) faultTable() map[string]fault {
	html := "<!doctype html><title>Gateway</title>" + secret + prompt
	page := map[string]string{"Content-Type": "text/html"}
	stream := map[string]string{"Content-Type": "text/event-stream"}
	never := make(chan struct{})
	some := []string{"Some text"}
	table := map[string]fault{
		"hangs up":                        {move: Move{Hangup: true}, want: agent.FaultDown},
		"is silent":                       {move: Move{Hold: never}, limits: exchange.Limits{FirstByte: short}, want: agent.FaultSlow},
		"stalls":                          {move: Move{Text: some, Pause: never}, limits: exchange.Limits{Idle: short}, want: agent.FaultSlow},
		"takes longer than a turn may":    {move: Move{Text: some, Pause: never}, limits: exchange.Limits{Turn: short}, want: agent.FaultSlow},
		"sends a page":                    {move: Move{Status: 200, Header: page, Body: html}, want: agent.FaultGarbage},
		"sends no type":                   {move: Move{Status: 200, Header: map[string]string{"Content-Type": "/"}, Body: "data: {}\n\n"}, want: agent.FaultGarbage},
		"does not stream":                 {move: Move{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Body: `{"choices":[]}`}, want: agent.FaultGarbage},
		"sends a page as a stream":        {move: Move{Status: 200, Header: stream, Body: html}, want: agent.FaultCut},
		"sends nothing":                   {move: Move{Status: 200, Header: stream}, want: agent.FaultCut},
		"sends no content":                {move: Move{Status: 204}, want: agent.FaultGarbage},
		"sends what is not JSON":          {move: Move{Text: some, Events: []string{event("content_block_delta", `{"delta":`)}}, want: agent.FaultGarbage},
		"sends a page in the middle":      {move: Move{Text: some, Events: []string{"data: " + html}}, want: agent.FaultGarbage},
		"sends a list":                    {move: Move{Text: some, Events: []string{event("content_block_delta", `[1,2]`)}}, want: agent.FaultGarbage},
		"sends another object":            {move: Move{Text: some, Events: []string{event("content_block_delta", `{"canary":"`+secret+`"}`)}}, want: agent.FaultGarbage},
		"calls with half an object":       {move: Move{Calls: call(`{"query":"` + secret)}, want: agent.FaultGarbage},
		"calls with a list":               {move: Move{Calls: call(`["x"]`)}, want: agent.FaultGarbage},
		"calls with a text":               {move: Move{Calls: call(`"{}"`)}, want: agent.FaultGarbage},
		"calls with nothing of JSON":      {move: Move{Calls: call(`search for x`)}, want: agent.FaultGarbage},
		"calls a tool without a name":     {move: Move{Calls: []agent.Call{{ID: "a-1", Arguments: jsontext.Value(`{}`)}}}, want: agent.FaultGarbage},
		"cuts":                            {move: Move{Text: some, Cut: true}, want: agent.FaultCut},
		"ends in the middle":              {move: Move{Text: some, Open: true}, want: agent.FaultCut},
		"asks to wait":                    {move: Move{Status: 429, Header: map[string]string{"Retry-After": "7"}, Body: echo("rate_limit_error")}, want: agent.FaultBusy, after: 7 * time.Second},
		"asks to wait, not how long":      {move: Move{Status: 429, Body: html}, want: agent.FaultBusy},
		"asks to wait for ever":           {move: Move{Status: 429, Header: map[string]string{"Retry-After": "99999999999999999999"}}, want: agent.FaultBusy, after: 24 * time.Hour},
		"asks to wait for less than none": {move: Move{Status: 429, Header: map[string]string{"Retry-After": "-5"}}, want: agent.FaultBusy},
		"asks to wait until long ago":     {move: Move{Status: 429, Header: map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}}, want: agent.FaultBusy},
		"asks to wait for nonsense":       {move: Move{Status: 429, Header: map[string]string{"Retry-After": "soon"}}, want: agent.FaultBusy},
		"is overloaded":                   {move: Move{Status: 529, Body: echo("overloaded_error")}, want: agent.FaultBusy},
		"is loading":                      {move: Move{Status: 503, Header: map[string]string{"Retry-After": "2"}, Body: echo("unavailable")}, want: agent.FaultFailed, after: 2 * time.Second},
		"says too much":                   {move: Move{Text: []string{strings.Repeat("x", 11)}}, limits: exchange.Limits{Answer: answer.Limits{Bytes: 10}}, want: agent.FaultLarge},
		"asks for too much":               {move: Move{Calls: call(`{"query":"0123456789"}`)}, limits: exchange.Limits{Answer: answer.Limits{Bytes: 10}}, want: agent.FaultLarge},
		"asks for too many tools":         {move: Move{Calls: append(call(`{}`), call(`{}`)...)}, limits: exchange.Limits{Answer: answer.Limits{Calls: 1}}, want: agent.FaultTools},
		"sends too much":                  {move: Move{Text: []string{strings.Repeat("x", 5000)}}, limits: exchange.Limits{Wire: 4000}, want: agent.FaultLarge},
		"sends one line for ever":         {move: Move{Events: []string{": " + strings.Repeat("x", 5000)}, Open: true}, limits: exchange.Limits{Wire: 4000}, want: agent.FaultLarge},
		"fails in the middle":             {move: Move{Text: some, Events: []string{event("error", echo("strange_error"))}}, want: agent.FaultFailed},
		"is overloaded in the middle":     {move: Move{Text: some, Events: []string{event("error", echo("overloaded_error"))}}, want: agent.FaultBusy},
		"refuses in the middle":           {move: Move{Text: some, Events: []string{event("error", echo("invalid_request_error"))}}, want: agent.FaultRefused},
	}
	for _, status := range []int{500, 501, 502, 503, 504, 599} {
		table[fmt.Sprintf("answers %d", status)] = fault{move: Move{Status: status, Header: page, Body: html}, want: agent.FaultFailed}
	}
	for _, status := range []int{301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 413, 415, 422} {
		table[fmt.Sprintf("answers %d", status)] = fault{
			move: Move{Status: status, Header: map[string]string{"Location": "http://127.0.0.1:1/"}, Body: echo("invalid_api_key")}, want: agent.FaultRefused}
	}
	return table
}

func (m Model) faults(t *testing.T) {
	for name, f := range m.faultTable() {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			server := NewServer(t, m.Protocol, Always(f.move))
			defer server.http.Close()
			_, _, err := Take(t, m.on(t, server, f.limits), turn())
			got := Fault(t, err)
			if got.Kind != f.want || got.After != f.after {
				t.Errorf("got %q after %v (%v), want %q after %v", got.Kind, got.After, got, f.want, f.after)
			}
			readable(t, server.Host(), got)
		})
	}
	t.Run("is not there", m.down)
	t.Run("has no name", m.unknownName)
	t.Run("takes no connection", m.connect)
	t.Run("may not be spoken to", m.forbidden)
	t.Run("asks to wait until a date", m.date)
}

// readable holds a fault to what people and logs may see.
func readable(t *testing.T, host string, f *agent.Fault) {
	t.Helper()
	shown := fmt.Sprintf("%v %+v %v %+v %#v", f, *f, f.Text, f.Cause, f.Cause)
	for _, canary := range []string{secret, prompt, "model-1", "Authorization", "<!", "{\""} {
		if strings.Contains(shown, canary) {
			t.Errorf("%q shows in %s", canary, shown)
		}
	}
	if !strings.HasSuffix(f.Text, ".") || f.Kind != agent.FaultGarbage && f.Kind != agent.FaultLarge && f.Kind != agent.FaultTools && !strings.Contains(f.Text, host) {
		t.Errorf("the text is %q, want a sentence that names %s", f.Text, host)
	}
}

func (m Model) down(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	listener.Close()
	_, _, err = Take(t, m.New(t, "http://"+host+"/v1", key(t), Client(host), exchange.Limits{}), turn())
	if f := Fault(t, err); f.Kind != agent.FaultDown {
		t.Errorf("got %v, want down", f)
	} else {
		readable(t, host, f)
	}
}

// noNames is a resolver that finds nothing, once it is let.
type noNames struct{ let <-chan struct{} }

func (n noNames) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	<-n.let
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (m Model) unknownName(t *testing.T) {
	let := make(chan struct{})
	close(let)
	client := guard.NewClient(guard.ClientConfig{Timeout: longest, Resolver: noNames{let}})
	_, _, err := Take(t, m.New(t, "https://models.example", key(t), client, exchange.Limits{}), turn())
	if f := Fault(t, err); f.Kind != agent.FaultDown {
		t.Errorf("got %v, want down", f)
	}
}

func (m Model) connect(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	let := make(chan struct{})
	defer close(let)
	client := guard.NewClient(guard.ClientConfig{Timeout: longest, Resolver: noNames{let}})
	_, _, err := Take(t, m.New(t, "https://models.example", key(t), client, exchange.Limits{Connect: short}), turn())
	if f := Fault(t, err); f.Kind != agent.FaultSlow {
		t.Errorf("got %v, want slow", f)
	} else {
		readable(t, "models.example", f)
	}
}

func (m Model) forbidden(t *testing.T) {
	server := NewServer(t, m.Protocol, func(Request) Move {
		t.Error("a server that is not listed was spoken to")
		return Move{}
	})
	_, _, err := Take(t, m.New(t, server.BaseURL(), key(t), Client(), exchange.Limits{}), turn())
	if f := Fault(t, err); f.Kind != agent.FaultRefused || f.Again() {
		t.Errorf("got %v, want refused", f)
	} else {
		readable(t, server.Host(), f)
	}
}

func (m Model) date(t *testing.T) {
	at := time.Now().Add(time.Hour)
	server := NewServer(t, m.Protocol, Always(Move{Status: 429, Header: map[string]string{"Retry-After": at.UTC().Format(http.TimeFormat)}}))
	_, _, err := Take(t, m.on(t, server, exchange.Limits{}), turn())
	if f := Fault(t, err); f.After < 59*time.Minute || f.After > time.Hour {
		t.Errorf("waits %v, want about an hour", f.After)
	}
}
