package storage

import (
	"strconv"
	"strings"
)

// statement puts together SQL whose shape depends on the request, such as a list
// of any length. Values only ever enter as parameters: both databases read $1, $2 …
// when they stand in this order.
type statement struct {
	text strings.Builder
	args []any
}

// add appends SQL in which each ? stands for the next value.
func (s *statement) add(sql string, values ...any) {
	for part := range strings.SplitAfterSeq(sql, "?") {
		before, found := strings.CutSuffix(part, "?")
		s.text.WriteString(before)
		if found {
			s.value(values[0])
			values = values[1:]
		}
	}
}

func (s *statement) value(v any) {
	s.args = append(s.args, v)
	s.text.WriteString("$" + strconv.Itoa(len(s.args)))
}

// list appends "(v1, v2, …)"; an empty list holds nothing.
func (s *statement) list(values []string) {
	if len(values) == 0 {
		s.text.WriteString("(NULL)")
		return
	}
	s.text.WriteString("(")
	for i, v := range values {
		if i > 0 {
			s.text.WriteString(", ")
		}
		s.value(v)
	}
	s.text.WriteString(")")
}

func (s *statement) String() string { return s.text.String() }
