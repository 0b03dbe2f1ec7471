// Package web owns the pages that work without JavaScript: first-run setup,
// sign-in and sign-out, invitations, the OAuth consent page, what a person sees
// when something fails, and the start page of a signed-in person.
//
// They are a security boundary, so nothing on them depends on a script or on
// another origin: html/template, two style sheets, one picture, and a policy
// that allows nothing else (headers.go). Every word a person reads comes from
// locales/, through the template function t.
//
// It also serves the web app, which is made in ui/ and built into dist: its shell
// with a policy of its own, and its files (app.go).
//
// The rules behind the forms belong to others. Who may sign in is package
// workspace's and package api's, reached through Accounts and Sessions; what a
// consent means is package oauth's, whose Pages interface is implemented here.
package web
