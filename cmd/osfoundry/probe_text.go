package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

// reportText is a survey for a person: what it is, the table, the catalogue, the
// findings. No line is wider than terminal.Columns.
func reportText(r *probe.Report, style terminal.Style) string {
	var b strings.Builder
	heading(&b, style, r.Endpoint)
	for _, line := range [][2]string{
		{"probed", r.Probed}, {"server", r.Server}, {"protocol", strings.Join(r.Versions, ", ")}, {"access", accessWords[r.Access]},
		{"issuer", r.Issuer}, {"scopes", strings.Join(r.Scopes, " ")},
	} {
		labelled(&b, style, line[0], line[1])
	}
	b.WriteByte('\n')
	table(&b, style, r.Rows)
	if r.Catalogue != nil {
		b.WriteByte('\n')
		catalogueText(&b, style, r.Catalogue)
	}
	b.WriteByte('\n')
	findingsText(&b, style, r.Findings)
	return b.String()
}

var accessWords = map[probe.Access]string{
	probe.Open:    "anyone may call",
	probe.Listed:  "anyone may list the tools; a call needs a sign-in",
	probe.Closed:  "nothing before a sign-in",
	probe.Unknown: "unknown: nobody gets that far",
}

func heading(b *strings.Builder, style terminal.Style, text string) {
	b.WriteString(style.Paint(terminal.Bold, terminal.Fit(terminal.Plain(text), terminal.Columns)) + "\n")
}

// labelled writes what belongs to a label in as many lines as it takes, with the
// label before the first. Nothing is written for nothing.
func labelled(b *strings.Builder, style terminal.Style, label, text string) {
	const indent, wide = 2, 10
	for _, line := range terminal.Wrap(terminal.Plain(text), terminal.Columns-indent-wide) {
		b.WriteString(strings.Repeat(" ", indent) + style.Paint(terminal.Dim, terminal.Left(label, wide)) + line + "\n")
		label = ""
	}
}

// table has a line for each question: 28 + 7 + 10 + 10 + 2 + 23 columns.
func table(b *strings.Builder, style terminal.Style, rows []probe.Row) {
	b.WriteString(style.Paint(terminal.Dim, terminal.Left("ASKED", 28)+terminal.Right("STATUS", 7)+terminal.Right("MEDIAN", 10)+terminal.Right("P90", 10)+"  CAME BACK") + "\n")
	for _, row := range rows {
		status, colour := "-", terminal.Red
		if row.Status != 0 {
			status, colour = strconv.Itoa(row.Status), statusColour(row.Status)
		}
		b.WriteString(terminal.Left(terminal.Plain(row.Asked), 28) + style.Paint(colour, terminal.Right(status, 7)) +
			terminal.Right(latency(row, row.MedianMS), 10) + terminal.Right(latency(row, row.P90MS), 10) +
			"  " + terminal.Fit(terminal.Plain(row.CameBack), 23) + "\n")
	}
}

func statusColour(status int) terminal.Colour {
	switch {
	case status < 300:
		return terminal.Green
	case status < 500:
		return terminal.Cyan
	}
	return terminal.Red
}

func latency(row probe.Row, milliseconds float64) string {
	if row.Status == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", milliseconds)
}

// catalogueText has a line for each tool: 32 + 7 + 7 + 7 + 2 + 25 columns.
func catalogueText(b *strings.Builder, style terminal.Style, c *probe.Catalogue) {
	heading(b, style, "Catalogue: "+sizeText(c.Size))
	labelled(b, style, "by scope", groupText(c.Scopes))
	labelled(b, style, "by hint", groupText(c.Hints))
	if c.Only != nil {
		labelled(b, style, "only", sizeText(*c.Only))
		labelled(b, style, "absent", strings.Join(c.Absent, ", "))
	}
	if len(c.Tools) == 0 {
		return
	}
	b.WriteString("\n" + style.Paint(terminal.Dim, terminal.Left("TOOL", 32)+terminal.Right("BYTES", 7)+terminal.Right("CL100K", 7)+terminal.Right("O200K", 7)+"  HINTS") + "\n")
	for _, t := range c.Tools {
		line := terminal.Left(terminal.Plain(t.Name), 32) + terminal.Right(strconv.Itoa(t.Size.Bytes), 7) + terminal.Right(strconv.Itoa(t.Size.CL100K), 7) +
			terminal.Right(strconv.Itoa(t.Size.O200K), 7) + "  " + terminal.Fit(terminal.Plain(strings.Join(hintsInBrief(t.Hints), ", ")), 25)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// hintsInBrief leaves out that a tool stays within the server, as most do.
func hintsInBrief(hints []string) []string {
	return slices.DeleteFunc(slices.Clone(hints), func(h string) bool { return h == "closed world" })
}

func sizeText(s probe.Size) string {
	return fmt.Sprintf("%s, %d bytes, %d tokens (cl100k), %d (o200k)", counted(s.Tools, "tool"), s.Bytes, s.CL100K, s.O200K)
}

func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func groupText(groups []probe.Group) string {
	all := make([]string, len(groups))
	for i, g := range groups {
		all[i] = fmt.Sprintf("%s %d", g.Name, g.Tools)
	}
	return strings.Join(all, ", ")
}

// findingsText writes each finding with its clause, who fails on it, and its cure,
// and counts them.
func findingsText(b *strings.Builder, style terminal.Style, findings []probe.Finding) {
	counts := map[probe.Severity]int{}
	for _, f := range findings {
		counts[f.Severity]++
		for i, line := range terminal.Wrap(terminal.Plain(fmt.Sprintf("%s %s: %s", f.Severity, f.ID, f.Title)), terminal.Columns-2) {
			if i > 0 {
				line = "  " + line
			}
			b.WriteString(style.Paint(severityColours[f.Severity], line) + "\n")
		}
		labelled(b, style, "seen", f.Detail)
		labelled(b, style, "clause", f.Clause)
		labelled(b, style, "breaks", strings.Join(f.Hosts, ", "))
		labelled(b, style, "reports", strings.Join(f.Reports, ", "))
		labelled(b, style, "cure", f.Cure)
		b.WriteByte('\n')
	}
	if len(findings) == 0 {
		b.WriteString(style.Paint(terminal.Green, "No finding.") + "\n")
		return
	}
	fmt.Fprintf(b, "%s, %s, %s.\n", counted(counts[probe.Error], "error"), counted(counts[probe.Warning], "warning"), counted(counts[probe.Info], "note"))
}

var severityColours = map[probe.Severity]terminal.Colour{probe.Error: terminal.Red, probe.Warning: terminal.Yellow, probe.Info: terminal.Cyan}
