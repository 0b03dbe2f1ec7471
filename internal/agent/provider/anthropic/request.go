package anthropic

import (
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/osfoundry/osfoundry/internal/agent"
)

// request writes a turn as the body of a request.
func request(t agent.Turn) (anthropic.MessageNewParams, error) {
	body := anthropic.MessageNewParams{Model: t.Model, MaxTokens: t.MaxTokens, Messages: messages(t.Messages)}
	if body.MaxTokens <= 0 {
		body.MaxTokens = DefaultMaxTokens
	}
	if t.Instructions != "" {
		body.System = []anthropic.TextBlockParam{{Text: t.Instructions}}
	}
	for _, offer := range t.Tools {
		if !json.Valid(offer.Parameters) {
			return body, &agent.Fault{Kind: agent.FaultRefused, Text: "The tool " + offer.Name + " has parameters that are not a JSON Schema."}
		}
		body.Tools = append(body.Tools, tool(offer.Name, offer.Description, json.RawMessage(offer.Parameters)))
	}
	if len(t.Tools) == 0 {
		declareUsed(&body, t.Messages)
	}
	return body, nil
}

func tool(name, description string, schema json.RawMessage) anthropic.ToolUnionParam {
	t := &anthropic.ToolParam{Name: name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](schema)}
	if description != "" {
		t.Description = param.NewOpt(description)
	}
	return anthropic.ToolUnionParam{OfTool: t}
}

// declareUsed declares the tools that the conversation called, and that none may be
// called now.
func declareUsed(body *anthropic.MessageNewParams, conversation []agent.Message) {
	seen := map[string]bool{}
	for _, m := range conversation {
		for _, c := range m.Calls {
			if seen[c.Name] {
				continue
			}
			seen[c.Name] = true
			body.Tools = append(body.Tools, tool(c.Name, "", json.RawMessage(`{"type":"object"}`)))
		}
	}
	if len(seen) > 0 {
		none := anthropic.NewToolChoiceNoneParam()
		body.ToolChoice = anthropic.ToolChoiceUnionParam{OfNone: &none}
	}
}

// messages writes the conversation so that user and assistant alternate: results of
// tools are what the user says, and come together.
func messages(conversation []agent.Message) []anthropic.MessageParam {
	var out []anthropic.MessageParam
	var blocks []anthropic.ContentBlockParamUnion
	var fromAgent bool
	flush := func() {
		switch {
		case len(blocks) == 0:
		case fromAgent:
			out = append(out, anthropic.NewAssistantMessage(blocks...))
		default:
			out = append(out, anthropic.NewUserMessage(blocks...))
		}
		blocks = nil
	}
	for _, m := range conversation {
		if m.Role == agent.RoleAgent != fromAgent {
			flush()
			fromAgent = m.Role == agent.RoleAgent
		}
		blocks = append(blocks, content(m)...)
	}
	flush()
	return out
}

// content writes a message as blocks. Text that is empty is refused, so there is
// none.
func content(m agent.Message) []anthropic.ContentBlockParamUnion {
	if m.Role == agent.RoleTool {
		result := anthropic.ToolResultBlockParam{ToolUseID: m.CallID}
		if m.Failed {
			result.IsError = param.NewOpt(true)
		}
		if m.Text != "" {
			result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: m.Text}}}
		}
		return []anthropic.ContentBlockParamUnion{{OfToolResult: &result}}
	}
	var blocks []anthropic.ContentBlockParamUnion
	if m.Text != "" {
		blocks = append(blocks, anthropic.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, json.RawMessage(c.Arguments), c.Name))
	}
	return blocks
}
