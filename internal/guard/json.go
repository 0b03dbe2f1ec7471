package guard

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of JSON bodies.
const (
	MaxDepth     = 64       // nested objects and arrays, the outermost included
	MaxBody      = 4 << 20  // bytes of a body, unless said otherwise
	MaxOAuthBody = 64 << 10 // bytes of a body at the OAuth endpoints

	// atOnce is how much memory a body gets because it says that it will be so
	// long; more only as it arrives.
	atOnce = 64 << 10
	// drained is how much of a refused body is read and thrown away, so that a
	// client that sends everything before it reads gets its answer.
	drained = 8 << 20
	// maxPointer bounds how much of a caller's own member names an error repeats.
	maxPointer = 200
)

// A BodyError says why a body was refused.
type BodyError struct {
	// Status is the HTTP status that fits: 400, 408, 413 or 415.
	Status int
	// Syntax is true when the text is not JSON that every reader would understand
	// alike, and false when it is but does not fit what was expected.
	Syntax bool
	// Pointer names the place (RFC 6901); "" is the body as a whole.
	Pointer string
	// Message is for the caller: a plain sentence without the pointer.
	Message string
}

func (e *BodyError) Error() string {
	if e.Pointer == "" {
		return e.Message
	}
	return e.Pointer + ": " + e.Message
}

// Option narrows what Decode accepts.
type Option uint8

// KnownMembers refuses members that the Go value has no field for. Without it
// they are skipped.
const KnownMembers Option = 1

var (
	open   = json.JoinOptions(json.DefaultOptionsV2(), json.MatchCaseInsensitiveNames(false))
	closed = json.JoinOptions(open, json.RejectUnknownMembers(true))
)

// Decode reads exactly one JSON value from data into the Go value that into
// points to. It accepts only what every reader understands in the same way
// (RFC 8259 §4, RFC 7493 §2): UTF-8 without lone surrogates, no member twice at
// any depth, names in their exact case, nothing behind the value, at most
// MaxDepth levels, no NUL in any string or name, and not null as a whole. Raw
// values inside into are held to the same rules.
//
// The error is a *BodyError. After one, into may be partly filled; drop it.
func Decode(data []byte, into any, options ...Option) error {
	if offset, fault := scan(data); fault != "" {
		return faultAt(data, offset, fault)
	}
	use := open
	for _, o := range options {
		if o == KnownMembers {
			use = closed
		}
	}
	err := json.Unmarshal(data, into, use)
	if err != nil {
		return explain(err)
	}
	// null would leave into as it is, which looks like an empty object.
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("null")) {
		return &BodyError{Status: http.StatusBadRequest, Message: "must not be null"}
	}
	return nil
}

// scan finds what the JSON library accepts and we do not: too much depth and
// escaped NUL. It trusts the library to refuse text that is not JSON at all, and
// passes over each byte at most twice.
func scan(data []byte) (offset int, fault string) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return i, fmt.Sprintf("is nested deeper than %d levels", MaxDepth)
			}
		case '}', ']':
			depth--
		case '"':
			end, nul := scanString(data, i+1)
			if nul {
				return i, "must not contain the NUL character"
			}
			i = end
		}
	}
	return 0, ""
}

// scanString returns the offset of the quote that ends the string whose text
// begins at i, and whether an escape in it stands for NUL.
func scanString(data []byte, i int) (end int, nul bool) {
	quote := bytes.IndexByte(data[i:], '"')
	if quote < 0 {
		return len(data), false
	}
	quote += i
	for {
		escape := bytes.IndexByte(data[i:quote], '\\')
		if escape < 0 {
			return quote, false
		}
		i += escape + 2
		if bytes.HasPrefix(data[i-1:], []byte("u0000")) {
			return quote, true
		}
		if i <= quote {
			continue
		}
		next := bytes.IndexByte(data[min(i, len(data)):], '"') // the quote was escaped
		if next < 0 {
			return len(data), false
		}
		quote = i + next
	}
}

// faultAt makes the error for a fault that scan found, and finds its pointer. A
// mistake in the syntax before it is reported instead.
func faultAt(data []byte, offset int, fault string) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for d.InputOffset() <= int64(offset) {
		if _, err := d.ReadToken(); err != nil {
			return explain(err)
		}
	}
	return &BodyError{Status: http.StatusBadRequest, Syntax: true, Pointer: shorten(d.StackPointer()), Message: fault}
}

// explain turns an error of the JSON library into one for the caller.
func explain(err error) error {
	if own, ok := errors.AsType[*BodyError](err); ok {
		if semantic, ok := errors.AsType[*json.SemanticError](err); ok && own.Pointer == "" {
			own.Pointer = shorten(semantic.JSONPointer)
		}
		return own
	}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e := &BodyError{Status: http.StatusBadRequest, Syntax: true, Pointer: shorten(syntax.JSONPointer)}
		switch {
		case errors.Is(err, jsontext.ErrDuplicateName):
			e.Message = "this member is there twice"
		case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
			e.Message = "the JSON ends too early"
		default:
			e.Message = fmt.Sprintf("is not valid JSON (byte %d)", syntax.ByteOffset)
		}
		return e
	}
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		return &BodyError{Status: http.StatusBadRequest, Pointer: shorten(semantic.JSONPointer), Message: expectation(semantic)}
	}
	return &BodyError{Status: http.StatusBadRequest, Syntax: true, Message: "the JSON ends too early"}
}

// expectation says in the words of JSON what a Go type would have taken.
func expectation(e *json.SemanticError) string {
	if errors.Is(e.Err, json.ErrUnknownName) {
		return "there is no such member"
	}
	want := "another value"
	if e.GoType != nil {
		want = nameOf(e.GoType)
	}
	got := map[jsontext.Kind]string{'n': "null", 't': "true", 'f': "false", '"': "a string", '0': "a number", '{': "an object", '[': "an array"}[e.JSONKind]
	if got == "" || got == want {
		return "must be " + want + " within its limits"
	}
	return "must be " + want + ", not " + got
}

var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()

func nameOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.PkgPath() == "time" && t.Name() == "Time" {
		return "a time such as 2026-01-31T12:00:00Z" // RFC 3339
	}
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	}
	return "another value"
}

// shorten keeps an error from repeating a name that fills a body.
func shorten(p jsontext.Pointer) string {
	s := strings.ToValidUTF8(string(p), "\uFFFD")
	if len(s) <= maxPointer {
		return s
	}
	return strings.ToValidUTF8(s[:maxPointer], "") + "…"
}

// ReadBody reads the body of r after checking that it says it is JSON (415) and
// is at most limit bytes long (413). The error is a *BodyError.
func ReadBody(r *http.Request, limit int64) ([]byte, error) {
	if !IsJSON(r.Header) {
		return nil, &BodyError{Status: http.StatusUnsupportedMediaType, Message: "Send the body as Content-Type: application/json, not compressed."}
	}
	tooLarge := &BodyError{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("The body is larger than %d bytes.", limit)}
	if r.ContentLength > limit {
		io.CopyN(io.Discard, r.Body, drained)
		return nil, tooLarge
	}
	var data []byte
	var err error
	if r.ContentLength > 0 && r.ContentLength <= atOnce {
		data = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, data)
	} else {
		data, err = io.ReadAll(io.LimitReader(r.Body, limit+1))
	}
	if err != nil {
		return nil, &BodyError{Status: http.StatusRequestTimeout, Message: "The body did not arrive in whole."}
	}
	if int64(len(data)) > limit {
		io.CopyN(io.Discard, r.Body, drained)
		return nil, tooLarge
	}
	return data, nil
}

// ReadJSON reads and decodes the body of r: ReadBody, then Decode. The error is
// a *BodyError.
func ReadJSON(r *http.Request, limit int64, into any, options ...Option) error {
	data, err := ReadBody(r, limit)
	if err != nil {
		return err
	}
	return Decode(data, into, options...)
}

// IsJSON reports whether the headers announce one uncompressed JSON body in
// UTF-8 (RFC 8259 §11 defines no parameters; charset=utf-8 is common and true).
func IsJSON(h http.Header) bool {
	if encoding := h["Content-Encoding"]; len(encoding) > 0 && !strings.EqualFold(strings.Join(encoding, ","), "identity") {
		return false
	}
	types := h["Content-Type"]
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	media, parameters, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return false
	}
	charset, ok := parameters["charset"]
	return !ok || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
}
