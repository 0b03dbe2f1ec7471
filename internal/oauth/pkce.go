package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strings"
)

// unreserved are the characters of verifiers and challenges (RFC 7636 §4.1).
const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// proof reports whether the text can be a code_verifier or a code_challenge (RFC
// 7636 §4.1, §4.2).
func proof(text string) bool {
	return len(text) >= 43 && len(text) <= 128 && strings.Trim(text, unreserved) == ""
}

// verifies reports whether the verifier is the one whose hash the challenge is
// (RFC 7636 §4.6). Without a challenge nothing does.
func verifies(verifier, challenge string) bool {
	if !proof(verifier) || !proof(challenge) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	want := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(want), []byte(challenge)) == 1
}
