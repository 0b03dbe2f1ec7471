// Package probe owns an MCP host of our own: it meets a remote MCP server the way
// Claude, ChatGPT or Codex do, from the first 401 over discovery, registration and
// consent to calls with a token, and keeps what it saw of each exchange.
//
// With Survey it looks at any server before sign-in and judges what it sees by rules
// that follow from the RFCs and from what real hosts were seen to refuse.
//
// It knows no room of the server and judges it from outside only. A person's part
// of the flow, signing in and filling the consent form, is played by Browser.
package probe
