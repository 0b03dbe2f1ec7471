package access

import "strings"

// Scopes is a set of OAuth scopes (RFC 6749 §3.3). The zero value is empty.
type Scopes uint8

// The four scopes of osFoundry, fixed when a token is minted.
const (
	ScopeRead   Scopes = 1 << iota // osfoundry:read, always granted
	ScopeWrite                     // osfoundry:write
	ScopeRun                       // osfoundry:run
	ScopeModels                    // osfoundry:models

	// AllScopes is every scope there is.
	AllScopes = ScopeRead | ScopeWrite | ScopeRun | ScopeModels
)

var scopeNames = [...]string{"osfoundry:read", "osfoundry:write", "osfoundry:run", "osfoundry:models"}

// ParseScopes reads a space-delimited scope parameter. Unknown names are
// dropped and returned, because five of seven hosts ask for scopes of others
// and fail when one is refused (protocol.md §2).
func ParseScopes(s string) (set Scopes, unknown []string) {
next:
	for name := range strings.FieldsSeq(s) {
		for i, known := range scopeNames {
			if name == known {
				set |= 1 << i
				continue next
			}
		}
		unknown = append(unknown, name)
	}
	return set, unknown
}

// Has reports whether every scope of need is in s.
func (s Scopes) Has(need Scopes) bool { return s&need == need }

// Names lists the scopes in their fixed order, never nil.
func (s Scopes) Names() []string {
	names := make([]string, 0, len(scopeNames))
	for i, name := range scopeNames {
		if s&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// String is the space-delimited form of RFC 6749 §3.3, in a fixed order.
func (s Scopes) String() string { return strings.Join(s.Names(), " ") }
