package tool

import (
	"context"
	"slices"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type tasksArguments struct {
	SessionType string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID   string `json:"session_id"`
	Open        bool   `json:"open,omitzero"`
	Cursor      string `json:"cursor,omitzero"`
}

type resultArguments struct {
	SessionType string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID   string `json:"session_id"`
	TaskID      string `json:"task_id"`
	Offset      int64  `json:"offset,omitzero" arg:"min=0"`
	MaxChars    int64  `json:"max_chars,omitzero" arg:"min=500,max=20000"`
}

// ownTask is a task that the connection started.
type ownTask struct {
	TaskID        string     `json:"task_id"`
	SessionType   string     `json:"session_type"`
	SessionID     string     `json:"session_id"`
	HandoffID     string     `json:"handoff_id,omitzero"` // that a person accepted
	Status        string     `json:"status"`
	QueuePosition int64      `json:"queue_position,omitzero"` // while it is queued
	Reason        string     `json:"reason,omitzero"`         // why it waits, failed or was stopped
	Rounds        int64      `json:"rounds"`                  // done so far
	MaxRounds     int64      `json:"max_rounds"`
	CreatedAt     time.Time  `json:"created_at"`
	StartedAt     *time.Time `json:"started_at,omitzero"`
	EndedAt       *time.Time `json:"ended_at,omitzero"`
}

// ownTaskLine is a task in a list, with what was asked.
type ownTaskLine struct {
	ownTask
	Goal string `json:"goal"`
}

type ownTaskList struct {
	Items      []ownTaskLine `json:"items"`
	NextCursor string        `json:"next_cursor,omitzero"`
}

// taskResult is a task with a part of its result.
type taskResult struct {
	ownTask
	Result     string `json:"result"`
	ResultBy   string `json:"result_by,omitzero"` // slug of the agent whose word it is
	Rehearsed  bool   `json:"rehearsed,omitzero"` // no model was involved
	Offset     int64  `json:"offset"`
	Chars      int64  `json:"chars"` // of the whole result
	NextOffset int64  `json:"next_offset,omitzero"`
}

// Tasks are the tools about tasks that a connection starts.
func Tasks(tasks *workspace.Tasks, cursors Cursors) []*Tool {
	t := taskTools{tasks, cursors}
	own := observing
	own.Own = true
	return []*Tool{
		define(Tool{
			Name:        "list_session_tasks",
			Title:       "My session tasks",
			Description: "Tasks this connection started in a session: state, queue position, reason.",
			Needs:       observing,
			Hints:       Hints{ReadOnly: true},
		}, func(a tasksArguments) []access.Ref { return sessionRefs(a.SessionType, a.SessionID) }, t.list),
		define(Tool{
			Name:        "read_session_task_result",
			Title:       "Task result",
			Description: "Status and attributed result of one task this connection started.",
			Needs:       own,
			Hints:       Hints{ReadOnly: true},
		}, func(a resultArguments) []access.Ref {
			task := access.Ref{Kind: access.KindTask, ID: a.TaskID, Type: a.SessionType, In: a.SessionID}
			return append(sessionRefs(a.SessionType, a.SessionID), task)
		}, t.result),
		t.requestRun(),
	}
}

type taskTools struct {
	tasks   *workspace.Tasks
	cursors Cursors
}

func (t taskTools) list(ctx context.Context, c *Run, a tasksArguments) (ownTaskList, error) {
	filters := tasksArguments{SessionType: a.SessionType, SessionID: a.SessionID, Open: a.Open}
	after, err := t.cursors.open(c, "list_session_tasks", a.Cursor, filters)
	if err != nil {
		return ownTaskList{}, err
	}
	list, err := t.tasks.Own(ctx, c.Tx, c.Permit(), a.Open, workspace.Page{After: after, Limit: listLimit})
	if err != nil {
		return ownTaskList{}, err
	}
	answer := ownTaskList{Items: make([]ownTaskLine, len(list.Items))}
	for i, k := range list.Items {
		answer.Items[i] = ownTaskLine{ownTaskOf(k), k.Goal}
	}
	answer.NextCursor, err = t.cursors.next(c, "list_session_tasks", list.Next, filters)
	return answer, err
}

func (t taskTools) result(ctx context.Context, c *Run, a resultArguments) (taskResult, error) {
	k, part, err := t.tasks.OwnResult(ctx, c.Tx, c.Permits[1], workspace.TextRange{Offset: a.Offset, MaxChars: a.MaxChars})
	if err != nil {
		return taskResult{}, err
	}
	return taskResult{
		ownTask: ownTaskOf(k), Result: part.Text, ResultBy: k.ResultBy, Rehearsed: rehearsed(k.Task),
		Offset: part.Offset, Chars: part.Total, NextOffset: part.Next,
	}, nil
}

func ownTaskOf(k workspace.ListedTask) ownTask {
	return ownTask{
		TaskID: k.ID, SessionType: string(k.Type), SessionID: k.SessionID, HandoffID: k.HandoffID, Status: string(k.State),
		QueuePosition: k.QueuePosition, Reason: k.Reason, Rounds: k.Rounds, MaxRounds: k.MaxRounds,
		CreatedAt: k.CreatedAt, StartedAt: unlessZero(k.StartedAt), EndedAt: unlessZero(k.EndedAt),
	}
}

// rehearsed reports whether the agent whose word the result is has no model.
func rehearsed(k workspace.Task) bool {
	return slices.ContainsFunc(k.Agents, func(a workspace.Agent) bool {
		return a.Slug == k.ResultBy && a.Provider == workspace.RehearsalProvider
	})
}
