package probe

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tiktoken-go/tokenizer"
)

// Catalogue is what tools/list holds, and what it costs a model to read.
type Catalogue struct {
	Size   Size     `json:"size"`           // of the whole list
	Only   *Size    `json:"only,omitempty"` // of the tools asked for
	Absent []string `json:"absent,omitempty"`
	Scopes []Group  `json:"by_scope"`
	Hints  []Group  `json:"by_hint"`
	Tools  []Tool   `json:"tools"`
}

// Size is how much text the definitions of tools are, as compact JSON.
type Size struct {
	Tools  int `json:"tools"`
	Bytes  int `json:"bytes"`
	CL100K int `json:"cl100k_tokens"`
	O200K  int `json:"o200k_tokens"`
}

func (s *Size) add(t Size) {
	s.Tools, s.Bytes, s.CL100K, s.O200K = s.Tools+t.Tools, s.Bytes+t.Bytes, s.CL100K+t.CL100K, s.O200K+t.O200K
}

// Group is how many tools share something.
type Group struct {
	Name  string `json:"name"`
	Tools int    `json:"tools"`
}

// Tool is one tool of the list.
type Tool struct {
	Name   string   `json:"name"`
	Size   Size     `json:"size"`
	Scopes []string `json:"scopes,omitempty"` // of its OAuth security schemes
	Hints  []string `json:"hints,omitempty"`  // such as read-only

	definition definition
}

// definition is a tool as the server lists it.
type definition struct {
	Name        string         `json:"name"`
	InputSchema jsontext.Value `json:"inputSchema"`
	Annotations struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  *bool `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	} `json:"annotations"`
	Security []securityScheme `json:"securitySchemes"`
	Meta     struct {
		Security []securityScheme `json:"securitySchemes"`
	} `json:"_meta"`
}

type securityScheme struct {
	Type   string   `json:"type"`
	Scopes []string `json:"scopes"`
}

type toolPage struct {
	Tools []jsontext.Value `json:"tools"`
	Next  string           `json:"nextCursor"`
}

// maxPagesListed bounds how many pages of a list are read.
const maxPagesListed = 50

// tools lists the tools and calls one.
func (s *survey) tools(ctx context.Context) {
	if s.initialized.Status == http.StatusOK && s.initialized.failure == "" {
		q := s.rpc("notifications/initialized", "notifications/initialized", nil, s.legacyHeader())
		q.body, q.rpcID, q.once = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), "", true
		s.ask(ctx, q)
	}
	s.listed = s.ask(ctx, s.list(""))
	s.judgeList(ctx)
	s.called = s.ask(ctx, s.call(s.harmless()))
	if s.called.Status == http.StatusForbidden && s.initialized.Status != http.StatusForbidden {
		s.find("status-403", "tools/call: HTTP 403")
	}
}

// statelessOnly reports whether only the era of 2026-07-28 works here.
func (s *survey) statelessOnly() bool {
	return s.initialized.Status >= 400 && s.initialized.Status != http.StatusUnauthorized && s.discovered.Status == http.StatusOK
}

func (s *survey) list(cursor string) question {
	params := map[string]any{}
	if cursor != "" {
		params["cursor"] = cursor
	}
	if s.statelessOnly() {
		return s.modern("tools/list", "", params)
	}
	return s.rpc("tools/list", "tools/list", params, s.legacyHeader())
}

func (s *survey) call(tool string) question {
	params := map[string]any{"name": tool, "arguments": map[string]any{}}
	if s.statelessOnly() {
		return s.modern("tools/call", tool, params)
	}
	return s.rpc("tools/call without a token", "tools/call", params, s.legacyHeader())
}

// absentTool is called where no tool says that it only reads: nobody has it.
const absentTool = "osfoundry_probe_absent"

// harmless is the tool to call: without a token it should not run, and if it does it
// must change nothing. A tool that promises to read only and needs no argument is
// the one; a promise that is not given is not presumed (MCP, Tool annotations).
func (s *survey) harmless() string {
	if s.report.Catalogue == nil {
		return absentTool
	}
	for _, t := range s.report.Catalogue.Tools {
		var schema struct {
			Required []string `json:"required"`
		}
		readable := json.Unmarshal(t.definition.InputSchema, &schema, lenient) == nil
		if readable && len(schema.Required) == 0 && slices.Contains(t.Hints, "read-only") && !slices.Contains(t.Hints, "destructive") {
			return t.Name
		}
	}
	return absentTool
}

// judgeList reads the list, all its pages, and counts.
func (s *survey) judgeList(ctx context.Context) {
	switch s.listed.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return
	}
	if s.initialized.Status != http.StatusOK && !s.statelessOnly() {
		return // said already
	}
	if all, ok := s.pages(ctx); ok {
		s.catalogue(ctx, all)
	}
}

// pages reads the definitions from the list that was got, and from the pages after
// it; ok is false after a finding that there is no list.
func (s *survey) pages(ctx context.Context) (all []jsontext.Value, ok bool) {
	got := &s.listed
	for range maxPagesListed {
		result, ok := s.result("tools/list", "list-failed", got)
		if !ok {
			return nil, false
		}
		var p toolPage
		if err := json.Unmarshal(result, &p, lenient); err != nil || p.Tools == nil {
			s.find("list-failed", "the result has no list of tools: %s", shorten(result))
			return nil, false
		}
		all = append(all, p.Tools...)
		if p.Next == "" {
			return all, true
		}
		next := s.asker.ask(ctx, s.list(p.Next))
		if next.failure != "" {
			s.find(next.failure, "tools/list, next page: %s", next.detail)
			return nil, false
		}
		got = &next
	}
	s.find("list-endless", "more than %d pages", maxPagesListed)
	return all, true
}

// catalogue counts the tools and judges their definitions.
func (s *survey) catalogue(ctx context.Context, raw []jsontext.Value) {
	c := &Catalogue{Tools: make([]Tool, 0, len(raw))}
	s.report.Catalogue = c
	seen := map[string]bool{}
	var hintless []string
	for _, value := range raw {
		if ctx.Err() != nil {
			return
		}
		if s.o.Progress != nil && len(c.Tools)%8 == 7 {
			s.o.Progress(len(c.Tools), len(raw), "count tokens")
		}
		t := s.tool(value)
		if seen[t.Name] {
			s.find("tool-twice", "%s", t.Name)
		}
		seen[t.Name] = true
		if a := t.definition.Annotations; a.ReadOnly == nil || a.OpenWorld == nil || !*a.ReadOnly && (a.Destructive == nil || a.Idempotent == nil) {
			hintless = append(hintless, t.Name)
		}
		c.Size.add(t.Size)
		c.Tools = append(c.Tools, t)
	}
	c.group()
	c.only(s.o.Only)
	if len(raw) == 0 {
		s.find("no-tools", "the list is empty")
	}
	if len(hintless) > 0 {
		s.find("tool-hints", "%d of %d tools, %s first", len(hintless), len(raw), hintless[0])
	}
}

func (s *survey) tool(value jsontext.Value) Tool {
	var d definition
	err := json.Unmarshal(value, &d, lenient)
	var schema struct {
		Type jsontext.Value `json:"type"`
	}
	switch {
	case err != nil:
		s.find("tool-schema", "%s: %v", shorten([]byte(d.Name)), err)
	case d.Name == "":
		s.find("tool-schema", "a tool without a name")
	case json.Unmarshal(d.InputSchema, &schema, lenient) != nil || string(schema.Type) != `"object"`:
		s.find("tool-schema", "%s: inputSchema %s", shorten([]byte(d.Name)), shorten(d.InputSchema))
	}
	t := Tool{Name: d.Name, Size: sizeOf(value), definition: d, Hints: d.hints()}
	for _, scheme := range append(d.Security, d.Meta.Security...) {
		for _, scope := range scheme.Scopes {
			if !slices.Contains(t.Scopes, scope) {
				t.Scopes = append(t.Scopes, scope)
			}
		}
	}
	return t
}

// hints are what the annotations say in words; where they say nothing, nothing.
func (d definition) hints() (all []string) {
	a := d.Annotations
	for _, h := range []struct {
		hint    *bool
		yes, no string
	}{{a.ReadOnly, "read-only", "writes"}, {a.Destructive, "destructive", ""}, {a.Idempotent, "idempotent", ""}, {a.OpenWorld, "open world", "closed world"}} {
		switch {
		case h.hint == nil:
		case *h.hint:
			all = append(all, h.yes)
		case h.no != "":
			all = append(all, h.no)
		}
	}
	return all
}

// group counts by scope and by hint, in order of name. A tool with several counts
// in each.
func (c *Catalogue) group() {
	scopes, hints := map[string]int{}, map[string]int{}
	for _, t := range c.Tools {
		tally(scopes, t.Scopes, "no scope named")
		tally(hints, t.Hints, "no hint")
	}
	c.Scopes, c.Hints = groups(scopes), groups(hints)
}

func tally(counts map[string]int, names []string, none string) {
	if len(names) == 0 {
		counts[none]++
	}
	for _, name := range names {
		counts[name]++
	}
}

func groups(counts map[string]int) []Group {
	all := make([]Group, 0, len(counts))
	for name, n := range counts {
		all = append(all, Group{name, n})
	}
	slices.SortFunc(all, func(a, b Group) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// only sums up the tools that were asked for by name.
func (c *Catalogue) only(names []string) {
	if len(names) == 0 {
		return
	}
	c.Only = &Size{}
	for _, name := range names {
		i := slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == name })
		if i < 0 {
			c.Absent = append(c.Absent, name)
			continue
		}
		c.Only.add(c.Tools[i].Size)
	}
}

// codecs are the two vocabularies, loaded when first needed.
var codecs = sync.OnceValues(func() ([2]tokenizer.Codec, error) {
	cl100k, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		return [2]tokenizer.Codec{}, fmt.Errorf("cl100k: %w", err)
	}
	o200k, err := tokenizer.Get(tokenizer.O200kBase)
	return [2]tokenizer.Codec{cl100k, o200k}, err
})

// sizeOf counts one definition as compact JSON, which is about what a host puts
// before its model.
func sizeOf(value jsontext.Value) Size {
	compact := value.Clone()
	if err := compact.Compact(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		compact = value // it is valid: it was read
	}
	s := Size{Tools: 1, Bytes: len(compact)}
	both, err := codecs()
	if err != nil {
		return s
	}
	text := strings.ToValidUTF8(string(compact), "\ufffd")
	s.CL100K, _ = both[0].Count(text) // valid text always counts
	s.O200K, _ = both[1].Count(text)
	return s
}
