package guard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// SiteConfig says where osFoundry is reached.
type SiteConfig struct {
	// PublicURLs are the addresses people type, each scheme, host and perhaps a
	// port, nothing behind. The first is the canonical one. At least one.
	PublicURLs []string
	// Hosts are further values of the Host header to serve, such as the address
	// that a health check of the same machine uses: host or host:port.
	Hosts []string
	// Origins are further browser origins to serve, such as MCP Inspector's page.
	Origins []string
	// Proxies are the networks whose X-Forwarded-For and X-Forwarded-Host are
	// believed. None by default: anyone can send these headers.
	Proxies []netip.Prefix
}

// Site knows under which names osFoundry is reached and refuses all others
// (DNS rebinding: MCP 2025-11-25, Transports, "Security Warning").
type Site struct {
	canonical string
	public    map[string]string // host as browsers send it → public origin
	hosts     map[string]bool
	origins   map[string]bool
	proxies   []netip.Prefix
}

// NewSite checks the configuration and makes a Site of it.
func NewSite(c SiteConfig) (*Site, error) {
	if len(c.PublicURLs) == 0 {
		return nil, errors.New("no public URL is configured")
	}
	s := &Site{public: map[string]string{}, hosts: map[string]bool{}, origins: map[string]bool{}, proxies: c.Proxies}
	for _, raw := range c.PublicURLs {
		origin, u, err := parseOrigin(raw)
		if err != nil {
			return nil, fmt.Errorf("public URL %q: %w", raw, err)
		}
		if s.canonical == "" {
			s.canonical = origin
		}
		s.origins[origin] = true
		for _, host := range spellings(u) {
			s.hosts[host] = true
			if s.public[host] == "" {
				s.public[host] = origin
			}
		}
	}
	for _, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, "/@ ?#*") {
			return nil, fmt.Errorf("allowed host %q: must be a host or host:port", host)
		}
		s.hosts[strings.ToLower(host)] = true
	}
	for _, raw := range c.Origins {
		origin, _, err := parseOrigin(raw)
		if err != nil {
			return nil, fmt.Errorf("allowed origin %q: %w", raw, err)
		}
		s.origins[origin] = true
	}
	return s, nil
}

// parseOrigin reads an origin and writes it as browsers do (RFC 6454 §6.2):
// lower case, no default port.
func parseOrigin(raw string) (string, *url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", nil, errors.New("is not a URL")
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Opaque != "" {
		return "", nil, errors.New("must be http or https, and a host")
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return "", nil, errors.New("must end after the host and port")
	}
	u.Host = strings.TrimSuffix(u.Host, defaultPort(u.Scheme))
	return u.Scheme + "://" + u.Host, u, nil
}

// spellings are the Host headers that mean the URL: with the default port and
// without.
func spellings(u *url.URL) []string {
	if u.Port() != "" {
		return []string{u.Host}
	}
	return []string{u.Host, u.Host + defaultPort(u.Scheme)}
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return ":443"
	}
	return ":80"
}

// Canonical is the first public origin, the OAuth issuer: no path, no slash.
func (s *Site) Canonical() string { return s.canonical }

// Public reports whether the origin, in any spelling, is one of the public ones,
// and how it is written.
func (s *Site) Public(origin string) (canonical string, ok bool) {
	written, u, err := parseOrigin(origin)
	if err != nil {
		return "", false
	}
	return written, s.public[u.Host] == written
}

// Secure reports whether the canonical public origin is https.
func (s *Site) Secure() bool { return strings.HasPrefix(s.canonical, "https:") }

// Origin is the public origin that the request was sent to, or the canonical
// one. Every absolute URL in an answer begins with it; none is ever made of a
// header.
func (s *Site) Origin(r *http.Request) string {
	if origin, ok := s.public[s.host(r)]; ok {
		return origin
	}
	return s.canonical
}

// HostAllowed reports whether the request names a host of ours.
func (s *Site) HostAllowed(r *http.Request) bool { return s.hosts[s.host(r)] }

// host is the Host header in lower case, or a trusted proxy's
// X-Forwarded-Host; two of these are nobody's.
func (s *Site) host(r *http.Request) string {
	forwarded := r.Header["X-Forwarded-Host"]
	if len(forwarded) == 0 || len(s.proxies) == 0 || !s.trusts(peer(r)) {
		return strings.ToLower(r.Host)
	}
	if len(forwarded) != 1 {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(forwarded[0]))
}

// OriginAllowed reports whether the request may come from where it says: no
// Origin header (not a browser, or a page of ours opening another), or exactly
// one of the allow-list. "null" never is.
func (s *Site) OriginAllowed(r *http.Request) bool {
	origin := r.Header["Origin"]
	switch len(origin) {
	case 0:
		return true
	case 1:
		return s.origins[origin[0]] || s.origins[strings.ToLower(origin[0])]
	}
	return false
}

// OnlyOurHosts serves a request only if HostAllowed, on every route; others get
// 403 and a JSON body.
func (s *Site) OnlyOurHosts(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.HostAllowed(r) {
			refuse(w, "host_not_allowed", "This server does not answer under this host name. Its owner can add it to the public URLs.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// OnlyOurOrigins serves a request only if OriginAllowed; others get 403 and a
// JSON body. It belongs on every route that reads a cookie.
func (s *Site) OnlyOurOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.OriginAllowed(r) {
			refuse(w, "origin_not_allowed", "This server does not answer pages of this origin. Its owner can add it to the allowed origins.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers 403 with an error in the form of the owner API.
func refuse(w http.ResponseWriter, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
}

// ClientAddress is the address the request comes from: the connection's peer,
// or, behind trusted proxies, the last entry of X-Forwarded-For that none of
// them made up. The zero Addr if the peer has none.
func (s *Site) ClientAddress(r *http.Request) netip.Addr {
	client := peer(r)
	if len(s.proxies) == 0 {
		return client
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && s.trusts(client); i-- {
		hop, ok := parseHop(hops[i])
		if !ok { // whoever is known so far has to answer for it
			return client
		}
		client = hop
	}
	return client
}

func (s *Site) trusts(a netip.Addr) bool {
	for _, p := range s.proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

func parseHop(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if a, err := netip.ParseAddr(strings.Trim(hop, "[]")); err == nil {
		return a.Unmap().WithZone(""), true
	}
	if a, err := netip.ParseAddrPort(hop); err == nil {
		return a.Addr().Unmap().WithZone(""), true
	}
	return netip.Addr{}, false
}

func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// AddressKey is the key under which an address is counted by a Limiter: an IPv4
// address, or the /64 network of an IPv6 one, because one person has 2⁶⁴ of
// these.
func AddressKey(a netip.Addr) string {
	if !a.Is6() {
		return a.String()
	}
	network, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return network.String()
}
