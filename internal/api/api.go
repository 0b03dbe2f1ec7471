package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Config is what the owner API needs from the rooms around it.
type Config struct {
	Work     access.Work
	Source   access.Source
	Audit    workspace.AuditStore
	Replays  workspace.IdempotencyStore
	Site     *guard.Site
	Sessions *Sessions
	Secret   []byte // of this installation, at least 32 bytes: cursors are made from it
	Version  string
	Now      func() time.Time
	Log      *slog.Logger
}

// API answers the owner API.
type API struct {
	Config
	cursors *guard.Seal
	routes  []Route
	mux     *http.ServeMux
	methods map[string][]string // of each path, for Allow
	openAPI []byte
}

// New makes the API of the routes. A mistake in a declaration, or two of one
// method and path, are mistakes in the program.
func New(c Config, routes ...[]Route) (*API, error) {
	cursors, err := guard.NewSeal(c.Secret, "owner api cursor")
	if err != nil {
		return nil, err
	}
	a := &API{Config: c, cursors: cursors, routes: slices.Concat(routes...), mux: http.NewServeMux(), methods: map[string][]string{}}
	seen := map[string]bool{}
	for i := range a.routes {
		r := &a.routes[i]
		pattern := r.Method + " " + r.Path
		if err := r.faults(); err != nil {
			return nil, err
		}
		if seen[pattern] || seen[r.Operation] {
			return nil, fmt.Errorf("%s (%s) is declared twice", pattern, r.Operation)
		}
		seen[pattern], seen[r.Operation] = true, true
		a.methods[r.Path] = append(a.methods[r.Path], r.Method)
		a.mux.HandleFunc(pattern, func(w http.ResponseWriter, req *http.Request) { a.serve(r, w, req) })
	}
	for path, methods := range a.methods {
		a.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { a.notAllowed(w, methods) })
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, access.Refuse(access.NotFound, "There is nothing at this address. GET /api/v1/openapi.json lists what there is."))
	})
	if a.openAPI, err = document(c.Version, a.routes); err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	a.mux.HandleFunc("GET /api/v1/openapi.json", func(w http.ResponseWriter, r *http.Request) { replyRaw(w, http.StatusOK, a.openAPI) })
	a.mux.HandleFunc("/api/v1/openapi.json", func(w http.ResponseWriter, r *http.Request) { a.notAllowed(w, []string{http.MethodGet}) })
	return a, nil
}

// ServeHTTP answers everything under /api/. What it says is nobody's to keep.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	a.mux.ServeHTTP(w, r)
}

// Routes are the declared calls, for sweeps over all of them.
func (a *API) Routes() []Route { return slices.Clone(a.routes) }

// notAllowed is RFC 9110 §15.5.6.
func (a *API) notAllowed(w http.ResponseWriter, methods []string) {
	allow := slices.Sorted(slices.Values(methods))
	if slices.Contains(allow, http.MethodGet) {
		allow = append(allow, http.MethodHead)
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	reply(w, http.StatusMethodNotAllowed, map[string]any{"error": map[string]any{
		"code": "method_not_allowed", "message": "This address takes " + strings.Join(allow, ", ") + "."}})
}
