package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/osfoundry/osfoundry/internal/chart"
	"github.com/osfoundry/osfoundry/internal/rehearse"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

type rehearseCommand struct {
	Access      rehearseAccessCommand      `cmd:"" help:"Play the nine steps under two kinds of check, side by side, and time the check."`
	Handoff     rehearseHandoffCommand     `cmd:"" help:"Try every seat, tool and scope, and let cancel and accept race."`
	LostReplies rehearseLostRepliesCommand `cmd:"" help:"Lose answers of run requests and count the tasks, with the idempotency key and without."`
	Limits      limitsCommand              `cmd:"" help:"Judge arguments by the live schemas of a server: the same as probe limits."`
}

// rehearsalStatus is how a rehearsal ends.
const rehearsalStatus = "Exit status: 0 if all went as published, 1 if not or if it could not be played, 2 for a command line that was not understood."

// printing is how a rehearsal is printed.
type printing struct {
	JSON    bool `name:"json" help:"Print the result as JSON."`
	NoColor bool `name:"no-color" help:"Print without colour, as NO_COLOR does."`
}

// print prints the report as JSON or for a person.
func (p printing) print(s *streams, report any, text func(terminal.Style) string) error {
	if p.JSON {
		return printJSON(s, report)
	}
	_, err := fmt.Fprint(s.out, text(terminal.StyleFor(s.out, p.NoColor)))
	return err
}

// mostRehearsed bounds how often a rehearsal does one thing, so that a slip of the
// finger ends within a minute or so.
const mostRehearsed = 100_000

func inRange(flag string, n, from, to int) error {
	if n < from || n > to {
		return fmt.Errorf("%s must be from %d to %d, got %d", flag, from, to, n)
	}
	return nil
}

type rehearseAccessCommand struct {
	printing
	Check string `enum:"per-call,token-only,both" default:"both" help:"Kind of check: ${enum}. Token-only, which trusts a token until it expires, exists in this command alone."`
	Calls int    `default:"1000" help:"Time so many calls, every second one of them denied (1 to 100000)."`
	Plot  bool   `help:"Draw the latencies."`
	SVG   string `name:"svg" placeholder:"FILE" help:"Draw the latencies into this SVG file."`
}

// Help says what is played and how it ends.
func (*rehearseAccessCommand) Help() string {
	return "The same host plays the nine steps against a model server on a free loopback port, once for each check. " +
		"Published are: all nine as the rules say per call; steps 8 and 9 allowed, which the rules deny, by the token alone.\n\n" + rehearsalStatus
}

// Validate refuses numbers out of range.
func (c *rehearseAccessCommand) Validate() error {
	return inRange("--calls", c.Calls, 1, mostRehearsed)
}

// accessReport is what rehearse access prints as JSON.
type accessReport struct {
	Runs        []accessRun `json:"runs"`
	AsPublished bool        `json:"as_published"`
}

type accessRun struct {
	rehearse.AccessRun
	Check      span  `json:"check_cost"`
	Loopback   span  `json:"loopback_call"`
	Deviations []int `json:"steps_against_the_rules"`
}

// span is a median with its tail, in milliseconds.
type span struct {
	MedianMS float64 `json:"median_ms"`
	P99MS    float64 `json:"p99_ms"`
}

func spanOf(latencies []time.Duration) span {
	s := chart.Series{Latencies: latencies}
	ms := func(q float64) float64 { return float64(s.Quantile(q)) / float64(time.Millisecond) }
	return span{ms(0.5), ms(0.99)}
}

// Run plays the nine steps under each check.
func (c *rehearseAccessCommand) Run(ctx context.Context, s *streams) error {
	checks := []rehearse.Check{rehearse.PerCall, rehearse.TokenOnly}
	if c.Check != "both" {
		checks = []rehearse.Check{rehearse.Check(c.Check)}
	}
	progress := terminal.NewProgress(s.err)
	report := accessReport{AsPublished: true}
	for _, check := range checks {
		run, err := rehearse.Access(ctx, check, c.Calls, progress.Show)
		if err != nil {
			progress.Clear()
			return fmt.Errorf("rehearse access, %s: %w", check, err)
		}
		report.Runs = append(report.Runs, accessRun{run, spanOf(run.Cost.Checks), spanOf(run.Cost.Loopback), run.Deviations()})
		report.AsPublished = report.AsPublished && run.AsPublished()
	}
	progress.Clear()
	costs := accessChart(report.Runs)
	if c.SVG != "" {
		if err := os.WriteFile(c.SVG, []byte(costs.SVG()), 0o644); err != nil {
			return fmt.Errorf("draw the latencies: %w", err)
		}
	}
	err := c.print(s, report, func(style terminal.Style) string {
		text := accessText(report.Runs, style)
		if c.Plot {
			text += "\n" + costs.Text(style)
		}
		return text
	})
	if err == nil && !report.AsPublished {
		err = errors.New("the nine steps did not go as published")
	}
	return err
}

// accessChart shows what a check costs and what a call costs.
func accessChart(runs []accessRun) chart.Latency {
	c := chart.Latency{Title: "Cost of the check and of a loopback call", Quantiles: []float64{0.5, 0.99}}
	for _, r := range runs {
		c.Series = append(c.Series, chart.Series{Name: "check, " + string(r.AccessRun.Check), Latencies: r.Cost.Checks})
	}
	for _, r := range runs {
		c.Series = append(c.Series, chart.Series{Name: "call, " + string(r.AccessRun.Check), Latencies: r.Cost.Loopback})
	}
	return c
}

type rehearseHandoffCommand struct {
	printing
	Rounds int `default:"1000" help:"Let cancel and accept race so often (0 to 100000)."`
}

// Help says what is tried and how it ends.
func (*rehearseHandoffCommand) Help() string {
	return "Every tool of a session is called with every seat and with every set of scopes; then handoffs are cancelled and decided " +
		"in every order, and at once. It all happens on a model server on a free loopback port.\n\n" + rehearsalStatus
}

// Validate refuses numbers out of range.
func (c *rehearseHandoffCommand) Validate() error {
	return inRange("--rounds", c.Rounds, 0, mostRehearsed)
}

// handoffReport is what rehearse handoff prints as JSON.
type handoffReport struct {
	rehearse.HandoffReport
	AsPublished bool `json:"as_published"`
}

// Run tries handoffs.
func (c *rehearseHandoffCommand) Run(ctx context.Context, s *streams) error {
	progress := terminal.NewProgress(s.err)
	report, err := rehearse.Handoff(ctx, c.Rounds, progress.Show)
	progress.Clear()
	if err != nil {
		return fmt.Errorf("rehearse handoff: %w", err)
	}
	err = c.print(s, handoffReport{report, report.Held()}, func(style terminal.Style) string { return handoffText(report, style) })
	if err == nil && !report.Held() {
		err = errors.New("not every rule of handoffs held")
	}
	return err
}

type rehearseLostRepliesCommand struct {
	printing
	Calls   int     `default:"1000" help:"Make so many run requests (1 to 100000)."`
	Drop    float64 `default:"0.2" help:"Share of the requests whose answer is lost (0 to 1)."`
	Seed    uint64  `default:"7" help:"Decides which are lost: the same seed gives the same numbers."`
	Retries int     `default:"3" help:"Try a request without an answer so many times more (0 to 20)."`
}

// Help says what is lost and how it ends.
func (*rehearseLostRepliesCommand) Help() string {
	return "A host makes run requests of a model server, eight at once, and retries those without an answer with the same key. " +
		"A lost answer is a closed connection: in one half of the cases before the request took effect, in the other after; the last try of a request always takes effect. " +
		"Published are: one task for each request with the key; with the key ignored, one more for each retry that came after the request had queued.\n\n" + rehearsalStatus
}

// Validate refuses numbers out of range.
func (c *rehearseLostRepliesCommand) Validate() error {
	if math.IsNaN(c.Drop) || c.Drop < 0 || c.Drop > 1 {
		return fmt.Errorf("--drop must be from 0 to 1, got %g", c.Drop)
	}
	return errors.Join(inRange("--calls", c.Calls, 1, mostRehearsed), inRange("--retries", c.Retries, 0, 20))
}

// lossReport is what rehearse lost-replies prints as JSON.
type lossReport struct {
	rehearse.Losses
	Runs        []rehearse.LossRun `json:"runs"`
	AsPublished bool               `json:"as_published"`
}

// Run loses answers, with the key and without.
func (c *rehearseLostRepliesCommand) Run(ctx context.Context, s *streams) error {
	report := lossReport{Losses: rehearse.Losses{Calls: c.Calls, Drop: c.Drop, Seed: c.Seed, Retries: c.Retries}, AsPublished: true}
	progress := terminal.NewProgress(s.err)
	for _, ignored := range []bool{false, true} {
		run, err := rehearse.LostReplies(ctx, report.Losses, ignored, progress.Show)
		if err != nil {
			progress.Clear()
			return fmt.Errorf("rehearse lost-replies: %w", err)
		}
		report.Runs = append(report.Runs, run)
		report.AsPublished = report.AsPublished && run.AsExpected()
	}
	progress.Clear()
	err := c.print(s, report, func(style terminal.Style) string { return lossText(report, style) })
	if err == nil && !report.AsPublished {
		err = errors.New("the tasks are not those that were expected")
	}
	return err
}
