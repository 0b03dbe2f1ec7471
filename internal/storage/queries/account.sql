-- name: UserExists :one
SELECT EXISTS (SELECT 1 FROM users);

-- name: AddUser :execrows
INSERT INTO users (id, email, name, password_hash, disabled_at, created_at) VALUES ($1, $2, $3, $4, 0, $5)
ON CONFLICT (email) DO NOTHING;

-- name: UserByEmail :one
SELECT id, email, name, password_hash, disabled_at, created_at FROM users WHERE email = $1;

-- name: UserByID :one
SELECT id, email, name, password_hash, disabled_at, created_at FROM users WHERE id = $1;

-- name: Users :many
SELECT id, email, name, password_hash, disabled_at, created_at FROM users WHERE id > sqlc.arg(after) ORDER BY id LIMIT sqlc.arg(most);

-- name: RenameUser :execrows
UPDATE users SET name = $2 WHERE id = $1;

-- name: SetPassword :execrows
UPDATE users SET password_hash = $2 WHERE id = $1;

-- name: ConfirmPassword :execrows
-- Holds the row, so that a new password and a sign-in with the old one come one
-- after the other.
UPDATE users SET password_hash = password_hash
WHERE id = sqlc.arg(id) AND password_hash = sqlc.arg(password_hash) AND disabled_at = 0;

-- name: AddSession :exec
INSERT INTO browser_sessions (id, token_hash, user_id, created_at, last_seen_at, expires_at, user_agent) VALUES ($1, $2, $3, $4, $5, $6, $7);

-- name: SessionUser :one
SELECT s.id, s.last_seen_at, s.expires_at, s.created_at, u.id AS user_id, u.email, u.name, u.disabled_at
FROM browser_sessions s JOIN users u ON u.id = s.user_id
WHERE s.token_hash = $1;

-- name: SeeSession :execrows
-- Until is how long this use lets the session live; it never makes a life shorter.
UPDATE browser_sessions SET last_seen_at = sqlc.arg(now),
       expires_at = CASE WHEN expires_at < CAST(sqlc.arg(until) AS BIGINT) THEN CAST(sqlc.arg(until) AS BIGINT) ELSE expires_at END
WHERE id = sqlc.arg(id) AND last_seen_at < sqlc.arg(now);

-- name: RemoveSession :execrows
DELETE FROM browser_sessions WHERE token_hash = $1;

-- name: RemoveSessionsOf :execrows
DELETE FROM browser_sessions WHERE user_id = $1;

-- name: RemoveOtherSessions :execrows
DELETE FROM browser_sessions WHERE user_id = sqlc.arg(user_id) AND id <> sqlc.arg(kept);

-- name: SessionsOfPerson :many
SELECT id, created_at, last_seen_at, expires_at, user_agent FROM browser_sessions
WHERE user_id = sqlc.arg(user_id) AND expires_at > sqlc.arg(now) AND id > sqlc.arg(after)
ORDER BY id
LIMIT sqlc.arg(most);

-- name: RemoveSessionByID :execrows
DELETE FROM browser_sessions WHERE id = sqlc.arg(id) AND user_id = sqlc.arg(user_id) AND expires_at > sqlc.arg(now);

-- name: AddPersonalToken :exec
INSERT INTO personal_tokens (id, token_hash, user_id, name, created_at, last_used_at, revoked_at) VALUES ($1, $2, $3, $4, $5, 0, 0);

-- name: PersonalTokenUser :one
SELECT t.id, t.last_used_at, u.id AS user_id, u.email, u.name, u.disabled_at
FROM personal_tokens t JOIN users u ON u.id = t.user_id
WHERE t.token_hash = $1 AND t.revoked_at = 0;

-- name: SeePersonalToken :execrows
UPDATE personal_tokens SET last_used_at = sqlc.arg(now) WHERE id = sqlc.arg(id) AND last_used_at < sqlc.arg(now);

-- name: PersonalTokens :many
SELECT id, name, created_at, last_used_at FROM personal_tokens
WHERE user_id = sqlc.arg(user_id) AND revoked_at = 0 AND id > sqlc.arg(after)
ORDER BY id
LIMIT sqlc.arg(most);

-- name: RevokePersonalToken :execrows
UPDATE personal_tokens SET revoked_at = sqlc.arg(now) WHERE id = sqlc.arg(id) AND user_id = sqlc.arg(user_id) AND revoked_at = 0;

-- name: AddInvitation :exec
INSERT INTO invitations (token_hash, workspace_id, user_id, created_at, expires_at, used_at) VALUES ($1, $2, $3, $4, $5, 0);

-- name: Invitation :one
SELECT i.workspace_id, i.user_id, i.expires_at, i.used_at, u.email, u.name, u.disabled_at, w.name AS workspace_name
FROM invitations i JOIN users u ON u.id = i.user_id JOIN workspaces w ON w.id = i.workspace_id
WHERE i.token_hash = $1;

-- name: UseInvitation :execrows
UPDATE invitations SET used_at = sqlc.arg(now) WHERE token_hash = sqlc.arg(token_hash) AND used_at = 0 AND expires_at > sqlc.arg(now);

-- name: VoidInvitations :execrows
-- Of the person, to the workspace, or to all of them if that is ''.
UPDATE invitations SET used_at = sqlc.arg(now)
WHERE user_id = sqlc.arg(user_id) AND used_at = 0
  AND (CAST(sqlc.arg(workspace_id) AS TEXT) = '' OR workspace_id = sqlc.arg(workspace_id));
