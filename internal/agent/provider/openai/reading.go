package openai

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
)

// reading is a stream of chunks as far as it was read.
type reading struct {
	x       *exchange.Exchange
	answer  *answer.Answer
	turn    agent.Turn
	calls   []*pieces
	model   string
	finish  string // the finish_reason, "" before it came
	done    bool   // [DONE] came
	in, out int64
	counted bool // the server reported usage
}

// pieces is a tool call whose arguments are still coming.
type pieces struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

func newReading(x *exchange.Exchange, a *answer.Answer, t agent.Turn) *reading {
	return &reading{x: x, answer: a, turn: t, model: t.Model}
}

// all reads the stream to its end.
func (r *reading) all(d ssestream.Decoder) error {
	for !r.done && d.Next() {
		if err := r.event(bytes.TrimSpace(d.Event().Data)); err != nil {
			return err
		}
	}
	if r.finish == "" && !r.done {
		if err := d.Err(); err != nil {
			return err
		}
		return r.x.Cut()
	}
	return nil
}

func (r *reading) event(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		r.done = true
		return nil
	}
	value := jsontext.Value(data)
	if !value.IsValid() || value.Kind() != '{' {
		return r.x.Garbage("a piece of its answer that is not a JSON object")
	}
	var chunk openai.ChatCompletionChunk
	if err := chunk.UnmarshalJSON(data); err != nil {
		return r.x.Garbage("a piece of its answer that is not a chunk of a chat completion")
	}
	if problem, ok := chunk.JSON.ExtraFields["error"]; ok && problem.Raw() != "null" {
		return r.x.StreamError(data)
	}
	if !chunk.JSON.Choices.Valid() && !chunk.JSON.Usage.Valid() {
		return r.x.Garbage("a piece of its answer that is not a chunk of a chat completion")
	}
	return r.chunk(chunk)
}

func (r *reading) chunk(chunk openai.ChatCompletionChunk) error {
	if chunk.Model != "" {
		r.model = chunk.Model
	}
	if chunk.JSON.Usage.Valid() {
		r.counted = true
		r.in, r.out = max(r.in, chunk.Usage.PromptTokens), max(r.out, chunk.Usage.CompletionTokens)
	}
	for _, c := range chunk.Choices {
		if c.Index != 0 { // one was asked for
			continue
		}
		if err := r.answer.Say(c.Delta.Content); err != nil {
			return err
		}
		for _, delta := range c.Delta.ToolCalls {
			if err := r.call(delta); err != nil {
				return err
			}
		}
		if c.FinishReason != "" {
			r.finish = c.FinishReason
		}
	}
	return nil
}

// call adds a piece to the call that it belongs to.
func (r *reading) call(delta openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	arguments := delta.Function.Arguments
	if raw := delta.Function.JSON.Arguments.Raw(); strings.HasPrefix(raw, "{") {
		arguments = raw
	}
	if err := r.answer.Weigh(len(arguments) + len(delta.Function.Name)); err != nil {
		return err
	}
	p := r.pieceOf(delta)
	if p == nil {
		p = &pieces{index: delta.Index}
		r.calls = append(r.calls, p)
		if err := r.answer.Room(len(r.calls)); err != nil {
			return err
		}
	}
	if p.id == "" {
		p.id = delta.ID
	}
	if p.name == "" {
		p.name = delta.Function.Name
	}
	p.arguments.WriteString(arguments)
	return nil
}

// pieceOf finds the call that a piece goes on with, nil if it begins one. The index
// says which, but some servers give each call the same: then an ID of its own begins
// one, and so does a name where the call before is whole.
func (r *reading) pieceOf(delta openai.ChatCompletionChunkChoiceDeltaToolCall) *pieces {
	for i := len(r.calls) - 1; i >= 0; i-- {
		p := r.calls[i]
		if delta.JSON.Index.Valid() && p.index != delta.Index {
			continue
		}
		other := delta.ID != "" && p.id != "" && delta.ID != p.id
		whole := delta.ID == "" && delta.Function.Name != "" && p.name != "" && jsontext.Value(p.arguments.String()).IsValid()
		if other && delta.Function.Name != "" || whole {
			return nil
		}
		return p
	}
	return nil
}

// reply makes the reply of a stream that ended.
func (r *reading) reply() (agent.Reply, error) {
	cut := r.finish == "length"
	for _, p := range r.calls {
		if err := r.answer.Call(p.id, p.name, p.arguments.String()); err != nil {
			if cut {
				return agent.Reply{}, r.x.Large()
			}
			return agent.Reply{}, err
		}
	}
	used := r.answer.Used()
	reply := r.answer.Reply()
	if r.finish == "content_filter" {
		return agent.Reply{}, r.x.Declined()
	}
	reply.Model = answer.ModelName(r.model)
	reply.TokensIn, reply.TokensOut = r.in, r.out
	if !r.counted {
		reply.TokensIn, reply.TokensOut = answer.Tokens(answer.Size(r.turn)), answer.Tokens(used)
	}
	return reply, nil
}
