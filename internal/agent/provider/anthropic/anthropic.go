// Package anthropic takes turns by the messages protocol of Anthropic, streamed. It
// turns a Turn into a request and a stream of events into a Reply; time, size and
// faults are package exchange's, what may be said is package answer's.
//
// The last round of a task offers no tools, but the protocol wants each tool that
// the conversation used to be declared: it is, under its name only, and the model is
// told to call none.
package anthropic

import (
	"context"
	"net/http"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
)

// DefaultMaxTokens is the limit of an answer where the turn has none: the protocol
// demands one.
const DefaultMaxTokens = 8192

// Config is what a provider is made of.
type Config struct {
	// BaseURL ends where v1/messages is added; v1 at its end is left out. "" is
	// https://api.anthropic.com.
	BaseURL string
	// Key is sent as a bearer token, as the SDK does, if there is one.
	Key exchange.Key
	// Model is asked where the turn names none.
	Model string
	// Client speaks to the server, and decides whether it may: see
	// exchange.NewServer.
	Client *http.Client
	Limits exchange.Limits
}

// Provider is one server.
type Provider struct {
	server   *exchange.Server
	model    string
	messages []option.RequestOption
}

var _ agent.Provider = (*Provider)(nil)

// New makes a provider. An error names the setting, and never the key.
func New(c Config) (*Provider, error) {
	if c.BaseURL == "" {
		c.BaseURL = "https://api.anthropic.com"
	}
	server, err := exchange.NewServer(c.BaseURL, c.Client, c.Limits)
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(strings.TrimSuffix(c.BaseURL, "/"), "/v1")
	p := &Provider{server: server, model: c.Model, messages: []option.RequestOption{
		option.WithBaseURL(base + "/"),
		option.WithMaxRetries(0), // the runtime repeats turns, within their budget
		option.WithoutOpenTelemetry(),
	}}
	if key := c.Key.Reveal(); key != "" {
		p.messages = append(p.messages, option.WithAPIKey(key))
	}
	return p, nil
}

// External reports that a turn has no effect but its cost.
func (p *Provider) External() bool { return false }

// Take asks the server for a turn.
func (p *Provider) Take(ctx context.Context, t agent.Turn, say func(text string)) (agent.Reply, error) {
	if err := ctx.Err(); err != nil {
		return agent.Reply{}, err
	}
	if t.Model == "" {
		t.Model = p.model
	}
	if t.Model == "" {
		return agent.Reply{}, &agent.Fault{Kind: agent.FaultRefused, Text: "Neither the agent nor the provider names a model."}
	}
	body, err := request(t)
	if err != nil {
		return agent.Reply{}, err
	}
	x := p.server.Begin(ctx)
	defer x.End()
	response, err := p.send(x, body)
	if err != nil {
		return agent.Reply{}, x.Err(err)
	}
	decoder := ssestream.NewDecoder(response)
	defer decoder.Close()
	r := &reading{x: x, answer: p.server.Answer(t, say), turn: t, model: t.Model, blocks: map[int64]*block{}}
	if err := r.all(decoder); err != nil {
		return agent.Reply{}, x.Err(err)
	}
	return r.reply()
}

func (p *Provider) send(x *exchange.Exchange, body anthropic.MessageNewParams) (*http.Response, error) {
	// A service without its client reads nothing from the environment: the operator's
	// own keys are not for the servers of workspaces.
	messages := anthropic.NewMessageService(p.messages...)
	var response *http.Response
	stream := messages.NewStreaming(x.Context(), body, option.WithHTTPClient(x), option.WithResponseInto(&response))
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return response, nil
}
