package cluster

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An Expectation of an object.
type Expectation struct {
	text string
	Met  func(u *unstructured.Unstructured) bool
}

// Condition expects a condition with a status, of the object's current
// generation if it says of which one it is.
func Condition(kind, status string) Expectation {
	return Expectation{
		text: fmt.Sprintf("condition %s %s", kind, status),
		Met: func(u *unstructured.Unstructured) bool {
			c := ConditionOf(u, kind)
			g, ok := c["observedGeneration"].(int64)
			return c["status"] == status && (!ok || g == u.GetGeneration())
		},
	}
}

// Reason expects a condition with a reason.
func Reason(kind, reason string) Expectation {
	return Expectation{
		text: fmt.Sprintf("condition %s with reason %s", kind, reason),
		Met:  func(u *unstructured.Unstructured) bool { return ConditionOf(u, kind)["reason"] == reason },
	}
}

// Message expects a condition with a message that contains a text.
func Message(kind, part string) Expectation {
	return Expectation{
		text: fmt.Sprintf("condition %s with %q in its message", kind, part),
		Met: func(u *unstructured.Unstructured) bool {
			m, _ := ConditionOf(u, kind)["message"].(string)
			return strings.Contains(m, part)
		},
	}
}

// Field expects a value in a field, given as in status.atProvider.outputs.
func Field(path string, want any) Expectation {
	return Expectation{
		text: fmt.Sprintf("%v in %s", want, path),
		Met:  func(u *unstructured.Unstructured) bool { return fmt.Sprint(Value(u, path)) == fmt.Sprint(want) },
	}
}

// That expects that a function returns true.
func That(text string, met func(u *unstructured.Unstructured) bool) Expectation {
	return Expectation{text: text, Met: met}
}

// LabelInUse expects that core keeps an object from being deleted because of a Usage.
func LabelInUse() Expectation {
	return That("the label of what is in use",
		func(u *unstructured.Unstructured) bool { return u.GetLabels()["crossplane.io/in-use"] == "true" })
}

// Value of an object, nil if it is not there.
func Value(u *unstructured.Unstructured, path string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	return v
}

// ConditionOf is a condition of an object, empty if it has none.
func ConditionOf(u *unstructured.Unstructured, kind string) map[string]any {
	cs, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range cs {
		if m, ok := c.(map[string]any); ok && m["type"] == kind {
			return m
		}
	}
	return nil
}
