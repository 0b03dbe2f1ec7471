// Package queue is the durable engine behind tasks: one job for each round, kept
// in the database that is there already. It hides River behind a small interface,
// so that nobody else knows how jobs are stored, fetched, retried or rescued.
//
// A job exists exactly if the unit of work that queued it committed, and is over
// exactly if the unit of work that completed it did. Between the two it can run
// more than once: its worker may die, or be thought dead. What such a worker still
// does is void, because it lost the job: Complete fails, and so does the unit of
// work that commits the round.
package queue
