-- name: AddConnection :execrows
INSERT INTO connections (id, workspace_id, approver_id, client_id, name, slug, client_host, redirect_host, status, scopes,
  consent_address, family_revoked_at, family_reason, created_at, last_used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, '', $12, 0)
ON CONFLICT (workspace_id, slug) DO NOTHING;

-- name: GetConnection :one
SELECT c.id, c.workspace_id, c.approver_id, u.name AS approver_name, c.client_id, c.client_host, c.redirect_host,
  c.name, c.slug, c.status, c.scopes, c.consent_address, c.created_at, c.last_used_at
FROM connections c JOIN users u ON u.id = c.approver_id
WHERE c.workspace_id = $1 AND c.id = $2;

-- name: ListConnections :many
SELECT c.id, c.workspace_id, c.approver_id, u.name AS approver_name, c.client_id, c.client_host, c.redirect_host,
  c.name, c.slug, c.status, c.scopes, c.consent_address, c.created_at, c.last_used_at
FROM connections c JOIN users u ON u.id = c.approver_id
WHERE c.workspace_id = $1 AND c.id > $2
ORDER BY c.id LIMIT $3;

-- name: ListProjectConnections :many
SELECT c.id, c.workspace_id, c.approver_id, u.name AS approver_name, c.client_id, c.client_host, c.redirect_host,
  c.name, c.slug, c.status, c.scopes, c.consent_address, c.created_at, c.last_used_at
FROM connections c
JOIN users u ON u.id = c.approver_id
JOIN connection_projects cp ON cp.connection_id = c.id
WHERE c.workspace_id = $1 AND cp.project_id = $2 AND c.id > $3
ORDER BY c.id LIMIT $4;

-- name: ListConnectionProjects :many
SELECT cp.connection_id, p.id, p.name
FROM connection_projects cp
JOIN connections c ON c.id = cp.connection_id
JOIN projects p ON p.id = cp.project_id
WHERE c.workspace_id = sqlc.arg(workspace_id) AND p.workspace_id = sqlc.arg(workspace_id)
  AND cp.connection_id >= sqlc.arg(first) AND cp.connection_id <= sqlc.arg(last)
  AND (CAST(sqlc.arg(viewer) AS TEXT) = '' OR p.private = 0 OR p.owner_id = sqlc.arg(viewer) OR EXISTS (
    SELECT 1 FROM project_members m WHERE m.project_id = p.id AND m.user_id = sqlc.arg(viewer)))
ORDER BY cp.connection_id, p.id;

-- name: MoveConnectionStatus :execrows
UPDATE connections SET status = sqlc.arg(new_status)
WHERE workspace_id = sqlc.arg(workspace_id) AND id = sqlc.arg(id) AND status = sqlc.arg(old_status);

-- name: RenameConnection :exec
UPDATE connections SET name = $3 WHERE workspace_id = $1 AND id = $2;

-- name: TouchConnection :execrows
UPDATE connections SET status = status WHERE workspace_id = $1 AND id = $2;

-- name: AddConnectionProject :execrows
INSERT INTO connection_projects (connection_id, project_id, added_by, created_at)
SELECT c.id, p.id, CAST(sqlc.arg(added_by) AS TEXT), CAST(sqlc.arg(created_at) AS BIGINT)
FROM connections c JOIN projects p ON p.workspace_id = c.workspace_id
WHERE c.workspace_id = sqlc.arg(workspace_id) AND c.id = sqlc.arg(connection_id) AND p.id = sqlc.arg(project_id)
ON CONFLICT (connection_id, project_id) DO NOTHING;

-- name: RemoveConnectionProject :execrows
DELETE FROM connection_projects
WHERE connection_id = sqlc.arg(connection_id) AND project_id = sqlc.arg(project_id)
  AND EXISTS (SELECT 1 FROM projects p WHERE p.id = connection_projects.project_id AND p.workspace_id = sqlc.arg(workspace_id));

-- name: ListPredecessors :many
SELECT id FROM connections
WHERE workspace_id = $1 AND approver_id = $2 AND client_id = $3 AND status <> 'revoked'
ORDER BY id;

-- name: MarkConnectionUsed :exec
UPDATE connections SET last_used_at = sqlc.arg(used_at) WHERE workspace_id = sqlc.arg(workspace_id) AND id = sqlc.arg(id) AND last_used_at < sqlc.arg(used_at);
