-- name: WorkspaceName :one
SELECT name FROM workspaces WHERE id = $1;

-- name: GrantedProjects :many
SELECT p.id, p.name FROM connection_projects cp
JOIN projects p ON p.id = cp.project_id
WHERE p.workspace_id = sqlc.arg(workspace_id) AND cp.connection_id = sqlc.arg(connection_id)
  AND (p.private = 0 OR EXISTS (
    SELECT 1 FROM project_members m WHERE m.project_id = p.id AND m.user_id = sqlc.arg(user_id)))
ORDER BY p.id;

-- name: ProjectParticipants :many
WITH listed AS (
  SELECT '1' || u.id AS key, u.id, u.name, ms.role, '' AS slug, '' AS status
  FROM projects p
  JOIN memberships ms ON ms.workspace_id = p.workspace_id
  JOIN users u ON u.id = ms.user_id
  WHERE p.workspace_id = sqlc.arg(workspace_id) AND p.id = sqlc.arg(project_id) AND u.disabled_at = 0
    AND (p.private = 0 OR EXISTS (
      SELECT 1 FROM project_members pm WHERE pm.project_id = p.id AND pm.user_id = u.id))
  UNION ALL
  SELECT '2' || c.id, c.id, c.name, '', c.slug, c.status
  FROM connection_projects cp
  JOIN connections c ON c.id = cp.connection_id
  WHERE c.workspace_id = sqlc.arg(workspace_id) AND cp.project_id = sqlc.arg(project_id) AND c.status <> 'revoked'
)
SELECT CAST(key AS TEXT) AS key, id, name, role, CAST(slug AS TEXT) AS slug, CAST(status AS TEXT) AS status
FROM listed
WHERE key > CAST(sqlc.arg(after) AS TEXT)
ORDER BY key
LIMIT sqlc.arg(most);

-- name: NoteHead :one
SELECT project_id, title, version, archived_at, updated_at FROM notes WHERE workspace_id = $1 AND id = $2;

-- name: NoteTabTexts :many
SELECT t.id, t.title, t.version, t.chars, CAST(SUBSTR(t.markdown, 1, sqlc.arg(chars)) AS TEXT) AS markdown
FROM note_tabs t JOIN notes n ON n.id = t.note_id
WHERE n.workspace_id = sqlc.arg(workspace_id) AND n.id = sqlc.arg(note_id)
ORDER BY t.position, t.id;
