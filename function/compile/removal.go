package compile

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// removalBound is what removal.atMost can be. An API server takes any rule for that
// in a schema for too expensive.
var removalBound = regexp.MustCompile(`^([0-9]{1,9}|(100|[1-9]?[0-9])%)$`)

// atMostOf a set.
func atMostOf(t template) (*intstr.IntOrString, field.ErrorList) {
	if t.Removal == nil {
		return nil, nil
	}

	path := t.path.Child("removal")
	if !isSet(t.object) {
		return nil, field.ErrorList{field.Forbidden(path, "only with forEach")}
	}

	// A number that is no int32 was left out of the type.
	limit := manifest.Nested(t.object, "removal", "atMost")
	if !removalBound.MatchString(fmt.Sprint(limit)) {
		return nil, field.ErrorList{field.Invalid(path.Child("atMost"), limit, "must be a number that is not negative, or a share such as 10%")}
	}

	return new(intstr.Parse(fmt.Sprint(limit))), nil
}
