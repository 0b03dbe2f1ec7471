// Package e2e judges whole houses from outside: the program as it is wired, on
// both databases, over HTTP. What a room promises by itself is tested in the room;
// the folders beside this file hold what judges with programs of others: real MCP
// hosts, the conformance suite and a browser.
package e2e
