package plan

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// A Run of the input, compiled.
type Run struct {
	// Name is also the composition resource name; of a set, what those of its members start with.
	Name string
	// Path of the run in the input.
	Path *field.Path
	// Object is the AnsibleRun.
	Object Object
	// When says whether the run is wanted: literally true for runs without a when.
	When *expression.Template
	// ReadyWhen says whether the run is ready once its AnsibleRun is; nil for runs that
	// always are then.
	ReadyWhen *expression.Template
	// ForEach is nil for a single run.
	ForEach *ForEach
	// Variables that the content gets.
	Variables Variables
	// Templates are those of the AnsibleRun itself.
	Templates []*expression.Template
	// Uses are the templates that say what the run depends on.
	Uses []*expression.Template
	// Needs are the runs that this one depends on: true when it cannot be there
	// without the other one.
	Needs map[string]bool
	// SameKey are the sets on which this set depends key by key: each member on the member
	// with the same key.
	SameKey map[string]bool
	// Usages is true for a run if its dependencies get Usages, which keep them until the run is gone.
	Usages bool
	// Referenced is true for a run that expressions refer to, also where they can do without it.
	Referenced bool
	// Published is true for a run with a Secret for its connection details: an expression refers to them.
	Published bool
	// Prune is false for a run that stays when it is not wanted any more.
	Prune bool
	// PreviousNames of the composed resource; nil when the input does not have the field.
	PreviousNames *expression.Template
	// New is true for a run with previousNames that are an empty list: no XR has it under another name.
	New bool
	// AtMost is how many members of a set are removed at once; nil for any number.
	AtMost *intstr.IntOrString
	// AtATime is how many members of a set change at a time; nil for any number.
	AtATime *intstr.IntOrString
}

// APIVersion of the AnsibleRun.
func (run *Run) APIVersion() string { return manifest.Text(run.Object, "apiVersion") }

// Share returns how many members of a set of some size a limit allows; 0 for a limit that cannot be read.
func Share(limit intstr.IntOrString, size int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&limit, size, false)
	if err != nil {
		return 0
	}

	return n
}

// Key returns the key of a composed resource that is a member of the set.
func (run *Run) Key(resource string) (string, bool) {
	set, key, ok := Member(resource)
	return key, ok && set == run.Name
}

// Owns is true when the run renders the composed resource of a name.
func (run *Run) Owns(resource string) bool {
	if run.ForEach == nil {
		return run.Name == resource
	}

	_, ok := run.Key(resource)

	return ok
}

// mayHaveHad is true for a set of which a member may have had this name: it looks like one
// of the previous names.
func (run *Run) mayHaveHad(name string) bool {
	return run.ForEach != nil && run.PreviousNames != nil &&
		slices.ContainsFunc(run.PreviousNames.Items, func(t *expression.Template) bool { return t.MayBe(name) })
}

// WhenPerItem is true for a set with a when that refers to the item: each member is wanted or not by itself.
func (run *Run) WhenPerItem() bool { return run.ForEach != nil && run.When.Each }

// Entry returns what AnnotationDependsOn of the run, or of its member with a key, has for
// another run.
func (run *Run) Entry(on *Run, key string) string {
	switch {
	case on.ForEach == nil:
		return on.Name
	case run.SameKey[on.Name]:
		return MemberName(on.Name, key)
	}

	return on.Name + ansiblerun.AllKeys
}

// Wanted evaluates when. It is true when the value is optional.none().
func (run *Run) Wanted(ctx context.Context, data expression.Data) (bool, []expression.Problem) {
	v, ok, problems := run.When.Evaluate(ctx, data)
	if len(problems) > 0 {
		return false, problems
	}

	wanted, isBool := v.(bool)
	if ok && !isBool {
		return false, []expression.Problem{expression.InvalidAt("when",
			errors.Errorf("must be true or false, and is %s", manifest.Show(v)))}
	}

	return wanted || !ok, nil
}

// Resources returns what the run writes for resources of other steps: names, which are true,
// and expressions that compute names.
func (run *Run) Resources() map[string]bool {
	all := map[string]bool{}
	for _, t := range run.Uses {
		maps.Copy(all, t.ResourceNames())
	}

	return all
}

// CouldBe is true for an AnsibleRun that the run may have rendered: with all literal values
// of its content, hosts and variables.
func (run *Run) CouldBe(o map[string]any) bool {
	compared := append(ansiblerun.ContentFields[:],
		"project", "hosts", "limit", "env", "inventories", "inventoryInline", "varFiles")
	parameters, _ := manifest.Nested(run.Object, "spec", "forProvider").(map[string]any)
	was, _ := manifest.Nested(o, "spec", "forProvider").(map[string]any)

	if !couldBe(manifest.Nested(run.Object, "spec", "providerConfigRef", "name"),
		manifest.Nested(o, "spec", "providerConfigRef", "name")) ||
		!couldBe(manifest.Pick(parameters, compared...), manifest.Pick(was, compared...)) {
		return false
	}

	vars, _ := was["vars"].(map[string]any)
	unsafe, _ := was["unsafeVars"].(map[string]any)
	all := manifest.Overlay(vars, nil)
	maps.Copy(all, unsafe)

	for name, t := range run.Variables.Vars {
		v, ok := all[name]
		if !ok && !t.Computed || ok && !t.MayBe(v) {
			return false
		}

		delete(all, name)
	}

	return len(all) == 0 || len(run.Variables.From) > 0
}
