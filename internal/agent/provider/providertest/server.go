package providertest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/osfoundry/osfoundry/internal/agent"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// Protocol is what a scripted server speaks.
type Protocol string

// The protocols.
const (
	OpenAI    Protocol = "openai"
	Anthropic Protocol = "anthropic"
)

// Request is what a server was asked, in the words of neither protocol.
type Request struct {
	Number    int // from 1
	Header    http.Header
	Body      string // as it came
	Model     string
	System    string
	Messages  []agent.Message
	Tools     []string // the names of those that may be called
	Stream    bool
	MaxTokens int64
}

// Move is what a request is answered with: a stream of Text and Calls, unless it
// says otherwise.
type Move struct {
	Text  []string     // a piece each
	Calls []agent.Call // with arguments in two pieces, whatever they are
	Model string       // as the server names it; "" is the one asked for
	In    int64        // tokens read; 0 reports no usage
	Out   int64        // tokens written

	Status int               // not 0: an answer with this status and Body instead
	Header map[string]string // of that answer, or besides those of a stream
	Body   string

	Hold   <-chan struct{} // waited for before anything is sent
	Pause  <-chan struct{} // waited for after the first piece of Text
	Events []string        // sent after Text as they are, each followed by an empty line
	Hangup bool            // the connection ends without an answer
	Cut    bool            // the connection ends after Text and Events
	Open   bool            // the stream ends properly after Text and Events, the answer does not
}

// Script says what a request is answered with. It is called in parallel where
// requests come so.
type Script func(r Request) Move

// Moves is the script that answers with these, in order, and then with 500.
func Moves(moves ...Move) Script {
	return func(r Request) Move {
		if r.Number > len(moves) {
			return Move{Status: http.StatusInternalServerError, Body: "the script is over"}
		}
		return moves[r.Number-1]
	}
}

// Always is the script that answers every request alike.
func Always(m Move) Script { return func(Request) Move { return m } }

// Server is a scripted model server on loopback.
type Server struct {
	protocol Protocol
	script   Script
	http     *httptest.Server

	mu       sync.Mutex
	requests []Request
}

// NewServer starts a server, which ends with the test.
func NewServer(t testing.TB, p Protocol, script Script) *Server {
	t.Helper()
	s := &Server{protocol: p, script: script}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.http.Close)
	return s
}

// BaseURL is the address that a provider is told.
func (s *Server) BaseURL() string {
	if s.protocol == OpenAI {
		return s.http.URL + "/v1"
	}
	return s.http.URL
}

// Host is the server's host and port, as guard.ClientConfig.AllowHosts lists it.
func (s *Server) Host() string { return strings.TrimPrefix(s.http.URL, "http://") }

// Client is the guarded client that may speak to this server only.
func (s *Server) Client() *http.Client { return Client(s.Host()) }

// Client is the guarded client that may speak to these hosts besides the public
// internet, with its own limits out of the way.
func Client(hosts ...string) *http.Client {
	return guard.NewClient(guard.ClientConfig{AllowHosts: hosts, Timeout: longest, MaxBody: 1 << 30})
}

// Requests are those that came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	path, read := "/v1/messages", readAnthropic
	if s.protocol == OpenAI {
		path, read = "/v1/chat/completions", readOpenAI
	}
	if r.Method != http.MethodPost || r.URL.Path != path {
		http.NotFound(w, r)
		return
	}
	request, err := read(text)
	if err != nil {
		http.Error(w, `{"error":{"type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	request.Header, request.Body = r.Header.Clone(), string(text)
	s.mu.Lock()
	request.Number = len(s.requests) + 1
	s.requests = append(s.requests, request)
	s.mu.Unlock()
	s.play(w, r, request, s.script(request))
}

// play answers with a move.
func (s *Server) play(w http.ResponseWriter, r *http.Request, asked Request, m Move) {
	if !wait(r, m.Hold) {
		return
	}
	if m.Hangup {
		panic(http.ErrAbortHandler)
	}
	for name, value := range m.Header {
		w.Header().Set(name, value)
	}
	if m.Status != 0 {
		w.WriteHeader(m.Status)
		io.WriteString(w, m.Body)
		return
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	if m.Model == "" {
		m.Model = asked.Model
	}
	stream := &stream{w: w, move: m}
	if s.protocol == OpenAI {
		stream.frames = openAIFrames(m)
	} else {
		stream.frames = anthropicFrames(m)
	}
	stream.play(r)
}

// wait reports whether the channel was closed, or is nil, before the client left.
func wait(r *http.Request, c <-chan struct{}) bool {
	if c == nil {
		return true
	}
	select {
	case <-c:
		return true
	case <-r.Context().Done():
		return false
	}
}

// frames are the events of a move in a protocol.
type frames struct {
	begin []string
	text  []string // one for each piece
	end   []string
}

type stream struct {
	w      http.ResponseWriter
	move   Move
	frames frames
}

func (s *stream) send(events ...string) {
	for _, e := range events {
		io.WriteString(s.w, e+"\n\n")
		s.w.(http.Flusher).Flush()
	}
}

func (s *stream) play(r *http.Request) {
	s.w.WriteHeader(http.StatusOK)
	s.send(s.frames.begin...)
	for i, event := range s.frames.text {
		s.send(event)
		if i == 0 && !wait(r, s.move.Pause) {
			return
		}
	}
	s.send(s.move.Events...)
	switch {
	case s.move.Cut:
		panic(http.ErrAbortHandler)
	case s.move.Open:
		return
	}
	s.send(s.frames.end...)
}

// halves splits arguments in two pieces.
func halves(s string) [2]string { return [2]string{s[:len(s)/2], s[len(s)/2:]} }

func event(kind, data string) string { return fmt.Sprintf("event: %s\ndata: %s", kind, data) }
