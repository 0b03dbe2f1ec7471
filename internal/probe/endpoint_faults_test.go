package probe

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// transportFaults are of the endpoint itself.
var transportFaults = []fault{
	{"none, closed", func(*stand) {}, nil},
	{"none, public list", func(s *stand) { s.public = true }, nil},
	{"none, only of 2025", func(s *stand) { s.public, s.versions = true, nil }, nil},
	{"open, without OAuth", func(s *stand) {
		s.open, s.resourceAt, s.serverAt = true, nil, nil
		s.tools = []object{without(tool("look", true), "securitySchemes")}
	}, nil},
	{"open beside OAuth", func(s *stand) {
		s.open, s.resourceAt = true, nil
		s.tools = []object{without(tool("look", true), "securitySchemes")}
	}, []string{"open-beside-oauth"}},
	{"a tool runs without its token", func(s *stand) { s.open = true }, []string{"call-without-token"}},
	{"redirects with 301", moved(301), []string{"redirect"}},
	{"redirects with 302", moved(302), []string{"redirect"}},
	{"redirects with 308", moved(308), []string{"redirect-kept"}},
	{"redirects to itself", func(s *stand) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, s.base+"/mcp", 307)
			return true
		}
	}, []string{"redirect-kept"}},
	{"redirects to another host", func(s *stand) {
		at("/mcp", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://other.example/mcp", 307) })(s)
	}, []string{"redirect-kept"}},
	{"redirects the form with a slash", at("/mcp/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/mcp", 301) }), []string{"slash-redirect"}},
	{"redirects the form with a slash by 308", at("/mcp/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/mcp", 308) }), nil},
	{"a page at the endpoint", at("/mcp", func(w http.ResponseWriter, _ *http.Request) { htmlPage(w, 200) }), []string{"html-answer", "get-no-stream", "preflight-refused", "origin-unchecked", "host-unchecked"}},
	{"a page that is not found", at("/mcp", func(w http.ResponseWriter, _ *http.Request) { htmlPage(w, 404) }), []string{"html-answer", "preflight-refused"}},
	{"garbage", onMethod("initialize", func(w http.ResponseWriter, _ object) { fmt.Fprint(w, "\x00\xff{]") }), []string{"not-json"}},
	{"two values", onMethod("initialize", func(w http.ResponseWriter, in object) {
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%v,"result":{}}{}`, in["id"])
	}), []string{"not-json"}},
	{"JSON, but not RPC", onMethod("initialize", func(w http.ResponseWriter, _ object) { answerJSON(w, 200, object{"ok": true}) }), []string{"not-jsonrpc"}},
	{"the answer to another request", onMethod("initialize", func(w http.ResponseWriter, _ object) {
		answerJSON(w, 200, object{"jsonrpc": "2.0", "id": 999, "result": object{}})
	}), []string{"not-jsonrpc"}},
	{"initialize is an error", onMethod("initialize", func(w http.ResponseWriter, in object) {
		answerJSON(w, 200, object{"jsonrpc": "2.0", "id": in["id"], "error": object{"code": -32603, "message": "no"}})
	}), []string{"initialize-failed"}},
	{"initialize is not found", func(s *stand) {
		onMethod("initialize", func(w http.ResponseWriter, _ object) { answerJSON(w, 404, object{}) })(s)
		s.versions = nil
	}, []string{"initialize-failed"}},
	{"only of 2026", onMethod("initialize", func(w http.ResponseWriter, _ object) { answerJSON(w, 404, object{}) }), []string{"initialize-missing"}},
	{"initialize lacks serverInfo", func(s *stand) {
		s.public = true
		delete(s.initialize, "serverInfo")
	}, []string{"initialize-incomplete"}},
	{"initialize agrees on a version of nobody", func(s *stand) {
		s.public = true
		s.initialize["protocolVersion"] = "2099-01-01"
	}, []string{"initialize-incomplete"}},
	{"discover is accepted", onMethod("server/discover", func(w http.ResponseWriter, _ object) { w.WriteHeader(202) }), []string{"discover-hangs"}},
	{"discover without versions", func(s *stand) { s.public, s.versions = true, []string{} }, []string{"discover-incomplete"}},
	{"discover fails", onMethod("server/discover", func(w http.ResponseWriter, _ object) { w.WriteHeader(500) }), nil},
	{"discover drops the connection", onMethod("server/discover", func(http.ResponseWriter, object) { panic(http.ErrAbortHandler) }), nil},
	{"drops every connection", at("/mcp", abort), []string{"broken-answer"}},
	{"breaks off", onMethod("tools/list", func(w http.ResponseWriter, _ object) {
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"jsonrpc"`)
	}), []string{"broken-answer"}},
	{"huge", onMethod("tools/list", func(w http.ResponseWriter, _ object) {
		for range maxSurveyed>>10 + 2 {
			fmt.Fprint(w, strings.Repeat(" ", 1<<10))
		}
	}), []string{"huge-answer"}},
	{"fails at times", func(s *stand) {
		asked := 0
		onMethod("tools/list", func(w http.ResponseWriter, in object) {
			if asked++; asked%2 == 0 {
				w.WriteHeader(404)
				return
			}
			s.answer(w, "tools/list", in)
		})(s)
	}, []string{"unsteady"}},
	{"fails", onMethod("tools/list", func(w http.ResponseWriter, _ object) { w.WriteHeader(500) }), []string{"server-error", "list-failed"}},
	{"limits", at("/.well-known/openid-configuration/mcp", status(429)), []string{"rate-limited", "twin-missing"}},
	{"refuses Accept of JSON alone", refusing("application/json"), []string{"accept-refused"}},
	{"refuses no Accept", refusing(""), []string{"accept-refused"}},
	{"takes any Origin", func(s *stand) {
		s.public = true
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPost {
				r.Header.Del("Origin")
			}
			return false
		}
	}, []string{"origin-unchecked"}},
	{"takes any Host", func(s *stand) {
		s.public = true
		s.before = func(_ http.ResponseWriter, r *http.Request) bool {
			r.Host = ""
			return false
		}
	}, []string{"host-unchecked"}},
	{"keeps sessions", func(s *stand) {
		s.public = true
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Mcp-Session-Id", "s1")
			return false
		}
	}, []string{"sessions"}},
	{"a page by GET", func(s *stand) {
		s.public = true
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			get := r.Method == http.MethodGet && r.URL.Path == "/mcp"
			if get {
				htmlPage(w, 200)
			}
			return get
		}
	}, []string{"get-no-stream"}},
	{"an event stream by GET", func(s *stand) {
		s.public = true
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			get := r.Method == http.MethodGet && r.URL.Path == "/mcp"
			if get {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(200)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
			return get
		}
	}, nil},
	{"405 by HEAD", byMethod(http.MethodHead, 405), []string{"head-no-challenge"}},
	{"405 by GET", byMethod(http.MethodGet, 405), []string{"get-no-challenge"}},
	{"401 by OPTIONS", byMethod(http.MethodOptions, 401), []string{"preflight-refused"}},
}

func moved(status int) func(s *stand) {
	return func(s *stand) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/mcp" {
				http.Redirect(w, r, "/v2/mcp", status)
				return true
			}
			r.URL.Path = strings.Replace(r.URL.Path, "/v2/mcp", "/mcp", 1)
			return false
		}
		s.resource["resource"] = s.base + "/v2/mcp"
	}
}

func byMethod(method string, status int) func(s *stand) {
	return func(s *stand) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			hit := r.Method == method && r.URL.Path == "/mcp"
			if hit {
				w.WriteHeader(status)
			}
			return hit
		}
	}
}

func refusing(accept string) func(s *stand) {
	return func(s *stand) {
		s.before = func(w http.ResponseWriter, r *http.Request) bool {
			hit := r.Method == http.MethodPost && r.URL.Path == "/mcp" && r.Header.Get("Accept") == accept
			if hit {
				w.WriteHeader(http.StatusNotAcceptable)
			}
			return hit
		}
	}
}

// catalogueFaults are of the list of tools.
var catalogueFaults = []fault{
	{"none, in two pages of events", func(s *stand) {
		onMethod("tools/list", func(w http.ResponseWriter, in object) {
			w.Header().Set("Content-Type", "text/event-stream")
			next, name := `,"nextCursor":"2"`, "first"
			if params, _ := in["params"].(object); params["cursor"] == "2" {
				next, name = "", "second"
			}
			fmt.Fprintf(w, ": hello\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n"+
				"data: {\"jsonrpc\":\"2.0\",\"id\":%v,\ndata: \"result\":{\"tools\":[{\"name\":%q,\"inputSchema\":{\"type\":\"object\"},"+
				"\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}}]%s}}\n\n", in["id"], name, next)
		})(s)
	}, nil},
	{"events without the answer", onMethod("tools/list", func(w http.ResponseWriter, _ object) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {}\n\n")
	}), []string{"broken-answer"}},
	{"no list", onMethod("tools/list", func(w http.ResponseWriter, in object) {
		answerJSON(w, 200, object{"jsonrpc": "2.0", "id": in["id"], "result": object{}})
	}), []string{"list-failed"}},
	{"pages without end", onMethod("tools/list", func(w http.ResponseWriter, in object) {
		answerJSON(w, 200, object{"jsonrpc": "2.0", "id": in["id"], "result": object{"tools": []object{}, "nextCursor": "again"}})
	}), []string{"list-endless", "no-tools"}},
	{"no tools", listing(), []string{"no-tools"}},
	{"twice", listing(tool("a", true), tool("a", true)), []string{"tool-twice"}},
	{"no name", listing(without(tool("a", true), "name")), []string{"tool-schema"}},
	{"no schema", listing(without(tool("a", true), "inputSchema")), []string{"tool-schema"}},
	{"schema of an array", listing(with(tool("a", true), "inputSchema", object{"type": "array"})), []string{"tool-schema"}},
	{"null schema", listing(with(tool("a", true), "inputSchema", nil)), []string{"tool-schema"}},
	{"no hints", listing(without(tool("a", true), "annotations")), []string{"tool-hints"}},
	{"a tool is a string", onMethod("tools/list", func(w http.ResponseWriter, in object) {
		answerJSON(w, 200, object{"jsonrpc": "2.0", "id": in["id"], "result": object{"tools": []string{"a"}}})
	}), []string{"tool-schema", "tool-hints"}},
}

func listing(tools ...object) func(s *stand) {
	return func(s *stand) {
		s.public, s.tools = true, tools
		if tools == nil {
			s.tools = []object{}
		}
	}
}

func TestSilenceIsBoundedAndFound(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for r.Context().Err() == nil {
			fmt.Fprint(w, " ")
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(time.Millisecond):
			}
		}
	}
	for _, f := range []fault{
		{"everywhere", at("/mcp", hang), []string{"discover-hangs", "no-answer"}},
		{"in metadata", at(named, hang), []string{"no-answer"}},
		{"in the middle of metadata", at(named, endless), []string{"endless-answer"}},
		{"at discover", func(s *stand) {
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				hit := r.Header.Get("Mcp-Method") == "server/discover"
				if hit {
					hang(w, r)
				}
				return hit
			}
		}, []string{"discover-hangs"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			f.put(s)
			wantFindings(t, s.base+"/mcp", SurveyOptions{Repeat: 1, Timeout: 500 * time.Millisecond}, f.finds)
		})
	}
}

func TestAServerThatIsNotThereIsAFinding(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + l.Addr().String() + "/mcp"
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r := wantFindings(t, closed, SurveyOptions{}, []string{"unreachable"})
	if len(r.Rows) != 1 || r.Rows[0].Status != 0 || len(r.Rows[0].Latencies) != 0 {
		t.Errorf("rows of a server that is not there: %+v", r.Rows)
	}
	wantFindings(t, "http://nobody.invalid/mcp", SurveyOptions{}, []string{"unreachable", "plain-http"})
}
