package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/chart"
	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/terminal"
)

// signInCommand is probe sign-in.
type signInCommand struct {
	address
	printing
	ClientID  string        `name:"client-id" placeholder:"ID" help:"Be this client instead of registering one: an ID, or the https address of a client's metadata document."`
	Scope     []string      `sep:" " placeholder:"SCOPE" help:"Ask for this scope; may be repeated. Without it, ask for what the server names."`
	Port      int           `default:"0" help:"Port of the loopback callback; 0 takes a free one."`
	NoBrowser bool          `name:"no-browser" help:"Print the address, and open no browser."`
	Wait      time.Duration `default:"5m" help:"Wait so long for the person (1s to 1h)."`
	Call      string        `placeholder:"TOOL" help:"Call this tool with the token."`
	Arguments string        `placeholder:"JSON" help:"Arguments of the call, a JSON object."`
	Save      string        `placeholder:"FILE" help:"Keep the token in this new file, readable by you alone. Without it, the token is revoked in the end."`
	Plot      bool          `help:"Draw the latencies."`
	SVG       string        `name:"svg" placeholder:"FILE" help:"Draw the latencies into this SVG file."`
}

// Help says what happens and how it ends.
func (*signInCommand) Help() string {
	return "Registers a client, opens the browser where a person signs in and approves, takes the answer at a callback on this computer " +
		"(PKCE with S256; state and iss are checked), and lists the tools with the token. $BROWSER names another browser.\n\n" +
		"Exit status: 0 if all of it worked; 1 if not, with a warning about the answers, or if the call was refused; 2 with an error in the answers, or for a command line that was not understood."
}

// Validate refuses what the sign-in could not begin with.
func (c *signInCommand) Validate() error {
	if err := c.address.Validate(); err != nil {
		return err
	}
	switch {
	case c.Wait < time.Second || c.Wait > time.Hour:
		return fmt.Errorf("--wait must be from 1s to 1h, got %v", c.Wait)
	case c.Arguments != "" && c.Call == "":
		return errors.New("--arguments are those of a --call")
	}
	if err := inRange("--port", c.Port, 0, 65535); err != nil {
		return err
	}
	if _, err := probe.NewToolCall(c.Call, c.Arguments); err != nil {
		return fmt.Errorf("--arguments: %w", err)
	}
	return nil
}

// Run signs in.
func (c *signInCommand) Run(ctx context.Context, s *streams) error {
	if c.Save != "" {
		if _, err := os.Lstat(c.Save); err == nil {
			return fmt.Errorf("--save: %s is there already; nothing was asked of the server", c.Save)
		}
	}
	o, err := c.options(s)
	if err != nil {
		return err
	}
	progress := terminal.NewProgress(s.err)
	o.Progress = progress.Show
	show := o.Open
	o.Open = func(ctx context.Context, address string) error {
		progress.Clear()
		return show(ctx, address)
	}
	report, err := probe.SignIn(ctx, c.URL, o)
	progress.Clear()
	if err != nil {
		return fmt.Errorf("probe sign-in: %w", err)
	}
	if c.Save != "" {
		if err := save(c.Save, report.Saved(time.Now())); err != nil {
			return fmt.Errorf("keep the token: %w", err)
		}
	}
	latencies := signInChart(report)
	if c.SVG != "" {
		if err := os.WriteFile(c.SVG, []byte(latencies.SVG()), 0o644); err != nil {
			return fmt.Errorf("draw the latencies: %w", err)
		}
	}
	err = c.print(s, report, func(style terminal.Style) string {
		text := signInText(report, c.Save, style)
		if c.Plot {
			text += "\n" + latencies.Text(style)
		}
		return text
	})
	if err == nil {
		err = statusOf(report.Findings)
	}
	if err == nil && report.Call != nil && report.Call.IsError {
		err = exitStatus(1)
	}
	return err
}

func (c *signInCommand) options(s *streams) (o probe.SignInOptions, err error) {
	if o.VisitOptions, err = c.visit(); err != nil {
		return o, err
	}
	o.ClientID, o.Port, o.Wait, o.Keep = c.ClientID, c.Port, c.Wait, c.Save != ""
	if len(c.Scope) > 0 {
		o.Scopes = c.Scope
	}
	if c.Call != "" {
		if o.Call, err = probe.NewToolCall(c.Call, c.Arguments); err != nil {
			return o, err
		}
	}
	o.Open = func(ctx context.Context, address string) error {
		if c.NoBrowser {
			_, err := fmt.Fprintf(s.err, "Open this address in a browser, sign in and approve:\n%s\n", address)
			return err
		}
		_, err := fmt.Fprintf(s.err, "The browser opens. If it does not, open this address:\n%s\n", address)
		if err == nil {
			openBrowser(ctx, address)
		}
		return err
	}
	return o, nil
}

// openBrowser shows the address in the person's browser. It may not work, which is
// why the address is printed too.
func openBrowser(ctx context.Context, address string) {
	name, arguments := "xdg-open", []string{address}
	switch {
	case os.Getenv("BROWSER") != "":
		name = os.Getenv("BROWSER")
	case runtime.GOOS == "darwin":
		name = "open"
	case runtime.GOOS == "windows":
		name, arguments = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	browser := exec.CommandContext(context.WithoutCancel(ctx), name, arguments...)
	if browser.Start() == nil {
		go browser.Wait() // it stays open as long as the person likes
	}
}

// save writes the token into a new file that its owner alone may read.
func save(file string, saved probe.Saved) (err error) {
	raw, err := json.Marshal(saved, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(raw, '\n'))
	return err
}

func signInChart(r *probe.SignInReport) chart.Latency {
	c := chart.Latency{Title: "Latency of the sign-in: " + r.Endpoint}
	for _, row := range r.Rows {
		if len(row.Latencies) > 0 {
			c.Series = append(c.Series, chart.Series{Name: row.Asked, Latencies: row.Latencies})
		}
	}
	return c
}

// signInText is a sign-in for a person.
func signInText(r *probe.SignInReport, saved string, style terminal.Style) string {
	var b strings.Builder
	heading(&b, style, "Signed in at "+r.Endpoint)
	client := r.ClientID
	if r.Registered {
		client += ", registered now"
	}
	for _, line := range [][2]string{
		{"issuer", r.Issuer}, {"client", client}, {"asked", strings.Join(r.Asked, " ")}, {"granted", strings.Join(r.Granted, " ")},
		{"token", tokenWords(r)}, {"kept", keptWords(r, saved)},
	} {
		labelled(&b, style, line[0], line[1])
	}
	b.WriteByte('\n')
	table(&b, style, r.Rows)
	fmt.Fprintf(&b, "\n%s\n", style.Paint(terminal.Bold, fmt.Sprintf("%d tools with the token", len(r.Tools))))
	paragraph(&b, "%s", terminal.Plain(strings.Join(r.Tools, " ")))
	if r.Call != nil {
		callText(&b, r.Call, style)
	}
	b.WriteByte('\n')
	findingsText(&b, style, r.Findings)
	return b.String()
}

func tokenWords(r *probe.SignInReport) string {
	words := "without a life that the server names"
	if r.ExpiresIn > 0 {
		words = "for " + (time.Duration(r.ExpiresIn) * time.Second).String()
	}
	if r.Refresh {
		return words + ", with a refresh token"
	}
	return words + ", without a refresh token"
}

func keptWords(r *probe.SignInReport, saved string) string {
	switch {
	case saved != "":
		return "in " + saved
	case r.Revoked:
		return "nowhere, and revoked"
	}
	return "nowhere; the server did not revoke it, so that it lives until it expires"
}

// callText is what a call came to: the text of the result, line by line.
func callText(b *strings.Builder, c *probe.CallSeen, style terminal.Style) {
	word, colour := "allowed", terminal.Green
	if c.IsError {
		word, colour = strings.TrimSpace("refused "+terminal.Plain(c.Code)), terminal.Red
	}
	fmt.Fprintf(b, "\n%s %s\n", style.Paint(terminal.Bold, terminal.Fit(terminal.Plain(c.Tool), 40)), style.Paint(colour, fmt.Sprintf("HTTP %d, %s", c.Status, terminal.Fit(word, 25))))
	for line := range strings.Lines(c.Text) {
		for _, part := range terminal.Wrap(terminal.Plain(line), terminal.Columns) {
			b.WriteString(part + "\n")
		}
	}
}
