package api

import (
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// badRequest is the code of a request that is wrong in form, before anything in
// it is judged: 400, 408, 413 or 415, as its detail status says.
const badRequest access.Code = "bad_request"

// maxName bounds how much of a parameter's name a refusal repeats, in bytes.
const maxName = 60

// statusOf maps each code to HTTP, once for the whole owner API.
var statusOf = map[access.Code]int{
	badRequest:                 http.StatusBadRequest,
	access.InvalidArguments:    http.StatusUnprocessableEntity,
	access.Unauthenticated:     http.StatusUnauthorized,
	access.InvalidToken:        http.StatusUnauthorized,
	access.Forbidden:           http.StatusForbidden,
	access.InsufficientScope:   http.StatusForbidden,
	access.ApproverLostAccess:  http.StatusForbidden,
	access.NotInProject:        http.StatusForbidden,
	access.LocalOnly:           http.StatusForbidden,
	access.ACLDenied:           http.StatusForbidden,
	access.NotInChannel:        http.StatusForbidden,
	access.SignInAgain:         http.StatusForbidden,
	access.SeatRequired:        http.StatusForbidden,
	access.NotYours:            http.StatusForbidden,
	access.HumanRequired:       http.StatusForbidden,
	access.NotFound:            http.StatusNotFound,
	access.ConnectionPaused:    http.StatusConflict,
	access.ConnectionRevoked:   http.StatusConflict,
	access.VersionConflict:     http.StatusConflict,
	access.AlreadyDecided:      http.StatusConflict,
	access.InProgress:          http.StatusConflict,
	access.Conflict:            http.StatusConflict,
	access.Changed:             http.StatusConflict,
	access.IdempotencyMismatch: http.StatusUnprocessableEntity, // draft-ietf-httpapi-idempotency-key-header-06 §2.7
	access.TooLarge:            http.StatusRequestEntityTooLarge,
	access.RateLimited:         http.StatusTooManyRequests,
	access.Busy:                http.StatusServiceUnavailable,
	access.Unavailable:         http.StatusServiceUnavailable,
}

// conflict is a refusal for the state of something else than what the caller may
// do: 409, whatever its code means elsewhere.
type conflict struct{ error }

func (c conflict) Unwrap() error { return c.error }

// asConflict makes a refusal with one of the codes a conflict.
func asConflict(err error, codes ...access.Code) error {
	if err != nil && slices.Contains(codes, access.CodeOf(err)) {
		return conflict{err}
	}
	return err
}

// refusal is how an error looks on the wire: the status, and the object that
// stands under "error".
type refusal struct {
	status int
	body   map[string]any
	retry  string // Retry-After in seconds, or ""
}

// refusalOf renders err. Only an *access.Error or *guard.BodyError says anything
// of itself; all else is our fault, and the log's.
func refusalOf(err error) refusal {
	if body, ok := errors.AsType[*guard.BodyError](err); ok {
		return refuseBody(body)
	}
	e, ok := errors.AsType[*access.Error](err)
	status := 0
	if ok {
		status = statusOf[e.Code]
	}
	if _, stands := errors.AsType[conflict](err); stands {
		status = http.StatusConflict
	}
	if status == 0 {
		return refusal{status: http.StatusInternalServerError, body: map[string]any{
			"code": access.Internal, "message": "The call failed and nothing was changed. Try again; if it goes on, tell the server's owner."}}
	}
	r := refusal{status: status, body: map[string]any{"code": e.Code, "message": e.Message}}
	details := maps.Clone(e.Details)
	if list, ok := details["errors"].([]workspace.Fault); ok { // the owner API names fields, tools name pointers
		fields := map[string]string{}
		for _, f := range list {
			if name := fieldOf(f.Pointer); fields[name] == "" {
				fields[name] = f.Message
			}
		}
		r.body["fields"] = fields
		delete(details, "errors")
	}
	for name, value := range details {
		if _, taken := r.body[name]; !taken {
			r.body[name] = value
		}
	}
	r.retry = retryAfter(e)
	return r
}

// refuseBody keeps apart what is no JSON (400) and what does not fit (422).
func refuseBody(e *guard.BodyError) refusal {
	r := refusal{status: e.Status, body: map[string]any{"code": badRequest, "message": "The body " + e.Message + "."}}
	switch {
	case e.Status == http.StatusRequestEntityTooLarge:
		r.body["code"], r.body["message"] = access.TooLarge, e.Message
	case e.Status != http.StatusBadRequest:
		r.body["message"] = e.Message
	case !e.Syntax:
		r.status, r.body["code"], r.body["message"] = http.StatusUnprocessableEntity, access.InvalidArguments, "Some fields are not right."
	}
	if e.Pointer != "" {
		r.body["fields"] = map[string]string{fieldOf(e.Pointer): e.Message}
		if e.Syntax {
			r.body["message"] = "The body is not JSON that can be accepted."
		}
	}
	return r
}

// fieldOf names a field by its JSON Pointer without the first slash: name, or
// tabs/0/title.
func fieldOf(pointer string) string { return strings.TrimPrefix(pointer, "/") }

// retryAfter is the seconds after which trying again makes sense (RFC 9110
// §10.2.3).
func retryAfter(e *access.Error) string {
	if ms, ok := e.Details["retry_after_ms"].(int64); ok && ms > 0 {
		return strconv.FormatInt(int64(math.Ceil(float64(ms)/1000)), 10)
	}
	switch e.Code {
	case access.Busy, access.Unavailable, access.InProgress, access.RateLimited:
		return "1"
	}
	return ""
}

// fail answers with err, and logs what the caller does not get to know.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	answer := refusalOf(err)
	if answer.status >= 500 {
		a.Log.Error("call failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	if answer.retry != "" {
		w.Header().Set("Retry-After", answer.retry)
	}
	if answer.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="osfoundry"`) // RFC 9110 §11.6.1
	}
	reply(w, answer.status, map[string]any{"error": answer.body})
}

// reply writes one JSON answer.
func reply(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"The answer could not be written."}}`)
	}
	replyRaw(w, status, body)
}

func replyRaw(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // an error means that the caller has gone
}

// wrong refuses a request for one faulty parameter. Its name is the caller's own
// words, and repeated only as far as it can be one.
func wrong(name, message string) error {
	name = strings.ToValidUTF8(name[:min(len(name), maxName)], "")
	return access.Refuse(badRequest, "The parameter %s is not right: %s", name, message).
		With("errors", []workspace.Fault{{Pointer: "/" + name, Message: message}})
}
