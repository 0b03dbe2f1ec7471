package api_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/api"
	"github.com/osfoundry/osfoundry/internal/guard"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

const password = "a password of this test"

// The hash is cheap, so that a test of limits does not wait for it.
var passwordHash = sync.OnceValue(func() string {
	hash, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		panic(err)
	}
	return hash
})

// world is the owner API on a real address and database, with people in it.
//
//	atlas: mara (owner), ben and pia (editors), vic (viewer)
//	  alpha   open, made by mara: plan; listed, for ben (edit) and vic (view)
//	  beta    open, made by ben
//	  secret  private, made by pia, who alone is listed: hidden
//	  sessions of one agent: crew (alpha, of ben), circle (alpha, of mara, with the ACL of listed), cellar (secret, of pia)
//	  connections desk (approved by ben) and lamp (approved by mara)
//	globex: eve (owner); gamma with foreign and the session strangers; handoff theirs of the connection chair; provider theirs; her token eve
type world struct {
	testing.TB
	api     *api.API
	db      *storage.DB
	options storage.Options
	raw     *sql.DB
	base    string
	log     *workspace.AuditLog
	stop    context.CancelFunc // ends what the server has open
	site    *guard.Site

	accounts  *workspace.Accounts
	providers *workspace.Providers
	handoffs  *workspace.Handoffs
	tasks     *workspace.Tasks
	looks     chan struct{} // one for each look at a session, while somebody waits

	mu  sync.Mutex
	now time.Time // guarded by mu
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// eachWorld runs f on a world in each database; eachEmptyWorld on one with nobody
// in it.
func eachWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	eachEmptyWorld(t, func(w *world) {
		w.people()
		f(w)
	})
}

func eachEmptyWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) { f(newWorld(t, o)) })
}

func newWorld(t testing.TB, o storage.Options) *world {
	t.Helper()
	w := &world{TB: t, options: o, looks: make(chan struct{}), now: time.Now().Truncate(time.Millisecond)}
	var err error
	if w.db, err = storage.Open(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.must(w.db.Close()) })
	w.raw = storagetest.Raw(t, o)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.base = "http://" + listener.Addr().String()
	w.api = w.wire()
	running, stop := context.WithCancel(context.Background())
	w.stop = stop
	server := httptest.NewUnstartedServer(w.api)
	server.Config = guard.NewServer(w.api, slog.New(slog.DiscardHandler))
	server.Config.BaseContext = func(net.Listener) context.Context { return running }
	w.must(server.Listener.Close())
	server.Listener = listener
	server.Start()
	t.Cleanup(func() {
		stop()
		server.Close()
		w.must(w.log.Stop())
	})
	return w
}

func (w *world) wire() *api.API {
	w.Helper()
	secret, log := []byte("a secret of this test, 32 bytes."), slog.New(slog.DiscardHandler)
	var err error
	w.site, err = guard.NewSite(guard.SiteConfig{PublicURLs: []string{w.base}, Origins: []string{"http://inspector.example:6274"}})
	w.must(err)
	w.log = workspace.NewAuditLog(w.db, storage.Audit{}, log)
	w.accounts, err = workspace.NewAccounts(workspace.AccountConfig{
		SessionIdle: 24 * time.Hour, SessionLife: 30 * 24 * time.Hour,
		SignIns: guard.Per(10, 5*time.Minute, w.clock), Setups: guard.Per(10, 5*time.Minute, w.clock),
	}, w.db, watched{looks: w.looks}, storage.Audit{}, w.clock)
	w.must(err)
	sessions, err := api.NewSessions(w.accounts, w.site, secret, "form_token", w.clock)
	w.must(err)
	events := workspace.NewEvents(storage.Events{}, w.clock)
	members := workspace.NewMembers(storage.Members{}, w.accounts, events, w.clock)
	acls := workspace.NewACLs(storage.ACLs{}, events)
	seal, err := guard.NewSeal(secret, "provider keys")
	w.must(err)
	w.providers = workspace.NewProviders(storage.Providers{}, seal, events, []string{allowedProgram}, w.clock)
	agents := workspace.NewSessions(storage.Sessions{}, storage.Providers{}, storage.Resources{}, events,
		workspace.SessionRules{Tools: []string{"read_note", "search"}, Programs: []string{allowedProgram}}, w.clock)
	notices := workspace.NewNotices(storage.Notices{}, events, w.clock)
	w.tasks = workspace.NewTasks(storage.Tasks{}, jobs{}, events, w.clock, workspace.TaskConfig{QueuedRequests: 50, PublicURL: w.base})
	w.handoffs = workspace.NewHandoffs(workspace.HandoffParts{
		Store: storage.Handoffs{}, Providers: storage.Providers{}, Figures: storage.Figures{}, Resources: storage.Resources{},
		Notices: notices, Queue: w.tasks, Events: events, Now: w.clock,
	}, workspace.HandoffConfig{MaxPending: 50, PublicURL: w.base})
	notes := workspace.NewNotes(storage.Notes{}, storage.Search{}, events, w.clock, w.base)
	c := api.Config{
		Work: w.db, Source: w.db, Audit: storage.Audit{}, Replays: storage.Replays{}, Site: w.site, Sessions: sessions,
		Secret: secret, Version: "0.0.0-test", Now: w.clock, Log: log,
	}
	a, err := api.New(c,
		api.AccountRoutes(w.accounts, members, sessions, w.site, w.db), api.WorkspaceRoutes(w.accounts, members),
		api.ProjectRoutes(workspace.NewProjects(storage.Projects{}, events, w.clock)), api.NoteRoutes(notes, acls), api.ACLRoutes(acls),
		api.ConnectionRoutes(workspace.NewConnections(storage.Connections{}, events, w.clock)),
		api.AgentSessionRoutes(agents, acls), api.SeatRoutes(workspace.NewSeats(storage.Seats{}, events, w.clock)), api.HandoffRoutes(w.handoffs),
		api.ProviderRoutes(w.providers, workspace.NewWorkspaceFigures(storage.Figures{}, events)), api.NoticeRoutes(notices),
		api.TaskRoutes(w.tasks), api.MailRoutes(workspace.NewMails(storage.Mails{}, events, w.clock, w.base)),
		api.AuditRoutes(storage.Audit{}, w.log), api.EventRoutes(storage.Events{}, events, members, c))
	w.must(err)
	return a
}

// allowedProgram is what commands may run in these tests; nothing runs it.
const allowedProgram = "/usr/bin/true"

// jobs is a queue whose jobs nobody works on.
type jobs struct{}

func (jobs) Enqueue(context.Context, access.Tx, string, int64) error { return nil }

// watched are accounts that tell when somebody looks at a session.
type watched struct {
	storage.Accounts
	looks chan struct{}
}

func (s watched) SessionByToken(ctx context.Context, tx access.Tx, token access.TokenHash) (workspace.BrowserSession, error) {
	select {
	case s.looks <- struct{}{}:
	default:
	}
	return s.Accounts.SessionByToken(ctx, tx, token)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) exec(query string, args ...any) {
	w.Helper()
	storagetest.Exec(w, w.raw, query, args...)
}

func (w *world) count(query string, args ...any) (n int) {
	w.Helper()
	if err := w.raw.QueryRow(query, args...).Scan(&n); err != nil {
		w.Fatalf("%s: %v", query, err)
	}
	return n
}

func (w *world) people() {
	w.Helper()
	for _, id := range []string{"mara", "ben", "pia", "vic", "eve"} {
		w.user(id)
	}
	for _, row := range [][]any{{"atlas"}, {"globex"}} {
		w.exec(`INSERT INTO workspaces (id, name, created_at) VALUES ($1, $1, 1)`, row...)
	}
	for _, row := range [][]any{{"atlas", "mara", "owner"}, {"atlas", "ben", "editor"}, {"atlas", "pia", "editor"}, {"atlas", "vic", "viewer"}, {"globex", "eve", "owner"}} {
		w.exec(`INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ($1, $2, $3, 1)`, row...)
	}
	for _, row := range [][]any{{"alpha", "atlas", 0, "mara"}, {"beta", "atlas", 0, "ben"}, {"secret", "atlas", 1, "pia"}, {"gamma", "globex", 0, "eve"}} {
		w.exec(`INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at)
			VALUES ($1, $2, $1, $3, $4, 1, 0, 1, 1)`, row...)
		w.exec(`INSERT INTO project_members (project_id, user_id, created_at) VALUES ($1, $2, 1)`, row[0], row[3])
	}
	for _, row := range [][]any{{"plan", "atlas", "alpha", 0}, {"listed", "atlas", "alpha", 1}, {"hidden", "atlas", "secret", 0}, {"foreign", "globex", "gamma", 0}} {
		w.exec(`INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
			VALUES ($1, $2, $3, $1, 1, 0, $4, 0, 1, 'mara', 1, 'mara', '')`, row...)
		w.exec(`INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via)
			VALUES ('tab-' || $1, $1, 'Text', 0, 1, 5, 'words', 1, 'mara', '')`, row[0])
		w.exec(`INSERT INTO note_tab_versions (tab_id, version, chars, markdown, created_at, created_by, created_via)
			VALUES ('tab-' || $1, 1, 5, 'words', 1, 'mara', '')`, row[0])
	}
	for _, row := range [][]any{{"crew", "atlas", "alpha", "ben", 0}, {"circle", "atlas", "alpha", "mara", 1}, {"cellar", "atlas", "secret", "pia", 0}, {"strangers", "globex", "gamma", "eve", 0}} {
		w.exec(`INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes,
			local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
			VALUES ($1, $2, $3, 'agent', $1, $4, 1, '[{"slug":"worker","instructions":"Work.","provider":"rehearsal"}]', '{}', 10, 0, 0, 0, 0, $5, 0, 1, $4, 1, $4)`, row...)
	}
	w.list()
	for _, row := range [][]any{{"desk", "atlas", "ben"}, {"lamp", "atlas", "mara"}, {"chair", "globex", "eve"}} {
		w.exec(`INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes,
			consent_address, family_revoked_at, family_reason, created_at, last_used_at)
			VALUES ($1, $2, $3, 'client', $1, $1, '', '', 'active', 'osfoundry:read', '', 0, '', 1, 0)`, row...)
	}
	w.handoff("theirs", "strangers", "chair", "globex")
	w.exec(`INSERT INTO providers (workspace_id, name, kind, base_url, model, secret, command, version, created_at, updated_at, updated_by)
		VALUES ('globex', 'theirs', 'openai', '', '', '', 'null', 1, 1, 1, 'eve')`)
}

// handoff is a pending one of the connection.
func (w *world) handoff(id, session, connection, workspaceID string) {
	w.Helper()
	w.exec(`INSERT INTO handoffs (id, workspace_id, session_id, connection_id, goal, context_summary, requested_output, max_rounds, state, reason, created_at, expires_at, decided_at, decided_by)
		VALUES ($1, $2, $3, $4, 'Sum up', 'Two notes.', 'A page.', 3, 'pending', '', $5, 0, 0, '')`, id, workspaceID, session, connection, w.clock().UnixMilli())
}

// list puts the note listed, and the session circle, back on their ACL.
func (w *world) list() {
	w.Helper()
	w.exec(`UPDATE notes SET has_acl = 1 WHERE id = 'listed'`)
	w.exec(`UPDATE sessions SET has_acl = 1 WHERE id = 'circle'`)
	w.exec(`DELETE FROM resource_acl`)
	w.exec(`INSERT INTO resource_acl (resource_id, user_id, access) VALUES ('listed', 'ben', 'edit'), ('listed', 'vic', 'view'), ('circle', 'ben', 'edit'), ('circle', 'vic', 'view')`)
}

// user makes an account with the usual password and a personal token named after it.
func (w *world) user(id string) {
	w.Helper()
	w.exec(`INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $2, $3, $4, 0, 1)`, id, id+"@atlas.example", "Name of "+id, passwordHash())
}

// from is nobody at another address of this machine.
func (w *world) from(address string) *caller {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{Proxy: nil, DialContext: dialer.DialContext}
	w.Cleanup(transport.CloseIdleConnections)
	return &caller{w: w, name: address, client: &http.Client{Transport: transport}}
}

// caller is somebody who makes calls, as a browser with a cookie or as a script with
// a token.
type caller struct {
	w      *world
	name   string
	cookie string
	token  string
	client *http.Client // nil is the usual one
}

func (w *world) nobody() *caller { return &caller{w: w, name: "nobody"} }

// script is a person with a personal token.
func (w *world) script(id string) *caller {
	w.Helper()
	token, hash := access.MintToken(access.TokenPersonal)
	w.exec(`INSERT INTO personal_tokens (id, token_hash, user_id, name, created_at, last_used_at, revoked_at) VALUES ($1, $2, $3, 'script', 1, 0, 0)`,
		workspace.NewID(), string(hash), id)
	return &caller{w: w, name: id + " by token", token: token}
}

// browser is a person who signed in.
func (w *world) browser(id string) *caller {
	w.Helper()
	c := w.nobody()
	a := c.call("POST", "/sign-in", fmt.Sprintf(`{"email":"%s@atlas.example","password":%q}`, id, password))
	if c.name, c.cookie = id+" by cookie", a.cookie(); a.status != 200 || c.cookie == "" {
		w.Fatalf("sign in as %s: got %s, want 200 and a cookie", id, a)
	}
	return c
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// cookie is the session cookie that the answer sets.
func (a answer) cookie() string {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == "osfoundry" {
			return c.Value
		}
	}
	return ""
}

func (a answer) read(t testing.TB) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	return out
}

// refusal is the error object, with its code and message as text.
func (a answer) refusal() (code, message string, fields map[string]any) {
	var out struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Fields  map[string]any `json:"fields"`
		} `json:"error"`
	}
	_ = json.Unmarshal([]byte(a.body), &out)
	return out.Error.Code, out.Error.Message, out.Error.Fields
}

var client = &http.Client{
	Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 100},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (c *caller) request(method, path, body string, change ...func(*http.Request)) *http.Request {
	c.w.Helper()
	r, err := http.NewRequest(method, c.w.base+"/api/v1"+path, strings.NewReader(body))
	c.w.must(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "osfoundry", Value: c.cookie})
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	for _, f := range change {
		f(r)
	}
	return r
}

func (c *caller) call(method, path, body string, change ...func(*http.Request)) answer {
	c.w.Helper()
	via := client
	if c.client != nil {
		via = c.client
	}
	resp, err := via.Do(c.request(method, path, body, change...))
	if err != nil {
		c.w.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	c.w.must(err)
	if resp.Header.Get("Cache-Control") != "no-store" {
		c.w.Errorf("%s %s by %s: Cache-Control is %q, want no-store", method, path, c.name, resp.Header.Get("Cache-Control"))
	}
	return answer{resp.StatusCode, resp.Header, string(raw)}
}

// wants makes a call and expects the status.
func (c *caller) wants(status int, method, path, body string, change ...func(*http.Request)) answer {
	c.w.Helper()
	a := c.call(method, path, body, change...)
	if a.status != status {
		c.w.Errorf("%s %s %.200s by %s: got %s, want %d", method, path, body, c.name, a, status)
	}
	return a
}

// refused is wants with the code of a refusal.
func (c *caller) refused(status int, code access.Code, method, path, body string, change ...func(*http.Request)) answer {
	c.w.Helper()
	a := c.wants(status, method, path, body, change...)
	if got, _, _ := a.refusal(); got != string(code) {
		c.w.Errorf("%s %s %.200s by %s: got %s, want the code %s", method, path, body, c.name, a, code)
	}
	return a
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// listening is an open stream of events.
type listening struct {
	w     *world
	lines *bufio.Scanner
	close func()
}

// heard is one message of a stream.
type heard struct {
	id, name string
	data     map[string]any
}

// patience bounds how long a stream may be silent before the test fails.
const patience = 20 * time.Second

func (c *caller) listen(last string) *listening {
	c.w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	r := c.request("GET", "/events", "").WithContext(ctx)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := client.Do(r)
	c.w.must(err)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-store" {
		c.w.Fatalf("listen: got %d %v", resp.StatusCode, resp.Header)
	}
	l := &listening{c.w, bufio.NewScanner(resp.Body), func() { cancel(); _ = resp.Body.Close() }}
	c.w.Cleanup(l.close)
	if m, ok := l.next(); !ok || m.name != "ready" {
		c.w.Fatalf("a stream begins with %+v, %v; want ready", m, ok)
	}
	return l
}

// next is the next message; ok is false when the server ended the stream.
func (l *listening) next() (m heard, ok bool) {
	l.w.Helper()
	for l.lines.Scan() {
		name, value, _ := strings.Cut(l.lines.Text(), ": ")
		switch name {
		case "id":
			m.id = value
		case "event":
			m.name = value
		case "data":
			m.data = map[string]any{}
			l.w.must(json.Unmarshal([]byte(value), &m.data))
		case "":
			if m.name != "" {
				return m, true
			}
		}
	}
	if err := l.lines.Err(); err != nil {
		l.w.Fatalf("stream: %v", err)
	}
	return heard{}, false
}

// until reads events up to one of this type and gives "type thing" of all of them.
func (l *listening) until(eventType string) (all []string) {
	l.w.Helper()
	for {
		m, ok := l.next()
		if !ok {
			l.w.Fatalf("the stream ended before %s, after %v", eventType, all)
		}
		all = append(all, fmt.Sprint(m.data["type"], " ", m.data["id"]))
		if m.data["type"] == eventType {
			return all
		}
	}
}
