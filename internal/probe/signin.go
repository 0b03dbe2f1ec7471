package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SignInOptions say how to sign in to a server, and what to do there.
type SignInOptions struct {
	VisitOptions
	ClientID string   // a client that is there already, or the address of its metadata document; "" registers one
	Scopes   []string // to ask for; nil asks for what the challenge names, else for all of the metadata
	Port     int      // of the loopback callback; 0 is a free one
	Wait     time.Duration
	Call     *ToolCall // to make with the token; nil for none
	Keep     bool      // keep the token alive; otherwise it is revoked in the end

	// Open shows the address to a person. It must not wait for them.
	Open func(ctx context.Context, address string) error
}

// ToolCall is a call to make.
type ToolCall struct {
	Tool      string
	Arguments jsontext.Value // an object
}

// SignInReport is what a sign-in came to. Tokens are not in it.
type SignInReport struct {
	Endpoint   string    `json:"endpoint"`
	Issuer     string    `json:"issuer"`
	ClientID   string    `json:"client_id"`
	Registered bool      `json:"registered"` // now, or it was there before
	Asked      []string  `json:"scopes_asked"`
	Granted    []string  `json:"scopes_granted"`
	ExpiresIn  int64     `json:"expires_in"` // seconds; 0 if the server does not say
	Refresh    bool      `json:"refresh_token"`
	Tools      []string  `json:"tools"`
	Call       *CallSeen `json:"call,omitempty"`
	Revoked    bool      `json:"revoked"`
	Findings   []Finding `json:"findings"` // about the callback and the token
	Rows       []Row     `json:"rows"`

	Grant Grant `json:"-"`
}

// CallSeen is what the call of a tool came to.
type CallSeen struct {
	Tool       string         `json:"tool"`
	Status     int            `json:"status"`
	IsError    bool           `json:"is_error"`
	Code       string         `json:"code,omitempty"`
	Text       string         `json:"text,omitempty"`
	Structured jsontext.Value `json:"structured,omitempty"`
}

// SignIn signs in to a server as a host would: discovery, registration, the person's
// browser, the loopback callback with PKCE, state and iss, the token, the list of
// tools, perhaps a call. A server that a host would have to stop at is an error.
func SignIn(ctx context.Context, endpoint string, o SignInOptions) (report *SignInReport, err error) {
	v, err := newVisit(endpoint, o.VisitOptions, 24)
	if err != nil {
		return nil, err
	}
	defer v.close(context.WithoutCancel(ctx))
	s := &signIn{visit: v, o: o, seen: &SignInReport{Endpoint: endpoint, Tools: []string{}, Findings: []Finding{}}}
	err = s.run(ctx)
	s.seen.Rows = v.report.Rows
	sortFindings(s.seen.Findings)
	return s.seen, err
}

// signIn is one on its way.
type signIn struct {
	*visit
	o    SignInOptions
	seen *SignInReport
}

func (s *signIn) run(ctx context.Context) error {
	if err := s.discover(ctx); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.o.Port)))
	if err != nil {
		return fmt.Errorf("the callback: %w", err)
	}
	back := newCallback(listener)
	defer back.close()
	if err := s.identify(ctx, back.address); err != nil {
		return err
	}
	code, err := s.authorize(ctx, back)
	if err != nil {
		return err
	}
	if err := s.redeem(ctx, code); err != nil {
		return err
	}
	if !s.o.Keep {
		defer s.revoke(context.WithoutCancel(ctx))
	}
	return s.use(ctx)
}

// stops are the findings that a host must not go on from.
var stops = []string{"resource-mismatch", "issuer-mismatch", "issuer-address", "endpoint-address", "pkce-not-advertised", "server-metadata-missing", "challenge-relative"}

// discover finds the authorization server, as a host does.
func (s *signIn) discover(ctx context.Context) error {
	err := s.tools(ctx)
	if err != nil && !errors.Is(err, ErrSignIn) {
		return err
	}
	if err == nil { // the list is public; a call is not
		s.called = s.ask(ctx, s.survey.call(absentTool))
	}
	s.metadata(ctx)
	for _, f := range s.report.Findings {
		if slices.Contains(stops, f.ID) {
			return fmt.Errorf("%s: %s (%s)", f.Title, f.Detail, f.Clause)
		}
	}
	if !s.serverFound {
		return errors.New("the server names no authorization server to sign in at")
	}
	s.seen.Issuer = s.server.Issuer
	return ctx.Err()
}

// identify registers a client, unless one was given.
func (s *signIn) identify(ctx context.Context, redirectURI string) error {
	s.seen.Asked = s.o.Scopes
	if s.seen.Asked == nil {
		s.seen.Asked = slices.Clone(s.report.Scopes)
	}
	if s.o.ClientID != "" {
		s.seen.ClientID = s.o.ClientID
		return nil
	}
	if s.server.RegistrationEndpoint == "" {
		return errors.New("the server offers no registration, and no client was given")
	}
	q := s.registration("register", strings.Join(s.seen.Asked, " "))
	var in registration
	if err := json.Unmarshal(q.body, &in); err != nil {
		return err
	}
	in.RedirectURIs = []string{redirectURI}
	var err error
	if q.body, err = json.Marshal(in, json.Deterministic(true)); err != nil {
		return err
	}
	got := s.ask(ctx, q)
	if got.failure != "" {
		return fmt.Errorf("register: %s", got.detail)
	}
	if got.Status != http.StatusCreated && got.Status != http.StatusOK {
		return fmt.Errorf("register: HTTP %d: %s", got.Status, shorten(got.Body))
	}
	var client registration
	if err := json.Unmarshal(got.Body, &client, lenient); err != nil || client.ClientID == "" {
		return fmt.Errorf("register: HTTP %d without a client_id: %s", got.Status, shorten(got.Body))
	}
	if client.ClientSecret != "" {
		return errors.New("register: the server makes a confidential client of one that asked to be public (RFC 7591 §2)")
	}
	s.seen.ClientID, s.seen.Registered = client.ClientID, true
	return nil
}

// authorize sends the person to the authorization endpoint and waits for the answer.
func (s *signIn) authorize(ctx context.Context, back *callback) (c Code, err error) {
	q := newRequest(s.seen.ClientID, back.address, s.resource.Resource)
	address, err := q.address(s.server.AuthorizationEndpoint, s.seen.Asked)
	if err != nil {
		return c, err
	}
	if err := s.o.Open(ctx, address); err != nil {
		return c, err
	}
	answered, err := back.wait(ctx, s.o.Wait)
	if err != nil {
		return c, err
	}
	judged := JudgeCallback(answered, q.state, s.server)
	s.seen.Findings = append(s.seen.Findings, judged...)
	for _, f := range judged {
		if f.Severity == Error { // the answer may be another server's (RFC 9207 §2.4) or another request's (RFC 6749 §10.12)
			return c, fmt.Errorf("%s: %s (%s)", f.Title, f.Detail, f.Clause)
		}
	}
	value, err := q.code(answered, s.server)
	if err != nil {
		return c, err
	}
	return Code{Value: value, Verifier: q.verifier, RedirectURI: q.redirectURI, Resource: q.resource}, nil
}

// form is a question to the token or the revocation endpoint.
func form(what, address string, v url.Values) question {
	return question{what: what, method: http.MethodPost, address: address, body: []byte(v.Encode()), once: true,
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}}
}

// redeem turns the code into a token.
func (s *signIn) redeem(ctx context.Context, c Code) error {
	v := c.Form(s.seen.ClientID)
	if c.Resource == "" {
		v.Del("resource")
	}
	got := s.ask(ctx, form("token", s.server.TokenEndpoint, v))
	switch {
	case got.failure != "":
		return fmt.Errorf("token: %s", got.detail)
	case got.Status != http.StatusOK:
		return fmt.Errorf("token: HTTP %d: %w", got.Status, got.refusal())
	}
	// Less than was asked for is no fault here: the person may have chosen so.
	s.seen.Findings = append(s.seen.Findings, JudgeToken(got.Body, nil)...)
	g := &s.seen.Grant
	if err := json.Unmarshal(got.Body, g, lenient); err != nil {
		return fmt.Errorf("token: the answer is not that of OAuth: %w", err)
	}
	if g.AccessToken == "" || !strings.EqualFold(g.TokenType, "bearer") {
		return errors.New("token: the answer holds no bearer token (RFC 6749 §5.1)")
	}
	s.seen.ExpiresIn, s.seen.Refresh = g.ExpiresIn, g.RefreshToken != ""
	s.seen.Granted = strings.Fields(g.Scope)
	if g.Scope == "" {
		s.seen.Granted = s.seen.Asked // RFC 6749 §5.1: the same as asked for
	}
	return nil
}

// use lists the tools with the token, and makes the call.
func (s *signIn) use(ctx context.Context) error {
	s.with(s.seen.Grant.AccessToken)
	err := s.tools(ctx)
	if errors.Is(err, ErrSignIn) {
		return fmt.Errorf("tools/list with the token: HTTP %d: the server does not take its own token", s.listed.Status)
	}
	if err != nil {
		return err
	}
	for _, d := range s.definitions {
		s.seen.Tools = append(s.seen.Tools, d.Name)
	}
	if s.o.Call == nil {
		return nil
	}
	r, err := s.call(ctx, s.o.Call.Tool, s.o.Call.Arguments)
	if err != nil {
		return err
	}
	s.seen.Call = &CallSeen{Tool: s.o.Call.Tool, Status: r.Status, IsError: r.IsError || r.RPCError != 0 || r.Status != http.StatusOK, Code: r.Code, Text: r.Text, Structured: r.Structured}
	if r.RPCError != 0 && r.Code == "" {
		s.seen.Call.Code = strconv.Itoa(r.RPCError)
	}
	return nil
}

// revoke ends the tokens, which nobody keeps (RFC 7009 §2.1). A server without the
// endpoint lets them expire.
func (s *signIn) revoke(ctx context.Context) {
	if s.server.RevocationEndpoint == "" {
		return
	}
	token := s.seen.Grant.RefreshToken
	if token == "" {
		token = s.seen.Grant.AccessToken
	}
	got := s.ask(ctx, form("revoke", s.server.RevocationEndpoint, url.Values{"token": {token}, "client_id": {s.seen.ClientID}}))
	s.seen.Revoked = got.failure == "" && got.Status == http.StatusOK
}
