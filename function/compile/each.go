package compile

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// compileEach of a run; nil for a single run.
func compileEach(env *expression.Environment, r input.Run) (*plan.ForEach, field.ErrorList) {
	items, ok := r.Object["forEach"]
	if !ok {
		if _, ok := r.Object["forEachKey"]; ok {
			return nil, field.ErrorList{field.Forbidden(r.Path.Child("forEachKey"), "only with forEach")}
		}

		return nil, nil
	}

	e := &plan.ForEach{}
	e.Items, _ = env.Compile(field.NewPath("forEach"), items)

	key, keyed := r.Object["forEachKey"]
	if keyed {
		e.Key, _ = env.Compile(field.NewPath("forEachKey"), key)
	}

	path := r.Path.Child("forEach")

	switch is := e.Items.ItemType(); {
	case !e.Items.Is(expression.Object, expression.Array) || items == nil:
		return e, field.ErrorList{field.Invalid(path, items, "must be a map, a list, or an expression that is one of them")}
	case !keyed && e.Items.Type() == expression.Array && is != "" && is != expression.String:
		return e, field.ErrorList{field.Invalid(path, items, "is a list of type "+string(is)+", which needs forEachKey")}
	case keyed:
		return e, mistyped(r.Path.Child("forEachKey"), e.Key, expression.String, expression.Integer, expression.Number)
	}

	return e, nil
}

// removalBound is what removal.atMost can be. An API server takes any rule for that
// in a schema for too expensive.
var removalBound = regexp.MustCompile(`^([0-9]{1,9}|(100|[1-9]?[0-9])%)$`)

// atMostOf a set.
func atMostOf(r input.Run) (*intstr.IntOrString, field.ErrorList) {
	if r.Removal == nil {
		return nil, nil
	}

	path := r.Path.Child("removal")
	if !r.IsSet() {
		return nil, field.ErrorList{field.Forbidden(path, "only with forEach")}
	}

	// A number that is no int32 was left out of the type.
	limit := manifest.Nested(r.Object, "removal", "atMost")
	if !removalBound.MatchString(fmt.Sprint(limit)) {
		return nil, field.ErrorList{
			field.Invalid(path.Child("atMost"), limit, "must be a number that is not negative, or a share such as 10%"),
		}
	}

	return new(intstr.Parse(fmt.Sprint(limit))), nil
}
