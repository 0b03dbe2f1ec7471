package api

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Lists answer so many rows at a time.
const (
	defaultLimit = 50
	maxLimit     = 200
	cursorLife   = 24 * time.Hour
)

// maxKey bounds an Idempotency-Key, in bytes (security.md TH26).
const maxKey = 255

// passage is one request on its way through the gate.
type passage struct {
	api     *API
	route   *Route
	r       *http.Request
	w       http.ResponseWriter
	started time.Time

	who    access.Principal
	query  map[string]string
	page   workspace.Page
	in     any
	key    string // Idempotency-Key, "" without
	digest string
	entry  workspace.Entry
	answer []byte
	direct bool // the call wrote its answer itself, as a stream does
}

// serve is the gate: every call of the owner API passes through it, and a rule
// for every call is one more numbered step in pass or run.
func (a *API) serve(route *Route, w http.ResponseWriter, r *http.Request) {
	p := &passage{api: a, route: route, r: r, w: w, started: a.Now()}
	err := p.pass()
	if err != nil {
		a.refuse(p, err)
		if !p.direct {
			a.fail(w, r, err)
		}
		return
	}
	if !p.direct {
		replyRaw(w, route.Status, p.answer)
	}
}

func (p *passage) pass() error {
	a, ctx := p.api, p.r.Context()

	// 1 Found, unless the call exists no more.
	if p.route.Gone != nil {
		gone, err := p.route.Gone(ctx)
		if err != nil {
			return err
		}
		if gone {
			return access.Refuse(access.NotFound, "There is nothing at this address any more.")
		}
	}

	// 2 From a page of ours, or from no page.
	if !a.Site.OriginAllowed(p.r) || p.route.writes() && a.Sessions.crossesCall(p.r) {
		return access.Refuse(access.Forbidden, "This call came from a page of another site.")
	}

	// 3 Who.
	if err := p.identify(); err != nil {
		return err
	}

	// 4 What was sent.
	if err := p.read(); err != nil {
		return err
	}
	if p.route.prepare != nil {
		if err := p.route.prepare(ctx, p.in); err != nil {
			return err
		}
	}
	if p.route.Alone {
		return p.alone(ctx)
	}

	// 5 Begin one unit of work for the check and the effect.
	begin := a.Work.Read
	if p.route.writes() {
		begin = a.Work.Write
	}
	return begin(ctx, func(tx access.Tx) error { return p.run(ctx, tx) })
}

// run runs inside the unit of work, perhaps more than once.
func (p *passage) run(ctx context.Context, tx access.Tx) error {
	c := &Call{Tx: tx, Who: p.who, Page: p.page, passage: p}
	p.answer, p.entry = nil, p.newEntry()

	// 6 A permit. A change of the person's rights comes before it or after the effect.
	if p.route.Kind != "" {
		ref := access.Ref{Kind: p.route.Kind, ID: c.Path(p.route.wildcards()[0])}
		right := p.route.Right
		if p.route.RightOf != nil {
			right = p.route.RightOf(p.in)
		}
		permit, err := p.need(ctx, tx, ref, right)
		if err != nil {
			return err
		}
		c.Permit = permit
		p.entry.WorkspaceID, p.entry.ProjectID = permit.Workspace(), permit.Project()
	}

	// 7 A key that was used before gets its first answer.
	if p.key != "" {
		done, err := p.replay(ctx, tx)
		if err != nil {
			return err
		}
		if done {
			p.entry.Detail = map[string]any{"note": "replayed"}
			return p.audit(ctx, tx)
		}
	}

	// 8 Do it.
	c.Entry = p.entry
	out, err := p.work(ctx, c)
	if err != nil {
		return err
	}
	p.entry = c.Entry
	if !p.route.answersNothing() {
		if p.answer, err = json.Marshal(out, json.Deterministic(true)); err != nil {
			return fmt.Errorf("answer of %s: %w", p.route.Operation, err)
		}
	}

	// 9 Keep the answer under its key, with the effect.
	if p.key != "" {
		if err := p.keep(ctx, tx, out); err != nil {
			return err
		}
	}

	// 10 Audit what changed something.
	if !p.route.writes() {
		return nil
	}
	return p.audit(ctx, tx)
}

func (p *passage) audit(ctx context.Context, tx access.Tx) error {
	p.entry.Duration = p.api.Now().Sub(p.started)
	return p.api.Audit.AppendAudit(ctx, tx, p.entry)
}

// alone runs a call that makes its own units of work.
func (p *passage) alone(ctx context.Context) error {
	c := &Call{Who: p.who, Page: p.page, passage: p, Entry: p.newEntry()}
	out, err := p.work(ctx, c)
	if err != nil || p.direct || p.route.answersNothing() {
		return err
	}
	p.answer, err = json.Marshal(out, json.Deterministic(true))
	return err
}

func (p *passage) identify() (err error) {
	switch p.route.Caller {
	case Anyone:
		return nil
	case Person:
		p.who, err = p.api.Sessions.Principal(p.r)
		return err
	}
	if len(p.r.Header["Authorization"]) > 0 {
		return access.Refuse(access.Forbidden, "Only a person in the browser can do this, not a token.")
	}
	p.who, err = p.api.Sessions.Principal(p.r)
	return err
}

// read takes apart path, query, body and key, and refuses what does not fit.
func (p *passage) read() error {
	if err := p.readQuery(); err != nil {
		return err
	}
	if err := p.readKey(); err != nil {
		return err
	}
	if p.route.takesNothing() {
		return p.readNothing()
	}
	body, err := guard.ReadBody(p.r, guard.MaxBody)
	if err != nil {
		return err
	}
	if p.in, err = p.route.decode(body); err != nil {
		return err
	}
	p.digest, err = digestOf(p.in, body)
	return err
}

// withoutSecret is what of a body or an answer may be kept. A digest of a password
// would let a stolen database be searched for it.
type withoutSecret interface{ withoutSecret() any }

// digestOf is the SHA-256 of a body in one spelling: members sorted, numbers as
// written, so that 1 and 1.0 are different bodies.
func digestOf(in any, body []byte) (digest string, err error) {
	spelled := jsontext.Value(body).Clone()
	if s, ok := in.(withoutSecret); ok {
		if spelled, err = json.Marshal(s.withoutSecret(), json.Deterministic(true)); err != nil {
			return "", err
		}
	}
	err = spelled.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false),
		jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	sum := sha256.Sum256(spelled)
	return base64.RawURLEncoding.EncodeToString(sum[:]), err
}

// readNothing lets a call without arguments have no body, or an empty object.
func (p *passage) readNothing() error {
	p.in = &Nothing{}
	if p.r.Body == nil || p.r.ContentLength == 0 {
		return nil
	}
	body, err := guard.ReadBody(p.r, guard.MaxBody)
	if err != nil {
		return err
	}
	return guard.Decode(body, p.in, guard.KnownMembers)
}

func (p *passage) readQuery() error {
	sent, err := url.ParseQuery(p.r.URL.RawQuery)
	if err != nil {
		return access.Refuse(badRequest, "The address does not end in a query that can be read.")
	}
	p.query = map[string]string{}
	p.page = workspace.Page{Limit: defaultLimit}
	for name, values := range sent {
		if len(values) != 1 {
			return wrong(name, "it is given twice.")
		}
		if err := p.readParameter(name, values[0]); err != nil {
			return err
		}
	}
	return nil
}

func (p *passage) readParameter(name, value string) error {
	switch {
	case p.route.Paged && name == "limit":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxLimit {
			return wrong(name, fmt.Sprintf("give 1 to %d.", maxLimit))
		}
		p.page.Limit = n
	case p.route.Paged && name == "cursor":
		place, err := p.api.cursors.Open(value, p.api.Now(), p.who.UserID, p.operation())
		if err != nil {
			return wrong(name, "it was not given to you for this list, or is older than a day.")
		}
		p.page.After = string(place)
	default:
		i := slices.IndexFunc(p.route.Filters, func(q Query) bool { return q.Name == name })
		if i < 0 {
			return wrong(name, "this call does not take it.")
		}
		if fault := p.route.Filters[i].fault(value); fault != "" {
			return wrong(name, fault)
		}
		p.query[name] = value
	}
	return nil
}

// fault says what is wrong with a value, in the words of the declaration.
func (q Query) fault(value string) string {
	for word := range strings.SplitSeq(q.Arg, ",") {
		key, arg, _ := strings.Cut(word, "=")
		switch {
		case key == "enum" && !slices.Contains(strings.Split(arg, "|"), value):
			return "give one of " + strings.ReplaceAll(arg, "|", ", ") + "."
		case key == "format":
			if _, err := time.Parse(time.RFC3339, value); err != nil {
				return "give a time as in RFC 3339, such as 2026-01-31T09:30:00Z."
			}
		}
	}
	if len(value) > 200 || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return "give at most 200 characters, and none that can't be seen."
	}
	return ""
}

// readKey takes the Idempotency-Key of a change
// (draft-ietf-httpapi-idempotency-key-header-06 §2.1). Reading needs none.
func (p *passage) readKey() error {
	keys := p.r.Header["Idempotency-Key"]
	if len(keys) == 0 || p.r.Method != http.MethodPost || p.route.Alone {
		return nil
	}
	key := strings.Trim(keys[0], `"`)
	if len(keys) > 1 || key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return wrong("Idempotency-Key", "give one, of 1 to 255 printable ASCII characters.")
	}
	p.key = key
	return nil
}

// operation names what a key or a cursor belongs to: the call and what it is about,
// however its address was written.
func (p *passage) operation() string {
	name := p.route.Method + " " + p.route.Path
	for _, wildcard := range p.route.wildcards() {
		name = strings.Replace(name, "{"+wildcard+"}", idOf(p.r.PathValue(wildcard)), 1)
	}
	return name
}

func (p *passage) scope() string { return "person " + p.who.UserID }

// need makes a permit for a person, on the facts of tx.
func (p *passage) need(ctx context.Context, tx access.Tx, ref access.Ref, right access.Right) (access.Permit, error) {
	if tx.Writable() {
		if err := p.api.Source.HoldPerson(ctx, tx, p.who.UserID, ref, right); err != nil {
			return access.Permit{}, err
		}
	}
	facts, err := p.api.Source.PersonFacts(ctx, tx, p.who.UserID, ref)
	if err != nil {
		return access.Permit{}, err
	}
	if facts.Found && facts.Role.Valid() && p.entry.WorkspaceID == "" { // so that a refusal is noted where it belongs
		p.entry.WorkspaceID, p.entry.ProjectID = facts.WorkspaceID, facts.ProjectID
	}
	return access.CheckPerson(facts, p.who, access.Permission{Right: right}, ref)
}

func (p *passage) replay(ctx context.Context, tx access.Tx) (done bool, err error) {
	kept, ok, err := p.api.Replays.Replay(ctx, tx, p.scope(), p.operation(), p.key)
	if err != nil || !ok {
		return false, err
	}
	if kept.Digest != p.digest {
		return false, access.Refuse(access.IdempotencyMismatch, "This Idempotency-Key was used with another body. Use a new key for a new change.")
	}
	p.answer = []byte(kept.Result)
	p.w.Header().Set("Idempotent-Replayed", "true")
	return true, nil
}

// keep keeps the answer for repeats. What is shown once is not kept: a repeat gets
// the answer without it.
func (p *passage) keep(ctx context.Context, tx access.Tx, out any) error {
	kept := workspace.Replay{Digest: p.digest, Result: string(p.answer)}
	if s, ok := out.(withoutSecret); ok {
		text, err := json.Marshal(s.withoutSecret(), json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("answer of %s: %w", p.route.Operation, err)
		}
		kept.Result = string(text)
	}
	return p.api.Replays.KeepReplay(ctx, tx, p.scope(), p.operation(), p.key, kept, p.api.Now())
}

// work runs the call. A panic is that call's failure, never the process's.
func (p *passage) work(ctx context.Context, c *Call) (out any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic in %s: %v\n%s", p.route.Operation, cause, debug.Stack())
		}
	}()
	return p.route.do(ctx, c, p.in)
}

func (p *passage) newEntry() workspace.Entry {
	e := workspace.Entry{
		ID: workspace.NewID(), UserID: p.who.UserID, Tool: p.route.Operation, Kind: p.route.Kind, CreatedAt: p.started,
	}
	if names := p.route.wildcards(); p.route.Kind != "" && len(names) > 0 {
		e.ResourceID = idOf(p.r.PathValue(names[0]))
	}
	return e
}

// refuse writes a denied change into the audit, in a transaction of its own
// because the call's own was rolled back. Faults of form are no denials.
func (a *API) refuse(p *passage, err error) {
	code := access.CodeOf(err)
	_, form := errors.AsType[*guard.BodyError](err)
	if p.who.UserID == "" || p.entry.WorkspaceID == "" || form || code == badRequest || code == access.Unavailable || code == access.InvalidArguments {
		return
	}
	entry := p.entry
	entry.ID, entry.Code, entry.Duration = workspace.NewID(), code, a.Now().Sub(p.started)
	ctx := context.WithoutCancel(p.r.Context()) // whoever asked, and hung up, is audited
	auditErr := a.Work.Write(ctx, func(tx access.Tx) error { return a.Audit.AppendAudit(ctx, tx, entry) })
	if auditErr != nil {
		a.Log.Error("denial not audited", "operation", p.route.Operation, "err", auditErr)
	}
}

// List is one page of a list on the wire.
type List[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitzero"`
}

// listOf renders a listing; the cursor is bound to the person and the call.
func listOf[T, U any](c *Call, l workspace.Listing[T], render func(T) U) List[U] {
	out := List[U]{Items: make([]U, len(l.Items))}
	for i, item := range l.Items {
		out.Items[i] = render(item)
	}
	if l.Next != "" {
		a := c.passage.api
		out.NextCursor = a.cursors.Seal([]byte(l.Next), a.Now().Add(cursorLife), c.Who.UserID, c.passage.operation())
	}
	return out
}
