package tool

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// running is what asking for a run needs: a scope and a seat, both given earlier.
var running = access.Permission{Scopes: access.ScopeRun, Right: access.RightEdit, Seat: access.SeatRunner}

type runArguments struct {
	SessionType    string `json:"session_type" arg:"enum=agent|team|loop"`
	SessionID      string `json:"session_id"`
	Goal           string `json:"goal" arg:"len=..10000"`
	MaxRounds      int64  `json:"max_rounds,omitzero" arg:"min=1,max=10"`
	IdempotencyKey string `json:"idempotency_key" arg:"len=8..64" doc:"Reuse on retry"`
}

// requested is the answer of request_session_run [fixed] (product.md §4).
type requested struct {
	TaskID        string `json:"task_id"`
	Status        string `json:"status"`
	QueuePosition int64  `json:"queue_position"`
}

func (t taskTools) requestRun() *Tool {
	return define(Tool{
		Name:        "request_session_run",
		Title:       "Request run",
		Description: "Queue a bounded goal for a session in which this connection holds a Runner seat.",
		Needs:       running,
		Hints:       Hints{Destructive: true, Idempotent: true},
	}, func(a runArguments) []access.Ref { return sessionRefs(a.SessionType, a.SessionID) },
		func(ctx context.Context, c *Run, a runArguments) (requested, error) {
			k, position, err := t.tasks.RequestRun(ctx, c.Tx, c.Permit(), a.Goal, a.MaxRounds)
			return requested{k.ID, string(k.State), position}, err
		})
}
