-- name: AddProject :exec
INSERT INTO projects (id, workspace_id, name, private, owner_id, version, archived_at, created_at, updated_at)
VALUES (sqlc.arg(id), sqlc.arg(workspace_id), sqlc.arg(name), sqlc.arg(private), sqlc.arg(owner_id), 1, 0, sqlc.arg(now), sqlc.arg(now));

-- name: Project :one
SELECT p.id, p.workspace_id, p.name, p.private, p.owner_id, p.version, p.archived_at, p.created_at, p.updated_at, u.name AS owner_name
FROM projects p JOIN users u ON u.id = p.owner_id
WHERE p.id = sqlc.arg(id) AND p.workspace_id = sqlc.arg(workspace_id);

-- name: ProjectsOfPerson :many
SELECT p.id, p.workspace_id, p.name, p.private, p.owner_id, p.version, p.archived_at, p.created_at, p.updated_at, u.name AS owner_name
FROM projects p JOIN users u ON u.id = p.owner_id
WHERE p.workspace_id = sqlc.arg(workspace_id) AND p.id > sqlc.arg(after)
  AND (p.private = 0 OR EXISTS (SELECT 1 FROM project_members m WHERE m.project_id = p.id AND m.user_id = sqlc.arg(user_id)))
ORDER BY p.id
LIMIT sqlc.arg(most);

-- name: ChangeProject :execrows
UPDATE projects SET name = sqlc.arg(name), private = sqlc.arg(private), archived_at = sqlc.arg(archived_at),
       version = version + 1, updated_at = sqlc.arg(now)
WHERE id = sqlc.arg(id) AND workspace_id = sqlc.arg(workspace_id) AND version = sqlc.arg(version);

-- name: PeopleOfProject :many
SELECT u.id, u.name, u.email, m.role, pm.created_at
FROM project_members pm
JOIN projects p ON p.id = pm.project_id
JOIN users u ON u.id = pm.user_id
JOIN memberships m ON m.workspace_id = p.workspace_id AND m.user_id = u.id
WHERE pm.project_id = sqlc.arg(project_id) AND p.workspace_id = sqlc.arg(workspace_id) AND u.id > sqlc.arg(after)
ORDER BY u.id
LIMIT sqlc.arg(most);

-- name: AddProjectMember :execrows
INSERT INTO project_members (project_id, user_id, created_at)
SELECT p.id, m.user_id, CAST(sqlc.arg(now) AS BIGINT)
FROM projects p JOIN memberships m ON m.workspace_id = p.workspace_id
WHERE p.id = sqlc.arg(project_id) AND p.workspace_id = sqlc.arg(workspace_id) AND m.user_id = sqlc.arg(user_id)
ON CONFLICT (project_id, user_id) DO NOTHING;

-- name: RemoveProjectMember :execrows
DELETE FROM project_members
WHERE project_members.project_id = sqlc.arg(project_id) AND project_members.user_id = sqlc.arg(user_id)
  AND EXISTS (SELECT 1 FROM projects p WHERE p.id = project_members.project_id AND p.workspace_id = sqlc.arg(workspace_id));

-- name: MeetConnectionsIn :execrows
-- Makes calls of the project's connections wait for this unit of work, or it for them.
UPDATE connections SET last_used_at = last_used_at
WHERE workspace_id = sqlc.arg(workspace_id)
  AND id IN (SELECT cp.connection_id FROM connection_projects cp WHERE cp.project_id = sqlc.arg(project_id));

-- name: MeetConnectionsOf :execrows
-- Makes calls of the person's connections wait for this unit of work, or it for them.
UPDATE connections SET last_used_at = last_used_at WHERE workspace_id = sqlc.arg(workspace_id) AND approver_id = sqlc.arg(user_id);
