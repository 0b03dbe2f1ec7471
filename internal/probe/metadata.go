package probe

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// document is an answer that should be metadata.
type document struct {
	answer
	place string // in words
	at    string // the address
	found bool   // it is a JSON object with status 200
}

// metadata asks for the documents that lead to a sign-in, at every place that a
// host looks.
func (s *survey) metadata(ctx context.Context) {
	needed := s.judgeChallenges()
	issuer := s.origin()
	if found := s.resourceMetadata(ctx, needed); found {
		if len(s.resource.AuthorizationServers) == 0 {
			s.find("authorization-servers-missing", "the metadata of %s", s.resource.Resource)
		} else {
			issuer = s.resource.AuthorizationServers[0]
			needed = true
		}
	}
	s.serverMetadata(ctx, issuer, needed)
	s.report.Scopes = strings.Fields(s.challenge.Scope)
	if len(s.report.Scopes) == 0 {
		s.report.Scopes = s.resource.ScopesSupported
	}
	if needed && len(s.report.Scopes)+len(s.server.ScopesSupported) == 0 {
		s.find("no-scopes", "neither the challenge nor metadata names one")
	}
}

// judgeChallenges looks at every 401 and reports whether there is one. Each must
// carry the whole challenge: no host keeps the first.
func (s *survey) judgeChallenges() (needed bool) {
	for _, got := range []*answer{&s.initialized, &s.listed, &s.called, &s.discovered} {
		if got.Status != http.StatusUnauthorized && got.Status != http.StatusForbidden || got.failure != "" {
			continue
		}
		needed = true
		c, ok := bearer(got.Header)
		switch {
		case got.Status == http.StatusForbidden && !ok:
		case !ok:
			s.find("challenge-missing", "%s: WWW-Authenticate %q", got.What, got.Header.Get("WWW-Authenticate"))
		case c.ResourceMetadata == "":
			s.find("challenge-bare", "%s: WWW-Authenticate %q", got.What, got.Header.Get("WWW-Authenticate"))
		}
		if s.challenge.ResourceMetadata == "" && ok {
			s.challenge = c
		}
	}
	return needed
}

// wellKnown is the well-known address at the origin of u with the path inserted
// (RFC 8414 §3.1, RFC 9728 §3.1).
func wellKnown(u *url.URL, name, path string) string {
	return u.Scheme + "://" + u.Host + "/.well-known/" + name + strings.TrimSuffix(path, "/")
}

// place is one address where a document may be.
type place struct{ name, address string }

// resourcePlaces are where hosts look for the resource's metadata, in their order.
func (s *survey) resourcePlaces() (places []place) {
	path := strings.TrimSuffix(s.endpoint.EscapedPath(), "/")
	if named := s.challenge.ResourceMetadata; named != "" {
		u, err := url.Parse(named)
		if err != nil || !isWeb(u) {
			s.find("challenge-relative", "resource_metadata is %q", named)
		} else {
			places = append(places, place{"named", named})
		}
	}
	if path != "" {
		places = append(places, place{"path", wellKnown(s.endpoint, "oauth-protected-resource", path)})
	}
	places = append(places, place{"root", wellKnown(s.endpoint, "oauth-protected-resource", "")})
	if path != "" {
		places = append(places, place{"prefixed", s.origin() + path + "/.well-known/oauth-protected-resource"})
	}
	return places
}

// resourceMetadata asks at each place and takes the first that is there.
func (s *survey) resourceMetadata(ctx context.Context, needed bool) (found bool) {
	var first Resource
	asked := map[string]bool{}
	for _, p := range s.resourcePlaces() {
		if asked[p.address] {
			continue
		}
		asked[p.address] = true
		d := s.document(ctx, "resource metadata, ", p)
		if p.name == "named" && !d.found && d.failure == "" && !d.html() && d.redirect(p.address) == nil {
			s.find("challenge-dead", "%s: HTTP %d", p.address, d.Status)
		}
		var r Resource
		if !d.found || !s.decode(d, &r) {
			continue
		}
		if !found {
			found, first = true, r
			s.judgeResource(ctx, d, r)
		} else if p.name == "path" && r.Resource != first.Resource {
			s.find("twins-differ", "resource is %q where the challenge says, %q by path", first.Resource, r.Resource)
		}
	}
	s.resource = first
	if needed && !found {
		s.find("resource-metadata-missing", "not at %s", wellKnown(s.endpoint, "oauth-protected-resource", s.endpoint.EscapedPath()))
	}
	return found
}

func (s *survey) judgeResource(ctx context.Context, d document, r Resource) {
	s.judgeCORS(ctx, d)
	typed := *s.endpoint
	typed.RawQuery = ""
	want := canonical(strings.TrimSuffix(typed.String(), "/"))
	got := canonical(r.Resource)
	switch {
	case got == want, got == canonical(typed.String()):
	case strings.TrimSuffix(typed.Path, "/") == "" && got == want+"/":
	case got != "" && strings.HasPrefix(want, strings.TrimSuffix(got, "/")+"/"):
		s.find("resource-is-origin", "resource is %q, the address is %q", r.Resource, want)
	default:
		s.find("resource-mismatch", "resource is %q, the address is %q", r.Resource, want)
	}
}

// canonical drops what makes no difference between two addresses: the case of the
// host and the default port (RFC 3986 §6.2.2, §6.2.3).
func canonical(address string) string {
	u, err := url.Parse(address)
	if err != nil || !isWeb(u) {
		return address
	}
	u.Host = strings.ToLower(u.Host)
	for scheme, port := range map[string]string{"http": ":80", "https": ":443"} {
		if u.Scheme == scheme {
			u.Host = strings.TrimSuffix(u.Host, port)
		}
	}
	return u.String()
}

// document asks for one document and judges what any metadata must be.
func (s *survey) document(ctx context.Context, kind string, p place) document {
	got := s.ask(ctx, question{what: kind + p.name, method: http.MethodGet, address: p.address, header: http.Header{"Accept": {"application/json"}}})
	d := document{answer: got, place: kind + p.name, at: p.address}
	switch {
	case got.failure != "":
	case got.redirect(p.address) != nil:
		s.find("metadata-redirects", "%s: HTTP %d", d.place, got.Status)
	case got.Status != http.StatusOK:
	case got.html():
		s.find("metadata-html", "%s", d.place)
	case jsontext.Value(got.Body).Kind() != '{' || !jsontext.Value(got.Body).IsValid(lenient):
		s.find("metadata-not-json", "%s: %s", d.place, shorten(got.Body))
	default:
		d.found = true
		s.judgeMembers("metadata-null", d.place, got.Body)
		if !strings.HasSuffix(mediaType(got.Header), "json") {
			s.find("metadata-type", "%s: %q", d.place, got.Header.Get("Content-Type"))
		}
	}
	return d
}

// judgeMembers finds members of an OAuth answer that strict readers refuse.
func (s *survey) judgeMembers(rule, what string, body []byte) {
	if bad := emptyMembers(body); len(bad) > 0 {
		s.find(rule, "%s: %s", what, strings.Join(bad, ", "))
	}
}

// emptyMembers are the names of members that are null or "".
func emptyMembers(body []byte) (bad []string) {
	var members map[string]jsontext.Value
	if err := json.Unmarshal(body, &members, lenient); err != nil {
		return nil
	}
	for name, value := range members {
		if text := string(value); text == "null" || text == `""` {
			bad = append(bad, name)
		}
	}
	slices.Sort(bad)
	return bad
}

func (s *survey) decode(d document, v any) bool {
	if err := json.Unmarshal(d.Body, v, lenient); err != nil {
		s.find("metadata-shape", "%s: %v", d.place, err)
		return false
	}
	return true
}

// judgeCORS asks once more, as a page of another site.
func (s *survey) judgeCORS(ctx context.Context, d document) {
	got := s.asker.ask(ctx, question{what: d.place, method: http.MethodGet, address: d.at, header: http.Header{"Origin": {"http://localhost:6274"}}})
	if got.failure == "" && got.Header.Get("Access-Control-Allow-Origin") == "" {
		s.find("metadata-cors", "%s", d.place)
	}
}
