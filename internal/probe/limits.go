package probe

import (
	"context"
	_ "embed" // the published cases
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/guard"
)

// What a schema says of arguments.
const (
	Accepted = "accepted"
	Refused  = "refused"
	NoTool   = "no such tool"
	NoSchema = "no schema"
)

// LimitCase is arguments for a tool, and what the tool's schema should say of them.
type LimitCase struct {
	Case      string         `json:"case"`
	Tool      string         `json:"tool"`
	Arguments jsontext.Value `json:"arguments"`
	Lengths   map[string]int `json:"lengths,omitempty"` // makes these arguments texts of so many characters
	Expected  string         `json:"expected"`          // Accepted or Refused
	Keyword   string         `json:"keyword,omitempty"` // of JSON Schema, that should refuse; "" is any
}

// LimitResult is a case and what the live schema said.
type LimitResult struct {
	LimitCase
	Found   string   `json:"found"`             // Accepted, Refused, NoTool or NoSchema
	Reasons []Reason `json:"reasons,omitempty"` // of a refusal
	Detail  string   `json:"detail,omitempty"`  // why there is no schema to judge by
	Held    bool     `json:"held"`
}

// Reason is one keyword that refused.
type Reason struct {
	Argument string `json:"argument"` // "" is the arguments as a whole
	Keyword  string `json:"keyword"`
}

// Limits of a file of cases.
const (
	maxCases  = 1000
	maxLength = 1_000_000 // characters of a generated text
)

//go:embed limits.json
var publishedCases []byte

// PublishedCases are the twelve for the tools of sessions.
func PublishedCases() []LimitCase {
	cases, err := ReadCases(publishedCases)
	if err != nil {
		panic("probe: the published cases: " + err.Error()) // they are part of the program
	}
	return cases
}

// ReadCases reads a JSON array of cases. The error names the case and the member.
func ReadCases(data []byte) ([]LimitCase, error) {
	if len(data) > guard.MaxBody {
		return nil, fmt.Errorf("the file is larger than %d bytes", guard.MaxBody)
	}
	var cases []LimitCase
	if err := guard.Decode(data, &cases, guard.KnownMembers); err != nil {
		return nil, err
	}
	if len(cases) == 0 || len(cases) > maxCases {
		return nil, fmt.Errorf("there must be 1 to %d cases, got %d", maxCases, len(cases))
	}
	for i, c := range cases {
		if err := c.validate(); err != nil {
			return nil, fmt.Errorf("/%d: %w", i, err)
		}
	}
	return cases, nil
}

func (c LimitCase) validate() error {
	switch {
	case strings.TrimSpace(c.Case) == "":
		return errors.New("case: is required")
	case c.Tool == "":
		return errors.New("tool: is required")
	case c.Arguments.Kind() != '{':
		return errors.New("arguments: must be an object")
	case c.Expected != Accepted && c.Expected != Refused:
		return fmt.Errorf("expected: must be %s or %s", Accepted, Refused)
	case c.Keyword != "" && c.Expected == Accepted:
		return errors.New("keyword: none refuses what is accepted")
	}
	for name, n := range c.Lengths {
		if n < 0 || n > maxLength {
			return fmt.Errorf("lengths: %s must be from 0 to %d", name, maxLength)
		}
	}
	return nil
}

// instance is the arguments as a schema sees them.
func (c LimitCase) instance() (map[string]any, error) {
	var arguments map[string]any
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return nil, err
	}
	for name, n := range c.Lengths {
		arguments[name] = strings.Repeat("x", n)
	}
	return arguments, nil
}

// LimitsReport is what the live schemas of a server say of the cases.
type LimitsReport struct {
	Endpoint string        `json:"endpoint"`
	Server   string        `json:"server,omitempty"`
	Tools    int           `json:"tools"` // in the list
	Cases    []LimitResult `json:"cases"`
	Held     int           `json:"held"`
}

// Limits reads the schemas of a server's tools and judges the arguments of each
// case by them, here: no tool is called. A server that cannot be spoken to is an
// error, ErrSignIn where its list needs a token; whatever its schemas are is a
// result.
func Limits(ctx context.Context, endpoint string, o VisitOptions, cases []LimitCase) (*LimitsReport, error) {
	v, err := newVisit(endpoint, o, 4)
	if err != nil {
		return nil, err
	}
	defer v.close(context.WithoutCancel(ctx))
	if err := v.tools(ctx); err != nil {
		return nil, err
	}
	report := &LimitsReport{Endpoint: endpoint, Server: v.report.Server, Tools: len(v.definitions)}
	for _, c := range cases {
		r := v.judgeCase(c)
		if r.Held {
			report.Held++
		}
		report.Cases = append(report.Cases, r)
	}
	return report, nil
}

func (v *visit) judgeCase(c LimitCase) LimitResult {
	r := LimitResult{LimitCase: c, Found: Accepted}
	i := slices.IndexFunc(v.definitions, func(d definition) bool { return d.Name == c.Tool })
	if i < 0 {
		r.Found = NoTool
		return r
	}
	arguments, err := c.instance()
	if err == nil {
		r.Reasons, err = reasons(v.definitions[i].InputSchema, arguments)
	}
	switch {
	case err != nil:
		r.Found, r.Detail = NoSchema, shorten([]byte(err.Error()))
	case len(r.Reasons) > 0:
		r.Found = Refused
	}
	// A case with a keyword is about that one: another beside it would refuse the
	// arguments too, whatever the keyword says.
	r.Held = r.Found == c.Expected && !slices.ContainsFunc(r.Reasons, func(reason Reason) bool {
		return c.Keyword != "" && reason.Keyword != c.Keyword
	})
	return r
}
