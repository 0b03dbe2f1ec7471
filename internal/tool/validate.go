package tool

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/osfoundry/osfoundry/internal/access"
)

// A problem is one reason why arguments do not fit a tool's schema.
type problem struct {
	Pointer string `json:"pointer"` // RFC 6901, into the arguments
	Keyword string `json:"keyword"` // of JSON Schema, such as maxLength
	Message string `json:"message"`
}

// maxProblems bounds an answer about arguments; the rest is left out.
const maxProblems = 20

// refuseArguments words problems as the refusal a caller gets.
func refuseArguments(found []problem) *access.Error {
	first := found[0]
	at := first.Pointer
	if at == "" {
		at = "arguments"
	}
	return access.Refuse(access.InvalidArguments, "%s: %s.", at, first.Message).With("errors", found)
}

// maxWhole is the greatest integer on which all readers agree (RFC 8259 §6).
const maxWhole = 1<<53 - 1

// validate checks a decoded value against the part of JSON Schema that
// argumentsOf produces. The schema library judges the same but stops at the
// first failure and names the place in the schema, where a caller needs the
// place in its arguments, and all of them at once.
func validate(s *jsonschema.Schema, v any) []problem {
	w := walker{}
	w.value(s, v, "")
	return w.found
}

type walker struct{ found []problem }

func (w *walker) fail(at, keyword, format string, args ...any) {
	if len(w.found) < maxProblems {
		w.found = append(w.found, problem{at, keyword, fmt.Sprintf(format, args...)})
	}
}

func (w *walker) value(s *jsonschema.Schema, v any, at string) {
	switch s.Type {
	case "object":
		w.object(s, v, at)
	case "array":
		w.array(s, v, at)
	case "string":
		w.text(s, v, at)
	case "integer":
		w.integer(s, v, at)
	case "boolean":
		if _, ok := v.(bool); !ok {
			w.fail(at, "type", "must be true or false")
		}
	default:
		w.fail(at, "type", "has no known type")
	}
}

func (w *walker) object(s *jsonschema.Schema, v any, at string) {
	m, ok := v.(map[string]any)
	if !ok {
		w.fail(at, "type", "must be an object")
		return
	}
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			w.fail(at+"/"+name, "required", "is required")
		}
	}
	if len(m) > len(s.Properties) || !knows(s, m) {
		w.unknown(s, m, at)
	}
	for _, name := range s.PropertyOrder {
		if member, ok := m[name]; ok {
			w.value(s.Properties[name], member, at+"/"+name)
		}
	}
}

func knows(s *jsonschema.Schema, m map[string]any) bool {
	for name := range m {
		if s.Properties[name] == nil {
			return false
		}
	}
	return true
}

func (w *walker) unknown(s *jsonschema.Schema, m map[string]any, at string) {
	var names []string
	for name := range m {
		if s.Properties[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names) // so that the same arguments get the same answer
	for _, name := range names {
		w.fail(at+"/"+escapePointer(shorten(name)), "additionalProperties", "is not an argument of this tool")
	}
}

func (w *walker) array(s *jsonschema.Schema, v any, at string) {
	list, ok := v.([]any)
	switch {
	case !ok:
		w.fail(at, "type", "must be a list")
		return
	case s.MinItems != nil && len(list) < *s.MinItems:
		w.fail(at, "minItems", "needs at least %d", *s.MinItems)
	case s.MaxItems != nil && len(list) > *s.MaxItems:
		w.fail(at, "maxItems", "takes at most %d, got %d", *s.MaxItems, len(list))
		return
	}
	for i, member := range list {
		w.value(s.Items, member, at+"/"+strconv.Itoa(i))
	}
}

func (w *walker) text(s *jsonschema.Schema, v any, at string) {
	text, ok := v.(string)
	if !ok {
		w.fail(at, "type", "must be text")
		return
	}
	if s.MinLength != nil || s.MaxLength != nil {
		w.length(s, utf8.RuneCountInString(text), at)
	}
	if s.Enum != nil && !slices.Contains(s.Enum, any(text)) {
		w.fail(at, "enum", "must be one of %s", enumWords(s.Enum))
	}
	if s.Format == "date-time" { // the schema library ignores format
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			w.fail(at, "format", "must be a date and time as in RFC 3339, such as 2026-01-31T09:30:00Z")
		}
	}
}

func (w *walker) length(s *jsonschema.Schema, n int, at string) {
	if s.MinLength != nil && n < *s.MinLength {
		w.fail(at, "minLength", "needs at least %d characters, got %d", *s.MinLength, n)
	}
	if s.MaxLength != nil && n > *s.MaxLength {
		w.fail(at, "maxLength", "takes at most %d characters, got %d", *s.MaxLength, n)
	}
}

func (w *walker) integer(s *jsonschema.Schema, v any, at string) {
	n, ok := v.(float64)
	switch {
	case !ok || n != math.Trunc(n) || math.Abs(n) > maxWhole:
		w.fail(at, "type", "must be a whole number")
	case s.Minimum != nil && n < *s.Minimum:
		w.fail(at, "minimum", "must be at least %v", *s.Minimum)
	case s.Maximum != nil && n > *s.Maximum:
		w.fail(at, "maximum", "must be at most %v", *s.Maximum)
	}
}

func enumWords(enum []any) string {
	words := make([]string, len(enum))
	for i, one := range enum {
		words[i] = fmt.Sprint(one)
	}
	return strings.Join(words, ", ")
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// escapePointer is RFC 6901 §3.
func escapePointer(s string) string { return pointerEscapes.Replace(s) }

// shorten keeps a caller's own word from filling an answer.
func shorten(s string) string {
	const most = 64
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
