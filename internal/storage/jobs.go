package storage

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/storage/gen"
)

// enginePool is the most connections to PostgreSQL that the engine of the queue
// has for itself, beside the one that listens.
const enginePool = 4

// EnginePools are the connections on which the engine of the queue runs its own
// statements. On SQLite that is the writer's one connection, for which the engine
// waits like everybody; inside a unit of work it must not be used. On PostgreSQL it
// is a small pool as durable as the others, and a pool for the connection that
// listens. listener is nil where there are no notifications. All are closed by
// Close.
func (db *DB) EnginePools(ctx context.Context) (pool *sql.DB, listener *pgxpool.Pool, err error) {
	if db.dialect == sqlite {
		return db.writer.db, nil, nil
	}
	if db.engine != nil {
		return db.engine, db.listener, nil
	}
	config, err := postgresConfig(db.url)
	if err != nil {
		return nil, nil, err
	}
	boundPostgres(config)
	pool = stdlib.OpenDB(*config, stdlib.OptionAfterConnect(acceptPostgres))
	pool.SetMaxOpenConns(enginePool)
	pool.SetMaxIdleConns(enginePool)
	pool.SetConnMaxIdleTime(10 * time.Minute)
	listening, err := pgxpool.ParseConfig(db.url)
	if err != nil {
		return nil, nil, errors.Join(err, pool.Close())
	}
	listening.MinConns, listening.MaxConns = 0, 1
	listener, err = pgxpool.NewWithConfig(ctx, listening)
	if err != nil {
		return nil, nil, errors.Join(err, pool.Close())
	}
	db.engine, db.listener = pool, listener
	return pool, listener, nil
}

// Jobs is what the queue asks of the tables of its engine and of the nodes.
type Jobs struct{}

// jobs is the texts of each dialect. $1 … are parameters.
var jobs = map[dialect]struct{ now, worker, lock string }{
	sqlite:   {`CAST(unixepoch('subsec') * 1000 AS INTEGER)`, `json_extract(attempted_by, '$[#-1]')`, ``},
	postgres: {`CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`, `attempted_by[array_upper(attempted_by, 1)]`, ` FOR UPDATE`},
}

// See notes that a node is alive, by the clock of the database. It reports whether
// the node was known: one that was not has lost the jobs it had.
func (Jobs) See(ctx context.Context, tx access.Tx, node string) (known bool, err error) {
	c, d := raw(tx)
	done, err := c.ExecContext(ctx, `UPDATE nodes SET seen_at = `+jobs[d].now+` WHERE id = $1`, node)
	if err != nil {
		return false, err
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return n > 0, err
	}
	_, err = c.ExecContext(ctx, `INSERT INTO nodes (id, started_at, seen_at) VALUES ($1, `+jobs[d].now+`, `+jobs[d].now+`)`, node)
	return false, err
}

// Bury forgets the nodes other than node that were not seen for silence, by the
// clock of the database.
func (Jobs) Bury(ctx context.Context, tx access.Tx, node string, silence time.Duration) error {
	c, d := raw(tx)
	_, err := c.ExecContext(ctx, `DELETE FROM nodes WHERE id <> $1 AND seen_at <= `+jobs[d].now+` - $2`, node, silence.Milliseconds())
	return err
}

// Leave forgets a node that ends.
func (Jobs) Leave(ctx context.Context, tx access.Tx, node string) error {
	c, _ := raw(tx)
	_, err := c.ExecContext(ctx, `DELETE FROM nodes WHERE id = $1`, node)
	return err
}

// Orphans lists running jobs whose node is unknown. On PostgreSQL it leaves out a
// job that somebody is about to complete, and holds the others.
func (Jobs) Orphans(ctx context.Context, tx access.Tx) ([]int64, error) {
	c, d := raw(tx)
	lock := jobs[d].lock
	if lock != "" {
		lock += ` OF river_job SKIP LOCKED`
	}
	return numbers(ctx, c, `SELECT river_job.id FROM river_job WHERE state = 'running'
		AND NOT EXISTS (SELECT 1 FROM nodes WHERE nodes.id = `+jobs[d].worker+`) ORDER BY river_job.id`+lock)
}

// Held lists the jobs that run on a node, as the database knows.
func (Jobs) Held(ctx context.Context, tx access.Tx, node string) ([]int64, error) {
	c, d := raw(tx)
	return numbers(ctx, c, `SELECT id FROM river_job WHERE state = 'running' AND `+jobs[d].worker+` = $1 ORDER BY id`, node)
}

// Hold holds a running job until the end of the unit of work. It reports false
// where the job does not run on that node, in that attempt, any more.
func (Jobs) Hold(ctx context.Context, tx access.Tx, job int64, attempt int, node string) (bool, error) {
	c, d := raw(tx)
	found, err := numbers(ctx, c, `SELECT id FROM river_job WHERE id = $1 AND attempt = $2 AND state = 'running' AND `+jobs[d].worker+` = $3`+jobs[d].lock,
		job, attempt, node)
	return len(found) == 1, err
}

// Rescue takes a running job away from its worker and makes it available again, at
// its old place in the line: under a new ID, so that nothing which the worker that
// lost it still does to the job can hit the one who has it next. It reports false
// where the job does not run any more.
func (Jobs) Rescue(ctx context.Context, tx access.Tx, job int64) (bool, error) {
	c, d := raw(tx)
	fresh := `nextval('river_job_id_seq')`
	if d == sqlite {
		fresh = `(SELECT seq FROM sqlite_sequence WHERE name = 'river_job')`
		if _, err := c.ExecContext(ctx, `UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'river_job'`); err != nil {
			return false, err
		}
	}
	done, err := c.ExecContext(ctx, `UPDATE river_job SET id = `+fresh+`, state = 'available' WHERE id = $1 AND state = 'running'`, job)
	if err != nil {
		return false, err
	}
	n, err := done.RowsAffected()
	return n == 1, err
}

// OpenRounds calls f with each task that is queued or running, and the round that
// is its next one. Each of them has a job, except after a restore: jobs are no part
// of a backup.
func (Jobs) OpenRounds(ctx context.Context, tx access.Tx, f func(taskID string, round int64)) error {
	c, _ := raw(tx)
	rows, err := c.QueryContext(ctx, `SELECT id, rounds + 1 FROM tasks WHERE state IN ('queued', 'running') ORDER BY id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var taskID string
		var number int64
		if err := rows.Scan(&taskID, &number); err != nil {
			return err
		}
		f(taskID, number)
	}
	return rows.Err()
}

// numbers reads a column of numbers.
func numbers(ctx context.Context, c gen.DBTX, query string, args ...any) (all []int64, err error) {
	rows, err := c.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, rows.Err()
}
