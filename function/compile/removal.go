package compile

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// removalBound is what removal.atMost can be. An API server takes any rule for that
// in a schema for too expensive.
var removalBound = regexp.MustCompile(`^([0-9]{1,9}|(100|[1-9]?[0-9])%)$`)

// atMostOf a set.
func atMostOf(t template) (*intstr.IntOrString, field.ErrorList) {
	removal, ok := t.object["removal"].(map[string]any)
	if !ok {
		return nil, nil
	}

	path := t.path.Child("removal")
	if _, ok := t.object["forEach"]; !ok {
		return nil, field.ErrorList{field.Forbidden(path, "only with forEach")}
	}

	text := fmt.Sprint(removal["atMost"])
	if !removalBound.MatchString(text) {
		return nil, field.ErrorList{field.Invalid(path.Child("atMost"), removal["atMost"], "must be a number that is not negative, or a share such as 10%")}
	}

	limit := intstr.Parse(text)

	return &limit, nil
}
