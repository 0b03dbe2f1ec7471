package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// serving runs osfoundry serve on a free port and returns what it announced, by
// label, once it serves. It stops when the test ends.
func serving(t *testing.T, args ...string) map[string]string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	done := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		done <- run(ctx, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...), write, &stderr)
		write.Close()
	}()
	t.Cleanup(func() {
		stop()
		go io.Copy(io.Discard, read) //nolint:errcheck // lets the program write until it ends
		if code := <-done; code != 0 {
			t.Errorf("serve ended with %d, want 0; stderr: %s", code, stderr.String())
		}
	})
	said := map[string]string{}
	for lines := bufio.NewScanner(read); lines.Scan(); {
		label, value, _ := strings.Cut(lines.Text(), ": ")
		said[label] = value
		if strings.HasPrefix(lines.Text(), "Open the setup URL") {
			return said
		}
	}
	t.Fatalf("serve said %v and ended; stderr: %s", said, stderr.String())
	return nil
}

func TestServeAnnouncesWhereItIsAndHowToClaimIt(t *testing.T) {
	said := serving(t, "--data", t.TempDir())
	base := strings.TrimSuffix(said["Address"], "/")
	if want := base + "/mcp"; said["MCP URL"] != want {
		t.Errorf("got MCP URL %q, want %q", said["MCP URL"], want)
	}
	if !strings.HasPrefix(said["Setup URL"], base+"/setup?secret=osf_set_") {
		t.Errorf("got setup URL %q, want one of %s", said["Setup URL"], base)
	}
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/mcp": 401, "/api/v1/me": 401, "/api/v1/nothing": 404, "/nothing": 404} {
		answer, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("GET %s: got %d, want %d", path, answer.StatusCode, want)
		}
	}
}

func TestServeRefusesAFileThatAnotherProcessUses(t *testing.T) {
	data := t.TempDir()
	serving(t, "--data", data)
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "--data", data}, &stdout, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "in use by another osFoundry process") {
		t.Errorf("a second server: got %d and %q, want 1 and a word about the first", code, stderr.String())
	}
}

func TestServeMakesANewSetupSecretAtEachStartUntilOneIsUsed(t *testing.T) {
	data := t.TempDir()
	var first, second string
	t.Run("first start", func(t *testing.T) { first = serving(t, "--data", data)["Setup URL"] })
	t.Run("second start", func(t *testing.T) { second = serving(t, "--data", data)["Setup URL"] })
	_, a, _ := strings.Cut(first, "secret=")
	_, b, _ := strings.Cut(second, "secret=")
	if a == b || a == "" || b == "" {
		t.Errorf("got secrets %q and %q, want two", a, b)
	}
}
