// Package guard holds what stands between osFoundry and the network, and knows
// nothing of what osFoundry is about.
//
//   - json.go: the one strict JSON reader for every body.
//   - host.go: which Host and Origin are served, and whose address a call has.
//   - limit.go: how often somebody may do something.
//   - seal.go: values that are handed out and must come back unchanged.
//   - headers.go: the headers of every answer, and CORS where it is meant.
//   - server.go: the limits of the HTTP server in time and size.
//   - dialer.go: the HTTP client for addresses that somebody else chose.
//
// Package guard imports nothing of ours; the rooms map its errors to their own
// answers.
package guard
