-- name: Debit :one
-- Holds the row until the unit of work ends, so that debits come one after another.
INSERT INTO spending (scope, day, rounds, tokens, millis)
VALUES (sqlc.arg(scope), sqlc.arg(day), sqlc.arg(rounds), sqlc.arg(tokens), sqlc.arg(millis))
ON CONFLICT (scope, day) DO UPDATE SET rounds = spending.rounds + excluded.rounds, tokens = spending.tokens + excluded.tokens, millis = spending.millis + excluded.millis
RETURNING rounds, tokens, millis;

-- name: SpentOn :one
SELECT rounds, tokens, millis FROM spending WHERE scope = sqlc.arg(scope) AND day = sqlc.arg(day);

-- name: DayBudget :one
SELECT day_rounds, day_tokens, day_minutes FROM workspace_figures WHERE workspace_id = $1;
