package oauth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// The two mounts of the one endpoint (product.md §2). Tokens are for the
// workspace server, so either mount takes a token that was asked for the other.
const (
	MountSignIn = "/mcp"                 // sign-in first; the address that people are given
	MountPublic = "/api/v1/external-mcp" // the catalogue is public
)

// The endpoints, behind the public origin.
const (
	PathAuthorize = "/api/v1/external-oauth/authorize"
	PathToken     = "/api/v1/external-oauth/token"
	PathRegister  = "/api/v1/external-oauth/register"
	PathRevoke    = "/api/v1/external-oauth/revoke"
	PathConsent   = "/external-assistant-authorize"
	PathRequests  = "/api/v1/external-oauth/requests"

	pathSignIn = "/sign-in"
)

// Figures are the limits and lives of the authorization server. Each is a
// configuration key.
type Figures struct {
	RequestLife  time.Duration // a pending request, sign-in included
	CodeLife     time.Duration // an authorization code (OWASP ASVS 10.4.3: at most a minute)
	AccessLife   time.Duration // an access token; hosts renew up to 5 minutes before its end
	RefreshLife  time.Duration // a refresh token, from each renewal on
	FamilyLife   time.Duration // all tokens of one approval
	RetryWindow  time.Duration // how long a used refresh token gets the same answer; 0 is never
	CodeMemory   time.Duration // how long a redeemed code_challenge is refused
	UnusedLife   time.Duration // a client that nobody approved
	IdleLife     time.Duration // a client without a connection, since its last use
	UnusedOfOne  int64         // clients that nobody approved, from one address
	UnusedOfAll  int64         // and in all
	DocumentMin  time.Duration // how long a metadata document is kept, at least
	DocumentMax  time.Duration // and at most
	DocumentHost int           // fetches from one host at the same time
}

// DefaultFigures are the figures of product.md §2 and protocol.md §2.
func DefaultFigures() Figures {
	const day = 24 * time.Hour
	return Figures{
		RequestLife: 10 * time.Minute, CodeLife: time.Minute, AccessLife: time.Hour,
		RefreshLife: 90 * day, FamilyLife: 365 * day, RetryWindow: 30 * time.Second, CodeMemory: day,
		UnusedLife: day, IdleLife: 365 * day, UnusedOfOne: 200, UnusedOfAll: 1000,
		DocumentMin: 5 * time.Minute, DocumentMax: day, DocumentHost: 2,
	}
}

// Fetcher gets documents that clients name. guard.NewClient makes the only one
// for use: it reaches nothing but the public internet, and follows no redirect.
type Fetcher interface {
	Do(r *http.Request) (*http.Response, error)
}

// Config is what the authorization server needs from the house around it.
type Config struct {
	Site        *guard.Site
	Work        access.Work
	Source      access.Source
	Store       Store
	Connections *workspace.Connections
	Events      *workspace.Events
	Audit       workspace.AuditStore
	People      People
	Pages       Pages
	Figures     Figures
	// Documents fetches Client ID Metadata Documents; nil switches them off.
	Documents Fetcher
	// Failures counts failed attempts by address at the token and revocation
	// endpoints, Fetches those of documents. nil allows everything.
	Failures *guard.Limiter
	Fetches  *guard.Limiter
	Now      func() time.Time
	Log      *slog.Logger
}

// Server is the authorization server.
type Server struct {
	Config
	hosts hostGate
}

// New makes a Server. A part that is missing is a mistake in the program.
func New(c Config) (*Server, error) {
	for name, missing := range map[string]bool{
		"Site": c.Site == nil, "Work": c.Work == nil, "Source": c.Source == nil, "Store": c.Store == nil,
		"Connections": c.Connections == nil, "Events": c.Events == nil, "Audit": c.Audit == nil,
		"People": c.People == nil, "Pages": c.Pages == nil, "Now": c.Now == nil, "Log": c.Log == nil,
	} {
		if missing {
			return nil, fmt.Errorf("oauth: %s is missing", name)
		}
	}
	if f := c.Figures; f.RequestLife <= 0 || f.CodeLife <= 0 || f.AccessLife < time.Second || f.RefreshLife <= 0 || f.FamilyLife <= 0 ||
		f.DocumentMin <= 0 || f.DocumentMax < f.DocumentMin {
		return nil, errors.New("oauth: a life is not positive")
	}
	return &Server{Config: c, hosts: hostGate{most: c.Figures.DocumentHost}}, nil
}

// Mount adds the routes. They bring their own rules about methods and origins:
// metadata, token, register and revoke answer any origin, without credentials;
// the others only pages of this server (protocol.md §3).
func (s *Server) Mount(mux *http.ServeMux) {
	mux.HandleFunc("/.well-known/", s.wellKnown)
	for _, mount := range []string{MountSignIn, MountPublic} {
		mux.HandleFunc(mount+"/.well-known/", s.nothingHere)
	}
	mux.Handle(PathToken, s.public(http.MethodPost, s.token))
	mux.Handle(PathRegister, s.public(http.MethodPost, s.register))
	mux.Handle(PathRevoke, s.public(http.MethodPost, s.revoke))
	mux.HandleFunc(PathAuthorize, s.authorize)
	mux.HandleFunc(PathConsent, s.consent)
	mux.HandleFunc(PathRequests+"/{id}", s.readRequest)
	mux.HandleFunc(PathRequests+"/{id}/decision", s.decideRequest)
}

// public lets any origin ask, with one method.
func (s *Server) public(method string, next http.HandlerFunc) http.Handler {
	methods := method + ", " + http.MethodOptions
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard.AllowAnyOrigin(w.Header())
		switch r.Method {
		case method:
			next(w, r)
		case http.MethodOptions:
			guard.Preflight(w, methods)
		default:
			s.methodNotAllowed(w, methods)
		}
	})
}

// fromOwnPage reports whether a request that reads a cookie may come from where
// it does: a page of ours, or no page at all. Browsers send "Origin: null" with
// forms of pages that keep their address to themselves (Fetch §3.2, "append a
// request Origin header"), as ours do; then Sec-Fetch-Site decides, which pages
// can't forge. It is missing over plain http to another computer only, where the
// form token has to do.
func (s *Server) fromOwnPage(r *http.Request) bool {
	origin, site := r.Header["Origin"], r.Header.Get("Sec-Fetch-Site")
	if site != "" && site != "same-origin" && site != "none" {
		return r.Method == http.MethodGet && len(origin) == 0 // a link of the client's page
	}
	if len(origin) == 1 && origin[0] == "null" {
		return site == "same-origin" || site == "" && s.plainNetwork(r)
	}
	return s.Site.OriginAllowed(r)
}

// plainNetwork reports whether the request came by plain http to another name
// than this computer's own.
func (s *Server) plainNetwork(r *http.Request) bool {
	host, plain := strings.CutPrefix(s.Site.Origin(r), "http://")
	if host == "" || !plain {
		return false
	}
	own, fault := parseRedirect("http://" + host)
	return fault != "" || !own.loopback
}

// address is the client's address for limits and records.
func (s *Server) address(r *http.Request) string {
	a := s.Site.ClientAddress(r)
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// addressKey is what the address is counted under.
func (s *Server) addressKey(r *http.Request) string { return guard.AddressKey(s.Site.ClientAddress(r)) }
