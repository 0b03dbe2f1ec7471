// Package chart owns small charts of latencies: as text in 80 columns for a
// terminal, and as SVG for a page or a report.
//
// It measures nothing; whoever does hands over the durations. Text widths and
// colours are package terminal's.
package chart
