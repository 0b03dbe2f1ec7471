package probe

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// chaos answers each request with something that a server might send, right or
// wrong, and mostly wrong. The same request gets the same answer.
type chaos struct{ number uint64 }

var chaoticBodies = []string{
	``, `null`, `[]`, `{}`, `{"jsonrpc":"2.0","id":%d,"result":null}`, `{"jsonrpc":"2.0","id":%d,"result":{}}`, `{"jsonrpc":"2.0","id":%d,"result":[]}`,
	`{"jsonrpc":"2.0","id":%d,"error":null}`, `{"jsonrpc":"2.0","id":%d,"error":{"code":1.5,"message":null}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`,
	`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"n","version":"v"}}}`,
	`{"jsonrpc":"2.0","id":%d,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`,
	`{"jsonrpc":"2.0","id":%d,"result":{"tools":[null,1,"a",{},{"name":"t","inputSchema":{"type":"object","required":1},"annotations":{"readOnlyHint":true}}]}}`,
	`{"jsonrpc":"2.0","id":%d,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"securitySchemes":[{"type":"oauth2","scopes":["a"]}],"annotations":{"readOnlyHint":true}}]}}`,
	`{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":"yes"}}`,
	`{"resource":"HERE/mcp","authorization_servers":["HERE"],"scopes_supported":null}`, `{"resource":1,"authorization_servers":"HERE"}`, `{"resource":"::","authorization_servers":["::"]}`,
	`{"issuer":"HERE","authorization_endpoint":"HERE/a","token_endpoint":"HERE/t","registration_endpoint":"HERE/r","code_challenge_methods_supported":["S256"]}`,
	`{"issuer":null,"token_endpoint":{}}`, `{"client_id":"c","redirect_uris":null}`, `{"client_id":1}`, `{"error":{"a":1}}`, `{"a":1,"a":2}`,
	`<!DOCTYPE html><html>`, "\xff\xfe\x00", `{"a":"` + "\xff" + `"}`, "data: {\"id\":%d}\n\n", "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[]}}\n\n", ": only a comment\n\n",
	strings.Repeat("[", 20000), `{"nextCursor":1}`,
}

func (c chaos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request := r.Method + r.URL.Path + r.Header.Get("Mcp-Method") + fmt.Sprint(r.ContentLength)
	hash := fnv.New64a()
	hash.Write([]byte(request))
	random := rand.New(rand.NewPCG(c.number, hash.Sum64()))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	here := "http://" + r.Host
	w.Header().Set("Content-Type", pick("application/json", "application/json", "text/event-stream", "text/html", "", ";;;", "application/json; charset=\xff"))
	if random.IntN(3) == 0 {
		w.Header().Set("WWW-Authenticate", pick("Bearer", `Bearer resource_metadata="`+here+`/prm"`, `Bearer resource_metadata="://"`, `Bearer resource_metadata=`, `"`, "Basic", `Bearer scope="`))
	}
	if random.IntN(6) == 0 {
		w.Header().Set("Location", pick("/mcp", here+"/other", "://", "javascript:alert(1)", "", "https://attacker.invalid/"))
		w.Header().Set("Mcp-Session-Id", pick("s", "\x7f"))
	}
	body := strings.ReplaceAll(chaoticBodies[random.IntN(len(chaoticBodies))], "HERE", here)
	if strings.Contains(body, "%d") {
		body = fmt.Sprintf(body, random.IntN(9))
	}
	status := []int{200, 200, 200, 201, 202, 204, 301, 307, 308, 400, 401, 401, 403, 404, 429, 500, 599}[random.IntN(17)]
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		fmt.Fprint(w, body)
	}
}

func TestWhateverAServerSendsTheSurveyEndsWithAReport(t *testing.T) {
	for number := range uint64(300) {
		server := httptest.NewServer(chaos{number})
		server.Config.ErrorLog = quiet()
		report, err := Survey(t.Context(), server.URL+"/mcp", SurveyOptions{Repeat: 1, Register: true, Timeout: 5 * time.Second, Only: []string{"t"}})
		server.Close()
		if err != nil || len(report.Rows) == 0 || report.Access == "" {
			t.Fatalf("server %d: got %+v, %v", number, report, err)
		}
		if len(report.Findings) == 0 && report.Access == Unknown {
			t.Errorf("server %d lets nobody in, and nothing is found: %+v", number, report.Rows)
		}
	}
}
