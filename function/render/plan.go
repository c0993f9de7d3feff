package render

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
	runs []*run
	// previousSets are the sets that members of others belong to by their previous names.
	previousSets map[string]*run
	// locals that expressions see.
	locals *expression.Locals
	// referenced are the runs that expressions refer to, by name.
	referenced map[string]bool
	// Status of the XR, if there is any.
	status *expression.Template
	// conditions of the XR.
	conditions []xrCondition
	// schemas are the schemas of the status, if they are known.
	schemas statusSchemas
	// connection are the connection details of the XR.
	connection connection
	// Required resources, each after those that it refers to.
	required []required
	// refused is what the API server would refuse of the AnsibleRuns.
	refused field.ErrorList
	// byResource are the runs by their resource names.
	byResource map[string]*run
	// readsResources is true when expressions refer to what other steps compose.
	readsResources bool
}

// runOf that a composed resource comes from, also by an earlier name of a set; nil for
// none.
func (c *Plan) runOf(resource string) *run {
	set, _, ok := member(resource)
	if !ok {
		set = resource
	}

	if run := c.byResource[set]; run != nil && run.owns(resource) {
		return run
	}

	if !ok {
		return nil
	}

	return c.previousSets[set]
}

// A run of the input, compiled.
type run struct {
	name string
	// path of the run in the input.
	path *field.Path
	// resource is the composition resource name; of a set, what those of its
	// members start with.
	resource string
	// object is the AnsibleRun without what is computed.
	object object
	// when says whether the run is wanted; nothing does for runs that always
	// are.
	when *expression.Template
	// always is true for runs without a when.
	always bool
	// readyWhen says whether a run is ready whose AnsibleRun is; nil for those that
	// always are.
	readyWhen *expression.Template
	// each is nil for a single run.
	each *each
	variables
	// inventory is nil when there is none, or only literal text.
	inventory *inventory
	// templates are those of the AnsibleRun itself.
	templates []*expression.Template
	// uses are the templates that say what the run depends on.
	uses []*expression.Template
	// needs are the runs that this one depends on: true when it cannot be there
	// without the other one.
	needs map[string]bool
	// sets are the runs of which this one depends on more than one member.
	sets map[string]bool
	// sameKey are the sets each of whose members one of this set depends on: that of
	// the same key.
	sameKey map[string]bool
	// usages hold what this run depends on until this run is gone.
	usages bool
	// prune is false for a run that stays when it is not wanted any more.
	prune bool
	// previousNames names of the composed resource; nil when nothing is said of them.
	previousNames *expression.Template
	// atMost so many members of a set go at once; nil for any number.
	atMost *intstr.IntOrString
}

// Schemas are what is known of what expressions see.
type Schemas struct {
	// XR, unless it is nil.
	XR *expression.Schema
	// Resources that other steps compose, by composition resource name, with their
	// OpenAPI v3 schemas as far as they are known; nil when there may be any.
	Resources map[string]map[string]any
}

// itemKey is what the key of an item looks like. It becomes part of the name of
// a composed resource, and of a line of a condition.
var itemKey = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,127}$`)

// each says what a set of runs is made of.
type each struct {
	items *expression.Template
	// key is nil when keys follow from the items.
	key *expression.Template
}

// An item of a set.
type item struct {
	key   string
	value any
}

func (e *each) templates() []*expression.Template {
	switch {
	case e == nil:
		return nil
	case e.key == nil:
		return []*expression.Template{e.items}
	}

	return []*expression.Template{e.items, e.key}
}

// allKeys of a set, after its resource name in AnnotationDependsOn.
const allKeys = "[]"

// member returns the resource name of the set and the key of a composed
// resource, if it is the member of a set.
func member(resource string) (set, key string, ok bool) {
	set, rest, ok := strings.Cut(resource, "[")
	key, closed := strings.CutSuffix(rest, "]")

	return set, key, ok && closed
}

// memberOf a set with a key, by composition resource name.
func memberOf(set, key string) string { return set + "[" + key + "]" }

// key of a composed resource that belongs to the set.
func (run *run) key(resource string) (string, bool) {
	set, key, ok := member(resource)
	return key, ok && set == run.resource
}

// owns is true when a composed resource comes from the run.
func (run *run) owns(resource string) bool {
	if run.each == nil {
		return run.resource == resource
	}

	_, ok := run.key(resource)

	return ok
}

// whenPerItem is true when each item is asked whether it is wanted.
func (run *run) whenPerItem() bool { return run.each != nil && run.when.Each() }

// entry of another run in AnnotationDependsOn of this one, or of its member with a
// key.
func (run *run) entry(on *run, key string) string {
	switch {
	case on.each == nil:
		return on.resource
	case run.sameKey[on.name]:
		return memberOf(on.resource, key)
	}

	return on.resource + allKeys
}

// wanted evaluates when.
func (run *run) wanted(ctx context.Context, data expression.Data) (bool, []expression.Problem) {
	v, ok, problems := run.when.Evaluate(ctx, data)
	if len(problems) > 0 {
		return false, problems
	}

	wanted, isBool := v.(bool)
	if ok && !isBool {
		return false, []expression.Problem{{Path: "when", Kind: expression.Invalid, Message: "must be true or false"}}
	}

	return wanted || !ok, nil
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
