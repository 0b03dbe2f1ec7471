-- name: AddRound :exec
INSERT INTO rounds (task_id, number, workspace_id, session_id, agent, state, attempt, faults, node, effect_at, text, calls, model,
    tokens_in, tokens_out, reason, started_at, ended_at)
VALUES (sqlc.arg(task_id), sqlc.arg(number), sqlc.arg(workspace_id), sqlc.arg(session_id), sqlc.arg(agent), 'queued', 0, 0, '', 0, '', '[]', '', 0, 0, '', 0, 0)
ON CONFLICT (task_id, number) DO NOTHING;

-- name: StartTask :execrows
-- Begins a queued task with its next round.
UPDATE tasks SET state = 'running', started_at = CASE WHEN started_at = 0 THEN sqlc.arg(now) ELSE started_at END
WHERE id = sqlc.arg(id) AND state = 'queued' AND rounds = CAST(sqlc.arg(number) AS BIGINT) - 1;

-- name: HoldTask :execrows
-- Holds a running task, before its rounds, until the unit of work ends.
UPDATE tasks SET state = 'running' WHERE id = sqlc.arg(id) AND state = 'running';

-- name: HoldTaskAt :execrows
-- HoldTask, if the round is its next one.
UPDATE tasks SET state = 'running'
WHERE id = sqlc.arg(id) AND state = 'running' AND rounds = CAST(sqlc.arg(number) AS BIGINT) - 1;

-- name: BeginRound :one
-- What another attempt said goes, unless its turn was kept or something was begun.
UPDATE rounds SET state = 'running', attempt = attempt + 1, node = sqlc.arg(node), reason = '',
    text = CASE WHEN calls = '[]' AND effect_at = 0 THEN '' ELSE text END,
    started_at = CASE WHEN started_at = 0 THEN sqlc.arg(now) ELSE started_at END
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND state IN ('queued', 'running')
RETURNING *;

-- name: TaskToRun :one
SELECT k.*, COALESCE(c.name, '') AS connection_name, COALESCE(u.name, '') AS user_name
FROM tasks k LEFT JOIN connections c ON c.id = k.connection_id LEFT JOIN users u ON u.id = k.user_id
WHERE k.id = $1;

-- name: SessionToRun :one
SELECT * FROM sessions WHERE id = $1;

-- name: RoundHeld :one
SELECT COUNT(*) FROM rounds
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: RoundsOfTask :many
SELECT * FROM rounds WHERE task_id = $1 AND state IN ('done', 'failed', 'stopped') ORDER BY number;

-- name: MarkEffect :execrows
UPDATE rounds SET effect_at = sqlc.arg(now)
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: AppendText :execrows
UPDATE rounds SET text = text || CAST(sqlc.arg(text) AS TEXT)
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: KeepTurn :execrows
UPDATE rounds SET text = sqlc.arg(text), calls = sqlc.arg(calls), model = sqlc.arg(model), tokens_in = sqlc.arg(tokens_in), tokens_out = sqlc.arg(tokens_out), effect_at = 0
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: EndRound :execrows
UPDATE rounds SET state = sqlc.arg(state), text = sqlc.arg(text), calls = sqlc.arg(calls), model = sqlc.arg(model), tokens_in = sqlc.arg(tokens_in),
    tokens_out = sqlc.arg(tokens_out), effect_at = 0, reason = sqlc.arg(reason), ended_at = sqlc.arg(now)
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: GiveBackRound :execrows
UPDATE rounds SET state = 'queued', node = '', faults = sqlc.arg(faults), reason = sqlc.arg(reason),
    text = CASE WHEN calls = '[]' AND effect_at * CAST(sqlc.arg(effect) AS BIGINT) = 0 THEN '' ELSE text END,
    effect_at = effect_at * CAST(sqlc.arg(effect) AS BIGINT)
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: ParkRound :execrows
UPDATE rounds SET state = 'queued', node = '', reason = sqlc.arg(reason)
WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number) AND attempt = sqlc.arg(attempt) AND state = 'running';

-- name: CountUse :execrows
UPDATE tasks SET rounds = rounds + sqlc.arg(rounds), tool_calls = tool_calls + sqlc.arg(tool_calls), tokens = tokens + sqlc.arg(tokens), millis = millis + sqlc.arg(millis)
WHERE id = sqlc.arg(id);

-- name: EndTask :execrows
UPDATE tasks SET state = sqlc.arg(state), reason = sqlc.arg(reason), result = sqlc.arg(result), result_by = sqlc.arg(result_by), chars = sqlc.arg(chars), ended_at = sqlc.arg(now)
WHERE id = sqlc.arg(id) AND state IN ('queued', 'running');

-- name: WaitTask :execrows
UPDATE tasks SET state = 'waiting', reason = sqlc.arg(reason) WHERE id = sqlc.arg(id) AND state = 'running';

-- name: RunningRounds :many
-- The rounds of a workspace that are running, without what they say.
SELECT task_id, session_id, number, attempt FROM rounds WHERE state = 'running' AND workspace_id = $1 ORDER BY task_id LIMIT $2;

-- name: RoundText :one
-- What a round says behind the given number of characters.
SELECT state, attempt, CAST(substr(text, CAST(sqlc.arg(after) AS INTEGER) + 1) AS TEXT) AS text
FROM rounds WHERE task_id = sqlc.arg(task_id) AND number = sqlc.arg(number);
