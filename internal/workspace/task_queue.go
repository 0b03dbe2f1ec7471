package workspace

import (
	"context"

	"github.com/osfoundry/osfoundry/internal/access"
)

// Queue brings rounds to whoever works on them.
type Queue interface {
	// Enqueue adds the job of a round in tx: it exists if and only if tx commits,
	// and starts soon after.
	Enqueue(ctx context.Context, tx access.Tx, taskID string, round int64) error
}
