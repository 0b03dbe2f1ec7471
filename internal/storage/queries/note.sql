-- Each query names workspace, project and note together; a tab's also the tab.

-- name: NoteOutline :many
SELECT n.id, n.workspace_id, n.project_id, n.title, n.version, n.local_only, n.has_acl, n.archived_at,
       n.created_at, n.created_by, n.updated_at, n.updated_by, n.updated_via,
       COALESCE(nu.name, '') AS user_name, COALESCE(nc.name, '') AS connection_name,
       t.id AS tab_id, t.title AS tab_title, t.version AS tab_version, t.chars AS tab_chars, t.updated_at AS tab_updated_at,
       t.updated_by AS tab_updated_by, t.updated_via AS tab_updated_via,
       COALESCE(tu.name, '') AS tab_user_name, COALESCE(tc.name, '') AS tab_connection_name
FROM notes n
JOIN note_tabs t ON t.note_id = n.id
LEFT JOIN users nu ON nu.id = n.updated_by
LEFT JOIN connections nc ON nc.id = n.updated_via
LEFT JOIN users tu ON tu.id = t.updated_by
LEFT JOIN connections tc ON tc.id = t.updated_via
WHERE n.id = CAST(sqlc.arg(note_id) AS TEXT) AND n.workspace_id = CAST(sqlc.arg(workspace_id) AS TEXT) AND n.project_id = CAST(sqlc.arg(project_id) AS TEXT)
ORDER BY t.position;

-- name: ProjectNotes :many
SELECT n.* FROM notes n
WHERE n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id) AND n.id > sqlc.arg(after)
  AND (n.archived_at <> 0) = (CAST(sqlc.arg(archived) AS BIGINT) <> 0)
  AND (n.local_only = 0 OR CAST(sqlc.arg(connection) AS BIGINT) = 0)
  AND (n.has_acl = 0 OR EXISTS (
    SELECT 1 FROM resource_acl a
    WHERE a.resource_id = n.id AND a.user_id = sqlc.arg(user_id)
      AND (a.access = 'edit' OR a.access = 'view' AND CAST(sqlc.arg(connection) AS BIGINT) = 0)))
ORDER BY n.id
LIMIT sqlc.arg(most);

-- name: NoteTab :one
SELECT t.id, t.title, t.version, t.chars, t.markdown, t.updated_at, t.updated_by, t.updated_via,
       COALESCE(u.name, '') AS user_name, COALESCE(c.name, '') AS connection_name
FROM note_tabs t
JOIN notes n ON n.id = t.note_id
LEFT JOIN users u ON u.id = t.updated_by
LEFT JOIN connections c ON c.id = t.updated_via
WHERE t.id = sqlc.arg(tab_id) AND n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id);

-- name: NoteTabVersion :one
SELECT v.version, v.chars, v.markdown, v.created_at, v.created_by, v.created_via,
       COALESCE(u.name, '') AS user_name, COALESCE(c.name, '') AS connection_name
FROM note_tab_versions v
JOIN note_tabs t ON t.id = v.tab_id
JOIN notes n ON n.id = t.note_id
LEFT JOIN users u ON u.id = v.created_by
LEFT JOIN connections c ON c.id = v.created_via
WHERE v.version = sqlc.arg(version) AND t.id = sqlc.arg(tab_id) AND n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id);

-- name: NoteTabVersions :many
SELECT v.version, v.chars, v.created_at, v.created_by, v.created_via,
       COALESCE(u.name, '') AS user_name, COALESCE(c.name, '') AS connection_name
FROM note_tab_versions v
JOIN note_tabs t ON t.id = v.tab_id
JOIN notes n ON n.id = t.note_id
LEFT JOIN users u ON u.id = v.created_by
LEFT JOIN connections c ON c.id = v.created_via
WHERE v.version < sqlc.arg(before) AND t.id = sqlc.arg(tab_id) AND n.id = sqlc.arg(note_id)
  AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id)
ORDER BY v.version DESC
LIMIT sqlc.arg(most);

-- name: NoteVersion :one
SELECT v.* FROM note_versions v
JOIN notes n ON n.id = v.note_id
WHERE v.version = sqlc.arg(version) AND n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id);

-- name: HoldNote :one
UPDATE notes SET updated_at = $1, updated_by = $2, updated_via = $3
WHERE id = $4 AND workspace_id = $5 AND project_id = $6
RETURNING *;

-- name: InsertNote :exec
INSERT INTO notes (id, workspace_id, project_id, title, version, local_only, has_acl, archived_at, created_at, created_by, updated_at, updated_by, updated_via)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: UpdateNote :execrows
UPDATE notes SET title = sqlc.arg(title), project_id = sqlc.arg(to_project_id), archived_at = sqlc.arg(archived_at), version = sqlc.arg(version)
WHERE id = sqlc.arg(id) AND workspace_id = sqlc.arg(workspace_id) AND project_id = sqlc.arg(project_id) AND version = sqlc.arg(was);

-- name: InsertNoteVersion :execrows
INSERT INTO note_versions (note_id, version, project_id, title, tabs, archived, created_at, created_by, created_via)
SELECT n.id, CAST(sqlc.arg(version) AS BIGINT), n.project_id, n.title, CAST(sqlc.arg(tabs) AS TEXT),
       CASE WHEN n.archived_at = 0 THEN 0 ELSE 1 END, n.updated_at, n.updated_by, n.updated_via
FROM notes n
WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id);

-- name: InsertNoteTab :execrows
INSERT INTO note_tabs (id, note_id, title, position, version, chars, markdown, updated_at, updated_by, updated_via)
SELECT CAST(sqlc.arg(id) AS TEXT), n.id, CAST(sqlc.arg(title) AS TEXT), CAST(sqlc.arg(position) AS BIGINT), CAST(sqlc.arg(version) AS BIGINT),
       CAST(sqlc.arg(chars) AS BIGINT), CAST(sqlc.arg(markdown) AS TEXT), CAST(sqlc.arg(updated_at) AS BIGINT),
       CAST(sqlc.arg(updated_by) AS TEXT), CAST(sqlc.arg(updated_via) AS TEXT)
FROM notes n
WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id);

-- name: PlaceNoteTab :execrows
UPDATE note_tabs SET title = sqlc.arg(title), position = sqlc.arg(position)
WHERE note_tabs.id = sqlc.arg(tab_id) AND note_id IN (
  SELECT n.id FROM notes n WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: UpdateNoteTab :execrows
UPDATE note_tabs SET version = sqlc.arg(version), chars = sqlc.arg(chars), markdown = sqlc.arg(markdown),
  updated_at = sqlc.arg(updated_at), updated_by = sqlc.arg(updated_by), updated_via = sqlc.arg(updated_via)
WHERE note_tabs.id = sqlc.arg(tab_id) AND note_tabs.version = sqlc.arg(was) AND note_id IN (
  SELECT n.id FROM notes n WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: InsertNoteTabVersion :execrows
INSERT INTO note_tab_versions (tab_id, version, chars, markdown, created_at, created_by, created_via)
SELECT t.id, t.version, t.chars, t.markdown, t.updated_at, t.updated_by, t.updated_via
FROM note_tabs t
JOIN notes n ON n.id = t.note_id
WHERE t.id = sqlc.arg(tab_id) AND n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id);

-- name: DeleteNoteTabVersions :exec
DELETE FROM note_tab_versions WHERE tab_id IN (
  SELECT t.id FROM note_tabs t JOIN notes n ON n.id = t.note_id
  WHERE t.id = sqlc.arg(tab_id) AND n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: DeleteNoteTab :execrows
DELETE FROM note_tabs WHERE note_tabs.id = sqlc.arg(tab_id) AND note_id IN (
  SELECT n.id FROM notes n WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: DeleteTabVersionsOfNote :exec
DELETE FROM note_tab_versions WHERE tab_id IN (
  SELECT t.id FROM note_tabs t JOIN notes n ON n.id = t.note_id
  WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: DeleteTabsOfNote :exec
DELETE FROM note_tabs WHERE note_id IN (
  SELECT n.id FROM notes n WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: DeleteVersionsOfNote :exec
DELETE FROM note_versions WHERE note_id IN (
  SELECT n.id FROM notes n WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: DeleteACLOfNote :exec
DELETE FROM resource_acl WHERE resource_id IN (
  SELECT n.id FROM notes n WHERE n.id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id));

-- name: DeleteNote :execrows
DELETE FROM notes WHERE id = $1 AND workspace_id = $2 AND project_id = $3 AND version = $4;
