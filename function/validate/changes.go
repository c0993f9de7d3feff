package validate

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/crossplane/function-sdk-go/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
	"github.com/crossplane-ansible/crossplane-ansible/function/removal"
)

// Actions for whole runs, beside those of a field in the table of package fields.
const (
	// create is for a new run.
	create fields.Action = "create"
	// adopt is for a run with another name than before.
	adopt fields.Action = "adopt"
	// remove is for a run that is deleted. Its content runs with state absent.
	remove fields.Action = "remove"
	// retain is for a run that is no longer in the Composition, and stays.
	retain fields.Action = "retain"
)

// A Change is what happens to a run of XRs when their Composition changes.
type Change struct {
	// Composition is the name of the Composition; "" for an input outside of one.
	Composition string
	// Resource is the name of the run.
	Resource string
	// Action is what happens to the run.
	Action fields.Action
	// Fields are the changed fields. For adopt, it is "was " and the previous name; for hold, it may be "may be " and
	// another run.
	Fields []string
}

// String returns the change in one line.
func (c Change) String() string {
	s := strings.TrimPrefix(c.Composition+": ", ": ") + string(c.Action) + " " + c.Resource
	if len(c.Fields) > 0 {
		s += " (" + strings.Join(c.Fields, ", ") + ")"
	}

	if c.Action == fields.RunAgain && slices.ContainsFunc(c.Fields, selectsHosts) {
		s += ": hosts that it does not select any more stay as they are"
	}

	return s
}

// selectsHosts is true for a field that selects the hosts of a run.
func selectsHosts(name string) bool {
	return slices.Contains([]string{"hosts", fields.Inventories, "limit"}, name)
}

// Removes is true when the change may delete an AnsibleRun.
func (c Change) Removes() bool { return c.Action == remove || c.Action == fields.MayRemove }

// Against returns what happens to the runs of XRs when the Compositions in some files replace those in others. It
// compares Compositions with the same name. It returns an error for a file that cannot be read, or when there is
// nothing to compare.
func Against(before, after []File) ([]Change, error) {
	old, err := pipelines(before)
	if err != nil {
		return nil, err
	}

	now, err := pipelines(after)
	if err != nil {
		return nil, err
	}

	maps.DeleteFunc(now, func(name string, _ []map[string]any) bool { return old[name] == nil })

	if len(now) == 0 {
		return nil, errors.New(
			"cannot compare: no Composition of these files has the name of one that they are compared with")
	}

	var changes []Change

	for _, name := range manifest.SortedKeys(now) {
		for _, c := range changesOf(old[name], now[name]) {
			c.Composition = name
			changes = append(changes, c)
		}
	}

	return changes, nil
}

// pipelines returns the inputs of the Compositions in files, by the name of the Composition; "" for inputs outside of
// one.
func pipelines(files []File) (map[string][]map[string]any, error) {
	all := map[string][]map[string]any{}

	for _, f := range files {
		documents, mistakes := read(f)
		if len(mistakes) > 0 {
			return nil, errors.New(mistakes[0].String())
		}

		for _, d := range documents {
			switch {
			case d.is(groupCrossplane, "Composition"):
				for _, in := range ours(stepsOf(d.object, "spec")) {
					all[manifest.Name(d.object)] = append(all[manifest.Name(d.object)], in.input)
				}
			case strings.HasPrefix(manifest.Text(d.object, "apiVersion"), v1alpha1.Group+"/"):
				all[""] = append(all[""], d.object)
			}
		}
	}

	return all, nil
}

// changesOf returns the changes when other inputs replace those of a pipeline: one for each run or set that differs. It
// compares the text of expressions, since there is no XR. removal.Succeed decides which runs are removed, retained or
// adopted.
func changesOf(before, after []map[string]any) []Change {
	old, now := writtenRuns(before), writtenRuns(after)
	succession := removal.Succeed(planned(before), planned(after))

	// Existing XRs may have AnsibleRuns under these names.
	names := sets.KeySet(now)
	for _, run := range now {
		names = names.Union(previousNames(run))
	}

	var changes []Change

	for _, resource := range manifest.SortedKeys(now) {
		from := resource

		if was, ok := succession.Adopted[resource]; ok {
			changes = append(changes, Change{Resource: resource, Action: adopt, Fields: []string{"was " + was}})
			from = was
		}

		if other, ok := succession.Held[resource]; ok {
			changes = append(changes, Change{Resource: resource, Action: fields.Hold, Fields: []string{"may be " + other}})
			succession.Retained[other] = false

			continue
		}

		if _, ok := old[from]; !ok {
			changes = append(changes, Change{Resource: resource, Action: create})
			continue
		}

		c := differ(resource, old[from], now[resource])
		if !names.IsSuperset(previousNames(old[from])) {
			c.Action = mostOf(c.Action, fields.MayRemove)
			c.Fields = slices.Sorted(slices.Values(append(c.Fields, "previousNames")))
		}

		if len(c.Fields) > 0 {
			changes = append(changes, c)
		}

		succession.Retained[from] = false
	}

	for _, resource := range manifest.SortedKeys(old) {
		switch stays, known := succession.Retained[resource]; {
		case stays:
			changes = append(changes, Change{Resource: resource, Action: retain})
		case !known:
			changes = append(changes, Change{Resource: resource, Action: remove})
		}
	}

	return changes
}

// planned compiles inputs, and returns a plan with the runs of all.
func planned(inputs []map[string]any) *plan.Plan {
	all := &plan.Plan{ByResource: map[string]*plan.Run{}, PreviousSets: map[string]*plan.Run{}}

	for _, in := range inputs {
		if p, _ := compile.Input(in, true, expression.Declarations{}); p != nil {
			all.Runs = append(all.Runs, p.Runs...)
			maps.Copy(all.ByResource, p.ByResource)
			maps.Copy(all.PreviousSets, p.PreviousSets)
		}
	}

	return all
}

// writtenRuns returns the runs of inputs as JSON, by their names. They have the defaults, and the locals of the input
// if they refer to any.
func writtenRuns(inputs []map[string]any) map[string]map[string]any {
	runs := map[string]map[string]any{}

	for _, in := range inputs {
		all, _ := input.Runs(in)
		for _, r := range all {
			object := maps.Clone(r.Object)

			if text, err := json.Marshal(object); err == nil && in["locals"] != nil &&
				strings.Contains(string(text), "locals.") {
				object["locals"] = in["locals"]
			}

			runs[r.Name] = object
		}
	}

	return runs
}

// previousNames returns the literal previous names of a run.
func previousNames(run map[string]any) sets.Set[string] {
	names := sets.KeySet(manifest.Set(run["previousNames"]))
	for name := range names {
		if strings.Contains(name, "${") {
			names.Delete(name)
		}
	}

	return names
}

// differ returns the change from one form of a run to another. It has no fields if they are equal.
func differ(resource string, was, is map[string]any) Change {
	c := Change{Resource: resource, Action: fields.Nothing}

	all := maps.Clone(was)
	maps.Copy(all, is)

	for _, name := range manifest.SortedKeys(all) {
		action := fields.Of(name).Action
		if action == fields.Nothing || reflect.DeepEqual(was[name], is[name]) {
			continue
		}

		c.Fields = append(c.Fields, name)
		c.Action = mostOf(c.Action, action)
	}

	return c
}

// mostOf returns the more severe of two actions.
func mostOf(one, other fields.Action) fields.Action {
	order := []fields.Action{fields.Nothing, fields.Update, fields.RunAgain, fields.Hold, fields.MayRemove}

	return order[max(slices.Index(order, one), slices.Index(order, other))]
}
