package probe

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

type object = map[string]any

// stand is a server of MCP and OAuth without a fault, small enough that each fault
// can be put into it alone.
type stand struct {
	base   string
	public bool // anyone may list the tools

	status    int    // without a token
	challenge string // of it; "" for none
	open      bool   // no token is needed at all

	resource   object // metadata
	server     object
	resourceAt []string // paths of the resource's metadata
	serverAt   []string

	versions   []string // of server/discover; nil refuses it
	initialize object   // result
	tools      []object
	call       object // result, where a call is let in

	register  func(in object) (int, object)
	authorize func(w http.ResponseWriter, r *http.Request)
	redeem    func(w http.ResponseWriter, r *http.Request)

	before func(w http.ResponseWriter, r *http.Request) (done bool) // sees each request first
	rpc    func(w http.ResponseWriter, method string, in object) (done bool)
}

func newStand(t *testing.T) *stand {
	s := &stand{status: http.StatusUnauthorized, versions: []string{Version20260728, Version20251125}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.base = server.URL
	s.challenge = `Bearer resource_metadata="` + s.base + `/.well-known/oauth-protected-resource/mcp", scope="read write"`
	s.resource = object{"resource": s.base + "/mcp", "authorization_servers": []string{s.base}, "scopes_supported": []string{"read", "write"}}
	s.server = object{
		"issuer": s.base, "authorization_endpoint": s.base + "/authorize", "token_endpoint": s.base + "/token", "registration_endpoint": s.base + "/register",
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
	s.resourceAt = []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"}
	s.serverAt = []string{"/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration/mcp"}
	s.initialize = object{"protocolVersion": Version20251125, "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "stand", "version": "1"}}
	s.tools = []object{tool("look", true), tool("change", false)}
	s.call = object{"content": []object{{"type": "text", "text": "done"}}}
	s.register = func(in object) (int, object) {
		in["client_id"] = "client-1"
		return http.StatusCreated, in
	}
	s.authorize = func(w http.ResponseWriter, r *http.Request) {
		back(w, r, url.Values{"error": {"invalid_request"}, "state": {r.URL.Query().Get("state")}, "iss": {s.base}})
	}
	s.redeem = func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("client_id") != "client-1" {
			answerJSON(w, http.StatusUnauthorized, object{"error": "invalid_client"})
			return
		}
		answerJSON(w, http.StatusBadRequest, object{"error": "invalid_grant"})
	}
	return s
}

func tool(name string, reads bool) object {
	schemes := []object{{"type": "oauth2", "scopes": []string{"read"}}}
	return object{
		"name": name, "inputSchema": object{"type": "object"}, "securitySchemes": schemes,
		"annotations": object{"readOnlyHint": reads, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false},
	}
}

func back(w http.ResponseWriter, r *http.Request, v url.Values) {
	w.Header().Set("Location", r.URL.Query().Get("redirect_uri")+"?"+v.Encode())
	w.WriteHeader(http.StatusSeeOther)
}

func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err)
	}
}

func htmlPage(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	fmt.Fprint(w, "<!DOCTYPE html><title>Welcome</title>")
}

func (s *stand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.before != nil && s.before(w, r) {
		return
	}
	path := r.URL.Path
	switch {
	case !strings.HasSuffix(s.base, r.Host):
		answerJSON(w, http.StatusForbidden, object{"error": "host"})
	case strings.TrimSuffix(path, "/") == "/mcp":
		s.endpoint(w, r)
	case slices.Contains(s.resourceAt, path):
		w.Header().Set("Access-Control-Allow-Origin", "*")
		answerJSON(w, http.StatusOK, s.resource)
	case slices.Contains(s.serverAt, path):
		w.Header().Set("Access-Control-Allow-Origin", "*")
		answerJSON(w, http.StatusOK, s.server)
	case path == "/register":
		in := object{}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			panic(err)
		}
		status, out := s.register(in)
		answerJSON(w, status, out)
	case path == "/authorize":
		s.authorize(w, r)
	case path == "/token":
		s.redeem(w, r)
	default:
		answerJSON(w, http.StatusNotFound, object{"error": "not_found"})
	}
}

func (s *stand) endpoint(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" && origin != s.base {
		answerJSON(w, http.StatusForbidden, object{"error": "origin"})
		return
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if !s.public && !s.open {
		s.refuse(w, object{"error": "invalid_token"})
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	in := object{}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		panic(err)
	}
	method, _ := in["method"].(string)
	if s.rpc != nil && s.rpc(w, method, in) {
		return
	}
	s.answer(w, method, in)
}

func (s *stand) refuse(w http.ResponseWriter, body object) {
	if s.challenge != "" {
		w.Header().Set("WWW-Authenticate", s.challenge)
	}
	answerJSON(w, s.status, body)
}

func (s *stand) answer(w http.ResponseWriter, method string, in object) {
	result := func(v object) { answerJSON(w, http.StatusOK, object{"jsonrpc": "2.0", "id": in["id"], "result": v}) }
	switch {
	case in["id"] == nil:
		w.WriteHeader(http.StatusAccepted)
	case method == "initialize":
		result(s.initialize)
	case method == "server/discover" && s.versions != nil:
		result(object{"supportedVersions": s.versions, "capabilities": object{"tools": object{}}})
	case method == "tools/list":
		result(object{"tools": s.tools})
	case method == "tools/call" && s.open:
		result(s.call)
	case method == "tools/call":
		s.refuse(w, object{"error": "invalid_token"})
	default:
		answerJSON(w, http.StatusOK, object{"jsonrpc": "2.0", "id": in["id"], "error": object{"code": -32601, "message": "no such method"}})
	}
}

// without is a copy of the document that lacks a member.
func without(o object, name string) object {
	o = maps.Clone(o)
	delete(o, name)
	return o
}

// with is a copy of the document that has a member changed.
func with(o object, name string, value any) object {
	o = maps.Clone(o)
	o[name] = value
	return o
}

// quiet drops what a server logs of handshakes that are meant to fail.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
