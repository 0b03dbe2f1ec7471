package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/net/http/httpguts"

	"github.com/osfoundry/osfoundry/internal/chart"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

// probeCommand is probe URL, and its subcommands, a file each.
type probeCommand struct {
	Survey surveyCommand `cmd:"" default:"withargs" help:"See what a host sees of a server before sign-in (the default)."`
	SignIn signInCommand `cmd:"" help:"Sign in as a host does, list the tools with the token, and perhaps call one."`
	Limits limitsCommand `cmd:"" help:"Judge arguments by the live schemas of the tools."`
}

// Help says what the command is without a subcommand.
func (*probeCommand) Help() string {
	return "osfoundry probe URL is short for osfoundry probe survey URL. No account is needed for that one."
}

// surveyCommand is probe URL itself.
type surveyCommand struct {
	URL      string        `arg:"" placeholder:"URL" help:"Address of the MCP server, as a person would type it into a host."`
	Repeat   int           `short:"n" default:"5" help:"Ask each question so often (1 to 100)."`
	JSON     bool          `name:"json" help:"Print the report as JSON."`
	Header   []string      `sep:"none" placeholder:"NAME:VALUE" help:"Send this header to the server's own origin; may be repeated."`
	Register bool          `help:"Register a client too, and try the endpoints that need one. The client stays behind."`
	Only     []string      `placeholder:"TOOL" help:"Count the tokens of these tools apart."`
	Plot     bool          `help:"Draw the latencies."`
	SVG      string        `name:"svg" placeholder:"FILE" help:"Draw the latencies into this SVG file."`
	Timeout  time.Duration `default:"10s" help:"Wait so long for each answer (100ms to 5m)."`
	NoColor  bool          `name:"no-color" help:"Print without colour, as NO_COLOR does."`
}

// Help tells the exit status, which scripts read.
func (*surveyCommand) Help() string {
	return "Exit status: 0 without a finding, or with notes alone; 1 with a warning; 2 with an error. " +
		"A command that could not do its work also ends with 1, and one that was not understood with 2; then standard output is empty."
}

// Validate refuses what the survey could not begin with.
func (c *surveyCommand) Validate() error {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the URL must begin with http:// or https:// and name a host")
	case u.User != nil || u.Fragment != "":
		return errors.New("the URL must have no user and no fragment")
	case c.Repeat < 1 || c.Repeat > 100:
		return fmt.Errorf("-n must be from 1 to 100, got %d", c.Repeat)
	case c.Timeout < 100*time.Millisecond || c.Timeout > 5*time.Minute:
		return fmt.Errorf("--timeout must be from 100ms to 5m, got %v", c.Timeout)
	}
	_, err = headers(c.Header)
	return err
}

// headers reads NAME:VALUE.
func headers(lines []string) (http.Header, error) {
	h := http.Header{}
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, errors.New("--header must be NAME:VALUE as in HTTP") // without the line: it may hold a secret
		}
		h.Add(name, value)
	}
	return h, nil
}

// Run surveys the server and prints what it found.
func (c *surveyCommand) Run(ctx context.Context, s *streams) error {
	header, err := headers(c.Header)
	if err != nil {
		return err
	}
	log.SetOutput(io.Discard) // net/http logs what a server sends unasked
	progress := terminal.NewProgress(s.err)
	report, err := probe.Survey(ctx, c.URL, probe.SurveyOptions{
		Repeat: c.Repeat, Timeout: c.Timeout, Header: header, Register: c.Register, Only: c.Only, Progress: progress.Show,
	})
	progress.Clear()
	if err != nil {
		return err
	}
	latencies := latencies(report)
	if c.SVG != "" {
		if err := os.WriteFile(c.SVG, []byte(latencies.SVG()), 0o644); err != nil {
			return fmt.Errorf("draw the latencies: %w", err)
		}
	}
	if err := c.print(s, report, latencies); err != nil {
		return err
	}
	return statusOf(report.Findings)
}

func (c *surveyCommand) print(s *streams, report *probe.Report, latencies chart.Latency) error {
	if c.JSON {
		return printJSON(s, report)
	}
	style := terminal.StyleFor(s.out, c.NoColor)
	text := reportText(report, style)
	if c.Plot {
		text += "\n" + latencies.Text(style)
	}
	_, err := fmt.Fprint(s.out, text)
	return err
}

// printJSON prints any report as JSON on several lines.
func printJSON(s *streams, report any) error {
	raw, err := json.Marshal(report, json.Deterministic(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = fmt.Fprintf(s.out, "%s\n", raw)
	return err
}

// latencies are the rows as a chart.
func latencies(report *probe.Report) chart.Latency {
	c := chart.Latency{Title: "Latency before sign-in: " + report.Endpoint}
	for _, row := range report.Rows {
		if len(row.Latencies) > 0 {
			c.Series = append(c.Series, chart.Series{Name: row.Asked, Latencies: row.Latencies})
		}
	}
	return c
}

// statusOf is the exit status by severity; nil for 0.
func statusOf(findings []probe.Finding) error {
	if status := probe.Status(findings); status != 0 {
		return exitStatus(status)
	}
	return nil
}
