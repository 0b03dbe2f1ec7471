package probe

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// loopback is the redirect of a host on somebody's machine; nobody listens there.
const loopback = "http://127.0.0.1:53682/callback"

// register makes the survey a client, as hosts do, and tries the endpoints that need
// one with requests that must be refused. The client stays behind, unused.
func (s *survey) register(ctx context.Context) {
	if s.server.RegistrationEndpoint == "" {
		return // said already, where it matters
	}
	scopes := slices.Clone(s.report.Scopes)
	if !slices.Contains(scopes, "offline_access") {
		scopes = append(scopes, "offline_access") // as Codex, Claude Code and the SDK v2 add it
	}
	got := s.ask(ctx, s.registration("register", strings.Join(scopes, " ")))
	if got.failure != "" || got.Status == http.StatusTooManyRequests {
		return
	}
	if got.Status != http.StatusCreated && got.Status != http.StatusOK {
		s.judgeRefusedRegistration(ctx, got)
		return
	}
	if client, ok := s.judgeRegistered(got); ok {
		s.authorizeBadly(ctx, client)
		s.redeemBadly(ctx, client)
	}
}

func (s *survey) registration(what, scope string) question {
	body, err := json.Marshal(registration{
		ClientName: "osFoundry probe", RedirectURIs: []string{loopback}, AuthMethod: "none", Scope: scope,
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}, json.Deterministic(true))
	if err != nil {
		panic("probe: a registration cannot be written: " + err.Error()) // it is made of strings of ours
	}
	return question{
		what: what, method: http.MethodPost, address: s.server.RegistrationEndpoint, body: body, once: true,
		header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}},
	}
}

// judgeRefusedRegistration tells a server that refuses scopes from one that refuses
// all.
func (s *survey) judgeRefusedRegistration(ctx context.Context, refused answer) {
	again := s.ask(ctx, s.registration("register without scope", ""))
	if again.failure == "" && (again.Status == http.StatusCreated || again.Status == http.StatusOK) {
		s.find("register-scope", "with offline_access: HTTP %d: %s", refused.Status, shorten(refused.Body))
		return
	}
	s.find("register-failed", "HTTP %d: %s", refused.Status, shorten(refused.Body))
}

// judgeRegistered judges the answer to a registration and takes the client's ID.
func (s *survey) judgeRegistered(got answer) (client string, ok bool) {
	var r registration
	if err := json.Unmarshal(got.Body, &r, lenient); err != nil || r.ClientID == "" {
		s.find("register-failed", "HTTP %d without a client_id: %s", got.Status, shorten(got.Body))
		return "", false
	}
	if got.Status != http.StatusCreated {
		s.find("register-200", "HTTP %d", got.Status)
	}
	s.judgeMembers("register-null", "register", got.Body)
	if !slices.Contains(r.RedirectURIs, loopback) {
		s.find("register-minimal", "redirect_uris is %q", r.RedirectURIs)
	}
	if r.ClientSecret != "" {
		s.find("register-secret", "token_endpoint_auth_method is %q", r.AuthMethod)
	}
	return r.ClientID, true
}

// authorizeBadly sends an authorization request without a code challenge. A server
// that judges it at once sends the browser back with an error; then the error must
// carry iss and state as a success would (RFC 9207 §2). One that asks for a sign-in
// first shows a page, which says nothing.
func (s *survey) authorizeBadly(ctx context.Context, client string) {
	u, err := url.Parse(s.server.AuthorizationEndpoint)
	if err != nil || !isWeb(u) {
		return // said already
	}
	q := newRequest(client, loopback, s.resource.Resource)
	v := u.Query()
	for name, value := range map[string]string{"response_type": "code", "client_id": client, "redirect_uri": loopback, "state": q.state} {
		v.Set(name, value)
	}
	u.RawQuery = v.Encode()
	got := s.ask(ctx, question{what: "authorize without PKCE", method: http.MethodGet, address: u.String(), once: true, header: http.Header{"Accept": {"text/html"}}})
	to := got.redirect(u.String())
	if to == nil || !strings.HasPrefix(to.String(), loopback) {
		return
	}
	for _, f := range JudgeCallback(to, q.state, s.server) {
		s.find(f.ID, "error redirect: %s", f.Detail)
	}
}

// JudgeCallback judges the address that the authorization endpoint sent the browser
// back to, of a success or an error, against the state that was sent.
func JudgeCallback(callback *url.URL, state string, m AuthorizationServer) (findings []Finding) {
	v := callback.Query()
	iss, sent := v.Get("iss"), v.Has("iss")
	switch {
	case !sent && m.IssParameter:
		findings = append(findings, newFinding("iss-missing", "it has no iss, though the metadata says so"))
	case sent && iss != m.Issuer:
		findings = append(findings, newFinding("iss-wrong", "iss is %q, the issuer %q", iss, m.Issuer))
	case sent && !m.IssParameter:
		findings = append(findings, newFinding("iss-unadvertised", "iss is %q", iss))
	}
	if v.Get("state") != state {
		findings = append(findings, newFinding("state-lost", "state came back as %q", v.Get("state")))
	}
	return findings
}

// redeemBadly shows the token endpoint a code that nobody issued, as the client and
// as one that nobody registered.
func (s *survey) redeemBadly(ctx context.Context, client string) {
	got := s.ask(ctx, s.redemption("token, unknown code", client))
	var refused OAuthError
	switch {
	case got.failure != "" || got.Status == http.StatusTooManyRequests:
		return
	case got.Status < 400 || got.Status > 499 || json.Unmarshal(got.Body, &refused, lenient) != nil || refused.Code == "":
		s.find("token-answer", "HTTP %d: %s", got.Status, shorten(got.Body))
		return
	}
	got = s.ask(ctx, s.redemption("token, unknown client", "osfoundry-probe-absent"))
	err := json.Unmarshal(got.Body, &refused, lenient)
	if got.failure == "" && got.Status != http.StatusTooManyRequests && (err != nil || got.Status != http.StatusUnauthorized || refused.Code != "invalid_client") {
		s.find("token-unknown-client", "HTTP %d %s", got.Status, refused.Code)
	}
}

func (s *survey) redemption(what, client string) question {
	code := Code{Value: "osfoundry-probe-absent", Verifier: secret(32), RedirectURI: loopback, Resource: s.resource.Resource}
	return question{
		what: what, method: http.MethodPost, address: s.server.TokenEndpoint, body: []byte(code.Form(client).Encode()), once: true,
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}},
	}
}

// JudgeToken judges the body of a successful answer of the token endpoint to a
// client that asked for the scopes; nil asks for none.
func JudgeToken(body []byte, asked []string) (findings []Finding) {
	var t struct {
		AccessToken  any `json:"access_token"`
		TokenType    any `json:"token_type"`
		ExpiresIn    any `json:"expires_in"`
		RefreshToken any `json:"refresh_token"`
		Scope        any `json:"scope"`
	}
	if err := json.Unmarshal(body, &t, lenient); err != nil {
		return []Finding{newFinding("token-missing", "the answer is no JSON object: %v", err)}
	}
	if bad := emptyMembers(body); len(bad) > 0 {
		findings = append(findings, newFinding("token-null", "%s", strings.Join(bad, ", ")))
	}
	access, _ := t.AccessToken.(string)
	kind, _ := t.TokenType.(string)
	if access == "" || !strings.EqualFold(kind, "bearer") {
		findings = append(findings, newFinding("token-missing", "token_type is %q", kind))
	}
	if seconds, ok := t.ExpiresIn.(float64); t.ExpiresIn != nil && (!ok || seconds <= 0 || seconds != float64(int64(seconds))) {
		findings = append(findings, newFinding("expires-in", "expires_in is %v", t.ExpiresIn))
	}
	scope, isText := t.Scope.(string)
	switch {
	case t.Scope != nil && !isText:
		findings = append(findings, newFinding("scope-array", "scope is %v", t.Scope))
	case isText:
		if less := missing(asked, strings.Fields(scope)); len(less) > 0 {
			findings = append(findings, newFinding("scope-narrow", "without %s", strings.Join(less, " ")))
		}
	}
	if refresh, _ := t.RefreshToken.(string); refresh == "" {
		findings = append(findings, newFinding("no-refresh", "refresh_token is missing"))
	}
	return findings
}

// missing are the wanted scopes that are not there. offline_access asks for a
// refresh token and is often not echoed.
func missing(wanted, there []string) (less []string) {
	for _, scope := range wanted {
		if scope != "offline_access" && !slices.Contains(there, scope) {
			less = append(less, scope)
		}
	}
	return less
}
