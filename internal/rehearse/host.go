package rehearse

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// credentials are a host's tokens.
type credentials struct{ access, refresh string }

// host calls a model server over HTTP, as an assistant would.
type host struct {
	url    string
	client *http.Client
}

func newHost(url string) *host {
	return &host{url, &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: parallel, IdleConnTimeout: time.Minute},
	}}
}

func (h *host) close() { h.client.CloseIdleConnections() }

// outcome is what a call came to.
type outcome struct {
	status int
	code   string // of a refusal
	scope  string // that a challenge names
	result result
}

// result has the members that the experiments read.
type result struct {
	Code      string   `json:"code"`
	State     string   `json:"state"`
	Needed    string   `json:"needed"`
	Projects  []string `json:"projects"`
	Items     []string `json:"items"`
	HandoffID string   `json:"handoff_id"`
	TaskID    string   `json:"task_id"`
	Status    string   `json:"status"`
	Replayed  bool     `json:"replayed"`
}

// String is the status of HTTP and the code of a refusal.
func (o outcome) String() string { return strings.TrimSpace(fmt.Sprintf("%d %s", o.status, o.code)) }

func (o outcome) allowed() bool { return o.status == http.StatusOK && o.code == "" }

// attemptHeader says which attempt of which call a request is, to the network that
// loses some.
const attemptHeader = "Rehearsal-Attempt"

// call calls a tool once. The error is of the network.
func (h *host) call(ctx context.Context, as credentials, tool string, a arguments) (outcome, error) {
	return h.attempt(ctx, as, tool, a, "")
}

func (h *host) attempt(ctx context.Context, as credentials, tool string, a arguments, attempt string) (o outcome, err error) {
	r, err := h.request(ctx, "/mcp", as.access, map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": a}})
	if err != nil {
		return o, err
	}
	if attempt != "" {
		r.Header.Set(attemptHeader, attempt)
	}
	var answer struct {
		Result struct {
			IsError    bool   `json:"isError"`
			Structured result `json:"structuredContent"`
		} `json:"result"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	var challenge string
	if o.status, challenge, err = h.send(r, &answer); err != nil {
		return o, fmt.Errorf("%s: %w", tool, err)
	}
	if answer.Error.Message != "" {
		return o, fmt.Errorf("%s: %s", tool, answer.Error.Message)
	}
	o.result = answer.Result.Structured
	if answer.Result.IsError {
		o.code = answer.Result.Structured.Code
	}
	if _, named, ok := strings.Cut(challenge, `scope="`); ok {
		o.scope, _, _ = strings.Cut(named, `"`)
	}
	return o, nil
}

// decide is the owner's answer to a handoff.
func (h *host) decide(ctx context.Context, owner, handoff, decision string) (o outcome, err error) {
	r, err := h.request(ctx, "/handoffs/"+handoff+"/decision", owner, map[string]any{"decision": decision})
	if err != nil {
		return o, err
	}
	if o.status, _, err = h.send(r, &o.result); err != nil {
		return o, fmt.Errorf("decide: %w", err)
	}
	o.code = o.result.Code
	return o, nil
}

// renew takes a new access token. The code is "" or the error of the token
// endpoint.
func (h *host) renew(ctx context.Context, as *credentials) (code string, err error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {as.refresh}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/token", strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		AccessToken string `json:"access_token"`
		Error       string `json:"error"`
	}
	if _, _, err := h.send(r, &answer); err != nil {
		return "", fmt.Errorf("refresh: %w", err)
	}
	if answer.Error == "" {
		as.access = answer.AccessToken
	}
	return answer.Error, nil
}

func (h *host) request(ctx context.Context, path, bearer string, body any) (*http.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+bearer)
	return r, nil
}

func (h *host) send(r *http.Request, into any) (status int, challenge string, err error) {
	answer, err := h.client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return 0, "", err
	}
	return answer.StatusCode, answer.Header.Get("WWW-Authenticate"), json.Unmarshal(text, into)
}
