package e2e

import (
	"testing"
	"time"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

func TestAReadIsAUseOfItsConnectionAndARefusedCallIsNone(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		session, connection := h.Owner.Connect(probe.Version20251125)
		lastUsed := func() (at time.Time) {
			t.Helper()
			h.Owner.Must("GET", "/workspaces/"+h.Workspace+"/audit", nil, nil) // lets waiting entries be written
			var c struct {
				LastUsed *time.Time `json:"last_used_at"`
			}
			h.Owner.Must("GET", "/connections/"+connection, nil, &c)
			if c.LastUsed == nil {
				t.Fatal("the connection was used and does not say when")
			}
			return *c.LastUsed
		}
		first := lastUsed()
		h.Pass(10 * time.Minute)
		testkit.Call(t, session, "list_granted_resources", testkit.Object{})
		second := lastUsed()
		if got := second.Sub(first); got < 9*time.Minute {
			t.Errorf("a read 10 minutes later moved the last use by %v, want 10m", got)
		}
		h.Pass(10 * time.Minute)
		if r := testkit.Call(t, session, "read_note", testkit.Object{"note_id": absentID}); r.Code != "not_found" {
			t.Fatalf("got %s, want not_found", r.Code)
		}
		if third := lastUsed(); !third.Equal(second) {
			t.Errorf("a refused call moved the last use from %v to %v", second, third)
		}
	})
}
