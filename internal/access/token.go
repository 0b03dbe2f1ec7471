package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"math/big"
	"strings"
)

// TokenKind is the prefix of a token, which says what it is for, so that no
// token can be taken for one of another kind and scanners for leaked secrets
// know ours.
type TokenKind string

// The kinds of tokens (protocol.md §2).
const (
	TokenAccess   TokenKind = "osf_at_"
	TokenRefresh  TokenKind = "osf_rt_"
	TokenCode     TokenKind = "osf_ac_"
	TokenPersonal TokenKind = "osf_pat_"
	TokenSession  TokenKind = "osf_ses_" // the value of a browser's cookie
	TokenInvite   TokenKind = "osf_inv_" // in the link by which a person chooses a password
	TokenSetup    TokenKind = "osf_set_" // printed where the server first starts
)

const (
	digits62      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	tokenChars    = 43 // base62 digits that hold 256 bits
	checksumChars = 6  // base62 digits that hold 32 bits
)

// MintToken makes a token: its kind, 256 random bits, and a checksum over both.
// The hash is what may be kept.
func MintToken(kind TokenKind) (token string, hash TokenHash) {
	var secret [32]byte
	rand.Read(secret[:]) // never fails: crypto/rand ends the process instead
	body := string(kind) + base62(secret[:], tokenChars)
	token = body + checksum(body)
	return token, hashOf(token)
}

// HashToken is the hash of a presented token. Text that no MintToken of this
// kind can have made is refused without asking the database.
func HashToken(kind TokenKind, presented string) (hash TokenHash, ok bool) {
	rest, found := strings.CutPrefix(presented, string(kind))
	if !found || len(rest) != tokenChars+checksumChars || strings.Trim(rest, digits62) != "" {
		return "", false
	}
	body, sum := presented[:len(presented)-checksumChars], presented[len(presented)-checksumChars:]
	if checksum(body) != sum { // guards against typing errors, not against forgers
		return "", false
	}
	return hashOf(presented), true
}

func hashOf(token string) TokenHash {
	sum := sha256.Sum256([]byte(token))
	return TokenHash(base64.RawURLEncoding.EncodeToString(sum[:]))
}

func checksum(body string) string {
	sum := crc32.ChecksumIEEE([]byte(body))
	return base62([]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}, checksumChars)
}

// base62 writes the number in b with exactly n digits, the most significant first.
func base62(b []byte, n int) string {
	number, base, digit := new(big.Int).SetBytes(b), big.NewInt(62), new(big.Int)
	out := make([]byte, n)
	for i := n - 1; i >= 0; i-- {
		number.QuoRem(number, base, digit)
		out[i] = digits62[digit.Int64()]
	}
	return string(out)
}
