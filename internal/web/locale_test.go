package web

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// TestTextsAndTheirUsesAgree reads templates and source for the keys they use.
// Keys made of parts are listed by their beginning; those of the web app are
// counted by its own tests.
func TestTextsAndTheirUsesAgree(t *testing.T) {
	all, err := readCatalogues(localeFiles)
	if err != nil {
		t.Fatal(err)
	}
	english := all[0]
	used := map[string]bool{}
	key := regexp.MustCompile(`(?:\bt |say\(|: *|\[\]string\{|, )"([a-z_]+(?:\.[a-z0-9_]+)+|minutes|product)"`)
	for _, folder := range []string{".", "templates"} {
		files, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if f.IsDir() || strings.HasSuffix(f.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(folder + "/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range key.FindAllStringSubmatch(string(text), -1) {
				used[m[1]] = true
			}
		}
	}
	made := regexp.MustCompile(`^(app|field|role|status|host|refused|error|consent\.(no|many|foreign|not)_|format)[._a-z]`)
	for k := range english.texts {
		if !used[k] && !made.MatchString(k) {
			t.Errorf("the text %q is used nowhere", k)
		}
	}
	for k := range used {
		if _, ok := english.texts[k]; !ok && !strings.Contains(k, ".css") && !strings.Contains(k, ".svg") && !strings.Contains(k, ".html") && k != "home.arpa" {
			t.Errorf("the text %q does not exist", k)
		}
	}
}

func TestEveryRoleAndStatusHasAWord(t *testing.T) {
	all, err := readCatalogues(localeFiles)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, role := range []access.Role{access.RoleOwner, access.RoleEditor, access.RoleViewer} {
		keys = append(keys, "role."+string(role))
	}
	for _, status := range []workspace.Status{workspace.StatusActive, workspace.StatusPaused, workspace.StatusRevoked} {
		keys = append(keys, "status."+string(status))
	}
	for _, scope := range access.AllScopes.Names() {
		keys = append(keys, scopeTexts[scope])
	}
	for _, c := range all {
		for _, k := range keys {
			if _, err := c.t(k); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestMessagesEscapeAndChooseByNumber(t *testing.T) {
	files := fstest.MapFS{"locales/en.json": {Data: []byte(`{"hello": "Hi <{name}> & {other}", "n": {"one": "{n} day", "other": "{n} days"}}`)},
		"locales/cs.json": {Data: []byte(`{"n": {"one": "{n} den", "few": "{n} dny", "other": "{n} dní"}}`)}}
	all, err := readCatalogues(files)
	if err != nil {
		t.Fatal(err)
	}
	english, czech := all[0], all[1]
	got, err := english.t("hello", "name", "<b>", "other", english.say("n", "n", 2))
	if want := "Hi &lt;&lt;b&gt;&gt; &amp; 2 days"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if got, _ := english.t("hello", "name", "{other}", "other", "x"); string(got) != "Hi &lt;{other}&gt; &amp; x" {
		t.Errorf("a value is read as a message: %q", got)
	}
	for n, want := range map[int]string{1: "1 den", 3: "3 dny", 5: "5 dní"} {
		if got := string(czech.say("n", "n", n)); got != want {
			t.Errorf("%d reads %q, want %q", n, got, want)
		}
	}
	for _, wrong := range [][]any{{"nothing"}, {"hello"}, {"hello", "name", "x"}} {
		if got, err := english.t(wrong[0].(string), wrong[1:]...); err == nil {
			t.Errorf("%q gives %q, want an error", wrong, got)
		}
	}
}

func TestCataloguesThatCannotBeReadStopTheStart(t *testing.T) {
	for name, text := range map[string]string{
		"locales/en.json": `{"a": 1}`, "locales/de.json": `{"a": {"one": "x"}}`, "locales/fr.json": `{"a": {"lots": "x", "other": "y"}}`,
		"locales/not a language.json": `{}`, "locales/it.json": `{`,
	} {
		if _, err := readCatalogues(fstest.MapFS{name: {Data: []byte(text)}}); err == nil {
			t.Errorf("%s: %s is accepted", name, text)
		}
	}
}

func TestAgeIsSaidInTheLargestUnit(t *testing.T) {
	all, err := readCatalogues(localeFiles)
	if err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]string{
		-time.Hour: "a moment ago", 0: "a moment ago", 59 * time.Second: "a moment ago", time.Minute: "1 minute ago", 119 * time.Second: "1 minute ago",
		59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago", 23 * time.Hour: "23 hours ago", 24 * time.Hour: "1 day ago", 400 * 24 * time.Hour: "400 days ago",
	} {
		if got := string(all[0].ago(noon.Add(-age), noon)); got != want {
			t.Errorf("%s: %q, want %q", age, got, want)
		}
	}
}

func TestHiddenCharactersAreTakenOut(t *testing.T) {
	for in, want := range map[string]string{
		"Claude": "Claude", "  Cl\u202eau\u200bde\u0007 \n x ": "Claude x", "\u2066\u2069\ufeff": "", "कि": "कि", "é": "é", "a\xffb": "a\uFFFDb",
		strings.Repeat("é", 81): strings.Repeat("é", 80) + "…", strings.Repeat("x", 80): strings.Repeat("x", 80), "\U000E0041x": "x",
	} {
		if got := display(in); got != want {
			t.Errorf("display(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestAddressesOfPrivateNetworksAreTold(t *testing.T) {
	for origin, want := range map[string]bool{
		"https://osfoundry.example": false, "https://osfoundry.example:8443": false, "https://203.0.113.9": false, "https://[2001:db8::1]": false,
		"http://osfoundry.example": true, "https://localhost": true, "https://127.0.0.1": true, "https://10.0.0.1": true, "https://192.168.1.5:8787": true,
		"https://[::1]": true, "https://[fd00::1]": true, "https://169.254.1.1": true, "https://server": true, "https://server.local": true,
		"https://x.home.arpa": true, "https://a.internal": true, "": true, "https://0.0.0.0": true,
	} {
		if got := local(origin); got != want {
			t.Errorf("local(%q) is %v, want %v", origin, got, want)
		}
	}
}
