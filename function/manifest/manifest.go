// Package manifest reads, merges and compares Kubernetes objects as JSON values: maps, lists, strings, booleans, nil
// and float64. It never modifies its arguments.
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

// Name returns metadata.name of an object.
func Name(object map[string]any) string {
	return NestedText(object, "metadata", "name")
}

// Namespace returns metadata.namespace of an object; empty for a cluster-scoped one.
func Namespace(object map[string]any) string {
	return NestedText(object, "metadata", "namespace")
}

// UID returns metadata.uid of an object.
func UID(object map[string]any) string {
	return NestedText(object, "metadata", "uid")
}

// Annotation returns the value of an annotation of an object, or "".
func Annotation(object map[string]any, name string) string {
	return NestedText(object, "metadata", "annotations", name)
}

// NamespacedName returns namespace/name of an object; the namespace is empty for a cluster-scoped one.
func NamespacedName(object map[string]any) string {
	return Namespace(object) + "/" + Name(object)
}

// IsDeleted is true for an object with a deletion timestamp.
func IsDeleted(object map[string]any) bool {
	return NestedText(object, "metadata", "deletionTimestamp") != ""
}

// Overlay returns a copy of b with the fields of a. Objects are merged deeply; other values of a replace those of b.
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

// Pick returns an object with only the named fields, as far as they are present.
func Pick(object map[string]any, names ...string) map[string]any {
	out := map[string]any{}

	for _, n := range names {
		if v, ok := object[n]; ok {
			out[n] = v
		}
	}

	return out
}

// WithLeaves returns a copy of a JSON value in which other(leaf) replaces each leaf: a value that is neither an object
// nor a list.
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

// WithIntegers returns a copy of a JSON value with its integral numbers up to MaxExact as int64.
func WithIntegers(v any) any {
	return WithLeaves(v, func(leaf any) any {
		if n, ok := leaf.(float64); ok && n == math.Trunc(n) && math.Abs(n) <= MaxExact {
			return int64(n)
		}

		return leaf
	})
}

// MaxExact is the largest integer up to which a float64 has every integer. Requests and responses carry numbers as
// float64.
const MaxExact = 1<<53 - 1

// Canonical returns a copy of a JSON value that reflect.DeepEqual can compare: all numbers are float64, and a field
// that is null or an empty object is left out.
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

// Equal is true for values with the same canonical form. It does not build the canonical forms, since most values are
// as large as an AnsibleRun.
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

// Within is true when b has each field of a with the same value, both in canonical form.
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

// Condition returns the entry of status.conditions with a type; nil when there is none.
func Condition(o map[string]any, typ string) map[string]any {
	list, _ := Nested(o, "status", "conditions").([]any)

	for i := range list {
		if c, _ := list[i].(map[string]any); c["type"] == typ {
			return c
		}
	}

	return nil
}

// IsCurrent is true for a condition with the current generation of its object as its observedGeneration.
func IsCurrent(o, condition map[string]any) bool {
	return Canonical(condition["observedGeneration"]) == Canonical(Nested(o, "metadata", "generation"))
}

// Set returns the strings of a JSON list as a set; nil when the value is not a list.
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

// Strings returns a map of strings as a JSON object; nil for nil.
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

// SortedKeys returns the keys of a map, sorted. It allocates once, unlike slices.Sorted.
func SortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}

	slices.Sort(keys)

	return keys
}

// Show returns a JSON value for a message, cut after 80 characters. A string is quoted.
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

// Fields of XRs that Crossplane owns.
//
//nolint:gochecknoglobals // Go has no constant arrays.
var (
	// ReservedStatus has the fields in the status of any XR.
	ReservedStatus = [...]string{"claimConditionTypes", "conditions", "crossplane"}
	// LegacyStatus has the fields in the status of legacy XRs. In other XRs, status.connectionDetails belongs to the
	// author of the XRD.
	LegacyStatus = [...]string{"claimConditionTypes", "conditions", "connectionDetails", "crossplane"}
	// LegacySpec has the fields in the spec of legacy XRs. Other XRs have them below spec.crossplane.
	LegacySpec = [...]string{
		"claimRef", "compositeDeletePolicy", "compositionRef", "compositionRevisionRef", "compositionRevisionSelector",
		"compositionSelector", "compositionUpdatePolicy", "environmentConfigRefs", "publishConnectionDetailsTo",
		"resourceRefs",
		"writeConnectionSecretToRef",
	}
)
