package probe

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// methods asks the endpoint by GET, HEAD and OPTIONS.
func (s *survey) methods(ctx context.Context) {
	address := s.endpoint.String()
	header := s.legacyHeader()
	header.Set("Accept", "text/event-stream")
	get := s.ask(ctx, question{what: "GET", method: http.MethodGet, address: address, header: header})
	head := s.ask(ctx, question{what: "HEAD", method: http.MethodHead, address: address, header: s.legacyHeader()})
	options := s.ask(ctx, question{what: "OPTIONS", method: http.MethodOptions, address: address, header: http.Header{
		"Origin": {s.origin()}, "Access-Control-Request-Method": {http.MethodPost},
		"Access-Control-Request-Headers": {"authorization,content-type,mcp-protocol-version"},
	}})
	closed := s.initialized.Status == http.StatusUnauthorized
	if closed && get.failure == "" && get.Status != http.StatusUnauthorized {
		s.find("get-no-challenge", "HTTP %d", get.Status)
	}
	if closed && head.failure == "" && head.Status != http.StatusUnauthorized {
		s.find("head-no-challenge", "HTTP %d", head.Status)
	}
	if !closed && get.Status == http.StatusOK && get.failure == "" && !get.stream {
		s.find("get-no-stream", "%s", mediaType(get.Header))
	}
	if options.failure == "" && (options.Status >= 300 || options.Header.Get("Access-Control-Allow-Origin") == "") {
		s.find("preflight-refused", "HTTP %d, Access-Control-Allow-Origin %q", options.Status, options.Header.Get("Access-Control-Allow-Origin"))
	}
}

// origin is the endpoint's own: a server may refuse others.
func (s *survey) origin() string { return s.endpoint.Scheme + "://" + s.endpoint.Host }

// variants asks initialize once in each odd way that real hosts and attackers have.
func (s *survey) variants(ctx context.Context) {
	if s.initialized.failure != "" || s.initialized.Status == 0 {
		return
	}
	for _, accept := range [][2]string{{"*/*", "any"}, {"application/json", "JSON"}, {"text/event-stream", "events"}, {"", "none"}} {
		got := s.variant(ctx, "Accept "+accept[1], func(q *question) {
			q.header.Set("Accept", accept[0])
			if accept[0] == "" {
				q.header.Del("Accept")
			}
		})
		if got.failure == "" && got.Status != s.initialized.Status && got.Status != http.StatusTooManyRequests {
			s.find("accept-refused", "Accept %q: HTTP %d", accept[0], got.Status)
		}
	}
	s.slash(ctx)
	s.strangers(ctx)
}

func (s *survey) variant(ctx context.Context, how string, change func(*question)) answer {
	q := s.initialize("initialize, " + how)
	q.once = true
	change(&q)
	got := s.ask(ctx, q)
	if session := got.Header.Get("Mcp-Session-Id"); session != "" {
		header := http.Header{"Mcp-Session-Id": {session}}
		s.asker.ask(ctx, question{what: "end the session", method: http.MethodDelete, address: s.endpoint.String(), header: header})
	}
	return got
}

// slash asks at the address with a slash at its end more, or less.
func (s *survey) slash(ctx context.Context) {
	other := *s.endpoint
	other.RawPath = ""
	if other.Path = strings.TrimSuffix(s.endpoint.Path, "/"); other.Path == s.endpoint.Path {
		other.Path += "/"
	}
	if len(other.Path) < 2 {
		return // the root has one form
	}
	got := s.variant(ctx, "other slash", func(q *question) { q.address = other.String() })
	if got.failure == "" && drops(got.Status) {
		s.find("slash-redirect", "HTTP %d at %s", got.Status, other.Path)
	}
}

// strangers asks as a page of another site would, by its Origin and after DNS
// rebinding by its Host.
func (s *survey) strangers(ctx context.Context) {
	if !s.local() {
		return // no rebinding reaches a public server that is not reached without it
	}
	served := func(got answer) bool {
		return got.failure == "" && got.Status == http.StatusOK && s.initialized.Status == http.StatusOK
	}
	got := s.variant(ctx, "foreign Origin", func(q *question) { q.header.Set("Origin", "https://attacker.example") })
	if served(got) {
		s.find("origin-unchecked", "initialize with Origin https://attacker.example: HTTP 200")
	}
	got = s.variant(ctx, "foreign Host", func(q *question) { q.host = "attacker.example" })
	if served(got) {
		s.find("host-unchecked", "initialize with Host attacker.example: HTTP 200")
	}
}

// judgeAccess says what a caller without a token may do, from all that was seen.
func (s *survey) judgeAccess() {
	ran := s.called.failure == "" && s.called.Status == http.StatusOK && !signInAsked(&s.called)
	switch {
	case s.initialized.Status == http.StatusUnauthorized || s.initialized.Status == http.StatusForbidden:
		s.report.Access = Closed
	case s.report.Catalogue == nil && s.listed.Status == http.StatusUnauthorized:
		s.report.Access = Closed
	case s.report.Catalogue == nil:
		s.report.Access = Unknown
	case ran:
		s.report.Access = Open
	default:
		s.report.Access = Listed
	}
	if s.report.Access != Open {
		return
	}
	result, ok := s.called.message()
	i := slices.IndexFunc(s.report.Catalogue.Tools, func(t Tool) bool { return t.Name == s.harmless() && len(t.Scopes) > 0 })
	switch {
	case i >= 0 && ok && result.Error == nil && s.o.Header.Get("Authorization") == "":
		s.find("call-without-token", "%s ran", s.harmless())
	case s.serverFound && s.o.Header.Get("Authorization") == "":
		s.find("open-beside-oauth", "metadata of %s", shorten([]byte(s.server.Issuer)))
	}
}

// signInAsked reports whether the result itself asks to sign in, as ChatGPT wants it.
func signInAsked(got *answer) bool {
	m, ok := got.message()
	return ok && strings.Contains(string(m.Result), `"mcp/www_authenticate"`)
}
