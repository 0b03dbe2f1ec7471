package config

import (
	"net"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

func defaults(t *testing.T) Config {
	t.Helper()
	c, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestDefaultsAreComplete(t *testing.T) {
	c := defaults(t)
	if err := c.Complete(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	if c.Listen != "127.0.0.1:8787" || c.Data != "./data" || c.AccessTokenLife != time.Hour {
		t.Errorf("got %s, %s, %s; want 127.0.0.1:8787, ./data, 1h", c.Listen, c.Data, c.AccessTokenLife)
	}
}

func TestASettingThatCannotWorkIsRefusedByItsFlag(t *testing.T) {
	for flag, change := range map[string]func(*Config){
		"--listen":             func(c *Config) { c.Listen = "8787" },
		"--database":           func(c *Config) { c.Database = "mysql://host/name" },
		"--access-token-life":  func(c *Config) { c.AccessTokenLife = 9 * time.Minute },
		"--refresh-token-life": func(c *Config) { c.RefreshTokenLife = time.Minute },
		"--connection-life":    func(c *Config) { c.ConnectionLife = time.Hour },
		"--refresh-retry":      func(c *Config) { c.RefreshRetry = time.Hour },
		"--session-idle":       func(c *Config) { c.SessionIdle = time.Minute },
		"--session-life":       func(c *Config) { c.SessionLife = time.Hour },
		"--reads-per-minute":   func(c *Config) { c.ReadsPerMinute = 0 },
		"--agent-programs":     func(c *Config) { c.AgentPrograms = []string{"/usr/bin/true", "bin/true"} },
		"--unused-clients":     func(c *Config) { c.UnusedClients = -1 },
	} {
		c := defaults(t)
		change(&c)
		if err := c.Complete(); err == nil || !strings.HasPrefix(err.Error(), flag+" ") && !strings.HasPrefix(err.Error(), flag+":") {
			t.Errorf("%s: got %v, want an error that begins with the flag", flag, err)
		}
	}
}

func TestThePublicURLFollowsTheListener(t *testing.T) {
	for _, c := range []struct {
		listen, public string
		at             net.TCPAddr
		want           string
	}{
		{"127.0.0.1:0", "", net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 4711}, "http://127.0.0.1:4711"},
		{"localhost:8787", "", net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8787}, "http://localhost:8787"},
		{":8787", "", net.TCPAddr{IP: net.IPv6zero, Port: 8787}, "http://127.0.0.1:8787"},
		{"[::1]:8787", "", net.TCPAddr{IP: net.IPv6loopback, Port: 8787}, "http://[::1]:8787"},
		{":8787", "https://osfoundry.example", net.TCPAddr{IP: net.IPv6zero, Port: 8787}, "https://osfoundry.example"},
	} {
		config := Config{Listen: c.listen}
		if c.public != "" {
			config.PublicURL = []string{c.public}
		}
		if got := config.PublicURLs(&c.at)[0]; got != c.want {
			t.Errorf("--listen %s, listening on %s: got %s, want %s", c.listen, &c.at, got, c.want)
		}
	}
}

func TestMetadataDocumentsAreForServersThatTheInternetReaches(t *testing.T) {
	for public, want := range map[string]bool{
		"https://osfoundry.example": true, "http://localhost:8787": false, "http://127.0.0.1:8787": false, "http://[::1]:8787": false,
	} {
		if got := (&Config{ClientDocuments: "auto"}).DocumentsEnabled(public); got != want {
			t.Errorf("auto at %s: got %t, want %t", public, got, want)
		}
	}
	if !(&Config{ClientDocuments: "on"}).DocumentsEnabled("http://127.0.0.1") || (&Config{ClientDocuments: "off"}).DocumentsEnabled("https://a.example") {
		t.Error("on and off do not decide")
	}
}

func TestEveryFlagThatTheDocumentsNameExistsAndEveryFieldHasHelp(t *testing.T) {
	flags := map[string]bool{"--help": true, "--config": true}
	for f := range reflect.TypeFor[Config]().Fields() {
		if f.Tag.Get("help") == "" {
			t.Errorf("field %s has no help", f.Name)
		}
		name := f.Tag.Get("name")
		if name == "" {
			name = strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(f.Name, "$1-$2"))
		}
		flags["--"+name] = true
	}
	of := regexp.MustCompile("`(--[a-z-]+)[` ]")
	for _, file := range []string{"../../README.md", "../../docs/operations.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range of.FindAllStringSubmatch(string(text), -1) {
			if !flags[m[1]] {
				t.Errorf("%s names the flag %s, which does not exist", file, m[1])
			}
		}
	}
}
