package terminal

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// Colour is one of the eight that every terminal has, by the number that sets it
// (ECMA-48 §8.3.117).
type Colour int

// The colours in use.
const (
	Red    Colour = 31
	Green  Colour = 32
	Yellow Colour = 33
	Cyan   Colour = 36
	Dim    Colour = 2 // faint
	Bold   Colour = 1
)

// Style says whether to colour. The zero value does not.
type Style struct{ Colours bool }

// StyleFor colours what goes to a terminal, unless that is dumb, the person set
// NO_COLOR (no-color.org), or refused.
func StyleFor(w io.Writer, refused bool) Style {
	return Style{!refused && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Paint colours the text. Pad it before: colours have no width, but bytes.
func (s Style) Paint(c Colour, text string) string {
	if !s.Colours || text == "" {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}

// Progress shows on one line of a terminal how far a long work has come, from one
// second after its start. Elsewhere it shows nothing. It belongs to one goroutine.
type Progress struct {
	w       io.Writer
	started time.Time
	shown   bool
}

// NewProgress starts the work's clock.
func NewProgress(w io.Writer) *Progress {
	if !isTerminal(w) {
		w = nil
	}
	return &Progress{w: w, started: time.Now()}
}

// Show says what is done of all, and what is next.
func (p *Progress) Show(done, all int, next string) {
	if p.w == nil || time.Since(p.started) < time.Second {
		return
	}
	p.shown = true
	fmt.Fprintf(p.w, "\r\x1b[K%s", Fit(fmt.Sprintf("%d of %d: %s", done, all, Plain(next)), Columns-1))
}

// Clear takes the line away, before anything else is written.
func (p *Progress) Clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
	p.shown = false
}
