package probe

import (
	"fmt"
	"slices"
)

// Severity is how much a finding hurts.
type Severity string

// The severities, and what each does to the exit status of a command.
const (
	Info    Severity = "info"    // no host was seen to fail on it; 0
	Warning Severity = "warning" // some hosts fail, or fail in some cases; 1
	Error   Severity = "error"   // most hosts cannot sign in or call; 2
)

// Finding is one thing that is wrong with a server.
type Finding struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	Detail   string   `json:"detail"`            // what was seen, of this server
	Clause   string   `json:"clause"`            // that it breaks
	Hosts    []string `json:"hosts,omitempty"`   // real ones that fail on it
	Reports  []string `json:"reports,omitempty"` // public threads about it
	Cure     string   `json:"cure"`
}

// Status is the exit status for findings: 0 for none or info alone, 1 with a
// warning, 2 with an error.
func Status(findings []Finding) int {
	status := 0
	for _, f := range findings {
		switch f.Severity {
		case Warning:
			status = max(status, 1)
		case Error:
			status = 2
		}
	}
	return status
}

// sortFindings puts the worst first and keeps the order within a severity.
func sortFindings(findings []Finding) {
	rank := map[Severity]int{Error: 0, Warning: 1, Info: 2}
	slices.SortStableFunc(findings, func(a, b Finding) int { return rank[a.Severity] - rank[b.Severity] })
}

// newFinding is the finding of a rule with what was seen. An ID without a rule is a
// mistake in this package, which every test of a finding meets.
func newFinding(id, format string, seen ...any) Finding {
	r, ok := rules[id]
	if !ok {
		panic("probe: no rule " + id)
	}
	return Finding{
		ID: id, Severity: r.severity, Title: r.title, Clause: r.clause, Hosts: r.hosts, Reports: r.reports, Cure: r.cure,
		Detail: shorten([]byte(fmt.Sprintf(format, seen...))),
	}
}
