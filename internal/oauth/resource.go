package oauth

import (
	"net/http"
	"net/url"
	"strings"
)

// ownResource finds which of our mounts a resource indicator names (RFC 8707
// §2), and writes it in its canonical form. Case and default port of the host,
// one slash at the end and a query make no difference, because clients send the
// address that people typed; a fragment, a user name or another path does.
func (s *Server) ownResource(text string) (canonical string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" || strings.Contains(text, "#") || !plainText(text) {
		return "", false
	}
	origin, ok := s.Site.Public(u.Scheme + "://" + u.Host)
	if !ok {
		return "", false
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if path != MountSignIn && path != MountPublic {
		return "", false
	}
	return origin + path, true
}

// askedResource is the first of the resources that is ours, or the canonical one
// of the request's origin if none is asked for. ok is false if only others are.
func (s *Server) askedResource(r *http.Request, asked []string) (canonical string, ok bool) {
	named := false
	for _, text := range asked {
		if text == "" {
			continue
		}
		named = true
		if canonical, ok := s.ownResource(text); ok {
			return canonical, true
		}
	}
	return s.Site.Origin(r) + MountSignIn, !named
}
