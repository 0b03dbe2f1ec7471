-- name: LastEvent :one
SELECT id FROM events WHERE workspace_id = $1 ORDER BY id DESC LIMIT 1;
