// Package mcp is the endpoint that outside assistants talk to: the Model
// Context Protocol over HTTP, on two mounts, in two eras.
//
//	request ─ path ─ Host, Origin ─ OPTIONS ─ token ─ method ─ message ─ era ─ method of the message
//	          404    403            204       401     405      400 413   400   ├ initialize, discover, ping, list: prebuilt bytes
//	                                                           415             └ tools/call: the gate, tool.Catalogue.Call
//
// The order is fixed in endpoint.ServeHTTP. message.go reads JSON-RPC, era.go
// tells the eras apart, method.go answers the methods, challenge.go asks for a
// sign-in, answer.go writes.
//
// Nothing is remembered between two requests: no session, no stream. Who may do
// what is decided by package tool behind the Gate; this package only gives the
// decision its form on the wire, once, here.
package mcp
