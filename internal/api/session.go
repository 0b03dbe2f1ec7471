package api

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// The session cookie. On https the name's prefix makes browsers refuse it from
// anywhere but this host (RFC 6265bis §4.1.3.2). On plain http, the first steps on
// a laptop or a LAN, a browser would not send a Secure cookie back.
const (
	secureCookie = "__Host-osfoundry"
	plainCookie  = "osfoundry"
)

// Sessions knows who is signed in, from the cookie of a browser or a personal
// token, by the state of the moment.
type Sessions struct {
	accounts *workspace.Accounts
	site     *guard.Site
	now      func() time.Time
	formKey  []byte
	field    string // of a form, that carries its token
	// crossing refuses forms and calls that another site's page made the browser
	// send (OWASP ASVS 3.5.1).
	crossing *http.CrossOriginProtection
}

// NewSessions makes the service. The secret is of this installation, at least 32
// bytes; tokens of forms are made from it, and come back in the named form field.
func NewSessions(accounts *workspace.Accounts, site *guard.Site, secret []byte, formField string, now func() time.Time) (*Sessions, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "form token", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of form tokens: %w", err)
	}
	return &Sessions{accounts: accounts, site: site, now: now, formKey: key, field: formField, crossing: http.NewCrossOriginProtection()}, nil
}

func (s *Sessions) cookieName() string {
	if s.site.Secure() {
		return secureCookie
	}
	return plainCookie
}

// cookie is the value of the session cookie, "" if there is none or, which no
// browser of ours does, more than one.
func (s *Sessions) cookie(r *http.Request) string {
	found := r.CookiesNamed(s.cookieName())
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// Browser is the person of the session cookie; ok is false if nobody is signed
// in. A personal token does not count. An error is the database's.
func (s *Sessions) Browser(r *http.Request) (p access.Principal, ok bool, err error) {
	token := s.cookie(r)
	if token == "" {
		return access.Principal{}, false, nil
	}
	p, err = s.accounts.Session(r.Context(), token)
	if access.CodeOf(err) == access.Unauthenticated {
		return access.Principal{}, false, nil
	}
	return p, err == nil, err
}

// Principal is who makes a call of the owner API: the bearer of a personal token,
// or else the person of the session cookie. A token that is not good is refused
// and never replaced by a cookie.
func (s *Sessions) Principal(r *http.Request) (access.Principal, error) {
	switch headers := r.Header["Authorization"]; len(headers) {
	case 0:
		p, ok, err := s.Browser(r)
		if err == nil && !ok {
			err = access.Refuse(access.Unauthenticated, "Sign in to go on.")
		}
		return p, err
	case 1:
		scheme, token, _ := strings.Cut(headers[0], " ")
		if !strings.EqualFold(scheme, "Bearer") { // RFC 9110 §11.1: in any case
			break
		}
		return s.accounts.PersonalToken(r.Context(), strings.TrimSpace(token))
	}
	return access.Principal{}, access.Refuse(access.Unauthenticated, "Send one Authorization header with a personal token: Bearer osf_pat_…")
}

// Crosses reports whether another site's page made the browser send this change.
// Calls with a personal token, which no page has, are not asked.
func (s *Sessions) Crosses(r *http.Request) bool {
	return len(r.Header["Authorization"]) == 0 && s.crossing.Check(r) != nil
}

// crossesCall is Crosses for calls of the owner API, which only our own pages make
// with a cookie: an origin that may talk to the MCP endpoint may not. A form's
// Origin says less, because pages that send no referrer send "null" (Fetch
// Standard, "append a request Origin header").
func (s *Sessions) crossesCall(r *http.Request) bool {
	if len(r.Header["Authorization"]) > 0 {
		return false
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if _, ours := s.site.Public(origin); !ours {
			return true
		}
	}
	return s.Crosses(r)
}

// still reports whether the caller of r is signed in as before. Asking does not
// keep a session alive.
func (s *Sessions) still(r *http.Request, who access.Principal) bool {
	if who.Credential == access.CredentialPersonalToken {
		now, err := s.Principal(r)
		return err == nil && now.UserID == who.UserID
	}
	now, err := s.accounts.LookAtSession(r.Context(), s.cookie(r))
	return err == nil && now.SessionID == who.SessionID
}

// Set gives the browser the session that in opened, in place of one it had.
func (s *Sessions) Set(w http.ResponseWriter, r *http.Request, in workspace.SignedIn) {
	if old := s.cookie(r); old != "" && old != in.Token {
		_ = s.accounts.SignOut(r.Context(), old) // it ends by itself otherwise
	}
	c := s.newCookie(in.Token)
	if !in.ExpiresAt.IsZero() {
		c.Expires = in.ExpiresAt
		c.MaxAge = max(1, int(in.ExpiresAt.Sub(s.now()).Seconds()))
	}
	http.SetCookie(w, c)
}

// Clear ends the browser's session.
func (s *Sessions) Clear(w http.ResponseWriter, r *http.Request) error {
	token := s.cookie(r)
	if err := s.accounts.SignOut(r.Context(), token); err != nil {
		return err
	}
	c := s.newCookie("")
	c.MaxAge = -1
	http.SetCookie(w, c)
	return nil
}

func (s *Sessions) newCookie(value string) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: s.site.Secure(), SameSite: http.SameSiteLaxMode,
	}
}

// FormToken is what a form of this browser session must send back, for this
// purpose. It is worth nothing in another session or for another purpose.
func (s *Sessions) FormToken(r *http.Request, purpose string) string {
	session := s.cookie(r)
	mac := hmac.New(sha256.New, s.formKey)
	fmt.Fprintf(mac, "%d:%s%s", len(session), session, purpose)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// CheckForm reports whether the parsed form of r sent the token back, from a page
// of ours, in a browser that has a session.
func (s *Sessions) CheckForm(r *http.Request, purpose string) bool {
	sent := r.PostForm[s.field]
	if len(sent) != 1 || s.cookie(r) == "" || s.Crosses(r) {
		return false
	}
	return hmac.Equal([]byte(sent[0]), []byte(s.FormToken(r, purpose)))
}
