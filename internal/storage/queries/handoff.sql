-- name: CountPendingHandoffs :one
SELECT COUNT(*) AS waiting, CAST(COALESCE(MIN(CASE WHEN h.expires_at > 0 THEN h.expires_at END), 0) AS BIGINT) AS soonest
FROM handoffs h
WHERE h.connection_id = sqlc.arg(connection_id) AND h.state = 'pending' AND (h.expires_at = 0 OR h.expires_at > sqlc.arg(now));

-- name: InsertHandoff :exec
INSERT INTO handoffs (id, workspace_id, session_id, connection_id, goal, context_summary, requested_output, max_rounds, state, reason,
  created_at, expires_at, decided_at, decided_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', $10, $11, 0, '');

-- name: Handoff :one
SELECT h.id, h.workspace_id, h.session_id, h.connection_id, h.goal, h.context_summary, h.requested_output, h.max_rounds, h.state, h.reason,
  h.created_at, h.expires_at, h.decided_at, h.decided_by,
  s.type, s.project_id, c.name AS connection_name, c.slug, c.redirect_host, c.approver_id, a.name AS approver,
  COALESCE(u.name, '') AS decider, COALESCE(k.id, '') AS task_id
FROM handoffs h
JOIN sessions s ON s.id = h.session_id
JOIN connections c ON c.id = h.connection_id
JOIN users a ON a.id = c.approver_id
LEFT JOIN users u ON u.id = h.decided_by
LEFT JOIN tasks k ON k.handoff_id = h.id
WHERE h.workspace_id = sqlc.arg(workspace_id) AND h.id = sqlc.arg(handoff_id);

-- name: DecideHandoff :execrows
-- The one statement that decides: whoever comes second finds the state changed.
UPDATE handoffs SET state = sqlc.arg(to_state), reason = sqlc.arg(reason), decided_at = sqlc.arg(now), decided_by = sqlc.arg(decided_by)
WHERE id = sqlc.arg(handoff_id) AND workspace_id = sqlc.arg(workspace_id) AND state = 'pending'
  AND (expires_at = 0 OR expires_at > sqlc.arg(now));

-- name: ExpiredHandoffs :many
SELECT h.id, h.workspace_id, h.session_id, s.project_id
FROM handoffs h JOIN sessions s ON s.id = h.session_id
WHERE h.state = 'pending' AND h.expires_at > 0 AND h.expires_at <= sqlc.arg(now)
ORDER BY h.id
LIMIT sqlc.arg(most);

-- name: ExpireHandoff :execrows
UPDATE handoffs SET state = 'cancelled', reason = sqlc.arg(reason), decided_at = expires_at
WHERE id = sqlc.arg(handoff_id) AND workspace_id = sqlc.arg(workspace_id) AND state = 'pending'
  AND expires_at > 0 AND expires_at <= sqlc.arg(now);
