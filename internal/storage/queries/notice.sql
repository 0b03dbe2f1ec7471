-- name: InsertNotice :exec
INSERT INTO notices (id, user_id, workspace_id, type, data, created_at, read_at) VALUES ($1, $2, $3, $4, $5, $6, 0);

-- name: NoticesOf :many
SELECT n.* FROM notices n
JOIN memberships m ON m.workspace_id = n.workspace_id AND m.user_id = n.user_id
WHERE n.user_id = sqlc.arg(user_id) AND (CAST(sqlc.arg(before) AS TEXT) = '' OR n.id < sqlc.arg(before))
  AND (n.read_at = 0 OR CAST(sqlc.arg(unread) AS BIGINT) = 0)
ORDER BY n.id DESC
LIMIT sqlc.arg(most);

-- name: CountUnreadNotices :one
SELECT COUNT(*) FROM notices n
JOIN memberships m ON m.workspace_id = n.workspace_id AND m.user_id = n.user_id
WHERE n.user_id = sqlc.arg(user_id) AND n.read_at = 0;

-- name: MarkNoticesRead :exec
UPDATE notices SET read_at = sqlc.arg(now) WHERE user_id = sqlc.arg(user_id) AND read_at = 0;

-- name: MarkNoticeRead :exec
UPDATE notices SET read_at = sqlc.arg(now) WHERE user_id = sqlc.arg(user_id) AND id = sqlc.arg(id) AND read_at = 0;
