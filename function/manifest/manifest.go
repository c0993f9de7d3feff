// Package manifest reads, combines and compares Kubernetes objects as JSON: maps,
// lists, strings, booleans, nil and float64. Nothing of an object is changed.
package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Text returns the string in a field, or "".
func Text(object map[string]any, name string) string {
	s, _ := object[name].(string)
	return s
}

// Nested returns the field at a path; nil when there is none.
func Nested(object map[string]any, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return v
}

// NestedText returns the string at a path, or "".
func NestedText(object map[string]any, path ...string) string {
	s, _ := Nested(object, path...).(string)
	return s
}

// Name an object.
func Name(object map[string]any) string {
	return NestedText(object, "metadata", "name")
}

// Namespace an object; "" when it is cluster scoped.
func Namespace(object map[string]any) string {
	return NestedText(object, "metadata", "namespace")
}

// UID an object.
func UID(object map[string]any) string {
	return NestedText(object, "metadata", "uid")
}

// Annotation an object, or "".
func Annotation(object map[string]any, name string) string {
	return NestedText(object, "metadata", "annotations", name)
}

// NamespacedName returns the namespace and the name of an object.
func NamespacedName(object map[string]any) string {
	return Namespace(object) + "/" + Name(object)
}

// IsDeleted is true for an object that is being deleted.
func IsDeleted(object map[string]any) bool {
	return NestedText(object, "metadata", "deletionTimestamp") != ""
}

// Overlay returns a copy of b with the fields of a: objects are merged deeply, all
// else is replaced.
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

// Pick returns those of the named fields that an object has.
func Pick(object map[string]any, names ...string) map[string]any {
	out := map[string]any{}

	for _, n := range names {
		if v, ok := object[n]; ok {
			out[n] = v
		}
	}

	return out
}

// WithLeaves returns a copy of a JSON value in which another value stands for each that is no object and no list.
func WithLeaves(v any, other func(leaf any) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = WithLeaves(v[i], other)
		}

		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = WithLeaves(v[k], other)
		}

		return out
	}

	return other(v)
}

// WithIntegers returns a JSON value with its integral numbers as int64, as far as they are exact.
func WithIntegers(v any) any {
	return WithLeaves(v, func(leaf any) any {
		if n, ok := leaf.(float64); ok && n == math.Trunc(n) && math.Abs(n) <= MaxExact {
			return int64(n)
		}

		return leaf
	})
}

// MaxExact is the largest integer that no other one is rounded to in the doubles that requests and responses carry.
const MaxExact = 1<<53 - 1

// Canonical returns a value in a form that reflect.DeepEqual can compare: all
// numbers are float64, and a field that is null or an empty object is left out.
func Canonical(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		l := make([]any, len(v))
		for i := range v {
			l[i] = Canonical(v[i])
		}

		return l
	case map[string]any:
		var m map[string]any

		for k := range v {
			if c := Canonical(v[k]); c != nil {
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

// Equal is true for values with the same canonical form. It does not make these forms: most values that are compared
// are as large as an AnsibleRun.
func Equal(a, b any) bool {
	x, isObject := a.(map[string]any)
	y, also := b.(map[string]any)

	if (isObject || a == nil) && (also || b == nil) {
		for k := range x {
			if !Equal(x[k], y[k]) {
				return false
			}
		}

		for k := range y {
			if _, ok := x[k]; !ok && !Equal(nil, y[k]) {
				return false
			}
		}

		return true
	}

	list, isList := a.([]any)
	if other, also := b.([]any); isList && also {
		return slices.EqualFunc(list, other, Equal)
	}

	return !isObject && !isList && Canonical(a) == Canonical(b)
}

// Within is true when each field of the canonical form of a is in that of b, with the
// same value.
func Within(a, b any) bool {
	part, ok := a.(map[string]any)
	if !ok {
		return a == nil || Equal(a, b)
	}

	whole, _ := b.(map[string]any)

	for k := range part {
		if !Within(part[k], whole[k]) {
			return false
		}
	}

	return true
}

// Condition returns the condition of a type in the status of an object; nil when
// there is none.
func Condition(o map[string]any, typ string) map[string]any {
	list, _ := Nested(o, "status", "conditions").([]any)

	for i := range list {
		if c, _ := list[i].(map[string]any); c["type"] == typ {
			return c
		}
	}

	return nil
}

// IsCurrent is true for a condition that tells of the current generation of its
// object.
func IsCurrent(o, condition map[string]any) bool {
	return Canonical(condition["observedGeneration"]) == Canonical(Nested(o, "metadata", "generation"))
}

// Set returns the strings of a JSON list; nil when the value is no list.
func Set(v any) map[string]bool {
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

// Strings as JSON; nil for nil.
func Strings(m map[string]string) map[string]any {
	if m == nil {
		return nil
	}

	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}

	return out
}

// SortedKeys of a map. It allocates once, which slices.Sorted does not.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}

	slices.Sort(keys)

	return keys
}

// Show returns a JSON value for a message: a string in quotes, and at most 80
// characters of it.
func Show(v any) string {
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

// Fields that Crossplane has in XRs.
//
//nolint:gochecknoglobals // Go has no constant arrays.
var (
	// ReservedStatus are those in the status of any XR.
	ReservedStatus = [...]string{"claimConditionTypes", "conditions", "crossplane"}
	// LegacyStatus are those in the status of legacy XRs. In that of others, connectionDetails are the author's.
	LegacyStatus = [...]string{"claimConditionTypes", "conditions", "connectionDetails", "crossplane"}
	// LegacySpec are those in the spec of legacy XRs. Others have them below spec.crossplane.
	LegacySpec = [...]string{
		"claimRef", "compositeDeletePolicy", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector",
		"compositionSelector", "compositionUpdatePolicy", "environmentConfigRefs", "publishConnectionDetailsTo",
		"resourceRefs",
		"writeConnectionSecretToRef",
	}
)
