package providertest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// anthropicBlock is a block of a message's content.
type anthropicBlock struct {
	Type      string           `json:"type"`
	Text      string           `json:"text"`
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Input     json.RawMessage  `json:"input"`
	ToolUseID string           `json:"tool_use_id"`
	IsError   bool             `json:"is_error"`
	Content   []anthropicBlock `json:"content"`
}

// readAnthropic reads a request for a message.
func readAnthropic(text []byte) (Request, error) {
	var body struct {
		Model     string           `json:"model"`
		Stream    bool             `json:"stream"`
		MaxTokens int64            `json:"max_tokens"`
		System    []anthropicBlock `json:"system"`
		Messages  []struct {
			Role    string           `json:"role"`
			Content []anthropicBlock `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		ToolChoice struct {
			Type string `json:"type"`
		} `json:"tool_choice"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return Request{}, err
	}
	r := Request{Model: body.Model, Stream: body.Stream, MaxTokens: body.MaxTokens, System: textOf(body.System)}
	for _, m := range body.Messages {
		r.Messages = append(r.Messages, anthropicMessages(m.Role, m.Content)...)
	}
	if len(body.Tools) == 0 && slices.ContainsFunc(r.Messages, func(m agent.Message) bool { return len(m.Calls) > 0 || m.Role == agent.RoleTool }) {
		return Request{}, errors.New("tools that were used must be declared") // as the real one refuses it
	}
	for _, tool := range body.Tools {
		if body.ToolChoice.Type != "none" {
			r.Tools = append(r.Tools, tool.Name)
		}
	}
	return r, nil
}

func textOf(blocks []anthropicBlock) string {
	var text []string
	for _, b := range blocks {
		if b.Type == "text" {
			text = append(text, b.Text)
		}
	}
	return strings.Join(text, "\n\n")
}

// anthropicMessages writes a message's blocks as messages: each result of a tool is
// one, the rest is one.
func anthropicMessages(role string, blocks []anthropicBlock) []agent.Message {
	var out []agent.Message
	rest := agent.Message{Role: agent.RoleUser, Text: textOf(blocks)}
	if role == "assistant" {
		rest.Role = agent.RoleAgent
	}
	for _, b := range blocks {
		switch b.Type {
		case "tool_use":
			rest.Calls = append(rest.Calls, agent.Call{ID: b.ID, Name: b.Name, Arguments: jsontext.Value(b.Input)})
		case "tool_result":
			out = append(out, agent.Message{Role: agent.RoleTool, Text: textOf(b.Content), CallID: b.ToolUseID, Failed: b.IsError})
		}
	}
	if rest.Text != "" || len(rest.Calls) > 0 {
		out = append(out, rest)
	}
	return out
}

// anthropicFrames writes a move as the events of a message.
func anthropicFrames(m Move) frames {
	say := func(kind string, v object) string {
		v["type"] = kind
		return "event: " + kind + "\n" + data(v)
	}
	f := frames{begin: []string{
		say("message_start", object{"message": object{"id": "msg_1", "type": "message", "role": "assistant", "model": m.Model, "content": []any{},
			"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": m.In, "output_tokens": min(m.Out, 1)}}}),
		say("ping", object{}),
	}}
	index := 0
	if len(m.Text) > 0 {
		f.begin = append(f.begin, say("content_block_start", object{"index": index, "content_block": object{"type": "text", "text": ""}}))
		for _, piece := range m.Text {
			f.text = append(f.text, say("content_block_delta", object{"index": index, "delta": object{"type": "text_delta", "text": piece}}))
		}
		f.end = append(f.end, say("content_block_stop", object{"index": index}))
		index++
	}
	for _, c := range m.Calls {
		pieces := halves(string(c.Arguments))
		f.end = append(f.end,
			say("content_block_start", object{"index": index, "content_block": object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}}),
			say("content_block_delta", object{"index": index, "delta": object{"type": "input_json_delta", "partial_json": pieces[0]}}),
			say("content_block_delta", object{"index": index, "delta": object{"type": "input_json_delta", "partial_json": pieces[1]}}),
			say("content_block_stop", object{"index": index}))
		index++
	}
	stop := "end_turn"
	if len(m.Calls) > 0 {
		stop = "tool_use"
	}
	f.end = append(f.end,
		say("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": m.Out}}),
		say("message_stop", object{}))
	return f
}
