-- name: AddTask :execrows
INSERT INTO tasks (id, workspace_id, session_id, handoff_id, connection_id, user_id, goal, max_rounds, agents, done, type, state, reason,
    rounds, tool_calls, tokens, millis, result, result_by, chars, created_at, started_at, ended_at, stopped_by)
VALUES (sqlc.arg(id), sqlc.arg(workspace_id), sqlc.arg(session_id), sqlc.narg(handoff_id), sqlc.arg(connection_id), sqlc.arg(user_id),
    sqlc.arg(goal), sqlc.arg(max_rounds), sqlc.arg(agents), sqlc.arg(done), sqlc.arg(type), 'queued', '',
    0, 0, 0, 0, '', '', 0, sqlc.arg(created_at), 0, 0, '')
ON CONFLICT (handoff_id) DO NOTHING;

-- name: QueuePosition :one
SELECT COUNT(*) FROM tasks WHERE session_id = sqlc.arg(session_id) AND state = 'queued' AND id <= sqlc.arg(id);

-- name: QueuedRequests :one
SELECT COUNT(*) FROM tasks WHERE connection_id = sqlc.arg(connection_id) AND state = 'queued' AND user_id = '';

-- name: TasksOfSession :many
SELECT k.id, k.workspace_id, k.session_id, COALESCE(k.handoff_id, '') AS handoff_id, k.connection_id, k.user_id, k.goal, k.max_rounds, k.type, k.state,
    k.reason, k.rounds, k.tool_calls, k.tokens, k.millis, k.result_by, k.chars, k.created_at, k.started_at, k.ended_at, k.stopped_by,
    COALESCE(c.name, '') AS connection_name, COALESCE(c.slug, '') AS connection_slug, COALESCE(u.name, '') AS user_name, COALESCE(b.name, '') AS stopper_name,
    CASE WHEN k.state = 'queued' THEN (SELECT COUNT(*) FROM tasks q WHERE q.session_id = k.session_id AND q.state = 'queued' AND q.id <= k.id) ELSE 0 END AS queue_position
FROM tasks k
LEFT JOIN connections c ON c.id = k.connection_id
LEFT JOIN users u ON u.id = k.user_id
LEFT JOIN users b ON b.id = k.stopped_by
WHERE k.session_id = sqlc.arg(session_id) AND k.workspace_id = sqlc.arg(workspace_id)
  AND (CAST(sqlc.arg(before) AS TEXT) = '' OR k.id < sqlc.arg(before))
  AND (CAST(sqlc.arg(connection_id) AS TEXT) = '' OR k.connection_id = sqlc.arg(connection_id))
  AND (CAST(sqlc.arg(open) AS BIGINT) = 0 OR k.state IN ('queued', 'running', 'waiting'))
ORDER BY k.id DESC
LIMIT sqlc.arg(most);

-- name: OneTask :one
SELECT k.id, k.workspace_id, k.session_id, COALESCE(k.handoff_id, '') AS handoff_id, k.connection_id, k.user_id, k.goal, k.max_rounds, k.type, k.state,
    k.reason, k.rounds, k.tool_calls, k.tokens, k.millis, k.result_by, k.chars, k.created_at, k.started_at, k.ended_at, k.stopped_by,
    COALESCE(c.name, '') AS connection_name, COALESCE(c.slug, '') AS connection_slug, COALESCE(u.name, '') AS user_name, COALESCE(b.name, '') AS stopper_name,
    CASE WHEN k.state = 'queued' THEN (SELECT COUNT(*) FROM tasks q WHERE q.session_id = k.session_id AND q.state = 'queued' AND q.id <= k.id) ELSE 0 END AS queue_position,
    k.result, k.agents, k.done
FROM tasks k
LEFT JOIN connections c ON c.id = k.connection_id
LEFT JOIN users u ON u.id = k.user_id
LEFT JOIN users b ON b.id = k.stopped_by
WHERE k.id = sqlc.arg(id) AND k.session_id = sqlc.arg(session_id) AND k.workspace_id = sqlc.arg(workspace_id);

-- name: TaskRounds :many
SELECT r.* FROM rounds r JOIN tasks k ON k.id = r.task_id
WHERE r.task_id = sqlc.arg(task_id) AND k.session_id = sqlc.arg(session_id) AND k.workspace_id = sqlc.arg(workspace_id) AND r.number > sqlc.arg(after)
ORDER BY r.number
LIMIT sqlc.arg(most);

-- name: StopTask :execrows
UPDATE tasks SET state = 'stopped', reason = sqlc.arg(reason), ended_at = sqlc.arg(now), stopped_by = sqlc.arg(user_id)
WHERE id = sqlc.arg(id) AND session_id = sqlc.arg(session_id) AND workspace_id = sqlc.arg(workspace_id) AND state IN ('queued', 'running', 'waiting');

-- name: ResumeTask :execrows
UPDATE tasks SET state = 'queued', reason = ''
WHERE id = sqlc.arg(id) AND session_id = sqlc.arg(session_id) AND workspace_id = sqlc.arg(workspace_id) AND state = 'waiting';

-- name: ReleaseRound :one
-- Makes the waiting round of a task as if nothing had been begun in it.
UPDATE rounds SET state = 'queued', effect_at = 0, reason = ''
WHERE task_id = sqlc.arg(task_id) AND state IN ('queued', 'running')
RETURNING number;

-- name: CloseRounds :exec
-- Ends what of a task is open. Nobody who still works on it can write any more.
UPDATE rounds SET state = sqlc.arg(state), reason = sqlc.arg(reason), ended_at = sqlc.arg(now)
WHERE task_id = sqlc.arg(task_id) AND state IN ('queued', 'running');

-- name: TaskPlace :one
SELECT k.id, k.workspace_id, s.project_id, k.session_id, s.owner_id, k.user_id, k.connection_id, COALESCE(c.name, '') AS connection_name
FROM tasks k JOIN sessions s ON s.id = k.session_id LEFT JOIN connections c ON c.id = k.connection_id
WHERE k.id = $1;
