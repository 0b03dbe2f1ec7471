-- name: NoteACL :many
SELECT a.user_id, u.name, a.access
FROM resource_acl a
JOIN notes n ON n.id = a.resource_id
JOIN users u ON u.id = a.user_id
WHERE a.resource_id = sqlc.arg(note_id) AND n.workspace_id = sqlc.arg(workspace_id) AND n.project_id = sqlc.arg(project_id)
ORDER BY a.user_id;

-- name: SetNoteACL :execrows
UPDATE notes SET has_acl = sqlc.arg(has_acl)
WHERE id = sqlc.arg(note_id) AND workspace_id = sqlc.arg(workspace_id) AND project_id = sqlc.arg(project_id);

-- name: SetNoteLocalOnly :execrows
UPDATE notes SET local_only = sqlc.arg(local_only)
WHERE id = sqlc.arg(note_id) AND workspace_id = sqlc.arg(workspace_id) AND project_id = sqlc.arg(project_id);

-- name: ClearACL :execrows
DELETE FROM resource_acl WHERE resource_id = sqlc.arg(resource_id);

-- name: AddToACL :execrows
INSERT INTO resource_acl (resource_id, user_id, access)
SELECT CAST(sqlc.arg(resource_id) AS TEXT), m.user_id, CAST(sqlc.arg(access) AS TEXT)
FROM memberships m WHERE m.workspace_id = sqlc.arg(workspace_id) AND m.user_id = sqlc.arg(user_id)
ON CONFLICT (resource_id, user_id) DO UPDATE SET access = excluded.access;
