package tool

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// ErrUnknown says that no tool has the name that was called.
var ErrUnknown = errors.New("unknown tool")

// Limiter says how often a connection may call. Allow counts one call and, when
// it is one too many, says how long to wait.
type Limiter interface {
	Allow(connectionID string, class Class) (wait time.Duration, ok bool)
}

// Auditor takes the entries of allowed reads, which are written in batches.
// Entries of writes and denials do not come here: they are written at once.
type Auditor interface {
	Later(workspace.Entry)
}

// Config is what a Catalogue needs from the rooms below.
type Config struct {
	Work    access.Work
	Source  access.Source
	Audit   workspace.AuditStore
	Reads   Auditor
	Replays workspace.IdempotencyStore
	Limits  Limiter
	Now     func() time.Time
	Log     *slog.Logger
}

// Catalogue is the set of tools that work, and the gate to all of them.
type Catalogue struct {
	Config
	tools map[string]*Tool
	order []*Tool
	lists [access.AllScopes + 1][]byte // the announced list of each scope set
}

// NewCatalogue makes a catalogue of the tools, in the order they are listed. Two
// tools of one name are a mistake in the program.
func NewCatalogue(c Config, tools ...*Tool) (*Catalogue, error) {
	cat := &Catalogue{Config: c, tools: make(map[string]*Tool, len(tools)), order: tools}
	for _, t := range tools {
		if cat.tools[t.Name] != nil {
			return nil, fmt.Errorf("two tools are named %s", t.Name)
		}
		cat.tools[t.Name] = t
	}
	for scopes := range cat.lists {
		list, err := announceAll(tools, access.Scopes(scopes))
		if err != nil {
			return nil, err
		}
		cat.lists[scopes] = list
	}
	return cat, nil
}

func announceAll(tools []*Tool, scopes access.Scopes) ([]byte, error) {
	list := []jsontext.Value{}
	for _, t := range tools {
		if !scopes.Has(t.Needs.Scopes) {
			continue
		}
		one, err := t.announce()
		if err != nil {
			return nil, fmt.Errorf("announce %s: %w", t.Name, err)
		}
		list = append(list, one)
	}
	return json.Marshal(list)
}

// List is the JSON array of the tools that a token with these scopes can call.
// It depends on the scopes alone, never on connection, project or seat, as the
// protocol demands. The bytes are shared: do not change them.
func (c *Catalogue) List(scopes access.Scopes) []byte { return c.lists[scopes&access.AllScopes] }

// Tools are the tools in the order they are listed.
func (c *Catalogue) Tools() []*Tool { return slices.Clone(c.order) }

// Identify judges a token alone, by the state of this moment.
func (c *Catalogue) Identify(ctx context.Context, token access.TokenHash) (who access.Principal, err error) {
	err = c.Work.Read(ctx, func(tx access.Tx) error {
		f, err := c.Source.ConnectionFacts(ctx, tx, token, access.Ref{Kind: access.KindConnection})
		if err != nil {
			return err
		}
		who, err = access.Identify(f, c.Now())
		return err
	})
	return who, err
}

// Call is one call of a tool as it came from outside.
type Call struct {
	Token     access.TokenHash
	Name      string
	Arguments jsontext.Value // from the strict reader; empty means none
}

// Call is the gate: every call of an outside assistant passes through it, and
// a rule for every call is one more numbered step here. It returns the result
// as a JSON object, or an *access.Error, or ErrUnknown.
//
// The check and the effect share one unit of work, so what the check saw is
// what the effect met.
func (c *Catalogue) Call(ctx context.Context, call Call) ([]byte, error) {
	return c.admit(ctx, &passage{catalogue: c, call: call, caller: outside{call.Token}, started: c.Now()})
}

// admit is the numbered steps.
func (c *Catalogue) admit(ctx context.Context, p *passage) ([]byte, error) {
	call := p.call

	// 1 Find the tool. Not finding it is answered only to a known token.
	p.tool = c.tools[call.Name]

	// 2 Read the arguments. Faults in them are answered only to a known token
	// with the scope.
	if p.tool != nil && p.fault == nil {
		p.readArguments()
	}

	// 3 Begin one unit of work for the check and the effect.
	begin := c.Work.Read
	switch {
	case p.changes():
		begin = c.Work.Write
	case p.caller.inOneLook() && (p.tool == nil || p.fault != nil || p.tool.ReadsAlong):
		begin = c.Work.ReadOne
	}
	err := begin(ctx, func(tx access.Tx) error { return p.pass(ctx, tx) })

	// 10 Committed, or rolled back and then refused with the true reason.
	if err != nil {
		return nil, c.refuse(ctx, p, err)
	}
	if !p.changes() {
		c.Reads.Later(p.entry(""))
	}
	return p.answer, nil
}

// passage is one call on its way through the gate.
type passage struct {
	catalogue *Catalogue
	call      Call
	caller    caller
	started   time.Time

	tool      *Tool
	arguments any
	key       string // idempotency key, "" for reads
	fault     error  // in the arguments; an agent's may be found before the gate
	counted   bool   // towards the rate

	ref    access.Ref // the first thing named
	seen   sight      // of it
	who    access.Principal
	answer []byte
}

// changes reports whether the call can change anything. Arguments with a fault
// change nothing, and so need no transaction of a writer.
func (p *passage) changes() bool { return p.tool != nil && p.tool.Writes() && p.fault == nil }

func (p *passage) readArguments() {
	raw := p.call.Arguments
	if len(raw) == 0 {
		raw = jsontext.Value("{}")
	}
	var loose any
	err := json.Unmarshal(raw, &loose)
	if number, ok := errors.AsType[*json.SemanticError](err); ok { // JSON, with a number that no float64 holds
		p.fault = refuseArguments([]problem{{shorten(string(number.JSONPointer)), "type", "is too great a number"}})
		return
	}
	if err != nil {
		p.fault = access.Refuse(access.InvalidArguments, "The arguments are not JSON.").Because(err)
		return
	}
	if found := validate(p.tool.schema, loose); len(found) > 0 {
		p.fault = refuseArguments(found)
		return
	}
	if key, ok := loose.(map[string]any)["idempotency_key"].(string); ok {
		p.key = key
	}
	if p.arguments, p.fault = p.tool.decode(raw); p.fault != nil {
		p.fault = access.Refuse(access.InvalidArguments, "The arguments do not fit.").Because(p.fault)
		return
	}
	p.call.Arguments = raw
}

// needs is what the tool needs; nothing while there is none.
func (p *passage) needs() access.Permission {
	if p.tool == nil {
		return access.Permission{}
	}
	return p.tool.Needs
}

// refs are the things the call names. Without usable arguments it is about the
// connection, so that the token can still be judged.
func (p *passage) refs() []access.Ref {
	if p.tool == nil || p.fault != nil {
		return []access.Ref{{Kind: access.KindConnection}}
	}
	return p.tool.on(p.arguments)
}

// pass runs inside the unit of work, perhaps more than once.
func (p *passage) pass(ctx context.Context, tx access.Tx) error {
	c, now := p.catalogue, p.catalogue.Now()
	refs := p.refs()
	p.ref, p.answer = refs[0], nil
	if tx.Writable() {
		if err := p.caller.hold(ctx, c, tx, p.ref, p.needs().Right); err != nil {
			return err
		}
	}

	// 4 Token, rate, tool, scope, arguments, in this order. Refused calls count
	// towards the rate too, because each is written into the audit.
	var err error
	if p.seen, err = p.caller.look(ctx, c, tx, p.ref); err != nil {
		return err
	}
	if p.who, err = p.seen.identify(now); err != nil {
		return err
	}
	if err := p.countOnce(); err != nil {
		return err
	}
	if p.tool == nil {
		return ErrUnknown
	}
	if err := access.NeedScopes(p.who, p.tool.Needs.Scopes); err != nil {
		return err
	}
	if p.fault != nil {
		return p.fault
	}

	// 5 A permit for each thing that the call names.
	run := Run{Tx: tx, Permits: make([]access.Permit, len(refs))}
	for i, ref := range refs {
		if run.Permits[i], err = p.permit(ctx, tx, i, ref, now); err != nil {
			return err
		}
	}

	// 6 A key that was used before gets its first answer.
	digest := ""
	if p.key != "" {
		digest = digestOf(p.call.Arguments)
		done, err := p.replay(ctx, tx, digest)
		if done || err != nil {
			return err
		}
	}

	// 7 Do it.
	result, err := p.work(ctx, &run)
	if err != nil {
		return err
	}
	if p.answer, err = json.Marshal(result, json.Deterministic(true)); err != nil {
		return fmt.Errorf("result of %s: %w", p.tool.Name, err)
	}

	// 8 Keep the answer under its key, with the effect.
	if p.key != "" {
		err := c.Replays.KeepReplay(ctx, tx, p.caller.scope(p.who), p.tool.Name, p.key, workspace.Replay{Digest: digest, Result: string(p.answer)}, now)
		if err != nil {
			return err
		}
	}

	// 9 Audit a write with its effect; reads follow in a batch.
	if tx.Writable() {
		return c.Audit.AppendAudit(ctx, tx, p.entry(""))
	}
	return nil
}

// countOnce refuses a call of a connection that calls too often. A unit of work
// that is tried again is still one call.
func (p *passage) countOnce() error {
	if p.counted || !p.caller.limited() {
		return nil
	}
	wait, ok := p.catalogue.Limits.Allow(p.who.ConnectionID, p.tool.class())
	if !ok {
		ms := max(1, wait.Milliseconds())
		return access.Refuse(access.RateLimited, "Too many calls. Try again in %d ms.", ms).With("retry_after_ms", ms)
	}
	p.counted = true
	return nil
}

// permit checks the i-th thing that the call names. The audit of a denial names
// the thing that was denied.
func (p *passage) permit(ctx context.Context, tx access.Tx, i int, ref access.Ref, now time.Time) (access.Permit, error) {
	seen := p.seen
	if i > 0 {
		var err error
		if seen, err = p.caller.look(ctx, p.catalogue, tx, ref); err != nil {
			return access.Permit{}, err
		}
	}
	permit, err := seen.check(p.tool, ref, now)
	if err != nil {
		p.ref, p.seen = ref, seen
	}
	return permit, err
}

// replay answers a repeated call. Access was checked before, as for any call.
func (p *passage) replay(ctx context.Context, tx access.Tx, digest string) (done bool, err error) {
	kept, ok, err := p.catalogue.Replays.Replay(ctx, tx, p.caller.scope(p.who), p.tool.Name, p.key)
	if err != nil || !ok {
		return false, err
	}
	if kept.Digest != digest {
		return false, access.Refuse(access.IdempotencyMismatch, "This idempotency_key was used with other arguments. Use a new key for a new change.")
	}
	p.answer = markReplayed(kept.Result)
	return true, p.catalogue.Audit.AppendAudit(ctx, tx, p.entry("replayed"))
}

// markReplayed adds "replayed":true to a kept JSON object.
func markReplayed(object string) []byte {
	body := object[:len(object)-1]
	if body != "{" {
		body += ","
	}
	return []byte(body + `"replayed":true}`)
}

// work runs the tool. A panic is that call's failure, never the process's.
func (p *passage) work(ctx context.Context, run *Run) (result any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = access.Refuse(access.Internal, "The tool failed. Nothing was changed.").
				Because(fmt.Errorf("panic in %s: %v\n%s", p.tool.Name, cause, debug.Stack()))
		}
	}()
	return p.tool.run(ctx, run, p.arguments)
}

// digestOf is the SHA-256 of the arguments in one spelling: members sorted,
// numbers as written, so that 1 and 1.0 are different arguments.
func digestOf(arguments jsontext.Value) string {
	v := arguments.Clone()
	err := v.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false),
		jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		v = arguments
	}
	sum := sha256.Sum256(v)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// refuse writes the denial into the audit, in a transaction of its own because
// the call's own was rolled back, and returns what the caller may know.
func (c *Catalogue) refuse(ctx context.Context, p *passage, err error) error {
	if errors.Is(err, ErrUnknown) {
		return err
	}
	code := access.CodeOf(err)
	if code == access.Internal {
		c.Log.Error("tool failed", "tool", p.call.Name, "connection", p.who.ConnectionID, "err", err)
	}
	if e, ok := errors.AsType[*access.Error](err); ok && e.Cause != nil && code != access.Internal {
		c.Log.Info("tool refused", "tool", p.call.Name, "connection", p.who.ConnectionID, "err", err)
	}
	known := p.who.UserID != "" // an unknown token belongs to no workspace
	if known && code != access.Unavailable {
		entry := p.entry("")
		entry.Code = code
		ctx := context.WithoutCancel(ctx) // whoever asked, and hung up, is audited
		auditErr := c.Work.Write(ctx, func(tx access.Tx) error { return c.Audit.AppendAudit(ctx, tx, entry) })
		if auditErr != nil {
			c.Log.Error("denial not audited", "tool", p.call.Name, "err", auditErr)
		}
	}
	if e, ok := errors.AsType[*access.Error](err); ok {
		return e
	}
	return access.Refuse(access.Internal, "The call failed and nothing was changed. Try again; if it goes on, tell the server's owner.").Because(err)
}

// entry is the audit line of the call.
func (p *passage) entry(note string) workspace.Entry {
	facts := p.seen.facts
	e := workspace.Entry{
		ID: workspace.NewID(), WorkspaceID: facts.WorkspaceID, UserID: facts.UserID, ConnectionID: facts.ConnectionID,
		Kind: p.ref.Kind, ResourceID: shorten(p.ref.ID),
		CreatedAt: p.started, Duration: p.catalogue.Now().Sub(p.started), Detail: p.caller.detail(p.who),
	}
	if p.tool != nil { // or it is a word of the caller's own
		e.Tool = p.tool.Name
	}
	if facts.Found {
		e.ProjectID = facts.ProjectID
	}
	if note != "" {
		if e.Detail == nil {
			e.Detail = map[string]any{}
		}
		e.Detail["note"] = note
	}
	return e
}
