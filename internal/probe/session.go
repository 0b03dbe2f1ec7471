package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The protocol versions that a session can speak.
const (
	Version20250326 = "2025-03-26"
	Version20250618 = "2025-06-18"
	Version20251125 = "2025-11-25"
	Version20260728 = "2026-07-28" // stateless: no initialize, _meta in each request
)

// Versions are all of them, oldest first.
var Versions = []string{Version20250326, Version20250618, Version20251125, Version20260728}

// What is sent before there is a token.
const (
	initializeRequest = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"osfoundry probe","version":"1"}}}`
	callRequest       = `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"list_granted_resources","arguments":{}}}`
)

// Options say how to connect.
type Options struct {
	Name        string   // of the client; "" is osFoundry probe
	RedirectURI string   // "" is a loopback address that nobody listens on
	Scopes      []string // to ask for; nil asks for what the challenge names
	Person      Person
	Browser     *Browser // nil opens a new one
	Version     string   // "" is 2025-11-25
}

// Session is a connected host: who it is to the server, and its tokens.
type Session struct {
	*Host
	Endpoint  string
	Version   string
	Discovery Discovery
	ClientID  string
	Grant     Grant

	nextID int
}

// Connect goes the whole way from the endpoint's address to a token: 401,
// metadata, registration, PKCE, sign-in and consent, code, token.
func Connect(ctx context.Context, endpoint string, o Options) (s *Session, err error) {
	s = &Session{Host: NewHost(), Endpoint: endpoint, Version: o.Version}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.Version == "" {
		s.Version = Version20251125
	}
	if s.Discovery, err = s.Discover(ctx, endpoint); err != nil {
		return s, err
	}
	if o.Name == "" {
		o.Name = "osFoundry probe"
	}
	if o.RedirectURI == "" {
		o.RedirectURI = "http://127.0.0.1:53682/callback"
	}
	if s.ClientID, err = s.Register(ctx, s.Discovery.Server.RegistrationEndpoint, o.Name, o.RedirectURI); err != nil {
		return s, err
	}
	return s, s.Authorize(ctx, o)
}

// Authorize asks the person again and takes new tokens.
func (s *Session) Authorize(ctx context.Context, o Options) error {
	code, err := s.Ask(ctx, o)
	if err != nil {
		return err
	}
	s.Grant, err = s.Redeem(ctx, code)
	return err
}

// Code is an authorization code with what belongs to it at the token endpoint.
type Code struct {
	Value       string
	Verifier    string // RFC 7636 §4.1
	RedirectURI string
	Resource    string
}

// Ask sends the person through sign-in and consent and returns the code that the
// client's callback would get.
func (s *Session) Ask(ctx context.Context, o Options) (c Code, err error) {
	if o.RedirectURI == "" {
		o.RedirectURI = "http://127.0.0.1:53682/callback"
	}
	browser := o.Browser
	if browser == nil {
		if browser, err = NewBrowser(); err != nil {
			return c, err
		}
		defer browser.Close()
	}
	q := newRequest(s.ClientID, o.RedirectURI, s.Discovery.Resource.Resource)
	scopes := o.Scopes
	if scopes == nil && s.Discovery.Challenge.Scope != "" {
		scopes = []string{s.Discovery.Challenge.Scope}
	}
	address, err := q.address(s.Discovery.Server.AuthorizationEndpoint, scopes)
	if err != nil {
		return c, err
	}
	callback, err := browser.Authorize(ctx, address, o.Person)
	if err != nil {
		return c, fmt.Errorf("sign-in and consent: %w", err)
	}
	c = Code{Verifier: q.verifier, RedirectURI: o.RedirectURI, Resource: q.resource}
	c.Value, err = q.code(callback, s.Discovery.Server)
	return c, err
}

// Redeem turns a code into tokens (RFC 6749 §4.1.3, RFC 7636 §4.5). A refusal is
// an *OAuthError.
func (s *Session) Redeem(ctx context.Context, c Code) (Grant, error) {
	return s.token(ctx, "token", s.Discovery.Server.TokenEndpoint, c.Form(s.ClientID))
}

// Form is the request to the token endpoint.
func (c Code) Form(clientID string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "code": {c.Value}, "client_id": {clientID},
		"redirect_uri": {c.RedirectURI}, "code_verifier": {c.Verifier}, "resource": {c.Resource},
	}
}

// Refresh takes new tokens for the refresh token (RFC 6749 §6). A refusal is an
// *OAuthError.
func (s *Session) Refresh(ctx context.Context) error {
	g, err := s.token(ctx, "refresh", s.Discovery.Server.TokenEndpoint, url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {s.Grant.RefreshToken}, "client_id": {s.ClientID},
	})
	if err == nil {
		s.Grant = g
	}
	return err
}

// Revoke ends the refresh token and what belongs to it (RFC 7009 §2.1).
func (s *Session) Revoke(ctx context.Context) error {
	e, err := s.form(ctx, "revoke", s.Discovery.Server.RevocationEndpoint, url.Values{"token": {s.Grant.RefreshToken}, "client_id": {s.ClientID}})
	if err == nil && e.Status != http.StatusOK {
		return e.refusal()
	}
	return err
}

// Result is what a call of a tool came to.
type Result struct {
	Status     int            // of HTTP
	IsError    bool           // the tool refused or failed
	Code       string         // why, where it did
	Structured jsontext.Value // the result, or what the refusal carries
	Text       string         // the same as text
	Challenge  Challenge      // of a 401 or 403
	RPCError   int            // JSON-RPC error code, 0 for none
	Body       []byte         // the whole answer
}

// Read decodes the structured result.
func (r Result) Read(v any) error {
	if r.Status != http.StatusOK || r.IsError {
		return fmt.Errorf("the call was refused: HTTP %d %s", r.Status, r.Code)
	}
	return json.Unmarshal(r.Structured, v)
}

// rpcAnswer is the part of a JSON-RPC answer to tools/call that a host reads.
type rpcAnswer struct {
	Result struct {
		IsError    bool           `json:"isError"`
		Structured jsontext.Value `json:"structuredContent"`
		Content    []struct {
			Text string `json:"text"`
		} `json:"content"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	} `json:"result"`
	Error struct {
		Code int `json:"code"`
	} `json:"error"`
}

// Call calls a tool. A refusal of any kind is a result, no error.
func (s *Session) Call(ctx context.Context, tool string, arguments any) (Result, error) {
	raw, err := json.Marshal(arguments, json.Deterministic(true))
	if err != nil {
		return Result{}, err
	}
	e, err := s.request(ctx, "tools/call", tool, map[string]any{"name": tool, "arguments": jsontext.Value(raw)})
	if err != nil {
		return Result{}, err
	}
	return readResult(e)
}

func readResult(e Exchange) (Result, error) {
	r := Result{Status: e.Status, Body: e.Body}
	r.Challenge, _ = ParseChallenge(e.Header.Get("WWW-Authenticate"))
	var answer rpcAnswer
	if err := json.Unmarshal(e.Body, &answer); err != nil {
		return r, fmt.Errorf("%s: HTTP %d is no JSON-RPC: %s", e.What, e.Status, shorten(e.Body))
	}
	r.IsError, r.Structured, r.RPCError = answer.Result.IsError, answer.Result.Structured, answer.Error.Code
	if len(answer.Result.Content) > 0 {
		r.Text = answer.Result.Content[0].Text
	}
	if r.IsError && len(r.Structured) > 0 {
		var refusal struct {
			Code string `json:"code"`
		}
		if err := json.Unmarshal(r.Structured, &refusal); err != nil {
			return r, fmt.Errorf("%s: the refusal has no code: %w", e.What, err)
		}
		r.Code = refusal.Code
	}
	if r.Code == "" {
		r.Code = r.Challenge.Error
	}
	return r, nil
}

// Tools lists the names of the tools that this token can call.
func (s *Session) Tools(ctx context.Context) ([]string, error) {
	e, err := s.request(ctx, "tools/list", "", map[string]any{})
	if err != nil {
		return nil, err
	}
	var answer rpcAnswer
	if err := e.json(http.StatusOK, &answer); err != nil {
		return nil, err
	}
	if answer.Error.Code != 0 {
		return nil, errors.New("tools/list: JSON-RPC error " + strconv.Itoa(answer.Error.Code))
	}
	names := make([]string, len(answer.Result.Tools))
	for i, t := range answer.Result.Tools {
		names[i] = t.Name
	}
	return names, nil
}

// request sends one JSON-RPC request in the session's protocol version.
func (s *Session) request(ctx context.Context, method, tool string, params map[string]any) (Exchange, error) {
	header := http.Header{"Mcp-Protocol-Version": {s.Version}}
	if s.Version == Version20260728 {
		params["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion":    s.Version,
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "osfoundry probe", "version": "1"},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}
		header.Set("Mcp-Method", method)
		if tool != "" {
			header.Set("Mcp-Name", tool)
		}
	}
	s.nextID++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.nextID, "method": method, "params": params}, json.Deterministic(true))
	if err != nil {
		return Exchange{}, err
	}
	what := method
	if tool != "" {
		what = tool
	}
	return s.postWith(ctx, what, s.Endpoint, s.Grant.AccessToken, header, body)
}

// post sends a JSON-RPC body that is ready.
func (h *Host) post(ctx context.Context, what, endpoint, token, body string) (Exchange, error) {
	return h.postWith(ctx, what, endpoint, token, http.Header{}, []byte(body))
}

func (h *Host) postWith(ctx context.Context, what, endpoint, token string, header http.Header, body []byte) (Exchange, error) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return h.do(ctx, what, http.MethodPost, endpoint, header, body)
}
