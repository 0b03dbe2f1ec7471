package workspace

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// headingOf is one heading of a Markdown text, ATX or setext (CommonMark §4.2,
// §4.3). Headings inside quotes and lists are part of these, not of the text's
// outline, and what looks like one in code is none.
type headingOf struct {
	text  string // as written, without marks
	level int    // 1 to 6
	start int    // byte offset of its line
}

// blocks reads the block structure of CommonMark only: inline marks cannot make
// or unmake a heading. It knows no link reference definitions, whose reading
// takes time in the square of their number.
var blocks = parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))

func headingsOf(markdown string) []headingOf {
	source, lines := shortened(markdown)
	var found []headingOf
	for n := blocks.Parse(text.NewReader(source)).FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Pos() < 0 {
			continue
		}
		line, _ := slices.BinarySearchFunc(lines, h.Pos()+1, func(l lineStart, pos int) int { return l.short - pos })
		found = append(found, headingOf{headingText(h, source), h.Level, lines[line-1].full})
	}
	return found
}

// lineStart is where one line begins, in the shortened text and in the full one.
type lineStart struct{ short, full int }

// keptOfLine is how many bytes at each end of a line say what kind of line it
// is, and hold any heading that can be asked for. More would let one line nest
// quotes and lists without bound, which take time in the square of their depth.
const keptOfLine = 1024

// shortened is the text with the middle of very long lines left out.
func shortened(markdown string) (source []byte, lines []lineStart) {
	source = make([]byte, 0, len(markdown))
	full := 0
	for line := range strings.Lines(markdown) {
		lines = append(lines, lineStart{len(source), full})
		full += len(line)
		if len(line) > 2*keptOfLine {
			source = append(source, strings.ToValidUTF8(line[:keptOfLine], "")...)
			line = strings.ToValidUTF8(line[len(line)-keptOfLine:], "")
		}
		source = append(source, line...)
	}
	return source, lines
}

// headingText is the heading as written; a setext heading may have several lines.
func headingText(h *ast.Heading, source []byte) string {
	var words []string
	for i := range h.Lines().Len() {
		line := h.Lines().At(i)
		words = append(words, strings.TrimSpace(string(line.Value(source))))
	}
	return strings.Join(words, " ")
}

// span is a part of a text in byte offsets.
type span struct{ start, end int }

// sectionOf finds the section of the heading with this text: from its line up to
// the next heading of the same or a higher level. The text must match exactly,
// or else be the only one that differs in case alone. A heading that is missing
// or stands more than once is refused with pointer /heading and the headings
// there are.
func sectionOf(markdown, heading string) (span, error) {
	all := headingsOf(markdown)
	at := matching(all, func(text string) bool { return text == heading })
	if len(at) == 0 {
		at = matching(all, func(text string) bool { return strings.EqualFold(text, heading) })
	}
	switch len(at) {
	case 0:
		return span{}, refuseHeading(all, faultf("/heading", "is not a heading of this tab"))
	case 1:
		return span{all[at[0]].start, endOfSection(all, at[0], len(markdown))}, nil
	}
	return span{}, refuseHeading(all, faultf("/heading", "stands %d times in this tab, so it names no section", len(at)))
}

func matching(all []headingOf, is func(text string) bool) (at []int) {
	for i, h := range all {
		if is(h.text) {
			at = append(at, i)
		}
	}
	return at
}

func endOfSection(all []headingOf, i, end int) int {
	for _, next := range all[i+1:] {
		if next.level <= all[i].level {
			return next.start
		}
	}
	return end
}

// refuseHeading tells which headings there are, but not without bound.
func refuseHeading(all []headingOf, fault Fault) error {
	const most, mostChars = 50, 200
	headings := []string{}
	for _, h := range all[:min(len(all), most)] {
		shown, _ := cutChars(h.text, 0, mostChars)
		headings = append(headings, strings.Repeat("#", h.level)+" "+shown)
	}
	e := refuseFaults(fault).With("headings", headings)
	if len(all) > most {
		e.With("more_headings", len(all)-most)
	}
	return e
}

// appended is markdown with more at its end, on a line of its own.
func appended(markdown, more string) string {
	if more == "" || markdown == "" || strings.HasSuffix(markdown, "\n") {
		return markdown + more
	}
	return markdown + lineEndOf(markdown) + more
}

// appendedTo is markdown with more at the end of the section, before the blank
// lines that part it from what follows. What follows at once is parted from it
// by a blank line, or it could run together with the addition.
func appendedTo(markdown, more string, section span) string {
	if more == "" {
		return markdown
	}
	body, gap := splitBlankLines(markdown[section.start:section.end])
	text := appended(markdown[:section.start]+body, more)
	after := gap + markdown[section.end:]
	if after != "" && !strings.HasSuffix(text, "\n") {
		text += lineEndOf(markdown)
	}
	if after != "" && gap == "" {
		text += lineEndOf(markdown)
	}
	return text + after
}

// lineEndOf is how the lines of the text end, judged by the first.
func lineEndOf(markdown string) string {
	if i := strings.IndexByte(markdown, '\n'); i > 0 && markdown[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// splitBlankLines parts the blank lines at the end from what is before them.
func splitBlankLines(text string) (body, blank string) {
	end := len(strings.TrimRight(text, " \t\r\n"))
	if i := strings.IndexByte(text[end:], '\n'); i >= 0 {
		end += i + 1
	} else {
		end = len(text)
	}
	return text[:end], text[end:]
}

// cutChars is the part of text of at most most Unicode code points that begins
// after offset of them; next is the offset behind it, in code points.
func cutChars(text string, offset, most int64) (part string, next int64) {
	start := byteOf(text, offset)
	size := byteOf(text[start:], most)
	part = text[start : start+size]
	return part, offset + charsIn(part)
}

// byteOf is the byte offset of a code point, len(text) behind the last.
func byteOf(text string, char int64) int {
	if char >= int64(len(text)) {
		return len(text)
	}
	var n int64
	for i := range text {
		if n == char {
			return i
		}
		n++
	}
	return len(text)
}
