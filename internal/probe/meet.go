package probe

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// message is a JSON-RPC answer as far as a survey reads it (JSON-RPC 2.0 §5).
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Result  jsontext.Value `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (got *answer) message() (m message, ok bool) {
	err := json.Unmarshal(got.Body, &m, lenient)
	return m, err == nil && m.JSONRPC == "2.0" && (m.Error != nil || len(m.Result) > 0)
}

// lenient is the way that hosts read JSON: the last of two equal names wins, and
// bad UTF-8 is replaced.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// rpc is a JSON-RPC request to the endpoint.
func (s *survey) rpc(what, method string, params map[string]any, header http.Header) question {
	s.nextID++
	id := strconv.Itoa(s.nextID)
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.nextID, "method": method, "params": params}, json.Deterministic(true))
	if err != nil {
		panic("probe: a request cannot be written: " + err.Error()) // it is made of strings and maps of ours
	}
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	return question{what: what, method: http.MethodPost, address: s.endpoint.String(), header: header, body: body, rpcID: id}
}

// modern is a request of the stateless era (2026-07-28).
func (s *survey) modern(method, tool string, params map[string]any) question {
	if params == nil {
		params = map[string]any{}
	}
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    Version20260728,
		"io.modelcontextprotocol/clientInfo":         clientInfo,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}
	header := http.Header{"Mcp-Protocol-Version": {Version20260728}, "Mcp-Method": {method}}
	if tool != "" {
		header.Set("Mcp-Name", tool)
	}
	return s.rpc(method+" 2026-07-28", method, params, header)
}

var clientInfo = map[string]any{"name": "osfoundry probe", "version": "1"}

func (s *survey) legacyHeader() http.Header {
	header := http.Header{}
	if s.spoken != "" {
		header.Set("Mcp-Protocol-Version", s.spoken)
	}
	if s.session != "" {
		header.Set("Mcp-Session-Id", s.session)
	}
	return header
}

func (s *survey) initialize(what string) question {
	return s.rpc(what, "initialize", map[string]any{"protocolVersion": Version20251125, "capabilities": map[string]any{}, "clientInfo": clientInfo}, http.Header{})
}

// meet judges the answer to server/discover, and initializes.
func (s *survey) meet(ctx context.Context) {
	modern := s.judgeDiscover()
	s.initialized = s.ask(ctx, s.initialize("initialize "+Version20251125))
	got := &s.initialized
	if got.failure != "" {
		return
	}
	switch got.Status {
	case http.StatusOK:
		s.judgeInitialize()
	case http.StatusUnauthorized:
	case http.StatusForbidden:
		s.find("status-403", "initialize: HTTP 403")
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if got.redirect(s.endpoint.String()) == nil || s.discovered.redirect(s.endpoint.String()) == nil {
			s.find("initialize-failed", "HTTP %d", got.Status)
		}
	default:
		if modern {
			s.find("initialize-missing", "HTTP %d to initialize, while server/discover works", got.Status)
			return
		}
		s.refused("initialize-failed", "initialize", got)
	}
}

// refused finds what an answer that is neither 200 nor a challenge is.
func (s *survey) refused(rule, what string, got *answer) {
	if got.html() {
		s.find("html-answer", "%s: HTTP %d with a page", what, got.Status)
		return
	}
	s.find(rule, "%s: HTTP %d: %s", what, got.Status, shorten(got.Body))
}

// discovery is the result of server/discover.
type discovery struct {
	Versions     []string       `json:"supportedVersions"`
	Capabilities jsontext.Value `json:"capabilities"`
	Instructions string         `json:"instructions"`
}

// judgeDiscover reports whether the server speaks 2026-07-28. Refusing that is no
// fault; being silent about it is.
func (s *survey) judgeDiscover() (modern bool) {
	got := &s.discovered
	if got.failure != "" {
		return false
	}
	if got.Status == http.StatusAccepted {
		s.find("discover-hangs", "HTTP 202")
		return false
	}
	m, ok := got.message()
	if got.Status != http.StatusOK || !ok || m.Error != nil {
		return false // hosts fall back to initialize at once
	}
	var d discovery
	if err := json.Unmarshal(m.Result, &d, lenient); err != nil || len(d.Versions) == 0 || m.Result.Kind() != '{' || d.Capabilities.Kind() != '{' {
		s.find("discover-incomplete", "%s", shorten(m.Result))
		return false
	}
	s.report.Versions, s.report.Instructions = d.Versions, d.Instructions
	return slices.Contains(d.Versions, Version20260728)
}

// result is the result of the answer; ok is false after a finding that there is none.
func (s *survey) result(what, rule string, got *answer) (result jsontext.Value, ok bool) {
	if got.failure != "" {
		return nil, false
	}
	if got.Status != http.StatusOK {
		s.refused(rule, what, got)
		return nil, false
	}
	if got.html() {
		s.find("html-answer", "%s: HTTP 200 with a page", what)
		return nil, false
	}
	m, ok := got.message()
	switch {
	case !jsontext.Value(got.Body).IsValid(lenient):
		s.find("not-json", "%s: %s: %s", what, mediaType(got.Header), shorten(got.Body))
	case !ok:
		s.find("not-jsonrpc", "%s: %s", what, shorten(got.Body))
	case m.Error != nil:
		s.find(rule, "%s: error %d: %s", what, m.Error.Code, m.Error.Message)
	case string(m.ID) != got.rpcID:
		s.find("not-jsonrpc", "%s: the answer has the id %s, want %s", what, shorten(m.ID), got.rpcID)
	default:
		return m.Result, true
	}
	return nil, false
}

// initialization is the result of initialize.
type initialization struct {
	Version      string         `json:"protocolVersion"`
	Capabilities jsontext.Value `json:"capabilities"`
	Info         struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"serverInfo"`
	Instructions string `json:"instructions"`
}

func (s *survey) judgeInitialize() {
	result, ok := s.result("initialize", "initialize-failed", &s.initialized)
	if !ok {
		return
	}
	var i initialization
	err := json.Unmarshal(result, &i, lenient)
	var lacking []string
	for name, missing := range map[string]bool{
		"protocolVersion": i.Version == "", "capabilities": i.Capabilities.Kind() != '{',
		"serverInfo.name": i.Info.Name == "", "serverInfo.version": i.Info.Version == "",
	} {
		if missing {
			lacking = append(lacking, name)
		}
	}
	slices.Sort(lacking)
	switch {
	case err != nil:
		s.find("initialize-incomplete", "%s", shorten(result))
	case len(lacking) > 0:
		s.find("initialize-incomplete", "without %s", strings.Join(lacking, ", "))
	case !slices.Contains(legacyVersions, i.Version):
		s.find("initialize-incomplete", "protocolVersion %q", i.Version)
	}
	s.spoken, s.session = i.Version, s.initialized.Header.Get("Mcp-Session-Id")
	s.report.Server = strings.TrimSpace(i.Info.Name + " " + i.Info.Version)
	if s.report.Versions == nil && i.Version != "" {
		s.report.Versions = []string{i.Version}
	}
	if i.Instructions != "" {
		s.report.Instructions = i.Instructions
	}
	if s.session != "" {
		s.find("sessions", "initialize gives a Mcp-Session-Id")
	}
}

// legacyVersions are those that initialize may agree on.
var legacyVersions = []string{"2024-11-05", Version20250326, Version20250618, Version20251125}
