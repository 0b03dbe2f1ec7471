package workspace

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Replay is the kept answer of a write that was done before under the same key.
type Replay struct {
	Digest string // of the canonical arguments
	Result string // JSON, as it was answered
}

// IdempotencyStore keeps the answers of writes, in the unit of work of their
// effect, for at least 24 hours.
type IdempotencyStore interface {
	// Replay finds the answer kept under the key; ok is false if there is none.
	Replay(ctx context.Context, tx access.Tx, scope, operation, key string) (r Replay, ok bool, err error)
	// KeepReplay keeps an answer. A key that another unit of work took meanwhile is
	// an Error with code InProgress.
	KeepReplay(ctx context.Context, tx access.Tx, scope, operation, key string, r Replay, now time.Time) error
}
