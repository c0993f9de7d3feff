package compile

import (
	"context"
	"maps"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
)

// A Plan is an input, compiled for XRs of one scope. It is safe for
// concurrent use.
type Plan struct {
	// Runs, each after those that it depends on.
	Runs []*Run
	// previousSets are the sets by the names of previous sets whose members they adopt.
	previousSets map[string]*Run
	// Locals that expressions see.
	Locals *expression.Locals
	// Referenced are the runs that expressions refer to, by name.
	Referenced map[string]bool
	// Status of the XR, if there is any.
	Status *expression.Template
	// Conditions of the XR.
	Conditions []ConditionTemplate
	// Schemas are the schemas of the status, if they are known.
	Schemas StatusSchemas
	// Connection are the connection details of the XR.
	Connection Connection
	// Required resources, each after those that it refers to.
	Required []RequiredResource
	// refused are mistakes for which the API server would refuse an AnsibleRun.
	refused field.ErrorList
	// ByResource are the runs by their resource names.
	ByResource map[string]*Run
	// ReadsResources is true when expressions refer to what other steps compose.
	ReadsResources bool
}

// RunOf returns the run that a composed resource comes from, also by a previous name of a
// set; nil when there is none.
func (c *Plan) RunOf(resource string) *Run {
	set, _, ok := Member(resource)
	if !ok {
		set = resource
	}

	if run := c.ByResource[set]; run != nil && run.Owns(resource) {
		return run
	}

	if !ok {
		return nil
	}

	return c.previousSets[set]
}

// A Run of the input, compiled.
type Run struct {
	Name string
	// path of the run in the input.
	path *field.Path
	// Resource is the composition resource name; of a set, what those of its
	// members start with.
	Resource string
	// Object is the AnsibleRun without what is computed.
	Object Object
	// When says whether the run is wanted: literally true for runs without a when.
	When *expression.Template
	// always is true for runs without a when.
	always bool
	// ReadyWhen says whether the run is ready once its AnsibleRun is; nil for runs that
	// always are then.
	ReadyWhen *expression.Template
	// ForEach is nil for a single run.
	ForEach *ForEach
	Variables
	// Inventory is nil when there is none, or only literal text.
	Inventory *Inventory
	// Templates are those of the AnsibleRun itself.
	Templates []*expression.Template
	// Uses are the templates that say what the run depends on.
	Uses []*expression.Template
	// Needs are the runs that this one depends on: true when it cannot be there
	// without the other one.
	Needs map[string]bool
	// sets are the runs of which this one depends on more than one member.
	sets map[string]bool
	// SameKey are the sets on which this set depends key by key: each member on the member
	// with the same key.
	SameKey map[string]bool
	// Usages is true for a run whose dependencies get Usages, which keep them until the run
	// is gone.
	Usages bool
	// Prune is false for a run that stays when it is not wanted any more.
	Prune bool
	// PreviousNames of the composed resource; nil when the input does not have the field.
	PreviousNames *expression.Template
	// AtMost is how many members of a set are removed at once; nil for any number.
	AtMost *intstr.IntOrString
}

// Schemas are the schemas of objects that expressions see, as far as they are known.
type Schemas struct {
	// XR is the schema of the XR; nil when it is not known.
	XR *expression.Schema
	// Resources that other steps compose, by composition resource name, with their
	// OpenAPI v3 schemas as far as they are known; nil when there may be any.
	Resources map[string]map[string]any
}

// itemKey matches the keys that items may have. A key becomes part of the name of a composed
// resource, and of a line of a condition.
var itemKey = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,127}$`)

// ForEach evaluates the items of a set of runs.
type ForEach struct {
	Items *expression.Template
	// key is nil when keys follow from the items.
	key *expression.Template
}

// An Item of a set.
type Item struct {
	Key   string
	value any
}

// Templates of the items and their keys; none for a single run.
func (e *ForEach) Templates() []*expression.Template {
	switch {
	case e == nil:
		return nil
	case e.key == nil:
		return []*expression.Template{e.Items}
	}

	return []*expression.Template{e.Items, e.key}
}

// AllKeys follows the resource name of a set in an entry of AnnotationDependsOn that means
// all members.
const AllKeys = "[]"

// Member returns the resource name of the set and the key of a composed
// resource, if it is the member of a set.
func Member(resource string) (set, key string, ok bool) {
	set, rest, ok := strings.Cut(resource, "[")
	key, closed := strings.CutSuffix(rest, "]")

	return set, key, ok && closed
}

// MemberName returns the composition resource name of the member of a set with a key.
func MemberName(set, key string) string { return set + "[" + key + "]" }

// Key returns the key of a composed resource that is a member of the set.
func (run *Run) Key(resource string) (string, bool) {
	set, key, ok := Member(resource)
	return key, ok && set == run.Resource
}

// Owns is true when the run renders the composed resource of a name.
func (run *Run) Owns(resource string) bool {
	if run.ForEach == nil {
		return run.Resource == resource
	}

	_, ok := run.Key(resource)

	return ok
}

// WhenPerItem is true for a set whose when refers to the item: each member is wanted or
// not by itself.
func (run *Run) WhenPerItem() bool { return run.ForEach != nil && run.When.Each() }

// Entry returns what AnnotationDependsOn of the run, or of its member with a key, has for
// another run.
func (run *Run) Entry(on *Run, key string) string {
	switch {
	case on.ForEach == nil:
		return on.Resource
	case run.SameKey[on.Name]:
		return MemberName(on.Resource, key)
	}

	return on.Resource + AllKeys
}

// Wanted evaluates when. It is true when the value is optional.none().
func (run *Run) Wanted(ctx context.Context, data expression.Data) (bool, []expression.Problem) {
	v, ok, problems := run.When.Evaluate(ctx, data)
	if len(problems) > 0 {
		return false, problems
	}

	wanted, isBool := v.(bool)
	if ok && !isBool {
		return false, []expression.Problem{{Path: "when", Kind: expression.Invalid, Message: "must be true or false"}}
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
