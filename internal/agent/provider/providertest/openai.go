package providertest

import (
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// readOpenAI reads a request for a chat completion.
func readOpenAI(text []byte) (Request, error) {
	var body struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			CallID    string `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		MaxTokens           int64 `json:"max_tokens"`
		MaxCompletionTokens int64 `json:"max_completion_tokens"`
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return Request{}, err
	}
	r := Request{Model: body.Model, Stream: body.Stream, MaxTokens: max(body.MaxTokens, body.MaxCompletionTokens)}
	for _, m := range body.Messages {
		message := agent.Message{Role: agent.RoleUser, Text: m.Content, CallID: m.CallID}
		switch m.Role {
		case "system":
			r.System = m.Content
			continue
		case "assistant":
			message.Role = agent.RoleAgent
		case "tool":
			message.Role = agent.RoleTool
		}
		for _, c := range m.ToolCalls {
			message.Calls = append(message.Calls, agent.Call{ID: c.ID, Name: c.Function.Name, Arguments: jsontext.Value(c.Function.Arguments)})
		}
		r.Messages = append(r.Messages, message)
	}
	for _, tool := range body.Tools {
		r.Tools = append(r.Tools, tool.Function.Name)
	}
	return r, nil
}

// object is JSON to be.
type object = map[string]any

func data(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // scripts are of plain values
	}
	return "data: " + string(text)
}

// openAIFrames writes a move as chunks of a chat completion.
func openAIFrames(m Move) frames {
	chunk := func(delta object, finish any) string {
		return data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": m.Model,
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	f := frames{begin: []string{chunk(object{"role": "assistant", "content": ""}, nil)}}
	for _, piece := range m.Text {
		f.text = append(f.text, chunk(object{"content": piece}, nil))
	}
	for i, c := range m.Calls {
		pieces := halves(string(c.Arguments))
		f.end = append(f.end,
			chunk(object{"tool_calls": []object{{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil),
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": pieces[0]}}}}, nil),
			chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": pieces[1]}}}}, nil))
	}
	finish := "stop"
	if len(m.Calls) > 0 {
		finish = "tool_calls"
	}
	f.end = append(f.end, chunk(object{}, finish))
	if m.In > 0 {
		f.end = append(f.end, data(object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": m.Model, "choices": []object{},
			"usage": object{"prompt_tokens": m.In, "completion_tokens": m.Out, "total_tokens": m.In + m.Out}}))
	}
	f.end = append(f.end, "data: [DONE]")
	return f
}
