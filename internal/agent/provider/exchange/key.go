package exchange

import (
	"errors"
	"fmt"
	"log/slog"
)

// Key is the secret that a model server wants to see; the zero Key is none. However
// it is printed, encoded or logged, alone or inside of something, it does not show.
type Key struct {
	reveal func() string // a function, because fmt prints the fields of any struct
}

// MaxKey is how long a key may be, in bytes.
const MaxKey = 4096

// NewKey makes a key of its text. It must do as the value of a header (RFC 9110
// §5.5), without spaces; the error does not repeat it.
func NewKey(text string) (Key, error) {
	if text == "" {
		return Key{}, nil
	}
	if len(text) > MaxKey {
		return Key{}, fmt.Errorf("a key has at most %d bytes", MaxKey)
	}
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return Key{}, errors.New("a key has printable ASCII characters only, and no spaces")
		}
	}
	return Key{reveal: func() string { return text }}, nil
}

// Reveal gives the key's text, "" if there is none. It belongs into a header.
func (k Key) Reveal() string {
	if k.reveal == nil {
		return ""
	}
	return k.reveal()
}

func (k Key) String() string               { return "(key)" }
func (k Key) GoString() string             { return "(key)" }
func (k Key) LogValue() slog.Value         { return slog.StringValue("(key)") }
func (k Key) MarshalText() ([]byte, error) { return []byte("(key)"), nil }
