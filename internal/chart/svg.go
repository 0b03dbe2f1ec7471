package chart

import (
	"encoding/xml"
	"fmt"
	"strings"

	"github.com/osfoundry/osfoundry/internal/terminal"
)

// Measures of the SVG, in its own units.
const (
	svgWidth  = 800
	svgLeft   = 230 // names
	svgPlot   = 370
	svgTop    = 56
	svgRow    = 24
	svgFigure = 64
)

// svgStyle follows the reader's light or dark mode.
const svgStyle = `text{font:12px system-ui,sans-serif;fill:#1f2328}.t{font-weight:600;font-size:14px}.d{fill:#59636e}` +
	`.g{stroke:#d1d9e0}.w{stroke:#818b98}.b{fill:#54aeff}.m{fill:#0550ae}.bg{fill:#fff}` +
	`@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.d{fill:#9198a1}.g{stroke:#3d444d}.w{stroke:#656c76}.b{fill:#1f6feb}.m{fill:#a5d6ff}.bg{fill:#0d1117}}`

// SVG draws the chart as a document of its own: no script, no reference to anything
// outside, readable in light and dark.
func (c Latency) SVG() string {
	scale := newAxis(c.Series)
	height := svgTop + svgRow*len(c.Series) + 12
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+"\n", svgWidth, height, escape(c.Title))
	fmt.Fprintf(&b, "<style>%s</style>\n", svgStyle)
	fmt.Fprintf(&b, `<rect class="bg" width="%d" height="%d"/>`+"\n", svgWidth, height)
	fmt.Fprintf(&b, `<text class="t" x="12" y="22">%s</text>`+"\n", escape(terminal.Fit(terminal.Plain(c.Title), 100)))
	free := 0.0
	for _, t := range scale.ticks {
		x := scale.x(scale.at(t))
		fmt.Fprintf(&b, `<line class="g" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, x, svgTop-8, x, height-12)
		if x >= free {
			fmt.Fprintf(&b, `<text class="d" x="%.1f" y="%d" text-anchor="middle">%s</text>`, x, svgTop-14, tick(t))
			free = x + 46
		}
		b.WriteByte('\n')
	}
	for i, q := range c.quantiles() {
		fmt.Fprintf(&b, `<text class="d" x="%d" y="%d" text-anchor="end">%s</text>`+"\n", figureX(i), svgTop-14, heading(q))
	}
	for i, s := range c.Series {
		c.row(&b, scale, s, svgTop+svgRow*i)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func figureX(i int) int { return svgLeft + svgPlot + 8 + svgFigure*(i+1) }

func (a axis) x(at float64) float64 { return svgLeft + at*svgPlot }

func (c Latency) row(b *strings.Builder, a axis, s Series, top int) {
	middle := top + svgRow/2
	fmt.Fprintf(b, `<text x="12" y="%d">%s</text>`, middle+4, escape(terminal.Fit(s.name(), 32)))
	for i, q := range c.quantiles() {
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, figureX(i), middle+4, s.figure(q))
	}
	if all := sorted(s.Latencies); len(all) > 0 {
		at := func(q float64) float64 { return a.x(a.at(quantile(all, q))) }
		fmt.Fprintf(b, `<line class="w" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, at(0), middle, at(1), middle)
		fmt.Fprintf(b, `<rect class="b" x="%.1f" y="%d" width="%.1f" height="8" rx="2"/>`, at(0.25), middle-4, max(at(0.75)-at(0.25), 1))
		fmt.Fprintf(b, `<circle class="m" cx="%.1f" cy="%d" r="4"/>`, at(0.5), middle)
	}
	b.WriteByte('\n')
}

func escape(s string) string {
	var b strings.Builder
	xml.EscapeText(&b, []byte(s)) // to a builder: it cannot fail
	return b.String()
}
