package testkit

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/probe"
)

// Password is everybody's.
const Password = "a password of a test house"

// Object is a JSON object.
type Object map[string]any

// Made is what the owner API says of something it made.
type Made struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Tabs    []Made `json:"tabs"`
}

// Person is somebody with an account, signed in.
type Person struct {
	ID    string
	Email string

	house  *House
	client *http.Client
}

func (h *House) visitor(email string) *Person {
	h.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	transport := &http.Transport{Proxy: nil}
	h.Cleanup(transport.CloseIdleConnections)
	return &Person{Email: email, house: h, client: &http.Client{Jar: jar, Transport: transport, Timeout: time.Minute}}
}

// Invite lets somebody into the house's workspace and signs them in.
func (h *House) Invite(email, role string) *Person {
	h.Helper()
	p := h.visitor(email)
	var m Made
	h.Owner.Must("POST", "/workspaces/"+h.Workspace+"/members", Object{"email": email, "name": email, "role": role, "password": Password}, &m)
	p.ID = m.ID
	p.SignIn()
	return p
}

// SignIn opens a session for the person.
func (p *Person) SignIn() {
	p.house.Helper()
	p.Must("POST", "/sign-in", Object{"email": p.Email, "password": Password}, nil)
}

// Cookie is the header that shows who the person is, for requests that Do cannot
// make.
func (p *Person) Cookie() string {
	p.house.Helper()
	home, err := url.Parse(p.house.Base)
	if err != nil {
		p.house.Fatal(err)
	}
	var all []string
	for _, c := range p.client.Jar.Cookies(home) {
		all = append(all, c.String())
	}
	return strings.Join(all, "; ")
}

// Do makes one call of the owner API, path from /api/v1 on, and returns its status
// and body.
func (p *Person) Do(method, path string, in any) (status int, body []byte) {
	p.house.Helper()
	var sent io.Reader
	if in != nil {
		text, err := json.Marshal(in, json.Deterministic(true))
		if err != nil {
			p.house.Fatal(err)
		}
		sent = bytes.NewReader(text)
	}
	r, err := http.NewRequest(method, p.house.Base+"/api/v1"+path, sent)
	if err != nil {
		p.house.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", p.house.Base)
	answer, err := p.client.Do(r)
	if err != nil {
		p.house.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err != nil {
		p.house.Fatalf("%s %s: %v", method, path, err)
	}
	return answer.StatusCode, body
}

// Must makes a call that has to succeed and reads the answer into out, unless that
// is nil.
func (p *Person) Must(method, path string, in, out any) {
	p.house.Helper()
	status, body := p.Do(method, path, in)
	if status >= 300 {
		p.house.Fatalf("%s %s: got %d %s, want success; sent %v", method, path, status, body, in)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(body, out); err != nil {
		p.house.Fatalf("%s %s: %v in %s", method, path, err, body)
	}
}

// Project makes a project.
func (p *Person) Project(name string, private bool) string {
	p.house.Helper()
	var m Made
	p.Must("POST", "/workspaces/"+p.house.Workspace+"/projects", Object{"name": name, "private": private}, &m)
	return m.ID
}

// Note makes a note with one tab.
func (p *Person) Note(project, title, markdown string) Made {
	p.house.Helper()
	var m Made
	p.Must("POST", "/projects/"+project+"/notes", Object{"title": title, "tabs": []Object{{"title": "Text", "markdown": markdown}}}, &m)
	return m
}

// Session makes a session with agents of these providers, one for each.
func (p *Person) Session(project, kind, title string, providers ...string) Made {
	p.house.Helper()
	agents := make([]Object, len(providers))
	for i, provider := range providers {
		agents[i] = Object{"slug": "worker-" + strconv.Itoa(i+1), "instructions": "Do what is asked.", "provider": provider,
			"tools": []string{"list_project_resources", "read_note", "search"}}
	}
	var m Made
	p.Must("POST", "/projects/"+project+"/agent-sessions", Object{"type": kind, "title": title, "agents": agents}, &m)
	return m
}

// Seat gives a connection a seat in a session.
func (p *Person) Seat(session, connection, seat string) {
	p.house.Helper()
	p.Must("PUT", "/agent-sessions/"+session+"/connections/"+connection, Object{"seat": seat}, nil)
}

// AddConnection lets a connection see a project.
func (p *Person) AddConnection(project, connection string) {
	p.house.Helper()
	p.Must("POST", "/projects/"+project+"/connections", Object{"connection_id": connection}, nil)
}

// Mounts are the paths at which a house answers MCP.
var Mounts = []string{"/mcp", "/api/v1/external-mcp"}

// Connect lets an assistant in at /mcp, approved by the person for the house's
// workspace, with these scopes ticked (nil: all). It returns the connection's ID
// with the session.
func (p *Person) Connect(version string, scopes ...string) (*probe.Session, string) {
	p.house.Helper()
	return p.ConnectAt(Mounts[0], version, scopes...)
}

// ConnectAt is Connect at this mount.
func (p *Person) ConnectAt(mount, version string, scopes ...string) (*probe.Session, string) {
	p.house.Helper()
	s, err := probe.Connect(p.house.Context(), p.house.Base+mount, probe.Options{
		Version: version, Person: probe.Person{Email: p.Email, Password: Password, Workspace: p.house.Workspace, Scopes: scopes},
	})
	if err != nil {
		p.house.Fatalf("connect: %v", err)
	}
	p.house.Cleanup(s.Close)
	var granted struct {
		Connection Made `json:"connection"`
	}
	r, err := s.Call(p.house.Context(), "list_granted_resources", Object{})
	if err == nil {
		err = r.Read(&granted)
	}
	if err != nil {
		p.house.Fatalf("ask what was granted: %v", err)
	}
	return s, granted.Connection.ID
}

// Call makes a call of a tool that has to reach the server.
func Call(t testing.TB, s *probe.Session, tool string, arguments any) probe.Result {
	t.Helper()
	r, err := s.Call(t.Context(), tool, arguments)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	return r
}
