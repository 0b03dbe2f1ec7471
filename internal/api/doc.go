// Package api owns the owner API: what the web app, scripts and people's own
// programs ask for, as JSON under /api/v1, and the stream of events.
//
// Each call is declared once, as a Route, in the file of its noun: method, path,
// operation, what it is about, which right it needs, and the Go types of its
// body and answer. Everything that holds for every call is derived from the
// declaration, and is one numbered step of passage.pass in pass.go:
//
//	find → origin → who → body → begin → permit → replay → run → keep → audit → commit
//
// What may be done to data is package workspace's; who may do it is package
// access's. Pages are package web's, and the consent of OAuth is package oauth's;
// both learn from Sessions who is signed in.
package api
