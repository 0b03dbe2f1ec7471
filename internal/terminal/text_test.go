package terminal_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/osfoundry/osfoundry/internal/terminal"
)

func TestPlainTextCannotSteerTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\r\n c":              "a b c",
		"\x1b[31mred\x1b]0;x\x07": "�[31mred�]0;x�",
		"left\u202eright":         "left�right",
		"bad \xff byte":           "bad � byte",
		"\u009b31m":               "�31m",
		"ordinary ü 漢":            "ordinary ü 漢",
	} {
		if got := terminal.Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextIsAsWideAsItLooks(t *testing.T) {
	for in, want := range map[string]int{"": 0, "abc": 3, "漢字": 4, "e\u0301": 1, "…": 1, "█": 1} {
		if got := terminal.Width(in); got != want {
			t.Errorf("Width(%q) = %d, want %d", in, got, want)
		}
	}
}

func TestNothingIsWiderThanItsColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := terminal.Plain(rapid.StringOf(rapid.SampledFrom([]rune("ab 漢字e\u0301…"))).Draw(t, "text"))
		columns := rapid.IntRange(2, 12).Draw(t, "columns")
		if got := terminal.Fit(s, columns); terminal.Width(got) > columns {
			t.Errorf("Fit(%q, %d) = %q", s, columns, got)
		}
		if got := terminal.Left(s, columns); terminal.Width(got) != columns {
			t.Errorf("Left(%q, %d) = %q", s, columns, got)
		}
		if got := terminal.Right(s, columns); terminal.Width(got) != columns {
			t.Errorf("Right(%q, %d) = %q", s, columns, got)
		}
		lines := terminal.Wrap(s, columns)
		for _, line := range lines {
			if terminal.Width(line) > columns {
				t.Errorf("Wrap(%q, %d) has the line %q", s, columns, line)
			}
		}
		if got, want := strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(s, " ", ""); got != want {
			t.Errorf("Wrap(%q, %d) holds %q", s, columns, got)
		}
	})
}

func TestOnlyATerminalGetsColourAndProgress(t *testing.T) {
	var b strings.Builder
	if style := terminal.StyleFor(&b, false); style.Colours || style.Paint(terminal.Red, "x") != "x" {
		t.Errorf("a buffer is coloured: %+v", style)
	}
	if got, want := (terminal.Style{Colours: true}).Paint(terminal.Red, "x"), "\x1b[31mx\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p := terminal.NewProgress(&b)
	p.Show(1, 2, "next")
	p.Clear()
	if b.Len() > 0 {
		t.Errorf("a buffer got progress: %q", b.String())
	}
}
