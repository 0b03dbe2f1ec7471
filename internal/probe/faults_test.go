package probe

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// fault changes a faultless server, and names what a survey must find: that, and
// nothing else.
type fault struct {
	name  string
	put   func(s *stand)
	finds []string
}

// at answers one path differently.
func at(path string, answer http.HandlerFunc) func(s *stand) {
	return func(s *stand) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			answer(w, r)
			return true
		}
	}
}

// onMethod answers one method of JSON-RPC differently, on a server that lists in
// public.
func onMethod(method string, answer func(w http.ResponseWriter, in object)) func(s *stand) {
	return func(s *stand) {
		s.public = true
		s.rpc = func(w http.ResponseWriter, got string, in object) bool {
			if got != method {
				return false
			}
			answer(w, in)
			return true
		}
	}
}

func status(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// hang says nothing until the client goes, which the server sees once it has read
// the whole request.
func hang(_ http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		<-r.Context().Done()
	}
}

const named = "/.well-known/oauth-protected-resource/mcp"

// resourceFaults are of the resource's metadata and of the challenge. Names in
// brackets are those of the published fault matrix.
var resourceFaults = []fault{
	{"slash at the end [prmslash]", func(s *stand) { s.resource["resource"] = s.base + "/mcp/" }, []string{"resource-mismatch"}},
	{"bare origin [prmorigin]", func(s *stand) { s.resource["resource"] = s.base }, []string{"resource-is-origin"}},
	{"bare origin with slash", func(s *stand) { s.resource["resource"] = s.base + "/" }, []string{"resource-is-origin"}},
	{"another scheme [prmhttps]", func(s *stand) { s.resource["resource"] = strings.Replace(s.base, "http:", "https:", 1) + "/mcp" }, []string{"resource-mismatch"}},
	{"another host [prmlocalhost]", func(s *stand) {
		s.resource["resource"] = strings.Replace(s.base, "127.0.0.1", "localhost", 1) + "/mcp"
	}, []string{"resource-mismatch"}},
	{"another port", func(s *stand) { s.resource["resource"] = "http://127.0.0.1:1/mcp" }, []string{"resource-mismatch"}},
	{"a query", func(s *stand) { s.resource["resource"] = s.base + "/mcp?team=a" }, []string{"resource-mismatch"}},
	{"a longer path", func(s *stand) { s.resource["resource"] = s.base + "/mcp/more" }, []string{"resource-mismatch"}},
	{"half a path", func(s *stand) { s.resource["resource"] = s.base + "/mc" }, []string{"resource-mismatch"}},
	{"no resource", func(s *stand) { delete(s.resource, "resource") }, []string{"resource-mismatch"}},
	{"null scopes", func(s *stand) { s.resource["scopes_supported"] = nil }, []string{"metadata-null"}},
	{"empty documentation", func(s *stand) { s.resource["resource_documentation"] = "" }, []string{"metadata-null"}},
	{"servers is a string", func(s *stand) { s.resource["authorization_servers"] = s.base }, []string{"metadata-shape", "resource-metadata-missing"}},
	{"no servers", func(s *stand) { delete(s.resource, "authorization_servers") }, []string{"authorization-servers-missing"}},
	{"issuer is no address", func(s *stand) { s.resource["authorization_servers"] = []string{"stand"} }, []string{"issuer-address"}},
	{"no metadata", func(s *stand) {
		s.resourceAt = nil
		s.challenge = `Bearer scope="read"`
	}, []string{"resource-metadata-missing", "challenge-bare"}},
	{"named, but not there", func(s *stand) { s.resourceAt = nil }, []string{"challenge-dead", "resource-metadata-missing"}},
	{"named elsewhere, root alone", func(s *stand) { s.challenge = `Bearer resource_metadata="` + s.base + `/elsewhere"` }, []string{"challenge-dead"}},
	{"no header [nowww]", func(s *stand) { s.challenge = "" }, []string{"challenge-missing"}},
	{"Basic alone", func(s *stand) { s.challenge = `Basic realm="x"` }, []string{"challenge-missing"}},
	{"bare Bearer", func(s *stand) { s.challenge = "Bearer" }, []string{"challenge-bare"}},
	{"relative address [relrm]", func(s *stand) { s.challenge = `Bearer resource_metadata="` + named + `"` }, []string{"challenge-relative"}},
	{"403 [status403]", func(s *stand) { s.status = http.StatusForbidden }, []string{"status-403"}},
	{"no scopes anywhere [noscopes]", func(s *stand) {
		delete(s.resource, "scopes_supported")
		s.challenge = `Bearer resource_metadata="` + s.base + named + `"`
	}, []string{"no-scopes"}},
	{"no scope in the challenge [nochallengescope]", func(s *stand) { s.challenge = `Bearer resource_metadata="` + s.base + named + `"` }, nil},
	{"by path differs from named", func(s *stand) {
		s.challenge = `Bearer resource_metadata="` + s.base + `/own"`
		at("/own", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "*")
			answerJSON(w, 200, with(s.resource, "resource", s.base+"/mcp"))
		})(s)
		s.resource["resource"] = s.base + "/other"
	}, []string{"twins-differ"}},
	{"HTML at every well-known but the server's [spa]", func(s *stand) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			page := strings.Contains(r.URL.Path, "oauth-protected-resource")
			if page {
				htmlPage(w, 200)
			}
			return page
		}
	}, []string{"metadata-html", "resource-metadata-missing"}},
	{"metadata is a list", at(named, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, []string{"a"}) }), []string{"metadata-not-json", "challenge-dead"}},
	{"metadata as text", at(named, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		fmt.Fprintf(w, `{"resource": "http://%s/mcp", "authorization_servers": ["http://%s"]}`, r.Host, r.Host)
	}), []string{"metadata-type"}},
	{"metadata redirects", at(named, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) }), []string{"metadata-redirects"}},
	{"metadata without CORS", func(s *stand) {
		at(named, func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, s.resource) })(s)
	}, []string{"metadata-cors"}},
	{"metadata fails", at(named, status(500)), []string{"server-error", "challenge-dead"}},
}

// serverFaults are of the authorization server's metadata.
var serverFaults = []fault{
	{"issuer with slash [issuerslash]", func(s *stand) { s.server["issuer"] = s.base + "/" }, []string{"issuer-mismatch", "iss-wrong"}},
	{"issuer of another scheme [issuerhttps]", func(s *stand) { s.server["issuer"] = strings.Replace(s.base, "http:", "https:", 1) }, []string{"issuer-mismatch", "iss-wrong"}},
	{"no issuer", func(s *stand) { delete(s.server, "issuer") }, []string{"issuer-mismatch", "iss-wrong"}},
	{"named with slash [prmasslash]", func(s *stand) { s.resource["authorization_servers"] = []string{s.base + "/"} }, []string{"issuer-slash"}},
	{"no PKCE [nopkcemeta]", func(s *stand) { delete(s.server, "code_challenge_methods_supported") }, []string{"pkce-not-advertised"}},
	{"plain PKCE", func(s *stand) { s.server["code_challenge_methods_supported"] = []string{"plain"} }, []string{"pkce-not-advertised"}},
	{"secrets only [onlysecret]", func(s *stand) {
		s.server["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic", "client_secret_post"}
	}, []string{"auth-none-missing"}},
	{"no methods", func(s *stand) { delete(s.server, "token_endpoint_auth_methods_supported") }, []string{"auth-none-missing"}},
	{"no registration", func(s *stand) { delete(s.server, "registration_endpoint") }, []string{"registration-missing"}},
	{"documents instead of registration", func(s *stand) {
		delete(s.server, "registration_endpoint")
		s.server["client_id_metadata_document_supported"] = true
	}, nil},
	{"no offline_access [nooffline]", func(s *stand) { s.server["scopes_supported"] = []string{"read"} }, nil},
	{"null member", func(s *stand) { s.server["service_documentation"] = nil }, []string{"metadata-null"}},
	{"empty member", func(s *stand) { s.server["op_policy_uri"] = "" }, []string{"metadata-null"}},
	{"endpoint of another type", func(s *stand) { s.server["token_endpoint"] = 1 }, []string{"metadata-shape", "server-metadata-missing"}},
	{"no token endpoint", func(s *stand) { delete(s.server, "token_endpoint") }, []string{"endpoint-address", "broken-answer"}},
	{"relative endpoint", func(s *stand) { s.server["authorization_endpoint"] = "/authorize" }, []string{"endpoint-address"}},
	{"endpoint of a browser's scheme", func(s *stand) { s.server["authorization_endpoint"] = "javascript:alert(1)" }, []string{"endpoint-address"}},
	{"nowhere", func(s *stand) { s.serverAt = nil }, []string{"server-metadata-missing"}},
	{"root alone", func(s *stand) { s.serverAt = s.serverAt[:1] }, []string{"twin-missing"}},
	{"HTML everywhere", func(s *stand) {
		s.serverAt = nil
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			page := strings.Contains(r.URL.Path, "authorization-server") || strings.Contains(r.URL.Path, "openid")
			if page {
				htmlPage(w, 200)
			}
			return page
		}
	}, []string{"metadata-html", "server-metadata-missing"}},
	{"twins contradict", func(s *stand) {
		at("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, 200, with(s.server, "token_endpoint", s.base+"/other"))
		})(s)
	}, []string{"twins-differ"}},
	{"no iss, and none sent", func(s *stand) {
		delete(s.server, "authorization_response_iss_parameter_supported")
		s.authorize = func(w http.ResponseWriter, r *http.Request) {
			back(w, r, url.Values{"error": {"invalid_request"}, "state": {r.URL.Query().Get("state")}})
		}
	}, []string{"iss-not-advertised"}},
	{"iss sent, not advertised [issunadvertised]", func(s *stand) { delete(s.server, "authorization_response_iss_parameter_supported") }, []string{"iss-not-advertised", "iss-unadvertised"}},
}

// clientFaults are of registration, and of what a registered client meets.
var clientFaults = []fault{
	{"answers 200 [dcr200]", func(s *stand) {
		s.register = func(in object) (int, object) { return 200, with(in, "client_id", "client-1") }
	}, []string{"register-200"}},
	{"client_id alone [dcrminimal]", func(s *stand) {
		s.register = func(object) (int, object) { return 201, object{"client_id": "client-1"} }
	}, []string{"register-minimal"}},
	{"refuses a scope [dcrstrict]", func(s *stand) {
		healthy := s.register
		s.register = func(in object) (int, object) {
			if scope, _ := in["scope"].(string); strings.Contains(scope, "offline_access") {
				return 400, object{"error": "invalid_client_metadata"}
			}
			return healthy(in)
		}
	}, []string{"register-scope"}},
	{"refuses all", func(s *stand) {
		s.register = func(object) (int, object) { return 400, object{"error": "invalid_redirect_uri"} }
	}, []string{"register-failed"}},
	{"redirects to a page", at("/register", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", 302) }), []string{"register-failed"}},
	{"fails", at("/register", status(500)), []string{"register-failed", "server-error"}},
	{"no client_id", func(s *stand) { s.register = func(in object) (int, object) { return 201, in } }, []string{"register-failed"}},
	{"null member", func(s *stand) {
		s.register = func(in object) (int, object) { return 201, with(with(in, "client_id", "client-1"), "client_uri", nil) }
	}, []string{"register-null"}},
	{"empty member", func(s *stand) {
		s.register = func(in object) (int, object) { return 201, with(with(in, "client_id", "client-1"), "tos_uri", "") }
	}, []string{"register-null"}},
	{"a secret, basic [dcrsecretbasic]", secretive("client_secret_basic"), []string{"register-secret"}},
	{"a secret, post [dcrsecretpost]", secretive("client_secret_post"), []string{"register-secret"}},
	{"a secret, none [dcrsecretnone]", secretive("none"), []string{"register-secret"}},
	{"no iss [issmissing]", redirecting(func(s *stand, v url.Values) { v.Del("iss") }), []string{"iss-missing"}},
	{"another iss [isswrong]", redirecting(func(s *stand, v url.Values) { v.Set("iss", "https://other.example") }), []string{"iss-wrong"}},
	{"iss with slash [issslash]", redirecting(func(s *stand, v url.Values) { v.Set("iss", s.base+"/") }), []string{"iss-wrong"}},
	{"state lost", redirecting(func(s *stand, v url.Values) { v.Del("state") }), []string{"state-lost"}},
	{"state changed", redirecting(func(s *stand, v url.Values) { v.Set("state", v.Get("state")+"x") }), []string{"state-lost"}},
	{"a page before any judgement", func(s *stand) {
		s.authorize = func(w http.ResponseWriter, _ *http.Request) { htmlPage(w, 200) }
	}, nil},
	{"authorization fails", func(s *stand) { s.authorize = status(500) }, []string{"server-error"}},
	{"token answers a page [tokhtml]", func(s *stand) {
		s.redeem = func(w http.ResponseWriter, _ *http.Request) { htmlPage(w, 500) }
	}, []string{"token-answer", "server-error"}},
	{"token takes any code", func(s *stand) {
		s.redeem = func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 200, object{"access_token": "x"}) }
	}, []string{"token-answer"}},
	{"refusal without error", func(s *stand) {
		s.redeem = func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 400, object{"message": "no"}) }
	}, []string{"token-answer"}},
	{"unknown client is invalid_grant", func(s *stand) {
		s.redeem = func(w http.ResponseWriter, _ *http.Request) { answerJSON(w, 400, object{"error": "invalid_grant"}) }
	}, []string{"token-unknown-client"}},
}

func secretive(method string) func(s *stand) {
	return func(s *stand) {
		s.register = func(in object) (int, object) {
			in["client_id"], in["client_secret"], in["token_endpoint_auth_method"] = "client-1", "secret", method
			return 201, in
		}
	}
}

func redirecting(change func(s *stand, v url.Values)) func(s *stand) {
	return func(s *stand) {
		s.authorize = func(w http.ResponseWriter, r *http.Request) {
			v := url.Values{"error": {"invalid_request"}, "state": {r.URL.Query().Get("state")}, "iss": {s.base}}
			change(s, v)
			back(w, r, v)
		}
	}
}

func TestEachFaultIsFoundAndNothingElse(t *testing.T) {
	for kind, faults := range map[string][]fault{
		"resource": resourceFaults, "server": serverFaults, "client": clientFaults, "transport": transportFaults, "catalogue": catalogueFaults,
	} {
		for _, f := range faults {
			t.Run(kind+", "+f.name, func(t *testing.T) {
				t.Parallel()
				s := newStand(t)
				f.put(s)
				wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 2, Register: true, Timeout: time.Minute}, f.finds)
			})
		}
	}
}

func wantFindings(t *testing.T, address string, o SurveyOptions, want []string) *Report {
	t.Helper()
	report, err := Survey(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, f := range report.Findings {
		got = append(got, f.ID)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q:", got, want)
		for _, f := range report.Findings {
			t.Logf("%s %s: %s", f.Severity, f.ID, f.Detail)
		}
	}
	return report
}
