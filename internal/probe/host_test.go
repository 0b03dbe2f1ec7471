package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// person makes the server's authorization endpoint sign anybody in at once, with a
// callback that may lie, and its token endpoint take the code.
func (s *stand) person(lie func(v url.Values)) {
	s.authorize = func(w http.ResponseWriter, r *http.Request) {
		v := url.Values{"code": {"code-1"}, "state": {r.URL.Query().Get("state")}, "iss": {s.base}}
		if lie != nil {
			lie(v)
		}
		back(w, r, v)
	}
	s.redeem = func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("code") != "code-1" || len(r.PostFormValue("code_verifier")) < 43 || r.PostFormValue("resource") != s.base+"/mcp" {
			answerJSON(w, http.StatusBadRequest, object{"error": "invalid_grant"})
			return
		}
		answerJSON(w, http.StatusOK, object{"access_token": "at", "token_type": "Bearer", "expires_in": 60, "refresh_token": "rt"})
	}
}

func TestTheHostConnectsToAnHonestServer(t *testing.T) {
	s := newStand(t)
	s.person(nil)
	got, err := Connect(t.Context(), s.base+"/mcp", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	if got.ClientID != "client-1" || got.Grant.AccessToken != "at" || got.Discovery.Challenge.Scope != "read write" {
		t.Errorf("connected as %q with %+v after %+v", got.ClientID, got.Grant, got.Discovery.Challenge)
	}
	var asked []string
	for _, e := range got.Exchanges() {
		asked = append(asked, fmt.Sprintf("%s %d", e.What, e.Status))
	}
	want := []string{"initialize without a token 401", "resource metadata 200", "server metadata 200", "register 201", "token 200"}
	if !slices.Equal(asked, want) {
		t.Errorf("exchanges:\n got %q\nwant %q", asked, want)
	}
}

// TestTheHostStopsAtALie: each lie would let another server, or another person's
// code, into the flow (RFC 9700 §4.4, §4.7), or hide what stricter hosts refuse.
func TestTheHostStopsAtALie(t *testing.T) {
	callback := func(lie func(v url.Values)) func(s *stand) {
		return func(s *stand) { s.person(lie) }
	}
	for name, c := range map[string]struct {
		put  func(s *stand)
		want string // in the error
	}{
		"iss of another":   {callback(func(v url.Values) { v.Set("iss", "https://attacker.example") }), "iss"},
		"no iss":           {callback(func(v url.Values) { v.Del("iss") }), "iss"},
		"iss twice":        {callback(func(v url.Values) { v.Add("iss", "https://attacker.example") }), "iss twice"},
		"state of another": {callback(func(v url.Values) { v.Set("state", "other") }), "state"},
		"no state":         {callback(func(v url.Values) { v.Del("state") }), "state"},
		"no code":          {callback(func(v url.Values) { v.Del("code") }), "no code"},
		"an empty error":   {callback(func(v url.Values) { v.Set("error", "") }), ":"},
		"iss of another, not advertised": {func(s *stand) {
			delete(s.server, "authorization_response_iss_parameter_supported")
			s.person(func(v url.Values) { v.Set("iss", "https://attacker.example") })
		}, "iss"},
		"another callback": {func(s *stand) {
			s.authorize = func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.1:1/other?code=x", 303)
			}
		}, "not to"},
		"issuer of another":                {func(s *stand) { s.server["issuer"] = "https://attacker.example" }, "issuer"},
		"issuer with slash":                {func(s *stand) { s.server["issuer"] = s.base + "/" }, "issuer"},
		"resource of another":              {func(s *stand) { s.resource["resource"] = "https://attacker.example/mcp" }, "RFC 9728 §3.3"},
		"resource with slash":              {func(s *stand) { s.resource["resource"] = s.base + "/mcp/" }, "RFC 9728 §3.3"},
		"no authorization server":          {func(s *stand) { delete(s.resource, "authorization_servers") }, "no authorization server"},
		"issuer is no address":             {func(s *stand) { s.resource["authorization_servers"] = []string{"file:///etc/passwd"} }, "no http or https"},
		"endpoint of a scheme of browsers": {func(s *stand) { s.server["authorization_endpoint"] = "javascript:alert(1)" }, "authorization_endpoint"},
		"no token endpoint":                {func(s *stand) { delete(s.server, "token_endpoint") }, "token_endpoint"},
		"no PKCE":                          {func(s *stand) { delete(s.server, "code_challenge_methods_supported") }, "PKCE"},
		"null in metadata":                 {func(s *stand) { s.server["service_documentation"] = nil }, "null or empty"},
		"empty in registration": {func(s *stand) {
			s.register = func(in object) (int, object) { return 201, with(with(in, "client_id", "client-1"), "logo_uri", "") }
		}, "null or empty"},
		"registration answers 200": {func(s *stand) {
			s.register = func(in object) (int, object) { return 200, with(in, "client_id", "client-1") }
		}, "got HTTP 200, want 201"},
		"no challenge": {func(s *stand) { s.challenge = "" }, "RFC 9728 §5.1"},
		"no 401":       {func(s *stand) { s.open = true }, "want 401"},
		"null in the token answer": {func(s *stand) {
			s.person(nil)
			s.redeem = func(w http.ResponseWriter, _ *http.Request) {
				answerJSON(w, 200, object{"access_token": "a", "token_type": "Bearer", "expires_in": 9, "refresh_token": nil})
			}
		}, "null or empty"},
		"no life in the token answer": {func(s *stand) {
			s.person(nil)
			s.redeem = func(w http.ResponseWriter, _ *http.Request) {
				answerJSON(w, 200, object{"access_token": "a", "token_type": "Bearer"})
			}
		}, "life"},
		"token refuses": {func(s *stand) {
			s.person(nil)
			s.redeem = func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 400, object{"error": "invalid_grant"}) }
		}, "invalid_grant"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			c.put(s)
			session, err := Connect(t.Context(), s.base+"/mcp", Options{})
			if err == nil {
				session.Close()
				t.Fatalf("connected with %+v", session.Grant)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want an error about %q", err, c.want)
			}
		})
	}
}

func TestASecretOfTheCallbackIsInNoError(t *testing.T) {
	s := newStand(t)
	s.person(func(v url.Values) { v.Set("state", "other") })
	_, err := Connect(t.Context(), s.base+"/mcp", Options{})
	if err == nil || strings.Contains(err.Error(), "code-1") {
		t.Errorf("got %v, want an error without the code", err)
	}
	h := NewHost()
	defer h.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.do(ctx, "x", http.MethodGet, s.base+"/?code=secret", nil, nil); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the query", err)
	}
}
