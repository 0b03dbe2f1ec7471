package anthropic

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/agent/provider/answer"
	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
)

// reading is a stream of events as far as it was read.
type reading struct {
	x       *exchange.Exchange
	answer  *answer.Answer
	turn    agent.Turn
	model   string
	blocks  map[int64]*block
	stop    anthropic.StopReason // "" before it came
	done    bool                 // message_stop came
	in, out int64
}

// block is a tool call whose input is still coming.
type block struct {
	id, name string
	whole    string // the input, where it came with the beginning
	pieces   strings.Builder
}

// all reads the stream to its end.
func (r *reading) all(d ssestream.Decoder) error {
	for !r.done && d.Next() {
		if err := r.event(d.Event().Type, bytes.TrimSpace(d.Event().Data)); err != nil {
			return err
		}
	}
	if r.done || r.stop != "" {
		return nil
	}
	if err := d.Err(); err != nil {
		return err
	}
	return r.x.Cut()
}

// event reads one event. Its type is in its data too; some servers send only that.
func (r *reading) event(kind string, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if kind == "error" {
		return r.x.StreamError(data)
	}
	value := jsontext.Value(data)
	if !value.IsValid() || value.Kind() != '{' {
		return r.x.Garbage("a piece of its answer that is not a JSON object")
	}
	var e anthropic.MessageStreamEventUnion
	if err := e.UnmarshalJSON(data); err != nil || e.Type == "" {
		return r.x.Garbage("a piece of its answer that is not an event of a message")
	}
	switch e.Type {
	case "message_start":
		if e.Message.Model != "" {
			r.model = e.Message.Model
		}
		u := e.Message.Usage
		r.usage(u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens)
	case "content_block_start":
		return r.begin(e)
	case "content_block_delta":
		return r.goOn(e)
	case "message_delta":
		u := e.Usage
		r.usage(u.InputTokens+u.CacheCreationInputTokens+u.CacheReadInputTokens, u.OutputTokens)
		if e.Delta.StopReason != "" {
			r.stop = e.Delta.StopReason
		}
	case "message_stop":
		r.done = true
	case "error":
		return r.x.StreamError(data)
	}
	return nil // ping, content_block_stop, and what the protocol may add
}

// usage keeps counts, which go up in a stream.
func (r *reading) usage(in, out int64) { r.in, r.out = max(r.in, in), max(r.out, out) }

func (r *reading) begin(e anthropic.MessageStreamEventUnion) error {
	switch e.ContentBlock.Type {
	case "text":
		return r.answer.Say(e.ContentBlock.Text)
	case "tool_use":
		b := &block{id: e.ContentBlock.ID, name: e.ContentBlock.Name, whole: e.ContentBlock.JSON.Input.Raw()}
		r.blocks[e.Index] = b
		if err := r.answer.Room(len(r.blocks)); err != nil {
			return err
		}
		return r.answer.Weigh(len(b.name) + len(b.whole))
	}
	return nil
}

func (r *reading) goOn(e anthropic.MessageStreamEventUnion) error {
	switch e.Delta.Type {
	case "text_delta":
		return r.answer.Say(e.Delta.Text)
	case "input_json_delta":
		b, ok := r.blocks[e.Index]
		if !ok {
			return nil // of a tool that the server calls itself
		}
		b.pieces.WriteString(e.Delta.PartialJSON)
		return r.answer.Weigh(len(e.Delta.PartialJSON))
	}
	return nil
}

// reply makes the reply of a stream that ended.
func (r *reading) reply() (agent.Reply, error) {
	for _, index := range slices.Sorted(maps.Keys(r.blocks)) {
		b := r.blocks[index]
		input := b.pieces.String()
		if input == "" {
			input = b.whole
		}
		if err := r.answer.Call(b.id, b.name, input); err != nil {
			if r.stop == anthropic.StopReasonMaxTokens {
				return agent.Reply{}, r.x.Large()
			}
			return agent.Reply{}, err
		}
	}
	if r.stop == anthropic.StopReasonRefusal {
		return agent.Reply{}, r.x.Declined()
	}
	used := r.answer.Used()
	reply := r.answer.Reply()
	reply.Model = answer.ModelName(r.model)
	reply.TokensIn, reply.TokensOut = r.in, r.out
	if r.in == 0 && r.out == 0 {
		reply.TokensIn, reply.TokensOut = answer.Tokens(answer.Size(r.turn)), answer.Tokens(used)
	}
	return reply, nil
}
