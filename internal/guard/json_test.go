package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestDecodeRefusesWhatReadersUnderstandDifferently(t *testing.T) {
	for _, c := range []struct {
		name, body, pointer string
		syntax              bool
	}{
		{"nothing", ``, "", true},
		{"blank", " \n", "", true},
		{"cut", `{"a":`, "/a", true},
		{"two values", `{} {}`, "", true},
		{"trailing comma", `{"a":1,}`, "", true},
		{"byte order mark", "\uFEFF{}", "", true},
		{"comment", `{/*x*/}`, "", true},
		{"same member twice", `{"a":1,"a":1}`, "/a", true},
		{"same member twice, one escaped", `{"a":1,"\u0061":1}`, "/a", true},
		{"same member twice, deep", `{"a":[{"b":{"c":1,"c":2}}]}`, "/a/0/b/c", true},
		{"raw NUL", "{\"a\":\"\x00\"}", "/a", true},
		{"escaped NUL", `{"a":["x","y\u0000"]}`, "/a/1", true},
		{"escaped NUL behind a backslash and a quote", `{"a":"\\\"\\\u0000"}`, "/a", true},
		{"NUL in a name", `{"a":{"b\u0000":1}}`, "/a/b\x00", true},
		{"not UTF-8", "{\"a\":\"\xff\"}", "/a", true},
		{"overlong UTF-8", "{\"a\":\"\xc0\x80\"}", "/a", true},
		{"surrogate as UTF-8", "{\"a\":\"\xed\xa0\x80\"}", "/a", true},
		{"lone high surrogate", `{"a":"\ud800"}`, "/a", true},
		{"lone low surrogate", `{"a":"\udc00x"}`, "/a", true},
		{"surrogates swapped", `{"a":"\udc00\ud800"}`, "/a", true},
		{"too deep", nested(65), strings.Repeat("/0", 64), true},
		{"too deep inside", `{"a":` + nested(64) + `}`, "/a" + strings.Repeat("/0", 63), true},
		{"null", ` null `, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, into := range []any{new(any), new(jsontext.Value), new(map[string]any), new(map[string]jsontext.Value)} {
				err := Decode([]byte(c.body), into)
				e, ok := errors.AsType[*BodyError](err)
				if !ok {
					t.Fatalf("Decode(%q) into %T = %v, want a BodyError", c.body, into, err)
				}
				if e.Status != http.StatusBadRequest || e.Message == "" {
					t.Errorf("Decode(%q) = status %d, message %q", c.body, e.Status, e.Message)
				}
				if _, anything := into.(*any); anything && (e.Syntax != c.syntax || e.Pointer != c.pointer) {
					t.Errorf("Decode(%q) = syntax %v at %q, want %v at %q", c.body, e.Syntax, e.Pointer, c.syntax, c.pointer)
				}
			}
		})
	}
}

func TestDecodeAcceptsWhatIsPlain(t *testing.T) {
	for _, body := range []string{
		`{}`, ` [1, 2] `, `0`, `""`, nested(64), `{"a":1,"A":2}`, `{"a":"\\u0000"}`, `{"a":"\\\\u0000"}`,
		`{"a":"\ud83d\ude00"}`, `{"":1}`, `{"a":"nul \u0001"}`, `{"a":12345678901234567890123456789}`, `{"a":"\""}`, `"\\"`,
	} {
		var v jsontext.Value
		if err := Decode([]byte(body), &v); err != nil {
			t.Errorf("Decode(%s) = %v, want nil", body, err)
		}
		if string(v) != strings.TrimSpace(body) {
			t.Errorf("Decode(%s) gave %s, want it as written", body, v)
		}
	}
}

func TestDecodeSaysWhichMemberIsWrong(t *testing.T) {
	type note struct {
		Title   string    `json:"title"`
		Version int64     `json:"version"`
		Done    *bool     `json:"done"`
		Tags    []string  `json:"tags"`
		Due     time.Time `json:"due,omitzero"`
		Sub     struct {
			N uint8 `json:"n"`
		} `json:"sub"`
	}
	for _, c := range []struct {
		body, want string
		options    []Option
	}{
		{`{"title":5}`, `/title: must be a string, not a number`, nil},
		{`{"version":"5"}`, `/version: must be a whole number, not a string`, nil},
		{`{"version":1.5}`, `/version: must be a whole number, not a number`, nil},
		{`{"done":0}`, `/done: must be true or false, not a number`, nil},
		{`{"tags":{}}`, `/tags: must be an array, not an object`, nil},
		{`{"tags":["a",false]}`, `/tags/1: must be a string, not false`, nil},
		{`{"due":"tomorrow"}`, `/due: must be a time such as 2026-01-31T12:00:00Z, not a string`, nil},
		{`{"sub":{"n":256}}`, `/sub/n: must be a whole number, not a number`, nil},
		{`[]`, `must be an object, not an array`, nil},
		{`{"Title":"x"}`, `/Title: there is no such member`, []Option{KnownMembers}},
		{`{"sub":{"m~/":1}}`, `/sub/m~0~1: there is no such member`, []Option{KnownMembers}},
		{`{"title":"a","title":"b"}`, `/title: this member is there twice`, nil},
		{`{"title":"a`, `/title: the JSON ends too early`, nil},
		{`{"title":tru}`, `/title: is not valid JSON (byte 12)`, nil},
	} {
		var n note
		err := Decode([]byte(c.body), &n, c.options...)
		if err == nil || err.Error() != c.want {
			t.Errorf("Decode(%s) = %v, want %q", c.body, err, c.want)
		}
	}
	var n note
	if err := Decode([]byte(`{"Title":"x","title":"y"}`), &n); err != nil || n.Title != "y" {
		t.Errorf("Decode with another case = %q, %v, want the exact member only", n.Title, err)
	}
}

func TestDecodeErrorIsShort(t *testing.T) {
	name := strings.Repeat("ü", 1<<20)
	err := Decode([]byte(`{"`+name+`":1,"`+name+`":1}`), new(any))
	if err == nil || len(err.Error()) > 300 || !utf8.ValidString(err.Error()) {
		t.Errorf("Decode gave an error of %d bytes", len(err.Error()))
	}
}

func TestReadJSONJudgesTypeAndSize(t *testing.T) {
	for _, c := range []struct {
		name, contentType, encoding, body string
		chunked                           bool
		want                              int // 0 is accepted
	}{
		{"plain", "application/json", "", `{}`, false, 0},
		{"charset", "application/json; charset=UTF-8", "", `{}`, false, 0},
		{"case", "Application/JSON;charset=utf-8", "", `{}`, false, 0},
		{"chunked", "application/json", "", `{}`, true, 0},
		{"identity", "application/json", "identity", `{}`, false, 0},
		{"at the limit", "application/json", "", `"` + strings.Repeat("a", 98) + `"`, false, 0},
		{"none", "", "", `{}`, false, 415},
		{"text", "text/plain", "", `{}`, false, 415},
		{"form", "application/x-www-form-urlencoded", "", `{}`, false, 415},
		{"multipart", "multipart/form-data; boundary=x", "", `{}`, false, 415},
		{"prefix", "application/jsonp", "", `{}`, false, 415},
		{"two types", "application/json, text/plain", "", `{}`, false, 415},
		{"other charset", "application/json; charset=utf-16", "", `{}`, false, 415},
		{"broken", "application/json; charset=", "", `{}`, false, 415},
		{"gzip", "application/json", "gzip", `{}`, false, 415},
		{"too large", "application/json", "", `"` + strings.Repeat("a", 99) + `"`, false, 413},
		{"too large, chunked", "application/json", "", `"` + strings.Repeat("a", 99) + `"`, true, 413},
		{"broken JSON", "application/json", "", `{`, false, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(c.body)
			if c.chunked {
				body = io.MultiReader(body)
			}
			r := httptest.NewRequest("POST", "/", body)
			if c.contentType != "" {
				r.Header.Set("Content-Type", c.contentType)
			}
			if c.encoding != "" {
				r.Header.Set("Content-Encoding", c.encoding)
			}
			got := 0
			if e, ok := errors.AsType[*BodyError](ReadJSON(r, 100, new(any))); ok {
				got = e.Status
			}
			if got != c.want {
				t.Errorf("ReadJSON = %d, want %d", got, c.want)
			}
		})
	}
}

func TestReadBodyRefusesTwoContentTypes(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{}`))
	r.Header["Content-Type"] = []string{"application/json", "text/plain"}
	if _, err := ReadBody(r, 100); err == nil {
		t.Error("ReadBody accepted two Content-Type headers")
	}
}

func TestReadBodyNoticesAMissingEnd(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{}`))
	r.ContentLength = 10
	r.Header.Set("Content-Type", "application/json")
	_, err := ReadBody(r, 100)
	if e, ok := errors.AsType[*BodyError](err); !ok || e.Status != http.StatusRequestTimeout {
		t.Errorf("ReadBody of a cut body = %v, want status 408", err)
	}
}

// strictly is the second implementation that FuzzDecode compares with: a walk
// over the tokens of encoding/json.
func strictly(data []byte) bool {
	if !utf8.Valid(data) || !json.Valid(data) || strings.TrimSpace(string(data)) == "null" {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return walk(d, data, 0) == nil
}

var errLoose = errors.New("loose")

func walk(d *json.Decoder, data []byte, depth int) error {
	begin := d.InputOffset()
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case string:
		return plain(v, data[begin:d.InputOffset()])
	case json.Delim:
		if depth++; depth > 64 {
			return errLoose
		}
		seen := map[string]bool{}
		for d.More() {
			if v == '{' {
				begin := d.InputOffset()
				name, err := d.Token()
				if err != nil {
					return err
				}
				if err := plain(name.(string), data[begin:d.InputOffset()]); err != nil || seen[name.(string)] {
					return errLoose
				}
				seen[name.(string)] = true
			}
			if err := walk(d, data, depth); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return err
	}
	return nil
}

// plain compares a string with its source: encoding/json writes U+FFFD for a
// lone surrogate.
func plain(s string, source []byte) error {
	written := bytes.Count(source, []byte("\uFFFD"))
	lower := bytes.ToLower(source)
	for i := 0; i+5 < len(lower); i++ {
		if lower[i] != '\\' {
			continue
		}
		if string(lower[i+1:i+6]) == "ufffd" {
			written++
		}
		i++
	}
	if strings.ContainsRune(s, 0) || strings.Count(s, "\uFFFD") != written {
		return errLoose
	}
	return nil
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{}`, `null`, `[1,"a",{"b":null}]`, `{"a":1,"\u0061":2}`, `"\ud800\ud800"`, `"\ud83d\ude00"`, `"\u0000"`, `"\\u0000"`, `"\ufffd\uFFFD�"`,
		nested(64), nested(65), `{} {}`, "\"\xff\"", `{"a":{"b":1,"b":2}}`, `{"A":1,"a":2}`, `-0`, `1e999`, `01`, `"\"`, `"\\\u0000"`, "\uFEFF1", `{"\u0000":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		var v jsontext.Value
		err := Decode(data, &v)
		if got, want := err == nil, strictly(data); got != want {
			t.Fatalf("Decode(%q) = %v, the second reader accepts: %v", data, err, want)
		}
		if !bytes.Equal(before, data) {
			t.Fatalf("Decode changed its input %q", before)
		}
		if e, ok := errors.AsType[*BodyError](err); err != nil && (!ok || e.Status != 400 || e.Message == "" || !utf8.ValidString(err.Error())) {
			t.Fatalf("Decode(%q) = %#v, want a BodyError", data, err)
		}
	})
}

func TestDecodeTakesLittleTimeForHostileText(t *testing.T) {
	const size = 4 << 20
	for name, body := range map[string]string{
		"escapes":      `"` + strings.Repeat(`\n`, size/2) + `"`,
		"quotes":       `"` + strings.Repeat(`\"`, size/2) + `"`,
		"open strings": strings.Repeat(`"\`, size/2),
		"deep":         strings.Repeat(`[`, size),
		"numbers":      `[` + strings.Repeat(`1,`, size/2) + `1]`,
	} {
		start := time.Now()
		_ = Decode([]byte(body), new(jsontext.Value))
		if took := time.Since(start); took > 2*time.Second { // quadratic would be minutes
			t.Errorf("%s: Decode of %d bytes took %v", name, size, took)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_note_tab","arguments":{"tab_id":"01990000-0000-7000-8000-000000000001","max_chars":20000}}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var v jsontext.Value
		if err := Decode(body, &v); err != nil {
			b.Fatal(err)
		}
	}
}
