package openai

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// request writes a turn as the body of a request, but for what dialects differ in.
func request(t agent.Turn) (openai.ChatCompletionNewParams, error) {
	body := openai.ChatCompletionNewParams{Model: t.Model}
	if t.Instructions != "" {
		body.Messages = append(body.Messages, openai.SystemMessage(t.Instructions))
	}
	for _, m := range joined(t.Messages) {
		body.Messages = append(body.Messages, message(m))
	}
	for _, offer := range t.Tools {
		var schema shared.FunctionParameters
		if err := json.Unmarshal(offer.Parameters, &schema); err != nil {
			return body, &agent.Fault{Kind: agent.FaultRefused, Text: "The tool " + offer.Name + " has parameters that are not a JSON Schema.", Cause: err}
		}
		function := shared.FunctionDefinitionParam{Name: offer.Name, Parameters: schema}
		if offer.Description != "" {
			function.Description = param.NewOpt(offer.Description)
		}
		body.Tools = append(body.Tools, openai.ChatCompletionFunctionTool(function))
	}
	return body, nil
}

// joined makes one message of what the user said in several: the templates of some
// models demand that user and assistant alternate.
func joined(messages []agent.Message) []agent.Message {
	var out []agent.Message
	for _, m := range messages {
		if n := len(out); n > 0 && m.Role == agent.RoleUser && out[n-1].Role == agent.RoleUser {
			out[n-1].Text += "\n\n" + m.Text
			continue
		}
		out = append(out, m)
	}
	return out
}

func message(m agent.Message) openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case agent.RoleTool:
		return openai.ToolMessage(m.Text, m.CallID)
	case agent.RoleAgent:
		assistant := openai.ChatCompletionAssistantMessageParam{}
		if m.Text != "" || len(m.Calls) == 0 {
			assistant.Content.OfString = param.NewOpt(m.Text)
		}
		for _, c := range m.Calls {
			assistant.ToolCalls = append(assistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
				OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
					ID:       c.ID,
					Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: string(c.Arguments)},
				},
			})
		}
		return openai.ChatCompletionMessageParamUnion{OfAssistant: &assistant}
	}
	return openai.UserMessage(m.Text)
}
