package api

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// object is a JSON object of the OpenAPI document.
type object map[string]any

// document writes the OpenAPI 3.1 document of the routes, from their declarations
// and the Go types of their bodies and answers.
func document(version string, routes []Route) ([]byte, error) {
	d := drawing{schemas: object{
		"error": object{
			"type": "object", "required": []string{"error"},
			"properties": object{"error": object{
				"type": "object", "required": []string{"code", "message"},
				"properties": object{
					"code":    object{"type": "string", "description": "Why; programs read this."},
					"message": object{"type": "string", "description": "What happened and what to do; people read this."},
					"fields":  object{"type": "object", "additionalProperties": object{"type": "string"}, "description": "What is wrong with which field."},
				},
			}},
		},
	}}
	paths := map[string]object{}
	for i := range routes {
		r := &routes[i]
		if paths[r.Path] == nil {
			paths[r.Path] = object{}
		}
		paths[r.Path][strings.ToLower(r.Method)] = d.operation(r)
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{"title": "osFoundry owner API", "version": version,
			"description": "What the web app, scripts and people's own programs ask for. Sign in for a cookie, or send a personal token: Authorization: Bearer osf_pat_…"},
		"paths": paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"session":        object{"type": "apiKey", "in": "cookie", "name": secureCookie, "description": "Named " + plainCookie + " where the address is plain http."},
				"personal_token": object{"type": "http", "scheme": "bearer"},
			},
		},
	}, json.Deterministic(true), jsontext.WithIndent("  "))
}

// drawing collects the named schemas.
type drawing struct{ schemas object }

func (d drawing) operation(r *Route) object {
	op := object{"operationId": r.Operation, "summary": r.Summary, "responses": d.responses(r), "security": securityOf(r.Caller)}
	if parameters := d.parameters(r); len(parameters) > 0 {
		op["parameters"] = parameters
	}
	if !r.takesNothing() {
		op["requestBody"] = object{"required": true, "content": object{"application/json": object{"schema": d.schema(r.in, true)}}}
	}
	return op
}

func securityOf(c Caller) []object {
	switch c {
	case Anyone:
		return []object{}
	case Browser:
		return []object{{"session": []string{}}}
	}
	return []object{{"session": []string{}}, {"personal_token": []string{}}}
}

func (d drawing) responses(r *Route) object {
	ok := object{"description": http.StatusText(r.Status)}
	if r.Operation == "event.stream" {
		ok["content"] = object{"text/event-stream": object{"schema": object{"type": "string"}}}
	} else if !r.answersNothing() {
		ok["content"] = object{"application/json": object{"schema": d.schema(r.out, false)}}
	}
	return object{
		strconv.Itoa(r.Status): ok,
		"default":              object{"description": "A refusal", "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/error"}}}},
	}
}

func (d drawing) parameters(r *Route) []object {
	var out []object
	for _, name := range r.wildcards() {
		out = append(out, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	query := func(name, doc string, schema object) {
		out = append(out, object{"name": name, "in": "query", "description": doc, "schema": schema})
	}
	if r.Paged {
		query("limit", "How many rows", object{"type": "integer", "minimum": 1, "maximum": maxLimit, "default": defaultLimit})
		query("cursor", "Where to go on: next_cursor of the page before", object{"type": "string"})
	}
	for _, f := range r.Filters {
		query(f.Name, f.Doc, f.schema())
	}
	if r.Method == http.MethodPost && !r.Alone {
		out = append(out, object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "minLength": 1, "maxLength": maxKey},
			"description": "A repeat with the same key and body gets the first answer"})
	}
	return out
}

func (q Query) schema() object {
	s := object{"type": "string"}
	for word := range strings.SplitSeq(q.Arg, ",") {
		switch key, arg, _ := strings.Cut(word, "="); key {
		case "enum":
			s["enum"] = strings.Split(arg, "|")
		case "format":
			s["format"] = arg
		}
	}
	return s
}

var (
	timeType = reflect.TypeFor[time.Time]()
	enums    = map[reflect.Type][]string{
		reflect.TypeFor[access.Role]():            {string(access.RoleOwner), string(access.RoleEditor), string(access.RoleViewer)},
		reflect.TypeFor[workspace.Status]():       {string(workspace.StatusActive), string(workspace.StatusPaused), string(workspace.StatusRevoked)},
		reflect.TypeFor[workspace.SessionType]():  {string(workspace.SessionAgent), string(workspace.SessionTeam), string(workspace.SessionLoop)},
		reflect.TypeFor[workspace.SessionState](): {string(workspace.SessionIdle), string(workspace.SessionQueued), string(workspace.SessionRunning), string(workspace.SessionWaiting), string(workspace.SessionArchived)},
		reflect.TypeFor[workspace.HandoffState](): {string(workspace.HandoffPending), string(workspace.HandoffAccepted), string(workspace.HandoffDeclined), string(workspace.HandoffCancelled)},
		reflect.TypeFor[workspace.TaskState]():    {string(workspace.TaskQueued), string(workspace.TaskRunning), string(workspace.TaskWaiting), string(workspace.TaskSucceeded), string(workspace.TaskFailed), string(workspace.TaskStopped)},
		reflect.TypeFor[workspace.RoundState]():   {string(workspace.RoundQueued), string(workspace.RoundRunning), string(workspace.RoundDone), string(workspace.RoundFailed), string(workspace.RoundStopped)},
		reflect.TypeFor[workspace.ProviderKind](): {string(workspace.ProviderOpenAI), string(workspace.ProviderAnthropic), string(workspace.ProviderCommand)},
	}
)

// schema is the JSON Schema of a Go type; structs are kept under their names and
// referred to. Bodies are closed, answers may grow.
func (d drawing) schema(t reflect.Type, body bool) object {
	if values := enums[t]; values != nil {
		return object{"type": "string", "enum": values}
	}
	switch {
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return d.schema(t.Elem(), body)
	case t.Kind() == reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem(), body)}
	case t.Kind() == reflect.Struct:
		return d.named(t, body)
	}
	return plainSchema(t)
}

func plainSchema(t reflect.Type) object {
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Map:
		return object{"type": "object"}
	}
	panic(fmt.Sprintf("api: a body or answer cannot hold a %s", t))
}

func (d drawing) named(t reflect.Type, body bool) object {
	name := schemaName(t)
	if d.schemas[name] == nil {
		d.schemas[name] = object{} // so that a type that holds itself ends
		d.schemas[name] = d.fields(t, body)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// schemaName is the type's name; a generic list is named after its items.
func schemaName(t reflect.Type) string {
	name, item, generic := strings.Cut(t.Name(), "[")
	if !generic {
		return name
	}
	item = strings.TrimSuffix(item, "]")
	return item[strings.LastIndex(item, ".")+1:] + name
}

func (d drawing) fields(t reflect.Type, body bool) object {
	properties, required := object{}, []string{}
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue // not on the wire
		}
		properties[name] = d.schema(f.Type, body)
		if option != "omitzero" && f.Type.Kind() == reflect.Pointer { // there, and perhaps null
			properties[name] = object{"anyOf": []object{d.schema(f.Type, body), {"type": "null"}}}
		}
		if option != "omitzero" {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	if body {
		s["additionalProperties"] = false
	}
	return s
}
