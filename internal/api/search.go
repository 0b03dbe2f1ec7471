package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// foundNote is a note that holds what was asked for.
type foundNote struct {
	NoteID    string    `json:"note_id"`
	ProjectID string    `json:"project_id"`
	TabID     string    `json:"tab_id,omitzero"` // none where the title alone was found
	Title     string    `json:"title"`
	Snippet   string    `json:"snippet"` // plain text around the first word
	UpdatedAt time.Time `json:"updated_at"`
}

// searchRoute finds notes by their words, for people.
func (s noteCalls) searchRoute() Route {
	return Handle(Rule{Method: http.MethodGet, Path: "/api/v1/workspaces/{workspace}/search", Operation: "note.search",
		Summary: "The notes with all these words that the caller can open, the most relevant first",
		Kind:    access.KindWorkspace, Right: access.RightView, Paged: true,
		Filters: []Query{{Name: "q", Doc: "Words, the last of which may be a beginning"}}}, s.search)
}

func (s noteCalls) search(ctx context.Context, c *Call, _ Nothing) (List[foundNote], error) {
	terms := workspace.ParseSearch(c.Query("q"))
	l, err := s.notes.Search(ctx, c.Tx, c.Permit, workspace.Search{Terms: terms}, c.Page)
	return listOf(c, l, func(h workspace.SearchHit) foundNote {
		return foundNote{
			NoteID: h.NoteID, ProjectID: h.ProjectID, TabID: h.TabID, Title: h.Title,
			Snippet: workspace.Snippet(h.Markdown, terms), UpdatedAt: h.UpdatedAt,
		}
	}), err
}
