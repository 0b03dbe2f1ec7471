package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// parallel is how many do the same at once.
const parallel = 64

// rounds is how often a race is run: a few times with every change, 200 times
// before a release (OSFOUNDRY_ROUNDS).
func rounds(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("OSFOUNDRY_ROUNDS")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("OSFOUNDRY_ROUNDS: %v", err)
	}
	return n
}

// answer is what the token endpoint said.
type answer struct {
	status  int
	access  string
	refresh string
	code    string // of an error
}

// racer sends the same forms from many goroutines, each with a connection of its
// own that is open before the start.
type racer struct {
	t      *testing.T
	client *http.Client
}

func newRacer(t *testing.T) *racer {
	transport := &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 2 * parallel}
	t.Cleanup(transport.CloseIdleConnections)
	return &racer{t, &http.Client{Transport: transport}}
}

func (r *racer) post(endpoint string, form url.Values) answer {
	got, err := r.client.Post(endpoint, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Errorf("%s: %v", endpoint, err)
		return answer{}
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		r.t.Errorf("%s: %v", endpoint, err)
	}
	var said struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
		Error   string `json:"error"`
	}
	if len(body) > 0 && json.Unmarshal(body, &said) != nil {
		r.t.Errorf("%s: %d is no JSON: %s", endpoint, got.StatusCode, body)
	}
	if got.StatusCode >= 500 {
		r.t.Errorf("%s: %d %s", endpoint, got.StatusCode, body)
	}
	return answer{got.StatusCode, said.Access, said.Refresh, said.Error}
}

// together runs do n times at once and returns what each came to.
func together(n int, do func(i int) answer) []answer {
	out := make([]answer, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			out[i] = do(i)
		})
	}
	close(start)
	all.Wait()
	return out
}

// alive reports whether the token can call a tool.
func alive(t *testing.T, s *probe.Session, token string) bool {
	t.Helper()
	return told(t, s, token) == "200"
}

// told is what a call of a tool with the token is answered, in one line.
func told(t *testing.T, s *probe.Session, token string) string {
	t.Helper()
	other := *s
	other.Grant.AccessToken = token
	return said(testkit.Call(t, &other, "list_granted_resources", testkit.Object{}))
}

// visit is a browser that is signed in already, so that a round costs no password.
func visit(t *testing.T) *probe.Browser {
	t.Helper()
	b, err := probe.NewBrowser()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestACodeThatManyRedeemAtOnceGivesAtMostOneAnswerAndEndsItsTokens(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		session, _ := h.Owner.Connect(probe.Version20251125)
		r, browser := newRacer(t), visit(t)
		for range rounds(t, 8) {
			code := ask(t, h, session, browser)
			form := code.Form(session.ClientID)
			won := 0
			var token string
			for _, a := range together(parallel, func(int) answer { return r.post(session.Discovery.Server.TokenEndpoint, form) }) {
				switch {
				case a.status == http.StatusOK:
					won, token = won+1, a.access
				case a.status != http.StatusBadRequest || a.code != "invalid_grant":
					t.Errorf("a redemption got %d %s, want 200 or 400 invalid_grant", a.status, a.code)
				}
			}
			if won != 1 {
				t.Errorf("%d redemptions of one code succeeded, want 1", won)
			}
			if token != "" && alive(t, session, token) { // a second valid use ends what the first gave (RFC 9700 §4.5)
				t.Error("a token of a code that was used twice still works")
			}
		}
	})
}

func ask(t *testing.T, h *testkit.House, s *probe.Session, b *probe.Browser) probe.Code {
	t.Helper()
	code, err := s.Ask(t.Context(), probe.Options{Browser: b,
		Person: probe.Person{Email: h.Owner.Email, Password: testkit.Password, Workspace: h.Workspace}})
	if err != nil {
		t.Fatalf("ask for a code: %v", err)
	}
	return code
}

func refreshForm(s *probe.Session, token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {s.ClientID}}
}

func TestManyRefreshesAtOnceGetTheSameAnswer(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		session, _ := h.Owner.Connect(probe.Version20251125)
		r := newRacer(t)
		refresh := session.Grant.RefreshToken
		for range rounds(t, 8) {
			form := refreshForm(session, refresh)
			all := together(parallel, func(int) answer { return r.post(session.Discovery.Server.TokenEndpoint, form) })
			for _, a := range all {
				if a.status != http.StatusOK || a.access != all[0].access || a.refresh != all[0].refresh {
					t.Fatalf("a refresh got %d %s with other tokens than the first one's", a.status, a.code)
				}
			}
			if !alive(t, session, all[0].access) {
				t.Fatal("the token of a refresh does not work")
			}
			refresh = all[0].refresh
		}
	})
}

func TestNothingIsAliveAfterARevokeThatMetARefresh(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		r, browser := newRacer(t), visit(t)
		session, _ := h.Owner.Connect(probe.Version20251125)
		for round := range rounds(t, 8) {
			code := ask(t, h, session, browser)
			grant, err := session.Redeem(t.Context(), code)
			if err != nil {
				t.Fatal(err)
			}
			form := refreshForm(session, grant.RefreshToken)
			want := "401 invalid_token"
			revoke := func() {
				a := r.post(session.Discovery.Server.RevocationEndpoint, url.Values{"token": {grant.RefreshToken}, "client_id": {session.ClientID}})
				if a.status != http.StatusOK {
					t.Errorf("revoke got %d, want 200", a.status)
				}
			}
			if round%2 == 0 { // the owner revokes instead of the client (RFC 7009)
				want = "200 connection_revoked"
				id := connectionOf(t, session, grant.AccessToken)
				revoke = func() { h.Owner.Must("PATCH", "/connections/"+id, testkit.Object{"status": "revoked"}, nil) }
			}
			got := together(9, func(i int) answer {
				if i == 4 {
					revoke()
					return answer{}
				}
				return r.post(session.Discovery.Server.TokenEndpoint, form)
			})
			got = append(got, answer{access: grant.AccessToken, refresh: grant.RefreshToken})
			for _, a := range got {
				if a.access == "" {
					continue
				}
				if got := told(t, session, a.access); got != want {
					t.Fatalf("a call after the revoke was answered got %s, want %s", got, want)
				}
				if again := r.post(session.Discovery.Server.TokenEndpoint, refreshForm(session, a.refresh)); again.code != "invalid_grant" {
					t.Fatalf("a refresh after the revoke got %d %s, want 400 invalid_grant", again.status, again.code)
				}
			}
		}
	})
}

func connectionOf(t *testing.T, s *probe.Session, token string) string {
	t.Helper()
	other := *s
	other.Grant.AccessToken = token
	r := testkit.Call(t, &other, "list_granted_resources", testkit.Object{})
	var granted struct {
		Connection testkit.Made `json:"connection"`
	}
	if err := r.Read(&granted); err != nil {
		t.Fatal(err)
	}
	return granted.Connection.ID
}

func TestOneKeyUsedByManyAtOnceHasOneEffect(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		project := h.Owner.Project("Alpha", false)
		session, connection := h.Owner.Connect(probe.Version20251125)
		h.Owner.AddConnection(project, connection)
		arguments := testkit.Object{"project_id": project, "title": "Once", "tabs": []testkit.Object{{"title": "T", "markdown": "x"}}, "idempotency_key": "the-same-key"}
		var mu sync.Mutex
		var results [][]byte
		together(parallel, func(int) answer {
			one := probe.Session{Host: probe.NewHost(), Endpoint: session.Endpoint, Version: session.Version, Grant: session.Grant}
			defer one.Close()
			r := testkit.Call(t, &one, "create_note", arguments)
			if r.Status != http.StatusOK || r.IsError {
				t.Errorf("got %d %s %s, want success or a replay", r.Status, r.Code, r.Text)
			}
			mu.Lock()
			defer mu.Unlock()
			results = append(results, bytes.Replace(r.Structured, []byte(`,"replayed":true`), nil, 1))
			return answer{}
		})
		for _, one := range results {
			if !bytes.Equal(one, results[0]) {
				t.Errorf("got %s and %s for one key", one, results[0])
			}
		}
		var notes struct {
			Items []testkit.Made `json:"items"`
		}
		h.Owner.Must("GET", "/projects/"+project+"/notes", nil, &notes)
		if len(notes.Items) != 1 {
			t.Errorf("%d notes were made under one key, want 1", len(notes.Items))
		}
	})
}
