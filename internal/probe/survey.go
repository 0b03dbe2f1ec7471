package probe

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/chart"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// SurveyOptions say how to look at a server. The zero value asks each question five
// times and registers nothing.
type SurveyOptions struct {
	Repeat   int           // how often each question is asked; 0 is 5
	Timeout  time.Duration // for one exchange; 0 is 10 s
	Header   http.Header   // sent to the endpoint's origin, for a server behind something
	Register bool          // register a client, and try the endpoints that need one
	Only     []string      // count the tokens of these tools apart
	Progress func(done, all int, next string)

	roots *x509.CertPool // nil is the system's
	slow  time.Duration  // when a median is slow; 0 is 2 s
}

// Report is what a host sees of a server before anybody signs in.
type Report struct {
	Endpoint     string     `json:"endpoint"`         // without its query
	Probed       string     `json:"probed,omitempty"` // where redirects led, if anywhere
	Access       Access     `json:"access"`
	Server       string     `json:"server,omitempty"`   // name and version, by its own account
	Versions     []string   `json:"versions,omitempty"` // of the protocol
	Issuer       string     `json:"issuer,omitempty"`
	Scopes       []string   `json:"scopes,omitempty"` // that the challenge names, else the metadata
	Instructions string     `json:"instructions,omitempty"`
	Rows         []Row      `json:"rows"`
	Catalogue    *Catalogue `json:"catalogue,omitempty"` // nil where the list needs a token
	Findings     []Finding  `json:"findings"`
}

// Access is what a caller without a token may do.
type Access string

// What a caller without a token may do.
const (
	Open    Access = "open"    // call tools
	Listed  Access = "listed"  // see the tools, and sign in to call
	Closed  Access = "closed"  // nothing before signing in
	Unknown Access = "unknown" // nobody gets that far
)

// Row is one question and what came back. Latencies run from sending to the last
// byte, the first one of a server with connecting; quantiles are by nearest rank, so
// of few answers the p90 is the slowest.
type Row struct {
	Asked     string          `json:"asked"`
	Method    string          `json:"method"`
	URL       string          `json:"url"`    // without query
	Status    int             `json:"status"` // of the first answer; 0 for none
	MedianMS  float64         `json:"median_ms"`
	P90MS     float64         `json:"p90_ms"`
	Bytes     int             `json:"bytes"` // of the first answer's body
	CameBack  string          `json:"came_back"`
	Latencies []time.Duration `json:"-"`
}

// survey is one look at one server.
type survey struct {
	asker    *asker
	o        SurveyOptions
	endpoint *url.URL
	report   *Report
	session  string // Mcp-Session-Id that the server gave
	nextID   int
	spoken   string // 2025 version that was agreed on

	discovered, initialized, listed, called answer
	challenge                               Challenge
	resource                                Resource
	server                                  AuthorizationServer
	serverFound                             bool
}

// usualQuestions is how many questions a survey asks, about; for progress alone.
const usualQuestions = 27

// Survey looks at the MCP server at the address: what it answers before sign-in,
// how fast, which tools it lists, and what is wrong with it. It calls at most one
// tool, one that says it only reads, or one that cannot exist. Whatever the server
// does is a finding; an error means that the address is none, or that ctx ended.
func Survey(ctx context.Context, endpoint string, o SurveyOptions) (*Report, error) {
	at, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("the address is none: %w", withoutURL(err))
	}
	if !isWeb(at) || at.User != nil || at.Fragment != "" {
		return nil, errors.New("the address must begin with http:// or https://, without user and fragment")
	}
	if o.Repeat < 1 {
		o.Repeat = 5
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.slow == 0 {
		o.slow = 2 * time.Second
	}
	s := &survey{asker: newAsker(at, o), o: o, endpoint: at, report: &Report{Endpoint: shown(at), Access: Unknown}}
	defer s.asker.client.CloseIdleConnections()
	s.walk(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	sortFindings(s.report.Findings)
	return s.report, nil
}

// walk asks everything in the order of a host.
func (s *survey) walk(ctx context.Context) {
	s.judgeScheme()
	if !s.reach(ctx) {
		return
	}
	s.meet(ctx)
	if !s.silent() {
		s.tools(ctx)
		s.methods(ctx)
		s.variants(ctx)
	}
	s.metadata(ctx)
	if s.o.Register {
		s.register(ctx)
	}
	s.judgeAccess()
	s.leave(ctx)
}

// silent reports whether the endpoint left both questions of a beginning host
// without an answer: waiting for more of the same tells nothing.
func (s *survey) silent() bool {
	return s.discovered.failure == "no-answer" && s.initialized.failure == "no-answer"
}

func (s *survey) find(id, format string, seen ...any) {
	found := newFinding(id, format, seen...)
	for i, f := range s.report.Findings {
		if f.ID != id {
			continue
		}
		if !strings.Contains(f.Detail, found.Detail) && len(f.Detail) < 300 {
			s.report.Findings[i].Detail += "; " + found.Detail
		}
		return
	}
	s.report.Findings = append(s.report.Findings, found)
}

// ask asks the question as often as the survey repeats, notes the row, and returns
// the first answer. It stops early after a failure or a limit.
func (s *survey) ask(ctx context.Context, q question) answer {
	if s.o.Progress != nil {
		done := len(s.report.Rows)
		s.o.Progress(done, max(usualQuestions, done+1), q.what)
	}
	repeat := s.o.Repeat
	if q.once {
		repeat = 1
	}
	var first answer
	row := Row{Asked: q.what, Method: q.method}
	for i := range repeat {
		got := s.asker.ask(ctx, q)
		if i == 0 {
			first = got
		}
		if got.failure != "" && ctx.Err() == nil && !s.mayBreak(got) {
			s.find(got.failure, "%s: %s", q.what, got.detail)
		}
		if got.Status != 0 {
			row.Latencies = append(row.Latencies, got.Duration)
		}
		if got.Status == http.StatusTooManyRequests {
			s.find("rate-limited", "%s: HTTP 429 at request %d", q.what, i+1)
			break
		}
		if got.Status != first.Status && got.failure == "" {
			s.find("unsteady", "%s: HTTP %d, then %d", q.what, first.Status, got.Status)
		}
		if got.failure != "" || ctx.Err() != nil {
			break
		}
	}
	s.note(row, first)
	return first
}

// note adds the row and what any answer shows.
func (s *survey) note(row Row, first answer) {
	row.URL, row.Status, row.Bytes, row.CameBack = first.URL, first.Status, len(first.Body), first.describe()
	row.MedianMS, row.P90MS = row.quantile(0.5), row.quantile(0.9)
	s.report.Rows = append(s.report.Rows, row)
	if median := (chart.Series{Latencies: row.Latencies}).Quantile(0.5); median > s.o.slow {
		s.find("slow", "%s: %s", row.Asked, chart.Duration(median))
	}
	if first.Status >= 500 && first.failure == "" && !s.mayFail(first) {
		s.find("server-error", "%s: HTTP %d", row.Asked, first.Status)
	}
}

func (r Row) quantile(q float64) (milliseconds float64) {
	return float64(chart.Series{Latencies: r.Latencies}.Quantile(q)) / float64(time.Millisecond)
}

// mayBreak reports whether the failure is judged elsewhere: silence at
// server/discover costs hosts seconds, and a broken answer there nothing.
func (s *survey) mayBreak(got answer) bool {
	return strings.HasPrefix(got.What, "server/discover") && !slices.Contains([]string{"unreachable", "tls", "private-address", "huge-answer"}, got.failure)
}

// mayFail reports whether an error of the server says only that it does not know
// what was asked: hosts go on from such an answer to server/discover, and guess
// where well-known documents are.
func (s *survey) mayFail(first answer) bool {
	return strings.HasPrefix(first.What, "server/discover") || first.Status == http.StatusNotImplemented
}

// local reports whether the endpoint is on this machine or its network.
func (s *survey) local() bool {
	host := s.endpoint.Hostname()
	at, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && !guard.Global(at.Unmap())
}

// shown is an address in a report, which people pass on: a query may hold a key.
func shown(u *url.URL) string {
	if u.RawQuery != "" {
		return withoutQuery(u) + "?…"
	}
	return withoutQuery(u)
}

func (s *survey) judgeScheme() {
	if s.endpoint.Scheme == "http" && !s.local() {
		s.find("plain-http", "%s", shown(s.endpoint))
	}
}

// reach asks the first question of a host and follows a redirect of it, on the same
// host name. It reports whether there is a server to go on with.
func (s *survey) reach(ctx context.Context) bool {
	for range 3 {
		s.discovered = s.ask(ctx, s.modern("server/discover", "", nil))
		to := s.discovered.redirect(s.endpoint.String())
		if to == nil {
			break
		}
		rule := "redirect-kept"
		if drops(s.discovered.Status) {
			rule = "redirect"
		}
		s.find(rule, "HTTP %d to %s", s.discovered.Status, withoutQuery(to))
		clear := s.endpoint.Scheme == "https" && to.Scheme != "https" // what Header holds must not travel so
		if clear || to.Hostname() != s.endpoint.Hostname() || to.String() == s.endpoint.String() {
			return false
		}
		s.endpoint, s.asker.endpoint, s.report.Probed = to, to, shown(to)
	}
	switch s.discovered.failure {
	case "unreachable", "tls", "private-address":
		return false
	case "no-answer", "endless-answer":
		s.find("discover-hangs", "server/discover: %s", s.discovered.detail)
	}
	return ctx.Err() == nil
}

// leave ends a session that the server keeps (Streamable HTTP, Session Management).
func (s *survey) leave(ctx context.Context) {
	if s.session != "" {
		s.asker.ask(ctx, question{what: "end the session", method: http.MethodDelete, address: s.endpoint.String(), header: s.legacyHeader()})
	}
}
