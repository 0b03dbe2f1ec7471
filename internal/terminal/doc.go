// Package terminal owns how a command writes for a person at a terminal: what may
// be shown of a text that a stranger sent, how wide it is, colour, and a line of
// progress.
//
// It hands off what is said to the commands, and charts to package chart.
package terminal
