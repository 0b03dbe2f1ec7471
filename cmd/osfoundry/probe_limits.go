package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

// address is the URL of an MCP server, and how to speak to it.
type address struct {
	URL     string        `arg:"" placeholder:"URL" help:"Address of the MCP server, as a person would type it into a host."`
	Header  []string      `sep:"none" placeholder:"NAME:VALUE" help:"Send this header to the server's own origin; may be repeated."`
	Timeout time.Duration `default:"10s" help:"Wait so long for each answer (100ms to 5m)."`
}

// Validate refuses an address that nobody could be spoken to at.
func (a *address) Validate() error {
	u, err := url.Parse(a.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("the URL must begin with http:// or https:// and name a host")
	case u.User != nil || u.Fragment != "":
		return errors.New("the URL must have no user and no fragment")
	case a.Timeout < 100*time.Millisecond || a.Timeout > 5*time.Minute:
		return fmt.Errorf("--timeout must be from 100ms to 5m, got %v", a.Timeout)
	}
	_, err = headers(a.Header)
	return err
}

func (a *address) visit() (probe.VisitOptions, error) {
	h, err := headers(a.Header)
	return probe.VisitOptions{Header: h, Timeout: a.Timeout}, err
}

// limitsCommand is probe limits, and rehearse limits.
type limitsCommand struct {
	address
	printing
	Cases string `placeholder:"FILE" help:"Judge the cases of this JSON file instead of the twelve published ones."`
	Token string `placeholder:"FILE" help:"List the tools with the token that probe sign-in --save wrote."`
}

// Help explains the file of cases and how it ends.
func (*limitsCommand) Help() string {
	return "Reads the live schemas by tools/list and judges the arguments of each case by them. No tool is called. " +
		`A file of cases is a JSON array of objects such as {"case": "a goal that is too long", "tool": "request_session_run", "arguments": {"session_id": "s"}, ` +
		`"lengths": {"goal": 10001}, "expected": "refused", "keyword": "maxLength"}. lengths, which fills arguments with texts of so many characters, and keyword are optional; ` +
		"expected is accepted or refused. The formats of texts, such as date-time, are not judged.\n\n" +
		"Exit status: 0 if every case is as expected, 1 if not or if the schemas could not be read, 2 for a command line that was not understood."
}

// Run judges the cases.
func (c *limitsCommand) Run(ctx context.Context, s *streams) error {
	o, err := c.visit()
	if err != nil {
		return err
	}
	cases := probe.PublishedCases()
	if c.Cases != "" {
		if cases, err = readCases(c.Cases); err != nil {
			return err
		}
	}
	if c.Token != "" {
		if err := c.carry(o.Header); err != nil {
			return err
		}
	}
	progress := terminal.NewProgress(s.err)
	o.Progress = progress.Show
	report, err := probe.Limits(ctx, c.URL, o, cases)
	progress.Clear()
	if errors.Is(err, probe.ErrSignIn) {
		return fmt.Errorf("%w: give a token with --token or --header, or an address whose list is public", err)
	}
	if err != nil {
		return err
	}
	err = c.print(s, report, func(style terminal.Style) string { return limitsText(report, c.Cases == "", style) })
	if err == nil && report.Held != len(report.Cases) {
		err = fmt.Errorf("%d of %d cases are not as expected", len(report.Cases)-report.Held, len(report.Cases))
	}
	return err
}

func readCases(file string) ([]probe.LimitCase, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the cases: %w", err)
	}
	cases, err := probe.ReadCases(raw)
	if err != nil {
		return nil, fmt.Errorf("read the cases: %s: %w", file, err)
	}
	return cases, nil
}

// carry adds the saved token to the headers, for the server that it was given for
// and no other.
func (c *limitsCommand) carry(h http.Header) error {
	raw, err := os.ReadFile(c.Token)
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	saved, err := probe.ReadSaved(raw)
	if err != nil {
		return fmt.Errorf("read the token: %s: %w", c.Token, err)
	}
	if saved.Endpoint != c.URL {
		return fmt.Errorf("the token of %s is for %s", c.Token, saved.Endpoint)
	}
	h.Set("Authorization", "Bearer "+saved.AccessToken)
	return nil
}

// limitsText has a line for each case.
func limitsText(r *probe.LimitsReport, published bool, style terminal.Style) string {
	var b strings.Builder
	heading(&b, style, "Limits of the tools at "+r.Endpoint)
	labelled(&b, style, "server", r.Server)
	labelled(&b, style, "tools", fmt.Sprint(r.Tools))
	b.WriteString("\n" + style.Paint(terminal.Dim, terminal.Left("CASE", 41)+terminal.Left("EXPECTED", 10)+"FOUND") + "\n")
	for _, c := range r.Cases {
		limitText(&b, c, style)
	}
	words := "as expected"
	if published {
		words = "as published"
	}
	fmt.Fprintf(&b, "\n%d of %d %s.\n", r.Held, len(r.Cases), words)
	return b.String()
}

func limitText(b *strings.Builder, c probe.LimitResult, style terminal.Style) {
	colour := terminal.Green
	if !c.Held {
		colour = terminal.Red
	}
	found := c.Found
	for _, r := range c.Reasons {
		found += " " + r.Keyword
	}
	b.WriteString(terminal.Left(terminal.Plain(c.Case), 40) + " " + terminal.Left(c.Expected, 10) + style.Paint(colour, terminal.Fit(found, 29)) + "\n")
	if c.Held {
		return
	}
	for _, r := range c.Reasons {
		paragraph(b, "%s", terminal.Plain("Found: "+r.Keyword+" refuses "+argumentName(r.Argument)+"."))
	}
	if c.Keyword != "" && c.Found != probe.NoTool {
		paragraph(b, "%s", terminal.Plain("Expected: "+c.Keyword+" refuses."))
	}
	if c.Detail != "" {
		paragraph(b, "%s", terminal.Plain(c.Detail))
	}
}

func argumentName(name string) string {
	if name == "" {
		return "the arguments as a whole"
	}
	return name
}
