package e2e

import (
	"slices"
	"testing"

	"github.com/osfoundry/osfoundry/internal/probe"
	"github.com/osfoundry/osfoundry/internal/testkit"
)

// TestAHostFindsNothingWrongBeforeSignIn surveys both mounts as osfoundry probe
// does, with a slash at the end and without.
func TestAHostFindsNothingWrongBeforeSignIn(t *testing.T) {
	testkit.Each(t, func(t *testing.T, h *testkit.House) {
		for mount, access := range map[string]probe.Access{
			"/mcp": probe.Closed, "/mcp/": probe.Closed,
			"/api/v1/external-mcp": probe.Listed, "/api/v1/external-mcp/": probe.Listed,
		} {
			report, err := probe.Survey(t.Context(), h.Base+mount, probe.SurveyOptions{Repeat: 2, Register: true})
			if err != nil {
				t.Fatalf("%s: %v", mount, err)
			}
			for _, f := range report.Findings {
				t.Errorf("%s: %s %s: %s", mount, f.Severity, f.ID, f.Detail)
			}
			if report.Access != access {
				t.Errorf("%s: access is %s, want %s", mount, report.Access, access)
			}
			if (report.Catalogue != nil) != (access == probe.Listed) {
				t.Errorf("%s: the catalogue is %+v without a token", mount, report.Catalogue)
			}
			if !slices.ContainsFunc(report.Rows, func(r probe.Row) bool { return r.Asked == "register" && r.Status == 201 }) {
				t.Errorf("%s: no client was registered: %+v", mount, report.Rows)
			}
		}
	})
}
