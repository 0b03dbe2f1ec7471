package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// maxAnswer bounds what is read of an answer, in bytes; a server may not end.
const maxAnswer = 8 << 20

// Exchange is one request and what came back.
type Exchange struct {
	What     string // in a few words, such as "register"
	Method   string
	URL      string // without query: it may hold secrets
	Status   int
	Header   http.Header
	Body     []byte
	Duration time.Duration
}

// Host makes exchanges and remembers them. It belongs to one goroutine.
type Host struct {
	client    *http.Client
	exchanges []Exchange
}

// NewHost makes a host that follows no redirect by itself.
func NewHost() *Host {
	return &Host{client: &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second},
	}}
}

// Close gives the connections free.
func (h *Host) Close() { h.client.CloseIdleConnections() }

// Exchanges are all so far, in order.
func (h *Host) Exchanges() []Exchange { return h.exchanges }

// do sends one request. An answer of any status is no error.
func (h *Host) do(ctx context.Context, what, method, address string, header http.Header, body []byte) (Exchange, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return Exchange{}, fmt.Errorf("%s: %w", what, withoutURL(err))
	}
	for name, values := range header {
		r.Header[name] = values
	}
	e := Exchange{What: what, Method: method, URL: withoutQuery(r.URL)}
	started := time.Now()
	answer, err := h.client.Do(r)
	if err != nil {
		return Exchange{}, fmt.Errorf("%s: %w", what, withoutURL(err))
	}
	defer answer.Body.Close()
	e.Body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	e.Status, e.Header, e.Duration = answer.StatusCode, answer.Header, time.Since(started)
	h.exchanges = append(h.exchanges, e)
	if err != nil {
		return e, fmt.Errorf("%s: read the answer: %w", what, err)
	}
	return e, nil
}

func withoutQuery(u *url.URL) string {
	bare := *u
	bare.RawQuery, bare.Fragment, bare.User = "", "", nil
	return bare.String()
}

// withoutURL takes the address out of an error of net/http: it may hold a code.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// json reads the answer into v if it has the status.
func (e Exchange) json(status int, v any) error {
	if e.Status != status {
		return fmt.Errorf("%s: got HTTP %d, want %d: %s", e.What, e.Status, status, shorten(e.Body))
	}
	if err := json.Unmarshal(e.Body, v); err != nil {
		return fmt.Errorf("%s: the answer is not the JSON it should be: %w", e.What, err)
	}
	return nil
}

// oauth is json for an answer of OAuth, whose members hosts read strictly: many
// refuse the whole answer for one that is null or empty (RFC 8414 §3.2).
func (e Exchange) oauth(status int, v any) error {
	if err := e.json(status, v); err != nil {
		return err
	}
	if bad := emptyMembers(e.Body); len(bad) > 0 {
		return fmt.Errorf("%s: the answer has members that are null or empty: %s", e.What, strings.Join(bad, ", "))
	}
	return nil
}

// shorten is the beginning of a body on one line, for a person.
func shorten(body []byte) string {
	const most = 200
	text := strings.Join(strings.Fields(string(body)), " ")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
