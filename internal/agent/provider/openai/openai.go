// Package openai takes turns by the chat completions protocol: OpenAI's own server,
// and any that is compatible, named by its base URL, such as Ollama, vLLM and
// llama.cpp. It turns a Turn into a request and a stream of chunks into a Reply;
// time, size and faults are package exchange's, what may be said is package
// answer's.
//
// Compatible servers differ. This is what is put up with:
//
//   - no usage: tokens are counted as answer.Tokens does;
//   - calls without an ID or with one that was used, all with index 0 or none, with
//     arguments in pieces, empty, or as an object instead of its text;
//   - any finish_reason, or [DONE] alone; but a stream with neither was cut;
//   - stream_options refused, or the wrong one of max_tokens and
//     max_completion_tokens: the request is sent again without, or with the other,
//     and so from then on.
package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
)

// Config is what a provider is made of.
type Config struct {
	// BaseURL ends where chat/completions is added: https://api.openai.com/v1,
	// http://127.0.0.1:11434/v1.
	BaseURL string
	// Key is sent as a bearer token, if there is one.
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
	server *exchange.Server
	model  string
	chat   []option.RequestOption

	withoutUsage   atomic.Bool // the server does not take stream_options
	otherMaxTokens atomic.Bool // it wants the other name of the limit
	completion     bool        // that limit is max_completion_tokens, until told otherwise
}

var _ agent.Provider = (*Provider)(nil)

// New makes a provider. An error names the setting, and never the key.
func New(c Config) (*Provider, error) {
	server, err := exchange.NewServer(c.BaseURL, c.Client, c.Limits)
	if err != nil {
		return nil, err
	}
	p := &Provider{server: server, model: c.Model}
	if u, err := url.Parse(c.BaseURL); err == nil {
		// OpenAI's newer models refuse the older name; compatible servers may not know
		// the newer.
		p.completion = u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".openai.azure.com")
	}
	p.chat = []option.RequestOption{
		option.WithBaseURL(strings.TrimSuffix(c.BaseURL, "/") + "/"),
		option.WithMaxRetries(0), // the runtime repeats turns, within their budget
	}
	if key := c.Key.Reveal(); key != "" {
		p.chat = append(p.chat, option.WithAPIKey(key))
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
	response, err := p.ask(x, body, t.MaxTokens)
	if err != nil {
		return agent.Reply{}, x.Err(err)
	}
	decoder := ssestream.NewDecoder(response)
	defer decoder.Close()
	r := newReading(x, p.server.Answer(t, say), t)
	if err := r.all(decoder); err != nil {
		return agent.Reply{}, x.Err(err)
	}
	return r.reply()
}

// ask sends the request, again where the server turns out to be of another dialect.
func (p *Provider) ask(x *exchange.Exchange, body openai.ChatCompletionNewParams, maxTokens int64) (*http.Response, error) {
	for tries := 0; ; tries++ {
		usage, other := !p.withoutUsage.Load(), p.otherMaxTokens.Load()
		response, err := p.send(x, body, usage, maxTokens, p.completion != other)
		switch {
		case err == nil:
			return response, nil
		case tries == 2:
			return nil, err
		case usage && x.Mentions("stream_options"):
			p.withoutUsage.Store(true)
		case maxTokens > 0 && !other && (x.Mentions("max_tokens") || x.Mentions("max_completion_tokens")):
			p.otherMaxTokens.Store(true)
		default:
			return nil, err
		}
	}
}

func (p *Provider) send(x *exchange.Exchange, body openai.ChatCompletionNewParams, usage bool, maxTokens int64, completion bool) (*http.Response, error) {
	if usage {
		body.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	switch {
	case maxTokens <= 0:
	case completion:
		body.MaxCompletionTokens = param.NewOpt(maxTokens)
	default:
		body.MaxTokens = param.NewOpt(maxTokens)
	}
	// A service without its client reads nothing from the environment: the operator's
	// own keys are not for the servers of workspaces.
	chat := openai.NewChatCompletionService(p.chat...)
	var response *http.Response
	stream := chat.NewStreaming(x.Context(), body, option.WithHTTPClient(x), option.WithResponseInto(&response))
	if err := stream.Err(); err != nil {
		return nil, err
	}
	return response, nil
}
