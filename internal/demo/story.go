package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
)

// Step is one step of the story.
type Step struct {
	Number   string // 1 to 19; discovery has letters
	What     string
	Want     string
	Got      string
	Duration time.Duration // of the assistant's request
}

// Held reports whether the server did what it must.
func (s Step) Held() bool { return s.Got == s.Want }

// story is the play on its way.
type story struct {
	owner   *owner
	place   place
	reader  *probe.Session // connected with osfoundry:read alone
	writer  *probe.Session // connected with read and write
	reading string         // connection IDs
	writing string
	steps   []Step
}

// Play sets up the server at base with the secret in setupURL and plays the story
// against it. An error means that it could not go on; a step that did not hold is
// none.
func Play(ctx context.Context, base, setupURL string) ([]Step, error) {
	u, err := url.Parse(setupURL)
	if err != nil {
		return nil, fmt.Errorf("the setup address: %w", err)
	}
	s := story{}
	if s.owner, err = newOwner(base); err != nil {
		return nil, err
	}
	defer s.owner.client.CloseIdleConnections()
	if s.place, err = s.owner.settle(ctx, u.Query().Get("secret")); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, base+"/mcp"); err != nil {
		return s.steps, err
	}
	defer s.writer.Close()
	defer s.reader.Close()
	if err := s.nine(ctx); err != nil {
		return s.steps, err
	}
	return s.steps, s.work(ctx, base+"/mcp")
}

// connect goes from the address to tokens, twice: with write, and with read alone.
func (s *story) connect(ctx context.Context, endpoint string) (err error) {
	person := probe.Person{Email: email, Password: password, Workspace: s.place.workspace}
	person.Scopes = []string{"osfoundry:read", "osfoundry:write"}
	if s.writer, err = probe.Connect(ctx, endpoint, probe.Options{Name: "Demo assistant", Person: person}); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	letters := "abcdefgh"
	for i, e := range s.writer.Exchanges() {
		s.steps = append(s.steps, Step{Number: letters[i : i+1], What: e.What, Got: statusText(e.Status), Want: wantedStatus(e.What), Duration: e.Duration})
	}
	person.Scopes = []string{"osfoundry:read"}
	if s.reader, err = probe.Connect(ctx, endpoint, probe.Options{Name: "Demo reader", Person: person}); err != nil {
		return fmt.Errorf("connect a reader: %w", err)
	}
	all, err := s.owner.connections(ctx, s.place.workspace)
	if err != nil {
		return err
	}
	if len(all) != 2 {
		return fmt.Errorf("the workspace has %d connections, want 2", len(all))
	}
	s.writing, s.reading = all[0].ID, all[1].ID
	return nil
}

func wantedStatus(what string) string {
	switch what {
	case "register":
		return statusText(http.StatusCreated)
	case "initialize without a token":
		return statusText(http.StatusUnauthorized)
	}
	return statusText(http.StatusOK)
}

func statusText(status int) string { return fmt.Sprintf("%d", status) }

// nine are the nine steps of product.md §3.
func (s *story) nine(ctx context.Context) error {
	readA := object{"note_id": s.place.noteA.ID, "tab_id": s.place.noteA.Tabs[0].ID}
	readB := object{"note_id": s.place.noteB.ID, "tab_id": s.place.noteB.Tabs[0].ID}
	addText := object{"note_id": s.place.noteA.ID, "tab_id": s.place.noteA.Tabs[0].ID, "markdown": "One more thought.\n", "idempotency_key": "demo-key-0001"}
	for _, step := range []func() error{
		func() error { return s.granted(ctx, "1", "a new connection sees no project", 0) },
		func() error {
			if err := s.addProjectA(ctx); err != nil {
				return err
			}
			return s.granted(ctx, "2", "the owner adds project A: it is listed", 1)
		},
		func() error { return s.call(ctx, "3", "read a note in A", "200", s.writer, "read_note_tab", readA) },
		func() error {
			return s.call(ctx, "4", "read a note in B", "200 not_in_project", s.writer, "read_note_tab", readB)
		},
		func() error {
			return s.call(ctx, "5", "write with a token for reading", "403 insufficient_scope", s.reader, "append_note_tab", addText)
		},
		func() error {
			return s.call(ctx, "6", "write with a token for writing", "200", s.writer, "append_note_tab", addText)
		},
		func() error {
			if err := s.moveNote(ctx); err != nil {
				return err
			}
			return s.call(ctx, "7", "the note moves to B: read it again", "200 not_in_project", s.writer, "read_note_tab", readA)
		},
		func() error {
			if err := s.removeProjectA(ctx); err != nil {
				return err
			}
			return s.call(ctx, "8", "the owner removes A: list A", "200 not_in_project", s.writer, "list_project_resources", object{"project_id": s.place.a})
		},
		func() error { return s.revoked(ctx, readA) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// call makes a call and notes what came of it.
func (s *story) call(ctx context.Context, number, what, want string, as *probe.Session, tool string, arguments object) error {
	started := time.Now()
	r, err := as.Call(ctx, tool, arguments)
	if err != nil {
		return fmt.Errorf("step %s: %w", number, err)
	}
	s.steps = append(s.steps, Step{Number: number, What: what, Want: want, Got: outcome(r), Duration: time.Since(started)})
	return nil
}

func outcome(r probe.Result) string { return strings.TrimSpace(statusText(r.Status) + " " + r.Code) }

// granted asks what the connection was given and counts projects.
func (s *story) granted(ctx context.Context, number, what string, projects int) error {
	started := time.Now()
	r, err := s.writer.Call(ctx, "list_granted_resources", object{})
	if err != nil {
		return fmt.Errorf("step %s: %w", number, err)
	}
	var grants struct {
		Projects []made `json:"projects"`
	}
	if err := r.Read(&grants); err != nil {
		return fmt.Errorf("step %s: %w", number, err)
	}
	s.steps = append(s.steps, Step{
		Number: number, What: what, Duration: time.Since(started),
		Want: fmt.Sprintf("200, %d projects", projects), Got: fmt.Sprintf("%d, %d projects", r.Status, len(grants.Projects)),
	})
	return nil
}

// The owner's part of the story.

func (s *story) addProjectA(ctx context.Context) error {
	for _, id := range []string{s.writing, s.reading} {
		if err := s.owner.do(ctx, http.MethodPost, "/projects/"+s.place.a+"/connections", object{"connection_id": id}, nil); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) moveNote(ctx context.Context) error {
	var now made
	if err := s.owner.do(ctx, http.MethodGet, "/notes/"+s.place.noteA.ID, object{}, &now); err != nil {
		return err
	}
	return s.owner.do(ctx, http.MethodPatch, "/notes/"+s.place.noteA.ID, object{"project_id": s.place.b, "expected_version": now.Version}, nil)
}

func (s *story) removeProjectA(ctx context.Context) error {
	return s.owner.do(ctx, http.MethodDelete, "/projects/"+s.place.a+"/connections/"+s.writing, object{}, nil)
}

// revoked is the last step: calls say so, and a refresh is refused.
func (s *story) revoked(ctx context.Context, read object) error {
	if err := s.owner.do(ctx, http.MethodPatch, "/connections/"+s.writing, object{"status": "revoked"}, nil); err != nil {
		return err
	}
	started := time.Now()
	r, err := s.writer.Call(ctx, "read_note_tab", read)
	if err != nil {
		return fmt.Errorf("step 9: %w", err)
	}
	s.note("9", "the owner revokes: any call", "200 connection_revoked", outcome(r), started)
	started = time.Now()
	refresh := "accepted"
	if refused, ok := errors.AsType[*probe.OAuthError](s.writer.Refresh(ctx)); ok {
		refresh = refused.Code
	}
	s.note("9", "a refresh after that", "invalid_grant", refresh, started)
	return nil
}
