// Package app puts the rooms together into one program: New opens and wires
// them, Start serves, Stop ends everything in the opposite order. It is the only
// package that imports all others; what a room does is never decided here.
package app
