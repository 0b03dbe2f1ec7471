package web

import (
	"net/netip"
	"net/url"
	"strings"
)

// runsInPage reports whether an address of this scheme would run or show
// something as ours. No assistant can register one (RFC 8252 §7.1); a page does
// not offer one even so.
func runsInPage(address string) bool {
	scheme, _, ok := strings.Cut(address, ":")
	if !ok {
		return true
	}
	switch strings.ToLower(scheme) {
	case "javascript", "data", "vbscript", "blob", "filesystem", "file", "about", "view-source":
		return true
	}
	return false
}

// maxNext is how many bytes of an address to go on to are carried along.
const maxNext = 4096

// ownPath is the address next if it is a path of this server, and "/" otherwise.
// It accepts nothing that a browser could read as another site: neither a second
// slash or a backslash at the start (WHATWG URL, "special authority slashes
// state"), nor control characters, which browsers drop before they look.
func ownPath(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) {
		return "/"
	}
	u, err := url.Parse(next) // which refuses control characters
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil {
		return "/"
	}
	return next
}

// local reports whether assistants that run in the cloud cannot reach this
// origin: it is plain http, or a name or address of a private network.
func local(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "https" {
		return true
	}
	host := u.Hostname()
	if address, err := netip.ParseAddr(host); err == nil {
		return !address.IsGlobalUnicast() || address.IsPrivate()
	}
	for _, suffix := range []string{"localhost", "local", "internal", "lan", "home.arpa", "test"} {
		if host == suffix || strings.HasSuffix(host, "."+suffix) {
			return true
		}
	}
	return !strings.Contains(host, ".")
}
