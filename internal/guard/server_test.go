package guard

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestEveryAnswerCarriesTheSecurityHeaders(t *testing.T) {
	for url, hsts := range map[string]string{"https://foundry.example": "max-age=31536000", "http://127.0.0.1:8787": ""} {
		h := site(t, SiteConfig{PublicURLs: []string{url}}).SecureHeaders(http.NotFoundHandler())
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		for name, want := range map[string]string{
			"X-Content-Type-Options":     "nosniff",
			"X-Frame-Options":            "DENY",
			"Referrer-Policy":            "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin",
			"Content-Security-Policy":    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
			"Strict-Transport-Security":  hsts,
		} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", url, name, got, want)
			}
		}
	}
}

func TestAddingToASharedHeaderLeavesOtherAnswersAlone(t *testing.T) {
	h := site(t, SiteConfig{PublicURLs: []string{"https://foundry.example"}}).SecureHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Referrer-Policy", "origin")
	}))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		if got := w.Header()["Referrer-Policy"]; len(got) != 2 {
			t.Errorf("Referrer-Policy = %q, want the shared value and one more", got)
		}
	}
}

func TestPreflightIs204WithCORSAndNoCredentials(t *testing.T) {
	w := httptest.NewRecorder()
	Preflight(w, "GET, POST, DELETE, OPTIONS")
	h := w.Header()
	if w.Code != 204 || w.Body.Len() != 0 {
		t.Errorf("Preflight = %d with %d bytes, want 204 without a body", w.Code, w.Body.Len())
	}
	if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("Preflight allows %q with credentials %q, want * without", h.Get("Access-Control-Allow-Origin"), h.Get("Access-Control-Allow-Credentials"))
	}
	if got := h.Get("Access-Control-Allow-Methods"); got != "GET, POST, DELETE, OPTIONS" {
		t.Errorf("Access-Control-Allow-Methods = %q", got)
	}
	for _, name := range []string{"Authorization", "Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "Last-Event-ID"} {
		if !strings.Contains(h.Get("Access-Control-Allow-Headers"), name) {
			t.Errorf("Access-Control-Allow-Headers = %q, want %s in it", h.Get("Access-Control-Allow-Headers"), name)
		}
	}
	if !strings.Contains(h.Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("Access-Control-Expose-Headers = %q, want WWW-Authenticate in it", h.Get("Access-Control-Expose-Headers"))
	}
}

// serve runs a server of NewServer on loopback.
func serve(t *testing.T, h http.HandlerFunc, change func(*http.Server)) string {
	t.Helper()
	server := NewServer(h, slog.New(slog.DiscardHandler))
	if change != nil {
		change(server)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); server.Serve(listener) }()
	t.Cleanup(func() { server.Close(); <-done })
	return listener.Addr().String()
}

func TestServerRefusesHugeHeaders(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, nil)
	for size, want := range map[int]int{20 << 10: 204, 40 << 10: 431} {
		r, err := http.NewRequest("GET", "http://"+address, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Large", strings.Repeat("a", size))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("a header of %d bytes = %d, want %d", size, answer.StatusCode, want)
		}
	}
}

func TestServerHasEveryLimit(t *testing.T) {
	s := NewServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	for name, c := range map[string]struct{ got, want time.Duration }{
		"ReadHeaderTimeout": {s.ReadHeaderTimeout, 5 * time.Second},
		"ReadTimeout":       {s.ReadTimeout, 30 * time.Second},
		"WriteTimeout":      {s.WriteTimeout, 60 * time.Second},
		"IdleTimeout":       {s.IdleTimeout, 60 * time.Second},
	} {
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", name, c.got, c.want)
		}
	}
	if s.HTTP2.MaxConcurrentStreams != 100 {
		t.Errorf("MaxConcurrentStreams = %d, want 100", s.HTTP2.MaxConcurrentStreams)
	}
}

func TestUnhurriedAnswersOutliveTheServersLimits(t *testing.T) {
	const limit = 50 * time.Millisecond
	for _, unhurried := range []bool{true, false} {
		expired := make(chan struct{})
		address := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if unhurried {
				if err := Unhurried(w); err != nil {
					t.Errorf("Unhurried = %v", err)
				}
			}
			select { // the read deadline cancels the context of a hurried answer
			case <-r.Context().Done():
			case <-time.After(4 * limit):
			}
			close(expired)
			io.WriteString(w, "late")
		}, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = limit, limit })
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		<-expired
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if (err == nil) != unhurried {
			t.Errorf("unhurried %v: answer %v, %v", unhurried, answer, err)
		}
	}
}
