package guard

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"
)

func newSeal(t *testing.T, secret []byte, purpose string) *Seal {
	t.Helper()
	s, err := NewSeal(secret, purpose)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func secret() []byte {
	b := make([]byte, 32)
	rand.Read(b)
	return b
}

func TestSealedValueComesBack(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := newSeal(t, secret(), "cursor")
	for _, value := range []string{"", "x", strings.Repeat("y", 5000)} {
		sealed := s.Seal([]byte(value), now.Add(time.Minute), "connection", "tool")
		got, err := s.Open(sealed, now, "connection", "tool")
		if err != nil || string(got) != value {
			t.Errorf("Open(Seal(%.10q)) = %.10q, %v", value, got, err)
		}
		if strings.Trim(sealed, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("sealed value %q is not base64url", sealed)
		}
	}
	if s.Seal([]byte("x"), time.Time{}) == s.Seal([]byte("x"), time.Time{}) {
		t.Error("the same value sealed twice looks the same")
	}
}

func TestSealedValueIsOnlyForWhomAndWhatItWasSealed(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	key := secret()
	s := newSeal(t, key, "cursor")
	sealed := s.Seal([]byte("value"), now.Add(time.Minute), "ab", "c")
	for name, open := range map[string]func() ([]byte, error){
		"other principal":    func() ([]byte, error) { return s.Open(sealed, now, "xx", "c") },
		"shifted words":      func() ([]byte, error) { return s.Open(sealed, now, "a", "bc") },
		"joined words":       func() ([]byte, error) { return s.Open(sealed, now, "abc") },
		"fewer words":        func() ([]byte, error) { return s.Open(sealed, now, "ab") },
		"more words":         func() ([]byte, error) { return s.Open(sealed, now, "ab", "c", "") },
		"at expiry":          func() ([]byte, error) { return s.Open(sealed, now.Add(time.Minute), "ab", "c") },
		"other purpose":      func() ([]byte, error) { return newSeal(t, key, "form").Open(sealed, now, "ab", "c") },
		"other installation": func() ([]byte, error) { return newSeal(t, secret(), "cursor").Open(sealed, now, "ab", "c") },
		"nothing":            func() ([]byte, error) { return s.Open("", now, "ab", "c") },
		"newline added":      func() ([]byte, error) { return s.Open(sealed+"\n", now, "ab", "c") },
		"padding added":      func() ([]byte, error) { return s.Open(sealed+"=", now, "ab", "c") },
	} {
		if got, err := open(); !errors.Is(err, ErrSealed) || got != nil {
			t.Errorf("%s: Open = %q, %v, want ErrSealed", name, got, err)
		}
	}
	forever := s.Seal([]byte("value"), time.Time{})
	if _, err := s.Open(forever, now.AddDate(100, 0, 0)); err != nil {
		t.Errorf("a value without expiry: %v", err)
	}
}

func TestEveryByteOfASealedValueCounts(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := newSeal(t, secret(), "cursor")
	sealed := []byte(s.Seal([]byte("some value"), now.Add(time.Minute), "me"))
	for i := range sealed {
		for _, flip := range []byte{1, 2, 4, 8, 16, 32} {
			changed := bytes.Clone(sealed)
			changed[i] ^= flip
			if _, err := s.Open(string(changed), now, "me"); !errors.Is(err, ErrSealed) {
				t.Fatalf("byte %d flipped by %d: %v, want ErrSealed", i, flip, err)
			}
		}
		if _, err := s.Open(string(sealed[:i]), now, "me"); !errors.Is(err, ErrSealed) {
			t.Fatalf("cut to %d bytes: %v, want ErrSealed", i, err)
		}
	}
}

func TestSealNeedsARealSecret(t *testing.T) {
	for _, n := range []int{0, 16, 31} {
		if _, err := NewSeal(make([]byte, n), "cursor"); err == nil {
			t.Errorf("NewSeal with %d bytes = nil error, want one", n)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s, err := NewSeal(bytes.Repeat([]byte{7}, 32), "cursor")
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("AQ")
	f.Add(strings.Repeat("A", 80))
	f.Fuzz(func(t *testing.T, sealed string) {
		if got, err := s.Open(sealed, time.Unix(0, 0), "me"); !errors.Is(err, ErrSealed) {
			t.Fatalf("Open(%q) = %q, %v, want ErrSealed", sealed, got, err)
		}
	})
}
