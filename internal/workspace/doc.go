// Package workspace owns the nouns of osFoundry and their rules: people,
// workspaces, projects, notes, connections, what happened to them (events) and
// who asked for what (audit).
//
// One file per noun says what it is, which store it needs, and what may be done
// with it. Each method that reads or changes data of a workspace takes an
// access.Permit and works on the thing that the permit names, inside the unit of
// work that the permit was made in. Package storage implements the stores;
// packages tool, api and oauth ask.
package workspace
