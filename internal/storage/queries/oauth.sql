-- name: Client :one
SELECT id, source, name, metadata, redirect_uris, address, created_at, last_used_at, fetched_until FROM clients WHERE id = $1;

-- name: AddClient :exec
INSERT INTO clients (id, source, name, metadata, redirect_uris, address, created_at, last_used_at, fetched_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: KeepDocument :exec
INSERT INTO clients (id, source, name, metadata, redirect_uris, address, created_at, last_used_at, fetched_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, metadata = excluded.metadata, redirect_uris = excluded.redirect_uris,
       fetched_until = excluded.fetched_until;

-- name: MeetRegistrations :execrows
-- Registrations come one after the other, so that none goes over the limit.
INSERT INTO settings (name, value) VALUES ('registrations', '') ON CONFLICT (name) DO UPDATE SET value = '';

-- name: UnusedClients :one
SELECT COUNT(*) AS total, CAST(COALESCE(SUM(CASE WHEN address = sqlc.arg(address) THEN 1 ELSE 0 END), 0) AS BIGINT) AS of_address
FROM clients WHERE source = 'registration' AND last_used_at = 0 AND created_at >= sqlc.arg(since);

-- name: UseClient :execrows
UPDATE clients SET last_used_at = sqlc.arg(now) WHERE id = sqlc.arg(id) AND last_used_at < sqlc.arg(now);

-- name: ClientApproved :one
SELECT EXISTS (SELECT 1 FROM connections WHERE client_id = sqlc.arg(client_id) AND approver_id = sqlc.arg(user_id));

-- name: AddAuthorizeRequest :exec
INSERT INTO authorize_requests (id, browser_hash, client_id, redirect_uri, scopes, state, has_state, code_challenge, resource, created_at, expires_at, decided_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0);

-- name: AuthorizeRequest :one
SELECT id, browser_hash, client_id, redirect_uri, scopes, state, has_state, code_challenge, resource, created_at, expires_at, decided_at
FROM authorize_requests WHERE id = $1;

-- name: DecideRequest :execrows
UPDATE authorize_requests SET decided_at = sqlc.arg(now)
WHERE id = sqlc.arg(id) AND browser_hash = sqlc.arg(browser_hash) AND decided_at = 0 AND expires_at > sqlc.arg(now);

-- name: ConsentChoices :many
SELECT w.id, w.name, m.role
FROM memberships m JOIN workspaces w ON w.id = m.workspace_id JOIN users u ON u.id = m.user_id
WHERE m.user_id = $1 AND u.disabled_at = 0
ORDER BY w.name, w.id;

-- name: EarlierConnections :many
SELECT workspace_id, name, created_at FROM connections
WHERE client_id = sqlc.arg(client_id) AND approver_id = sqlc.arg(user_id) AND status <> 'revoked'
ORDER BY id;

-- name: AddCode :exec
INSERT INTO authorization_codes (token_hash, connection_id, client_id, redirect_uri, code_challenge, scopes, resource, created_at, expires_at, used_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0);

-- name: Code :one
SELECT k.token_hash, k.client_id, k.redirect_uri, k.code_challenge, k.scopes, k.resource, k.created_at, k.expires_at, k.used_at,
       c.id AS connection_id, c.workspace_id, c.name, c.approver_id, c.client_id AS granted_to, c.consent_address, c.status, c.family_revoked_at,
       u.disabled_at, CAST(CASE WHEN m.user_id IS NULL THEN 0 ELSE 1 END AS BIGINT) AS member
FROM authorization_codes k
JOIN connections c ON c.id = k.connection_id
JOIN users u ON u.id = c.approver_id
LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = c.approver_id
WHERE k.token_hash = $1;

-- name: UseCode :execrows
UPDATE authorization_codes SET used_at = sqlc.arg(now) WHERE token_hash = sqlc.arg(token_hash) AND used_at = 0;

-- name: ChallengeUsed :one
SELECT EXISTS (SELECT 1 FROM authorization_codes
WHERE client_id = sqlc.arg(client_id) AND code_challenge = sqlc.arg(code_challenge) AND used_at <> 0);

-- name: HoldConnection :execrows
UPDATE connections SET family_reason = family_reason WHERE id = $1;

-- name: AddAccessToken :exec
INSERT INTO access_tokens (token_hash, connection_id, scopes, resource, created_at, expires_at, revoked_at)
VALUES ($1, $2, $3, $4, $5, $6, 0);

-- name: AddRefreshToken :exec
INSERT INTO refresh_tokens (token_hash, connection_id, client_id, generation, scopes, resource, created_at, expires_at, family_ends, used_at, answer, retries, address)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, '', 0, '');

-- name: AccessToken :one
SELECT t.token_hash, t.scopes, t.resource, t.created_at, t.expires_at, t.revoked_at,
       c.id AS connection_id, c.workspace_id, c.name, c.approver_id, c.client_id, c.consent_address, c.status, c.family_revoked_at,
       u.disabled_at, CAST(CASE WHEN m.user_id IS NULL THEN 0 ELSE 1 END AS BIGINT) AS member
FROM access_tokens t
JOIN connections c ON c.id = t.connection_id
JOIN users u ON u.id = c.approver_id
LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = c.approver_id
WHERE t.token_hash = $1;

-- name: RefreshToken :one
SELECT t.token_hash, t.client_id, t.generation, t.scopes, t.resource, t.created_at, t.expires_at, t.family_ends, t.used_at, t.answer, t.retries, t.address,
       c.id AS connection_id, c.workspace_id, c.name, c.approver_id, c.client_id AS granted_to, c.consent_address, c.status, c.family_revoked_at,
       u.disabled_at, CAST(CASE WHEN m.user_id IS NULL THEN 0 ELSE 1 END AS BIGINT) AS member,
       CAST(CASE WHEN EXISTS (SELECT 1 FROM refresh_tokens n WHERE n.connection_id = t.connection_id AND n.generation = t.generation + 1 AND n.used_at = 0) THEN 0 ELSE 1 END AS BIGINT) AS successor_used
FROM refresh_tokens t
JOIN connections c ON c.id = t.connection_id
JOIN users u ON u.id = c.approver_id
LEFT JOIN memberships m ON m.workspace_id = c.workspace_id AND m.user_id = c.approver_id
WHERE t.token_hash = $1;

-- name: UseRefreshToken :execrows
UPDATE refresh_tokens SET used_at = sqlc.arg(used_at), answer = sqlc.arg(answer), address = sqlc.arg(address)
WHERE token_hash = sqlc.arg(token_hash) AND used_at = 0;

-- name: ForgetAnswers :execrows
UPDATE refresh_tokens SET answer = ''
WHERE connection_id = sqlc.arg(connection_id) AND generation < sqlc.arg(generation) AND answer <> '';

-- name: RepeatRefresh :execrows
UPDATE refresh_tokens SET retries = retries + 1 WHERE token_hash = $1;

-- name: EndAccessToken :execrows
UPDATE access_tokens SET revoked_at = sqlc.arg(now) WHERE token_hash = sqlc.arg(token_hash) AND revoked_at = 0;

-- name: EndFamily :execrows
UPDATE connections SET status = 'revoked', family_revoked_at = sqlc.arg(now), family_reason = sqlc.arg(reason)
WHERE id = sqlc.arg(id) AND family_revoked_at = 0;

-- name: AddNotice :exec
INSERT INTO notices (id, user_id, workspace_id, type, data, created_at, read_at) VALUES ($1, $2, $3, $4, $5, $6, 0);

-- name: OwnersOf :many
SELECT m.user_id FROM memberships m JOIN users u ON u.id = m.user_id
WHERE m.workspace_id = sqlc.arg(workspace_id) AND m.role = 'owner' AND m.user_id <> sqlc.arg(user_id) AND u.disabled_at = 0
ORDER BY m.user_id;

-- name: PurgeRequests :execrows
DELETE FROM authorize_requests WHERE expires_at < $1;

-- name: PurgeCodes :execrows
DELETE FROM authorization_codes
WHERE used_at = 0 AND expires_at < sqlc.arg(now) OR used_at <> 0 AND created_at < sqlc.arg(codes);

-- name: PurgeAccessTokens :execrows
DELETE FROM access_tokens WHERE expires_at < $1;

-- name: PurgeRefreshTokens :execrows
DELETE FROM refresh_tokens WHERE expires_at < sqlc.arg(now) OR family_ends < sqlc.arg(now);

-- name: PurgeClients :execrows
DELETE FROM clients
WHERE (clients.source = 'registration' AND clients.last_used_at = 0 AND clients.created_at < sqlc.arg(unused)
    OR clients.source = 'document' AND clients.last_used_at = 0 AND clients.fetched_until < sqlc.arg(documents)
    OR clients.last_used_at <> 0 AND clients.last_used_at < sqlc.arg(idle))
  AND NOT EXISTS (SELECT 1 FROM connections c WHERE c.client_id = clients.id AND c.status <> 'revoked');
