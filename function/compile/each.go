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

// each compiles forEach and forEachKey of a run; nil for a single run. forEach is compiled with the environment xr,
// which does not have each.
func (c compiler) each(r input.Run, xr *expression.Environment) *plan.ForEach {
	items, ok := r.Object["forEach"]
	key, keyed := r.Object["forEachKey"]

	if !ok {
		if keyed {
			c.add(field.Forbidden(r.Path.Child("forEachKey"), "only with forEach"))
		}

		return nil
	}

	outside := c
	outside.env = xr
	e := &plan.ForEach{Items: outside.compile(field.NewPath("forEach"), items)}

	if keyed {
		e.Key = c.compile(field.NewPath("forEachKey"), key)
	}

	path := r.Path.Child("forEach")

	switch is := e.Items.ItemType(); {
	case !e.Items.Is(expression.Object, expression.Array) || items == nil:
		c.add(field.Invalid(path, items, "must be a map, a list, or an expression that is one of them"))
	case !keyed && e.Items.Type() == expression.Array && is != "" && is != expression.String:
		c.add(field.Invalid(path, items, "is a list of type "+string(is)+", which needs forEachKey"))
	case keyed:
		c.typed(r.Path.Child("forEachKey"), e.Key, expression.String, expression.Integer, expression.Number)
	}

	return e
}

// Patterns of removal.atMost and atATime. The cost estimate of the API server does not allow such a rule in the schema.
var (
	limitOfRemoval = regexp.MustCompile(`^([0-9]{1,9}|(100|[1-9]?[0-9])%)$`)
	limitOfTurn    = regexp.MustCompile(`^([1-9][0-9]{0,8}|(100|[1-9][0-9]?)%)$`)
)

// atMost returns removal.atMost of a set; nil for none.
func (c compiler) atMost(r input.Run) *intstr.IntOrString {
	if r.Removal == nil {
		return nil
	}

	path := r.Path.Child("removal")
	if !r.IsSet() {
		c.add(field.Forbidden(path, "only with forEach"))
		return nil
	}

	return c.limit(path.Child("atMost"), manifest.Nested(r.Object, "removal", "atMost"), limitOfRemoval,
		"must be a number that is not negative, or a share such as 10%")
}

// atATime returns atATime of a set; nil for none.
func (c compiler) atATime(r input.Run) *intstr.IntOrString {
	limit, ok := r.Object["atATime"]
	path := r.Path.Child("atATime")

	switch {
	case !ok:
		return nil
	case !r.IsSet():
		c.add(field.Forbidden(path, "only with forEach"))
		return nil
	}

	return c.limit(path, limit, limitOfTurn, "must be 1 or more, or a share from 1% to 100%")
}

// limit parses a limit for the members of a set. It parses the value of the input, since the decoded field is not set
// for a number beyond int32.
func (c compiler) limit(path *field.Path, limit any, is *regexp.Regexp, must string) *intstr.IntOrString {
	if !is.MatchString(fmt.Sprint(limit)) {
		c.add(field.Invalid(path, limit, must))
		return nil
	}

	return new(intstr.Parse(fmt.Sprint(limit)))
}
