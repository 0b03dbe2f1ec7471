// Package demo owns the story that osfoundry demo plays: a person sets up a
// server, an outside assistant connects, and is refused from the very next call
// once something is taken away (product.md §3, the nine steps).
//
// It works from outside only: the assistant's part is package probe's, the
// owner's part goes through the owner API. The server is whoever answers.
package demo
