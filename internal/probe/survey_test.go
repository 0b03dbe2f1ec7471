package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer"
)

func TestEveryRuleSaysWhatAndWhyAndHowToCureIt(t *testing.T) {
	for id, r := range rules {
		if r.title == "" || r.clause == "" || r.cure == "" || !slices.Contains([]Severity{Info, Warning, Error}, r.severity) {
			t.Errorf("%s is incomplete: %+v", id, r)
		}
	}
}

// TestEveryRuleIsMetByATest keeps a rule from being written that nothing finds.
func TestEveryRuleIsMetByATest(t *testing.T) {
	met := []string{
		// by tests of their own
		"unreachable", "plain-http", "tls", "private-address", "no-answer", "endless-answer", "slow",
		"token-null", "token-missing", "expires-in", "scope-array", "scope-narrow", "no-refresh",
	}
	for _, faults := range [][]fault{resourceFaults, serverFaults, clientFaults, transportFaults, catalogueFaults} {
		for _, f := range faults {
			met = append(met, f.finds...)
		}
	}
	for id := range rules {
		if !slices.Contains(met, id) {
			t.Errorf("no test finds %s", id)
		}
	}
}

func TestTheExitStatusFollowsTheWorstFinding(t *testing.T) {
	note, warning, failure := newFinding("sessions", "x"), newFinding("slow", "x"), newFinding("tls", "x")
	for _, c := range []struct {
		findings []Finding
		want     int
	}{{nil, 0}, {[]Finding{note}, 0}, {[]Finding{warning, note}, 1}, {[]Finding{failure, warning}, 2}, {[]Finding{note, warning, failure}, 2}} {
		if got := Status(c.findings); got != c.want {
			t.Errorf("%v: got %d, want %d", c.findings, got, c.want)
		}
	}
}

func TestAnAddressThatIsNoneIsAnError(t *testing.T) {
	for _, address := range []string{"", "mcp.example", "ftp://mcp.example/mcp", "http://", "https://me:secret@mcp.example/mcp", "https://mcp.example/mcp#x", "http://[::1/mcp"} {
		if _, err := Survey(t.Context(), address, SurveyOptions{}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error that repeats no secret", address, err)
		}
	}
}

func TestAKeyInTheQueryIsAskedWithButNotShown(t *testing.T) {
	s := newStand(t)
	with := 0
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("key") == "secret" {
			with++
		}
		return false
	}
	r := wantFindings(t, s.base+"/mcp?key=secret", SurveyOptions{Repeat: 1, Register: true}, nil)
	if raw := fmt.Sprintf("%+v", r); strings.Contains(raw, "secret") || with < 10 {
		t.Errorf("%d requests had the key; the report is %s", with, raw)
	}
}

func TestACancelledSurveyEndsWithThatError(t *testing.T) {
	s := newStand(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func(http.ResponseWriter, *http.Request) bool {
		cancel()
		return false
	}
	if _, err := Survey(ctx, s.base+"/mcp", SurveyOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestEachQuestionIsAskedAsOftenAsWanted(t *testing.T) {
	s := newStand(t)
	var asked atomic.Int64
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Mcp-Method") == "server/discover" {
			asked.Add(1)
		}
		return false
	}
	r := wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 3}, nil)
	if row := r.Rows[0]; asked.Load() != 3 || len(row.Latencies) != 3 || row.P90MS < row.MedianMS || row.MedianMS <= 0 {
		t.Errorf("asked %d times, row %+v, want 3 times with median and p90", asked.Load(), row)
	}
}

func TestSlowAnswersAreFound(t *testing.T) {
	s := newStand(t)
	wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 1, slow: time.Nanosecond}, []string{"slow"})
}

func TestHeadersGoToTheServersOriginAlone(t *testing.T) {
	var mu sync.Mutex
	leaked := ""
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		leaked += r.Header.Get("X-Gate")
		w.WriteHeader(404)
	}))
	defer other.Close()
	s := newStand(t)
	s.resource["authorization_servers"] = []string{other.URL}
	without := 0
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Header.Get("X-Gate") != "open" {
			without++
		}
		return false
	}
	wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 1, Header: http.Header{"X-Gate": {"open"}}}, []string{"server-metadata-missing"})
	mu.Lock()
	defer mu.Unlock()
	if leaked != "" || without > 0 {
		t.Errorf("another origin got %q; %d requests to the server lacked the header", leaked, without)
	}
}

func TestOnlyAToolThatPromisesToReadIsCalled(t *testing.T) {
	needs := with(tool("needs", true), "inputSchema", object{"type": "object", "required": []string{"id"}})
	for name, c := range map[string]struct {
		tools []object
		want  string
	}{
		"reads":            {[]object{tool("change", false), tool("look", true)}, "look"},
		"promises nothing": {[]object{without(tool("quiet", true), "annotations")}, absentTool},
		"writes":           {[]object{tool("change", false)}, absentTool},
		"needs arguments":  {[]object{needs}, absentTool},
		"destroys": {[]object{with(tool("odd", true), "annotations", object{
			"readOnlyHint": true, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false,
		})}, absentTool},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			var called []string
			var mu sync.Mutex
			s.public, s.tools = true, c.tools
			s.rpc = func(_ http.ResponseWriter, method string, in object) bool {
				if method == "tools/call" {
					mu.Lock()
					defer mu.Unlock()
					called = append(called, in["params"].(object)["name"].(string))
				}
				return false
			}
			if _, err := Survey(t.Context(), s.base+"/mcp", SurveyOptions{Repeat: 2}); err != nil {
				t.Fatal(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if want := []string{c.want, c.want}; !slices.Equal(called, want) {
				t.Errorf("called %q, want %q", called, want)
			}
		})
	}
}

func TestTheCatalogueIsCounted(t *testing.T) {
	s := newStand(t)
	s.public = true
	s.tools = []object{tool("look", true), with(tool("change", false), "securitySchemes", []object{{"type": "oauth2", "scopes": []string{"write"}}}), without(tool("plain", true), "securitySchemes")}
	r := wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 1, Only: []string{"look", "plain", "nobody"}}, nil)
	c := r.Catalogue
	if want := []Group{{"no scope named", 1}, {"read", 1}, {"write", 1}}; !slices.Equal(c.Scopes, want) {
		t.Errorf("by scope: got %v, want %v", c.Scopes, want)
	}
	if want := []Group{{"closed world", 3}, {"idempotent", 3}, {"read-only", 2}, {"writes", 1}}; !slices.Equal(c.Hints, want) {
		t.Errorf("by hint: got %v, want %v", c.Hints, want)
	}
	sum := Size{}
	for _, tool := range c.Tools {
		sum.add(tool.Size)
	}
	if sum != c.Size || c.Size.Tools != 3 || c.Size.CL100K <= 0 || c.Size.O200K <= 0 {
		t.Errorf("the whole is %+v, the sum of all %+v", c.Size, sum)
	}
	only := c.Tools[0].Size
	only.add(c.Tools[2].Size)
	if *c.Only != only || !slices.Equal(c.Absent, []string{"nobody"}) {
		t.Errorf("only: got %+v without %q, want %+v", *c.Only, c.Absent, only)
	}
	if r.Access != Listed || r.Server != "stand 1" || !slices.Equal(r.Scopes, []string{"read", "write"}) || r.Issuer != s.base {
		t.Errorf("the report says %s, %s, %q, %s", r.Access, r.Server, r.Scopes, r.Issuer)
	}
}

func TestTokensAreThoseOfTheVocabularies(t *testing.T) {
	got := sizeOf([]byte(`"tiktoken is great!"`))
	text := `"tiktoken is great!"`
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	if err != nil {
		t.Fatal(err)
	}
	ids, _, err := codec.Encode("tiktoken is great!") // the example of the vocabulary's makers
	if err != nil || !slices.Equal(ids, []uint{83, 1609, 5963, 374, 2294, 0}) {
		t.Errorf("cl100k of %q: got %v, %v", text, ids, err)
	}
	if got.Bytes != len(text) || got.CL100K < 6 || got.O200K < 6 {
		t.Errorf("size of %s: %+v", text, got)
	}
	spaced := sizeOf([]byte(`{ "a" :  1 }`))
	if spaced != sizeOf([]byte(`{"a":1}`)) {
		t.Errorf("white space counts: %+v", spaced)
	}
}

func TestATLSCertificateOfNobodyIsAFinding(t *testing.T) {
	s := newStand(t)
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	wantFindings(t, server.URL+"/mcp", SurveyOptions{}, []string{"tls"})

	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s.base = server.URL
	s.challenge = `Bearer resource_metadata="` + s.base + named + `", scope="read"`
	for document, members := range map[*object][]string{&s.resource: {"resource"}, &s.server: {"issuer", "authorization_endpoint", "token_endpoint", "registration_endpoint"}} {
		for _, member := range members {
			u, err := url.Parse((*document)[member].(string))
			if err != nil {
				t.Fatal(err)
			}
			(*document)[member] = server.URL + u.Path
		}
	}
	s.resource["authorization_servers"] = []string{server.URL}
	o := SurveyOptions{Repeat: 1, Register: true, roots: roots}
	wantFindings(t, server.URL+"/mcp", o, nil)

	s.server["token_endpoint"] = "http://127.0.0.1:1/token" // a step down from https
	wantFindings(t, server.URL+"/mcp", SurveyOptions{Repeat: 1, roots: roots}, []string{"endpoint-address"})

	server.TLS.MaxVersion = tls.VersionTLS12
	plain := strings.Replace(server.URL, "https:", "http:", 1)
	wantFindings(t, plain+"/mcp", SurveyOptions{Repeat: 1}, []string{"initialize-failed", "preflight-refused"})
}

func TestMetadataOfAPublicServerCannotReachIntoThePrivateNetwork(t *testing.T) {
	asked := false
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	a := newAsker(&url.URL{Scheme: "https", Host: "mcp.example", Path: "/mcp"}, SurveyOptions{Timeout: 5 * time.Second})
	q := question{what: "metadata", method: http.MethodGet, address: private.URL}
	a.public.Store(true)
	if got := a.ask(t.Context(), q); got.failure != "private-address" {
		t.Errorf("from a public server: got %q (%s), want private-address", got.failure, got.detail)
	}
	a.public.Store(false)
	if got := a.ask(t.Context(), q); got.failure != "" {
		t.Errorf("from a server of the same network: got %q (%s)", got.failure, got.detail)
	}
	private.Close()
	if !asked {
		t.Error("the server of the same network was not asked")
	}
}

func TestWhatAServerSaysIsNotTakenForFormat(t *testing.T) {
	s := newStand(t)
	s.public = true
	s.initialize["serverInfo"] = object{"name": "%s%d\x1b[2J", "version": strings.Repeat("v", 10000)}
	s.tools = []object{with(tool("a", true), "name", "%!\x00"), with(tool("a", true), "name", "%!\x00")}
	r := wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 1}, []string{"tool-twice"})
	if got := r.Findings[0].Detail; got != "%!\x00" {
		t.Errorf("the detail is %q", got)
	}
}

func TestJudgeTokenFindsWhatHostsRefuse(t *testing.T) {
	for body, want := range map[string][]string{
		`{"access_token":"a","token_type":"Bearer","expires_in":3600,"refresh_token":"r","scope":"read"}`: nil,
		`{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r"}`:                nil,
		`{"access_token":"a","token_type":"Bearer","refresh_token":"r"}`:                                  nil,
		`{"access_token":"a","token_type":"Bearer","expires_in":"3600","refresh_token":"r"}`:              {"expires-in"},
		`{"access_token":"a","token_type":"Bearer","expires_in":0,"refresh_token":"r"}`:                   {"expires-in"},
		`{"access_token":"a","token_type":"Bearer","expires_in":1.5,"refresh_token":"r"}`:                 {"expires-in"},
		`{"access_token":"a","token_type":"Bearer","expires_in":9,"refresh_token":"r","scope":["read"]}`:  {"scope-array"},
		`{"access_token":"a","token_type":"Bearer","expires_in":9,"refresh_token":"r","scope":"write"}`:   {"scope-narrow"},
		`{"access_token":"a","token_type":"Bearer","expires_in":9,"refresh_token":null}`:                  {"token-null", "no-refresh"},
		`{"access_token":"a","token_type":"Bearer","expires_in":9}`:                                       {"no-refresh"},
		`{"token_type":"Bearer","expires_in":9,"refresh_token":"r"}`:                                      {"token-missing"},
		`{"access_token":"a","token_type":"MAC","expires_in":9,"refresh_token":"r"}`:                      {"token-missing"},
		`[]`:    {"token-missing"},
		`<html`: {"token-missing"},
	} {
		var got []string
		for _, f := range JudgeToken([]byte(body), []string{"read", "offline_access"}) {
			got = append(got, f.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

func TestChallengesAreReadAsHTTPWritesThem(t *testing.T) {
	for header, want := range map[string]Challenge{
		`Bearer resource_metadata="https://a/b", scope="x y"`: {ResourceMetadata: "https://a/b", Scope: "x y"},
		`bearer scope=x,error=invalid_token`:                  {Scope: "x", Error: "invalid_token"},
		`Bearer`:                                              {},
		`Bearer ,`:                                            {},
		`Basic realm="a, Bearer scope=no", Bearer scope="x"`:    {Scope: "x"},
		`Bearer scope="x", Basic scope="y"`:                     {Scope: "x"},
		`Bearer error_description="say \"hi\" \\", Scope = "x"`: {Description: `say "hi" \`, Scope: "x"},
		`Bearer scope="unfinished`:                              {Scope: "unfinished"},
	} {
		if got, ok := ParseChallenge(header); !ok || got != want {
			t.Errorf("%s: got %+v, %t, want %+v", header, got, ok, want)
		}
	}
	for _, header := range []string{"", "Basic realm=x", `DPoP algs="ES256"`, `Basic realm="Bearer"`} {
		if got, ok := ParseChallenge(header); ok {
			t.Errorf("%q is taken for Bearer: %+v", header, got)
		}
	}
	if c, ok := bearer(http.Header{"Www-Authenticate": {"Basic realm=x", "Bearer scope=y"}}); !ok || c.Scope != "y" {
		t.Errorf("of two headers: got %+v, %t", c, ok)
	}
}

func FuzzParseChallenge(f *testing.F) {
	f.Add(`Bearer a="b\"`)
	f.Fuzz(func(t *testing.T, header string) {
		if _, ok := ParseChallenge(header); ok && !strings.Contains(strings.ToLower(header), "bearer") {
			t.Errorf("%q is no Bearer challenge", header)
		}
	})
}
