package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// back is how long a house may take to notice that its database is there again.
const back = 15 * time.Second

// asked is one request of a house, for which the database is needed.
type asked struct {
	name   string
	writes bool
	send   func() reply
}

// questions are requests at every door of the house. Their effects do not get in
// each other's way when they are repeated.
func questions(w *wire, h *testkit.House, s, spare *probe.Session, project string) []asked {
	owner := http.Header{"Content-Type": {"application/json"}, "Origin": {h.Base}, "Cookie": {h.Owner.Cookie()}}
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	json := http.Header{"Content-Type": {"application/json"}}
	server := s.Discovery.Server
	list, listing := envelope(s, "tools/list", "", "")
	return []asked{
		{"tools/list", false, func() reply { return w.send("POST", s.Endpoint, list, listing) }},
		{"a tool that reads", false, func() reply { return w.call(s, "list_project_resources", `{"project_id":"`+project+`"}`) }},
		{"a tool that writes", true, func() reply {
			return w.call(s, "create_note", `{"project_id":"`+project+`","title":"Note","tabs":[{"title":"T","markdown":"x"}],"idempotency_key":"outage-key"}`)
		}},
		{"the owner reads", false, func() reply { return w.send("GET", h.Base+"/api/v1/projects/"+project+"/notes", owner, "") }},
		{"the owner writes", true, func() reply {
			return w.send("POST", h.Base+"/api/v1/workspaces/"+h.Workspace+"/projects", owner, `{"name":"More"}`)
		}},
		{"who am I", false, func() reply { return w.send("GET", h.Base+"/api/v1/me", owner, "") }},
		{"authorize", true, func() reply {
			q := url.Values{"response_type": {"code"}, "client_id": {s.ClientID}, "redirect_uri": {"http://127.0.0.1:53682/callback"},
				"code_challenge": {strings.Repeat("c", 43)}, "code_challenge_method": {"S256"}}
			return w.send("GET", server.AuthorizationEndpoint+"?"+q.Encode(), nil, "")
		}},
		{"register", true, func() reply {
			return w.send("POST", server.RegistrationEndpoint, json, `{"client_name":"x","redirect_uris":["http://127.0.0.1/callback"]}`)
		}},
		{"refresh", true, func() reply {
			return w.send("POST", server.TokenEndpoint, form, refreshForm(s, s.Grant.RefreshToken).Encode())
		}},
		{"revoke", true, func() reply {
			return w.send("POST", server.RevocationEndpoint, form, url.Values{"token": {spare.Grant.RefreshToken}, "client_id": {spare.ClientID}}.Encode())
		}},
	}
}

// answers asks everything and says what is not as it must be: wrong is told of the
// first answer that it finds fault with.
func (w *wire) answers(all []asked, wrong func(a asked, r reply) bool) error {
	for _, a := range all {
		if r := a.send(); wrong(a, r) {
			return fmt.Errorf("%s: got %d, Retry-After %q, %.300s", a.name, r.status, r.header.Get("Retry-After"), r.body)
		}
	}
	return nil
}

// unserved reports whether an answer is not the 503 that asks for patience.
func unserved(r reply) bool {
	return r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == ""
}

// refused reports whether an answer is no success, nor the way to one.
func refused(r reply) bool {
	return r.status >= 400 || strings.Contains(string(r.body), `"isError":true`)
}

// eventually asks until everything is answered with success.
func (w *wire) eventually(all []asked) {
	w.t.Helper()
	var err error
	for deadline := time.Now().Add(back); time.Now().Before(deadline); {
		if err = w.answers(all, func(_ asked, r reply) bool { return refused(r) }); err == nil {
			return
		}
	}
	w.t.Errorf("%v after the database was back: %v", back, err)
}

func TestALostPostgresIsUnavailableUntilItIsBack(t *testing.T) {
	server := storagetest.NewServer(t)
	h := testkit.Open(t, storage.Options{DatabaseURL: server.Create(t)})
	project := h.Owner.Project("Alpha", false)
	session, connection := h.Owner.Connect(probe.Version20251125)
	h.Owner.AddConnection(project, connection)
	spare, _ := h.Owner.Connect(probe.Version20251125)
	w := newWire(t)
	all := questions(w, h, session, spare, project)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT} { // in order, and like a crash
		server.Stop(t, signal)
		for range 2 { // the first finds broken connections, the second none
			if err := w.answers(all, func(_ asked, r reply) bool { return unserved(r) }); err != nil {
				t.Errorf("without its database, after %v: %v, want 503 with Retry-After", signal, err)
			}
		}
		for path, want := range map[string]int{"/healthz": 200, "/readyz": 503} {
			if r := w.send("GET", h.Base+path, nil, ""); r.status != want {
				t.Errorf("%s without a database: got %d, want %d", path, r.status, want)
			}
		}
		server.Start(t)
		w.eventually(all)
	}
}

// What was acknowledged before and while the database went away is there
// afterwards, once; what was not is settled by its key.
func TestNothingAcknowledgedIsLostWhenPostgresCrashesUnderWriters(t *testing.T) {
	server := storagetest.NewServer(t)
	h := testkit.Open(t, storage.Options{DatabaseURL: server.Create(t)})
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	writers := makeWriters(t, h, seed)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	failures := make(chan error, killClients)
	var running sync.WaitGroup
	for _, w := range writers {
		running.Go(func() { w.run(ctx, failures) })
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for range rounds(t, 3) {
		wait(10*time.Millisecond + time.Duration(random.Int64N(int64(200*time.Millisecond))))
		server.Stop(t, syscall.SIGQUIT)
		server.Start(t)
	}
	stop()
	running.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	check(t, h, writers)
}
