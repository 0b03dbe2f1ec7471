-- name: AddMail :exec
INSERT INTO session_mail (id, workspace_id, session_id, task_id, from_kind, from_id, to_agent, to_connection, internal, reply_to, subject, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: SessionMail :many
SELECT m.*, COALESCE(c.name, '') AS connection_name, COALESCE(c.slug, '') AS connection_slug, COALESCE(u.name, '') AS user_name,
    COALESCE(t.name, '') AS to_name, COALESCE(t.slug, '') AS to_slug
FROM session_mail m
LEFT JOIN connections c ON m.from_kind = 'connection' AND c.id = m.from_id
LEFT JOIN users u ON m.from_kind = 'person' AND u.id = m.from_id
LEFT JOIN connections t ON t.id = m.to_connection
WHERE m.session_id = sqlc.arg(session_id) AND m.workspace_id = sqlc.arg(workspace_id)
  AND (CAST(sqlc.arg(before) AS TEXT) = '' OR m.id < sqlc.arg(before))
  AND (CAST(sqlc.arg(id) AS TEXT) = '' OR m.id = sqlc.arg(id))
  AND (CAST(sqlc.arg(reader) AS TEXT) = ''
    OR m.internal = 0 AND (m.to_connection = sqlc.arg(reader) OR m.from_kind = 'connection' AND m.from_id = sqlc.arg(reader)))
ORDER BY m.id DESC
LIMIT sqlc.arg(most);

-- name: AgentMail :many
SELECT m.*, COALESCE(c.name, '') AS connection_name, COALESCE(c.slug, '') AS connection_slug, COALESCE(u.name, '') AS user_name,
    COALESCE(t.name, '') AS to_name, COALESCE(t.slug, '') AS to_slug
FROM session_mail m
LEFT JOIN connections c ON m.from_kind = 'connection' AND c.id = m.from_id
LEFT JOIN users u ON m.from_kind = 'person' AND u.id = m.from_id
LEFT JOIN connections t ON t.id = m.to_connection
WHERE m.session_id = sqlc.arg(session_id) AND m.created_at <= sqlc.arg(until)
  AND (m.from_kind = 'agent' AND m.task_id = sqlc.arg(task_id) AND m.from_id <> sqlc.arg(agent) AND m.to_connection = '' AND m.to_agent IN (sqlc.arg(agent), '')
    OR m.from_kind <> 'agent' AND m.to_connection = '' AND m.to_agent IN (sqlc.arg(agent), '')
      AND (CAST(sqlc.arg(behind) AS TEXT) = '' OR m.from_kind = 'connection' AND m.from_id = sqlc.arg(behind))
    OR m.from_kind = 'agent' AND m.to_connection <> '' AND m.internal = 0
      AND (CAST(sqlc.arg(behind) AS TEXT) = '' OR m.to_connection = sqlc.arg(behind)))
ORDER BY m.id DESC
LIMIT sqlc.arg(most);

-- name: MailAddress :one
SELECT c.id FROM connections c
JOIN session_seats e ON e.connection_id = c.id
JOIN sessions s ON s.id = e.session_id AND s.workspace_id = c.workspace_id
JOIN connection_projects cp ON cp.connection_id = c.id AND cp.project_id = s.project_id
WHERE e.session_id = sqlc.arg(session_id) AND c.slug = sqlc.arg(slug) AND c.status = 'active' AND c.family_revoked_at = 0;
