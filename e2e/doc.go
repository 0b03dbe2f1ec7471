// Package e2e judges whole houses from outside: the program as it is wired, on
// both databases, over HTTP.
package e2e
