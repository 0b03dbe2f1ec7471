// Command queue measures how soon a task starts after it was queued, and how many
// tasks the product gets done, through its front door: assistants ask for runs
// with request_session_run, and the rehearsal, which needs no model, takes the one
// round of each. Each database has a fresh server of its own, on core 0; this
// program should be on another.
//
//	queue -binary bin/osfoundry [-database URL] [-samples 200] [-tasks 2000] [-callers 8]
//
// The time to start is from the moment the task's row is made, before the commit
// that queues it, to the moment its first round begins; one task at a time, on an
// idle queue. Tasks per second are those of a burst, from the first that was queued
// to the last that ended.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// plan is how much is measured.
type plan struct {
	binary, core string
	samples      int // tasks that are started one by one
	burst        int // tasks of the burst
	callers      int // assistants that ask at the same time
}

// figures are what was measured on one database.
type figures struct {
	name, target string
	median, p99  time.Duration // from queued to started
	asked        float64       // runs taken per second
	done         float64       // tasks per second, from queued to ended
}

func main() {
	log.SetFlags(0)
	var p plan
	flag.StringVar(&p.binary, "binary", "bin/osfoundry", "the server")
	flag.StringVar(&p.core, "core", "0", "the core that the server is kept to")
	flag.IntVar(&p.samples, "samples", 200, "tasks started one by one")
	flag.IntVar(&p.burst, "tasks", 2000, "tasks of the burst")
	flag.IntVar(&p.callers, "callers", 8, "assistants that ask at the same time")
	database := flag.String("database", "", "an empty PostgreSQL database, to measure that one too")
	flag.Parse()
	if p.samples < 1 || p.callers < 1 || p.burst < p.callers {
		log.Fatal("give at least one sample, one caller, and a task for each of them")
	}
	if err := all(context.Background(), p, *database); err != nil {
		log.Fatal(err)
	}
}

// all measures each database in turn and prints the table.
func all(ctx context.Context, p plan, database string) error {
	data, err := os.MkdirTemp("", "osfoundry-queue")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	table := []figures{{name: "SQLite", target: "20 ms"}}
	places := [][]string{{"--data", data}}
	if database != "" {
		table, places = append(table, figures{name: "PostgreSQL", target: "5 ms"}), append(places, []string{"--database", database})
	}
	for i := range table {
		log.Printf("queue: %s", table[i].name)
		if err := measure(ctx, p, places[i], &table[i]); err != nil {
			return fmt.Errorf("%s: %w", table[i].name, err)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\nDATABASE\tENQUEUE TO START, MEDIAN\tTARGET\tP99\tRUNS TAKEN/S\tTASKS/S")
	for _, f := range table {
		fmt.Fprintf(w, "%s\t%d ms\t%s\t%d ms\t%.0f\t%.0f\n", f.name, f.median.Milliseconds(), f.target, f.p99.Milliseconds(), f.asked, f.done)
	}
	return w.Flush()
}

// measure fills the figures of a fresh server.
func measure(ctx context.Context, p plan, where []string, f *figures) (err error) {
	s, err := start(ctx, p.binary, p.core, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	o, err := settle(ctx, s)
	if err != nil {
		return err
	}
	callers := make([]*caller, p.callers)
	for i := range callers {
		if callers[i], err = o.newCaller(ctx, s.mcp, i+1); err != nil {
			return err
		}
		defer callers[i].host.Close()
	}
	if f.median, f.p99, err = startTimes(ctx, o, callers[0], p.samples); err != nil {
		return err
	}
	f.asked, f.done, err = burst(ctx, o, callers, p.burst)
	return err
}

// startTimes queues one task after the other, each when the one before is over.
func startTimes(ctx context.Context, o *owner, c *caller, samples int) (median, p99 time.Duration, err error) {
	for range samples {
		if _, err := c.run(ctx); err != nil {
			return 0, 0, err
		}
		if err := o.finished(ctx, c); err != nil {
			return 0, 0, err
		}
	}
	tasks, err := o.tasks(ctx, c.session)
	if err != nil {
		return 0, 0, err
	}
	waits := make([]time.Duration, len(tasks))
	for i, t := range tasks {
		if t.State != "succeeded" {
			return 0, 0, fmt.Errorf("task %s is %s: %s", t.ID, t.State, t.Reason)
		}
		waits[i] = t.StartedAt.Sub(t.CreatedAt)
	}
	slices.Sort(waits)
	return waits[len(waits)/2], waits[len(waits)*99/100], nil
}

// burst lets all callers ask as fast as they are answered, and waits for the end.
func burst(ctx context.Context, o *owner, callers []*caller, n int) (asked, done float64, err error) {
	var group sync.WaitGroup
	failed := make([]error, len(callers))
	seen := map[string]bool{}
	earlier, err := o.tasks(ctx, callers[0].session)
	if err != nil {
		return 0, 0, err
	}
	for _, t := range earlier {
		seen[t.ID] = true
	}
	began := time.Now()
	for i, c := range callers {
		group.Go(func() {
			for range n / len(callers) {
				if _, failed[i] = c.run(ctx); failed[i] != nil {
					return
				}
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	if err := errors.Join(failed...); err != nil {
		return 0, 0, err
	}
	var first, last time.Time
	count := 0
	for _, c := range callers {
		if err := o.finished(ctx, c); err != nil {
			return 0, 0, err
		}
		tasks, err := o.tasks(ctx, c.session)
		if err != nil {
			return 0, 0, err
		}
		for _, t := range tasks {
			if seen[t.ID] {
				continue
			}
			if t.State != "succeeded" {
				return 0, 0, fmt.Errorf("task %s is %s: %s", t.ID, t.State, t.Reason)
			}
			count++
			if first.IsZero() || t.CreatedAt.Before(first) {
				first = t.CreatedAt
			}
			if t.EndedAt.After(last) {
				last = t.EndedAt
			}
		}
	}
	return float64(count) / took.Seconds(), float64(count) / last.Sub(first).Seconds(), nil
}

// patience is how long tasks may take to be over.
const patience = 3 * time.Minute

// finished waits until no task of the caller's session is open.
func (o *owner) finished(ctx context.Context, c *caller) error {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(5 * time.Millisecond) {
		open, err := o.open(ctx, c.session)
		if err != nil || !open {
			return err
		}
	}
	return fmt.Errorf("tasks are still open after %v", patience)
}
