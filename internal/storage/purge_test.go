package storage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
)

func TestPurgeDeletesTheDeadAndNothingElse(t *testing.T) {
	const day = 24 * time.Hour
	now := time.UnixMilli(1_800_000_000_000)
	at := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		db, raw := openScene(t, o)
		storagetest.Exec(t, raw, `DELETE FROM access_tokens`)
		for name, d := range map[string]time.Duration{"live": time.Minute, "fresh": -time.Minute, "dead": -3 * day} {
			storagetest.Exec(t, raw, `INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at) VALUES ($1, 'desk', '', '', 1, $2, 0)`, name, at(d))
			storagetest.Exec(t, raw, `INSERT INTO authorization_codes (token_hash, connection_id, client_id, redirect_uri, code_challenge, scopes, resource, created_at, expires_at, used_at) VALUES ($1, 'desk', '', '', '', '', '', 1, $2, 0)`, name, at(d))
			storagetest.Exec(t, raw, `INSERT INTO authorize_requests (id, browser_hash, client_id, redirect_uri, scopes, state, has_state, code_challenge, resource, created_at, expires_at, decided_at) VALUES ($1, '', '', '', '', '', 0, '', '', 1, $2, 0)`, name, at(d))
			storagetest.Exec(t, raw, `INSERT INTO browser_sessions (id, token_hash, user_id, created_at, last_seen_at, expires_at, user_agent) VALUES ($1, $1, 'mara', 1, 1, $2, '')`, name, at(d))
			storagetest.Exec(t, raw, `INSERT INTO invitations (token_hash, workspace_id, user_id, created_at, expires_at, used_at) VALUES ($1, 'atlas', 'ben', 1, $2, 0)`, name, at(d))
			storagetest.Exec(t, raw, `INSERT INTO idempotency_keys (scope, operation, key, digest, result, created_at) VALUES ('desk', 'op', $1, '', '', $2)`, name, at(d))
		}
		storagetest.Exec(t, raw, `INSERT INTO idempotency_keys (scope, operation, key, digest, result, created_at) VALUES ('desk', 'op', 'a day old', '', '', $1)`, at(-day-time.Minute))
		for i, r := range []struct {
			name              string
			expires, familyTo time.Duration
		}{{"live", day, day}, {"dead", -3 * day, -3 * day}, {"reuse would be noticed", -3 * day, day}} {
			storagetest.Exec(t, raw, `INSERT INTO refresh_tokens (token_hash, connection_id, client_id, generation, scopes, resource, created_at, expires_at, family_ends, used_at, answer, retries, address)
				VALUES ($1, 'desk', '', $2, '', '', 1, $3, $4, 1, '', 0, '')`, r.name, i, at(r.expires), at(r.familyTo))
		}
		for i := range 1200 { // more than one part
			storagetest.Exec(t, raw, `INSERT INTO idempotency_keys (scope, operation, key, digest, result, created_at) VALUES ('desk', 'many', $1, '', '', 1)`, fmt.Sprint(i))
		}

		deleted, err := db.Purge(t.Context(), now)
		if err != nil || deleted != 1200+7 {
			t.Errorf("got %d rows deleted, %v, want %d", deleted, err, 1200+7)
		}
		for query, want := range map[string]string{
			`SELECT token_hash FROM access_tokens ORDER BY 1`:       "fresh, live",
			`SELECT token_hash FROM authorization_codes ORDER BY 1`: "fresh, live",
			`SELECT id FROM authorize_requests ORDER BY 1`:          "fresh, live",
			`SELECT id FROM browser_sessions ORDER BY 1`:            "fresh, live",
			`SELECT token_hash FROM invitations ORDER BY 1`:         "fresh, live",
			`SELECT token_hash FROM refresh_tokens ORDER BY 1`:      "live, reuse would be noticed",
			`SELECT key FROM idempotency_keys ORDER BY 1`:           "a day old, fresh, live",
		} {
			var got []string
			for _, row := range scan(t, raw, query) {
				got = append(got, row[0])
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("%s: got %q, want %s", query, got, want)
			}
		}
		if deleted, err := db.Purge(t.Context(), now); err != nil || deleted != 0 {
			t.Errorf("purge again: got %d, %v, want 0", deleted, err)
		}
	})
}
