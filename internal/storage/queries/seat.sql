-- name: SeatsOf :many
SELECT s.id, s.type, s.title, c.id AS connection_id, c.name, c.slug, c.status, e.seat, e.given_by, e.created_at, c.last_used_at
FROM session_seats e
JOIN sessions s ON s.id = e.session_id
JOIN connections c ON c.id = e.connection_id AND c.workspace_id = s.workspace_id
JOIN connection_projects cp ON cp.connection_id = c.id AND cp.project_id = s.project_id
WHERE s.workspace_id = sqlc.arg(workspace_id) AND s.id = sqlc.arg(session_id) AND c.id > sqlc.arg(after) AND c.status <> 'revoked'
ORDER BY c.id
LIMIT sqlc.arg(most);

-- name: SeatFor :one
SELECT s.id, s.type, s.title, c.id AS connection_id, c.name, c.slug, c.status, c.last_used_at,
  COALESCE(e.seat, '') AS seat, COALESCE(e.given_by, '') AS given_by, COALESCE(e.created_at, 0) AS created_at,
  COALESCE(cp.project_id, '') AS granted
FROM sessions s
JOIN connections c ON c.workspace_id = s.workspace_id
LEFT JOIN connection_projects cp ON cp.connection_id = c.id AND cp.project_id = s.project_id
LEFT JOIN session_seats e ON e.session_id = s.id AND e.connection_id = c.id
WHERE s.workspace_id = sqlc.arg(workspace_id) AND s.id = sqlc.arg(session_id) AND c.id = sqlc.arg(connection_id);

-- name: PutSeat :exec
INSERT INTO session_seats (session_id, connection_id, seat, given_by, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (session_id, connection_id) DO UPDATE SET seat = excluded.seat, given_by = excluded.given_by, created_at = excluded.created_at;

-- name: DeleteSeat :execrows
DELETE FROM session_seats
WHERE session_seats.session_id = sqlc.arg(session_id) AND session_seats.connection_id = sqlc.arg(connection_id)
  AND EXISTS (SELECT 1 FROM sessions s WHERE s.id = session_seats.session_id AND s.workspace_id = sqlc.arg(workspace_id));
