// Package queue is the durable engine behind tasks: one job for each round, kept
// in the database that is there already. It hides River behind a small interface,
// so that nobody else knows how jobs are stored, fetched, retried or rescued.
package queue
