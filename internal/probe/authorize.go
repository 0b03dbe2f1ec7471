package probe

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Grant is what the token endpoint gave (RFC 6749 §5.1).
type Grant struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// OAuthError is a refusal of an OAuth endpoint, or one that came back with the
// browser (RFC 6749 §4.1.2.1, §5.2).
type OAuthError struct {
	Status      int    `json:"-"` // 0: with the browser
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func (e *OAuthError) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Description) }

// request is one authorization request of the host.
type request struct {
	clientID, redirectURI, resource, state, verifier string
}

// secret is n random bytes in base64url.
func secret(n int) string {
	b := make([]byte, n)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func newRequest(clientID, redirectURI, resource string) request {
	return request{clientID, redirectURI, resource, secret(16), secret(32)}
}

// address is where the browser begins (RFC 6749 §4.1.1, RFC 7636 §4.3, RFC 8707 §2).
func (q request) address(endpoint string, scopes []string) (string, error) {
	u, err := url.Parse(endpoint)
	if err != nil {
		return "", fmt.Errorf("the authorization endpoint is no URL: %w", err)
	}
	challenge := sha256.Sum256([]byte(q.verifier))
	v := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": q.clientID, "redirect_uri": q.redirectURI, "state": q.state, "resource": q.resource,
		"code_challenge_method": "S256", "code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]),
	} {
		if value != "" { // a server without metadata of its resource has no name for it
			v.Set(name, value)
		}
	}
	if len(scopes) > 0 {
		v.Set("scope", strings.Join(scopes, " "))
	}
	u.RawQuery = v.Encode()
	return u.String(), nil
}

// code takes the code out of the callback, after checking that the answer is to
// this request (RFC 6749 §10.12) and from this issuer (RFC 9207 §2.4).
func (q request) code(callback *url.URL, m AuthorizationServer) (string, error) {
	v := callback.Query()
	if bare, _, _ := strings.Cut(callback.String(), "?"); bare != q.redirectURI {
		return "", fmt.Errorf("the browser was sent to %s, not to %s", bare, q.redirectURI)
	}
	for _, name := range []string{"code", "state", "iss", "error"} {
		if len(v[name]) > 1 {
			return "", fmt.Errorf("the callback has %s twice", name)
		}
	}
	switch {
	case (m.IssParameter || v.Has("iss")) && v.Get("iss") != m.Issuer:
		return "", fmt.Errorf("the callback has iss %q, want %q", v.Get("iss"), m.Issuer)
	case v.Get("state") != q.state:
		return "", errors.New("the callback has another state than the request")
	case v.Has("error"):
		return "", &OAuthError{Code: v.Get("error"), Description: v.Get("error_description")}
	case v.Get("code") == "":
		return "", errors.New("the callback has no code")
	}
	return v.Get("code"), nil
}

// token asks the token endpoint. A refusal is an *OAuthError.
func (h *Host) token(ctx context.Context, what, endpoint string, form url.Values) (g Grant, err error) {
	e, err := h.form(ctx, what, endpoint, form)
	if err != nil {
		return g, err
	}
	if e.Status != http.StatusOK {
		return g, e.refusal()
	}
	if err := e.oauth(http.StatusOK, &g); err != nil {
		return g, err
	}
	if g.AccessToken == "" || !strings.EqualFold(g.TokenType, "bearer") || g.ExpiresIn <= 0 {
		return g, fmt.Errorf("%s: the answer lacks a bearer token or its life", what)
	}
	return g, nil
}

func (h *Host) form(ctx context.Context, what, endpoint string, form url.Values) (Exchange, error) {
	return h.do(ctx, what, http.MethodPost, endpoint, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, []byte(form.Encode()))
}

func (e Exchange) refusal() error {
	refused := &OAuthError{}
	if err := e.json(e.Status, refused); err != nil {
		return err
	}
	refused.Status = e.Status
	return refused
}
