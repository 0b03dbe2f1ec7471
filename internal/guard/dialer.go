package guard

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// special are the blocks that IANA's special-purpose address registries (RFC
// 6890, as of 2026) do not call globally reachable, multicast, and the ways into
// IPv4 from IPv6, which would hide the address behind them. For IPv6 these are
// exceptions from 2000::/3; everything outside of that is not global anyway.
var special = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // shared by carriers
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local, cloud metadata
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, broadcast
	"2001::/23",       // protocol assignments: Teredo, ORCHID, benchmarks
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4
	"3fff::/20",       // documentation
)

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")

	// ErrNotAllowed is wrapped by what a client says of an address that it does not
	// speak to, whoever asks and however often.
	ErrNotAllowed = errors.New("not allowed")
	// ErrTooLarge is what reading an answer ends with at ClientConfig.MaxBody.
	ErrTooLarge = errors.New("the answer is too large")

	errNotHTTPS  = fmt.Errorf("%w: only https is fetched", ErrNotAllowed)
	errNoAddress = errors.New("the host has no address")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// Global reports whether the address lies in globally reachable unicast space.
// It is a list of what is allowed: an address nobody has thought of is not. An
// IPv4 address written as IPv6 is not, whatever it is.
func Global(a netip.Addr) bool {
	// No prefix contains an address with a zone, nor 2000::/3 one of IPv4.
	if !a.IsValid() || a.Is6() && !globalIPv6.Contains(a) {
		return false
	}
	for _, p := range special {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Resolver finds the addresses of a host name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// ClientConfig is what NewClient can be told; the zero value is right for use.
type ClientConfig struct {
	// Timeout is for the whole exchange, name lookup and body included; 0 is 3 s.
	Timeout time.Duration
	// MaxBody is how many bytes of an answer can be read; 0 is 5 KiB.
	MaxBody int64
	// Resolver is net.DefaultResolver if nil.
	Resolver Resolver
	// Roots are the authorities that certificates are verified against; nil is the
	// system's.
	Roots *x509.CertPool
	// AllowHosts are the servers of the operator's own network that may be spoken to
	// besides the public internet: each a host and port exactly as in the URL, such
	// as "127.0.0.1:11434" or "models.lan:8000", the port spelled out. These, and no
	// others, may have private or loopback addresses and speak plain http. Link-local
	// addresses, where clouds serve their secrets, stay out of reach.
	AllowHosts []string
	// Allowed replaces Global, so that tests can serve on loopback. Nil in use.
	Allowed func(netip.Addr) bool
}

// shared is what carriers and overlay networks number their own hosts from (RFC
// 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

// own reports whether a listed server may have the address.
func own(a netip.Addr) bool {
	return a.IsValid() && !a.Is4In6() && a.Zone() == "" && (a.IsPrivate() || a.IsLoopback() || shared.Contains(a))
}

// listed are servers by host and port, in lower case.
type listed map[string]bool

func listHosts(hosts []string) listed {
	l := listed{}
	for _, h := range hosts {
		l[strings.ToLower(h)] = true
	}
	return l
}

func (l listed) has(hostPort string) bool { return l[strings.ToLower(hostPort)] }

// NewClient makes the HTTP client for addresses that somebody else chose
// (server-side request forgery: OWASP ASVS 1.3.6). It speaks https only, with
// verified certificates; looks the name up once and refuses unless every
// address is Global, for both of which c.AllowHosts makes exceptions; connects to an address it has checked and no other; uses
// no proxy; hands a redirect back to the caller instead of following it; and
// ends by time and size.
//
// An answer larger than MaxBody fails while it is read. Redirects arrive as
// their 3xx status.
func NewClient(c ClientConfig) *http.Client {
	if c.Timeout == 0 {
		c.Timeout = 3 * time.Second
	}
	if c.MaxBody == 0 {
		c.MaxBody = 5 << 10
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Allowed == nil {
		c.Allowed = Global
	}
	hosts := listHosts(c.AllowHosts)
	dial := &dialer{resolver: c.Resolver, allowed: c.Allowed, hosts: hosts, limit: min(c.Timeout, longestDial)}
	return &http.Client{
		Timeout: c.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
		Transport: &guarded{maxBody: c.MaxBody, hosts: hosts, transport: &http.Transport{
			Proxy:                  nil, // nothing from the environment either
			DialContext:            dial.dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.Roots},
			DisableCompression:     true, // a small answer could become a large one
			DisableKeepAlives:      true, // each exchange is checked
			MaxResponseHeaderBytes: 32 << 10,
		}},
	}
}

// guarded holds each exchange to https and the size of its answer.
type guarded struct {
	transport *http.Transport
	maxBody   int64
	hosts     listed
}

// speaks reports whether the client speaks to the URL's scheme and host at all.
func (g *guarded) speaks(u *url.URL) bool {
	if u.User != nil || u.Hostname() == "" {
		return false
	}
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return u.Scheme == "https" || u.Scheme == "http" && g.hosts.has(net.JoinHostPort(u.Hostname(), port))
}

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if !g.speaks(r.URL) {
		if r.Body != nil {
			r.Body.Close() // http.RoundTripper promises it
		}
		return nil, errNotHTTPS
	}
	answer, err := g.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.ContentLength > g.maxBody {
		answer.Body.Close()
		return nil, ErrTooLarge
	}
	answer.Body = &capped{body: answer.Body, left: g.maxBody}
	return answer, nil
}

// capped is a body that fails, instead of ending, when it is too long.
type capped struct {
	body io.ReadCloser
	left int64
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > c.left+1 { // one more, to see whether there is one
		p = p[:c.left+1]
	}
	n, err := c.body.Read(p)
	c.left -= int64(n)
	if c.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

func (c *capped) Close() error { return c.body.Close() }

// longestDial ends attempts to connect that nobody waits for any more: net/http
// goes on with them when the request has ended.
const longestDial = 30 * time.Second

type dialer struct {
	resolver Resolver
	allowed  func(netip.Addr) bool
	hosts    listed
	limit    time.Duration
}

// dial looks the host up once, and connects to the first address that answers.
func (d *dialer) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.limit)
	defer cancel()
	host, port, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	addresses, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	allowed := d.allowed
	if d.hosts.has(hostPort) {
		allowed = func(a netip.Addr) bool { return own(a) || d.allowed(a) }
	}
	for _, a := range addresses {
		if !allowed(a) { // one bad address condemns the name: rebinding mixes them
			return nil, fmt.Errorf("%w: %s has the address %s, which is not on the public internet", ErrNotAllowed, host, a)
		}
	}
	connect := net.Dialer{Control: judge(allowed)}
	for _, a := range addresses {
		var conn net.Conn
		if conn, err = connect.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			return conn, nil
		}
	}
	return nil, err
}

func (d *dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addresses, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	if len(addresses) == 0 {
		return nil, errNoAddress
	}
	if d.resolver == Resolver(net.DefaultResolver) {
		// It writes the addresses of A records as IPv6 on some systems. What lies
		// behind is judged and dialled.
		for i, a := range addresses {
			addresses[i] = a.Unmap()
		}
	}
	return addresses, nil
}

// judge judges the address once more, as the kernel will be told it.
func judge(allowed func(netip.Addr) bool) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !allowed(to.Addr()) {
			return fmt.Errorf("%w: %s is not on the public internet", ErrNotAllowed, address)
		}
		return nil
	}
}
