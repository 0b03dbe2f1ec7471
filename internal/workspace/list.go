package workspace

import "github.com/google/uuid"

// Page asks for a part of a list: up to Limit rows behind the row with key
// After. Callers hold After only sealed, as an opaque cursor; opening it is the
// matter of the room that answers them.
type Page struct {
	After string
	Limit int
}

// Listing is one part of a list. Next is the key to go on after, "" at the end.
type Listing[T any] struct {
	Items []T
	Next  string
}

// Cut makes a Listing of rows that were read with one more than limit.
func Cut[T any](rows []T, limit int, key func(T) string) Listing[T] {
	if len(rows) <= limit {
		return Listing[T]{Items: rows}
	}
	return Listing[T]{Items: rows[:limit], Next: key(rows[limit-1])}
}

// NewID is a fresh UUIDv7 (RFC 9562 §5.7): unique, and in the order of making.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }
