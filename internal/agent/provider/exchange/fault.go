package exchange

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// unreached is the fault of a request without an answer.
func (x *Exchange) unreached(err error) error {
	cause := secretless(err)
	var timeout net.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(cause, guard.ErrNotAllowed):
		return x.fault(agent.FaultRefused, "may not be spoken to: it is neither on the public internet by https, nor listed as a server of this network.", cause)
	case errors.Is(cause, guard.ErrTooLarge):
		return x.fault(agent.FaultLarge, "sent more than is allowed.", cause)
	case errors.As(cause, &name):
		return x.fault(agent.FaultDown, "was not found.", cause)
	case errors.As(cause, &certificate):
		return x.fault(agent.FaultDown, "has a certificate that is not valid.", cause)
	case errors.As(cause, &timeout) && timeout.Timeout(), errors.Is(cause, context.DeadlineExceeded):
		return x.fault(agent.FaultSlow, "did not answer in time.", cause)
	}
	return x.fault(agent.FaultDown, "did not answer.", cause)
}

// interrupted is the fault of an answer that could not be read to its end.
func (x *Exchange) interrupted(err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, guard.ErrTooLarge):
		return x.fault(agent.FaultLarge, "sent more than is allowed.", err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return x.fault(agent.FaultSlow, "did not finish its answer in time.", err)
	}
	return x.Cut()
}

// maxRefusal is how much of a refusal is read, in bytes.
const maxRefusal = 64 << 10

// refusal is an answer that is not 200.
type refusal struct {
	status int
	body   string
}

// Mentions reports whether the request was refused for its form (400 or 422) and the
// refusal names the parameter, so that one without it may be taken.
func (x *Exchange) Mentions(parameter string) bool {
	r := x.refused
	return r != nil && (r.status == http.StatusBadRequest || r.status == http.StatusUnprocessableEntity) && strings.Contains(r.body, parameter)
}

func (x *Exchange) refuse(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // half of it is enough
	if ended := x.asked.Err(); ended != nil {
		return ended
	}
	x.refused = &refusal{response.StatusCode, string(text)}
	fault := x.status(response.StatusCode, code(text))
	fault.After = retryAfter(response.Header, time.Now())
	return fault
}

// status is the fault of an answer with this status and code.
func (x *Exchange) status(status int, code string) *agent.Fault {
	why := fmt.Sprintf(" (%d).", status)
	if code != "" {
		why = fmt.Sprintf(" (%d, %s).", status, code)
	}
	switch {
	case status == http.StatusTooManyRequests, status == 529: // 529: overloaded, of Anthropic
		return x.fault(agent.FaultBusy, "asks to wait: too many requests, or a quota is used up"+why, nil)
	case status == http.StatusRequestTimeout:
		return x.fault(agent.FaultSlow, "gave up waiting"+why, nil)
	case status >= 500:
		return x.fault(agent.FaultFailed, "failed"+why, nil)
	case status == http.StatusUnauthorized:
		return x.fault(agent.FaultRefused, "did not accept the key"+why, nil)
	case status == http.StatusForbidden:
		return x.fault(agent.FaultRefused, "does not let this key do that"+why, nil)
	case status == http.StatusNotFound:
		return x.fault(agent.FaultRefused, "does not know the model, or does not speak this protocol at this address"+why, nil)
	case status == http.StatusRequestEntityTooLarge:
		return x.fault(agent.FaultRefused, "did not take so long a request"+why, nil)
	case status >= 400:
		return x.fault(agent.FaultRefused, "did not take the request"+why, nil)
	case status >= 300:
		return x.fault(agent.FaultRefused, "sends to another address, which is not followed"+why, nil)
	}
	return x.fault(agent.FaultGarbage, "answered with a status that means nothing here"+why, nil)
}

// meanings are the codes of errors that are repeated to people, with the status that
// each stands for. Others are not, nor are messages: servers put keys and prompts
// into them.
var meanings = map[string]int{
	"invalid_api_key": 401, "authentication_error": 401,
	"permission_error": 403, "billing_error": 402,
	"model_not_found": 404, "not_found_error": 404,
	"invalid_request_error": 400, "context_length_exceeded": 400, "request_too_large": 413,
	"insufficient_quota": 429, "rate_limit_exceeded": 429, "rate_limit_error": 429,
	"overloaded_error": 529, "server_error": 500, "api_error": 500, "timeout_error": 504,
}

// failure is how servers write errors: OpenAI's and Anthropic's object, a text
// (Ollama), or all of it at the top (vLLM).
type failure struct {
	Error jsontext.Value `json:"error"`
	Code  jsontext.Value `json:"code"`
	Type  jsontext.Value `json:"type"`
}

// code finds a known code in an error's JSON, "" if there is none.
func code(text []byte) string {
	code, _ := meaning(text)
	return code
}

// meaning finds a known code, or a status that is written as a code.
func meaning(text []byte) (code string, status int) {
	var top, in failure
	if json.Unmarshal(text, &top) != nil {
		return "", 0
	}
	if top.Error.Kind() == '{' && json.Unmarshal(top.Error, &in) != nil {
		return "", 0
	}
	for _, value := range []jsontext.Value{in.Code, in.Type, top.Code, top.Type} {
		word := strings.Trim(string(value), `"`)
		if status, known := meanings[word]; known {
			return word, status
		}
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 && status == 0 {
			status = n
		}
	}
	return "", status
}

// StreamError is the fault of an error that was sent in the middle of a stream, as
// JSON.
func (x *Exchange) StreamError(text []byte) error {
	code, status := meaning(text)
	if status == 0 {
		return x.fault(agent.FaultFailed, "failed in the middle of its answer.", nil)
	}
	return x.status(status, code)
}

// longestWait is the most that is made of a server's wish to wait.
const longestWait = 24 * time.Hour

// retryAfter reads how long to wait (RFC 9110 §10.2.3): seconds, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if blank(value) {
		return 0
	}
	if seconds, err := strconv.ParseFloat(value, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if !(seconds > 0) {
			return 0
		}
		return time.Duration(min(seconds, longestWait.Seconds()) * float64(time.Second))
	}
	if date, err := http.ParseTime(value); err == nil {
		return min(max(date.Sub(now), 0), longestWait)
	}
	return 0
}
