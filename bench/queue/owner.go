package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/probe"
)

type object map[string]any

const (
	email    = "owner@example.com"
	password = "a password of a throw-away server"
)

// owner is the person who owns the workspace, through the owner API.
type owner struct {
	origin    string
	client    *http.Client
	workspace string
	project   string
}

// made is what the owner API says of something it made.
type made struct {
	ID string `json:"id"`
}

// settle sets a fresh server up, with one project.
func settle(ctx context.Context, s *server) (*owner, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	o := &owner{origin: s.origin(), client: &http.Client{Timeout: 30 * time.Second, Jar: jar, Transport: &http.Transport{Proxy: nil}}}
	var who struct {
		Workspaces []made `json:"workspaces"`
	}
	err = o.do(ctx, http.MethodPost, "/setup", object{"secret": s.secret, "name": "Owner", "email": email, "password": password, "workspace": "Bench"}, &who)
	if err != nil {
		return nil, err
	}
	if len(who.Workspaces) != 1 {
		return nil, fmt.Errorf("setup made %d workspaces, want 1", len(who.Workspaces))
	}
	o.workspace = who.Workspaces[0].ID
	var project made
	if err := o.do(ctx, http.MethodPost, "/workspaces/"+o.workspace+"/projects", object{"name": "Bench"}, &project); err != nil {
		return nil, err
	}
	o.project = project.ID
	return o, nil
}

// do makes one call and reads the answer into out, unless that is nil.
func (o *owner) do(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, method, o.origin+"/api/v1"+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", o.origin)
	answer, err := o.client.Do(r)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s %s: got HTTP %d: %s", method, path, answer.StatusCode, text)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(text, out)
}

// caller is an assistant with a Runner seat in a session of its own.
type caller struct {
	host    *probe.Session
	session string
	sent    int
}

// newCaller makes the n-th session, and the connection that asks for runs in it.
func (o *owner) newCaller(ctx context.Context, endpoint string, n int) (*caller, error) {
	host, err := probe.Connect(ctx, endpoint, probe.Options{Name: fmt.Sprint("Bench ", n), Person: probe.Person{Email: email, Password: password, Workspace: o.workspace}})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	c := &caller{host: host}
	if c.session, err = o.invite(ctx, n); err != nil {
		host.Close()
		return nil, err
	}
	return c, nil
}

// invite makes a session and lets the newest connection in, as a runner.
func (o *owner) invite(ctx context.Context, n int) (session string, err error) {
	var room made
	err = o.do(ctx, http.MethodPost, "/projects/"+o.project+"/agent-sessions", object{
		"type": "agent", "title": fmt.Sprint("Bench ", n), "agents": []object{{"slug": "worker", "instructions": "Say that you are there.", "provider": "rehearsal"}},
	}, &room)
	if err != nil {
		return "", err
	}
	var all struct {
		Items []made `json:"items"`
	}
	if err := o.do(ctx, http.MethodGet, "/workspaces/"+o.workspace+"/connections", nil, &all); err != nil {
		return "", err
	}
	newest := all.Items[len(all.Items)-1].ID
	if err := o.do(ctx, http.MethodPost, "/projects/"+o.project+"/connections", object{"connection_id": newest}, nil); err != nil {
		return "", err
	}
	return room.ID, o.do(ctx, http.MethodPut, "/agent-sessions/"+room.ID+"/connections/"+newest, object{"seat": "runner"}, nil)
}

// run asks for one run, and returns its task.
func (c *caller) run(ctx context.Context) (task string, err error) {
	c.sent++
	r, err := c.host.Call(ctx, "request_session_run", object{
		"session_type": "agent", "session_id": c.session, "goal": "Say that you are there.", "max_rounds": 1, "idempotency_key": fmt.Sprintf("bench-%08d", c.sent),
	})
	if err != nil {
		return "", err
	}
	var queued struct {
		TaskID string `json:"task_id"`
	}
	if err := r.Read(&queued); err != nil {
		return "", fmt.Errorf("request a run: %w: %s", err, strings.TrimSpace(r.Text))
	}
	return queued.TaskID, nil
}

// task is what the owner sees of a task. Its times are whole milliseconds, by the
// clock of this machine.
type task struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Reason    string    `json:"reason"`
	CreatedAt time.Time `json:"created_at"`
	StartedAt time.Time `json:"started_at"`
	EndedAt   time.Time `json:"ended_at"`
}

// open reports whether a task of the session is not over.
func (o *owner) open(ctx context.Context, session string) (bool, error) {
	var l struct {
		Items []task `json:"items"`
	}
	err := o.do(ctx, http.MethodGet, "/agent-sessions/"+session+"/tasks?open=true&limit=1", nil, &l)
	return len(l.Items) > 0, err
}

// tasks are all tasks of the session, newest first.
func (o *owner) tasks(ctx context.Context, session string) (all []task, err error) {
	for cursor := ""; ; {
		var l struct {
			Items      []task `json:"items"`
			NextCursor string `json:"next_cursor"`
		}
		if err := o.do(ctx, http.MethodGet, "/agent-sessions/"+session+"/tasks?limit=100"+cursor, nil, &l); err != nil {
			return nil, err
		}
		all = append(all, l.Items...)
		if l.NextCursor == "" {
			return all, nil
		}
		cursor = "&cursor=" + l.NextCursor
	}
}
