package oauth

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

const (
	maxRegistration = 16 << 10 // bytes of a registration request
	maxClientName   = 100      // characters
	maxMetadataText = 2048     // bytes of any other text
	maxContacts     = 10
)

// clientMetadata is what a client says of itself (RFC 7591 §2), as far as we
// take it over: what is not listed here is ignored, such as a client_id, a
// secret, keys or a software statement. Null and empty members count as absent
// and are never sent back, because hosts break on them.
type clientMetadata struct {
	RedirectURIs    []string `json:"redirect_uris,omitempty"`
	AuthMethod      string   `json:"token_endpoint_auth_method,omitempty"`
	GrantTypes      []string `json:"grant_types,omitempty"`
	ResponseTypes   []string `json:"response_types,omitempty"`
	Name            string   `json:"client_name,omitempty"`
	URI             string   `json:"client_uri,omitempty"`
	LogoURI         string   `json:"logo_uri,omitempty"`
	TermsURI        string   `json:"tos_uri,omitempty"`
	PolicyURI       string   `json:"policy_uri,omitempty"`
	Contacts        []string `json:"contacts,omitempty"`
	Scope           string   `json:"scope,omitempty"`
	SoftwareID      string   `json:"software_id,omitempty"`
	SoftwareVersion string   `json:"software_version,omitempty"`
	ApplicationType string   `json:"application_type,omitempty"`
}

func invalidMetadata(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "invalid_client_metadata", format, args...)
}

func invalidRedirect(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "invalid_redirect_uri", format, args...)
}

// settle holds the metadata to the rules, fills in what RFC 7591 §2 says about
// absent members, and replaces what this server does differently.
func (m *clientMetadata) settle() error {
	if err := m.settleRedirects(); err != nil {
		return err
	}
	m.AuthMethod = "none" // whatever was asked: RFC 7591 §2 lets the server replace it
	var ok bool
	if m.GrantTypes, ok = keep(m.GrantTypes, []string{grantCode}, grantCode, grantRefresh); !ok || !slices.Contains(m.GrantTypes, grantCode) {
		return invalidMetadata("grant_types must include authorization_code.")
	}
	if m.ResponseTypes, ok = keep(m.ResponseTypes, []string{"code"}, "code"); !ok {
		return invalidMetadata("response_types must include code.")
	}
	if m.Name != "" {
		name, fault := workspace.DisplayName(m.Name, maxClientName)
		if fault != "" {
			return invalidMetadata("client_name %s.", fault)
		}
		m.Name = name
	}
	for _, u := range []struct{ name, value string }{
		{"client_uri", m.URI}, {"logo_uri", m.LogoURI}, {"tos_uri", m.TermsURI}, {"policy_uri", m.PolicyURI},
	} {
		if u.value != "" && !webAddress(u.value) {
			return invalidMetadata("%s must be an https URL.", u.name)
		}
	}
	known, _ := access.ParseScopes(m.Scope)
	m.Scope = known.String()
	return m.settleTexts()
}

func (m *clientMetadata) settleRedirects() error {
	if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects {
		return invalidRedirect("redirect_uris must list 1 to %d URIs.", maxRedirects)
	}
	for i, text := range m.RedirectURIs {
		if _, fault := parseRedirect(text); fault != "" {
			return invalidRedirect("redirect_uris[%d] %s.", i, fault)
		}
	}
	return nil
}

// settleTexts drops contacts without text and bounds what only people read.
func (m *clientMetadata) settleTexts() error {
	m.Contacts = slices.DeleteFunc(m.Contacts, func(c string) bool { return c == "" })
	if len(m.Contacts) > maxContacts {
		return invalidMetadata("contacts must list at most %d.", maxContacts)
	}
	texts := append([]string{m.SoftwareID, m.SoftwareVersion, m.ApplicationType}, m.Contacts...)
	for _, text := range texts {
		if len(text) > maxMetadataText || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7F || r == utf8.RuneError }) {
			return invalidMetadata("A text is longer than %d bytes, or holds control characters.", maxMetadataText)
		}
	}
	return nil
}

// keep leaves those of asked that are known, each once; the default if none is
// asked. ok is false if some are asked, and none is known.
func keep(asked, byDefault []string, known ...string) (kept []string, ok bool) {
	if len(asked) == 0 {
		return byDefault, true
	}
	for _, a := range asked {
		if slices.Contains(known, a) && !slices.Contains(kept, a) {
			kept = append(kept, a)
		}
	}
	return kept, len(kept) > 0
}

// webAddress accepts an https URL with a host, that a page may link to.
func webAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && len(text) <= maxMetadataText && u.Scheme == "https" && u.Host != "" && u.User == nil &&
		!strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7F || r == '\\' })
}

// registration is the answer of RFC 7591 §3.2.1: what was registered, and the
// ID. There is no secret, hence nothing says when it expires, and there is no
// management of registrations (RFC 7592).
type registration struct {
	ID       string `json:"client_id"`
	IssuedAt int64  `json:"client_id_issued_at"` // Unix seconds
	clientMetadata
}

// register is the registration endpoint (RFC 7591 §3).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	m, err := readRegistration(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	now := s.Now()
	c := Client{
		ID: "osf_client_" + rand.Text(), Source: Registered, Name: m.Name, RedirectURIs: m.RedirectURIs,
		Address: s.addressKey(r), CreatedAt: now,
	}
	kept, err := json.Marshal(m)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	c.Metadata = string(kept)
	err = s.Work.Write(r.Context(), func(tx access.Tx) error { return s.addClient(r.Context(), tx, c) })
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, registration{ID: c.ID, IssuedAt: now.Unix(), clientMetadata: m})
}

func readRegistration(r *http.Request) (m clientMetadata, err error) {
	if r.URL.RawQuery != "" {
		return m, invalidMetadata("Parameters belong into the body, not into the URL.")
	}
	err = guard.ReadJSON(r, maxRegistration, &m)
	if body, ok := errors.AsType[*guard.BodyError](err); ok {
		e := refuse(body.Status, "invalid_client_metadata", "%s", printable(body.Error(), 200))
		if strings.HasPrefix(body.Pointer, "/redirect_uris") && !body.Syntax {
			e.code = "invalid_redirect_uri"
		}
		return m, e
	}
	if err != nil {
		return m, err
	}
	return m, m.settle()
}

// addClient keeps the client unless there are too many that nobody uses
// (RFC 7591 §5, "denial of service").
func (s *Server) addClient(ctx context.Context, tx access.Tx, c Client) error {
	since := c.CreatedAt.Add(-s.Figures.UnusedLife)
	ofAddress, all, err := s.Store.Unused(ctx, tx, c.Address, since)
	if err != nil {
		return err
	}
	if ofAddress >= s.Figures.UnusedOfOne || all >= s.Figures.UnusedOfAll {
		e := refuse(http.StatusTooManyRequests, "temporarily_unavailable", "Too many clients were registered that nobody approved. Approve one, or try again later.")
		e.retry = 10 * time.Minute
		return e
	}
	return s.Store.AddClient(ctx, tx, c)
}
