package tool

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Hints are the annotations of a tool (MCP, ToolAnnotations), all stated: a host
// takes an absent hint for its worst value.
type Hints struct {
	ReadOnly    bool // changes nothing
	Destructive bool // may overwrite or end something
	OpenWorld   bool // reaches somebody outside the call
	Idempotent  bool // carries a key, so that a repeat has no further effect
}

// Tool is one thing that an outside assistant can do: how it is announced, what
// it needs, and what it does. Make one with define.
type Tool struct {
	Name        string
	Title       string
	Description string
	Needs       access.Permission
	Hints       Hints
	ForAgents   bool // a session may give it to its agents
	ReadsAlong  bool // all it reads comes along with the check: the call is one statement

	schema *jsonschema.Schema
	decode func(jsontext.Value) (arguments any, err error)
	on     func(arguments any) []access.Ref
	run    func(ctx context.Context, c *Run, arguments any) (any, error)
}

// Writes reports whether the tool changes anything, and so takes a key.
func (t *Tool) Writes() bool { return !t.Hints.ReadOnly }

// Run is one permitted call on its way: the unit of work, and a permit for each
// thing that the tool named, in that order.
type Run struct {
	Tx      access.Tx
	Permits []access.Permit
}

// Permit is the permit for the first thing the tool named.
func (c *Run) Permit() access.Permit { return c.Permits[0] }

// define completes a tool with its arguments A and what it does. On names the
// things that the call touches; each is checked, in order, before run begins. A
// tool that names nothing is about its connection.
func define[A, R any](t Tool, on func(a A) []access.Ref, run func(ctx context.Context, c *Run, a A) (R, error)) *Tool {
	t.schema = argumentsOf(reflect.TypeFor[A]())
	t.decode = func(raw jsontext.Value) (any, error) {
		var a A
		err := json.Unmarshal(raw, &a, json.RejectUnknownMembers(true))
		if err != nil { // perhaps only for a whole number in another spelling
			a = *new(A)
			err = json.Unmarshal(raw, &a, json.RejectUnknownMembers(true), json.WithUnmarshalers(wholeNumbers))
		}
		return a, err
	}
	t.on = func(a any) []access.Ref {
		if on == nil {
			return []access.Ref{{Kind: access.KindConnection}}
		}
		return on(a.(A))
	}
	t.run = func(ctx context.Context, c *Run, a any) (any, error) { return run(ctx, c, a.(A)) }
	return &t
}

// wholeNumbers reads integers in every spelling that JSON Schema takes for one,
// such as 1.0 and 1e2 (JSON Schema Core §4.2.3).
var wholeNumbers = json.UnmarshalFromFunc(func(d *jsontext.Decoder, n *int64) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxWhole {
		return fmt.Errorf("%.40s is no whole number", v)
	}
	*n = int64(f)
	return nil
})

// announcement is a tool as tools/list shows it. The security schemes stand both
// at the top level, where ChatGPT reads them, and in _meta, which the protocol
// leaves to extensions.
type announcement struct {
	Name            string           `json:"name"`
	Title           string           `json:"title"`
	Description     string           `json:"description"`
	InputSchema     jsontext.Value   `json:"inputSchema"`
	Annotations     annotations      `json:"annotations"`
	SecuritySchemes []securityScheme `json:"securitySchemes"`
	Meta            struct {
		SecuritySchemes []securityScheme `json:"securitySchemes"`
	} `json:"_meta"`
}

type annotations struct {
	Title           string `json:"title"`
	ReadOnlyHint    bool   `json:"readOnlyHint"`
	DestructiveHint bool   `json:"destructiveHint"`
	OpenWorldHint   bool   `json:"openWorldHint"`
	IdempotentHint  bool   `json:"idempotentHint,omitzero"`
}

type securityScheme struct {
	Type   string   `json:"type"`
	Scopes []string `json:"scopes"`
}

// announce renders the tool once, at start.
func (t *Tool) announce() (jsontext.Value, error) {
	schema, err := t.schema.MarshalJSON()
	if err != nil {
		return nil, err
	}
	a := announcement{
		Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: schema,
		Annotations:     annotations{t.Title, t.Hints.ReadOnly, t.Hints.Destructive, t.Hints.OpenWorld, t.Hints.Idempotent},
		SecuritySchemes: []securityScheme{{"oauth2", t.Needs.Scopes.Names()}},
	}
	a.Meta.SecuritySchemes = a.SecuritySchemes
	return json.Marshal(a)
}
