package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/config"
	"github.com/osfoundry/osfoundry/internal/storage"
	"github.com/osfoundry/osfoundry/internal/storage/storagetest"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// ear is a listener of the event stream.
type ear struct {
	t  testing.TB
	mu sync.Mutex
	// What was heard; guarded by mu.
	text  map[string]string      // of rounds, by task and number
	at    map[string][]time.Time // when a piece of it came
	types []string               // of events about sessions
	all   strings.Builder
}

// listen opens a stream as the person, which ends with the test.
func listen(t testing.TB, h *testkit.House, p *testkit.Person) *ear {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, h.Base+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", p.Cookie())
	transport := &http.Transport{Proxy: nil}
	stream, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("open the stream of events: %v %v", stream, err)
	}
	e := &ear{t: t, text: map[string]string{}, at: map[string][]time.Time{}}
	var reading sync.WaitGroup
	reading.Go(func() { e.read(bufio.NewScanner(stream.Body)) })
	t.Cleanup(func() {
		cancel()
		stream.Body.Close()
		reading.Wait()
		transport.CloseIdleConnections()
	})
	return e
}

func (e *ear) read(lines *bufio.Scanner) {
	lines.Buffer(nil, 1<<20)
	name := ""
	for lines.Scan() {
		e.mu.Lock()
		e.all.WriteString(lines.Text() + "\n")
		e.mu.Unlock()
		if after, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = after
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			e.hear(name, data)
		}
	}
}

func (e *ear) hear(name, data string) {
	var said struct {
		Type   string `json:"type"`
		Kind   string `json:"kind"`
		TaskID string `json:"task_id"`
		Number int64  `json:"number"`
		Offset int    `json:"offset"`
		Text   string `json:"text"`
	}
	if err := json.Unmarshal([]byte(data), &said); err != nil {
		e.t.Errorf("the stream says %s: %v", data, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case name == "round.text":
		key := fmt.Sprintf("%s %d", said.TaskID, said.Number)
		before := []rune(e.text[key])
		if said.Offset > len(before) {
			e.t.Errorf("a piece of %s begins at %d, after %d characters", key, said.Offset, len(before))
			return
		}
		e.text[key] = string(before[:said.Offset]) + said.Text
		e.at[key] = append(e.at[key], time.Now())
	case name == "event" && said.Kind == "session":
		e.types = append(e.types, said.Type)
	}
}

// said is what a round has said so far, and when its pieces came.
func (e *ear) said(task string, number int) (string, []time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprintf("%s %d", task, number)
	return e.text[key], e.at[key]
}

// untilSaid waits until the round has said so much.
func (e *ear) untilSaid(task string, number int, text string) {
	e.t.Helper()
	for since := time.Now(); ; wait(10 * time.Millisecond) {
		got, _ := e.said(task, number)
		if got == text {
			return
		}
		if time.Since(since) > overAfter {
			e.t.Fatalf("after %v round %d of %s was heard to say %q, want %q", overAfter, number, task, got, text)
		}
	}
}

// untilTold waits for an event about a session.
func (e *ear) untilTold(kind string) {
	e.t.Helper()
	for since := time.Now(); ; wait(10 * time.Millisecond) {
		e.mu.Lock()
		all := strings.Join(e.types, " ")
		e.mu.Unlock()
		if strings.Contains(all+" ", kind+" ") {
			return
		}
		if time.Since(since) > overAfter {
			e.t.Fatalf("after %v there is no %s among the events %s", overAfter, kind, all)
		}
	}
}

// everything is the stream as it came.
func (e *ear) everything() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.String()
}

// A model that says a word every few milliseconds: people see it speak, and the
// stream is not a message for each word.
func TestWhatAnAgentSaysIsHeardAtMostTenTimesASecond(t *testing.T) {
	const words, pace = 240, 5 * time.Millisecond
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range words {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"é%d \"}}]}\n\n", i)
			w.(http.Flusher).Flush()
			wait(pace)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer slow.Close()
	host := strings.TrimPrefix(slow.URL, "http://")
	storagetest.EachOptions(t, func(t *testing.T, o storage.Options) {
		s := openStudio(t, o, func(c *config.Config) { c.ProviderHosts = append(c.ProviderHosts, host) })
		s.provider("slow", testkit.Object{"kind": "openai", "base_url": slow.URL + "/v1", "model": "slow-1"})
		session := s.session("agent", nil, worker("speaker", "slow"))
		e := listen(t, s.House, s.Owner)
		id := s.queue(s.Owner, session, "Speak.", 1)
		k := s.ended(session, id)
		k.wants(t, "succeeded", "")
		e.untilTold("task.ended")
		text, at := e.said(id, 1)
		if !strings.HasPrefix(k.Result, text) || len(text) < len(k.Result)/2 {
			t.Errorf("heard %q, want most of %q", text, k.Result)
		}
		took := at[len(at)-1].Sub(at[0])
		if n := len(at); n < 4 || float64(n-1) > took.Seconds()*10+1 {
			t.Errorf("%d pieces in %v, want at most ten a second, and some", n, took)
		}
	})
}
