package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Resource is protected resource metadata (RFC 9728 §2), as far as a host needs
// it.
type Resource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
}

// AuthorizationServer is authorization server metadata (RFC 8414 §2), as far as a
// host needs it.
type AuthorizationServer struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	IssParameter          bool     `json:"authorization_response_iss_parameter_supported"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`
	ScopesSupported       []string `json:"scopes_supported"`
	ClientIDDocuments     bool     `json:"client_id_metadata_document_supported"`
}

// Discovery is what a host learns before anybody signs in.
type Discovery struct {
	Challenge Challenge
	Resource  Resource
	Server    AuthorizationServer
}

// Discover meets the endpoint without a token and follows its 401 to the metadata
// of the resource and of its authorization server. An endpoint that lets anybody
// initialize is asked by a call of a tool.
func (h *Host) Discover(ctx context.Context, endpoint string) (d Discovery, err error) {
	at, err := url.Parse(endpoint)
	if err != nil || !isWeb(at) {
		return d, errors.New("the endpoint is no http or https address")
	}
	first, err := h.post(ctx, "initialize without a token", endpoint, "", initializeRequest)
	if err == nil && first.Status == http.StatusOK {
		first, err = h.post(ctx, "call without a token", endpoint, "", callRequest)
	}
	if err != nil {
		return d, err
	}
	if first.Status != http.StatusUnauthorized {
		return d, fmt.Errorf("%s: got HTTP %d, want 401", first.What, first.Status)
	}
	var ok bool
	if d.Challenge, ok = bearer(first.Header); !ok || d.Challenge.ResourceMetadata == "" {
		return d, errors.New("the 401 names no resource metadata in WWW-Authenticate (RFC 9728 §5.1)")
	}
	e, err := h.do(ctx, "resource metadata", http.MethodGet, d.Challenge.ResourceMetadata, nil, nil)
	if err != nil {
		return d, err
	}
	if err := e.oauth(http.StatusOK, &d.Resource); err != nil {
		return d, err
	}
	if d.Resource.Resource != strings.TrimSuffix(endpoint, "/") {
		return d, fmt.Errorf("the resource metadata is for %q, not for %q (RFC 9728 §3.3)", d.Resource.Resource, endpoint)
	}
	if len(d.Resource.AuthorizationServers) == 0 {
		return d, errors.New("the resource metadata names no authorization server")
	}
	d.Server, err = h.serverMetadata(ctx, at, d.Resource.AuthorizationServers[0])
	return d, err
}

// serverMetadata asks for the metadata of an issuer (RFC 8414 §3.1).
func (h *Host) serverMetadata(ctx context.Context, resource *url.URL, issuer string) (m AuthorizationServer, err error) {
	u, err := url.Parse(issuer)
	if err != nil || !isWeb(u) || u.RawQuery != "" || u.Fragment != "" { // RFC 8414 §2
		return m, fmt.Errorf("the issuer %q is no http or https address without query and fragment", issuer)
	}
	e, err := h.do(ctx, "server metadata", http.MethodGet, wellKnown(u, "oauth-authorization-server", u.EscapedPath()), nil, nil)
	if err != nil {
		return m, err
	}
	if err := e.oauth(http.StatusOK, &m); err != nil {
		return m, err
	}
	switch {
	case m.Issuer != issuer: // RFC 8414 §3.3
		return m, fmt.Errorf("the server metadata is of issuer %q, not of %q", m.Issuer, issuer)
	case !slices.Contains(m.ChallengeMethods, "S256"):
		return m, errors.New("the server metadata does not offer PKCE with S256")
	}
	if name, address := m.badEndpoint(resource.Scheme == "https"); name != "" {
		return m, fmt.Errorf("the server metadata has %q as %s", address, name)
	}
	return m, nil
}
