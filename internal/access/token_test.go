package access_test

import (
	"regexp"
	"testing"

	"github.com/osfoundry/osfoundry/internal/access"
)

func TestTokensAreOfOneKindAndCarryAChecksum(t *testing.T) {
	form := regexp.MustCompile(`^osf_pat_[0-9A-Za-z]{49}$`)
	seen := map[string]bool{}
	for range 100 {
		token, hash := access.MintToken(access.TokenPersonal)
		if !form.MatchString(token) || seen[token] {
			t.Fatalf("token %q: want %s, never twice", token, form)
		}
		seen[token] = true
		if got, ok := access.HashToken(access.TokenPersonal, token); !ok || got != hash {
			t.Fatalf("HashToken(%q) = %q, %v; want %q, true", token, got, ok, hash)
		}
		if _, ok := access.HashToken(access.TokenAccess, token); ok {
			t.Fatalf("%q was taken for an access token", token)
		}
	}
}

func TestAlteredTokensAreRefusedWithoutTheDatabase(t *testing.T) {
	token, _ := access.MintToken(access.TokenPersonal)
	for i := range token {
		altered := []byte(token)
		altered[i] ^= 1
		if hash, ok := access.HashToken(access.TokenPersonal, string(altered)); ok {
			t.Errorf("HashToken(%q) with byte %d changed = %q; want refused", altered, i, hash)
		}
	}
	for _, text := range []string{"", "osf_pat_", token[:len(token)-1], token + "0", " " + token, token + "\n"} {
		if _, ok := access.HashToken(access.TokenPersonal, text); ok {
			t.Errorf("HashToken(%q): want refused", text)
		}
	}
}
