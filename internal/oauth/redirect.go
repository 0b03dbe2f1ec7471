package oauth

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	maxRedirects   = 10   // URIs a client may have
	maxRedirectLen = 2048 // bytes of each
)

// appSchemes are the private-use schemes without a dot that known hosts
// registered for themselves, with the host their callbacks have ("" is any). All
// others must be reverse domain names (RFC 8252 §7.1), which scripts and
// documents never are.
var appSchemes = map[string]string{
	"cursor":          "anysphere.cursor-mcp",
	"vscode":          "",
	"vscode-insiders": "",
}

// redirect is a redirect URI taken apart. It is only ever made by parseRedirect.
type redirect struct {
	text     string
	scheme   string
	host     string // without port and brackets
	port     string // digits, or ""
	rest     string // path and query as they stand
	loopback bool   // plain http to this computer
}

// parseRedirect takes a redirect URI apart by hand, strictly: what it lets pass
// means the same to us, to browsers and to every other URL parser. The fault, ""
// if there is none, is for who registers it.
//
// It accepts https with a host, http on loopback (RFC 8252 §7.3), and private-use
// schemes as appSchemes says.
func parseRedirect(text string) (r redirect, fault string) {
	if text == "" || len(text) > maxRedirectLen {
		return r, "must have 1 to 2048 bytes"
	}
	for i := range len(text) {
		if !uriByte(text[i]) { // RFC 3986 §2; also bytes that some parsers drop or turn
			return r, "holds a byte that no URI has"
		}
	}
	if strings.Contains(text, "#") {
		return r, "must not have a fragment" // RFC 6749 §3.1.2
	}
	if hidesControl(text) {
		return r, "holds an escape that is cut short, or of a control character"
	}
	scheme, after, ok := strings.Cut(text, ":")
	if !ok {
		return r, "must be absolute"
	}
	r = redirect{text: text, scheme: strings.ToLower(scheme)}
	authority, found := strings.CutPrefix(after, "//")
	if found {
		end := strings.IndexAny(authority, "/?")
		if end < 0 {
			end = len(authority)
		}
		authority, r.rest = authority[:end], authority[end:]
		if fault := r.authority(authority); fault != "" {
			return r, fault
		}
	} else {
		r.rest = after
	}
	if dotted(r.rest) {
		return r, "must not have a . or .. in its path"
	}
	return r, r.judge(found)
}

// uriByte reports whether RFC 3986 allows the byte in a URI.
func uriByte(b byte) bool {
	return b > ' ' && b < 0x7F && !strings.ContainsRune("\"<>\\^`{|}", rune(b))
}

// hidesControl finds escapes of control characters, and "%" that is none.
func hidesControl(text string) bool {
	for i := strings.IndexByte(text, '%'); i >= 0; {
		if len(text) < i+3 {
			return true
		}
		b, err := strconv.ParseUint(text[i+1:i+3], 16, 8)
		if err != nil || b < ' ' || b == 0x7F {
			return true
		}
		next := strings.IndexByte(text[i+3:], '%')
		if next < 0 {
			return false
		}
		i += 3 + next
	}
	return false
}

// authority takes host and port apart. What could be read as another host is
// refused: user names, escapes, numbers that some read as addresses.
func (r *redirect) authority(text string) (fault string) {
	host, port := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return "has no valid host"
		}
		address, err := netip.ParseAddr(text[1:end])
		if err != nil || !address.Is6() || address.Is4In6() || address.Zone() != "" || address.String() != text[1:end] {
			return "has no valid host"
		}
		host, port = text[1:end], text[end+1:]
		if port != "" && port[0] != ':' {
			return "has no valid host"
		}
	} else {
		if colon := strings.IndexByte(text, ':'); colon >= 0 {
			host, port = text[:colon], text[colon:]
		}
		if !hostName(host) {
			return "has no valid host" // user names end here: "@" is in no host
		}
	}
	if port != "" {
		n, err := strconv.ParseUint(port[1:], 10, 16)
		if err != nil || n == 0 || strconv.FormatUint(n, 10) != port[1:] {
			return "has no valid port"
		}
		port = port[1:]
	}
	r.host, r.port = strings.ToLower(host), port
	return ""
}

// hostName accepts names of letters, digits and hyphens, and IPv4 addresses of
// four plain numbers. A name whose last label is a number is an address to some
// (WHATWG URL, "ends in a number checker"), so it must be one.
func hostName(host string) bool {
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(strings.ToLower(label), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	last := strings.ToLower(labels[len(labels)-1])
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		address, err := netip.ParseAddr(host)
		return err == nil && address.Is4()
	}
	return len(host) <= 253
}

// dotted reports whether a segment of the path stands for this or the parent
// folder, to anyone who decodes it, or cuts it at a semicolon.
func dotted(rest string) bool {
	path, _, _ := strings.Cut(rest, "?")
	for range 2 { // escaped once, or twice
		for segment := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
			segment, _, _ = strings.Cut(segment, ";")
			if segment == "." || segment == ".." {
				return true
			}
		}
		decoded, err := url.PathUnescape(path)
		if err != nil {
			return true
		}
		path = decoded
	}
	return strings.Contains(path, "/../") || strings.HasSuffix(path, "/..")
}

// judge holds each kind of scheme to its rules.
func (r *redirect) judge(hasAuthority bool) (fault string) {
	switch r.scheme {
	case "https":
		if !hasAuthority {
			return "must name a host"
		}
		return ""
	case "http":
		if !hasAuthority || !loopbackHost(r.host) {
			return "must be https; http is for this computer only (127.0.0.1, [::1], localhost)"
		}
		r.loopback = true
		return ""
	}
	host, known := appSchemes[r.scheme]
	switch {
	case known && hasAuthority && (host == "" || r.host == host):
		return ""
	case known || !reverseDomain(r.scheme):
		return "must be https, http on loopback, or the scheme of an app, written as a domain in reverse order" // RFC 8252 §7.1
	case !hasAuthority && !strings.HasPrefix(r.rest, "/"):
		return "must have a path that begins with /"
	}
	return ""
}

func loopbackHost(host string) bool {
	if host == "localhost" || host == "::1" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Is4() && address.IsLoopback()
}

// reverseDomain accepts com.example.app.
func reverseDomain(scheme string) bool {
	labels := strings.Split(scheme, ".")
	for _, label := range labels {
		if label == "" || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return len(labels) > 1 && scheme[0] >= 'a'
}

// matches reports whether a client that registered r may use the redirect URI
// asked: byte for byte (RFC 9700 §2.1), but with any port, or none, where r is
// http on loopback, because the client learns its port late (RFC 8252 §7.3). It
// is the only matcher: at authorize, at the decision and at the token endpoint.
func (r redirect) matches(asked redirect) bool {
	if r.text == asked.text {
		return true
	}
	return r.loopback && asked.loopback && r.host == asked.host && r.rest == asked.rest
}

// allowedRedirect finds the URI that the browser is sent back to: the one asked
// for if the client registered it, or the only one registered if none was asked
// for.
func allowedRedirect(registered []string, asked string) (redirect, bool) {
	if asked == "" {
		if len(registered) != 1 {
			return redirect{}, false
		}
		asked = registered[0]
	}
	r, fault := parseRedirect(asked)
	if fault != "" {
		return redirect{}, false
	}
	ok := slices.ContainsFunc(registered, func(text string) bool {
		known, fault := parseRedirect(text)
		return fault == "" && known.matches(r)
	})
	return r, ok
}

// destination describes the redirect to a person.
func (r redirect) destination() Destination {
	host := r.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if r.port != "" {
		host += ":" + r.port
	}
	if r.scheme == "https" || r.loopback {
		return Destination{Host: host, Loopback: r.loopback || loopbackHost(r.host), Source: r.scheme + "://" + host}
	}
	name := r.scheme + ":"
	if host != "" {
		name += "//" + host
	}
	return Destination{Host: name, App: true, Source: r.scheme + ":"}
}

// with adds parameters to the redirect URI and keeps those it has (RFC 6749
// §3.1.2). A parameter of ours that it has already would be there twice, and is
// taken out.
func (r redirect) with(parameters ...string) string {
	base, query, _ := strings.Cut(r.text, "?")
	var kept []string
	for part := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(part, "=")
		decoded, err := url.QueryUnescape(name)
		if part != "" && (err != nil || !slices.Contains(answerNames, decoded)) {
			kept = append(kept, part)
		}
	}
	for i := 0; i < len(parameters); i += 2 {
		kept = append(kept, parameters[i]+"="+url.QueryEscape(parameters[i+1]))
	}
	return base + "?" + strings.Join(kept, "&")
}

// answerNames are the parameters of authorization responses (RFC 6749 §4.1.2,
// RFC 9207 §2).
var answerNames = []string{"code", "state", "iss", "error", "error_description", "error_uri"}
