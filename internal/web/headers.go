package web

import (
	"net/http"
	"regexp"
)

// policyBefore and policyAfter are the Content-Security-Policy of every page
// here, around what form-action allows besides this server: nothing from
// elsewhere, no script, no frame around it.
const (
	policyBefore = "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'self'"
	policyAfter  = "; base-uri 'none'; frame-ancestors 'none'"
)

// shellPolicy is the Content-Security-Policy of the web app's shell: scripts and
// style sheets of this server alone, style sheets made by the app under the
// answer's nonce, and no text that becomes script (Trusted Types).
func shellPolicy(nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data: blob:; font-src 'self'; " +
		"connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types app"
}

// scriptPolicy is the Content-Security-Policy of the app's scripts. A worker is
// under the policy of its own script (HTML, "run a worker"), and asks this server.
const scriptPolicy = "default-src 'none'; script-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'"

// setHeaders puts on the headers that every answer of this package carries.
// formSource is where a form of the page may lead besides this server, as a
// source expression (CSP3 §2.3.1), or "".
func (s *Site) setHeaders(h http.Header, formSource string) {
	if formSource != "" {
		formSource = " " + formSource
	}
	h.Set("Content-Security-Policy", policyBefore+formSource+policyAfter)
	h.Set("X-Frame-Options", "DENY") // RFC 9700 §4.16, for browsers without frame-ancestors
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // RFC 9700 §4.2.4
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if s.Site.Secure() {
		h.Set("Strict-Transport-Security", "max-age=31536000") // RFC 6797 §6.1
	}
}

// cspSource are the source expressions that can be put into a policy: a scheme,
// or an origin with a host name or IPv4 address. There is none for IPv6.
var cspSource = regexp.MustCompile(`^(https?://[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(:[0-9]{1,5})?|[a-z][a-z0-9+.-]*:)$`)

// sourceOf passes on a source that cannot change the meaning of the policy
// around it, and "" for any other.
func sourceOf(source string) string {
	if !cspSource.MatchString(source) || runsInPage(source) || source == "https:" || source == "http:" {
		return ""
	}
	return source
}
