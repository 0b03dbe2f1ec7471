package mcp

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/tool"
)

// nobody is a client that throws the answer away.
type nobody struct{ header http.Header }

func (n nobody) Header() http.Header         { return n.header }
func (n nobody) Write(p []byte) (int, error) { return len(p), nil }
func (n nobody) WriteHeader(int)             {}

// fast is a gate that costs nothing, so that the endpoint is what is measured.
type fast struct {
	*gate
	list, result []byte
}

func (f fast) List(access.Scopes) []byte { return f.list }

func (f fast) Call(context.Context, tool.Call) ([]byte, error) { return f.result, nil }

func BenchmarkEndpoint(b *testing.B) {
	s := newStage(b)
	token := s.token(access.ScopeRead)
	g := fast{
		gate:   s.gate,
		list:   []byte("[" + strings.Repeat(`{"name":"read_note","description":"`+strings.Repeat("words ", 150)+`"},`, 58) + "{}]"),
		result: []byte(`{"tab_id":"01990000-0000-7000-8000-000000000001","markdown":"` + strings.Repeat(`A \"line\" of text.\n`, 50) + `"}`),
	}
	h, err := New(Config{Site: site(b), Path: "/mcp", Version: "1", Log: quiet}, g)
	if err != nil {
		b.Fatal(err)
	}
	for _, method := range []string{"tools/list", "tools/call"} {
		for _, version := range []string{"2025-11-25", stateless} {
			b.Run(method+"/"+version, func(b *testing.B) {
				r := rpc(version, "/mcp", token, method, `{"name":"read_note","arguments":{"tab_id":"01990000-0000-7000-8000-000000000001"}}`)
				text, err := io.ReadAll(r.Body)
				if err != nil {
					b.Fatal(err)
				}
				body := bytes.NewReader(text)
				r.Body = io.NopCloser(body)
				check := httptest.NewRecorder()
				if h.ServeHTTP(check, r); check.Code != 200 {
					b.Fatalf("%d %s", check.Code, check.Body)
				}
				b.SetBytes(int64(check.Body.Len()))
				b.ReportAllocs()
				w := nobody{http.Header{}}
				for b.Loop() {
					body.Reset(text)
					clear(w.header)
					h.ServeHTTP(w, r)
				}
			})
		}
	}
}
