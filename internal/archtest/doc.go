// Package archtest owns the floor plan: which room may import which, and the
// rules that each file, name, comment and document of the repository keeps. It
// reads the sources itself with go/parser and judges nothing at run time; how
// things behave is each room's own tests' matter.
//
// The floor plan is the table rooms in arrows.go. A new room is one line there.
// Each rule is a function from a Tree to the findings in it, so that the rules
// themselves are tested on small trees that break them.
package archtest
