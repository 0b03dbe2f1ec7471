-- name: AppendAudit :exec
INSERT INTO audit (id, workspace_id, project_id, user_id, connection_id, tool, kind, resource_id, decision, code, detail, duration_us, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id) DO NOTHING; -- an entry whose first try may have been written comes again

-- name: UseConnection :execrows
UPDATE connections SET last_used_at = sqlc.arg(now)
WHERE id = sqlc.arg(id) AND workspace_id = sqlc.arg(workspace_id) AND last_used_at < sqlc.arg(before);
