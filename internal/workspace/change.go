package workspace

import (
	"context"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Change is an event as an assistant is told of it: about a thing that it may see
// now, in the words of list_resource_changes.
type Change struct {
	EventID   string
	What      string // created, edited, moved, archived, restored, re-granted
	Kind      access.Kind
	ID        string
	Title     string // as it is now
	ProjectID string // where it lies now
	Version   int64  // after the change
	By        Author
	At        time.Time
}

// The words for what happened.
const (
	ChangeCreated   = "created"
	ChangeEdited    = "edited"
	ChangeMoved     = "moved"
	ChangeArchived  = "archived"
	ChangeRestored  = "restored"
	ChangeRegranted = "re-granted"
)

// ChangeWord is the word for an event's type, such as note.moved. What is not known
// here is an edit.
func ChangeWord(eventType string) string {
	_, verb, _ := strings.Cut(eventType, ".")
	switch verb {
	case "created", "moved", "archived", "restored":
		return verb
	case "added_to_project":
		return ChangeRegranted
	}
	if strings.HasPrefix(verb, "acl_") || strings.HasPrefix(verb, "local_only_") { // who may see it
		return ChangeRegranted
	}
	return ChangeEdited
}

// ChangeFilter narrows a list of changes.
type ChangeFilter struct {
	By           string // "me" is the connection, "others" everybody else, "" anybody
	ConnectionID string // who "me" is
	Since        time.Time
}

// ChangeStore reads events as changes.
type ChangeStore interface {
	// Changes lists changes after the event with the ID after, the oldest first, of
	// things that the scope may see now.
	Changes(ctx context.Context, tx access.Tx, in Scope, f ChangeFilter, page Page) ([]Change, error)
	// LastEvent is the ID of the workspace's newest event, "" if there is none.
	LastEvent(ctx context.Context, tx access.Tx, workspaceID string) (string, error)
}

// firstLook is how far back a list of changes reaches that begins without a
// cursor.
const firstLook = 7 * 24 * time.Hour

// Changes lists what happened to the things that the permits open, after page.After
// or, without it, in the last seven days. Next is always where to go on, now or
// when there is news; more says that there is some already.
func (s *Resources) Changes(ctx context.Context, tx access.Tx, permits []access.Permit, by string, now time.Time, page Page) (list Listing[Change], more bool, err error) {
	in, err := s.scope(ctx, tx, permits)
	if err != nil {
		return Listing[Change]{}, false, err
	}
	last, err := s.changes.LastEvent(ctx, tx, in.WorkspaceID)
	if err != nil {
		return Listing[Change]{}, false, err
	}
	f := ChangeFilter{By: by, ConnectionID: permits[0].Principal().ConnectionID}
	if page.After == "" {
		f.Since = now.Add(-firstLook)
	}
	var rows []Change
	if len(in.ProjectIDs) > 0 {
		if rows, err = s.changes.Changes(ctx, tx, in, f, Page{page.After, page.Limit + 1}); err != nil {
			return Listing[Change]{}, false, err
		}
	}
	list = Cut(rows, page.Limit, func(c Change) string { return c.EventID })
	more = list.Next != ""
	if !more { // all that happened so far was looked at
		list.Next = max(last, page.After)
	}
	return list, more, nil
}
