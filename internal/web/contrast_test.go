package web

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pairs are the colours that meet on a page, and the contrast each pair needs:
// 7 for running text (WCAG 2.2 SC 1.4.6), 4.5 for other text (1.4.3), 3 for
// edges and marks (1.4.11).
var pairs = []struct {
	front, back string
	need        float64
}{
	{"text", "canvas", 7}, {"text", "surface", 7}, {"text", "subtle", 7}, {"text", "hover", 7}, {"text", "selected", 7}, {"text", "accent-bg", 7},
	{"text-2", "canvas", 7}, {"text-2", "surface", 7}, {"text-2", "subtle", 4.5}, {"text-2", "accent-bg", 4.5},
	{"text-3", "canvas", 4.5}, {"text-3", "surface", 4.5}, {"text-3", "subtle", 4.5}, {"text-3", "hover", 4.5}, {"text-3", "raised", 4.5}, {"text-3", "selected", 4.5},
	{"on-solid", "accent", 4.5}, {"on-solid", "accent-hover", 4.5}, {"on-solid", "bad", 4.5}, {"on-solid", "bad-hover", 4.5}, {"on-solid", "out", 4.5}, {"on-solid", "ok", 4.5},
	{"accent-text", "surface", 4.5}, {"accent-text", "canvas", 4.5}, {"accent-text", "accent-bg", 4.5}, {"accent-text", "selected", 4.5},
	{"out-text", "out-bg", 4.5}, {"out-text", "surface", 4.5},
	{"ok-text", "ok-bg", 4.5}, {"ok-text", "surface", 4.5}, {"warn-text", "warn-bg", 4.5}, {"warn-text", "surface", 4.5},
	{"bad-text", "bad-bg", 4.5}, {"bad-text", "surface", 4.5}, {"info-text", "info-bg", 4.5},
	{"line-strong", "surface", 3}, {"line-strong", "canvas", 3}, {"line-strong", "raised", 3},
	{"focus", "surface", 3}, {"focus", "canvas", 3}, {"focus", "selected", 3}, {"focus", "bad-bg", 3}, {"focus", "accent-bg", 3},
	{"out", "surface", 3}, {"ok", "surface", 3}, {"warn", "surface", 3}, {"bad", "surface", 3}, {"accent", "surface", 3},
}

func TestColoursCanBeTold(t *testing.T) {
	css, err := os.ReadFile("assets/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("there is no dark theme")
	}
	themes := map[string]map[string]string{"light": colours(light), "dark": colours(light)}
	for name, value := range colours(dark) {
		if themes["light"][name] == "" {
			t.Errorf("only the dark theme has %s", name)
		}
		themes["dark"][name] = value
	}
	for theme, c := range themes {
		for _, p := range pairs {
			if c[p.front] == "" || c[p.back] == "" {
				t.Errorf("%s: no colour for %s or %s", theme, p.front, p.back)
				continue
			}
			if got := contrast(t, c[p.front], c[p.back]); got < p.need {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %.1f", theme, p.front, p.back, got, p.need)
			}
		}
	}
}

func colours(css string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`--c-([\w-]+):\s*(#[0-9a-f]{6})`).FindAllStringSubmatch(css, -1) {
		found[m[1]] = m[2]
	}
	return found
}

// contrast is the contrast ratio of WCAG 2.2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + .05) / (min(x, y) + .05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{.2126, .7152, .0722} {
		n, err := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatalf("colour %q: %v", colour, err)
		}
		v := float64(n) / 255
		if v <= .04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}
