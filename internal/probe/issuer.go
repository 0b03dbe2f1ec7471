package probe

import (
	"context"
	"net/url"
	"slices"
	"strings"
)

// issuerPlaces are where hosts look for the metadata of an issuer, in the order that
// MCP gives: RFC 8414 §3.1, then OpenID Connect Discovery 1.0 §4 with the path
// inserted and appended.
func issuerPlaces(at *url.URL) (places []place) {
	path := strings.TrimSuffix(at.EscapedPath(), "/")
	places = append(places, place{"OAuth", wellKnown(at, "oauth-authorization-server", path)}, place{"OpenID", wellKnown(at, "openid-configuration", path)})
	if path != "" {
		places = append(places, place{"appended", at.Scheme + "://" + at.Host + path + "/.well-known/openid-configuration"})
	}
	return places
}

// twinPlaces are where hosts guess without metadata of the resource.
func (s *survey) twinPlaces() (places []place) {
	path := strings.TrimSuffix(s.endpoint.EscapedPath(), "/")
	places = append(places, place{"OAuth root", wellKnown(s.endpoint, "oauth-authorization-server", "")}, place{"OpenID root", wellKnown(s.endpoint, "openid-configuration", "")})
	if path != "" {
		places = append(places, place{"OAuth path", wellKnown(s.endpoint, "oauth-authorization-server", path)},
			place{"OpenID path", wellKnown(s.endpoint, "openid-configuration", path)})
	}
	return places
}

// serverMetadata asks at the issuer's places and at those that are guessed, takes
// the first that is there, and compares the rest with it.
func (s *survey) serverMetadata(ctx context.Context, issuer string, needed bool) {
	at, err := url.Parse(issuer)
	if err != nil || !isWeb(at) || at.RawQuery != "" || at.Fragment != "" { // RFC 8414 §2
		s.find("issuer-address", "%q", issuer)
		return
	}
	places := issuerPlaces(at)
	own := strings.EqualFold(at.Host, s.endpoint.Host)
	if own {
		places = append(places, s.twinPlaces()...)
	}
	var missing []string
	asked := map[string]bool{}
	for _, p := range places {
		if asked[p.address] {
			continue
		}
		asked[p.address] = true
		d := s.document(ctx, "server metadata, ", p)
		var m AuthorizationServer
		switch {
		case !d.found:
			missing = append(missing, p.name)
		case !s.decode(d, &m):
		case !s.serverFound:
			s.serverFound, s.server, s.report.Issuer = true, m, m.Issuer
			s.judgeCORS(ctx, d)
			if needed {
				s.judgeServer(issuer, m)
			}
		case !same(s.server, m):
			s.find("twins-differ", "%s: issuer %q, first %q", d.place, m.Issuer, s.server.Issuer)
		}
	}
	switch {
	case !needed:
	case !s.serverFound:
		s.find("server-metadata-missing", "not of the issuer %s", issuer)
	case own && at.Path == "" && len(missing) > 0:
		s.find("twin-missing", "%s", strings.Join(missing, ", "))
	}
}

// same reports whether a host would do the same with both.
func same(a, b AuthorizationServer) bool {
	return a.Issuer == b.Issuer && a.AuthorizationEndpoint == b.AuthorizationEndpoint && a.TokenEndpoint == b.TokenEndpoint &&
		a.RegistrationEndpoint == b.RegistrationEndpoint && a.IssParameter == b.IssParameter &&
		slices.Contains(a.ChallengeMethods, "S256") == slices.Contains(b.ChallengeMethods, "S256")
}

// judgeServer judges the metadata that a host would use.
func (s *survey) judgeServer(issuer string, m AuthorizationServer) {
	switch {
	case m.Issuer == issuer:
	case issuer == m.Issuer+"/":
		s.find("issuer-slash", "authorization_servers has %q, the metadata %q", issuer, m.Issuer)
	default: // RFC 8414 §3.3
		s.find("issuer-mismatch", "the metadata has %q, the resource names %q", m.Issuer, issuer)
	}
	if name, address := m.badEndpoint(s.endpoint.Scheme == "https"); name != "" {
		s.find("endpoint-address", "%s is %q", name, address)
	}
	if !slices.Contains(m.ChallengeMethods, "S256") {
		s.find("pkce-not-advertised", "code_challenge_methods_supported is %q", m.ChallengeMethods)
	}
	if m.RegistrationEndpoint == "" && !m.ClientIDDocuments {
		s.find("registration-missing", "no registration_endpoint and no client_id_metadata_document_supported")
	}
	if !slices.Contains(m.AuthMethods, "none") {
		s.find("auth-none-missing", "token_endpoint_auth_methods_supported is %q", m.AuthMethods)
	}
	if !m.IssParameter {
		s.find("iss-not-advertised", "authorization_response_iss_parameter_supported is not true")
	}
}

// badEndpoint is the first endpoint that is missing, that a browser would take for
// something else than a page, or that steps down from https; "" for none.
func (m AuthorizationServer) badEndpoint(onlyHTTPS bool) (name, address string) {
	for _, e := range []struct {
		name, address string
		optional      bool
	}{
		{"authorization_endpoint", m.AuthorizationEndpoint, false},
		{"token_endpoint", m.TokenEndpoint, false},
		{"registration_endpoint", m.RegistrationEndpoint, true},
		{"revocation_endpoint", m.RevocationEndpoint, true},
	} {
		u, err := url.Parse(e.address)
		bad := err != nil || !isWeb(u) || u.Fragment != "" || onlyHTTPS && u.Scheme != "https"
		if bad && (e.address != "" || !e.optional) {
			return e.name, e.address
		}
	}
	return "", ""
}
