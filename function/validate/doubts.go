package validate

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// doubt returns a warning about the value at a path.
func doubt(path string, value, detail string) *field.Error {
	return field.Invalid(field.NewPath(path), value, detail)
}

// foreign matches expressions of other functions, and expressions of this one without the $.
var foreign = regexp.MustCompile(`\{\{-? *\.(?:observed|desired|context)\b|\$\(xr\.|(?:^|[^$])\{ *xr\.`)

// doubts returns warnings about valid expressions of a plan that may not do what the author means.
func (u use) doubts(p *plan.Plan) field.ErrorList {
	doubts := u.of(nil, append(p.Reported(), p.Locals.Templates()...)...)

	for _, run := range p.Runs {
		for _, err := range u.of(run.When.Defaulted(), append(slices.Clone(run.Uses), run.When, run.ReadyWhen)...) {
			err.Field = run.Path.String() + "." + err.Field
			doubts = append(doubts, err)
		}
	}

	return doubts
}

// of returns warnings about templates. there has the paths of fields that are known to exist.
func (u use) of(there [][]string, templates ...*expression.Template) field.ErrorList {
	var doubts field.ErrorList

	for _, t := range templates {
		if t == nil {
			continue
		}

		for at, text := range t.Texts {
			if foreign.MatchString(text) {
				doubts = append(doubts, doubt(at, text, "is text, and no expression: these are written as in ${xr.spec.size}"))
			}
		}

		for at, path := range t.Needs {
			if err := u.doubtOf(at, path, there); err != nil {
				doubts = append(doubts, err)
			}
		}
	}

	return doubts
}

// doubtOf returns a warning about the value at a path that an expression at the field at needs; nil for none.
func (u use) doubtOf(at string, path []string, there [][]string) *field.Error {
	last, name := len(path)-1, strings.Join(path, ".")

	switch {
	case last == 0:
	case path[0] == "environment" && len(u.steps) > 0 && !u.operation &&
		!slices.ContainsFunc(u.steps[:u.at], func(s step) bool { return s.mentions("environment") }):
		return doubt(at, name, "is not there: no earlier step has anything to do with the environment; "+
			"put function-environment-configs before this step")
	case path[0] == "resources" && u.isLater(path[1]):
		return doubt(at, "resources."+path[1],
			"is composed by a later step, and its readiness checks are not known here: put that step before this one")
	case isOptional(u.openAPI, path) &&
		!slices.ContainsFunc(there, func(p []string) bool { return slices.Equal(p, path) }):
		return doubt(at, name, "is optional in the XRD, and what reads it waits while an XR lacks it: "+
			"write "+strings.Join(path[:last], ".")+".?"+path[last]+", or let the XRD require it, or give it a default")
	}

	return nil
}

// isLater is true for a resource that a later step composes.
func (u use) isLater(name string) bool {
	later := map[string]map[string]any{}

	for _, s := range u.steps {
		if s.index > u.at && s.group() == groupPatch {
			s.patched(nil, later)
		}
	}

	_, ok := later[name]

	return ok
}

// isOptional is true for a field in the spec of the XR that the schema declares, without requiring it or having a
// default for it.
func isOptional(schema map[string]any, path []string) bool {
	below, optional := path[1:], false
	if path[0] != "xr" || len(below) == 0 || below[0] != "spec" {
		return false
	}

	for i, name := range below {
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)

		property, ok := properties[name].(map[string]any)
		if !ok {
			return false
		}

		_, defaulted := property["default"]
		optional = i > 0 && !defaulted && !slices.Contains(required, any(name))
		schema = property
	}

	return optional
}
