-- name: AppendEvent :exec
INSERT INTO events (id, workspace_id, project_id, type, kind, resource_id, version, user_id, connection_id, data, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- name: EventsAfter :many
SELECT * FROM events WHERE workspace_id = $1 AND id > $2 ORDER BY id LIMIT $3;

-- name: EventKnown :one
SELECT id FROM events WHERE workspace_id = $1 AND id = $2;
