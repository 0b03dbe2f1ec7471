package guard

import "net/http"

// Header values that never change, shared by all answers. Each has no spare
// capacity, so that adding to one copies it.
var (
	noSniff       = []string{"nosniff"}
	deny          = []string{"DENY"}
	noReferrer    = []string{"no-referrer"}
	sameOrigin    = []string{"same-origin"}
	nothing       = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
	strict        = []string{"max-age=31536000"} // one year; not for subdomains, which are not ours to decide about
	anyOrigin     = []string{"*"}
	allowHeaders  = []string{"Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID"}
	exposeHeaders = []string{"WWW-Authenticate, Retry-After"}
	preflightAge  = []string{"600"} // seconds
)

// SecureHeaders sets on every answer the headers that keep browsers from
// framing, sniffing and leaking it (RFC 9700 §4.16; RFC 6797 on https). The
// Content-Security-Policy is the one of answers that are not pages: it allows
// nothing. A page replaces it, and must keep frame-ancestors 'none'.
func (s *Site) SecureHeaders(next http.Handler) http.Handler {
	secure := s.Secure()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = noSniff
		h["X-Frame-Options"] = deny
		h["Referrer-Policy"] = noReferrer
		h["Cross-Origin-Opener-Policy"] = sameOrigin
		h["Content-Security-Policy"] = nothing
		if secure {
			h["Strict-Transport-Security"] = strict
		}
		next.ServeHTTP(w, r)
	})
}

// AllowAnyOrigin lets pages of any origin read the answer, without credentials.
// It is for what protocol.md §3 names: metadata, token, register, revoke and the
// two mounts; never for an answer that depends on a cookie.
func AllowAnyOrigin(h http.Header) {
	h["Access-Control-Allow-Origin"] = anyOrigin
	h["Access-Control-Expose-Headers"] = exposeHeaders
}

// Preflight answers OPTIONS of a route that AllowAnyOrigin is for: 204, with the
// methods such as "GET, POST, OPTIONS".
func Preflight(w http.ResponseWriter, methods string) {
	h := w.Header()
	AllowAnyOrigin(h)
	h.Set("Access-Control-Allow-Methods", methods)
	h["Access-Control-Allow-Headers"] = allowHeaders
	h["Access-Control-Max-Age"] = preflightAge
	w.WriteHeader(http.StatusNoContent)
}
