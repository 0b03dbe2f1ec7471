package probe

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/jsonschema-go/jsonschema"
)

// reasons are the keywords of the schema that refuse the arguments; none accepts
// them. The library stops at the first one that it meets, in no fixed order, so a
// refusal is looked at again: each argument alone, then the arguments as a whole.
// The library takes format for a remark, as JSON Schema 2020-12 does (Validation
// §7.2.1).
func reasons(raw jsontext.Value, arguments map[string]any) (all []Reason, err error) {
	if err := bounded(raw); err != nil {
		return nil, err
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema, lenient); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	first, err := refusedBy(&schema, arguments)
	if err != nil || first == "" {
		return nil, err
	}
	values := schema.CloneSchemas() // says of values alone, with all places that a $ref may name
	values.Required, values.AdditionalProperties, values.DependentRequired, values.MinProperties = nil, nil, nil, nil
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		value, given := arguments[name]
		if !given {
			continue
		}
		if keyword, err := refusedBy(values, map[string]any{name: value}); err == nil && keyword != "" {
			all = append(all, Reason{name, keyword})
		}
	}
	for _, whole := range wholes(&schema) {
		if keyword, err := refusedBy(whole, arguments); err == nil && keyword != "" {
			all = append(all, Reason{"", keyword})
		}
	}
	if len(all) == 0 {
		all = []Reason{{"", first}}
	}
	return all, nil
}

// wholes say of the arguments as a whole which must be there and which may.
func wholes(s *jsonschema.Schema) (all []*jsonschema.Schema) {
	names := map[string]*jsonschema.Schema{}
	for name := range s.Properties {
		names[name] = &jsonschema.Schema{}
	}
	all = append(all, &jsonschema.Schema{Schema: s.Schema, Required: s.Required})
	if s.AdditionalProperties != nil && len(s.PatternProperties) == 0 {
		all = append(all, &jsonschema.Schema{Schema: s.Schema, Properties: names, AdditionalProperties: s.AdditionalProperties.CloneSchemas()})
	}
	return append(all, &jsonschema.Schema{Schema: s.Schema, MinProperties: s.MinProperties, MaxProperties: s.MaxProperties, DependentRequired: s.DependentRequired})
}

// refusedBy is the keyword that refuses the instance; "" is none.
func refusedBy(s *jsonschema.Schema, instance map[string]any) (keyword string, err error) {
	defer func() {
		if r := recover(); r != nil { // the library asserts what a stranger's schema may not hold
			err = fmt.Errorf("the schema cannot be used: %v", r)
		}
	}()
	resolved, err := s.Resolve(nil)
	if err != nil {
		return "", fmt.Errorf("the schema cannot be used: %w", err)
	}
	err = resolved.Validate(instance)
	if err == nil {
		return "", nil
	}
	// Every level of the schema wraps the error of the one below in its place; the
	// innermost begins with the keyword.
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	text := err.Error()
	if strings.HasPrefix(text, "unexpected additional properties") {
		return "additionalProperties", nil
	}
	keyword, _, ok := strings.Cut(text, ":")
	keyword, _, _ = strings.Cut(keyword, "[") // dependentRequired["name"]
	if !ok || !known[keyword] {
		return "", fmt.Errorf("the schema cannot be used: %s", text)
	}
	return keyword, nil
}

// known are the keywords that the library names.
var known = map[string]bool{
	"type": true, "enum": true, "const": true, "multipleOf": true, "minimum": true, "maximum": true, "exclusiveMinimum": true, "exclusiveMaximum": true,
	"minLength": true, "maxLength": true, "pattern": true, "anyOf": true, "oneOf": true, "not": true, "contains": true, "minContains": true, "maxContains": true,
	"minItems": true, "maxItems": true, "uniqueItems": true, "minProperties": true, "maxProperties": true, "required": true, "dependentRequired": true,
}

// maxSchemas bounds the subschemas of one schema, those behind a $ref counted at
// each use: a schema of a page can mean more work than a computer has.
const maxSchemas = 100_000

// bounded refuses a schema that leads back to itself, or to another document, or
// that grows without measure: judging by it need not end.
func bounded(raw jsontext.Value) error {
	var root any
	if err := json.Unmarshal(raw, &root, lenient); err != nil {
		return fmt.Errorf("the schema cannot be read: %w", err)
	}
	if _, ok := root.(map[string]any); !ok {
		return errors.New("the schema is no object")
	}
	w := &refWalk{root: root, open: map[string]bool{}, size: map[string]int{}}
	_, err := w.visit("", root)
	return err
}

// refWalk goes through a schema along its members and references.
type refWalk struct {
	root any
	open map[string]bool // places that the walk is inside of
	size map[string]int  // subschemas of places that it has left
}

// visit returns how many values are at the place, with those that are referred to.
func (w *refWalk) visit(at string, v any) (size int, err error) {
	if w.open[at] {
		return 0, fmt.Errorf("the schema leads back to itself at #%s", at)
	}
	if size, seen := w.size[at]; seen {
		return size, nil
	}
	w.open[at] = true
	size = 1
	err = w.below(at, v, func(n int) { size = min(size+n, maxSchemas+1) })
	if err == nil && size > maxSchemas {
		err = fmt.Errorf("the schema stands for more than %d subschemas", maxSchemas)
	}
	delete(w.open, at)
	w.size[at] = size
	return size, err
}

// below takes every member for a schema, whatever it is: a property may have the
// name of any keyword.
func (w *refWalk) below(at string, v any, add func(int)) error {
	list, _ := v.([]any)
	for i, member := range list {
		if err := w.child(at+"/"+strconv.Itoa(i), member, add); err != nil {
			return err
		}
	}
	object, _ := v.(map[string]any)
	for name, member := range object {
		text, isText := member.(string)
		var err error
		switch {
		case isText && (name == "$ref" || name == "$dynamicRef"):
			err = w.follow(text, add)
		case isText && name == "$id" && at != "":
			err = errors.New("the schema holds another with an $id of its own")
		default:
			err = w.child(at+"/"+pointerToken(name), member, add)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *refWalk) child(at string, v any, add func(int)) error {
	n, err := w.visit(at, v)
	add(n)
	return err
}

// follow visits what a reference names: a JSON pointer into the same schema (RFC
// 6901 §6).
func (w *refWalk) follow(reference string, add func(int)) error {
	at, ok := strings.CutPrefix(reference, "#")
	if !ok || at != "" && !strings.HasPrefix(at, "/") || strings.Contains(at, "%") {
		return fmt.Errorf("the schema refers to %q, which is no place in it", shorten([]byte(reference)))
	}
	v := w.root
	for token := range strings.SplitSeq(strings.TrimPrefix(at, "/"), "/") {
		if at == "" {
			break
		}
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch inside := v.(type) {
		case map[string]any:
			v = inside[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(inside) {
				return fmt.Errorf("the schema refers to %q, which is not there", shorten([]byte(reference)))
			}
			v = inside[i]
		default:
			v = nil
		}
		if v == nil {
			return fmt.Errorf("the schema refers to %q, which is not there", shorten([]byte(reference)))
		}
	}
	return w.child(at, v, add)
}

func pointerToken(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
