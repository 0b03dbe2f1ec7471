// Package storage keeps everything osFoundry knows in one SQL database: SQLite
// in a file of its own, or PostgreSQL. It implements the units of work and the
// facts of package access, and the stores that packages workspace and oauth
// declare; it decides nothing.
//
// # Units of work
//
// All statements run inside DB.Read, DB.ReadOne or DB.Write. A store method
// begins with
//
//	q := on(tx)
//
// which gives the generated queries (package gen, from queries/*.sql) bound to
// the unit of work; raw gives the connection itself and the dialect, for the few
// statements that are put together by hand. Whoever opens the database sees one
// *DB; which dialect it speaks is known to sqlite.go, postgres.go, backup.go and
// the full-text search only.
//
// A write is acknowledged once it is on disk and never before. SQLite has one
// writer; units of work that arrive while it is busy share one transaction and
// one fsync, each in a savepoint of its own (writer.go). PostgreSQL runs them side
// by side, READ COMMITTED, and package storage makes those meet that must
// (DB.Touch).
//
// # Rules for SQL
//
// TEXT ids, BIGINT Unix milliseconds written by Go, JSON as TEXT; no arrays, no
// now(), no FOR UPDATE. State changes are conditional UPDATEs whose row count
// decides. A statement that fails ends the transaction on PostgreSQL, so an
// insert that may meet a row says ON CONFLICT instead of waiting for the error.
// No query finds by bare ID: each also names the workspace, the project or the
// owner.
package storage

//go:generate go tool -modfile=../../tools/go.mod sqlc generate
