package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// The truth table of an authorization code: all combinations of what can be right
// or wrong about its redemption. One row succeeds, and one row revokes.
func TestOfAllWaysToRedeemACodeOneSucceeds(t *testing.T) {
	const (
		wrongClient = 1 << iota
		wrongVerifier
		wrongRedirect
		wrongResource
		expired
		used
		combinations
	)
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		r, browser := newRacer(t), visit(t)
		session, _ := h.Owner.Connect(probe.Version20251125)
		other, err := session.Register(t.Context(), session.Discovery.Server.RegistrationEndpoint, "Another", "http://127.0.0.1:53682/callback")
		if err != nil {
			t.Fatal(err)
		}
		endpoint := session.Discovery.Server.TokenEndpoint
		for row := range combinations {
			h.Owner.SignIn()
			if row&expired != 0 { // the clock has moved on by now: the browser signs in again where it must
				browser = visit(t)
			}
			code := ask(t, h, session, browser)
			var first answer
			if row&used != 0 {
				first = r.post(endpoint, code.Form(session.ClientID))
			}
			if row&expired != 0 {
				h.Pass(61 * time.Second)
			}
			form := code.Form(session.ClientID)
			for bit, field := range map[int][2]string{
				wrongClient: {"client_id", other}, wrongVerifier: {"code_verifier", "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong"},
				wrongRedirect: {"redirect_uri", "http://127.0.0.1:53682/other"}, wrongResource: {"resource", "https://elsewhere.example/mcp"},
			} {
				if row&bit != 0 {
					form.Set(field[0], field[1])
				}
			}
			got := r.post(endpoint, form)
			what := fmt.Sprintf("row %06b (used, expired, resource, redirect, verifier, client)", row)
			want := "400 invalid_grant"
			switch row {
			case 0:
				want = "200 "
			case wrongResource:
				want = "400 invalid_target"
			}
			if answer := fmt.Sprintf("%d %s", got.status, got.code); answer != want {
				t.Errorf("%s: got %s, want %s", what, answer, want)
			}
			if first.access == "" {
				continue
			}
			// Only a second use that is right in everything else ends what the first gave.
			if row == used && alive(t, session, first.access) {
				t.Errorf("%s: the first use's token still works", what)
			}
			if row != used && row&expired == 0 && !alive(t, session, first.access) {
				t.Errorf("%s: the first use's token does not work any more", what)
			}
		}
	})
}

func TestAFailedRedemptionUsesNothingUp(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		r := newRacer(t)
		session, _ := h.Owner.Connect(probe.Version20251125)
		code := ask(t, h, session, visit(t))
		endpoint := session.Discovery.Server.TokenEndpoint
		for name, value := range map[string]string{
			"code_verifier": "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong", "redirect_uri": "http://127.0.0.1:53682/x", "resource": "https://elsewhere.example/",
		} {
			form := code.Form(session.ClientID)
			form.Set(name, value)
			if got := r.post(endpoint, form); got.status != http.StatusBadRequest {
				t.Errorf("a wrong %s got %d, want 400", name, got.status)
			}
		}
		if got := r.post(endpoint, code.Form(session.ClientID)); got.status != http.StatusOK {
			t.Errorf("the right request after wrong ones got %d %s, want 200", got.status, got.code)
		}
	})
}

func TestTokensOfOneKindAreWorthNothingAsAnother(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		r := newRacer(t)
		session, _ := h.Owner.Connect(probe.Version20251125)
		code := ask(t, h, session, visit(t))
		endpoint := session.Discovery.Server.TokenEndpoint
		access, refresh := session.Grant.AccessToken, session.Grant.RefreshToken
		for what, form := range map[string]url.Values{
			"a code as refresh token":          refreshForm(session, code.Value),
			"an access token as refresh token": refreshForm(session, access),
			"a refresh token as code":          {"grant_type": {"authorization_code"}, "code": {refresh}, "client_id": {session.ClientID}, "redirect_uri": {code.RedirectURI}, "code_verifier": {code.Verifier}},
		} {
			if got := r.post(endpoint, form); got.status != http.StatusBadRequest || got.code != "invalid_grant" {
				t.Errorf("%s: got %d %s, want 400 invalid_grant", what, got.status, got.code)
			}
		}
		for what, token := range map[string]string{"a refresh token": refresh, "a code": code.Value, "a cut token": access[:len(access)-1], "nonsense": "osf_at_x"} {
			other := *session
			other.Grant.AccessToken = token
			if got := testkit.Call(t, &other, "list_granted_resources", testkit.Object{}); got.Status != http.StatusUnauthorized || got.Code != "invalid_token" {
				t.Errorf("%s as bearer: got %d %s, want 401 invalid_token", what, got.Status, got.Code)
			}
		}
		if !alive(t, session, access) {
			t.Error("the tries ended the real token")
		}
	})
}
