package tool

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// argumentsOf derives the closed JSON Schema of a tool's arguments from the Go
// struct that receives them, so that both are declared once, where the tool is.
//
// Every field has a json tag; a field is required unless that tag says omitzero.
// The tag "arg" narrows the value and "each" the members of a list, as
// comma-separated words:
//
//	min=1 max=100      of an integer
//	len=8..64 len=..64 of a string, in Unicode code points
//	items=1..20        of a list
//	enum=a|b           one of these
//	format=date-time   RFC 3339
//
// The tag "doc" is the description. Misspelt tags are a panic at start.
func argumentsOf(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: closed()}
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			panic(fmt.Sprintf("tool: field %s.%s has no json name", t, f.Name))
		}
		p := valueOf(f.Type)
		narrow(p, f.Tag.Get("arg"))
		if each := f.Tag.Get("each"); each != "" {
			narrow(p.Items, each)
		}
		p.Description = f.Tag.Get("doc")
		s.Properties[name] = p
		s.PropertyOrder = append(s.PropertyOrder, name)
		if option != "omitzero" {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// closed is the schema that nothing satisfies: additionalProperties false.
func closed() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func valueOf(t reflect.Type) *jsonschema.Schema {
	switch t.Kind() {
	case reflect.Pointer:
		return valueOf(t.Elem())
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	case reflect.Int64:
		return &jsonschema.Schema{Type: "integer"}
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: valueOf(t.Elem())}
	case reflect.Struct:
		return argumentsOf(t)
	}
	panic(fmt.Sprintf("tool: an argument cannot be a %s", t))
}

func narrow(s *jsonschema.Schema, tag string) {
	if tag == "" {
		return
	}
	for word := range strings.SplitSeq(tag, ",") {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "min":
			s.Minimum = number(value)
		case "max":
			s.Maximum = number(value)
		case "len":
			s.MinLength, s.MaxLength = span(value)
		case "items":
			s.MinItems, s.MaxItems = span(value)
		case "enum":
			for one := range strings.SplitSeq(value, "|") {
				s.Enum = append(s.Enum, one)
			}
		case "format":
			s.Format = value
		default:
			panic(fmt.Sprintf("tool: unknown word %q in an argument's tag", word))
		}
	}
}

func number(s string) *float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic(fmt.Sprintf("tool: %q is no number", s))
	}
	return &n
}

func span(s string) (low, high *int) {
	a, b, found := strings.Cut(s, "..")
	if !found {
		panic(fmt.Sprintf("tool: %q is no span", s))
	}
	return whole(a), whole(b)
}

func whole(s string) *int {
	if s == "" {
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(fmt.Sprintf("tool: %q is no number", s))
	}
	return &n
}
