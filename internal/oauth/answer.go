package oauth

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// refusal is an OAuth error (RFC 6749 §5.2, RFC 7591 §3.2.2) with its status.
type refusal struct {
	status      int
	code        string
	description string        // ASCII without quotes, for who builds the client
	retry       time.Duration // Retry-After, if more than 0
}

func (e *refusal) Error() string { return e.code + ": " + e.description }

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{status: status, code: code, description: fmt.Sprintf(format, args...)}
}

func invalidRequest(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "invalid_request", format, args...)
}

func invalidGrant(format string, args ...any) *refusal {
	return refuse(http.StatusBadRequest, "invalid_grant", format, args...)
}

func tooMany(wait time.Duration) *refusal {
	e := refuse(http.StatusTooManyRequests, "temporarily_unavailable", "Too many attempts from this address. Try again later.")
	e.retry = wait
	return e
}

// refusalOf turns any error into what the client is told. A database that is
// away is never the client's fault: it must not throw its tokens away.
func refusalOf(err error) *refusal {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e
	}
	switch access.CodeOf(err) {
	case access.Unavailable, access.Busy:
		e := refuse(http.StatusServiceUnavailable, "temporarily_unavailable", "The server cannot do this at the moment. Try again.")
		e.retry = time.Second
		return e
	}
	return refuse(http.StatusInternalServerError, "server_error", "The server failed. Nothing was changed.")
}

// fail answers err as JSON.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := refusalOf(err)
	if e.status >= 500 {
		s.Log.Error("oauth call failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	setRetry(w, e.retry)
	if e.code == "invalid_client" && r.Header.Get("Authorization") != "" {
		w.Header().Set("WWW-Authenticate", `Basic realm="osfoundry"`) // RFC 6749 §5.2
	}
	writeJSON(w, e.status, struct {
		Error       string `json:"error"`
		Description string `json:"error_description,omitempty"`
	}{e.code, e.description})
}

func setRetry(w http.ResponseWriter, wait time.Duration) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	}
}

// writeJSON answers what nobody may keep (RFC 6749 §5.1). Values hold no nil
// and no empty member: omitempty is on each that is optional.
func writeJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
		h.Set("Pragma", "no-cache")
	}
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has gone
}

func (s *Server) methodNotAllowed(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	writeJSON(w, http.StatusMethodNotAllowed, map[string]string{
		"error": "invalid_request", "error_description": "Use one of these methods: " + methods})
}

func (s *Server) nothingHere(w http.ResponseWriter, _ *http.Request) {
	guard.AllowAnyOrigin(w.Header())
	writeJSON(w, http.StatusNotFound, map[string]string{
		"error": "not_found", "error_description": "There is no such document on this server."})
}

// readForm reads the body of a POST as a form: nothing in the query, no more
// than 64 KiB, nothing that two readers could understand differently. A
// parameter that is not among repeatable stands there once (RFC 6749 §3.2).
func readForm(r *http.Request, repeatable ...string) (url.Values, error) {
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		return nil, invalidRequest("Parameters belong into the body, not into the URL.")
	}
	types := r.Header["Content-Type"]
	if len(types) != 1 || r.Header.Get("Content-Encoding") != "" {
		return nil, refuse(http.StatusUnsupportedMediaType, "invalid_request", "Send the body as application/x-www-form-urlencoded.")
	}
	media, _, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, refuse(http.StatusUnsupportedMediaType, "invalid_request", "Send the body as application/x-www-form-urlencoded.")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, guard.MaxOAuthBody+1))
	if err != nil {
		return nil, invalidRequest("The body did not arrive in whole.")
	}
	if len(body) > guard.MaxOAuthBody {
		return nil, refuse(http.StatusRequestEntityTooLarge, "invalid_request", "The body is larger than %d bytes.", guard.MaxOAuthBody)
	}
	return parseForm(string(body), repeatable...)
}

// parseForm reads parameters. A value without text counts as absent (RFC 6749
// §3.1).
func parseForm(text string, repeatable ...string) (url.Values, error) {
	form, err := url.ParseQuery(text)
	if err != nil {
		return nil, invalidRequest("The parameters are not well-formed.")
	}
	for name, values := range form {
		if !plainText(name) {
			return nil, invalidRequest("The name of a parameter is not valid text.")
		}
		if len(values) > 1 && !slices.Contains(repeatable, name) {
			return nil, invalidRequest("The parameter %s is there more than once.", printable(name, 64))
		}
		for _, v := range values {
			if name != "state" && !plainText(v) {
				return nil, invalidRequest("The parameter %s is not valid text.", printable(name, 64))
			}
		}
	}
	return form, nil
}

// plainText is text that every database keeps as it is.
func plainText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// printable cuts text that may repeat a caller's own words down to what RFC 6749
// §5.2 allows in a description, and to most bytes.
func printable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, s)
	return s[:min(len(s), most)]
}
