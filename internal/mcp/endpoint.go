package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/tool"
)

// Gate is what decides about calls: tool.Catalogue.
type Gate interface {
	// Identify judges a token by the state of this moment. A token that is
	// unknown, expired or revoked is an access.Error with code InvalidToken.
	Identify(ctx context.Context, token access.TokenHash) (access.Principal, error)
	// List is the JSON array of the tools that a token with these scopes can call.
	// Its bytes are shared and never change.
	List(scopes access.Scopes) []byte
	// Call checks and runs one tool. The result is a JSON object; the error is an
	// access.Error, or tool.ErrUnknown for a known token that calls no tool.
	Call(ctx context.Context, call tool.Call) ([]byte, error)
}

// Config says where and how an endpoint is served.
type Config struct {
	// Site knows our own names.
	Site *guard.Site
	// Path is where the endpoint is mounted, such as /mcp, without a slash at the
	// end; with one it is served as well.
	Path string
	// PublicCatalogue lets anyone ask what there is: without a token only
	// tools/call is refused. Otherwise sign-in comes first, and every request
	// without a token is 401.
	PublicCatalogue bool
	// Version is the program's.
	Version string
	// BadTokens counts the unusable tokens of an address (guard.AddressKey). When
	// one has had its share, its unusable tokens are answered 429; usable ones are
	// served on, for many people may share an address. Nil is no limit.
	BadTokens *guard.Limiter
	// OpenAIStatusOK answers recognised OpenAI hosts that call a tool without a
	// token with HTTP 200 instead of 401. The challenge is the same.
	OpenAIStatusOK bool
	// Log takes faults of ours, never what a client did wrong.
	Log *slog.Logger
}

type endpoint struct {
	Config
	gate  Gate
	fixed fixed
}

// New makes the endpoint. Register it for Path and for Path with a slash at the
// end; below that it answers 404 itself.
func New(c Config, gate Gate) (http.Handler, error) {
	if c.Site == nil || c.Log == nil || gate == nil {
		return nil, fmt.Errorf("mcp endpoint %s: needs a site, a log and a gate", c.Path)
	}
	if !strings.HasPrefix(c.Path, "/") || strings.HasSuffix(c.Path, "/") {
		return nil, fmt.Errorf("mcp endpoint %q: the path must begin with a slash and end without", c.Path)
	}
	parts, err := build(c.Version)
	if err != nil {
		return nil, fmt.Errorf("mcp endpoint %s: %w", c.Path, err)
	}
	return &endpoint{Config: c, gate: gate, fixed: parts}, nil
}

// exchange is one request on its way to its answer.
type exchange struct {
	*endpoint
	w http.ResponseWriter
	r *http.Request

	token credential
	msg   message
	fault *fault // in the message, answered only to whoever may know
	era   era
}

// ServeHTTP judges a request in the order of protocol.md §1. The first condition
// that fails answers.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{endpoint: e, w: w, r: r}
	w.Header()["Cache-Control"] = noStore

	// 1 The mount, with or without a slash; nothing below it.
	if r.URL.Path != e.Path && r.URL.Path != e.Path+"/" {
		x.plain(http.StatusNotFound, "not_found", "There is nothing at this address.")
		return
	}

	// 2 Our own names, and no foreign page (MCP 2025-11-25, Transports, Security
	// Warning).
	if !e.Site.HostAllowed(r) || !e.Site.OriginAllowed(r) {
		x.fail(http.StatusForbidden, codeInvalidRequest, "This Host or Origin is not served here. The server's owner can add it.")
		return
	}
	guard.AllowAnyOrigin(w.Header())

	// 3 A preflight carries no token.
	if r.Method == http.MethodOptions {
		guard.Preflight(w, "GET, POST, DELETE, OPTIONS")
		return
	}

	// 4 Other methods than POST: who signed in learns that there are none.
	x.token = readCredential(r.Header)
	if r.Method != http.MethodPost {
		x.otherMethod()
		return
	}

	// 5 The message. What is wrong with it waits until the token was judged.
	x.read()

	// 6 A token, for all but the public catalogue.
	if !x.signedIn() {
		return
	}

	// 7 The message again.
	if x.fault != nil {
		x.answerFault(x.fault)
		return
	}
	if x.msg.id == nil { // a notification (JSON-RPC 2.0 §4.1): no effect here, no answer
		w.WriteHeader(http.StatusAccepted)
		return
	}
	x.answerMethod()
}

// otherMethod answers GET, HEAD, DELETE and the rest: 405, as there is no
// stream and no session (MCP 2025-11-25, Transports). On the public mount that
// holds with or without a token, because mcp-remote would open two browsers.
func (x *exchange) otherMethod() {
	if !x.PublicCatalogue {
		if _, ok := x.identify(); !ok {
			return
		}
	}
	x.w.Header()["Allow"] = onlyPOST
	x.plain(http.StatusMethodNotAllowed, "method_not_allowed", "Send JSON-RPC with POST; there is no stream to GET.")
}

// read reads the message and finds its era.
func (x *exchange) read() {
	limit := int64(guard.MaxBody)
	if !x.PublicCatalogue && x.token.hash == "" {
		limit = strangersBody // only to echo an id
	}
	body, err := guard.ReadBody(x.r, limit)
	if err != nil {
		x.fault = faultOf(err)
		return
	}
	x.msg.body = body
	if err := guard.Decode(body, &x.msg); err != nil {
		x.msg, x.fault = message{}, faultOf(err) // what was read of it is nobody's word
		return
	}
	if x.fault = x.msg.shape(); x.fault == nil {
		x.era, x.fault = judgeEra(x.r.Header, &x.msg)
	}
}

// signedIn reports whether the request may go on; if not it was answered. The
// token of a sound tools/call is not looked up here, but by the gate, together
// with everything else that the call needs.
func (x *exchange) signedIn() bool {
	call := x.msg.method == "tools/call"
	if !x.token.presented && x.PublicCatalogue && !call {
		x.token.scopes = access.AllScopes
		return true
	}
	if call && x.fault == nil && x.msg.id != nil && x.token.hash != "" {
		return true
	}
	who, ok := x.identify()
	x.token.scopes = who.Scopes
	return ok
}

// identify judges the token, and answers if it is none.
func (x *exchange) identify() (access.Principal, bool) {
	if x.token.hash == "" {
		x.unauthorized()
		return access.Principal{}, false
	}
	who, err := x.gate.Identify(x.r.Context(), x.token.hash)
	if err != nil {
		x.refuseToken(err)
		return access.Principal{}, false
	}
	return who, true
}

// refuseToken answers an error of Identify.
func (x *exchange) refuseToken(err error) {
	switch access.CodeOf(err) {
	case access.InvalidToken:
		x.unauthorized()
	case access.Unavailable:
		x.unavailable()
	default:
		x.Log.Error("token not judged", "err", err)
		x.fail(http.StatusInternalServerError, codeInternal, "The server failed. Try again; if it goes on, tell its owner.")
	}
}

// call passes the gate. A panic is that call's failure, never the process's.
func (x *exchange) call(c tool.Call) (result []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = access.Refuse(access.Internal, internalText).Because(fmt.Errorf("panic in %s: %v\n%s", shorten(c.Name), cause, debug.Stack()))
			x.Log.Error("tool call failed", "err", err)
		}
	}()
	return x.gate.Call(x.r.Context(), c)
}
