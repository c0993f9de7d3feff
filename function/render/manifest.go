package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// text returns a string field, or "".
func text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}

// nested returns the field at a path; nil when there is none.
func nested(object map[string]any, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return v
}

// nestedText returns the string at a path, or "".
func nestedText(object map[string]any, path ...string) string {
	s, _ := nested(object, path...).(string)
	return s
}

// nameOf an object.
func nameOf(object map[string]any) string {
	return nestedText(object, "metadata", "name")
}

// namespaceOf an object; "" when it is cluster scoped.
func namespaceOf(object map[string]any) string {
	return nestedText(object, "metadata", "namespace")
}

// uidOf an object.
func uidOf(object map[string]any) string {
	return nestedText(object, "metadata", "uid")
}

// annotationOf an object, or "".
func annotationOf(object map[string]any, name string) string {
	return nestedText(object, "metadata", "annotations", name)
}

// id returns the namespace and the name of an object.
func id(object map[string]any) string {
	return namespaceOf(object) + "/" + nameOf(object)
}

// isDeleted is true for an object that is being deleted.
func isDeleted(object map[string]any) bool {
	return nestedText(object, "metadata", "deletionTimestamp") != ""
}

// Overlay returns a over b: objects are merged deeply, all else is replaced.
func Overlay(b, a map[string]any) map[string]any {
	out := make(map[string]any, len(a)+len(b))
	maps.Copy(out, b)

	for k, v := range a {
		under, ok := out[k].(map[string]any)
		over, also := v.(map[string]any)

		if ok && also {
			v = Overlay(under, over)
		}

		out[k] = v
	}

	return out
}

// pick those fields that an object has.
func pick(object map[string]any, names ...string) map[string]any {
	out := map[string]any{}

	for _, n := range names {
		if v, ok := object[n]; ok {
			out[n] = v
		}
	}

	return out
}

// canonical returns a value such that equal ones compare equal: all numbers are
// float64, and neither null nor an empty object is different from nothing.
func canonical(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = canonical(v[i])
		}

		return l
	case map[string]any:
		var m map[string]any

		for k := range v {
			if c := canonical(v[k]); c != nil {
				if m == nil {
					m = map[string]any{}
				}

				m[k] = c
			}
		}

		if m != nil {
			return m
		}

		return nil
	}

	return v
}

// equal is true for values that are the same once they are canonical.
func equal(a, b any) bool {
	switch x := a.(type) {
	case nil:
		_, ok := b.(map[string]any)
		return b == nil || ok && equal(b, nil)
	case map[string]any:
		y, ok := b.(map[string]any)

		for k := range x {
			if !equal(x[k], y[k]) {
				return false
			}
		}

		for k := range y {
			if _, ok := x[k]; !ok && !equal(y[k], nil) {
				return false
			}
		}

		return ok || b == nil
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	}

	return reflect.DeepEqual(canonical(a), canonical(b))
}

// within is true when all of a value is in another one, once both are canonical.
func within(a, b any) bool {
	part, ok := a.(map[string]any)
	if !ok {
		return a == nil || equal(a, b)
	}

	whole, _ := b.(map[string]any)

	for k := range part {
		if !within(part[k], whole[k]) {
			return false
		}
	}

	return true
}

// conditionOf any object; nil when it has none of that type.
func conditionOf(o map[string]any, typ string) map[string]any {
	list, _ := nested(o, "status", "conditions").([]any)

	for i := range list {
		if c, _ := list[i].(map[string]any); c["type"] == typ {
			return c
		}
	}

	return nil
}

// isCurrent is true for a condition that tells of the current generation.
func isCurrent(o, condition map[string]any) bool {
	return canonical(condition["observedGeneration"]) == canonical(nested(o, "metadata", "generation"))
}

// setOf strings in a JSON list; nil when there is none.
func setOf(v any) map[string]bool {
	list, ok := v.([]any)
	if !ok {
		return nil
	}

	set := make(map[string]bool, len(list))

	for i := range list {
		s, _ := list[i].(string)
		set[s] = true
	}

	return set
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}

	slices.Sort(keys)

	return keys
}

// show a JSON value in a message: a text in quotes, and no more than there is room
// for.
func show(v any) string {
	const most = 80

	if s, ok := v.(string); ok {
		return fmt.Sprintf("%.*q", most, s)
	}

	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}

	return fmt.Sprintf("%.*s", most, b)
}
