package compile

import (
	"context"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/ansible"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A setting is a field of a run that is literal or computed. The schema of the input checks
// literal values.
type setting struct {
	types []expression.Type
	// check says what a computed value must be.
	check func(v any) error
}

// settings by the names of their fields.
var settings = map[string]setting{ //nolint:gochecknoglobals // Go has no constant maps.
	"runPolicy":          {types: []expression.Type{expression.String}, check: oneOf(string(common.ObserveAndDelete), string(common.CheckWhenObserve), string(common.RunOnChange))},
	"managementPolicies": {types: []expression.Type{expression.Array}, check: listOf(oneOf("Observe", "Create", "Update", "Delete", "LateInitialize", "*"))},
	"deletionPolicy":     {types: []expression.Type{expression.String}, check: oneOf("Orphan", "Delete")},
	"tags":               {types: []expression.Type{expression.Array}, check: listOf(isTag)},
	"skipTags":           {types: []expression.Type{expression.Array}, check: listOf(isTag)},
	"limit":              {types: []expression.Type{expression.String}, check: isLimit},
	"timeout":            {types: []expression.Type{expression.String}, check: isTimeout},
	"retryLimit":         {types: []expression.Type{expression.Integer, expression.Number}, check: between(1, math.MaxInt32)},
	"verbosity":          {types: []expression.Type{expression.Integer, expression.Number}, check: between(0, 5)}, //nolint:mnd // Ansible has no more.
}

// Names that people without trust may choose for options of Ansible. A limit that
// begins with @ is a file, and one with ~ a regular expression of Python.
var (
	tag   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:-]*$`)
	limit = regexp.MustCompile(`^[!&]?[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]-]*([,:][!&]?[A-Za-z0-9_*?\[][A-Za-z0-9_.*?\[\]-]*)*$`)
)

// maxLimit is how long a limit may be, in bytes. The system takes twice that of an
// option.
const maxLimit = 64 << 10

// settingsOf returns the settings of a run that hold expressions, by name.
func settingsOf(env *expression.Environment, t template) (map[string]*expression.Template, field.ErrorList) {
	var errs field.ErrorList

	all := map[string]*expression.Template{}

	for _, name := range manifest.SortedKeys(settings) {
		v, ok := t.object[name]
		if !ok || !holdsExpression(v) {
			continue
		}

		all[name], _ = env.Compile(field.NewPath(name), v)
		errs = append(errs, mistyped(t.path.Child(name), all[name], settings[name].types...)...)
	}

	return all, errs
}

// holdsExpression is true for a text, or a list with a text, that may hold an
// expression.
func holdsExpression(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, "${")
	case []any:
		return slices.ContainsFunc(v, holdsExpression)
	}

	return false
}

// set evaluates the settings. A setting whose value is optional.none() is left out.
func (o Object) set(ctx context.Context, data expression.Data) (Object, []expression.Problem) {
	if len(o.settings) == 0 {
		return o, nil
	}

	var problems []expression.Problem

	o.annotations, o.spec, o.parameters = maps.Clone(o.annotations), maps.Clone(o.spec), maps.Clone(o.parameters)

	for _, name := range manifest.SortedKeys(o.settings) {
		v, ok, ps := o.settings[name].Evaluate(ctx, data)
		problems = append(problems, ps...)

		if !ok || len(ps) > 0 {
			continue
		}

		if err := settings[name].check(v); err != nil {
			problems = append(problems, Invalid(name, err))
		}

		switch name {
		case "runPolicy":
			o.annotations[common.AnnotationRunPolicy] = v
		case "managementPolicies", "deletionPolicy":
			o.spec[name] = v
		default:
			o.parameters[name] = v
		}
	}

	o.parameters = stored(o.parameters)

	return o, problems
}

// oneOf checks that a value is one of these.
func oneOf(these ...string) func(any) error {
	return func(v any) error {
		if s, ok := v.(string); ok && slices.Contains(these, s) {
			return nil
		}

		return errors.Errorf("must be one of %s, and is %s", strings.Join(these, ", "), manifest.Show(v))
	}
}

// listOf checks all items of a list, which must not be empty: an empty list would mean
// something else to Ansible and to Crossplane.
func listOf(check func(any) error) func(any) error {
	const most = 1000

	return func(v any) error {
		list, ok := v.([]any)
		if !ok || len(list) == 0 || len(list) > most {
			return errors.Errorf("must be a list of 1 to %d items, or optional.none()", most)
		}

		for i := range list {
			if err := check(list[i]); err != nil {
				return errors.Wrapf(err, "[%d]", i)
			}
		}

		return nil
	}
}

// between checks that a value is an integer of a range.
func between(least, most float64) func(any) error {
	return func(v any) error {
		if n, ok := v.(float64); ok && n == math.Trunc(n) && n >= least && n <= most {
			return nil
		}

		return errors.Errorf("must be an integer from %.0f to %.0f, and is %s", least, most, manifest.Show(v))
	}
}

func isTag(v any) error {
	if s, ok := v.(string); ok && tag.MatchString(s) && len(s) <= ansible.MaxName {
		return nil
	}

	return errors.Errorf("must be a tag of letters, digits and _.:- that begins with a letter, a digit or _, and is %s", manifest.Show(v))
}

func isLimit(v any) error {
	if s, ok := v.(string); ok && len(s) <= maxLimit && limit.MatchString(s) {
		return nil
	}

	return errors.Errorf("must be names or patterns of hosts and groups, of letters, digits and _.-*?[] with , : & and ! between them, as in web:&eu, and is %s", manifest.Show(v))
}

func isTimeout(v any) error {
	if s, ok := v.(string); ok {
		if d, err := time.ParseDuration(s); err == nil && d >= 0 {
			return nil
		}
	}

	return errors.Errorf("must be a duration that is not negative, such as 20m, and is %s", manifest.Show(v))
}
