package probe

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/guard"
)

// question is one request of a survey, asked as often as the survey repeats.
type question struct {
	what    string // in at most 28 columns
	method  string
	address string
	header  http.Header
	host    string // in place of the address's; "" keeps that
	body    []byte
	once    bool   // ask it one time only
	rpcID   string // of the JSON-RPC answer to wait for in an event stream; "" for none
}

// answer is what came back. Where nothing whole came, failure names the rule that
// this breaks and detail says how.
type answer struct {
	Exchange
	failure string
	detail  string
	stream  bool // of events
	rpcID   string
}

// asker sends questions. It follows no redirect, keeps no cookie, and reads an
// answer up to limits of size and time, because a server may never end.
type asker struct {
	client   *http.Client
	endpoint *url.URL
	header   http.Header   // for the endpoint's origin only: it may hold secrets
	timeout  time.Duration // for one exchange, body included
	public   atomic.Bool   // the endpoint has an address on the Internet
}

// maxSurveyed bounds what is read of one answer, in bytes: it is many times what a
// host could put before a model.
const maxSurveyed = 4 << 20

func newAsker(endpoint *url.URL, o SurveyOptions) *asker {
	a := &asker{endpoint: endpoint, header: o.Header, timeout: o.Timeout}
	a.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: nil, DialContext: a.dial, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.roots},
		},
	}
	return a
}

var errPrivate = errors.New("a private address")

// dial connects to the endpoint wherever it is, and from a public endpoint to
// nothing private: what a stranger's metadata names must not reach into the network
// that this runs in (RFC 9728 §7.7).
func (a *asker) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	own := strings.EqualFold(host, a.endpoint.Hostname())
	d := &net.Dialer{Control: func(_, dialled string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(dialled)
		if err == nil && !own && a.public.Load() && !guard.Global(at.Addr().Unmap()) {
			return errPrivate
		}
		return err
	}}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil || !own {
		return conn, err
	}
	if at, err := netip.ParseAddrPort(conn.RemoteAddr().String()); err == nil {
		a.public.Store(guard.Global(at.Addr().Unmap()))
	}
	return conn, nil
}

// ask sends the question one time.
func (a *asker) ask(ctx context.Context, q question) answer {
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, q.method, q.address, bytes.NewReader(q.body))
	if err != nil {
		return answer{Exchange: Exchange{What: q.what, Method: q.method}, failure: "broken-answer", detail: withoutURL(err).Error()}
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	if r.URL.Scheme == a.endpoint.Scheme && strings.EqualFold(r.URL.Host, a.endpoint.Host) {
		for name, values := range a.header {
			r.Header[name] = values
		}
	}
	if q.host != "" {
		r.Host = q.host
	}
	got := answer{Exchange: Exchange{What: q.what, Method: q.method, URL: withoutQuery(r.URL)}, rpcID: q.rpcID}
	started := time.Now()
	response, err := a.client.Do(r)
	if err != nil {
		got.Duration = time.Since(started)
		got.failure, got.detail = classify(err)
		return got
	}
	defer response.Body.Close()
	got.Status, got.Header = response.StatusCode, response.Header
	got.stream = mediaType(response.Header) == "text/event-stream"
	got.read(response.Body, q)
	got.Duration = time.Since(started)
	return got
}

// read reads the body: of an event stream, up to the answer that is waited for, or
// nothing where none is.
func (got *answer) read(body io.Reader, q question) {
	limited := &io.LimitedReader{R: body, N: maxSurveyed + 1}
	var err error
	switch {
	case got.stream && q.rpcID == "":
		return
	case got.stream:
		got.Body, err = awaitEvent(limited, q.rpcID)
	default:
		got.Body, err = io.ReadAll(limited)
	}
	switch {
	case limited.N <= 0:
		got.failure, got.detail = "huge-answer", fmt.Sprintf("more than %d MiB", maxSurveyed>>20)
	case timedOut(err):
		got.failure, got.detail = "endless-answer", fmt.Sprintf("HTTP %d, then %d bytes without an end", got.Status, len(got.Body))
	case err != nil:
		got.failure, got.detail = "broken-answer", err.Error()
	}
}

// awaitEvent reads an event stream (HTML §9.2.6) up to the event whose data is the
// JSON-RPC answer with the id.
func awaitEvent(stream io.Reader, id string) ([]byte, error) {
	lines := bufio.NewReader(stream)
	var data []byte
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimRight(line, "\r\n")
		if value, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(append(data, strings.TrimPrefix(value, " ")...), '\n')
		}
		if line == "" && answers(data, id) {
			return data, nil
		}
		if line == "" {
			data = nil
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the event stream ends without an answer")
		}
		if err != nil {
			return data, err
		}
	}
}

func answers(data []byte, id string) bool {
	var m struct {
		ID jsontext.Value `json:"id"`
	}
	return len(data) > 0 && json.Unmarshal(data, &m, lenient) == nil && string(m.ID) == id
}

// classify names the rule that a failed exchange breaks.
func classify(err error) (rule, detail string) {
	err = withoutURL(err)
	var (
		invalid *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		lookup  *net.DNSError
		dialled *net.OpError
	)
	switch {
	case errors.Is(err, errPrivate):
		return "private-address", "the server names an address of a private network"
	case errors.As(err, &invalid), errors.As(err, &record), errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return "tls", err.Error()
	case errors.As(err, &lookup), errors.As(err, &dialled) && dialled.Op == "dial":
		return "unreachable", err.Error()
	case timedOut(err):
		return "no-answer", "no status in time"
	}
	return "broken-answer", err.Error()
}

func timedOut(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

func mediaType(h http.Header) string {
	media, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return media
}

// html reports whether a page came, whatever its content type says.
func (got *answer) html() bool {
	begin := strings.ToLower(string(bytes.TrimSpace(got.Body[:min(len(got.Body), 512)])))
	return mediaType(got.Header) == "text/html" && len(begin) > 0 || strings.HasPrefix(begin, "<!doctype html") || strings.HasPrefix(begin, "<html")
}

// redirect is where the answer sends to; nil for nowhere.
func (got *answer) redirect(from string) *url.URL {
	if !slices.Contains([]int{301, 302, 303, 307, 308}, got.Status) {
		return nil
	}
	base, err := url.Parse(from)
	if err != nil {
		return nil
	}
	to, err := base.Parse(got.Header.Get("Location"))
	if err != nil || !isWeb(to) {
		return nil
	}
	return to
}

func isWeb(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// drops reports whether hosts send the request no further after the redirect
// (RFC 9110 §15.4.2 to §15.4.4).
func drops(status int) bool { return status == 301 || status == 302 || status == 303 }
