package mcp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/guard"
)

// bearer adds a token to each request, as a signed-in host does.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// TestOfficialGoClient lets the official SDK's client judge the endpoint, in
// both eras: it speaks the newest version that server/discover names, and falls
// back to initialize where a gateway hides that.
func TestOfficialGoClient(t *testing.T) {
	for name, hideDiscover := range map[string]bool{stateless: false, "2025-11-25": true} {
		t.Run(name, func(t *testing.T) {
			s := &stage{gate: &gate{tokens: map[access.TokenHash]access.Scopes{}}}
			var endpoint http.Handler
			seen := map[string]bool{}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen[r.Header.Get("Mcp-Protocol-Version")] = true
				if hideDiscover && r.Header.Get("Mcp-Method") == "server/discover" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				endpoint.ServeHTTP(w, r)
			}))
			defer server.Close()
			where, err := guard.NewSite(guard.SiteConfig{PublicURLs: []string{server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			if endpoint, err = New(Config{Site: where, Path: "/mcp", Version: "1.2.3", Log: quiet}, s.gate); err != nil {
				t.Fatal(err)
			}

			ctx := context.Background()
			client := mcp.NewClient(&mcp.Implementation{Name: "judge", Version: "1"}, nil)
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
				Endpoint:   server.URL + "/mcp",
				HTTPClient: &http.Client{Transport: bearer(s.token(access.ScopeRead))},
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			list, err := session.ListTools(ctx, nil)
			if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "read_note" {
				t.Fatalf("ListTools = %+v, %v, want read_note", list, err)
			}
			result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_note", Arguments: map[string]any{"id": "n1"}})
			if err != nil || result.IsError || result.StructuredContent.(map[string]any)["echo"].(map[string]any)["id"] != "n1" {
				t.Errorf("CallTool = %+v, %v, want the echo", result, err)
			}
			result, err = session.CallTool(ctx, &mcp.CallToolParams{Name: "denied"})
			if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, "version_conflict") {
				t.Errorf("CallTool of what is refused = %+v, %v, want isError with the code", result, err)
			}
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "no_such_tool"}); err == nil || !strings.Contains(err.Error(), "no_such_tool") {
				t.Errorf("CallTool of no tool = %v, want an error that names it", err)
			}
			if err := session.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			if !seen[name] {
				t.Errorf("the client spoke %v, want %s among them", seen, name)
			}
		})
	}
}
