package web

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// field is one input as a template shows it.
type field struct {
	Name, Type, Value, Autocomplete string
	Label, Help, Error              template.HTML
	Min, Max                        int // characters; 0 is no limit
}

// mistakes is what stands above a refused form.
type mistakes struct {
	Lead   template.HTML
	Fields []fieldMistake
}

type fieldMistake struct {
	Name string
	Text template.HTML
}

// form collects the fields of a page, their values, and what was wrong with
// them. Passwords never go back to the browser.
type form struct {
	texts    *catalogue
	values   func(name string) string
	faults   map[string]template.HTML // by field, as a sentence
	lead     template.HTML
	mistakes mistakes
}

// newForm makes a form of what was posted, or of the query on the first visit.
func newForm(c *catalogue, values func(name string) string) *form {
	return &form{texts: c, values: values, faults: map[string]template.HTML{}}
}

// refuse takes over the faults of fields that err carries.
func (f *form) refuse(err error) {
	f.lead = f.texts.say("mistakes.title")
	e, ok := errors.AsType[*access.Error](err)
	if !ok {
		return
	}
	faults, _ := e.Details["errors"].([]workspace.Fault)
	for _, fault := range faults {
		name := strings.TrimPrefix(fault.Pointer, "/")
		if f.faults[name] == "" {
			f.faults[name] = f.mistake(name, fault.Message)
		}
	}
}

// mistake says what is asked of a field, in the reader's language: the faults
// of package workspace are in English. A field without such a text shows its
// fault, marked as English for screen readers.
func (f *form) mistake(name, fault string) template.HTML {
	label := f.label(name)
	switch name {
	case "email":
		return f.texts.say("mistake.email", "field", label)
	case "password":
		return f.texts.say("mistake.password", "field", label, "min", workspace.MinPassword, "max", workspace.MaxPassword)
	case "name", "workspace":
		return f.texts.say("mistake.line", "field", label, "max", workspace.MaxProjectName)
	default:
		return f.texts.say("mistake.rule", "field", label, "rule", `<span lang="en">`+asHTML(fault)+`</span>`)
	}
}

// require refuses fields without text; ok is false if there is one.
func (f *form) require(names ...string) (ok bool) {
	for _, name := range names {
		if strings.TrimSpace(f.values(name)) == "" {
			f.faults[name] = f.texts.say("mistake.required", "field", f.label(name))
			f.lead = f.texts.say("mistakes.title")
		}
	}
	return len(f.faults) == 0
}

// input is the field of this name. Label and help are the texts field.NAME and
// field.NAME.help; the latter is left out if help is false.
func (f *form) input(name, kind, autocomplete string, most int, help bool) field {
	in := field{Name: name, Type: kind, Autocomplete: autocomplete, Max: most, Label: f.label(name), Error: f.faults[name]}
	if kind != "password" {
		in.Value = f.values(name)
	}
	if help {
		in.Help = f.texts.say("field." + name + ".help")
	}
	if in.Error != "" {
		f.mistakes.Fields = append(f.mistakes.Fields, fieldMistake{name, in.Error})
	}
	return in
}

func (f *form) label(name string) template.HTML { return f.texts.say("field." + name) }

// summary is what stands above the form. Ask for it after all fields.
func (f *form) summary() mistakes {
	f.mistakes.Lead = f.lead
	return f.mistakes
}

// nothing is the value of each field on the first visit.
func nothing(string) string { return "" }

// posted are the values of a form that was sent.
func posted(r *http.Request) func(string) string { return r.PostForm.Get }
