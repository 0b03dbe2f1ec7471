package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// rooms is the floor plan: each directory that holds Go code, and the rooms of
// ours that its code may import. A directory that is not here is a finding, and
// so is a row without a directory.
var rooms = map[string][]string{
	"internal/access":    nil,
	"internal/guard":     nil,
	"internal/config":    nil,
	"internal/archtest":  nil,
	"internal/workspace": {"internal/access"},
	"internal/tool":      {"internal/workspace", "internal/access", "internal/guard"},
	"internal/oauth":     {"internal/workspace", "internal/access", "internal/guard"},
	"internal/api":       {"internal/workspace", "internal/access", "internal/guard"},
	"internal/mcp":       {"internal/tool", "internal/access", "internal/guard"},
	"internal/web":       {"internal/api", "internal/oauth", "internal/workspace", "internal/access", "internal/guard"},

	"internal/agent": {"internal/tool", "internal/workspace", "internal/access"},
	"internal/queue": {"internal/workspace", "internal/access"},

	"internal/agent/provider/answer":    {"internal/agent"},
	"internal/agent/provider/exchange":  {"internal/agent", "internal/agent/provider/answer", "internal/guard"},
	"internal/agent/provider/openai":    {"internal/agent", "internal/agent/provider/answer", "internal/agent/provider/exchange"},
	"internal/agent/provider/anthropic": {"internal/agent", "internal/agent/provider/answer", "internal/agent/provider/exchange"},
	"internal/agent/provider/command":   {"internal/agent", "internal/agent/provider/answer"},
	"internal/agent/provider/rehearsal": {"internal/agent"},
	"internal/agent/provider/providertest": {"internal/agent", "internal/agent/provider/answer", "internal/agent/provider/exchange",
		"internal/guard"},

	"internal/storage":             {"internal/storage/gen", "internal/workspace", "internal/oauth", "internal/access", "internal/guard"},
	"internal/storage/gen":         nil,
	"internal/storage/storagetest": {"internal/storage"},

	"internal/terminal": nil,
	"internal/chart":    {"internal/terminal"},
	"internal/probe":    {"internal/guard", "internal/chart"},
	"internal/rehearse": {"internal/guard"},
	"internal/demo":     {"internal/probe"},
	"internal/app": {"internal/config", "internal/web", "internal/api", "internal/mcp", "internal/tool", "internal/oauth",
		"internal/agent", "internal/agent/provider/exchange", "internal/agent/provider/openai", "internal/agent/provider/anthropic",
		"internal/agent/provider/command", "internal/agent/provider/rehearsal",
		"internal/queue", "internal/storage", "internal/workspace", "internal/access", "internal/guard"},
	"internal/testkit": {"internal/app", "internal/config", "internal/probe", "internal/storage", "internal/storage/storagetest",
		"internal/workspace", "internal/access", "internal/guard"},
	"cmd/osfoundry": {"internal/app", "internal/config", "internal/demo", "internal/probe", "internal/rehearse", "internal/storage", "internal/chart", "internal/terminal"},
}

// inTests is what the tests of every room may import besides its own row.
var inTests = []string{"internal/storage", "internal/storage/storagetest", "internal/testkit",
	"internal/agent/provider/providertest"}

// onlyInTests are packages that no program may contain.
var onlyInTests = []string{
	Module + "/internal/storage/storagetest",
	Module + "/internal/testkit",
	Module + "/internal/agent/provider/providertest",
	"github.com/modelcontextprotocol/go-sdk", // it judges the endpoint, so the endpoint is not made of it
	"testing",
}

// testSupport are the rooms that exist for tests, although their files are not
// named so.
var testSupport = []string{"internal/storage/storagetest", "internal/testkit", "internal/agent/provider/providertest"}

// reserved says which rooms alone may import a package of others, and why.
var reserved = []struct {
	packages []string
	rooms    []string
	why      string
}{
	{[]string{"database/sql", "modernc.org/sqlite", "github.com/jackc/pgx/v5", "github.com/pressly/goose/v3"},
		[]string{"internal/storage", "internal/storage/gen", "internal/storage/storagetest", "internal/queue", "internal/testkit"},
		"SQL is storage's; a room that needs data declares an interface"},
	{[]string{"github.com/alecthomas/kong"},
		[]string{"internal/config", "cmd/osfoundry"},
		"the command line is read in one place"},
	{[]string{"html/template"},
		[]string{"internal/web"},
		"pages are web's"},
}

// wireless rooms know nothing of HTTP.
var wireless = []string{"internal/access", "internal/workspace", "internal/storage", "internal/storage/gen"}

// Arrows finds imports that the floor plan does not draw.
func Arrows(t *Tree) []string {
	var found []string
	seen := map[string]bool{}
	for _, f := range t.Go {
		seen[f.Dir] = true
		allowed, known := rooms[f.Dir]
		if !known && !wholeHouse(f.Dir) {
			found = append(found, fmt.Sprintf("%s: the directory %s is not on the floor plan", f.Path, f.Dir))
			continue
		}
		for _, imported := range f.imports() {
			if why := judge(f, allowed, imported); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", f.Path, imported, why))
			}
		}
	}
	for room := range rooms {
		if !seen[room] {
			found = append(found, fmt.Sprintf("%s is on the floor plan, but holds no Go code", room))
		}
	}
	slices.Sort(found)
	return found
}

// wholeHouse reports whether dir looks at everything from outside: tests of the
// built house and its benchmarks.
func wholeHouse(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return top == "e2e" || top == "bench"
}

// judge says why f must not import the package, "" if it may.
func judge(f GoFile, allowed []string, imported string) string {
	test := f.Test || slices.Contains(testSupport, f.Dir)
	if !test && under(imported, onlyInTests) {
		return "for tests only"
	}
	if wholeHouse(f.Dir) {
		return ""
	}
	if room, ours := strings.CutPrefix(imported, Module+"/"); ours {
		if slices.Contains(allowed, room) || room == f.Dir || f.Test && slices.Contains(inTests, room) {
			return ""
		}
		return "no such arrow on the floor plan"
	}
	if f.Test {
		return ""
	}
	for _, r := range reserved {
		if under(imported, r.packages) && !slices.Contains(r.rooms, f.Dir) {
			return r.why
		}
	}
	if imported == "net/http" && slices.Contains(wireless, f.Dir) {
		return "this room knows nothing of HTTP"
	}
	return ""
}

// under reports whether the import path is one of the packages or lies in one.
func under(imported string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		return imported == p || strings.HasPrefix(imported, p+"/")
	})
}
