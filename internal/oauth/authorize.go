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

	"github.com/osfoundry/osfoundry/internal/access"
)

// maxState is how many bytes of state are stored and sent back.
const maxState = 4 << 10

// browserToken is the kind of the cookie that binds pending requests to the
// browser that began them.
const browserToken access.TokenKind = "osf_br_"

// asking is a request of the authorize endpoint on its way.
type asking struct {
	form     url.Values
	origin   string // public origin that it came to
	who      access.Principal
	signedIn bool

	client    Client
	approved  bool // who approved the client before
	unfetched bool // the client is a document that nobody signed in asked for yet
	redirect  redirect
}

// authorize is the authorization endpoint (RFC 6749 §3.1). Until the redirect is
// known to be the client's, every refusal is a page of ours that leads nowhere.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodPost {
		s.methodNotAllowed(w, "GET, HEAD, POST")
		return
	}
	if !s.fromOwnPage(r) {
		s.refused(w, r, RefusedPage{Status: http.StatusForbidden, Reason: ForeignOrigin})
		return
	}
	a, page := s.readAsking(r)
	if page != nil {
		s.refused(w, r, *page)
		return
	}
	request, err := s.judge(r, a)
	if err != nil {
		s.refuseAsking(w, r, a, err)
		return
	}
	browser, hash := s.bindBrowser(r, a.origin)
	request.Browser = hash
	err = s.Work.Write(r.Context(), func(tx access.Tx) error { return s.Store.AddRequest(r.Context(), tx, request) })
	if err != nil {
		s.pageOf(w, r, err)
		return
	}
	http.SetCookie(w, browser)
	seeOther(w, a.origin+PathConsent+"?request="+url.QueryEscape(request.ID))
}

// seeOther redirects with 303, so that the next request is a GET whatever this
// one was (RFC 9700 §4.12), and without a body.
func seeOther(w http.ResponseWriter, to string) {
	h := w.Header()
	h.Set("Location", to)
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// readAsking finds out who asks, and whether the redirect is theirs. The page,
// nil if all is well, is the refusal.
func (s *Server) readAsking(r *http.Request) (*asking, *RefusedPage) {
	a := &asking{origin: s.Site.Origin(r)}
	var err error
	if r.Method == http.MethodPost {
		a.form, err = readForm(r, "resource")
	} else {
		a.form, err = parseForm(r.URL.RawQuery, "resource") // RFC 8707 §2: may be repeated
	}
	if err != nil {
		e := refusalOf(err)
		return nil, &RefusedPage{Status: e.status, Reason: BadRequest, Detail: e.description}
	}
	if len(a.form.Get("state")) > maxState {
		return nil, &RefusedPage{Status: http.StatusBadRequest, Reason: BadRequest, Detail: "state has more than 4096 bytes."}
	}
	id := a.form.Get("client_id")
	if id == "" || len(id) > maxClientID {
		return nil, &RefusedPage{Status: http.StatusBadRequest, Reason: UnknownClient, Detail: "client_id is missing or too long."}
	}
	if a.who, a.signedIn, err = s.People.Browser(r); err != nil {
		return nil, s.troublePage(r, err)
	}
	if err := s.findClient(r, a, id); err != nil {
		return nil, s.clientPage(r, err)
	}
	return a, a.findRedirect()
}

var errUnknownClient = errors.New("no client has this ID")

// findClient reads the client, or its document.
func (s *Server) findClient(r *http.Request, a *asking, id string) error {
	known := false
	err := s.Work.Read(r.Context(), func(tx access.Tx) (err error) {
		if a.client, known, err = s.Store.Client(r.Context(), tx, id); err != nil || !known || !a.signedIn {
			return err
		}
		a.approved, err = s.Store.Approved(r.Context(), tx, id, a.who.UserID)
		return err
	})
	if err != nil {
		return err
	}
	if _, isDocument := documentAddress(id); isDocument {
		return s.findDocument(r, a, id, known)
	}
	if !known || a.client.Source != Registered || s.forgotten(a.client) {
		return errUnknownClient
	}
	return nil
}

// forgotten reports whether a client that nobody approved is too old, although
// no purge came by yet.
func (s *Server) forgotten(c Client) bool {
	return c.Source == Registered && c.LastUsedAt.IsZero() && !s.Now().Before(c.CreatedAt.Add(s.Figures.UnusedLife))
}

// findDocument uses the kept copy, fetches a fresh one for people who are signed
// in, and leaves it for after the sign-in otherwise.
func (s *Server) findDocument(r *http.Request, a *asking, id string, known bool) error {
	switch {
	case s.Documents == nil:
		return errUnknownClient
	case known && a.client.Source == Document && s.Now().Before(a.client.FetchedUntil):
		return nil
	case !a.signedIn:
		a.client, a.unfetched = Client{ID: id, Source: Document}, true
		return nil
	}
	fresh, err := s.fetchDocument(r.Context(), r, id)
	a.client = fresh
	return err
}

// findRedirect settles where the browser would be sent back to.
func (a *asking) findRedirect() *RefusedPage {
	asked := a.form.Get("redirect_uri")
	if a.unfetched { // compared after the sign-in, before anything is shown
		r, fault := parseRedirect(asked)
		if fault != "" {
			return &RefusedPage{Status: http.StatusBadRequest, Reason: BadRedirect, Detail: "redirect_uri " + fault + "."}
		}
		a.redirect = r
		return nil
	}
	r, ok := allowedRedirect(a.client.RedirectURIs, asked)
	if !ok {
		return &RefusedPage{Status: http.StatusBadRequest, Reason: BadRedirect, ClientName: a.client.Name,
			Detail: "redirect_uri is not one that the client registered. Remove the connection in the assistant and add it again."}
	}
	a.redirect = r
	return nil
}

// judge holds the request to the rules, in the order in which clients should
// learn of their mistakes, and makes the pending request of it.
func (s *Server) judge(r *http.Request, a *asking) (Request, error) {
	f := a.form
	get := f.Get
	switch responseType := get("response_type"); {
	case get("request") != "":
		return Request{}, refuse(0, "request_not_supported", "request objects are not supported.") // RFC 9101 §6.3
	case get("request_uri") != "":
		return Request{}, refuse(0, "request_uri_not_supported", "request_uri is not supported.")
	case responseType == "":
		return Request{}, refuse(0, "invalid_request", "response_type is missing.")
	case responseType != "code":
		return Request{}, refuse(0, "unsupported_response_type", "response_type must be code.")
	case get("response_mode") != "" && get("response_mode") != "query":
		return Request{}, refuse(0, "invalid_request", "response_mode must be query.")
	case get("code_challenge_method") != "S256": // absent would mean plain: RFC 7636 §4.3
		return Request{}, refuse(0, "invalid_request", "code_challenge_method must be S256.")
	case !proof(get("code_challenge")): // RFC 9700 §2.1.1: mandatory
		return Request{}, refuse(0, "invalid_request", "code_challenge must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~")
	}
	resource, ok := s.askedResource(r, f["resource"])
	if !ok {
		return Request{}, refuse(0, "invalid_target", "resource is not one of this server.") // RFC 8707 §2
	}
	scopes, ok := askedScopes(get("scope"))
	if !ok {
		return Request{}, refuse(0, "invalid_scope", "None of the scopes is known here.")
	}
	if slices.Contains(strings.Fields(get("prompt")), "none") { // nothing is ever approved in silence
		if !a.signedIn {
			return Request{}, refuse(0, "login_required", "A person has to sign in.")
		}
		return Request{}, refuse(0, "consent_required", "A person has to approve.")
	}
	if err := s.freshChallenge(r.Context(), a.client.ID, get("code_challenge")); err != nil {
		return Request{}, err
	}
	now := s.Now()
	return Request{
		ID: rand.Text(), ClientID: a.client.ID, Redirect: a.redirect.text, Scopes: scopes, State: get("state"), HasState: f.Has("state"),
		Challenge: get("code_challenge"), Resource: resource, CreatedAt: now, ExpiresAt: now.Add(s.Figures.RequestLife),
	}, nil
}

// freshChallenge refuses a code_challenge that was redeemed: its verifier is no
// secret any more.
func (s *Server) freshChallenge(ctx context.Context, clientID, challenge string) error {
	used := false
	err := s.Work.Read(ctx, func(tx access.Tx) (err error) {
		used, err = s.Store.ChallengeUsed(ctx, tx, clientID, challenge)
		return err
	})
	if err == nil && used {
		return refuse(0, "invalid_request", "code_challenge was used before. Make a new one for each request.")
	}
	return err
}

// askedScopes are ours among the scopes asked for; all if none is named, or only
// one for refresh tokens, which are always given. osfoundry:read comes with any.
// ok is false if others are named and none of ours.
func askedScopes(text string) (scopes access.Scopes, ok bool) {
	scopes, unknown := access.ParseScopes(text)
	unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == offlineAccess })
	switch {
	case scopes != 0:
		return scopes | access.ScopeRead, true
	case len(unknown) > 0:
		return 0, false
	}
	return access.AllScopes, true
}

// refuseAsking tells a mistake to the client by way of the browser (RFC 6749
// §4.1.2.1). A browser is sent on at once only if the person is signed in and
// either knows the client, or would not leave their own computer: anybody can
// register a client, and the server must not lend it its name (RFC 9700 §4.11.2).
// Otherwise a page names where the way back leads, and the person may take it.
func (s *Server) refuseAsking(w http.ResponseWriter, r *http.Request, a *asking, err error) {
	e, ok := errors.AsType[*refusal](err)
	if !ok {
		s.pageOf(w, r, err)
		return
	}
	if a.unfetched {
		s.refused(w, r, RefusedPage{Status: http.StatusBadRequest, Reason: BadRequest, Detail: e.description})
		return
	}
	back := s.sendBack(a.origin, a.redirect, a.form.Get("state"), a.form.Has("state"), "error", e.code, "error_description", e.description)
	if a.signedIn && (a.approved || a.redirect.loopback) {
		seeOther(w, back)
		return
	}
	s.refused(w, r, RefusedPage{Status: http.StatusBadRequest, Reason: BadRequest, ClientName: a.client.Name,
		Detail: e.description, Back: back, Destination: a.redirect.destination()})
}

// sendBack is the one way back to a client: the redirect URI with the answer,
// the state as it came, and who answers (RFC 9207 §2).
func (s *Server) sendBack(issuer string, to redirect, state string, hasState bool, answer ...string) string {
	if hasState {
		answer = append(answer, "state", state)
	}
	return to.with(append(answer, "iss", issuer)...)
}

// browserCookie is the name of the cookie that binds requests to the browser.
func browserCookie(origin string) (name string, secure bool) {
	if strings.HasPrefix(origin, "https:") {
		return "__Host-osfoundry-authorize", true
	}
	return "osfoundry-authorize", false
}

// bindBrowser is the browser's cookie, lengthened or new, and its hash. Requests
// of several tabs share it.
func (s *Server) bindBrowser(r *http.Request, origin string) (*http.Cookie, access.TokenHash) {
	name, secure := browserCookie(origin)
	value, hash := "", access.TokenHash("")
	if held, ok := s.heldBrowser(r, origin); ok {
		c, _ := r.Cookie(name)
		value, hash = c.Value, held
	} else {
		value, hash = access.MintToken(browserToken)
	}
	return &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: int(s.Figures.RequestLife.Seconds()),
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode}, hash
}

// heldBrowser is the hash of the cookie that the browser holds.
func (s *Server) heldBrowser(r *http.Request, origin string) (access.TokenHash, bool) {
	name, _ := browserCookie(origin)
	held := r.CookiesNamed(name)
	if len(held) != 1 {
		return "", false
	}
	return access.HashToken(browserToken, held[0].Value)
}

// pageOf answers a failure with a page.
func (s *Server) pageOf(w http.ResponseWriter, r *http.Request, err error) {
	s.refused(w, r, *s.troublePage(r, err))
}

// troublePage is for failures that are not the client's.
func (s *Server) troublePage(r *http.Request, err error) *RefusedPage {
	e := refusalOf(err)
	if e.status == http.StatusServiceUnavailable {
		return &RefusedPage{Status: e.status, Reason: TryAgain}
	}
	s.Log.Error("oauth page failed", "method", r.Method, "path", r.URL.Path, "err", err)
	return &RefusedPage{Status: http.StatusInternalServerError, Reason: SomethingIsWrong}
}

// clientPage says why the client is not known.
func (s *Server) clientPage(r *http.Request, err error) *RefusedPage {
	switch {
	case errors.Is(err, errUnknownClient):
		return &RefusedPage{Status: http.StatusBadRequest, Reason: UnknownClient,
			Detail: "client_id is not registered here. Remove the connection in the assistant and add it again."}
	case errors.Is(err, errNoDocument):
		return &RefusedPage{Status: http.StatusBadRequest, Reason: BadDocument, Detail: "invalid_client: " + errNoDocument.Error() + "."}
	case errors.Is(err, errUnreachable):
		return &RefusedPage{Status: http.StatusServiceUnavailable, Reason: TryAgain, Detail: errUnreachable.Error() + "."}
	case errors.Is(err, errFetches):
		return &RefusedPage{Status: http.StatusTooManyRequests, Reason: TooManyRequests}
	}
	return s.troublePage(r, err)
}

// refused shows a page that leads nowhere by itself.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, p RefusedPage) {
	w.Header().Set("Cache-Control", "no-store")
	switch p.Status {
	case http.StatusServiceUnavailable:
		setRetry(w, time.Second)
	case http.StatusTooManyRequests:
		setRetry(w, time.Minute)
	}
	s.Pages.Refused(w, r, p)
}
