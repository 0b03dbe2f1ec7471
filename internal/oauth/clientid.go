package oauth

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

const (
	maxClientID = 2048    // bytes
	maxDocument = 5 << 10 // bytes (Client ID Metadata Document, "Maximum Response Size")
)

// Why a document is not used. Each is the whole story for the person; the cause
// is for the log.
var (
	errNoDocument  = errors.New("the client's metadata document cannot be used")
	errUnreachable = errors.New("the client's metadata document cannot be reached")
	errFetches     = errors.New("too many documents were asked for")
)

// documentAddress takes apart a client ID that is the address of a metadata
// document: https, a path, no fragment, user name or dot segment (Client ID
// Metadata Document, "Client Identifier"). The text as it stands is the ID.
func documentAddress(id string) (*url.URL, bool) {
	if !strings.HasPrefix(id, "https://") || len(id) > maxClientID {
		return nil, false
	}
	r, fault := parseRedirect(id) // the same bytes, host and path are trusted
	if fault != "" || r.rest == "" || r.rest[0] != '/' {
		return nil, false
	}
	u, err := url.Parse(id)
	return u, err == nil
}

// document is what a client's document says beyond RFC 7591: who it is, and what
// it must not have.
type document struct {
	ID           string `json:"client_id"`
	Secret       any    `json:"client_secret,omitempty"`
	SecretExpiry any    `json:"client_secret_expires_at,omitempty"`
	clientMetadata
}

// fetchDocument gets the client's document, checks it and keeps it. Only
// documents that can be used are kept. Call it outside of units of work, and
// for people who are signed in only: anybody else could make us knock anywhere.
func (s *Server) fetchDocument(ctx context.Context, r *http.Request, id string) (Client, error) {
	address, ok := documentAddress(id)
	if !ok || s.Documents == nil {
		return Client{}, errNoDocument
	}
	if _, ok := s.Fetches.Take(s.addressKey(r)); !ok {
		return Client{}, errFetches
	}
	leave, ok := s.hosts.enter(address.Host)
	if !ok {
		return Client{}, errFetches
	}
	defer leave()
	m, life, err := s.readDocument(ctx, id)
	if err != nil {
		s.Log.Info("client metadata document refused", "client_id", id, "err", err)
		return Client{}, err
	}
	now := s.Now()
	c := Client{ID: id, Source: Document, Name: m.Name, RedirectURIs: m.RedirectURIs, CreatedAt: now, FetchedUntil: now.Add(life)}
	kept, err := json.Marshal(m)
	if err != nil {
		return Client{}, err
	}
	c.Metadata = string(kept)
	return c, s.Work.Write(ctx, func(tx access.Tx) error { return s.Store.KeepDocument(ctx, tx, c) })
}

func (s *Server) readDocument(ctx context.Context, id string) (m clientMetadata, life time.Duration, err error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return m, 0, errors.Join(errNoDocument, err)
	}
	ask.Header.Set("Accept", "application/json")
	answer, err := s.Documents.Do(ask)
	if err != nil {
		return m, 0, errors.Join(errNoDocument, err)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests:
		return m, 0, errors.Join(errUnreachable, errors.New(answer.Status))
	case answer.StatusCode != http.StatusOK || answer.Request != nil && answer.Request.URL.String() != ask.URL.String():
		return m, 0, errors.Join(errNoDocument, errors.New(answer.Status)) // redirects must not be followed
	}
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return m, 0, errors.Join(errNoDocument, errors.New("not JSON"))
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	if err != nil || len(body) > maxDocument {
		return m, 0, errors.Join(errNoDocument, errors.New("too large, or cut short"), err)
	}
	m, err = judgeDocument(body, id)
	return m, s.documentLife(answer.Header), err
}

// judgeDocument reads a document and holds it to the rules. A redirect URI that
// we do not serve is left out; one that we do must remain.
func judgeDocument(body []byte, id string) (clientMetadata, error) {
	var d document
	if err := guard.Decode(body, &d); err != nil {
		return clientMetadata{}, errors.Join(errNoDocument, err)
	}
	if d.ID != id { // simple string comparison (RFC 3986 §6.2.1)
		return clientMetadata{}, errors.Join(errNoDocument, errors.New("client_id is another"))
	}
	if d.Secret != nil || d.SecretExpiry != nil || strings.HasPrefix(d.AuthMethod, "client_secret") {
		return clientMetadata{}, errors.Join(errNoDocument, errors.New("a secret in public"))
	}
	m := d.clientMetadata
	var usable []string
	for _, text := range m.RedirectURIs {
		if _, fault := parseRedirect(text); fault == "" && len(usable) < maxRedirects {
			usable = append(usable, text)
		}
	}
	m.RedirectURIs = usable
	if err := m.settle(); err != nil {
		return clientMetadata{}, errors.Join(errNoDocument, err)
	}
	return m, nil
}

// documentLife is how long the answer may be kept: what its Cache-Control says
// (RFC 9111 §5.2.2.1), within our bounds.
func (s *Server) documentLife(h http.Header) time.Duration {
	life := s.Figures.DocumentMin
	for directive := range strings.SplitSeq(strings.Join(h["Cache-Control"], ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return s.Figures.DocumentMin
		case "max-age":
			if seconds, err := strconv.ParseUint(strings.Trim(value, `"`), 10, 31); err == nil {
				life = time.Duration(seconds) * time.Second
			}
		}
	}
	return min(max(life, s.Figures.DocumentMin), s.Figures.DocumentMax)
}

// hostGate lets a few in at a time for each host.
type hostGate struct {
	most int // 0 is no limit

	mu     sync.Mutex
	inside map[string]int // guarded by mu
}

func (g *hostGate) enter(host string) (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.most > 0 && g.inside[host] >= g.most {
		return nil, false
	}
	if g.inside == nil {
		g.inside = map[string]int{}
	}
	g.inside[host]++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.inside[host]--; g.inside[host] == 0 {
			delete(g.inside, host)
		}
	}, true
}
