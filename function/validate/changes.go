package validate

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/compile"
	"github.com/crossplane-ansible/crossplane-ansible/function/expression"
	"github.com/crossplane-ansible/crossplane-ansible/function/fields"
	"github.com/crossplane-ansible/crossplane-ansible/function/input"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
	"github.com/crossplane-ansible/crossplane-ansible/function/plan"
)

// Actions beside those that follow from a field.
const (
	// create a run that was not there.
	create fields.Action = "create"
	// adopt a run that had another name.
	adopt fields.Action = "adopt"
	// remove a run. Its content is run with state absent.
	remove fields.Action = "remove"
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
func selectsHosts(field string) bool {
	return slices.Contains([]string{"hosts", "inventories", "inventory", "inventoryInline", "limit"}, field)
}

// Removes is true when something may be gone by the change.
func (c Change) Removes() bool { return c.Action == remove || c.Action == fields.MayRemove }

// changesOf returns what it means for the runs of an XR when the inputs of a pipeline become
// others, both as package input reads them. It compares what is written, without an XR: there
// is one Change for each run that differs, and one for a whole set. Which run is another one under
// a new name, the plans say, as they do for the function.
func changesOf(before, after []map[string]any) []Change {
	old, now := writtenRuns(before), writtenRuns(after)
	names, was, is := namesOf(now), plannedRuns(before), plannedRuns(after)

	var changes []Change

	stays := map[string]bool{}

	// gone returns a run that is no more, for which something is true; "" for none.
	gone := func(isSo func(*plan.Run) bool) string {
		for _, resource := range manifest.SortedKeys(old) {
			if now[resource] == nil && was[resource] != nil && isSo(was[resource]) {
				stays[resource] = true
				return resource
			}
		}

		return ""
	}

	for _, resource := range manifest.SortedKeys(now) {
		run, from := is[resource], resource

		if _, ok := old[resource]; !ok && run != nil {
			if from = gone(func(other *plan.Run) bool { return wasCalled(run, other) }); from != "" {
				changes = append(changes, Change{Resource: resource, Action: adopt, Fields: []string{"was " + from}})
			} else if other := gone(func(other *plan.Run) bool { return !run.New && couldBe(run, other) }); other != "" {
				changes = append(changes, Change{Resource: resource, Action: fields.Hold, Fields: []string{"may be " + other}})
				continue
			}
		}

		if _, ok := old[from]; !ok {
			changes = append(changes, Change{Resource: resource, Action: create})
			continue
		}

		c := differ(resource, old[from], now[resource])
		if slices.ContainsFunc(previousNames(old[from]), func(name string) bool { return !names[name] }) {
			c.Action = mostOf(c.Action, fields.MayRemove)
			c.Fields = slices.Sorted(slices.Values(append(c.Fields, "previousNames")))
		}

		if len(c.Fields) > 0 {
			changes = append(changes, c)
		}
	}

	for _, resource := range manifest.SortedKeys(old) {
		if now[resource] == nil && !stays[resource] {
			changes = append(changes, Change{Resource: resource, Action: remove})
		}
	}

	return changes
}

// plannedRuns returns the runs of inputs, compiled, by their composition resource names.
func plannedRuns(inputs []map[string]any) map[string]*plan.Run {
	runs := map[string]*plan.Run{}

	for _, in := range inputs {
		if p, _ := compile.Composition(in, true, compile.Schemas{}); p != nil {
			maps.Copy(runs, p.ByResource)
		}
	}

	return runs
}

// wasCalled is true for a run that adopts another one, or members of another set, by its previous names.
func wasCalled(run, other *plan.Run) bool {
	name := other.Resource
	if other.ForEach != nil {
		name = plan.MemberName(name, "key")
	}

	return run.PreviousNames != nil &&
		slices.ContainsFunc(run.PreviousNames.Items(), func(t *expression.Template) bool { return t.MayBe(name) })
}

// couldBe is true for a run that the function takes for another one under a new name.
func couldBe(run, other *plan.Run) bool {
	literal := map[string]any{}

	for name, t := range other.Variables.Vars {
		if !t.Computed() {
			literal[name], _, _ = t.Evaluate(context.Background(), expression.Data{})
		}
	}

	o := other.Object.With(plan.Computed{Vars: literal})

	return ansiblerun.DeletesContent(o) && run.CouldBe(o)
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

			runs[r.Resource()] = object
		}
	}

	return runs
}

// previousNames returns the previous names of a run that are literal.
func previousNames(run map[string]any) []string {
	var names []string

	list, _ := run["previousNames"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok && !strings.Contains(name, "${") {
			names = append(names, name)
		}
	}

	return names
}

// namesOf returns the names by which runs know what an XR has: their own and previous ones.
func namesOf(runs map[string]map[string]any) map[string]bool {
	names := map[string]bool{}

	for resource, run := range runs {
		names[resource] = true
		for _, name := range previousNames(run) {
			names[name] = true
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
