package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Caller says who may make a call.
type Caller uint8

// The callers. The zero value needs a person who proved who they are.
const (
	Person  Caller = iota // signed in, or with a personal token
	Browser               // signed in: what the contract keeps for a person at a screen
	Anyone                // nobody in particular; on the written list of the route sweep
)

// Rule declares one call of the owner API. It is data: routing, decoding, the
// check, the audit and the OpenAPI document follow from it.
type Rule struct {
	Method    string
	Path      string // a net/http pattern without method
	Operation string // such as project.create: in the audit and in the OpenAPI document
	Summary   string // one line for the OpenAPI document
	Caller    Caller

	// Kind is what the call is about; the first wildcard of Path names it. "" means
	// the caller's own affairs, which need no permit.
	Kind  access.Kind
	Right access.Right // on it
	// RightOf, where set, says instead of Right what a body needs.
	RightOf func(in any) access.Right

	Status  int     // of success; 0 means 200, or 204 where there is no answer
	Paged   bool    // takes cursor and limit
	Filters []Query // further query parameters; all others are refused

	// Alone says that the call runs its own units of work, because it hashes a
	// password or does not end; it then audits itself.
	Alone bool
	// Gone, where set, reports whether the call exists no more; it is asked before
	// anything else.
	Gone func(ctx context.Context) (bool, error)
}

// Query declares a query parameter, in the words of the tag "arg".
type Query struct{ Name, Arg, Doc string }

// Nothing is the body or answer of a call that has none.
type Nothing struct{}

// Call is one permitted call on its way.
type Call struct {
	Tx     access.Tx        // the unit of work; nil where the rule says Alone
	Who    access.Principal // zero where the rule says Anyone and nobody is signed in
	Permit access.Permit    // for what the rule is about; zero where Kind is ""
	Page   workspace.Page
	Entry  workspace.Entry // the audit line; a call that makes something names it here

	passage *passage
}

// Path is a wildcard of the path. Text that can't be an ID of ours comes as one
// that names nothing.
func (c *Call) Path(wildcard string) string { return idOf(c.passage.r.PathValue(wildcard)) }

// Query is a query parameter that the rule declares, "" if absent.
func (c *Call) Query(name string) string { return c.passage.query[name] }

// Need makes a permit for another thing than the rule's, in the same unit of
// work, such as the project that a note moves to.
func (c *Call) Need(ctx context.Context, ref access.Ref, right access.Right) (access.Permit, error) {
	ref.ID = idOf(ref.ID)
	return c.passage.need(ctx, c.Tx, ref, right)
}

// Route is a declared call with what it does. Make one with Handle.
type Route struct {
	Rule
	in, out reflect.Type
	decode  func(data []byte) (any, error)
	prepare func(ctx context.Context, in any) error
	do      func(ctx context.Context, c *Call, in any) (any, error)
}

// Handle completes a rule with its body In, its answer Out, and what it does
// inside the unit of work of its check.
func Handle[In, Out any](r Rule, do func(ctx context.Context, c *Call, in In) (Out, error)) Route {
	return HandlePrepared(r, nil, do)
}

// HandlePrepared is Handle with something slow to do to the body before the
// unit of work begins, such as hashing a password.
func HandlePrepared[In, Out any](r Rule, prepare func(ctx context.Context, in *In) error,
	do func(ctx context.Context, c *Call, in In) (Out, error)) Route {
	route := Route{Rule: r, in: reflect.TypeFor[In](), out: reflect.TypeFor[Out]()}
	route.decode = func(data []byte) (any, error) {
		in := new(In)
		if err := guard.Decode(data, in, guard.KnownMembers); err != nil {
			return nil, err
		}
		return in, requireFields(route.in, data)
	}
	if prepare != nil {
		route.prepare = func(ctx context.Context, in any) error { return prepare(ctx, in.(*In)) }
	}
	route.do = func(ctx context.Context, c *Call, in any) (any, error) { return do(ctx, c, *in.(*In)) }
	if route.Status == 0 {
		route.Status = http.StatusOK
		if route.answersNothing() {
			route.Status = http.StatusNoContent
		}
	}
	return route
}

func (r *Route) takesNothing() bool   { return r.in == reflect.TypeFor[Nothing]() }
func (r *Route) answersNothing() bool { return r.out == reflect.TypeFor[Nothing]() }
func (r *Route) writes() bool         { return r.Method != http.MethodGet }

// wildcards are the names in braces of the path, in order.
func (r *Route) wildcards() []string {
	var names []string
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// faults finds mistakes in a declaration, so that the program does not start
// with them.
func (r *Route) faults() error {
	about := fmt.Sprintf("%s %s (%s)", r.Method, r.Path, r.Operation)
	switch {
	case !strings.HasPrefix(r.Path, "/api/v1/") || strings.HasSuffix(r.Path, "/"):
		return fmt.Errorf("%s: not a path of the owner API", about)
	case r.Operation == "" || r.Summary == "":
		return fmt.Errorf("%s: has no operation or no summary", about)
	case r.Kind != "" && (len(r.wildcards()) == 0 || r.Right == access.RightNone):
		return fmt.Errorf("%s: is about a %s, but names none or needs no right", about, r.Kind)
	case r.Caller == Anyone && r.Kind != "":
		return fmt.Errorf("%s: nobody in particular can have a right to a %s", about, r.Kind)
	case r.Caller == Anyone && !r.Alone && r.writes():
		return fmt.Errorf("%s: a change by nobody in particular has to audit itself", about)
	}
	return nil
}

// namesNothing is in place of an ID that no ID of ours can look like. It goes
// the same way through the database as one that is only unknown.
const namesNothing = "00000000-0000-0000-0000-000000000000"

// idOf passes on what may be an ID: at most 64 letters, digits, "-" and "_".
func idOf(s string) string {
	if s == "" || len(s) > 64 {
		return namesNothing
	}
	for _, b := range []byte(s) {
		letter := 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
		if !letter && b != '-' && b != '_' {
			return namesNothing
		}
	}
	return s
}
