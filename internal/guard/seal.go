package guard

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// ErrSealed is what Open answers to anything it did not seal: forged, altered,
// cut, expired, or sealed for somebody or something else. It does not say which.
var ErrSealed = errors.New("the value was not issued here, or not for this use, or is too old")

// sealVersion is the first byte of every sealed value, so that the form can change.
const sealVersion = 1

// Seal hands out values, such as cursors, that must come back unchanged, from
// the same principal, for the same purpose. Nobody outside can read them. It is
// safe for concurrent use.
type Seal struct{ aead cipher.AEAD }

// NewSeal derives a Seal for one purpose from a secret of at least 32 bytes:
// the installation's random key, for which there is no default, or a token
// (HKDF, RFC 5869). Different purposes can't open each other's values.
func NewSeal(secret []byte, purpose string) (*Seal, error) {
	if len(secret) < 32 {
		return nil, fmt.Errorf("secret of %d bytes is too short to seal with: needs 32", len(secret))
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "osfoundry seal "+purpose, chacha20poly1305.KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive sealing key: %w", err)
	}
	aead, err := chacha20poly1305.NewX(key) // 24-byte nonces, so random ones never meet
	if err != nil {
		return nil, fmt.Errorf("make sealing cipher: %w", err)
	}
	return &Seal{aead}, nil
}

// Seal returns value in a form that only Open with the same bound words gives
// back, in the alphabet of base64url. Bound says whose the value is and what it
// belongs to: a connection, a tool, a digest of arguments. The zero expires
// means never.
func (s *Seal) Seal(value []byte, expires time.Time, bound ...string) string {
	plain := make([]byte, 8, 8+len(value))
	if !expires.IsZero() {
		binary.BigEndian.PutUint64(plain, uint64(expires.UnixMilli()))
	}
	plain = append(plain, value...)

	head := 1 + s.aead.NonceSize()
	sealed := make([]byte, head, head+len(plain)+s.aead.Overhead())
	sealed[0] = sealVersion
	rand.Read(sealed[1:]) // never fails: crypto/rand ends the process instead
	sealed = s.aead.Seal(sealed, sealed[1:head], plain, join(bound))
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// Open returns the value that was sealed with the same bound words and has not
// expired at now, else ErrSealed.
func (s *Seal) Open(sealed string, now time.Time, bound ...string) ([]byte, error) {
	if strings.ContainsAny(sealed, "\r\n") { // which the decoder would skip
		return nil, ErrSealed
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	head := 1 + s.aead.NonceSize()
	if err != nil || len(raw) < head || raw[0] != sealVersion {
		return nil, ErrSealed
	}
	plain, err := s.aead.Open(nil, raw[1:head], raw[head:], join(bound))
	if err != nil || len(plain) < 8 {
		return nil, ErrSealed
	}
	expires := int64(binary.BigEndian.Uint64(plain))
	if expires != 0 && now.UnixMilli() >= expires {
		return nil, ErrSealed
	}
	return plain[8:], nil
}

// join writes words with their lengths, so that ("a", "bc") is not ("ab", "c").
func join(words []string) []byte {
	var b []byte
	for _, w := range words {
		b = binary.AppendUvarint(b, uint64(len(w)))
		b = append(b, w...)
	}
	return b
}
