package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"time"

	"github.com/go-json-experiment/json"
)

// owner is the person who owns the workspace, through the owner API.
type owner struct {
	base   string
	client *http.Client
}

func newOwner(base string) (*owner, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	return &owner{base, &http.Client{Timeout: 30 * time.Second, Jar: jar, Transport: &http.Transport{Proxy: nil}}}, nil
}

// do makes one call and reads the answer into out, unless that is nil.
func (o *owner) do(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, o.base+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", o.base)
	answer, err := o.client.Do(r)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
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

// made is what the owner API says of something it made.
type made struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
	Tabs    []made `json:"tabs"`
}

type listed struct {
	Items []made `json:"items"`
}

type object map[string]any

// place is the workspace of the story.
type place struct {
	workspace    string
	a, b         string // projects
	noteA, noteB made
}

const (
	email    = "mara@example.com"
	password = "correct horse battery staple" // of a server that lives for seconds
)

// settle sets the server up and puts two projects with a note each into the
// workspace.
func (o *owner) settle(ctx context.Context, secret string) (p place, err error) {
	var who struct {
		Workspaces []made `json:"workspaces"`
	}
	err = o.do(ctx, http.MethodPost, "/setup", object{
		"secret": secret, "name": "Mara Ruiz", "email": email, "password": password, "workspace": "Atlas Foods"}, &who)
	if err != nil {
		return p, err
	}
	if len(who.Workspaces) != 1 {
		return p, fmt.Errorf("setup made %d workspaces, want 1", len(who.Workspaces))
	}
	p.workspace = who.Workspaces[0].ID
	for _, m := range []struct {
		name    string
		project *string
		note    *made
	}{{"Atlas launch", &p.a, &p.noteA}, {"Hiring", &p.b, &p.noteB}} {
		var project made
		if err := o.do(ctx, http.MethodPost, "/workspaces/"+p.workspace+"/projects", object{"name": m.name}, &project); err != nil {
			return p, err
		}
		*m.project = project.ID
		note := object{"title": m.name + " plan", "tabs": []object{{"title": "Plan", "markdown": "# " + m.name + "\n\nFirst thoughts.\n"}}}
		if err := o.do(ctx, http.MethodPost, "/projects/"+project.ID+"/notes", note, m.note); err != nil {
			return p, err
		}
	}
	return p, nil
}

// connections are the workspace's, oldest first.
func (o *owner) connections(ctx context.Context, workspace string) ([]made, error) {
	var l listed
	err := o.do(ctx, http.MethodGet, "/workspaces/"+workspace+"/connections", object{}, &l)
	return l.Items, err
}
