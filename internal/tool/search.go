package tool

import (
	"context"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// searchLimit is how many hits a search has when the caller does not say.
const searchLimit = 20

type searchArguments struct {
	Query        string   `json:"query" arg:"len=..300"`
	ProjectIDs   []string `json:"project_ids,omitzero" arg:"items=..20"`
	Kinds        []string `json:"kinds,omitzero" arg:"items=..6" each:"enum=note|table|channel|session|graph|file"`
	UpdatedAfter string   `json:"updated_after,omitzero" arg:"format=date-time"`
	Cursor       string   `json:"cursor,omitzero"`
	Limit        int64    `json:"limit,omitzero" arg:"min=1,max=50"`
}

type hit struct {
	ID        string      `json:"id"`
	Kind      access.Kind `json:"kind"`
	Title     string      `json:"title"`
	TabID     string      `json:"tab_id,omitzero"`
	Snippet   string      `json:"snippet"`
	Version   int64       `json:"version"`
	ProjectID string      `json:"project_id"`
	UpdatedAt time.Time   `json:"updated_at"`
	URL       string      `json:"url"`
}

type hitList struct {
	Results    []hit  `json:"results"`
	NextCursor string `json:"next_cursor,omitzero"`
}

type fetchArguments struct {
	ID string `json:"id"`
}

type document struct {
	ID        string        `json:"id"`
	Kind      access.Kind   `json:"kind"`
	Title     string        `json:"title"`
	Text      string        `json:"text"`
	URL       string        `json:"url"`
	Version   int64         `json:"version"`
	ProjectID string        `json:"project_id"`
	UpdatedAt time.Time     `json:"updated_at"`
	Archived  bool          `json:"archived"`
	Tabs      []documentTab `json:"tabs"`
	Truncated bool          `json:"truncated"`
	Next      *nextPart     `json:"next,omitzero"`
}

type documentTab struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Version int64  `json:"version"`
	Chars   int64  `json:"chars"`
}

// nextPart is the call that goes on where a text was cut.
type nextPart struct {
	Tool      string         `json:"tool"`
	Arguments readOnNextPart `json:"arguments"`
	Hint      string         `json:"hint"`
}

type readOnNextPart struct {
	NoteID string `json:"note_id"`
	TabID  string `json:"tab_id"`
	Offset int64  `json:"offset"`
}

// Search are the tools that find and fetch. PublicURL is the origin under which
// people reach the web app.
func Search(resources *workspace.Resources, cursors Cursors, publicURL string) []*Tool {
	t := searchTools{resources, cursors, strings.TrimSuffix(publicURL, "/")}
	return []*Tool{
		define(Tool{
			Name:        "search",
			Title:       "Search",
			Description: "Full-text search in granted projects. Returns IDs, titles, snippets and versions.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a searchArguments) []access.Ref {
			if len(a.ProjectIDs) == 0 {
				return connectionItself
			}
			return projectRefs(a.ProjectIDs...)
		}, t.search),
		define(Tool{
			Name:        "fetch",
			Title:       "Fetch",
			Description: "One search hit in full, by its ID.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a fetchArguments) []access.Ref {
			return []access.Ref{{Kind: access.KindNote, ID: a.ID}}
		}, t.fetch),
	}
}

type searchTools struct {
	resources *workspace.Resources
	cursors   Cursors
	publicURL string
}

func (t searchTools) url(noteID string) string { return t.publicURL + "/notes/" + noteID }

func (t searchTools) search(ctx context.Context, c *Run, a searchArguments) (hitList, error) {
	terms := workspace.ParseSearch(a.Query)
	if len(terms) == 0 {
		return hitList{}, refuseArguments([]problem{{"/query", "query", "needs at least one letter or digit to look for"}})
	}
	q := workspace.Search{Terms: terms}
	if a.UpdatedAfter != "" {
		after, err := time.Parse(time.RFC3339, a.UpdatedAfter)
		if err != nil {
			return hitList{}, refuseArguments([]problem{{"/updated_after", "format", "must be a date and time as in RFC 3339"}}).Because(err)
		}
		q.UpdatedAfter = after
	}
	filters := a
	filters.Cursor, filters.Limit = "", 0
	place, err := t.cursors.open(c, "search", a.Cursor, filters)
	if err != nil {
		return hitList{}, err
	}
	offset, _ := strconv.Atoi(place) // ours, sealed; "" is 0
	answer := hitList{Results: []hit{}}
	if len(a.Kinds) > 0 && !hasNote(a.Kinds) {
		return answer, nil
	}
	hits, next, err := t.resources.Search(ctx, c.Tx, c.Permits, q, offset, limitOf(a.Limit, searchLimit))
	if err != nil {
		return hitList{}, err
	}
	for _, h := range hits {
		answer.Results = append(answer.Results, hit{
			h.NoteID, access.KindNote, h.Title, h.TabID, workspace.Snippet(h.Markdown, terms),
			h.Version, h.ProjectID, h.UpdatedAt, t.url(h.NoteID),
		})
	}
	if next > 0 {
		answer.NextCursor, err = t.cursors.next(c, "search", strconv.Itoa(next), filters)
	}
	return answer, err
}

func hasNote(kinds []string) bool {
	for _, k := range kinds {
		if access.Kind(k) == access.KindNote {
			return true
		}
	}
	return false
}

func (t searchTools) fetch(ctx context.Context, c *Run, _ fetchArguments) (document, error) {
	note, tabs, err := t.resources.NoteText(ctx, c.Tx, c.Permit(), workspace.MaxTextPart)
	if err != nil {
		return document{}, err
	}
	d := document{
		ID: note.ID, Kind: access.KindNote, Title: note.Title, URL: t.url(note.ID), Version: note.Version,
		ProjectID: note.ProjectID, UpdatedAt: note.UpdatedAt, Archived: note.Archived(), Tabs: make([]documentTab, len(tabs)),
	}
	for i, tab := range tabs {
		d.Tabs[i] = documentTab{tab.ID, tab.Title, tab.Version, tab.Chars}
	}
	d.writeText(tabs)
	return d, nil
}

// writeText puts the tabs together, each under its title, until
// workspace.MaxTextPart characters are full, and then says how to go on.
func (d *document) writeText(tabs []workspace.NoteTab) {
	var b strings.Builder
	left := int64(workspace.MaxTextPart)
	for i, tab := range tabs {
		head := "# " + tab.Title + "\n\n"
		if i > 0 {
			head = "\n\n" + head
		}
		left -= int64(utf8.RuneCountInString(head))
		if left < 0 {
			d.cut(tab.ID, 0)
			break
		}
		b.WriteString(head)
		text, shown := firstChars(tab.Markdown, left)
		b.WriteString(text)
		if left -= shown; shown < tab.Chars {
			d.cut(tab.ID, shown)
			break
		}
	}
	d.Text = b.String()
}

func (d *document) cut(tabID string, offset int64) {
	d.Truncated = true
	d.Next = &nextPart{
		Tool: "read_note_tab", Arguments: readOnNextPart{d.ID, tabID, offset},
		Hint: "The text goes on there. Then read the tabs after it.",
	}
}

// firstChars is the first n characters of text, and how many those are.
func firstChars(text string, n int64) (string, int64) {
	var count int64
	for i := range text {
		if count == n {
			return text[:i], n
		}
		count++
	}
	return text, count
}
