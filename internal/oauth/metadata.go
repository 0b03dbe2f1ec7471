package oauth

import (
	"net/http"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// serverMetadata is the document of RFC 8414 §2.
type serverMetadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	RegistrationEndpoint  string   `json:"registration_endpoint"`
	RevocationEndpoint    string   `json:"revocation_endpoint"`
	ScopesSupported       []string `json:"scopes_supported"`
	ResponseTypes         []string `json:"response_types_supported"`
	ResponseModes         []string `json:"response_modes_supported"`
	GrantTypes            []string `json:"grant_types_supported"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	RevokeAuthMethods     []string `json:"revocation_endpoint_auth_methods_supported"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported"`
	IssInResponses        bool     `json:"authorization_response_iss_parameter_supported"`
	MetadataDocuments     bool     `json:"client_id_metadata_document_supported,omitzero"`
}

// resourceMetadata is the document of RFC 9728 §2.
type resourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ResourceName         string   `json:"resource_name"`
}

// offlineAccess is a scope that hosts ask for to get a refresh token. We issue
// one anyway; it is announced because some hosts send the scope only then, and
// ask for nothing they would otherwise do without. It is no scope of the
// resource.
const offlineAccess = "offline_access"

func (s *Server) serverMetadata(origin string) serverMetadata {
	return serverMetadata{
		Issuer:                origin, // RFC 8414 §2: no query, no fragment; here no path and no slash
		AuthorizationEndpoint: origin + PathAuthorize,
		TokenEndpoint:         origin + PathToken,
		RegistrationEndpoint:  origin + PathRegister,
		RevocationEndpoint:    origin + PathRevoke,
		ScopesSupported:       append(access.AllScopes.Names(), offlineAccess),
		ResponseTypes:         []string{"code"},
		ResponseModes:         []string{"query"},
		GrantTypes:            []string{grantCode, grantRefresh},
		TokenAuthMethods:      []string{"none"},
		RevokeAuthMethods:     []string{"none"},
		ChallengeMethods:      []string{"S256"},
		IssInResponses:        true, // RFC 9207 §3
		MetadataDocuments:     s.Documents != nil,
	}
}

func resourceMetadataOf(origin, mount string) resourceMetadata {
	return resourceMetadata{
		Resource:             origin + mount, // RFC 9728 §3.3: what the client asked about
		AuthorizationServers: []string{origin},
		ScopesSupported:      access.AllScopes.Names(),
		BearerMethods:        []string{"header"},
		ResourceName:         "osFoundry",
	}
}

// ResourceMetadataURL is where the metadata of a mount lies on the origin, for
// challenges (RFC 9728 §3.1: the well-known part goes between host and path).
func ResourceMetadataURL(origin, mount string) string {
	return origin + wellKnownPath + protectedResource + mount
}

const (
	wellKnownPath       = "/.well-known/"
	protectedResource   = "oauth-protected-resource"
	authorizationServer = "oauth-authorization-server" // RFC 8414 §3
	openidConfiguration = "openid-configuration"       // where older clients look for the same

	metadataMethods = "GET, HEAD, OPTIONS"
)

// wellKnown serves everything below /.well-known/: the documents of RFC 8414 and
// RFC 9728 in each form that clients guess, and 404 as JSON for all else, because
// clients take a page for a broken document.
func (s *Server) wellKnown(w http.ResponseWriter, r *http.Request) {
	document := s.document(s.Site.Origin(r), strings.TrimPrefix(r.URL.Path, wellKnownPath))
	if document == nil {
		s.nothingHere(w, r)
		return
	}
	guard.AllowAnyOrigin(w.Header())
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("Vary", "Host")
		writeJSON(w, http.StatusOK, document)
	case http.MethodOptions:
		guard.Preflight(w, metadataMethods)
	default:
		s.methodNotAllowed(w, metadataMethods)
	}
}

// document is the one with that name, or nil. A name is the document's own,
// alone or with a mount behind it.
func (s *Server) document(origin, name string) any {
	kind, mount := name, ""
	if i := strings.IndexByte(name, '/'); i >= 0 {
		kind, mount = name[:i], name[i:]
	}
	if mount != "" && mount != MountSignIn && mount != MountPublic {
		return nil
	}
	switch kind {
	case authorizationServer, openidConfiguration:
		return s.serverMetadata(origin)
	case protectedResource:
		if mount == "" {
			mount = MountPublic
		}
		return resourceMetadataOf(origin, mount)
	}
	return nil
}
