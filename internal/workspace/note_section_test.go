package workspace

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/osfoundry/osfoundry/internal/access"
)

func TestSectionsBeginAndEndAtHeadings(t *testing.T) {
	for _, c := range []struct{ name, text, heading, want string }{
		{"up to the next of the level", "# A\na\n# B\nb\n", "A", "# A\na\n"},
		{"up to the end", "# A\na\n# B\nb", "B", "# B\nb"},
		{"with the lower ones", "# A\na\n## B\nb\n# C\n", "A", "# A\na\n## B\nb\n"},
		{"up to a higher one", "## B\nb\n# C\n", "B", "## B\nb\n"},
		{"setext", "A\n===\na\n\nB\n---\nb\n\nC\n===\n", "A", "A\n===\na\n\nB\n---\nb\n\n"},
		{"setext of two lines", "one\ntwo\n===\na\n", "one two", "one\ntwo\n===\na\n"},
		{"setext ends atx", "## A\na\n\nB\n---\n", "A", "## A\na\n\n"},
		{"closing marks", "# A ##\na\n", "A", "# A ##\na\n"},
		{"indented by three", "   # A\na\n", "A", "   # A\na\n"},
		{"marks inside", "# *A* `b` [c](d)\n", "*A* `b` [c](d)", "# *A* `b` [c](d)\n"},
		{"CRLF", "# A\r\na\r\n# B\r\n", "A", "# A\r\na\r\n"},
		{"emoji", "😀\n\n# 😀 A\na\n", "😀 A", "# 😀 A\na\n"},
		{"not in a fence", "```\n# A\n```\n# A\na\n", "A", "# A\na\n"},
		{"a fence does not end it", "# A\n```\n# B\n```\na\n# C\n", "A", "# A\n```\n# B\n```\na\n"},
		{"a tilde fence", "~~~md\n# A\n```\n~~~\n# A\n", "A", "# A\n"},
		{"a fence that stays open", "# A\n```\n# B\n", "A", "# A\n```\n# B\n"},
		{"not in indented code", "    # A\n\n# A\na\n", "A", "# A\na\n"},
		{"not in a quote or list", "> # A\n\n- # A\n\n# A\na\n", "A", "# A\na\n"},
		{"not in HTML", "<pre>\n# A\n</pre>\n\n# A\n", "A", "# A\n"},
		{"not in a comment", "<!--\n# A\n\n# A\n-->\n\n# A\na\n", "A", "# A\na\n"},
		{"no space, no heading", "#A\n# A\n", "A", "# A\n"},
		{"seven marks are none", "####### A\n\n# A\n", "A", "# A\n"},
		{"case as written first", "# plan\n1\n# Plan\n2\n", "Plan", "# Plan\n2\n"},
		{"case ignored if alone", "# Übung\na\n", "übung", "# Übung\na\n"},
		{"an empty heading has a section too", "# A\na\n#\nb\n", "A", "# A\na\n"},
	} {
		part, err := sectionOf(c.text, c.heading)
		if err != nil {
			t.Errorf("%s: %q in %q: %v", c.name, c.heading, c.text, err)
			continue
		}
		if got := c.text[part.start:part.end]; got != c.want {
			t.Errorf("%s: %q in %q: got %q, want %q", c.name, c.heading, c.text, got, c.want)
		}
	}
}

func TestHeadingsThatNameNoSectionAreRefused(t *testing.T) {
	for _, c := range []struct{ text, heading, want string }{
		{"# A\n", "B", "is not a heading"},
		{"# A\n", "# A", "is not a heading"},
		{"", "A", "is not a heading"},
		{"A\n", "A", "is not a heading"},
		{"# A\n## A\n# A\n", "A", "stands 3 times"},
		{"# a\n# A\n", "ä", "is not a heading"},
		{"# plan\n# PLAN\n", "Plan", "stands 2 times"},
	} {
		_, err := sectionOf(c.text, c.heading)
		if access.CodeOf(err) != access.InvalidArguments || !strings.Contains(err.Error(), "/heading: "+c.want) {
			t.Errorf("%q in %q: got %v, want %q", c.heading, c.text, err, c.want)
		}
	}
}

func TestTheListOfHeadingsIsBounded(t *testing.T) {
	_, err := sectionOf(strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 1000), "A")
	e, ok := err.(*access.Error)
	if !ok {
		t.Fatalf("got %v", err)
	}
	list := e.Details["headings"].([]string)
	if len(list) != 50 || len(list[0]) != 202 || e.Details["more_headings"] != 950 {
		t.Errorf("%d headings, the first of %d bytes, more: %v", len(list), len(list[0]), e.Details["more_headings"])
	}
}

func TestAdditionsStandOnLinesOfTheirOwn(t *testing.T) {
	for _, c := range []struct{ text, more, heading, want string }{
		{"", "x", "", "x"},
		{"a", "x", "", "a\nx"},
		{"a\n", "x", "", "a\nx"},
		{"a\n\n", "x\n", "", "a\n\nx\n"},
		{"a\r\nb", "x", "", "a\r\nb\r\nx"},
		{"a", "", "", "a"},
		{"a", "\nx", "", "a\n\nx"},
		{"# A\na\n\n# B\n", "x", "A", "# A\na\nx\n\n# B\n"},
		{"# A\na\n\n# B\n", "x\n", "A", "# A\na\nx\n\n# B\n"},
		{"# A\na\n# B\n", "x", "A", "# A\na\nx\n\n# B\n"},
		{"# A\nB\n===\n", "x", "B", "# A\nB\n===\nx"},
		{"# A\n\nB\n===\n", "x", "A", "# A\nx\n\nB\n===\n"},
		{"# A\na", "x", "A", "# A\na\nx"},
		{"# A", "x", "A", "# A\nx"},
		{"# A\na\n \n\n", "x", "A", "# A\na\nx\n \n\n"},
		{"# A\r\na\r\n\r\n# B", "x", "A", "# A\r\na\r\nx\r\n\r\n# B"},
		{"# A\na\n# B\n", "", "A", "# A\na\n# B\n"},
		{"# A\n## B\nb\n# C\n", "x", "A", "# A\n## B\nb\nx\n\n# C\n"},
	} {
		got := appended(c.text, c.more)
		if c.heading != "" {
			section, err := sectionOf(c.text, c.heading)
			if err != nil {
				t.Errorf("%q: %v", c.text, err)
				continue
			}
			got = appendedTo(c.text, c.more, section)
		}
		if got != c.want {
			t.Errorf("%q and %q under %q: got %q, want %q", c.text, c.more, c.heading, got, c.want)
		}
	}
}

// linesOf makes texts of lines that matter to Markdown's block structure.
func linesOf(t *rapid.T, name string) string {
	line := rapid.SampledFrom([]string{"# A", "## B", "A", "===", "---", "text 😀", "- item", "> quote", "", "  ", "    code", "\t"})
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, name+" line end")
	text := strings.Join(rapid.SliceOfN(line, 0, 12).Draw(t, name), end)
	if rapid.Bool().Draw(t, name+" ends") {
		text += end
	}
	return text
}

func TestAnAdditionLeavesAllOtherSectionsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "# First\n" + linesOf(t, "first") + "\n\n# Mine\n" + linesOf(t, "mine") + "\n\n# Last\n" + linesOf(t, "last")
		mine, err := sectionOf(text, "Mine")
		if err != nil { // a line made the heading part of something else
			return
		}
		got := appendedTo(text, "added", mine)
		if !strings.HasPrefix(got, text[:mine.start]) || !strings.HasSuffix(got, text[mine.end:]) {
			t.Fatalf("%q became %q: something else changed", text, got)
		}
		if again := strings.Replace(got, "added", "", 1); strings.TrimSpace(stripBlank(again)) != strings.TrimSpace(stripBlank(text)) {
			t.Fatalf("%q became %q: words were lost", text, got)
		}
		grown, err := sectionOf(got, "Mine")
		if err != nil || !strings.Contains(got[grown.start:grown.end], "added") {
			t.Fatalf("%q became %q: the addition is not in the section (%v)", text, got, err)
		}
	})
}

func stripBlank(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestPartsCoverTheTextExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		most := rapid.Int64Range(1, 7).Draw(t, "most")
		total := charsIn(text)
		got, offset := "", int64(0)
		for {
			part := partOf(text, total, offset, most)
			if charsIn(part.Text) > most || part.Offset != offset {
				t.Fatalf("part %+v at %d of at most %d", part, offset, most)
			}
			got += part.Text
			if part.Next == 0 {
				break
			}
			if part.Next <= offset {
				t.Fatalf("part at %d goes on at %d", offset, part.Next)
			}
			offset = part.Next
		}
		if got != text {
			t.Fatalf("parts make %q, want %q", got, text)
		}
	})
}

func TestEditsReplaceTheOnePassageOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("ab😀\n")), 0, 12, -1)
		text := letters.Draw(t, "text")
		find := rapid.StringOfN(rapid.SampledFrom([]rune("ab😀\n")), 1, 3, -1).Draw(t, "find")
		replace := letters.Draw(t, "replace")
		places := 0
		for i := range text {
			if strings.HasPrefix(text[i:], find) {
				places++
			}
		}
		got, err := TextEdit{find, replace}.apply(text, 0)
		if places != 1 {
			e, _ := err.(*access.Error)
			if e == nil || e.Code != access.InvalidArguments || e.Details["matches"] != places {
				t.Fatalf("%q stands %d times in %q: got %q, %v", find, places, text, got, err)
			}
			return
		}
		before, after, _ := strings.Cut(text, find)
		if err != nil || got != before+replace+after {
			t.Fatalf("%q for %q in %q: got %q, %v", replace, find, text, got, err)
		}
	})
}

// Reading headings must not be a way to keep the server busy.
func TestHeadingsOfHostileTextsAreFoundInTime(t *testing.T) {
	const size = MaxTabBytes / 4
	deeper := ""
	for n := 1; len(deeper) < size; n = n%500 + 1 {
		deeper += strings.Repeat("> ", n) + "a\n"
	}
	texts := map[string]string{"deeper quotes": deeper[:size]}
	for _, piece := range []string{
		">", "> > >\n", "- ", "* \n", "1. ", "1. \n", "- a\n\n", "- a\n  - b\n    - c\n", "[", "[a]: b\n", "```\n", "~~~\n\n", " ", "\n", "a\n",
		"<a", "<a\n", "<!--\n", "<pre>\n", "# ", "#\n", "# a\n", "a\n=\n", "a\n-\n", "\t- ", "\t- \n", "- > ", "- > \n", "***\n", "| a |\n", "\\", "\r",
	} {
		texts[fmt.Sprintf("%q", piece)] = strings.Repeat(piece, size/len(piece))
	}
	for name, text := range texts {
		begun := time.Now()
		headingsOf(text)
		if took := time.Since(begun); took > 30*time.Second { // 0.2 s on an idle machine; a reader whose time grows with the square took minutes
			t.Errorf("%s: %v for the headings of 256 KiB", name, took)
		}
	}
}

func TestHeadingsBehindLongLinesAreFound(t *testing.T) {
	long := strings.Repeat("é", 3000)
	for name, text := range map[string]string{
		"text":    long + "\n\n",
		"comment": "<!-- " + long + " -->\n\n",
		"code":    "<pre>" + long + "</pre>\n\n",
		"heading": "# " + long + "\n",
		"nested":  strings.Repeat("1. ", 3000) + "\n\n",
	} {
		part, err := sectionOf(text+"# A\na\n", "A")
		if want := (span{len(text), len(text) + 6}); err != nil || part != want {
			t.Errorf("behind a long %s: %v, %v; want %v", name, part, err, want)
		}
	}
}
