package guard

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of the HTTP server. They hold for everybody, before any route.
const (
	headerTimeout = 5 * time.Second  // to send the request line and headers
	bodyTimeout   = 30 * time.Second // to send headers and body; 4 MiB need 140 kB/s
	answerTimeout = 60 * time.Second // to take the answer, counted from the end of the headers; waits of 25 s fit in
	idleTimeout   = 60 * time.Second // between two requests of a connection
	headerBytes   = 32 << 10
	http2Streams  = 100 // at once on one connection
)

// NewServer makes an HTTP server that no slow or talkative client can hold up
// (OWASP ASVS 15.2.2). A handler whose answer takes longer, such as an event
// stream, calls Unhurried first.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytes - 4096, // net/http adds 4,096 or 8,192 for its buffer
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: http2Streams},
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelInfo),
	}
}

// Unhurried lifts the server's time limits from one answer, after its body was
// read. The handler must end by itself: when the client is gone or the server
// stops.
func Unhurried(w http.ResponseWriter) error {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Time{}); err != nil { // or its end would cancel the request's context
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}
