package chart_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/chart"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

func TestAQuantileIsOneOfTheLatencies(t *testing.T) {
	s := chart.Series{Latencies: []time.Duration{50, 10, 40, 20, 30}}
	for q, want := range map[float64]time.Duration{0: 10, 0.2: 10, 0.21: 20, 0.5: 30, 0.9: 50, 1: 50} {
		if got := s.Quantile(q); got != want {
			t.Errorf("quantile %g of 10…50: got %d, want %d", q, got, want)
		}
	}
	if got := (chart.Series{}).Quantile(0.5); got != 0 {
		t.Errorf("quantile of nothing: got %d, want 0", got)
	}
}

func TestLatenciesAreWrittenWithThreeFigures(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 850: "850 ns", 1250: "1.25 µs", 999600: "1.00 ms", 12500 * time.Microsecond: "12.5 ms",
		99960 * time.Microsecond: "100 ms", 999600 * time.Microsecond: "1.00 s", 90 * time.Second: "90.0 s",
	} {
		if got := chart.Duration(d); got != want {
			t.Errorf("%d ns: got %q, want %q", d, got, want)
		}
	}
}

// charts are some of very different spread.
func charts() map[string]chart.Latency {
	r := rand.New(rand.NewPCG(1, 2))
	spread := func(n int, around, by time.Duration) (all []time.Duration) {
		for range n {
			all = append(all, around+time.Duration(r.Int64N(int64(by))))
		}
		return all
	}
	return map[string]chart.Latency{
		"nothing":      {Title: "nothing"},
		"no latencies": {Title: "empty", Series: []chart.Series{{Name: "none"}}},
		"one":          {Title: "one", Series: []chart.Series{{Name: "one", Latencies: spread(1, time.Millisecond, 1)}}},
		"zero":         {Title: "zero", Series: []chart.Series{{Name: "zero", Latencies: []time.Duration{0}}}},
		"wide":         {Title: "wide", Series: []chart.Series{{Name: "ns", Latencies: spread(5, 1, 100)}, {Name: "hour", Latencies: spread(5, time.Hour, time.Minute)}}},
		"hostile": {Title: "a \x1b[31mtitle<script>" + strings.Repeat("x", 100), Quantiles: []float64{0.5, 0.99, 0.999},
			Series: []chart.Series{{Name: "漢字\x1b]0;" + strings.Repeat("<&", 40), Latencies: spread(1000, time.Millisecond, 9*time.Millisecond)}}},
	}
}

func TestTextChartsFitTheTerminalWithAndWithoutColour(t *testing.T) {
	for name, c := range charts() {
		plain := c.Text(terminal.Style{})
		for line := range strings.Lines(plain) {
			line = strings.TrimSuffix(line, "\n")
			if terminal.Width(line) > terminal.Columns || line != terminal.Plain(line) && strings.ContainsRune(line, '\x1b') {
				t.Errorf("%s: the line %q is %d wide", name, line, terminal.Width(line))
			}
		}
		coloured := c.Text(terminal.Style{Colours: true})
		if got := uncoloured(coloured); got != plain {
			t.Errorf("%s: with colours taken out\n%q\nwithout\n%q", name, got, plain)
		}
		if coloured == plain {
			t.Errorf("%s: there is no colour in %q", name, coloured)
		}
	}
}

func uncoloured(s string) string {
	for _, set := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[36m"} {
		s = strings.ReplaceAll(s, set, "")
	}
	return s
}

func TestTheChartShowsWhereTheMiddleIs(t *testing.T) {
	c := chart.Latency{Title: "two", Series: []chart.Series{
		{Name: "fast", Latencies: []time.Duration{1e6, 1e6, 1e6}},
		{Name: "slow", Latencies: []time.Duration{1e8, 1e8, 1e8}},
	}}
	lines := strings.Split(c.Text(terminal.Style{}), "\n")
	fast, slow := strings.Index(lines[2], "●"), strings.Index(lines[3], "●")
	if fast != 27 || slow <= fast {
		t.Errorf("medians at columns %d and %d, want 27 and more:\n%s", fast, slow, strings.Join(lines, "\n"))
	}
	for _, want := range []string{"1 ms", "100 ms", "median", "p90"} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("the axis lacks %q: %q", want, lines[1])
		}
	}
}

func TestSVGIsWellFormedAndHoldsNoStrangersMarkup(t *testing.T) {
	for name, c := range charts() {
		d := xml.NewDecoder(strings.NewReader(c.SVG()))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, c.SVG())
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "script" {
				t.Errorf("%s: there is a script in\n%s", name, c.SVG())
			}
		}
		if got := strings.Count(c.SVG(), "<circle"); got > len(c.Series) {
			t.Errorf("%s: %d medians of %d series", name, got, len(c.Series))
		}
	}
}
