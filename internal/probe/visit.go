package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// visit is a conversation with a server, with a token or without: the questions of a
// survey, each asked once. What a survey would find matters only where the
// conversation ends on it.
type visit struct {
	*survey
	definitions []definition // of the tools, in the list's order
}

// VisitOptions say how to speak to a server.
type VisitOptions struct {
	Header  http.Header   // sent to the endpoint's origin only
	Timeout time.Duration // for one exchange; 0 is 10 s

	// Progress is told how many questions were asked of how many, about.
	Progress func(done, all int, next string)
}

// newVisit makes a visit of so many questions, about.
func newVisit(endpoint string, o VisitOptions, questions int) (*visit, error) {
	at, err := url.Parse(endpoint)
	if err != nil {
		return nil, fmt.Errorf("the address is none: %w", withoutURL(err))
	}
	if !isWeb(at) || at.User != nil || at.Fragment != "" {
		return nil, errors.New("the address must begin with http:// or https://, without user and fragment")
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	asked := SurveyOptions{Repeat: 1, Timeout: o.Timeout, Header: o.Header.Clone(), slow: o.Timeout}
	if asked.Header == nil {
		asked.Header = http.Header{}
	}
	if o.Progress != nil {
		asked.Progress = func(done, _ int, next string) { o.Progress(done, max(questions, done+1), next) }
	}
	return &visit{survey: &survey{asker: newAsker(at, asked), o: asked, endpoint: at, report: &Report{Endpoint: endpoint, Access: Unknown}}}, nil
}

func (v *visit) close(ctx context.Context) {
	v.leave(ctx)
	v.asker.client.CloseIdleConnections()
}

// with goes on with a token, in a new session.
func (v *visit) with(token string) {
	v.asker.header.Set("Authorization", "Bearer "+token)
	v.session, v.spoken = "", ""
	v.report.Findings = nil
}

// ErrSignIn says that the server shows nothing before a sign-in.
var ErrSignIn = errors.New("the server lists its tools only after a sign-in")

// tools meets the server and reads the definitions of its tools.
func (v *visit) tools(ctx context.Context) error {
	if !v.reach(ctx) {
		return v.stuck(ctx)
	}
	v.meet(ctx)
	if v.initialized.Status == http.StatusOK && v.initialized.failure == "" {
		q := v.rpc("notifications/initialized", "notifications/initialized", nil, v.legacyHeader())
		q.body, q.rpcID = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), ""
		v.ask(ctx, q)
	}
	v.listed = v.ask(ctx, v.survey.list(""))
	if v.listed.failure == "" && (v.listed.Status == http.StatusUnauthorized || v.listed.Status == http.StatusForbidden) {
		return ErrSignIn
	}
	raw, ok := v.pages(ctx)
	if !ok {
		return v.stuck(ctx)
	}
	v.definitions = make([]definition, len(raw))
	for i, value := range raw {
		if err := json.Unmarshal(value, &v.definitions[i], lenient); err != nil {
			return fmt.Errorf("tools/list: tool %d is no definition: %w", i+1, err)
		}
	}
	return nil
}

// stuck is why the conversation ended: the last error that was found.
func (v *visit) stuck(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for i := len(v.report.Findings) - 1; i >= 0; i-- {
		if f := v.report.Findings[i]; f.Severity == Error {
			return fmt.Errorf("%s: %s (%s)", f.Title, f.Detail, f.Clause)
		}
	}
	return errors.New("the server cannot be spoken to; osfoundry probe " + v.report.Endpoint + " says more")
}

// call calls a tool with a token. A refusal of any kind is a result, no error.
func (v *visit) call(ctx context.Context, tool string, arguments jsontext.Value) (Result, error) {
	params := map[string]any{"name": tool, "arguments": arguments}
	q := v.rpc("tools/call "+tool, "tools/call", params, v.legacyHeader())
	if v.statelessOnly() {
		q = v.modern("tools/call", tool, params)
	}
	got := v.ask(ctx, q)
	if got.failure != "" {
		return Result{}, fmt.Errorf("tools/call: %s", got.detail)
	}
	return readResult(got.Exchange)
}
