package workspace

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// DisplayName is how a name that somebody chose is kept: in Unicode form NFC,
// without white space around it. The fault, "" if there is none, says what is
// wrong with a name of no or more than most characters, or with one that could
// look like another or run over its place: control characters, line breaks, and
// what is invisible or changes the direction of text (Unicode category Cf).
func DisplayName(name string, most int) (clean, fault string) {
	if !utf8.ValidString(name) {
		return "", "must be valid UTF-8"
	}
	clean = strings.TrimSpace(norm.NFC.String(name))
	if strings.ContainsFunc(clean, unseen) {
		return "", "must not contain control, invisible or direction-changing characters"
	}
	if !strings.ContainsFunc(clean, unicode.IsGraphic) || strings.TrimFunc(clean, blank) == "" {
		return "", "must not be empty"
	}
	if utf8.RuneCountInString(clean) > most {
		return "", fmt.Sprintf("must have at most %d characters", most)
	}
	return clean, ""
}

func unseen(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// blank characters are letters or symbols to Unicode, and nothing to the eye.
func blank(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.Mn, r) ||
		r == 0x115F || r == 0x1160 || r == 0x2800 || r == 0x3164 || r == 0xFFA0
}
