package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Columns is how wide every output is at most.
const Columns = 80

// Plain makes a stranger's text fit to be shown on one line: white space becomes
// one space, and what could move the cursor, change colours or reverse the
// direction of the text becomes "�" (Unicode categories Cc, Cf, Cs, Co).
func Plain(s string) string {
	var b strings.Builder
	for _, word := range strings.Fields(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		for _, r := range word {
			if !unicode.IsGraphic(r) {
				r = unicode.ReplacementChar
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Width is how many columns a plain text takes: two for each wide character of East
// Asia, none for a combining mark (UAX #11).
func Width(s string) (columns int) {
	for _, r := range s {
		columns += runeWidth(r)
	}
	return columns
}

func runeWidth(r rune) int {
	if unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Me, r) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Fit makes a plain text at most so wide; what is cut off becomes "…".
func Fit(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// Left is the plain text in exactly so many columns, at the left.
func Left(s string, columns int) string {
	s = Fit(s, columns)
	return s + strings.Repeat(" ", max(0, columns-Width(s)))
}

// Right is the plain text in exactly so many columns, at the right.
func Right(s string, columns int) string {
	s = Fit(s, columns)
	return strings.Repeat(" ", max(0, columns-Width(s))) + s
}

// Wrap breaks a plain text into lines of at most so many columns. A word that is
// longer than a line is broken.
func Wrap(s string, columns int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case Width(line)+1+Width(word) <= columns:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
		for Width(line) > columns {
			head := head(line, columns)
			lines, line = append(lines, head), line[len(head):]
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// head is the longest beginning that fits, and at least one character.
func head(s string, columns int) string {
	used := 0
	for i, r := range s {
		if used += runeWidth(r); used > columns && i > 0 {
			return s[:i]
		}
	}
	return s
}
