package chart

import (
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/terminal"
)

const (
	nameColumns   = 26
	figureColumns = 9
)

// Text draws the chart in terminal.Columns columns, each line with its end.
func (c Latency) Text(style terminal.Style) string {
	wide := terminal.Columns - nameColumns - 1 - figureColumns*len(c.quantiles())
	scale := newAxis(c.Series)
	var b strings.Builder
	b.WriteString(style.Paint(terminal.Bold, terminal.Fit(terminal.Plain(c.Title), terminal.Columns)) + "\n")
	b.WriteString(style.Paint(terminal.Dim, strings.TrimRight(strings.Repeat(" ", nameColumns+1)+scale.labels(wide)+c.headings(), " ")) + "\n")
	for _, s := range c.Series {
		b.WriteString(terminal.Left(s.name(), nameColumns) + " " + s.row(scale, wide, style))
		for _, q := range c.quantiles() {
			b.WriteString(terminal.Right(s.figure(q), figureColumns))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (s Series) figure(q float64) string {
	if len(s.Latencies) == 0 {
		return "none"
	}
	return Duration(s.Quantile(q))
}

func (c Latency) headings() string {
	var b strings.Builder
	for _, q := range c.quantiles() {
		b.WriteString(terminal.Right(heading(q), figureColumns))
	}
	return b.String()
}

// labels are the ticks' names in so many columns, those left out that would touch
// the one before.
func (a axis) labels(columns int) string {
	line := []rune(strings.Repeat(" ", columns))
	free := 0
	for _, t := range a.ticks {
		name := []rune(tick(t))
		from := min(a.column(t, columns), columns-len(name))
		if from < free {
			continue
		}
		copy(line[from:], name)
		free = from + len(name) + 2
	}
	return string(line)
}

func (a axis) column(d time.Duration, columns int) int {
	return int(a.at(d)*float64(columns-1) + 0.5)
}

// row draws the series: ╶ from the fastest to the slowest, ━ over the middle half,
// ● at the median.
func (s Series) row(a axis, columns int, style terminal.Style) string {
	all := sorted(s.Latencies)
	if len(all) == 0 {
		return strings.Repeat(" ", columns)
	}
	at := func(q float64) int { return a.column(quantile(all, q), columns) }
	first, from, median, to, last := at(0), at(0.25), at(0.5), at(0.75), at(1)
	line := func(from, to int, glyph string) string { return strings.Repeat(glyph, max(0, to-from)) }
	return strings.Repeat(" ", first) +
		style.Paint(terminal.Dim, line(first, from, "─")) +
		style.Paint(terminal.Cyan, line(from, median, "━")) +
		style.Paint(terminal.Green, "●") +
		style.Paint(terminal.Cyan, line(median, to, "━")) +
		style.Paint(terminal.Dim, line(to, last, "─")) +
		strings.Repeat(" ", columns-1-last)
}
