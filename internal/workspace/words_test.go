package workspace

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWordsHaveOneSpelling(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                  {},
		" \n\t—…!? ":                        {},
		"Hello, World":                      {"hello", "world"},
		"note_tabs foo-bar a/b.go":          {"note", "tabs", "foo", "bar", "a", "b", "go"},
		"Café CAFE\u0301 café":              {"cafe", "cafe", "cafe"},
		"Straße STRASSE":                    {"strasse", "strasse"},
		"Ångström Ελλάδα ЁЛКА":              {"angstrom", "ελλαδα", "елка"},
		"ﬁne Ｗｉｄｅ ２０２６":                     {"fine", "wide", "2026"},
		"½ day":                             {"1", "2", "day"},
		"हिन्दी में":                        {"हिन्दी", "में"},
		"회의 기록":                             {"회의", "기록"},
		"會議記錄":                              {"會議", "議記", "記錄", "錄"},
		"第3版 v2":                            {"第", "3", "版", "v2"},
		"東京tower":                           {"東京", "京", "tower"},
		"AND OR NOT NEAR(x) \"y\" z* -q +r": {"and", "or", "not", "near", "x", "y", "z", "q", "r"},
		"a\x00b \xff c":                     {"a", "b", "c"},
	} {
		got := slices.AppendSeq([]string{}, Words(text))
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Both databases quote words, and PostgreSQL's text form of them as well, which is
// safe because a word holds nothing that means something in quotes.
func TestWordsHoldLettersDigitsAndMarksOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		for word, at := range words(text) {
			if word == "" || !utf8.ValidString(word) || strings.ContainsFunc(word, func(r rune) bool { return !inWord(r) }) {
				t.Fatalf("got the word %q", word)
			}
			if at < 0 || at >= len(text) {
				t.Fatalf("the word %q begins at %d of %d", word, at, len(text))
			}
			if len(word) > maxWord {
				t.Fatalf("the word %q is too long", word)
			}
		}
	})
}

func TestFoldingTwiceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		for word := range Words(text) {
			if again := slices.Collect(Words(word)); !isSpaceless(word) && !slices.Equal(again, []string{word}) {
				t.Fatalf("%q: %q became %q", text, word, again)
			}
		}
	})
}

func TestParseSearchTakesEverythingAsWords(t *testing.T) {
	term := func(prefix bool, words ...string) SearchTerm { return SearchTerm{words, prefix} }
	for query, want := range map[string][]SearchTerm{
		"":                  nil,
		"*":                 nil,
		`"'();--`:           nil,
		"Roadmap":           {term(true, "roadmap")},
		"a b":               {term(false, "a"), term(false, "b")},
		"foo OR bar*":       {term(true, "foo"), term(true, "or"), term(true, "bar")},
		"note_tabs":         {term(true, "note", "tabs")},
		`title:x^2 NEAR/3`:  {term(false, "title", "x", "2"), term(false, "near", "3")},
		"會議記":               {term(false, "會議"), term(false, "議記")},
		"議":                 {term(true, "議")},
		"v2東京":              {term(false, "東京"), term(true, "v2")},
		"') | 'x' & !'y:* ": {term(false, "x"), term(false, "y")},
	} {
		got := ParseSearch(query)
		equal := slices.EqualFunc(got, want, func(a, b SearchTerm) bool { return a.Prefix == b.Prefix && slices.Equal(a.Words, b.Words) })
		if !equal {
			t.Errorf("%q: got %v, want %v", query, got, want)
		}
	}
}

func TestSnippetsArePlainAndShort(t *testing.T) {
	long := strings.Repeat("filler word ", 200)
	for name, c := range map[string]struct{ markdown, query, want string }{
		"marks":                        {"# Plan\n\n* **bold** `code`\n1. [docs](https://a.example/x) ![pic](y.png)\n> quote", "plan", "Plan bold code docs pic quote"},
		"empty":                        {"", "x", ""},
		"control":                      {"a\x1b[31mred\tb", "red", "a [31mred b"},
		"no match shows the beginning": {"first second", "absent", "first second"},
	} {
		if got := Snippet(c.markdown, ParseSearch(c.query)); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	got := Snippet(long+"the needle is here "+long, ParseSearch("needle"))
	if !strings.Contains(got, "the needle is here") || !strings.HasPrefix(got, "… ") || !strings.HasSuffix(got, " …") {
		t.Errorf("got %q, want the text around the match", got)
	}
	if got := Snippet(strings.Repeat("字", 5000)+"會議"+strings.Repeat("字", 5000), ParseSearch("會議")); !strings.Contains(got, "會議") {
		t.Errorf("got %q, want it to show the match", got)
	}
}

func TestSnippetsAreNeverLongerThanTheirLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		markdown := strings.Repeat(rapid.StringN(1, 60, -1).Draw(t, "part"), rapid.IntRange(1, 40).Draw(t, "times"))
		got := Snippet(markdown, ParseSearch(rapid.String().Draw(t, "query")))
		if n := utf8.RuneCountInString(got); n > SnippetChars || strings.ContainsAny(got, "\n\r\t\x00") {
			t.Fatalf("got %d characters: %q", n, got)
		}
	})
}
