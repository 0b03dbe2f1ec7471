package exchange_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/agent/provider/exchange"
)

func TestAKeyShowsNowhere(t *testing.T) {
	key, err := exchange.NewKey("canary-4711")
	if err != nil {
		t.Fatal(err)
	}
	type inside struct {
		Key exchange.Key
		key exchange.Key
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", key, "in", inside{key, key}, "p", &key)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", key, "in", inside{key, key}, "p", &key)
	one, err1 := json.Marshal(inside{key, key})
	two, err2 := stdjson.Marshal(map[string]any{"k": key, "p": &key})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	shown := log.String() + string(one) + string(two)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{key, &key, inside{key, key}, &inside{key, key}, []exchange.Key{key}, map[string]exchange.Key{"k": key}} {
			shown += fmt.Sprintf(verb, value)
		}
	}
	for _, canary := range []string{"canary", "63616e617279"} {
		if strings.Contains(shown, canary) {
			t.Errorf("the key shows in %s", shown)
		}
	}
	if key.Reveal() != "canary-4711" {
		t.Errorf("Reveal = %q", key.Reveal())
	}
}

func TestKeysAreValuesOfHeaders(t *testing.T) {
	for _, text := range []string{"canary 1", "canary\n", "canary\r\nX: y", "canary\x00", "canäry", "\tcanary", strings.Repeat("c", exchange.MaxKey+1)} {
		_, err := exchange.NewKey(text)
		if err == nil {
			t.Errorf("the key %q was taken", text)
		} else if strings.Contains(err.Error(), "can") && strings.Contains(err.Error(), text[:4]) {
			t.Errorf("the error %q repeats the key", err)
		}
	}
	for _, text := range []string{"", "sk-proj-_Ab1.~+/=", strings.Repeat("c", exchange.MaxKey)} {
		if key, err := exchange.NewKey(text); err != nil || key.Reveal() != text {
			t.Errorf("NewKey(%.20q) = %q, %v", text, key.Reveal(), err)
		}
	}
}
