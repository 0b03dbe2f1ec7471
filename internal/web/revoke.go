package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/osfoundry/osfoundry/internal/oauth"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

const connectionsPath = "/connections/" // and then the ID and /revoke

// revokePath is the page on which a connection is revoked.
func revokePath(id string) string { return connectionsPath + url.PathEscape(id) + "/revoke" }

// revokePurpose binds the form to one connection.
func revokePurpose(id string) string { return "revoke connection " + id }

// connection is what the page needs of the owner API's answer.
type connection struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	RedirectHost string           `json:"redirect_host"`
	Status       workspace.Status `json:"status"`
}

// revokeForm asks before a connection is revoked, which is final.
func (s *Site) revokeForm(w http.ResponseWriter, r *http.Request) {
	c, ok := s.connection(w, r)
	if !ok {
		return
	}
	if c.Status == workspace.StatusRevoked {
		s.seeOther(w, "/connections#assistants")
		return
	}
	s.show(w, r, http.StatusOK, "revoke", map[string]any{
		"Client": display(c.Name), "Host": display(c.RedirectHost), "Action": revokePath(c.ID),
		"TokenField": oauth.FormTokenField, "Token": s.Sessions.FormToken(r, revokePurpose(c.ID)),
	})
}

// revoke ends the connection.
func (s *Site) revoke(w http.ResponseWriter, r *http.Request) {
	c, ok := s.connection(w, r)
	if !ok {
		return
	}
	if !s.Sessions.CheckForm(r, revokePurpose(c.ID)) {
		s.errorPage(w, r, http.StatusForbidden)
		return
	}
	answer := s.askOwnerAPI(r, http.MethodPatch, c.ID, `{"status":"revoked"}`)
	if answer.status != http.StatusOK && answer.status != http.StatusConflict { // somebody else revoked it meanwhile
		s.passOn(w, r, answer)
		return
	}
	s.seeOther(w, "/connections#assistants")
}

// connection reads the one that the path names, for a person who is signed in,
// and answers if there is nothing to show.
func (s *Site) connection(w http.ResponseWriter, r *http.Request) (c connection, ok bool) {
	_, signedIn, err := s.Sessions.Browser(r)
	switch {
	case err != nil:
		s.fail(w, r, err)
		return c, false
	case !signedIn:
		s.seeOther(w, signInPath(ownPath(r.URL.Path), false))
		return c, false
	case s.Owner == nil:
		s.notFound(w, r)
		return c, false
	}
	answer := s.askOwnerAPI(r, http.MethodGet, r.PathValue("id"), "")
	if answer.status != http.StatusOK {
		s.passOn(w, r, answer)
		return c, false
	}
	if err := json.Unmarshal(answer.body.Bytes(), &c); err != nil || c.ID == "" {
		s.Log.ErrorContext(r.Context(), "answer of the owner API not understood", "err", err)
		s.errorPage(w, r, http.StatusInternalServerError)
		return c, false
	}
	return c, true
}

// passOn says as a page what the owner API refused.
func (s *Site) passOn(w http.ResponseWriter, r *http.Request, a *ownerAnswer) {
	if wait := a.header.Get("Retry-After"); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
	if a.status < 400 { // an ID such as "..", which the owner API would redirect
		a.status = http.StatusNotFound
	}
	s.errorPage(w, r, a.status)
}

// askOwnerAPI asks the owner API for the person of r, in this process. What a
// page does thereby meets the same check and leaves the same audit as what an
// app or a script does: there is no second gate.
func (s *Site) askOwnerAPI(r *http.Request, method, connectionID, body string) *ownerAnswer {
	answer := &ownerAnswer{header: http.Header{}, status: http.StatusOK}
	path := "/api/v1/connections/" + url.PathEscape(connectionID)
	ask, err := http.NewRequestWithContext(r.Context(), method, path, strings.NewReader(body))
	if err != nil {
		answer.status = http.StatusNotFound
		return answer
	}
	ask.Host, ask.RemoteAddr, ask.RequestURI = r.Host, r.RemoteAddr, path
	for _, name := range []string{"Cookie", "Origin", "Sec-Fetch-Site", "User-Agent", "X-Forwarded-For", "X-Forwarded-Host"} {
		if values := r.Header.Values(name); len(values) > 0 {
			ask.Header[name] = values
		}
	}
	if body != "" {
		ask.Header.Set("Content-Type", "application/json")
	}
	s.Owner.ServeHTTP(answer, ask)
	return answer
}

// ownerAnswer keeps an answer of the owner API.
type ownerAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *ownerAnswer) Header() http.Header { return a.header }

func (a *ownerAnswer) WriteHeader(status int) { a.status = status }

func (a *ownerAnswer) Write(b []byte) (int, error) { return a.body.Write(b) }
