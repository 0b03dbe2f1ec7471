package web

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed templates/*.html
var templateFiles embed.FS

// views is the set of templates, once per language.
type views struct {
	matcher language.Matcher
	byTag   []*template.Template // in the order of the matcher's tags, as texts
	texts   []*catalogue
}

func newViews(assets *assets) (*views, error) {
	catalogues, err := readCatalogues(localeFiles)
	if err != nil {
		return nil, err
	}
	v := &views{texts: catalogues}
	var tags []language.Tag
	for _, c := range catalogues {
		t, err := template.New("").Option("missingkey=error").Funcs(functions(c, assets)).ParseFS(templateFiles, "templates/*.html")
		if err != nil {
			return nil, err
		}
		v.byTag = append(v.byTag, t)
		tags = append(tags, c.tag)
	}
	v.matcher = language.NewMatcher(tags)
	return v, nil
}

func functions(c *catalogue, a *assets) template.FuncMap {
	return template.FuncMap{
		"t":       c.t,
		"lang":    c.tag.String,
		"asset":   a.address,
		"strong":  func(s string) template.HTML { return "<strong><bdi>" + asHTML(s) + "</bdi></strong>" },
		"bdi":     func(s string) template.HTML { return "<bdi>" + asHTML(s) + "</bdi>" },
		"mono":    func(s string) template.HTML { return "<code><bdi>" + asHTML(s) + "</bdi></code>" },
		"date":    c.date,
		"initial": initial,
		"dict":    dict,
	}
}

// dict makes the argument of a nested template from pairs of name and value.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: a name without a value")
	}
	m := make(map[string]any, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: the name %v is no string", pairs[i])
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}

// texts are the texts in the language of the request.
func (s *Site) texts(r *http.Request) *catalogue { return s.views.texts[s.views.language(r)] }

// languageCookie holds the language that somebody chose in the web app, which
// writes it; nothing but the language of the pages depends on it.
const languageCookie = "language"

// maxLanguage is how many bytes of a tag are read (RFC 5646 §4.4.1).
const maxLanguage = 35

// language picks the pages' language for a request: the one that was chosen in
// the app, else what the browser accepts (RFC 9110 §12.5.4), else English.
func (v *views) language(r *http.Request) int {
	var wanted []language.Tag
	if chosen, err := r.Cookie(languageCookie); err == nil && len(chosen.Value) <= maxLanguage {
		if tag, err := language.Parse(chosen.Value); err == nil {
			wanted = append(wanted, tag)
		}
	}
	// No browser sends a longer header; parsing it would be work for nothing.
	if header := r.Header.Get("Accept-Language"); len(header) <= 1024 {
		if accepted, _, err := language.ParseAcceptLanguage(header); err == nil {
			wanted = append(wanted, accepted...)
		}
	}
	_, i, _ := v.matcher.Match(wanted...)
	return i
}

// show renders a template and answers with it. The page is rendered whole
// before its first byte is sent, so that a fault gives an error page and never
// half a page.
func (s *Site) show(w http.ResponseWriter, r *http.Request, status int, name string, data any) {
	s.showWithForm(w, r, status, name, data, "")
}

// showWithForm is show for a page whose form may lead to the CSP source formSource.
func (s *Site) showWithForm(w http.ResponseWriter, r *http.Request, status int, name string, data any, formSource string) {
	var body bytes.Buffer
	if err := s.views.byTag[s.views.language(r)].ExecuteTemplate(&body, name, data); err != nil {
		s.Log.ErrorContext(r.Context(), "page not rendered", "page", name, "err", err)
		s.plainFault(w)
		return
	}
	s.setHeaders(w.Header(), formSource)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	if r.Method == http.MethodHead {
		return
	}
	if _, err := w.Write(body.Bytes()); err != nil {
		s.Log.DebugContext(r.Context(), "page not sent", "page", name, "err", err)
	}
}

// plainFault is the last resort when a page cannot be rendered.
func (s *Site) plainFault(w http.ResponseWriter) {
	s.setHeaders(w.Header(), "")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = w.Write([]byte("Something went wrong on this server.\n"))
}

// date is a day in the reader's language, as a <time> element with the exact
// moment for machines.
func (c *catalogue) date(t time.Time) template.HTML {
	t = t.UTC()
	day := t.Format(c.texts["format.date"][plural.Other])
	return `<time datetime="` + asHTML(t.Format(time.RFC3339)) + `">` + asHTML(day) + `</time>`
}

// ago is how long before now t was, in the largest unit that fits.
func (c *catalogue) ago(t, now time.Time) template.HTML {
	switch d := now.Sub(t); {
	case d < time.Minute:
		return c.say("ago.now")
	case d < time.Hour:
		return c.say("ago.minutes", "n", int(d/time.Minute))
	case d < 24*time.Hour:
		return c.say("ago.hours", "n", int(d/time.Hour))
	default:
		return c.say("ago.days", "n", int(d/(24*time.Hour)))
	}
}

// minutes words how long Retry-After asks to wait.
func (c *catalogue) minutes(h http.Header) template.HTML {
	return c.say("minutes", "n", waitMinutes(h))
}

// displayLimit is how many characters of a name from outside a page shows.
const displayLimit = 80

// display makes text from outside fit to be shown: control, format and
// bidirectional-override characters are taken out, white space is one space,
// and what is longer than displayLimit ends in an ellipsis.
func display(text string) string { return displayUpTo(text, displayLimit) }

func displayUpTo(text string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if hidden(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
			space = false
		}
		if n >= limit {
			return strings.TrimRight(b.String(), " ") + "…"
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// hidden reports whether r has no look of its own but changes that of others:
// Unicode's categories Cc, Cf (bidirectional controls, zero-width characters,
// tags), Zl and Zp.
func hidden(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }

// initial is the letter on the tile of a name.
func initial(name string) string {
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return "?"
}
