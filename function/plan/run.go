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

// A Run is a run of the input, compiled.
type Run struct {
	// Name is the composition resource name of a single run. Of a set, it is the part before the key, see MemberName.
	Name string
	// Path is the path of the run in the input.
	Path *field.Path
	// Object is the AnsibleRun.
	Object Object
	// When says whether the run is wanted. It is literally true for a run without when.
	When *expression.Template
	// ReadyWhen says whether the run is ready when its AnsibleRun is; nil when it always is.
	ReadyWhen *expression.Template
	// ForEach is nil for a single run.
	ForEach *ForEach
	// Variables are the variables of the content.
	Variables Variables
	// Templates are the templates in the AnsibleRun.
	Templates []*expression.Template
	// Uses are the templates from which the dependencies of the run follow.
	Uses []*expression.Template
	// Needs are the runs that this one depends on. A run is true when this one cannot exist without it.
	Needs map[string]bool
	// SameKey has the sets of Needs on which this set depends key by key: each member only on the member with its key.
	SameKey map[string]bool
	// Usages is true when Usages protect the dependencies until the run is deleted.
	Usages bool
	// Referenced is true for a run that expressions refer to, even if they do not need it.
	Referenced bool
	// Published is true for a run with a Secret for its connection details, since an expression refers to them.
	Published bool
	// Prune is false for a run with an AnsibleRun that stays when it is no longer wanted.
	Prune bool
	// PreviousNames are previous names of the composed resource; nil when the input does not have the field.
	PreviousNames *expression.Template
	// New is true for a run with an empty list of previousNames: it has no other name in any XR.
	New bool
	// AtMost limits how many members of a set are removed at once; nil for any number.
	AtMost *intstr.IntOrString
	// AtATime limits how many members of a set change at a time; nil for any number.
	AtATime *intstr.IntOrString
}

// APIVersion returns the API version of the AnsibleRun.
func (run *Run) APIVersion() string { return manifest.Text(run.Object, "apiVersion") }

// ScaledLimit returns a limit, which may be a percentage, as a number of members of a set with a size. It returns 0 for
// an invalid limit.
func ScaledLimit(limit intstr.IntOrString, size int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&limit, size, false)
	if err != nil {
		return 0
	}

	return n
}

// Key returns the key of a composed resource; false when it is not a member of the set.
func (run *Run) Key(resource string) (string, bool) {
	set, key, ok := Member(resource)
	return key, ok && set == run.Name
}

// Owns is true for the composition resource name of the run, or of a member of the set.
func (run *Run) Owns(resource string) bool {
	if run.ForEach == nil {
		return run.Name == resource
	}

	_, ok := run.Key(resource)

	return ok
}

// mayBePreviousName is true for a name that an expression in previousNames of a set may return.
func (run *Run) mayBePreviousName(name string) bool {
	return run.ForEach != nil && run.PreviousNames != nil &&
		slices.ContainsFunc(run.PreviousNames.Items, func(t *expression.Template) bool { return t.MayBe(name) })
}

// WhenPerItem is true for a set with a when that refers to each: it is evaluated for each member.
func (run *Run) WhenPerItem() bool { return run.ForEach != nil && run.When.Each }

// Entry returns the entry for another run in AnnotationDependsOn of the run, or of its member with a key.
func (run *Run) Entry(on *Run, key string) string {
	switch {
	case on.ForEach == nil:
		return on.Name
	case run.SameKey[on.Name]:
		return MemberName(on.Name, key)
	}

	return on.Name + ansiblerun.AllKeys
}

// Wanted returns the value of when; true for optional.none().
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

// Resources returns the names of resources of other steps as the run writes them: literal names, which are true, and
// expressions that compute names.
func (run *Run) Resources() map[string]bool {
	all := map[string]bool{}
	for _, t := range run.Uses {
		maps.Copy(all, t.ResourceNames())
	}

	return all
}

// MayHaveRendered is true for an AnsibleRun with all literal values of the content, hosts and variables of the run.
func (run *Run) MayHaveRendered(o map[string]any) bool {
	compared := append(ansiblerun.ContentFields[:],
		"project", "hosts", "limit", "env", "inventories", "inventoryInline", "varFiles")
	parameters, _ := manifest.Nested(run.Object, "spec", "forProvider").(map[string]any)
	was, _ := manifest.Nested(o, "spec", "forProvider").(map[string]any)

	if !matches(manifest.Nested(run.Object, "spec", "providerConfigRef", "name"),
		manifest.Nested(o, "spec", "providerConfigRef", "name")) ||
		!matches(manifest.Pick(parameters, compared...), manifest.Pick(was, compared...)) {
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
