-- name: InsertSession :exec
INSERT INTO sessions (id, workspace_id, project_id, type, title, owner_id, version, agents, done, max_rounds, day_rounds, day_tokens, day_minutes,
  local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, 0, 0, 0, $14, $15, $16, $17);

-- name: UpdateSession :execrows
UPDATE sessions SET title = sqlc.arg(title), project_id = sqlc.arg(to_project_id), version = sqlc.arg(version), agents = sqlc.arg(agents),
  done = sqlc.arg(done), max_rounds = sqlc.arg(max_rounds), day_rounds = sqlc.arg(day_rounds), day_tokens = sqlc.arg(day_tokens),
  day_minutes = sqlc.arg(day_minutes), archived_at = sqlc.arg(archived_at), updated_at = sqlc.arg(updated_at), updated_by = sqlc.arg(updated_by)
WHERE id = sqlc.arg(id) AND workspace_id = sqlc.arg(workspace_id) AND project_id = sqlc.arg(project_id) AND version = sqlc.arg(was);

-- name: SessionRow :one
SELECT s.* FROM sessions s WHERE s.id = sqlc.arg(session_id) AND s.workspace_id = sqlc.arg(workspace_id);

-- name: ProjectSessions :many
SELECT s.* FROM sessions s
WHERE s.workspace_id = sqlc.arg(workspace_id) AND s.project_id = sqlc.arg(project_id) AND s.id > sqlc.arg(after)
  AND (s.archived_at <> 0) = (CAST(sqlc.arg(archived) AS BIGINT) <> 0)
  AND (s.has_acl = 0 OR EXISTS (SELECT 1 FROM resource_acl a WHERE a.resource_id = s.id AND a.user_id = sqlc.arg(user_id)))
ORDER BY s.id
LIMIT sqlc.arg(most);

-- name: RecentTasks :many
SELECT k.id, k.handoff_id, k.connection_id, k.user_id, k.goal, k.max_rounds, k.state, k.reason, k.rounds, k.created_at, k.started_at, k.ended_at
FROM tasks k
WHERE k.workspace_id = sqlc.arg(workspace_id) AND k.session_id = sqlc.arg(session_id)
ORDER BY k.id DESC
LIMIT sqlc.arg(most);

-- name: SessionACL :many
SELECT a.user_id, u.name, a.access
FROM resource_acl a
JOIN sessions s ON s.id = a.resource_id
JOIN users u ON u.id = a.user_id
WHERE a.resource_id = sqlc.arg(session_id) AND s.workspace_id = sqlc.arg(workspace_id) AND s.project_id = sqlc.arg(project_id)
ORDER BY a.user_id;

-- name: SetSessionACL :execrows
UPDATE sessions SET has_acl = sqlc.arg(has_acl)
WHERE id = sqlc.arg(session_id) AND workspace_id = sqlc.arg(workspace_id) AND project_id = sqlc.arg(project_id);

-- name: SetSessionLocalOnly :execrows
UPDATE sessions SET local_only = sqlc.arg(local_only)
WHERE id = sqlc.arg(session_id) AND workspace_id = sqlc.arg(workspace_id) AND project_id = sqlc.arg(project_id);
