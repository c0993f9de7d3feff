package render

import (
	"context"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// maxResourceName of what expressions can refer to, in bytes. It is shown for each run
// that waits for it.
const maxResourceName = 253

// viewResources returns what expressions see of the resources that other steps
// compose.
func (c *Composition) viewResources(o Observed) map[string]any {
	v := map[string]any{}
	if !c.refers {
		return v
	}

	for name, resource := range o.Resources {
		// An AnsibleRun that no earlier step composes is, or was, one of this step.
		if c.unreferable(name) != nil || isUsage(resource) || isAnsibleRun(resource) && !o.Earlier[name] {
			continue
		}

		// What is reported there would change the inputs of runs.
		v[name] = without(viewObject(resource), "status")
	}

	return v
}

// unreferable says why expressions cannot refer to a composed resource of this name;
// nil when they can.
func (c *Composition) unreferable(name string) error {
	switch on := c.run(name); {
	case on != nil:
		return errors.Errorf("is a run of this input; write runs.%s", on.name)
	case name == ResourceConnection && len(c.details.names) > 0:
		return errors.New("is the Secret with the connectionDetails of this input")
	case name == "" || len(name) > maxResourceName || strings.ContainsAny(name, ", "):
		return errors.Errorf("cannot be referred to: the name must have 1 to %d bytes, and neither commas nor spaces", maxResourceName)
	}

	return nil
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

		for _, name := range manifest.SortedKeys(names) {
			if err := r.composition.unreferable(name); err != nil {
				problems = append(problems, invalid(t.Path(), errors.Wrapf(err, "resources[%.80q]", name)))
				continue
			}

			all[name] = all[name] || names[name]
		}
	}

	return all, problems
}

// unavailable returns what is waited for of these resources. Those that are not
// needed are only when they are there, or to be.
func (r *rendering) unavailable(names map[string]bool) []string {
	var waiting []string

	for _, name := range manifest.SortedKeys(names) {
		_, ok := r.data.Resources[name]
		o := r.observed.Resources[name]

		switch {
		case !ok && (names[name] || r.observed.Earlier[name]):
			waiting = append(waiting, "resource "+name+", which is not there yet")
		case !ok:
		case manifest.IsDeleted(o):
			waiting = append(waiting, "resource "+name+", which is being deleted")
		case !r.observed.available(name):
			waiting = append(waiting, "resource "+name+" ("+manifest.Text(o, "kind")+"), which is not ready")
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

	group, _, ok := strings.Cut(manifest.Text(resource, "apiVersion"), "/")
	typ := conditionReady

	if !ok || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") {
		typ = readyKinds[manifest.Text(resource, "kind")]
	}

	if typ == "" {
		return true
	}

	c := manifest.Condition(resource, typ)

	// Not all controllers say of which generation it tells.
	return manifest.Text(c, "status") == conditionTrue && (c["observedGeneration"] == nil || manifest.IsCurrent(resource, c))
}

// unheld reports what a run refers to and cannot hold until it is gone itself.
func (r *rendering) unheld(run *run, names map[string]bool) []expression.Problem {
	if !run.usages || run.object.apiVersion == apiVersionNamespaced {
		return nil
	}

	var problems []expression.Problem

	for _, name := range manifest.SortedKeys(names) {
		if namespace := manifest.Namespace(r.observed.Resources[name]); namespace != "" {
			problems = append(problems, invalid("usages", errors.Errorf(
				"Crossplane has no Usage of a namespaced object by a cluster-scoped one, so resource %s could be deleted before this run; set usages: false if that does no harm", name)))
		}
	}

	return problems
}

// unreferables reports expressions that refer to what they cannot refer to.
func (c *Composition) unreferables() field.ErrorList {
	var errs field.ErrorList

	check := func(path *field.Path, names map[string]bool) {
		for _, name := range manifest.SortedKeys(names) {
			if err := c.unreferable(name); names[name] && err != nil {
				errs = append(errs, field.Invalid(path, "resources."+name, err.Error()))
			}
		}
	}

	for _, run := range c.runs {
		check(run.path, run.resources())

		if run.readyWhen != nil {
			check(run.path, run.readyWhen.ResourceNames())
		}
	}

	for _, t := range c.reported() {
		check(field.NewPath(t.Path()), t.ResourceNames())
	}

	return errs
}

// resources of other steps that the run refers to: literal names (true), and
// expressions that compute them.
func (run *run) resources() map[string]bool {
	all := map[string]bool{}
	for _, t := range run.uses {
		maps.Copy(all, t.ResourceNames())
	}

	return all
}
