package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// Replays implements workspace.IdempotencyStore.
type Replays struct{}

var _ workspace.IdempotencyStore = Replays{}

// Replay is workspace.IdempotencyStore.Replay.
func (Replays) Replay(ctx context.Context, tx access.Tx, scope, operation, key string) (r workspace.Replay, ok bool, err error) {
	row, err := on(tx).Replay(ctx, scope, operation, key)
	if errors.Is(err, sql.ErrNoRows) {
		return workspace.Replay{}, false, nil
	}
	return workspace.Replay{Digest: row.Digest, Result: row.Result}, err == nil, err
}

// KeepReplay is workspace.IdempotencyStore.KeepReplay. Where another unit of work
// is about to take the same key, it waits for the end of that one.
func (Replays) KeepReplay(ctx context.Context, tx access.Tx, scope, operation, key string, r workspace.Replay, now time.Time) error {
	n, err := on(tx).KeepReplay(ctx, gen.KeepReplayParams{
		Scope: scope, Operation: operation, Key: key, Digest: r.Digest, Result: r.Result, CreatedAt: msOf(now),
	})
	if err != nil {
		return err
	}
	if n == 0 {
		return access.Refuse(access.InProgress, "A call with this idempotency_key was in progress. Send it again to get its result.")
	}
	return nil
}
