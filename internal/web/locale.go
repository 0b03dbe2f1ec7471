package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"golang.org/x/text/feature/plural"
	"golang.org/x/text/language"
)

//go:embed locales/*.json
var localeFiles embed.FS

// catalogue holds every text of the pages in one language. A message knows two
// things only: {name} stands for an argument, and a message with several forms
// chooses among them by the argument n and the plural rules of CLDR.
type catalogue struct {
	tag   language.Tag
	texts map[string]message
}

// message is a text by plural form; one without forms has only plural.Other.
type message map[plural.Form]string

var pluralForms = map[string]plural.Form{
	"zero": plural.Zero, "one": plural.One, "two": plural.Two,
	"few": plural.Few, "many": plural.Many, "other": plural.Other,
}

func (m *message) UnmarshalJSON(data []byte) error {
	var single string
	if err := json.Unmarshal(data, &single); err == nil {
		*m = message{plural.Other: single}
		return nil
	}
	var byForm map[string]string
	if err := json.Unmarshal(data, &byForm); err != nil {
		return err
	}
	*m = message{}
	for name, text := range byForm {
		form, ok := pluralForms[name]
		if !ok {
			return fmt.Errorf("%q is no plural form", name)
		}
		(*m)[form] = text
	}
	if _, ok := (*m)[plural.Other]; !ok {
		return fmt.Errorf(`a message with plural forms needs "other"`)
	}
	return nil
}

// readCatalogues reads locales/*.json; the file's name is the language's tag.
// English comes first, so it is what language.Matcher falls back to.
func readCatalogues(files fs.FS) ([]*catalogue, error) {
	names, err := fs.Glob(files, "locales/*.json")
	if err != nil {
		return nil, err
	}
	var all []*catalogue
	for _, name := range names {
		c, err := readCatalogue(files, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if c.tag == language.English {
			all = append([]*catalogue{c}, all...)
		} else {
			all = append(all, c)
		}
	}
	return all, nil
}

func readCatalogue(files fs.FS, name string) (*catalogue, error) {
	tag, err := language.Parse(strings.TrimSuffix(path.Base(name), ".json"))
	if err != nil {
		return nil, err
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	c := &catalogue{tag: tag}
	return c, json.Unmarshal(data, &c.texts)
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// t is the message of this key as HTML, its placeholders filled from pairs of
// name and value. Message and values are escaped; a template.HTML value, as the
// template functions strong and mono make, is put in as it is. A missing key
// or argument is an error, so that a page with a hole is never shown.
func (c *catalogue) t(key string, pairs ...any) (template.HTML, error) {
	m, ok := c.texts[key]
	if !ok {
		return "", fmt.Errorf("no message %q in %s", key, c.tag)
	}
	args := map[string]template.HTML{}
	form := plural.Other
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		if n, isInt := pairs[i+1].(int); isInt && name == "n" {
			form = plural.Cardinal.MatchPlural(c.tag, n, 0, 0, 0, 0)
		}
		args["{"+name+"}"] = asHTML(pairs[i+1])
	}
	text, ok := m[form]
	if !ok {
		text = m[plural.Other]
	}
	var missing string
	filled := placeholder.ReplaceAllStringFunc(html.EscapeString(text), func(name string) string {
		value, ok := args[name]
		if !ok {
			missing = name
		}
		return string(value)
	})
	if missing != "" {
		return "", fmt.Errorf("message %q needs %s", key, missing)
	}
	return template.HTML(filled), nil
}

// say is t for texts that the program itself asks for. A key that is missing
// stands there as it is: wrong, and better than no page.
func (c *catalogue) say(key string, pairs ...any) template.HTML {
	text, err := c.t(key, pairs...)
	if err != nil {
		return asHTML(key)
	}
	return text
}

func asHTML(v any) template.HTML {
	if h, ok := v.(template.HTML); ok {
		return h
	}
	return template.HTML(html.EscapeString(fmt.Sprint(v)))
}
