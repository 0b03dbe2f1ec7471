package probe

import (
	"net/http"
	"strings"
)

// Challenge is what a WWW-Authenticate header asks for (RFC 6750 §3, RFC 9728
// §5.1).
type Challenge struct {
	ResourceMetadata string
	Scope            string
	Error            string
	Description      string
}

// ParseChallenge reads the first Bearer challenge of a header, which may hold
// challenges of other schemes too (RFC 9110 §11.6.1); ok is false if there is none.
func ParseChallenge(header string) (c Challenge, ok bool) {
	for rest := header; rest != ""; {
		var word, value string
		var pair bool
		word, value, pair, rest = nextParameter(rest)
		switch {
		case word == "":
		case !pair && ok:
			return c, true // the next challenge begins
		case !pair:
			ok = strings.EqualFold(word, "Bearer")
		case ok:
			c.set(strings.ToLower(word), value)
		}
	}
	return c, ok
}

func (c *Challenge) set(name, value string) {
	switch name {
	case "resource_metadata":
		c.ResourceMetadata = value
	case "scope":
		c.Scope = value
	case "error":
		c.Error = value
	case "error_description":
		c.Description = value
	}
}

// nextParameter takes a scheme, or a parameter with its value, off the front.
func nextParameter(s string) (word, value string, pair bool, rest string) {
	s = strings.TrimLeft(s, " \t,")
	end := strings.IndexAny(s, " \t,=")
	if end < 0 {
		return s, "", false, ""
	}
	word, rest = s[:end], strings.TrimLeft(s[end:], " \t")
	if !strings.HasPrefix(rest, "=") {
		return word, "", false, rest
	}
	value, rest = parameterValue(strings.TrimLeft(rest[1:], " \t"))
	return word, value, true, rest
}

// parameterValue is a token or a quoted string (RFC 9110 §5.6.4) off the front.
func parameterValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, " \t,")
		if end < 0 {
			return s, ""
		}
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// bearer is the Bearer challenge of an answer, in whichever of its headers.
func bearer(h http.Header) (c Challenge, ok bool) {
	for _, header := range h.Values("WWW-Authenticate") {
		if c, ok = ParseChallenge(header); ok {
			return c, true
		}
	}
	return c, false
}
