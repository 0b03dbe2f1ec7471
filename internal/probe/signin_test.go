package probe

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// desk is a stand with a whole sign-in: it remembers the authorization request and
// gives a token for its code alone.
type desk struct {
	*stand
	asked   url.Values // the last authorization request
	form    url.Values // the last one to the token endpoint
	revoked url.Values
	token   object
}

func newDesk(t *testing.T) *desk {
	d := &desk{stand: newStand(t)}
	d.server["revocation_endpoint"] = d.base + "/revoke"
	d.token = object{"access_token": "at-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-1", "scope": "read write"}
	d.authorize = func(w http.ResponseWriter, r *http.Request) {
		d.asked = r.URL.Query()
		back(w, r, url.Values{"code": {"code-1"}, "state": {d.asked.Get("state")}, "iss": {d.base}})
	}
	d.redeem = func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			panic(err)
		}
		d.form = r.PostForm
		challenge := sha256.Sum256([]byte(d.form.Get("code_verifier")))
		if d.form.Get("code") != "code-1" || base64.RawURLEncoding.EncodeToString(challenge[:]) != d.asked.Get("code_challenge") {
			answerJSON(w, http.StatusBadRequest, object{"error": "invalid_grant", "error_description": "no such code"})
			return
		}
		answerJSON(w, http.StatusOK, d.token)
	}
	d.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/revoke" {
			if err := r.ParseForm(); err != nil {
				panic(err)
			}
			d.revoked = r.PostForm
			return true
		}
		d.open = r.Header.Get("Authorization") == "Bearer at-1"
		return false
	}
	return d
}

// person goes where the address leads, as a browser would, and comes back to the
// callback.
func person(t *testing.T) func(ctx context.Context, address string) error {
	return func(_ context.Context, address string) error {
		answer, err := http.Get(address)
		if err != nil {
			t.Errorf("the browser: %v", err)
			return nil
		}
		answer.Body.Close()
		return nil
	}
}

func (d *desk) signIn(t *testing.T, change func(o *SignInOptions)) (*SignInReport, error) {
	t.Helper()
	o := SignInOptions{Open: person(t), Wait: 20 * time.Second}
	if change != nil {
		change(&o)
	}
	return SignIn(t.Context(), d.base+"/mcp", o)
}

func TestASignInGoesFromTheAddressToAListOfTools(t *testing.T) {
	d := newDesk(t)
	call, err := NewToolCall("look", `{"at":"it"}`)
	if err != nil {
		t.Fatal(err)
	}
	report, err := d.signIn(t, func(o *SignInOptions) { o.Call = call })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(report.Tools, []string{"look", "change"}) || report.ClientID != "client-1" || !report.Registered || report.Issuer != d.base {
		t.Errorf("got %+v", report)
	}
	if len(report.Findings) != 0 {
		t.Errorf("a healthy server has findings: %+v", report.Findings)
	}
	if !slices.Equal(report.Granted, []string{"read", "write"}) || report.ExpiresIn != 3600 || !report.Refresh {
		t.Errorf("the token came to %+v", report)
	}
	if c := report.Call; c == nil || c.Status != 200 || c.IsError || c.Text != "done" {
		t.Errorf("the call came to %+v", c)
	}
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "client-1", "code_challenge_method": "S256", "scope": "read write", "resource": d.base + "/mcp",
	} {
		if got := d.asked.Get(name); got != want {
			t.Errorf("authorize: got %s %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{
		"grant_type": "authorization_code", "client_id": "client-1", "redirect_uri": d.asked.Get("redirect_uri"), "resource": d.base + "/mcp",
	} {
		if got := d.form.Get(name); got != want {
			t.Errorf("token: got %s %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(d.asked.Get("redirect_uri"), "http://127.0.0.1:") || len(d.asked.Get("state")) < 16 {
		t.Errorf("the request was %v", d.asked)
	}
}

func TestATokenThatNobodyKeepsIsRevoked(t *testing.T) {
	d := newDesk(t)
	report, err := d.signIn(t, nil)
	if err != nil || !report.Revoked || d.revoked.Get("token") != "rt-1" || d.revoked.Get("client_id") != "client-1" {
		t.Errorf("got %+v, error %v, and %v at the revocation endpoint", report, err, d.revoked)
	}
	raw, err := json.Marshal(report)
	if err != nil || strings.Contains(string(raw), "at-1") || strings.Contains(string(raw), "rt-1") || strings.Contains(string(raw), "code-1") {
		t.Errorf("the report holds a secret (error %v): %s", err, raw)
	}
	d = newDesk(t)
	report, err = d.signIn(t, func(o *SignInOptions) { o.Keep = true })
	if err != nil || report.Revoked || d.revoked != nil || report.Grant.AccessToken != "at-1" {
		t.Errorf("a token to keep: got %+v, error %v, and %v at the revocation endpoint", report, err, d.revoked)
	}
	d = newDesk(t)
	d.rpc = func(w http.ResponseWriter, method string, _ object) bool {
		if method == "tools/list" && d.open {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	}
	if _, err = d.signIn(t, nil); err == nil || d.revoked.Get("token") != "rt-1" {
		t.Errorf("after a failure: error %v, and %v at the revocation endpoint", err, d.revoked)
	}
}

func TestAnAnswerThatIsNotTheServersIsNeverRedeemed(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(d *desk, v url.Values)
		want   string
	}{
		"another state":     {func(_ *desk, v url.Values) { v.Set("state", "other") }, "state"},
		"no state":          {func(_ *desk, v url.Values) { v.Del("state") }, "state"},
		"another iss":       {func(_ *desk, v url.Values) { v.Set("iss", "https://other.example") }, "iss"},
		"iss with a slash":  {func(d *desk, v url.Values) { v.Set("iss", d.base+"/") }, "iss"},
		"no iss":            {func(_ *desk, v url.Values) { v.Del("iss") }, "iss"},
		"two codes":         {func(_ *desk, v url.Values) { v.Add("code", "code-2") }, "code twice"},
		"two states":        {func(_ *desk, v url.Values) { v.Add("state", "other") }, "state twice"},
		"no code":           {func(_ *desk, v url.Values) { v.Del("code") }, "no code"},
		"a refusal":         {func(_ *desk, v url.Values) { v.Set("error", "access_denied") }, "access_denied"},
		"unadvertised, bad": {func(d *desk, v url.Values) { v.Set("iss", "https://other.example"); delete(d.server, "x") }, "iss"},
	} {
		d := newDesk(t)
		if name == "unadvertised, bad" {
			delete(d.server, "authorization_response_iss_parameter_supported")
		}
		d.authorize = func(w http.ResponseWriter, r *http.Request) {
			d.asked = r.URL.Query()
			v := url.Values{"code": {"code-1"}, "state": {d.asked.Get("state")}, "iss": {d.base}}
			c.answer(d, v)
			back(w, r, v)
		}
		_, err := d.signIn(t, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that says %q", name, err, c.want)
		}
		if d.form != nil {
			t.Errorf("%s: the code was redeemed: %v", name, d.form)
		}
	}
}

func TestAServerThatAHostMustNotUseIsRefusedBeforeAnybodySignsIn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *desk)
		want   string
	}{
		"no PKCE":          {func(d *desk) { delete(d.server, "code_challenge_methods_supported") }, "PKCE"},
		"plain alone":      {func(d *desk) { d.server["code_challenge_methods_supported"] = []string{"plain"} }, "PKCE"},
		"another issuer":   {func(d *desk) { d.server["issuer"] = "https://other.example" }, "issuer"},
		"another resource": {func(d *desk) { d.resource["resource"] = "https://other.example/mcp" }, "address"},
		"no metadata":      {func(d *desk) { d.serverAt = nil }, "metadata"},
		"no registration":  {func(d *desk) { delete(d.server, "registration_endpoint") }, "no client was given"},
		"registration refused": {func(d *desk) {
			d.register = func(object) (int, object) { return 400, object{"error": "invalid_client_metadata"} }
		}, "invalid_client_metadata"},
		"registration without ID": {func(d *desk) { d.register = func(in object) (int, object) { return 201, in } }, "without a client_id"},
		"a secret nobody asked": {func(d *desk) {
			d.register = func(in object) (int, object) { return 201, with(with(in, "client_id", "c"), "client_secret", "s") }
		}, "confidential"},
		"a page to open of no web": {func(d *desk) { d.server["authorization_endpoint"] = "file:///etc/passwd" }, "authorization_endpoint"},
	} {
		d := newDesk(t)
		c.change(d)
		opened := false
		_, err := d.signIn(t, func(o *SignInOptions) {
			o.Open = func(context.Context, string) error { opened = true; return errors.New("opened") }
		})
		if err == nil || opened || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, opened %t; want one that says %q before anything opens", name, err, opened, c.want)
		}
	}
}

func TestAClientThatIsThereAlreadyIsNotRegistered(t *testing.T) {
	d := newDesk(t)
	d.register = func(object) (int, object) { t.Error("a client was registered"); return 400, object{} }
	report, err := d.signIn(t, func(o *SignInOptions) {
		o.ClientID, o.Scopes = "https://client.example/metadata.json", []string{"read"}
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Registered || d.asked.Get("client_id") != "https://client.example/metadata.json" || d.form.Get("client_id") != d.asked.Get("client_id") || d.asked.Get("scope") != "read" {
		t.Errorf("got %+v; asked %v, redeemed %v", report, d.asked, d.form)
	}
}

func TestBadTokensAreFoundOrRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(d *desk)
		finding string
		want    string
	}{
		"no token":         {func(d *desk) { delete(d.token, "access_token") }, "", "bearer token"},
		"another type":     {func(d *desk) { d.token["token_type"] = "mac" }, "", "bearer token"},
		"a list of scopes": {func(d *desk) { d.token["scope"] = []string{"read"} }, "", "not that of OAuth"},
		"no refresh token": {func(d *desk) { delete(d.token, "refresh_token") }, "no-refresh", ""},
		"a null":           {func(d *desk) { d.token["id_token"] = nil }, "token-null", ""},
		"it is not taken":  {func(d *desk) { d.token["access_token"] = "at-2" }, "", "does not take its own token"},
		"a refused code": {func(d *desk) {
			d.redeem = func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 400, object{"error": "invalid_grant"}) }
		}, "", "invalid_grant"},
	} {
		d := newDesk(t)
		c.change(d)
		report, err := d.signIn(t, nil)
		found := slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.ID == c.finding })
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got error %v, want one that says %q", name, err, c.want)
		case c.want == "" && (err != nil || !found):
			t.Errorf("%s: got error %v and findings %+v, want %s", name, err, report.Findings, c.finding)
		}
	}
}

func TestFewerScopesAreThePersonsChoice(t *testing.T) {
	d := newDesk(t)
	d.token["scope"] = "read"
	report, err := d.signIn(t, nil)
	if err != nil || len(report.Findings) != 0 || !slices.Equal(report.Granted, []string{"read"}) {
		t.Errorf("got %+v and error %v, want read granted and no finding", report, err)
	}
}

func TestOnlyTheFirstAnswerAtTheCallbackCounts(t *testing.T) {
	d := newDesk(t)
	report, err := d.signIn(t, func(o *SignInOptions) {
		o.Open = func(ctx context.Context, address string) error {
			if err := person(t)(ctx, address); err != nil {
				return err
			}
			again := d.asked.Get("redirect_uri") + "?code=evil&state=evil"
			for range 2 {
				answer, err := http.Get(again)
				if err != nil {
					return err
				}
				answer.Body.Close()
				if answer.StatusCode != http.StatusConflict {
					t.Errorf("a later answer: got %d, want 409", answer.StatusCode)
				}
			}
			return nil
		}
	})
	if err != nil || len(report.Tools) != 2 {
		t.Errorf("got %+v and error %v, want a sign-in", report, err)
	}
}

func TestTheCallbackAnswersItsOwnAddressAlone(t *testing.T) {
	d := newDesk(t)
	_, err := d.signIn(t, func(o *SignInOptions) {
		o.Open = func(ctx context.Context, address string) error {
			u, err := url.Parse(address)
			if err != nil {
				return err
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Query().Get("redirect_uri")+"?code=evil&state=evil", nil)
			if err != nil {
				return err
			}
			r.Host = "rebound.example"
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("another host name: got %d, want 421", answer.StatusCode)
			}
			return person(t)(ctx, address)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestNobodyIsWaitedForWithoutEnd(t *testing.T) {
	d := newDesk(t)
	_, err := d.signIn(t, func(o *SignInOptions) {
		o.Wait, o.Open = time.Millisecond, func(context.Context, string) error { return nil }
	})
	if err == nil || !strings.Contains(err.Error(), "nobody signed in") {
		t.Errorf("got error %v, want one about the wait", err)
	}
}

func TestASavedTokenIsReadAsItWasWritten(t *testing.T) {
	d := newDesk(t)
	report, err := d.signIn(t, func(o *SignInOptions) { o.Keep = true })
	if err != nil {
		t.Fatal(err)
	}
	saved := report.Saved(time.Unix(1000, 0))
	raw, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadSaved(raw)
	if err != nil || !got.Expires.Equal(time.Unix(4600, 0)) || got.AccessToken != "at-1" || got.RefreshToken != "rt-1" || got.Endpoint != d.base+"/mcp" {
		t.Errorf("got %+v and error %v", got, err)
	}
	for _, text := range []string{``, `{}`, `{"endpoint":"x"}`, `{"endpoint":"x","access_token":"y","more":1}`, `[]`} {
		if _, err := ReadSaved([]byte(text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
