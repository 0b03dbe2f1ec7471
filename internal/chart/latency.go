package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/terminal"
)

// Series are the latencies of one kind of request, in any order.
type Series struct {
	Name      string
	Latencies []time.Duration
}

// Quantile is the smallest latency that a share q (0 to 1) of all does not exceed:
// the nearest-rank method, so it is always one that was measured. It is 0 where
// nothing was.
func (s Series) Quantile(q float64) time.Duration {
	return quantile(sorted(s.Latencies), q)
}

func sorted(latencies []time.Duration) []time.Duration {
	all := slices.Clone(latencies)
	slices.Sort(all)
	return all
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return all[min(max(int(math.Ceil(q*float64(len(all))))-1, 0), len(all)-1)]
}

// Latency is a chart of several series on one logarithmic axis, a row each: a line
// from the fastest to the slowest, a bar over the middle half, a mark at the median,
// and the quantiles in figures.
type Latency struct {
	Title     string
	Series    []Series
	Quantiles []float64 // in figures, at most three; nil is the median and p90
}

func (c Latency) quantiles() []float64 {
	if c.Quantiles == nil {
		return []float64{0.5, 0.9}
	}
	return c.Quantiles[:min(len(c.Quantiles), 3)]
}

// heading names a quantile.
func heading(q float64) string {
	if q == 0.5 {
		return "median"
	}
	return "p" + strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", q*100), "0"), ".")
}

// Duration writes a latency with three significant figures in at most 8 columns,
// such as 850 ns, 1.25 ms, 12.5 s.
func Duration(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < 999500*time.Nanosecond:
		return figures(float64(d)/float64(time.Microsecond)) + " µs"
	case d < 999500*time.Microsecond:
		return figures(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return figures(d.Seconds()) + " s"
}

func figures(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// axis is a logarithmic scale of durations from one tick to another.
type axis struct {
	from, to float64 // log10 of nanoseconds
	ticks    []time.Duration
}

// newAxis covers all latencies, with ticks at 1, 2 and 5 of each power of ten, or at
// the powers alone where those would be too many.
func newAxis(series []Series) axis {
	low, high := time.Duration(math.MaxInt64), time.Duration(0)
	for _, s := range series {
		for _, d := range s.Latencies {
			low, high = min(low, max(d, 1)), max(high, d, 1)
		}
	}
	if high == 0 {
		low, high = time.Millisecond, time.Second
	}
	steps := []time.Duration{1, 2, 5}
	if float64(high)/float64(low) > 50 {
		steps = []time.Duration{1}
	}
	a := axis{}
	for power := time.Duration(1); power <= 1e17; power *= 10 {
		for _, step := range steps {
			a.ticks = append(a.ticks, step*power)
		}
	}
	first, last := 0, len(a.ticks)-1
	for a.ticks[first+1] <= low && first+1 < last {
		first++
	}
	for a.ticks[last-1] >= high && last-1 > first {
		last--
	}
	a.ticks = a.ticks[first : last+1]
	a.from, a.to = math.Log10(float64(a.ticks[0])), math.Log10(float64(a.ticks[len(a.ticks)-1]))
	return a
}

// at is where on the axis the duration lies, from 0 to 1.
func (a axis) at(d time.Duration) float64 {
	return min(max((math.Log10(float64(max(d, 1)))-a.from)/(a.to-a.from), 0), 1)
}

// tick names a point of the axis.
func tick(d time.Duration) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d >= unit.size {
			return fmt.Sprintf("%d %s", d/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d ns", d)
}

// name is what may be shown of a series' name.
func (s Series) name() string { return terminal.Plain(s.Name) }
