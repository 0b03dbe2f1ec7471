package mcp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// retryAfter is the answer to a database that is gone for a moment: seconds.
const retryAfter = "5"

// credential is what the Authorization header says.
type credential struct {
	presented bool
	hash      access.TokenHash // "" if it can't be an access token of ours
	scopes    access.Scopes    // of a token that was looked up
}

// readCredential reads the bearer token (RFC 6750 §2.1). It is looked for
// nowhere else; two headers are two answers to one question, hence none.
func readCredential(h http.Header) credential {
	values := h["Authorization"]
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return credential{}
	}
	if len(values) > 1 {
		return credential{presented: true}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return credential{presented: true}
	}
	hash, ok := access.HashToken(access.TokenAccess, strings.TrimLeft(token, " "))
	if !ok {
		return credential{presented: true}
	}
	return credential{presented: true, hash: hash}
}

// challenge is the WWW-Authenticate header (RFC 6750 §3, RFC 9728 §5.1) of this
// mount under the name the client used.
func (x *exchange) challenge(scope, code, description string) string {
	return `Bearer resource_metadata="` + x.Site.Origin(x.r) + "/.well-known/oauth-protected-resource" + x.Path +
		`", scope="` + quotable(scope) + `", error="` + code + `", error_description="` + quotable(description) + `"`
}

// quotable drops what RFC 6750 §3 does not allow inside the quotes.
func quotable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, s)
}

// unauthorized answers 401: who has no usable token is asked to sign in, for
// all scopes at once, because few hosts come back for more. The answer is the
// same for every unusable token.
func (x *exchange) unauthorized() {
	if x.token.presented {
		address := guard.AddressKey(x.Site.ClientAddress(x.r))
		if wait, ok := x.BadTokens.Take(address); !ok {
			x.tooMany(wait)
			return
		}
	}
	const connect = "Connect osFoundry to continue"
	challenge := x.challenge(access.AllScopes.String(), "invalid_token", connect)
	x.w.Header()["Www-Authenticate"] = []string{challenge}
	if x.msg.method != "tools/call" {
		body, err := json.Marshal(struct {
			Error       string `json:"error"`
			Description string `json:"error_description"`
		}{"invalid_token", connect})
		x.send(http.StatusUnauthorized, body, err)
		return
	}
	status := http.StatusUnauthorized
	if x.OpenAIStatusOK && !x.token.presented && x.fromOpenAI() {
		status = http.StatusOK
	}
	x.challenged(status, `"isError":true,"content":[{"type":"text","text":"Authentication required"}]`, challenge)
}

// fromOpenAI recognises ChatGPT by the names it gives itself. Nothing but the
// HTTP status depends on them.
func (x *exchange) fromOpenAI() bool {
	if strings.HasPrefix(x.r.UserAgent(), "openai-mcp/") {
		return true
	}
	raw := x.msg.params.meta.clientInfo
	if raw == nil {
		raw = x.msg.params.clientInfo
	}
	var info struct {
		Name string `json:"name"`
	}
	return raw != nil && json.Unmarshal(raw, &info) == nil && info.Name == "openai-mcp"
}

// forbidden answers 403 (RFC 6750 §3.1): the token lacks a scope. The challenge
// names the union of granted and needed scopes, so that nothing is lost by
// connecting again.
func (x *exchange) forbidden(e *access.Error) {
	scope, _ := e.Details["scope"].(string)
	challenge := x.challenge(scope, "insufficient_scope", e.Message)
	x.w.Header()["Www-Authenticate"] = []string{challenge}

	object := structured(e)
	b := []byte(`"isError":true,"content":[{"type":"text","text":`)
	b, err := jsontext.AppendQuote(b, object)
	if err != nil {
		x.send(0, nil, err)
		return
	}
	b = append(append(b, `}],"structuredContent":`...), object...)
	x.challenged(http.StatusForbidden, string(b), challenge)
}

// challenged answers a tools/call with a result that carries the challenge in
// its _meta as well, where ChatGPT looks for it.
func (x *exchange) challenged(status int, members, challenge string) {
	b := append(x.open(nil), `,"result":{`...)
	b = append(b, members...)
	if x.era == eraStateless {
		b = append(b, `,"resultType":"complete"`...)
	}
	b = append(b, `,"_meta":{"mcp/www_authenticate":[`...)
	b, err := jsontext.AppendQuote(b, challenge)
	b = append(b, ']')
	if x.era == eraStateless {
		b = append(b, x.fixed.identity...)
	}
	x.send(status, append(b, `}}}`...), err)
}

// tooMany answers 429 to an address that keeps trying tokens.
func (x *exchange) tooMany(wait time.Duration) {
	x.w.Header()["Retry-After"] = []string{strconv.Itoa(int((wait + time.Second - 1) / time.Second))}
	x.fail(http.StatusTooManyRequests, codeTooMany, "Too many unusable tokens came from this address. Wait, then connect again.")
}

// unavailable answers 503: the state can't be asked now. Never 401, which would
// make hosts throw their tokens away.
func (x *exchange) unavailable() {
	x.w.Header()["Retry-After"] = []string{retryAfter}
	x.fail(http.StatusServiceUnavailable, codeInternal, "The database does not answer. Try again in a moment, with the same idempotency_key.")
}

// answerFault answers what is wrong with a message.
func (x *exchange) answerFault(f *fault) {
	if f.code != codeVersion {
		x.fail(f.status, f.code, f.message)
		return
	}
	data, err := json.Marshal(struct {
		Supported []string `json:"supported"`
		Requested string   `json:"requested"`
	}{versions, strings.ToValidUTF8(shorten(f.requested), "?")})
	if err != nil {
		x.send(0, nil, err)
		return
	}
	x.failWith(f.status, f.code, f.message, data)
}
