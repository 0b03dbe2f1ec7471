package tool

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// listLimit is how many rows a list has when the caller does not say.
const listLimit = 50

// memberLimit is how many people and assistants list_project_members has a page.
const memberLimit = 100

type resourcesArguments struct {
	ProjectID     string   `json:"project_id"`
	Kinds         []string `json:"kinds,omitzero" arg:"items=..6" each:"enum=note|table|channel|session|graph|file"`
	TitleContains string   `json:"title_contains,omitzero" arg:"len=..200"`
	Archived      bool     `json:"archived,omitzero"`
	Cursor        string   `json:"cursor,omitzero"`
	Limit         int64    `json:"limit,omitzero" arg:"min=1,max=100"`
}

type resource struct {
	Kind      access.Kind `json:"kind"`
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	Version   int64       `json:"version"`
	Archived  bool        `json:"archived"`
	UpdatedAt time.Time   `json:"updated_at"`
}

type resourceList struct {
	Items      []resource `json:"items"`
	NextCursor string     `json:"next_cursor,omitzero"`
}

type membersArguments struct {
	ProjectID string `json:"project_id"`
	Cursor    string `json:"cursor,omitzero"`
}

type person struct {
	ID   string      `json:"id"`
	Name string      `json:"name"`
	Role access.Role `json:"role"`
}

type assistant struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Slug   string `json:"slug"`
	Label  string `json:"label"`
	Status string `json:"status"`
}

type memberList struct {
	People     []person    `json:"people"`
	Assistants []assistant `json:"assistants"`
	NextCursor string      `json:"next_cursor,omitzero"`
}

type changesArguments struct {
	ProjectID string `json:"project_id,omitzero"`
	By        string `json:"by,omitzero" arg:"enum=me|others"`
	Cursor    string `json:"cursor,omitzero"`
	Limit     int64  `json:"limit,omitzero" arg:"min=1,max=100"`
}

type change struct {
	Change    string      `json:"change"`
	Kind      access.Kind `json:"kind"`
	ID        string      `json:"id"`
	Title     string      `json:"title"`
	ProjectID string      `json:"project_id"`
	Version   int64       `json:"version"`
	By        string      `json:"by"`
	ByMe      bool        `json:"by_me"`
	At        time.Time   `json:"at"`
}

type changeList struct {
	Items      []change `json:"items"`
	NextCursor string   `json:"next_cursor"` // always: where to ask again
	More       bool     `json:"more"`
}

// Resources are the tools that list what is in a project, whatever its kind.
func Resources(resources *workspace.Resources, cursors Cursors) []*Tool {
	t := resourceTools{resources, cursors}
	return []*Tool{
		define(Tool{
			Name:        "list_project_resources",
			Title:       "Project contents",
			Description: "Notes, record tables, channels, sessions, graphs and files of one granted project, with IDs and versions.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a resourcesArguments) []access.Ref { return projectRefs(a.ProjectID) }, t.listResources),
		define(Tool{
			Name:        "list_project_members",
			Title:       "Project members",
			Description: "People and assistants in a project with their roles.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a membersArguments) []access.Ref { return projectRefs(a.ProjectID) }, t.listMembers),
		define(Tool{
			Name:        "list_resource_changes",
			Title:       "Recent changes",
			Description: "What was created, edited, moved, archived or re-granted since a cursor, and by whom.",
			Needs:       reading,
			ForAgents:   true,
			Hints:       Hints{ReadOnly: true},
		}, func(a changesArguments) []access.Ref {
			if a.ProjectID == "" {
				return connectionItself
			}
			return projectRefs(a.ProjectID)
		}, t.listChanges),
	}
}

func projectRefs(ids ...string) []access.Ref {
	refs := make([]access.Ref, len(ids))
	for i, id := range ids {
		refs[i] = access.Ref{Kind: access.KindProject, ID: id}
	}
	return refs
}

type resourceTools struct {
	resources *workspace.Resources
	cursors   Cursors
}

func (t resourceTools) listResources(ctx context.Context, c *Run, a resourcesArguments) (resourceList, error) {
	filters := resourcesArguments{ProjectID: a.ProjectID, Kinds: a.Kinds, TitleContains: a.TitleContains, Archived: a.Archived}
	after, err := t.cursors.open(c, "list_project_resources", a.Cursor, filters)
	if err != nil {
		return resourceList{}, err
	}
	list, err := t.resources.InProject(ctx, c.Tx, c.Permit(), workspace.ResourceFilter{
		Kinds: kindsOf(a.Kinds), TitleContains: a.TitleContains, Archived: a.Archived,
	}, workspace.Page{After: after, Limit: limitOf(a.Limit, listLimit)})
	if err != nil {
		return resourceList{}, err
	}
	answer := resourceList{Items: make([]resource, len(list.Items))}
	for i, r := range list.Items {
		answer.Items[i] = resource{r.Kind, r.ID, r.Title, r.Version, !r.ArchivedAt.IsZero(), r.UpdatedAt}
	}
	answer.NextCursor, err = t.cursors.next(c, "list_project_resources", list.Next, filters)
	return answer, err
}

func (t resourceTools) listMembers(ctx context.Context, c *Run, a membersArguments) (memberList, error) {
	filters := membersArguments{ProjectID: a.ProjectID}
	after, err := t.cursors.open(c, "list_project_members", a.Cursor, filters)
	if err != nil {
		return memberList{}, err
	}
	list, err := t.resources.Participants(ctx, c.Tx, c.Permit(), workspace.Page{After: after, Limit: memberLimit})
	if err != nil {
		return memberList{}, err
	}
	answer := memberList{People: []person{}, Assistants: []assistant{}}
	for _, m := range list.Items {
		if m.Outside {
			answer.Assistants = append(answer.Assistants, assistant{m.ID, m.Name, m.Slug, outsideAssistant, m.Status})
		} else {
			answer.People = append(answer.People, person{m.ID, m.Name, m.Role})
		}
	}
	answer.NextCursor, err = t.cursors.next(c, "list_project_members", list.Next, filters)
	return answer, err
}

// listChanges gives a cursor with every answer. It does not expire, because it is
// kept until the next visit; but it is of this connection and these arguments.
func (t resourceTools) listChanges(ctx context.Context, c *Run, a changesArguments) (changeList, error) {
	filters := changesArguments{ProjectID: a.ProjectID, By: a.By}
	after, err := t.cursors.open(c, "list_resource_changes", a.Cursor, filters)
	if err != nil {
		return changeList{}, err
	}
	page := workspace.Page{After: after, Limit: limitOf(a.Limit, listLimit)}
	list, more, err := t.resources.Changes(ctx, c.Tx, c.Permits, a.By, t.cursors.now(), page)
	if err != nil {
		return changeList{}, err
	}
	answer := changeList{Items: make([]change, len(list.Items)), More: more}
	me := c.Permit().Principal().ConnectionID
	for i, x := range list.Items {
		answer.Items[i] = change{x.What, x.Kind, x.ID, x.Title, x.ProjectID, x.Version, x.By.Name(), x.By.ConnectionID == me, x.At}
	}
	answer.NextCursor, err = t.cursors.make(c, "list_resource_changes", list.Next, filters, time.Time{})
	return answer, err
}

func kindsOf(names []string) []access.Kind {
	kinds := make([]access.Kind, len(names))
	for i, name := range names {
		kinds[i] = access.Kind(name)
	}
	return kinds
}

func limitOf(asked int64, usual int) int {
	if asked == 0 {
		return usual
	}
	return int(asked)
}
