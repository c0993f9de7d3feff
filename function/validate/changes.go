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

// Actions beside those that follow from a field.
const (
	// create a run that was not there.
	create fields.Action = "create"
	// adopt a run that had another name.
	adopt fields.Action = "adopt"
	// remove a run. Its content is run with state absent.
	remove fields.Action = "remove"
	// retain a run that is gone from the Composition.
	retain fields.Action = "retain"
)

// A Change of a run.
type Change struct {
	// Composition is its name; "" for an input that stands alone.
	Composition string
	// Resource is the composition resource name of the run.
	Resource string
	// Action that follows.
	Action fields.Action
	// Fields that differ; of an adopted run, the name that it had.
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

// selectsHosts is true for a field on which the hosts of a run depend.
func selectsHosts(name string) bool {
	return slices.Contains([]string{"hosts", fields.Inventories, "limit"}, name)
}

// Removes is true when something may be gone by the change.
func (c Change) Removes() bool { return c.Action == remove || c.Action == fields.MayRemove }

// Against returns what it would mean to the runs of XRs to replace the Compositions
// of some files by those of others. One that is only in either says nothing of
// any XR. The error is a file that cannot be read, or that there is nothing to compare.
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

// pipelines are the inputs of Compositions by their names.
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

// changesOf returns what it means for the runs of an XR when the inputs of a pipeline become others. It compares
// what is written, without an XR: there is one Change for each run that differs, and one for a whole set. Which
// runs go, stay, or are others under new names, package removal decides, as it does for the function.
func changesOf(before, after []map[string]any) []Change {
	old, now := writtenRuns(before), writtenRuns(after)
	succession := removal.Succeed(planned(before), planned(after))

	// Runs know what an XR has by their names, and by previous ones.
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

// planned are the runs of inputs, compiled, as those of one.
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

// writtenRuns returns the runs of inputs by their composition resource names, with the
// defaults merged in, and with the locals of the input if they refer to any.
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

// previousNames of a run that are literal.
func previousNames(run map[string]any) sets.Set[string] {
	names := sets.KeySet(manifest.Set(run["previousNames"]))
	for name := range names {
		if strings.Contains(name, "${") {
			names.Delete(name)
		}
	}

	return names
}

// differ says what the difference between two runs means; it has no fields without one.
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

// mostOf returns the action of two that changes more.
func mostOf(one, other fields.Action) fields.Action {
	order := []fields.Action{fields.Nothing, fields.Update, fields.RunAgain, fields.Hold, fields.MayRemove}

	return order[max(slices.Index(order, one), slices.Index(order, other))]
}
