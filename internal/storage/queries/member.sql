-- name: AddWorkspace :exec
INSERT INTO workspaces (id, name, created_at) VALUES ($1, $2, $3);

-- name: Workspace :one
SELECT id, name, created_at FROM workspaces WHERE id = $1;

-- name: RenameWorkspace :execrows
UPDATE workspaces SET name = $2 WHERE id = $1;

-- name: WorkspacesOf :many
SELECT w.id, w.name, w.created_at, m.role
FROM memberships m JOIN workspaces w ON w.id = m.workspace_id
WHERE m.user_id = sqlc.arg(user_id) AND w.id > sqlc.arg(after)
ORDER BY w.id
LIMIT sqlc.arg(most);

-- name: Members :many
SELECT u.id, u.name, u.email, m.role, u.password_hash = '' AS invited, m.created_at
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.workspace_id = sqlc.arg(workspace_id) AND u.id > sqlc.arg(after)
ORDER BY u.id
LIMIT sqlc.arg(most);

-- name: Member :one
SELECT u.id, u.name, u.email, m.role, u.password_hash = '' AS invited, m.created_at
FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.workspace_id = sqlc.arg(workspace_id) AND u.id = sqlc.arg(user_id);

-- name: AddMember :execrows
INSERT INTO memberships (workspace_id, user_id, role, created_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (workspace_id, user_id) DO NOTHING;

-- name: MeetWorkspace :execrows
-- Changes of members come one after the other, so that the last owner stays.
UPDATE workspaces SET name = name WHERE id = $1;

-- name: OwnersBeside :one
SELECT COUNT(*) FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.workspace_id = sqlc.arg(workspace_id) AND m.role = 'owner' AND m.user_id <> sqlc.arg(user_id) AND u.disabled_at = 0;

-- name: MemberElsewhere :one
SELECT EXISTS (SELECT 1 FROM memberships WHERE user_id = sqlc.arg(user_id) AND workspace_id <> sqlc.arg(workspace_id));

-- name: MeetMember :execrows
-- Makes writes of the person wait for this unit of work, or it for them.
UPDATE memberships SET role = role WHERE workspace_id = sqlc.arg(workspace_id) AND user_id = sqlc.arg(user_id);

-- name: ChangeRole :execrows
UPDATE memberships SET role = sqlc.arg(role) WHERE workspace_id = sqlc.arg(workspace_id) AND user_id = sqlc.arg(user_id);

-- name: RemoveMember :execrows
DELETE FROM memberships WHERE workspace_id = sqlc.arg(workspace_id) AND user_id = sqlc.arg(user_id);

-- name: RemoveFromProjects :execrows
DELETE FROM project_members WHERE user_id = sqlc.arg(user_id)
  AND project_id IN (SELECT id FROM projects WHERE workspace_id = sqlc.arg(workspace_id));

-- name: RemoveFromACLs :execrows
DELETE FROM resource_acl WHERE user_id = sqlc.arg(user_id)
  AND resource_id IN (SELECT id FROM notes WHERE workspace_id = sqlc.arg(workspace_id));
