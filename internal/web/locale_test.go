package web

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/text/feature/plural"

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

// TestEveryLanguageSaysWhatThePagesSay holds each language to the texts of
// English that the pages without JavaScript use, and to their arguments. Those
// of the web app are held by its own tests.
func TestEveryLanguageSaysWhatThePagesSay(t *testing.T) {
	all, err := readCatalogues(localeFiles)
	if err != nil {
		t.Fatal(err)
	}
	english := all[0]
	for _, c := range all[1:] {
		for key, want := range english.texts {
			if strings.HasPrefix(key, "app.") {
				continue
			}
			got, ok := c.texts[key]
			if !ok {
				t.Errorf("%s: %q is not said", c.tag, key)
				continue
			}
			for form, text := range got {
				if strings.TrimSpace(text) == "" {
					t.Errorf("%s: %q says nothing in its form %d", c.tag, key, form)
				}
				if got, want := arguments(text), arguments(want[plural.Other]); !slices.Equal(got, want) {
					t.Errorf("%s: %q takes %v in %q, want %v", c.tag, key, got, text, want)
				}
			}
		}
		for key := range c.texts {
			if _, ok := english.texts[key]; !ok && !strings.HasPrefix(key, "app.") {
				t.Errorf("%s: %q is not in English", c.tag, key)
			}
		}
	}
}

// arguments are the placeholders of a text, sorted and once each.
func arguments(text string) []string {
	names := placeholder.FindAllString(text, -1)
	slices.Sort(names)
	return slices.Compact(names)
}

func TestPagesSpeakTheLanguageThatIsAskedFor(t *testing.T) {
	for accept, want := range map[string][2]string{
		"":                                {"en", "Sign in"},
		"en-GB":                           {"en", "Sign in"},
		"de":                              {"de", "Anmelden"},
		"de-AT,de;q=0.9,en;q=0.8":         {"de", "Anmelden"},
		"es-419":                          {"es", "Iniciar sesión"},
		"fr-CA, en;q=0.5":                 {"fr", "S’identifier"},
		"it-IT":                           {"it", "Accedi"},
		"tlh, it;q=0.2":                   {"it", "Accedi"},
		"en;q=0.4, fr;q=0.9":              {"fr", "S’identifier"},
		"de;q=0":                          {"en", "Sign in"},
		"tlh":                             {"en", "Sign in"},
		"*":                               {"en", "Sign in"},
		"de;q=much":                       {"en", "Sign in"},
		strings.Repeat("de,", 400) + "it": {"en", "Sign in"},
	} {
		b := serve(t, &house{}, nil)
		r := b.request(http.MethodGet, "/sign-in", "")
		r.Header.Set("Accept-Language", accept)
		p := b.do(r).wants(http.StatusOK)
		p.count("html[lang="+want[0]+"]", 1)
		p.says("h1", want[1])
	}
}

func TestTheLanguageChosenInTheAppComesFirst(t *testing.T) {
	for chosen, want := range map[string]string{
		"de": "de", "fr-CA": "fr", "en": "en",
		// What is no language, or none of ours, leaves it to the browser.
		"": "it", "tlh": "it", "not a language": "it", "../en": "it", "de-" + strings.Repeat("x", 40): "it",
	} {
		b := serve(t, &house{}, nil)
		r := b.request(http.MethodGet, "/sign-in", "")
		r.Header.Set("Accept-Language", "it")
		r.Header.Set("Cookie", languageCookie+"="+chosen)
		b.do(r).wants(http.StatusOK).count("html[lang="+want+"]", 1)
	}
}

func TestAMistakeIsSaidInTheLanguageOfThePage(t *testing.T) {
	b := serve(t, &house{needsSetup: true, err: faulty("password", "must have at least 12 characters")}, nil)
	body := "secret=x&name=M&email=m%40a.example&password=short&workspace=A"
	r := b.request(http.MethodPost, "/setup", body)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.base)
	r.Header.Set("Accept-Language", "de")
	p := b.do(r).wants(http.StatusUnprocessableEntity)
	p.says("#password-error", "Passwort muss mindestens 12 und höchstens 256 Zeichen haben.")
}

func TestDatesAndAgesAreSaidInEachLanguage(t *testing.T) {
	all, err := readCatalogues(localeFiles)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		want, ok := map[string][2]string{
			"en": {"30 Nov 2026", "2 days ago"}, "de": {"30.11.2026", "vor 2 Tagen"}, "es": {"30/11/2026", "hace 2 días"},
			"fr": {"30/11/2026", "il y a 2 jours"}, "it": {"30/11/2026", "2 giorni fa"},
		}[c.tag.String()]
		if !ok {
			continue
		}
		if got := string(c.date(noon)); !strings.Contains(got, ">"+want[0]+"<") {
			t.Errorf("%s: the date is %s, want %s", c.tag, got, want[0])
		}
		if got := string(c.ago(noon.Add(-48*time.Hour), noon)); got != want[1] {
			t.Errorf("%s: the age is %q, want %q", c.tag, got, want[1])
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
