package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/alecthomas/kong"
)

// Config is every setting of osfoundry serve. The tags say the flag's help, its
// default and its unit; the environment name is OSFOUNDRY_ and the flag in
// capitals with _ for -, the file's key is the flag itself.
type Config struct {
	Listen    string   `default:"127.0.0.1:8787" help:"Address and port to listen on. Port 0 takes a free one."`
	PublicURL []string `name:"public-url" placeholder:"URL" help:"Address that people and assistants type, such as https://osfoundry.example. Repeat it for several; the first is the main one. Default: http:// and --listen."`

	Data     string `default:"./data" placeholder:"DIR" help:"Folder of the SQLite database, which is DIR/osfoundry.db. Default: ./data. Not used with --database."`
	Database string `placeholder:"URL" help:"PostgreSQL database instead of SQLite: postgres://user:password@host:5432/name. Several servers may share it."`

	AllowedHosts   []string       `placeholder:"HOST" help:"Further values of the Host header to serve, such as the name a health check uses."`
	AllowedOrigins []string       `placeholder:"ORIGIN" help:"Further browser origins that may call the MCP address, such as the page of MCP Inspector."`
	TrustedProxies []netip.Prefix `placeholder:"CIDR" help:"Networks of reverse proxies whose X-Forwarded-For and X-Forwarded-Host are believed. Default: none."`

	RateLimits           string `enum:"on,off" default:"on" help:"Turn the limits per minute off, for benchmarks and tests."`
	ReadsPerMinute       int    `default:"1200" help:"Reads a connection may make in a minute."`
	WritesPerMinute      int    `default:"300" help:"Writes a connection may make in a minute."`
	RunRequestsPerMinute int    `default:"60" help:"Run requests a connection may make in a minute."`
	QueuedTasks          int    `default:"50" help:"Tasks that a connection may have waiting in the queue by its own requests."`
	PendingHandoffs      int    `default:"50" help:"Handoffs of a connection that may wait for a decision."`
	BadTokensPerMinute   int    `default:"1000" help:"Unusable tokens taken from one address in a minute."`

	AgentPrograms []string `placeholder:"PATH" help:"Programs that agents, and done-conditions of loops, may run on this server, by absolute path. Default: none."`
	ProviderHosts []string `default:"127.0.0.1:11434,localhost:11434" placeholder:"HOST:PORT" help:"Model servers on this computer or in your own network that agents may be given, exactly as in the provider's base URL, with the port. Default: Ollama's. All others must be on the public internet, with https."`
	RoundsAtOnce  int      `default:"16" help:"Rounds of agents that this server runs at a time."`

	AccessTokenLife  time.Duration `default:"1h" help:"Life of an access token. Hosts refresh from five minutes before its end, so at least 10m."`
	RefreshTokenLife time.Duration `default:"2160h" help:"Life of a refresh token that is not used: 90 days."`
	ConnectionLife   time.Duration `default:"8760h" help:"Life of a connection, after which the assistant is asked to connect again: 1 year."`
	RefreshRetry     time.Duration `default:"30s" help:"How long a used refresh token still gets the same answer, because answers get lost. 0s is strict."`
	UnusedClients    int           `default:"1000" help:"Registered clients that were never approved, in all."`
	UnusedPerAddress int           `default:"200" help:"Registered clients that were never approved, from one address."`
	ClientDocuments  string        `enum:"auto,on,off" default:"auto" help:"Accept Client ID Metadata Documents, which are fetched over https. auto: unless the main public URL is on this computer."`
	OpenaiStatusOK   bool          `name:"openai-status-ok" help:"Answer ChatGPT's calls without a token with HTTP 200 instead of 401; the challenge in the result stays."`
	SessionIdle      time.Duration `default:"24h" help:"How long a person stays signed in without doing anything."`
	SessionLife      time.Duration `default:"720h" help:"How long a person who asked for it stays signed in: 30 days."`
	ShutdownPatience time.Duration `default:"15s" help:"How long requests in hand may take once the server is told to stop."`
	LogLevel         string        `enum:"debug,info,warn,error" default:"info" help:"What is logged, to standard error."`
	LogFormat        string        `enum:"text,json" default:"text" help:"How it is logged."`
}

// Complete checks the settings against each other and fills what follows from
// others. Errors name the flag and say what it takes.
func (c *Config) Complete() error {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return fmt.Errorf("--listen %q: give an address and a port, such as 127.0.0.1:8787", c.Listen)
	}
	if c.Database != "" {
		u, err := url.Parse(c.Database)
		if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
			return errors.New("--database: give a PostgreSQL URL, such as postgres://user:password@127.0.0.1:5432/osfoundry")
		}
	}
	for _, least := range []struct {
		flag        string
		value, most time.Duration
	}{
		{"--access-token-life", c.AccessTokenLife, 10 * time.Minute},
		{"--refresh-token-life", c.RefreshTokenLife, c.AccessTokenLife},
		{"--connection-life", c.ConnectionLife, c.RefreshTokenLife},
		{"--session-idle", c.SessionIdle, 5 * time.Minute},
		{"--session-life", c.SessionLife, c.SessionIdle},
	} {
		if least.value < least.most {
			return fmt.Errorf("%s %s: give at least %s", least.flag, least.value, least.most)
		}
	}
	if c.RefreshRetry < 0 || c.RefreshRetry > 5*time.Minute {
		return fmt.Errorf("--refresh-retry %s: give 0s to 5m", c.RefreshRetry)
	}
	for flag, n := range map[string]int{
		"--reads-per-minute": c.ReadsPerMinute, "--writes-per-minute": c.WritesPerMinute, "--run-requests-per-minute": c.RunRequestsPerMinute,
		"--queued-tasks": c.QueuedTasks, "--pending-handoffs": c.PendingHandoffs, "--rounds-at-once": c.RoundsAtOnce, "--bad-tokens-per-minute": c.BadTokensPerMinute, "--unused-clients": c.UnusedClients, "--unused-per-address": c.UnusedPerAddress,
	} {
		if n < 1 {
			return fmt.Errorf("%s %d: give at least 1", flag, n)
		}
	}
	for _, program := range c.AgentPrograms {
		if !filepath.IsAbs(program) || filepath.Clean(program) != program {
			return fmt.Errorf("--agent-programs %q: give an absolute path without . and ..", program)
		}
	}
	return nil
}

// SQLitePath is the database file, "" with PostgreSQL.
func (c *Config) SQLitePath() string {
	if c.Database != "" {
		return ""
	}
	return filepath.Join(c.Data, "osfoundry.db")
}

// PublicURLs are the public addresses, given the address that the server really
// listens on. A listener on all interfaces is named by the loopback address: the
// only one of its names that is known.
func (c *Config) PublicURLs(listening net.Addr) []string {
	if len(c.PublicURL) > 0 {
		return c.PublicURL
	}
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return []string{"http://" + listening.String()}
	}
	if given, _, _ := net.SplitHostPort(c.Listen); given != "" && net.ParseIP(given) == nil {
		host = given // as it was typed, such as localhost
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return []string{"http://" + net.JoinHostPort(host, port)}
}

// DocumentsEnabled reports whether Client ID Metadata Documents are accepted, for
// the main public URL.
func (c *Config) DocumentsEnabled(publicURL string) bool {
	if c.ClientDocuments != "auto" {
		return c.ClientDocuments == "on"
	}
	u, err := url.Parse(publicURL)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// Defaults are the settings of a server that was told nothing, without looking at
// the environment.
func Defaults() (Config, error) {
	var c Config
	parser, err := kong.New(&c, kong.Exit(func(int) {}))
	if err != nil {
		return c, err
	}
	_, err = parser.Parse(nil)
	return c, err
}
