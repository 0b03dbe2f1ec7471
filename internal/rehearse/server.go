package rehearse

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/guard"
)

// server serves a model on a free loopback port.
type server struct {
	*model
	url  string
	http *http.Server
	done chan error

	// lose says what becomes of a request and its answer; nil loses none.
	lose func(r *http.Request) loss
}

// loss is what a network does to an exchange.
type loss int

const (
	kept   loss = iota
	before      // the connection ends before the request took effect
	after       // the connection ends after the effect, without an answer
)

// serve starts the server. Close stops it.
func serve(m *model) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the model server: %w", err)
	}
	s := &server{model: m, url: "http://" + listener.Addr().String(), done: make(chan error, 1)}
	routes := http.NewServeMux()
	routes.HandleFunc("POST /mcp", s.mcp)
	routes.HandleFunc("POST /token", s.refresh)
	routes.HandleFunc("POST /handoffs/{id}/decision", s.decision)
	s.http = guard.NewServer(routes, slog.New(slog.DiscardHandler))
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

func (s *server) close() {
	s.http.Close()
	<-s.done
}

// rpc is a JSON-RPC request to call a tool.
type rpc struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"params"`
}

// mcp is the endpoint. Only tools/call is served.
func (s *server) mcp(w http.ResponseWriter, r *http.Request) {
	fate := kept
	if s.lose != nil {
		fate = s.lose(r)
	}
	if fate == before {
		hangUp(w)
		return
	}
	status, challenge, answer := s.answer(r)
	if fate == after {
		hangUp(w)
		return
	}
	if challenge != "" {
		w.Header().Set("WWW-Authenticate", challenge)
	}
	write(w, status, answer)
}

func (s *server) answer(r *http.Request) (status int, challenge string, answer any) {
	t, known := s.token(r)
	if !known {
		refused := &refusal{status: http.StatusUnauthorized, code: invalidToken}
		return refused.status, refused.challenge(), envelope(nil, refused.result())
	}
	var in rpc
	if err := guard.ReadJSON(r, guard.MaxBody, &in); err != nil {
		return http.StatusBadRequest, "", rpcError(nil, -32700, err.Error())
	}
	if in.Method != "tools/call" {
		return http.StatusOK, "", rpcError(in.ID, -32601, "The model serves tools/call alone.")
	}
	if _, known := tools[in.Params.Name]; !known {
		return http.StatusOK, "", rpcError(in.ID, -32602, "There is no such tool.")
	}
	result, refused := s.call(t, in.Params.Name, in.Params.Arguments)
	if refused != nil {
		return refused.status, refused.challenge(), envelope(in.ID, refused.result())
	}
	return http.StatusOK, "", envelope(in.ID, map[string]any{"structuredContent": result})
}

// token is that of the request, if it is known and has not expired.
func (s *server) token(r *http.Request) (token, bool) {
	value, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tokens[value]
	return t, ok && known && time.Now().Before(t.expires)
}

// challenge is the header of a refusal that a new sign-in may help (RFC 6750 §3.1).
func (r *refusal) challenge() string {
	if r.status == http.StatusOK {
		return ""
	}
	c := fmt.Sprintf("Bearer error=%q", r.code)
	if len(r.scope) > 0 {
		c += fmt.Sprintf(", scope=%q", strings.Join(r.scope, " "))
	}
	return c
}

func (r *refusal) result() map[string]any {
	structured := map[string]any{"code": r.code}
	for name, value := range r.detail {
		structured[name] = value
	}
	return map[string]any{"isError": true, "structuredContent": structured}
}

func envelope(id jsontext.Value, result map[string]any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": orNull(id), "result": result}
}

func rpcError(id jsontext.Value, code int, message string) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": orNull(id), "error": map[string]any{"code": code, "message": message}}
}

func orNull(id jsontext.Value) jsontext.Value {
	if len(id) == 0 {
		return jsontext.Value("null")
	}
	return id
}

// refresh gives a new access token for a refresh token, with the claims of now
// (RFC 6749 §6).
func (s *server) refresh(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_request"})
		return
	}
	value, ok := s.renew(r.PostForm.Get("refresh_token"))
	if !ok {
		write(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	write(w, http.StatusOK, map[string]any{"access_token": value, "token_type": "Bearer", "expires_in": int(tokenLife.Seconds())})
}

func (m *model) renew(refreshToken string) (access string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.refreshes[refreshToken]
	if !ok || m.connections[t.connection].revoked {
		return "", false
	}
	return m.mint(t.connection, t.scopes), true
}

// mint must be called under the lock.
func (m *model) mint(connection string, scopes []string) (access string) {
	access = rand.Text()
	m.tokens[access] = token{connection, slices.Clone(scopes), m.connections[connection].grants(), time.Now().Add(tokenLife)}
	return access
}

// decision is the owner's, from the web app.
func (s *server) decision(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+s.owner {
		write(w, http.StatusUnauthorized, map[string]any{"code": "human_required"})
		return
	}
	var in struct {
		Decision string `json:"decision"`
	}
	if err := guard.ReadJSON(r, guard.MaxBody, &in); err != nil || in.Decision != "accept" && in.Decision != "decline" {
		write(w, http.StatusBadRequest, map[string]any{"code": "invalid_arguments"})
		return
	}
	state, refused := s.decide(r.PathValue("id"), in.Decision)
	if refused != nil {
		write(w, refused.status, map[string]any{"code": refused.code, "state": state})
		return
	}
	write(w, http.StatusOK, map[string]any{"state": state})
}

func write(w http.ResponseWriter, status int, answer any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.MarshalWrite(w, answer) // the host notices an answer that does not arrive
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // ends the connection just as well
	}
	connection.Close()
}

// connect makes a connection with tokens of each of the scopes, and no project.
func (m *model) connect(scopeSets ...[]string) (connectionID string, keys []credentials) {
	m.mu.Lock()
	defer m.mu.Unlock()
	connectionID = m.newID("connection")
	m.connections[connectionID] = &connection{projects: map[string]bool{}}
	for _, scopes := range scopeSets {
		refresh := rand.Text()
		m.refreshes[refresh] = token{connection: connectionID, scopes: scopes}
		keys = append(keys, credentials{access: m.mint(connectionID, scopes), refresh: refresh})
	}
	return connectionID, keys
}

// change is something that the owner does in the web app.
func (m *model) change(f func(m *model)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m)
}
