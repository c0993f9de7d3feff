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

// Limits of removal.atMost and atATime. An API server takes any rule for that in a schema for too expensive.
var (
	limitOfRemoval = regexp.MustCompile(`^([0-9]{1,9}|(100|[1-9]?[0-9])%)$`)
	limitOfTurn    = regexp.MustCompile(`^([1-9][0-9]{0,8}|(100|[1-9][0-9]?)%)$`)
)

// atMostOf a set.
func atMostOf(r input.Run) (*intstr.IntOrString, field.ErrorList) {
	if r.Removal == nil {
		return nil, nil
	}

	path := r.Path.Child("removal")
	if !r.IsSet() {
		return nil, field.ErrorList{field.Forbidden(path, "only with forEach")}
	}

	return limitOf(path.Child("atMost"), manifest.Nested(r.Object, "removal", "atMost"), limitOfRemoval,
		"must be a number that is not negative, or a share such as 10%")
}

// atATimeOf a set.
func atATimeOf(r input.Run) (*intstr.IntOrString, field.ErrorList) {
	limit, ok := r.Object["atATime"]
	path := r.Path.Child("atATime")

	switch {
	case !ok:
		return nil, nil
	case !r.IsSet():
		return nil, field.ErrorList{field.Forbidden(path, "only with forEach")}
	}

	return limitOf(path, limit, limitOfTurn, "must be 1 or more, or a share from 1% to 100%")
}

// limitOf members of a set, as it is written. The type lacks a number that is no int32.
func limitOf(path *field.Path, limit any, is *regexp.Regexp, must string) (*intstr.IntOrString, field.ErrorList) {
	if !is.MatchString(fmt.Sprint(limit)) {
		return nil, field.ErrorList{field.Invalid(path, limit, must)}
	}

	return new(intstr.Parse(fmt.Sprint(limit))), nil
}
