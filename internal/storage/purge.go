package storage

import (
	"context"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
)

const (
	// keepReplays is how long the answer of a write is kept for its repeat. The
	// contract is 24 h at least (product.md §4).
	keepReplays = 48 * time.Hour
	// keepDead is how long a dead token is kept, so that its use is answered, and
	// audited, as that of a token that was known.
	keepDead = 24 * time.Hour
	// purgePart is how many rows one unit of work deletes; writers that wait for it
	// wait for no more.
	purgePart = 500
)

// purges are the rows that nothing can come of any more. $1 is the moment before
// which they died, $2 how many to delete. A live row is in none of them: a refresh
// token that was used stays as long as its family could, because its reuse must
// still be recognised.
var purges = []struct {
	table, key, dead string
	keep             time.Duration
}{
	{"idempotency_keys", "scope, operation, key", "created_at < $1", keepReplays},
	{"access_tokens", "token_hash", "expires_at < $1", keepDead},
	{"refresh_tokens", "token_hash", "expires_at < $1 AND family_ends < $1", keepDead},
	{"authorization_codes", "token_hash", "expires_at < $1", keepDead},
	{"authorize_requests", "id", "expires_at < $1", keepDead},
	{"browser_sessions", "id", "expires_at < $1", keepDead},
	{"invitations", "token_hash", "expires_at < $1", keepDead},
}

// Purge deletes what expired long enough before now, in many small units of work,
// and returns how many rows that were. It ends early, with what it did, when ctx
// ends.
func (db *DB) Purge(ctx context.Context, now time.Time) (deleted int64, err error) {
	for _, p := range purges {
		// A subquery of the keys, because PostgreSQL has no DELETE … LIMIT.
		query := "DELETE FROM " + p.table + " WHERE (" + p.key + ") IN (SELECT " + p.key + " FROM " + p.table + " WHERE " + p.dead + " LIMIT $2)"
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return deleted, err
			}
			var n int64
			err := db.Write(ctx, func(tx access.Tx) error {
				c, _ := raw(tx)
				done, err := c.ExecContext(ctx, query, now.Add(-p.keep).UnixMilli(), purgePart)
				if err != nil {
					return err
				}
				n, err = done.RowsAffected()
				return err
			})
			if err != nil {
				return deleted, err
			}
			deleted += n
			more = n == purgePart
		}
	}
	return deleted, nil
}
