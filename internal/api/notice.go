package api

import (
	"context"
	"net/http"
	"time"

	"github.com/osfoundry/osfoundry/internal/workspace"
)

// notice is something that the caller is told.
type notice struct {
	ID           string               `json:"id"`
	WorkspaceID  string               `json:"workspace_id"`
	Type         workspace.NoticeType `json:"type"`
	Text         string               `json:"text"` // in one line, in English
	SessionID    string               `json:"session_id,omitzero"`
	HandoffID    string               `json:"handoff_id,omitzero"`
	TaskID       string               `json:"task_id,omitzero"`
	State        workspace.TaskState  `json:"state,omitzero"` // of the task
	ConnectionID string               `json:"connection_id,omitzero"`
	Connection   string               `json:"connection,omitzero"` // its display name then
	CreatedAt    time.Time            `json:"created_at"`
	ReadAt       *time.Time           `json:"read_at"` // null: not yet
}

func noticeOf(n workspace.Notice) notice {
	return notice{
		ID: n.ID, WorkspaceID: n.WorkspaceID, Type: n.Type, Text: n.Text(), SessionID: n.About.SessionID, HandoffID: n.About.HandoffID,
		TaskID: n.About.TaskID, State: n.About.State, ConnectionID: n.About.ConnectionID, Connection: n.About.Connection,
		CreatedAt: n.CreatedAt, ReadAt: unlessZero(n.ReadAt),
	}
}

type readBody struct {
	IDs []string `json:"ids,omitzero"` // left out: all of the caller's
}

type unread struct {
	Unread int64 `json:"unread"` // how many are left
}

type noticeCalls struct{ notices *workspace.Notices }

// NoticeRoutes are what the caller is told.
func NoticeRoutes(notices *workspace.Notices) []Route {
	s := noticeCalls{notices}
	return []Route{
		Handle(Rule{Method: http.MethodGet, Path: "/api/v1/notices", Operation: "notice.list", Summary: "The caller's own notices, newest first", Paged: true,
			Filters: []Query{{Name: "unread", Arg: "enum=true|false", Doc: "Only those that were not read"}}}, s.list),
		Handle(Rule{Method: http.MethodPost, Path: "/api/v1/notices/read", Operation: "notice.read", Summary: "Mark the caller's own notices as read"}, s.read),
	}
}

func (s noticeCalls) list(ctx context.Context, c *Call, _ Nothing) (List[notice], error) {
	l, err := s.notices.List(ctx, c.Tx, c.Who, c.Query("unread") == "true", c.Page)
	return listOf(c, l, noticeOf), err
}

func (s noticeCalls) read(ctx context.Context, c *Call, in readBody) (unread, error) {
	for i, id := range in.IDs {
		in.IDs[i] = idOf(id)
	}
	left, err := s.notices.Read(ctx, c.Tx, c.Who, in.IDs)
	return unread{left}, err
}
