package tool

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

type handoffsArguments struct {
	SessionType string `json:"session_type,omitzero" arg:"enum=agent|team|loop"`
	SessionID   string `json:"session_id,omitzero"`
	Status      string `json:"status,omitzero" arg:"enum=pending|accepted|declined|cancelled"`
	Cursor      string `json:"cursor,omitzero"`
}

type pendingArguments struct {
	Cursor string `json:"cursor,omitzero"`
}

type proposeArguments struct {
	SessionType     string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID       string `json:"session_id"`
	Goal            string `json:"goal" arg:"len=..5000"`
	ContextSummary  string `json:"context_summary" arg:"len=..5000"`
	RequestedOutput string `json:"requested_output" arg:"len=..1000"`
	MaxRounds       int64  `json:"max_rounds,omitzero" arg:"min=1,max=10"`
	IdempotencyKey  string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

type cancelArguments struct {
	HandoffID string `json:"handoff_id"`
}

// proposed is where a handoff of the connection stands.
type proposed struct {
	HandoffID string `json:"handoff_id"`
	Status    string `json:"status"`
}

// handoffLine is a handoff of the connection with its decision.
type handoffLine struct {
	HandoffID       string     `json:"handoff_id"`
	SessionType     string     `json:"session_type"`
	SessionID       string     `json:"session_id"`
	Status          string     `json:"status"`
	Goal            string     `json:"goal"`
	RequestedOutput string     `json:"requested_output"`
	MaxRounds       int64      `json:"max_rounds"` // asked for; the session may allow fewer
	CreatedAt       time.Time  `json:"created_at"`
	ExpiresAt       *time.Time `json:"expires_at,omitzero"`
	DecidedAt       *time.Time `json:"decided_at,omitzero"`
	DecidedBy       string     `json:"decided_by,omitzero"` // a person's name
	Reason          string     `json:"reason,omitzero"`
	TaskID          string     `json:"task_id,omitzero"` // that accepting queued
}

type handoffList struct {
	Items      []handoffLine `json:"items"`
	NextCursor string        `json:"next_cursor,omitzero"`
}

// waitingRequest is something of the connection that waits for a person.
type waitingRequest struct {
	Kind        string     `json:"kind"` // handoff or run
	HandoffID   string     `json:"handoff_id,omitzero"`
	TaskID      string     `json:"task_id,omitzero"`
	SessionType string     `json:"session_type"`
	SessionID   string     `json:"session_id"`
	Goal        string     `json:"goal"`
	Reason      string     `json:"reason,omitzero"` // what a run waits for
	CreatedAt   time.Time  `json:"created_at"`
	ExpiresAt   *time.Time `json:"expires_at,omitzero"`
}

type waitingList struct {
	Items      []waitingRequest `json:"items"`
	NextCursor string           `json:"next_cursor,omitzero"`
}

type handoffTools struct {
	handoffs *workspace.Handoffs
	cursors  Cursors
}

func (t handoffTools) all() []*Tool {
	cancelling := contributing
	cancelling.Own = true
	return []*Tool{
		define(Tool{
			Name:        "list_session_handoffs",
			Title:       "My handoffs",
			Description: "Handoffs this connection proposed, with each decision.",
			Needs:       observing,
			Hints:       Hints{ReadOnly: true},
		}, func(a handoffsArguments) []access.Ref {
			if a.SessionID == "" {
				return connectionItself
			}
			return sessionRefs(a.SessionType, a.SessionID)
		}, t.list),
		define(Tool{
			Name:        "list_pending_requests",
			Title:       "Waiting for a person",
			Description: "This connection's handoffs and runs that wait for a person.",
			Needs:       reading,
			Hints:       Hints{ReadOnly: true},
		}, nil, t.listWaiting),
		define(Tool{
			Name:        "propose_session_handoff",
			Title:       "Propose handoff",
			Description: "Offer a scoped task with its context to the owner of a session this connection was invited to. A person must accept before any run is queued.",
			Needs:       contributing,
			Hints:       Hints{Destructive: true, OpenWorld: true, Idempotent: true},
		}, func(a proposeArguments) []access.Ref { return sessionRefs(a.SessionType, a.SessionID) }, t.propose),
		define(Tool{
			Name:        "cancel_session_handoff",
			Title:       "Cancel handoff",
			Description: "Withdraw a handoff this connection proposed, before its owner accepts it.",
			Needs:       cancelling,
			Hints:       Hints{Destructive: true, Idempotent: true}, // without a key: a repeat finds it withdrawn
		}, func(a cancelArguments) []access.Ref {
			return []access.Ref{{Kind: access.KindHandoff, ID: a.HandoffID}}
		}, t.cancel),
	}
}

func (t handoffTools) list(ctx context.Context, c *Run, a handoffsArguments) (handoffList, error) {
	filters := handoffsArguments{SessionType: a.SessionType, SessionID: a.SessionID, Status: a.Status}
	after, err := t.cursors.open(c, "list_session_handoffs", a.Cursor, filters)
	if err != nil {
		return handoffList{}, err
	}
	f := workspace.HandoffFilter{SessionType: workspace.SessionType(a.SessionType), State: workspace.HandoffState(a.Status)}
	list, err := t.handoffs.Own(ctx, c.Tx, c.Permit(), f, workspace.Page{After: after, Limit: listLimit})
	if err != nil {
		return handoffList{}, err
	}
	answer := handoffList{Items: make([]handoffLine, len(list.Items))}
	for i, h := range list.Items {
		answer.Items[i] = handoffLine{
			HandoffID: h.ID, SessionType: string(h.SessionType), SessionID: h.SessionID, Status: string(h.State),
			Goal: h.Goal, RequestedOutput: h.RequestedOutput, MaxRounds: h.MaxRounds, CreatedAt: h.CreatedAt, ExpiresAt: unlessZero(h.ExpiresAt),
			DecidedAt: unlessZero(h.DecidedAt), DecidedBy: h.DecidedBy.Name, Reason: h.Reason, TaskID: h.TaskID,
		}
	}
	answer.NextCursor, err = t.cursors.next(c, "list_session_handoffs", list.Next, filters)
	return answer, err
}

func (t handoffTools) listWaiting(ctx context.Context, c *Run, a pendingArguments) (waitingList, error) {
	after, err := t.cursors.open(c, "list_pending_requests", a.Cursor, pendingArguments{})
	if err != nil {
		return waitingList{}, err
	}
	list, err := t.handoffs.Waiting(ctx, c.Tx, c.Permit(), workspace.Page{After: after, Limit: listLimit})
	if err != nil {
		return waitingList{}, err
	}
	answer := waitingList{Items: make([]waitingRequest, len(list.Items))}
	for i, r := range list.Items {
		w := waitingRequest{
			Kind: "handoff", HandoffID: r.ID, SessionType: string(r.SessionType), SessionID: r.SessionID, Goal: r.Goal, Reason: r.Reason,
			CreatedAt: r.CreatedAt, ExpiresAt: unlessZero(r.ExpiresAt),
		}
		if r.Run {
			w.Kind, w.HandoffID, w.TaskID = "run", "", r.ID
		}
		answer.Items[i] = w
	}
	answer.NextCursor, err = t.cursors.next(c, "list_pending_requests", list.Next, pendingArguments{})
	return answer, err
}

func (t handoffTools) propose(ctx context.Context, c *Run, a proposeArguments) (proposed, error) {
	h, err := t.handoffs.Propose(ctx, c.Tx, c.Permit(), workspace.Proposal{
		Goal: a.Goal, ContextSummary: a.ContextSummary, RequestedOutput: a.RequestedOutput, MaxRounds: a.MaxRounds,
	})
	return proposed{h.ID, string(h.State)}, err
}

func (t handoffTools) cancel(ctx context.Context, c *Run, _ cancelArguments) (proposed, error) {
	h, err := t.handoffs.Cancel(ctx, c.Tx, c.Permit())
	return proposed{h.ID, string(h.State)}, err
}
