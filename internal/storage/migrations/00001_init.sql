-- The first schema. One text for SQLite and PostgreSQL: TEXT ids (UUIDv7), BIGINT
-- Unix milliseconds written by Go with 0 for "never", BIGINT 0/1 for yes and no,
-- JSON as TEXT, token hashes as unpadded base64url of SHA-256. No defaults: every
-- insert says every column. Full-text search lies in the next, per-dialect step.

-- +goose Up

CREATE TABLE settings ( -- facts about this installation: its keys, its setup secret
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE, -- lower case
    name          TEXT NOT NULL,
    password_hash TEXT NOT NULL,        -- argon2id, '' until an invitation is used
    disabled_at   BIGINT NOT NULL,
    created_at    BIGINT NOT NULL
);

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE memberships (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    role         TEXT NOT NULL, -- owner, editor, viewer
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX memberships_user ON memberships (user_id);

CREATE TABLE invitations (
    token_hash   TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    user_id      TEXT NOT NULL REFERENCES users (id),
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    used_at      BIGINT NOT NULL
);

CREATE TABLE browser_sessions (
    id           TEXT PRIMARY KEY,
    token_hash   TEXT NOT NULL UNIQUE,
    user_id      TEXT NOT NULL REFERENCES users (id),
    created_at   BIGINT NOT NULL, -- when the person signed in
    last_seen_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    user_agent   TEXT NOT NULL
);
CREATE INDEX browser_sessions_user ON browser_sessions (user_id);

CREATE TABLE personal_tokens (
    id           TEXT PRIMARY KEY,
    token_hash   TEXT NOT NULL UNIQUE,
    user_id      TEXT NOT NULL REFERENCES users (id),
    name         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL
);
CREATE INDEX personal_tokens_user ON personal_tokens (user_id);

CREATE TABLE projects (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name         TEXT NOT NULL,
    private      BIGINT NOT NULL, -- 1: only listed members
    owner_id     TEXT NOT NULL REFERENCES users (id),
    version      BIGINT NOT NULL,
    archived_at  BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX projects_workspace ON projects (workspace_id, id);

CREATE TABLE project_members (
    project_id TEXT NOT NULL REFERENCES projects (id),
    user_id    TEXT NOT NULL REFERENCES users (id),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (project_id, user_id)
);
CREATE INDEX project_members_user ON project_members (user_id);

CREATE TABLE notes (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    project_id    TEXT NOT NULL REFERENCES projects (id),
    title         TEXT NOT NULL,
    version       BIGINT NOT NULL, -- of title, place and the list of tabs
    local_only    BIGINT NOT NULL,
    has_acl       BIGINT NOT NULL, -- 1: resource_acl lists who may see it
    archived_at   BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    created_by    TEXT NOT NULL, -- user
    updated_at    BIGINT NOT NULL, -- of the note or any of its tabs
    updated_by    TEXT NOT NULL, -- user; the approver where a connection wrote
    updated_via   TEXT NOT NULL  -- connection, or ''
);
CREATE INDEX notes_project ON notes (project_id, id);

CREATE TABLE note_versions ( -- title, place and list of tabs at every version, the current one too
    note_id     TEXT NOT NULL REFERENCES notes (id),
    version     BIGINT NOT NULL,
    project_id  TEXT NOT NULL,
    title       TEXT NOT NULL,
    tabs        TEXT NOT NULL,   -- JSON: [{id, title}] in order
    archived    BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    created_by  TEXT NOT NULL,
    created_via TEXT NOT NULL,
    PRIMARY KEY (note_id, version)
);

CREATE TABLE note_tabs (
    id          TEXT PRIMARY KEY,
    note_id     TEXT NOT NULL REFERENCES notes (id),
    title       TEXT NOT NULL,
    position    BIGINT NOT NULL, -- 0 is the first
    version     BIGINT NOT NULL, -- of the text
    chars       BIGINT NOT NULL, -- Unicode code points of markdown
    markdown    TEXT NOT NULL,
    updated_at  BIGINT NOT NULL,
    updated_by  TEXT NOT NULL,
    updated_via TEXT NOT NULL
);
CREATE INDEX note_tabs_note ON note_tabs (note_id, position);

CREATE TABLE note_tab_versions ( -- every version, the current one too
    tab_id      TEXT NOT NULL REFERENCES note_tabs (id),
    version     BIGINT NOT NULL,
    chars       BIGINT NOT NULL,
    markdown    TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    created_by  TEXT NOT NULL,
    created_via TEXT NOT NULL,
    PRIMARY KEY (tab_id, version)
);

CREATE TABLE resource_acl (
    resource_id TEXT NOT NULL,
    user_id     TEXT NOT NULL REFERENCES users (id),
    access      TEXT NOT NULL, -- view, edit
    PRIMARY KEY (resource_id, user_id)
);

CREATE TABLE clients ( -- OAuth clients: registered ones (RFC 7591) and metadata documents
    id            TEXT PRIMARY KEY, -- ours, or the https URL of the document
    source        TEXT NOT NULL,    -- registration, document
    name          TEXT NOT NULL,
    metadata      TEXT NOT NULL,    -- JSON: what the client said of itself, as kept
    redirect_uris TEXT NOT NULL,    -- JSON array
    address       TEXT NOT NULL,    -- that registered it
    created_at    BIGINT NOT NULL,
    last_used_at  BIGINT NOT NULL,  -- 0: never approved
    fetched_until BIGINT NOT NULL   -- documents: cached until
);
CREATE INDEX clients_unused ON clients (last_used_at, created_at);

CREATE TABLE connections (
    id                TEXT PRIMARY KEY,
    workspace_id      TEXT NOT NULL REFERENCES workspaces (id),
    approver_id       TEXT NOT NULL REFERENCES users (id),
    client_id         TEXT NOT NULL,
    name              TEXT NOT NULL, -- display name
    slug              TEXT NOT NULL, -- stable external sender slug
    client_host       TEXT NOT NULL, -- of a metadata document's URL, or ''
    redirect_host     TEXT NOT NULL,
    status            TEXT NOT NULL, -- active, paused, revoked
    scopes            TEXT NOT NULL, -- as approved
    consent_address   TEXT NOT NULL, -- of the approving browser
    family_revoked_at BIGINT NOT NULL, -- all tokens dead: RFC 7009, or reuse
    family_reason     TEXT NOT NULL,
    created_at        BIGINT NOT NULL,
    last_used_at      BIGINT NOT NULL,
    UNIQUE (workspace_id, slug)
);
CREATE INDEX connections_workspace ON connections (workspace_id, id);
CREATE INDEX connections_client ON connections (client_id);

CREATE TABLE connection_projects (
    connection_id TEXT NOT NULL REFERENCES connections (id),
    project_id    TEXT NOT NULL REFERENCES projects (id),
    added_by      TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (connection_id, project_id)
);
CREATE INDEX connection_projects_project ON connection_projects (project_id);

CREATE TABLE authorize_requests ( -- pending requests of the authorize endpoint
    id             TEXT PRIMARY KEY,
    browser_hash   TEXT NOT NULL, -- of the cookie that binds it to one browser
    client_id      TEXT NOT NULL,
    redirect_uri   TEXT NOT NULL,
    scopes         TEXT NOT NULL, -- asked for, or all
    state          TEXT NOT NULL,
    has_state      BIGINT NOT NULL,
    code_challenge TEXT NOT NULL,
    resource       TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    decided_at     BIGINT NOT NULL
);

CREATE TABLE authorization_codes (
    token_hash     TEXT PRIMARY KEY,
    connection_id  TEXT NOT NULL REFERENCES connections (id),
    client_id      TEXT NOT NULL,
    redirect_uri   TEXT NOT NULL,
    code_challenge TEXT NOT NULL,
    scopes         TEXT NOT NULL,
    resource       TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    used_at        BIGINT NOT NULL
);

CREATE TABLE access_tokens (
    token_hash    TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections (id),
    scopes        TEXT NOT NULL,
    resource      TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL,
    revoked_at    BIGINT NOT NULL
);
CREATE INDEX access_tokens_connection ON access_tokens (connection_id);
CREATE INDEX access_tokens_expires ON access_tokens (expires_at);

CREATE TABLE refresh_tokens (
    token_hash    TEXT PRIMARY KEY,
    connection_id TEXT NOT NULL REFERENCES connections (id),
    client_id     TEXT NOT NULL,
    generation    BIGINT NOT NULL, -- counts up within the family
    scopes        TEXT NOT NULL,
    resource      TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    expires_at    BIGINT NOT NULL, -- sliding life
    family_ends   BIGINT NOT NULL, -- absolute life
    used_at       BIGINT NOT NULL,
    answer        TEXT NOT NULL,   -- sealed under a key made from this token; '' until used
    retries       BIGINT NOT NULL, -- same-answer retries given
    address       TEXT NOT NULL,
    UNIQUE (connection_id, generation)
);
CREATE INDEX refresh_tokens_expires ON refresh_tokens (expires_at);

CREATE TABLE idempotency_keys (
    scope      TEXT NOT NULL, -- the connection, or the person
    operation  TEXT NOT NULL, -- the tool, or method and route
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL, -- of the canonical arguments
    result     TEXT NOT NULL, -- JSON
    created_at BIGINT NOT NULL,
    PRIMARY KEY (scope, operation, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

CREATE TABLE audit (
    id            TEXT PRIMARY KEY, -- UUIDv7: the order of entries
    workspace_id  TEXT NOT NULL,    -- '' where no workspace is known (a failed sign-in)
    project_id    TEXT NOT NULL,    -- of the thing at that moment, or ''
    user_id       TEXT NOT NULL,    -- the person, or the approver
    connection_id TEXT NOT NULL,    -- '' for a person
    tool          TEXT NOT NULL,    -- tool, or the owner API's operation such as project.create
    kind          TEXT NOT NULL,    -- of the thing
    resource_id   TEXT NOT NULL,
    decision      TEXT NOT NULL,    -- allowed, denied
    code          TEXT NOT NULL,    -- the true reason of a denial, else ''
    detail        TEXT NOT NULL,    -- JSON: never a token, a text or a key
    duration_us   BIGINT NOT NULL,
    created_at    BIGINT NOT NULL
);
-- One index only: every call writes a row, and each further index would write a page
-- of its own for it. Lists of a project or connection look through their workspace's.
CREATE INDEX audit_workspace ON audit (workspace_id, id);

CREATE TABLE events ( -- what happened to things; feeds the event stream and list_resource_changes
    id            TEXT PRIMARY KEY, -- UUIDv7
    workspace_id  TEXT NOT NULL,
    project_id    TEXT NOT NULL,   -- where the thing lies after the event, or ''
    type          TEXT NOT NULL,   -- note.created, note.moved, connection.revoked …
    kind          TEXT NOT NULL,
    resource_id   TEXT NOT NULL,
    version       BIGINT NOT NULL,
    user_id       TEXT NOT NULL,
    connection_id TEXT NOT NULL,
    data          TEXT NOT NULL,   -- JSON, small
    created_at    BIGINT NOT NULL
);
CREATE INDEX events_workspace ON events (workspace_id, id);
CREATE INDEX events_project ON events (project_id, id);

CREATE TABLE notices ( -- what a person should know, in the app
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL REFERENCES users (id),
    workspace_id TEXT NOT NULL,
    type         TEXT NOT NULL,
    data         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    read_at      BIGINT NOT NULL
);
CREATE INDEX notices_user ON notices (user_id, id);

-- +goose Down
-- Migrations go forward only.
SELECT 1;
