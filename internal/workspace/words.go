package workspace

import (
	"iter"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// SearchTerm is words that must follow each other.
type SearchTerm struct {
	Words  []string // in the spelling of Words, at least one
	Prefix bool     // the last word may go on
}

// ParseSearch reads what somebody typed. Everything is words: no character and
// no word of it is an operator. It is empty if there is no letter or digit.
func ParseSearch(query string) []SearchTerm {
	var terms []SearchTerm
	for typed := range strings.FieldsSeq(query) {
		terms = append(terms, termsOf(typed)...)
	}
	return terms
}

// termsOf reads one typed word. "note_tabs" is two words in a row; a run of a
// script without spaces is pairs of characters that all must be there.
func termsOf(typed string) []SearchTerm {
	var row SearchTerm
	var terms []SearchTerm
	for run := range runs(typed) {
		for part := range parts(run) {
			if isSpaceless(part) {
				terms = append(terms, spacelessTerms(part)...)
				continue
			}
			row.Words = append(row.Words, part)
		}
	}
	if len(row.Words) == 0 {
		return terms
	}
	row.Prefix = utf8.RuneCountInString(row.Words[len(row.Words)-1]) > 1
	return append(terms, row)
}

func spacelessTerms(run string) []SearchTerm {
	chars := []rune(run)
	if len(chars) == 1 { // each pair that begins so, and the last character of a run
		return []SearchTerm{{Words: []string{run}, Prefix: true}}
	}
	terms := make([]SearchTerm, 0, len(chars)-1)
	for i := range len(chars) - 1 {
		terms = append(terms, SearchTerm{Words: []string{string(chars[i : i+2])}})
	}
	return terms
}

// Words lists the words of a text in the one spelling that the index and the
// queries share, so that both databases find the same: folded in case and
// compatibility (Unicode UAX #15, NFKC), Latin, Greek and Cyrillic letters without
// their accents. Scripts without spaces between words give each pair of
// neighbouring characters, and the last one alone.
func Words(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range words(text) {
			if !yield(word) {
				return
			}
		}
	}
}

// words is Words with the place in text where each word's run begins.
func words(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for run, at := range runs(text) {
			for part := range parts(run) {
				if !yieldPart(part, at, yield) {
					return
				}
			}
		}
	}
}

func yieldPart(part string, at int, yield func(string, int) bool) bool {
	if !isSpaceless(part) {
		return yield(part, at)
	}
	for len(part) > 0 {
		_, first := utf8.DecodeRuneInString(part)
		_, second := utf8.DecodeRuneInString(part[first:])
		if !yield(part[:first+second], at) {
			return false
		}
		part = part[first:]
		at += first // exact for text that folding leaves alone
	}
	return true
}

// runs cuts text into unbroken runs of letters, digits and marks.
func runs(text string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		begin := -1
		for i, r := range text {
			switch {
			case inWord(r):
				if begin < 0 {
					begin = i
				}
				continue
			case begin < 0:
				continue
			}
			if !yield(text[begin:i], begin) {
				return
			}
			begin = -1
		}
		if begin >= 0 {
			yield(text[begin:], begin)
		}
	}
}

// maxWord is where a word is cut, in bytes of its folded spelling; longer ones
// are encoded data.
const maxWord = 128

// parts folds a run and cuts it where scripts with and without spaces meet.
func parts(run string) iter.Seq[string] {
	return func(yield func(string) bool) {
		folded := fold(run)
		for folded != "" {
			r, _ := utf8.DecodeRuneInString(folded)
			kind := kindOf(r)
			end := strings.IndexFunc(folded, func(r rune) bool { return kindOf(r) != kind })
			if end < 0 {
				end = len(folded)
			}
			if kind != notInWord && !yield(cutWord(folded[:end], kind)) {
				return
			}
			folded = folded[end:]
		}
	}
}

func cutWord(word string, kind wordKind) string {
	if kind == spaceless || len(word) <= maxWord {
		return word
	}
	end := maxWord
	for !utf8.RuneStart(word[end]) {
		end--
	}
	return word[:end]
}

// fold is the shared spelling of a run.
func fold(run string) string {
	if isASCII(run) {
		return strings.ToLower(run)
	}
	decomposed := norm.NFKD.String(cases.Fold().String(norm.NFKD.String(run)))
	bare := strings.Map(func(r rune) rune {
		if r >= 0x300 && r <= 0x36F { // Combining Diacritical Marks: accents; Indic signs are elsewhere
			return -1
		}
		return unicode.ToLower(r) // folding gives capitals of scripts that got their small letters late
	}, decomposed)
	return norm.NFKC.String(bare)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// wordKind is how a character stands to words.
type wordKind uint8

const (
	notInWord wordKind = iota
	spaced             // of a script that puts spaces between words
	spaceless
)

func kindOf(r rune) wordKind {
	switch {
	case !inWord(r):
		return notInWord
	case r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return spaceless
	}
	return spaced
}

func isSpaceless(part string) bool {
	r, _ := utf8.DecodeRuneInString(part)
	return kindOf(r) == spaceless
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return r != utf8.RuneError && unicode.In(r, unicode.L, unicode.N, unicode.M)
}

var (
	links = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	marks = regexp.MustCompile("(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+(?:\\[[ xX]\\][ \t]+)?|\\d{1,9}[.)][ \t]+|```.*$|[-*_=]{3,}[ \t]*$)|[*`]+|~~|__")
)

// plain is Markdown without its marks, on one line. It is for showing, where a
// mark too many or too few does no harm.
func plain(markdown string) string {
	text := links.ReplaceAllString(markdown, "$1")
	text = marks.ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
