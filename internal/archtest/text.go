package archtest

import (
	"fmt"
	"regexp"
	"strings"
)

// unwanted is what no tracked text may contain.
var unwanted = []struct {
	pattern *regexp.Regexp
	what    string
}{
	{regexp.MustCompile(`(?:^|[^\w./~-])/(?:work|farm|root|home/\w+|Users/\w+)(?:/|["'` + "`" + `\s:,)]|$)`), "a path of one machine"},
	{regexp.MustCompile(`(?:^|[^\w.-])/tmp/\w`), "a fixed temporary path"},
	{regexp.MustCompile(`(?i)(?:registry|goproxy|index-url)["']?\s*[:=]\s*["']?https?://`), "a package registry; that is the builder's own choice"},
	{regexp.MustCompile(`"resolved":\s*"https?://`), "a package registry; npm config set omit-lockfile-registry-resolved true"},
	{regexp.MustCompile(`\b(?:TO` + `DO|FIX` + `ME|XX` + `X)\b`), "a mark of unfinished work"},
	{regexp.MustCompile(`(?m)^(?:<{7}|>{7}) `), "a merge conflict"},
}

// Texts finds what belongs to one machine or is left over, in any file.
func Texts(t *Tree) []string {
	var found []string
	for _, name := range t.paths() {
		number := 0
		for line := range strings.Lines(string(t.Files[name])) {
			number++
			for _, u := range unwanted {
				if u.pattern.MatchString(line) {
					found = append(found, fmt.Sprintf("%s:%d: %s: %s", name, number, u.what, strings.TrimSpace(line)))
				}
			}
		}
	}
	return found
}
