-- name: Provider :one
SELECT p.workspace_id, p.name, p.kind, p.base_url, p.model, CASE WHEN p.secret = '' THEN 0 ELSE 1 END AS has_key, p.command, p.version,
  p.created_at, p.updated_at, p.updated_by
FROM providers p WHERE p.workspace_id = $1 AND p.name = $2;

-- name: Providers :many
SELECT p.workspace_id, p.name, p.kind, p.base_url, p.model, CASE WHEN p.secret = '' THEN 0 ELSE 1 END AS has_key, p.command, p.version,
  p.created_at, p.updated_at, p.updated_by
FROM providers p WHERE p.workspace_id = $1 AND p.name > $2
ORDER BY p.name LIMIT $3;

-- name: ProviderSecret :one
SELECT secret FROM providers WHERE workspace_id = $1 AND name = $2;

-- name: PutProvider :exec
INSERT INTO providers (workspace_id, name, kind, base_url, model, secret, command, version, created_at, updated_at, updated_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT (workspace_id, name) DO UPDATE SET kind = excluded.kind, base_url = excluded.base_url, model = excluded.model,
  secret = excluded.secret, command = excluded.command, version = excluded.version, updated_at = excluded.updated_at, updated_by = excluded.updated_by;

-- name: DeleteProvider :execrows
DELETE FROM providers WHERE workspace_id = $1 AND name = $2;

-- name: Figures :one
SELECT handoff_minutes, day_rounds, day_tokens, day_minutes FROM workspace_figures WHERE workspace_id = $1;

-- name: PutFigures :exec
INSERT INTO workspace_figures (workspace_id, handoff_minutes, day_rounds, day_tokens, day_minutes) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (workspace_id) DO UPDATE SET handoff_minutes = excluded.handoff_minutes, day_rounds = excluded.day_rounds,
  day_tokens = excluded.day_tokens, day_minutes = excluded.day_minutes;
