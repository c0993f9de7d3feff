package render

import (
	"context"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// viewResources returns what expressions see of the resources that other steps
// compose.
func (c *Composition) viewResources(o Observed) map[string]any {
	v := map[string]any{}
	if !c.refers {
		return v
	}

	for name, resource := range o.Resources {
		// The function's own Secret is nobody's to choose.
		if c.run(name) == nil && !isUsage(resource) && (name != ResourceConnection || len(c.details.names) == 0) {
			o, _ := viewObject(resource).(map[string]any)
			// What is reported there would change the inputs of runs.
			v[name] = without(o, fieldStatus)
		}
	}

	return v
}

// refersTo returns the resources of other steps that templates refer to, by
// composition resource name: true for those that they need.
func (r *rendering) refersTo(ctx context.Context, data expression.Data, templates ...*expression.Template) (map[string]bool, []expression.Problem) {
	if !r.composition.refers {
		return nil, nil
	}

	all := map[string]bool{}

	var problems []expression.Problem

	for _, t := range templates {
		names, ps := t.Resources(ctx, data)
		problems = append(problems, ps...)

		for _, name := range sortedKeys(names) {
			all[name] = all[name] || names[name]

			if strings.ContainsAny(name, ", ") {
				problems = append(problems, invalid(t.Path(), errors.Errorf("a run cannot refer to resource %q, which has a comma or a space in its name", name)))
			}
		}
	}

	return all, problems
}

// unavailable returns what is waited for of these resources. Those that are not
// needed are only when they are there, or to be.
func (r *rendering) unavailable(names map[string]bool) []string {
	var waiting []string

	for _, name := range sortedKeys(names) {
		_, ok := r.data.Resources[name]
		o := r.observed.Resources[name]

		switch {
		case !ok && (names[name] || r.observed.Earlier[name]):
			waiting = append(waiting, "resource "+name+", which is not there yet")
		case !ok:
		case isDeleted(o):
			waiting = append(waiting, "resource "+name+", which is being deleted")
		case !r.observed.available(name):
			waiting = append(waiting, "resource "+name+" ("+text(o, fieldKind)+"), which is not ready")
		}
	}

	return waiting
}

// readyKinds of Kubernetes have a condition that says when they are ready. Others of
// its own kinds are when they are there.
var readyKinds = map[string]string{ //nolint:gochecknoglobals // Go has no constant maps.
	"Deployment": "Available",
	"Job":        "Complete",
	"Pod":        conditionReady,
}

// available is true for a composed resource that is ready: as an earlier step says,
// or by its condition.
func (o Observed) available(name string) bool {
	if ready, ok := o.Ready[name]; ok {
		return ready
	}

	resource := o.Resources[name]
	if isAnsibleRun(resource) {
		return isReady(resource)
	}

	group, _, ok := strings.Cut(text(resource, fieldAPIVersion), "/")
	typ := conditionReady

	if !ok || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		typ = readyKinds[text(resource, fieldKind)]
	}

	if typ == "" {
		return true
	}

	c := conditionOf(resource, typ)

	// Not all controllers say of which generation it tells.
	return text(c, fieldStatus) == conditionTrue && (c["observedGeneration"] == nil || isCurrent(resource, c))
}

// unheld reports what a run refers to and cannot hold until it is gone itself.
func (r *rendering) unheld(run *run, names map[string]bool) []expression.Problem {
	if !run.usages || run.object.apiVersion == apiVersionNamespaced {
		return nil
	}

	var problems []expression.Problem

	for _, name := range sortedKeys(names) {
		if namespace, _, _ := unstructured.NestedString(r.observed.Resources[name], fieldMetadata, fieldNamespace); namespace != "" {
			problems = append(problems, invalid("usages", errors.Errorf(
				"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so resource %s could be deleted before this run; set usages: false if that does no harm", name)))
		}
	}

	return problems
}

// ownResources reports expressions that refer to runs as if another step composed
// them.
func (c *Composition) ownResources() field.ErrorList {
	var errs field.ErrorList

	for _, run := range c.runs {
		for _, name := range sortedKeys(run.resources()) {
			if on := c.run(name); on != nil {
				errs = append(errs, field.Invalid(run.path, "resources."+name, "is a run of this input; write runs."+on.name))
			}
		}
	}

	return errs
}

// resources of other steps that the run refers to, as they are written.
func (run *run) resources() map[string]bool {
	all := map[string]bool{}
	for _, t := range run.uses {
		maps.Copy(all, t.ResourceNames())
	}

	return all
}
