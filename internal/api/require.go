package api

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/osfoundry/osfoundry/internal/access"
	"github.com/osfoundry/osfoundry/internal/workspace"
)

// requireFields refuses a body in which a field is left out, or null, that its Go
// type does not mark omitzero: what was forgotten must not pass for empty. Nor
// must a null in a list.
func requireFields(t reflect.Type, body []byte) error {
	var loose any
	if err := json.Unmarshal(body, &loose); err != nil {
		return err // the strict reader has read it before
	}
	faults := missingFields(t, loose, "")
	if len(faults) == 0 {
		return nil
	}
	return access.Refuse(access.InvalidArguments, "%s %s.", faults[0].Pointer, faults[0].Message).With("errors", faults)
}

func missingFields(t reflect.Type, v any, at string) (faults []workspace.Fault) {
	switch t.Kind() {
	case reflect.Slice:
		list, _ := v.([]any)
		for i, item := range list {
			place := at + "/" + strconv.Itoa(i)
			if item == nil {
				faults = append(faults, workspace.Fault{Pointer: place, Message: "must not be null"})
				continue
			}
			faults = append(faults, missingFields(t.Elem(), item, place)...)
		}
	case reflect.Pointer:
		return missingFields(t.Elem(), v, at)
	case reflect.Struct:
		m, ok := v.(map[string]any)
		if !ok || t == timeType {
			return nil
		}
		return missingMembers(t, m, at)
	}
	return faults
}

func missingMembers(t reflect.Type, m map[string]any, at string) (faults []workspace.Fault) {
	for f := range t.Fields() {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		if m[name] != nil {
			faults = append(faults, missingFields(f.Type, m[name], at+"/"+name)...)
		} else if option != "omitzero" {
			faults = append(faults, workspace.Fault{Pointer: at + "/" + name, Message: "is required"})
		}
	}
	return faults
}
