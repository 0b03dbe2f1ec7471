-- Sessions, where the workspace's own agents work: their seats, handoffs, tasks,
-- rounds and mail (product.md §4 and §6).

-- +goose Up

CREATE TABLE providers ( -- where a workspace's agents get their turns from
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name         TEXT NOT NULL, -- what agents call it
    kind         TEXT NOT NULL, -- openai, anthropic, command
    base_url     TEXT NOT NULL, -- '' is the provider's own
    model        TEXT NOT NULL, -- used where the agent names none
    secret       TEXT NOT NULL, -- sealed; '' is none
    command      TEXT NOT NULL, -- JSON array: the argument vector
    version      BIGINT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    updated_by   TEXT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

CREATE TABLE sessions (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    project_id    TEXT NOT NULL REFERENCES projects (id),
    type          TEXT NOT NULL, -- agent, team, loop
    title         TEXT NOT NULL,
    owner_id      TEXT NOT NULL REFERENCES users (id),
    version       BIGINT NOT NULL, -- of title, place, agents and figures
    agents        TEXT NOT NULL,   -- JSON array of agents; the first one leads
    done          TEXT NOT NULL,   -- JSON object: a loop's done-condition, {} for none
    max_rounds    BIGINT NOT NULL, -- most rounds of a task
    day_rounds    BIGINT NOT NULL, -- budget a day; 0 is no limit of its own
    day_tokens    BIGINT NOT NULL,
    day_minutes   BIGINT NOT NULL,
    local_only    BIGINT NOT NULL,
    has_acl       BIGINT NOT NULL,
    archived_at   BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    created_by    TEXT NOT NULL,
    updated_at    BIGINT NOT NULL,
    updated_by    TEXT NOT NULL
);
CREATE INDEX sessions_project ON sessions (project_id, id);

CREATE TABLE session_seats (
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    connection_id TEXT NOT NULL REFERENCES connections (id),
    seat          TEXT NOT NULL, -- observer, contributor, runner
    given_by      TEXT NOT NULL,
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (session_id, connection_id)
);
CREATE INDEX session_seats_connection ON session_seats (connection_id);

CREATE TABLE handoffs (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id),
    session_id       TEXT NOT NULL REFERENCES sessions (id),
    connection_id    TEXT NOT NULL REFERENCES connections (id),
    goal             TEXT NOT NULL,
    context_summary  TEXT NOT NULL,
    requested_output TEXT NOT NULL,
    max_rounds       BIGINT NOT NULL, -- asked for, or the default
    state            TEXT NOT NULL,   -- pending, accepted, declined, cancelled
    reason           TEXT NOT NULL,   -- of the decision, for people and the connection
    created_at       BIGINT NOT NULL,
    expires_at       BIGINT NOT NULL, -- 0: never
    decided_at       BIGINT NOT NULL,
    decided_by       TEXT NOT NULL    -- user; '' where the connection cancelled, or nobody in time
);
CREATE INDEX handoffs_session ON handoffs (session_id, id);
CREATE INDEX handoffs_connection ON handoffs (connection_id, id);
CREATE INDEX handoffs_pending ON handoffs (state, expires_at);
CREATE INDEX handoffs_waiting ON handoffs (connection_id, state);

CREATE TABLE tasks (
    id            TEXT PRIMARY KEY,
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
    session_id    TEXT NOT NULL REFERENCES sessions (id),
    handoff_id    TEXT UNIQUE REFERENCES handoffs (id), -- NULL where no handoff was accepted
    connection_id TEXT NOT NULL, -- that requested it or proposed its handoff; '' for a person's
    user_id       TEXT NOT NULL, -- who queued or accepted it; '' where a connection requested it
    goal          TEXT NOT NULL, -- of a handoff with its context and expected output, as shown
    max_rounds    BIGINT NOT NULL,
    agents        TEXT NOT NULL, -- JSON: the session's agents when it was queued
    done          TEXT NOT NULL, -- JSON: the session's done-condition then
    type          TEXT NOT NULL, -- the session's type
    state         TEXT NOT NULL, -- queued, running, waiting, succeeded, failed, stopped
    reason        TEXT NOT NULL, -- that a person can read; '' while there is none
    rounds        BIGINT NOT NULL, -- committed so far
    tool_calls    BIGINT NOT NULL,
    tokens        BIGINT NOT NULL,
    millis        BIGINT NOT NULL, -- that rounds took
    result        TEXT NOT NULL,
    result_by     TEXT NOT NULL, -- slug of the agent whose word the result is
    chars         BIGINT NOT NULL, -- code points of result
    created_at    BIGINT NOT NULL,
    started_at    BIGINT NOT NULL,
    ended_at      BIGINT NOT NULL,
    stopped_by    TEXT NOT NULL
);
CREATE INDEX tasks_session ON tasks (session_id, id);
CREATE INDEX tasks_connection ON tasks (connection_id, session_id, id);
CREATE INDEX tasks_open ON tasks (state, session_id, id);

CREATE TABLE rounds (
    task_id      TEXT NOT NULL REFERENCES tasks (id),
    number       BIGINT NOT NULL, -- from 1
    workspace_id TEXT NOT NULL,
    session_id   TEXT NOT NULL,
    agent        TEXT NOT NULL,   -- slug
    state        TEXT NOT NULL,   -- queued, running, done, failed, stopped
    attempt      BIGINT NOT NULL, -- of running it; a worker that finds another number has lost it
    faults       BIGINT NOT NULL, -- turns that failed; interrupted ones are none
    node         TEXT NOT NULL,   -- that runs it
    effect_at    BIGINT NOT NULL, -- when something outside was begun whose outcome this row does not hold yet; 0: nothing was
    text         TEXT NOT NULL,   -- what the agent said, growing while it speaks
    calls        TEXT NOT NULL,   -- JSON array: tool calls with their results
    model        TEXT NOT NULL,   -- as the provider named it
    tokens_in    BIGINT NOT NULL,
    tokens_out   BIGINT NOT NULL,
    reason       TEXT NOT NULL,
    started_at   BIGINT NOT NULL,
    ended_at     BIGINT NOT NULL,
    PRIMARY KEY (task_id, number)
);
CREATE INDEX rounds_running ON rounds (state, node);

CREATE TABLE session_mail (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id),
    session_id      TEXT NOT NULL REFERENCES sessions (id),
    task_id         TEXT NOT NULL, -- '' outside tasks
    from_kind       TEXT NOT NULL, -- agent, connection, person
    from_id         TEXT NOT NULL, -- slug, connection or user
    to_agent        TEXT NOT NULL, -- slug; '' is the whole team
    to_connection   TEXT NOT NULL, -- '' or the connection that may read it
    internal        BIGINT NOT NULL, -- 1: agents' own analysis, which never leaves
    reply_to        TEXT NOT NULL,
    subject         TEXT NOT NULL,
    body            TEXT NOT NULL,
    created_at      BIGINT NOT NULL
);
CREATE INDEX session_mail_session ON session_mail (session_id, id);

CREATE TABLE spending ( -- what agents used on one day (UTC), of a session and of a workspace
    scope  TEXT NOT NULL, -- session or workspace ID
    day    TEXT NOT NULL, -- 2026-01-31
    rounds BIGINT NOT NULL,
    tokens BIGINT NOT NULL,
    millis BIGINT NOT NULL,
    PRIMARY KEY (scope, day)
);

CREATE TABLE workspace_figures ( -- a workspace's own settings of the agent runtime
    workspace_id    TEXT PRIMARY KEY REFERENCES workspaces (id),
    handoff_minutes BIGINT NOT NULL, -- a handoff nobody decides is cancelled after so long; 0: never
    day_rounds      BIGINT NOT NULL, -- 0: no limit
    day_tokens      BIGINT NOT NULL,
    day_minutes     BIGINT NOT NULL
);

CREATE TABLE nodes ( -- who runs rounds; a node that is not seen any more loses its rounds
    id         TEXT PRIMARY KEY,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

-- +goose Down
-- Migrations go forward only.
SELECT 1;
