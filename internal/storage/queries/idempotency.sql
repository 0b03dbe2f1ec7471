-- name: Replay :one
SELECT digest, result FROM idempotency_keys WHERE scope = $1 AND operation = $2 AND key = $3;

-- name: KeepReplay :execrows
INSERT INTO idempotency_keys (scope, operation, key, digest, result, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (scope, operation, key) DO NOTHING;
