package agent

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// speech is what an agent says while it speaks: a provider adds to it, and what is
// new is taken from it to be shown. The zero value is ready.
type speech struct {
	mu    sync.Mutex
	all   strings.Builder
	shown int // bytes of all that were taken
}

// add appends text, as long as there is room for it in so many bytes, and reports
// whether there was.
func (s *speech) add(text string, room int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := room - s.all.Len()
	if len(text) <= left {
		s.all.WriteString(text)
		return true
	}
	s.all.WriteString(text[:max(0, left)])
	return false
}

// fresh takes what is new, up to its last whole character: providers cut their
// texts where their packets end.
func (s *speech) fresh() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := s.all.String()[s.shown:]
	text = text[:len(text)-cutCharacter(text)]
	s.shown += len(text)
	return text
}

// said is everything so far.
func (s *speech) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// cutCharacter is how many bytes at the end of text are the beginning of a
// character.
func cutCharacter(text string) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
