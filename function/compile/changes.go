package compile

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// An Action is what a change of a Composition means to a run of its XRs.
type Action string

// Actions, in lower case for messages.
const (
	// Create a run that was not there.
	Create Action = "create"
	// RunAgain a run whose inputs are others, or may be.
	RunAgain Action = "run again"
	// Update a run without running it.
	Update Action = "update"
	// Adopt a run that had another name.
	Adopt Action = "adopt"
	// Hold a run that is to be where no run can move to.
	Hold Action = "hold"
	// Remove a run. Its content is run with state absent.
	Remove Action = "remove"
	// MayRemove a run, or some of a set, which depends on the XR.
	MayRemove Action = "may remove"
)

// A Change of a run.
type Change struct {
	// Resource is the composition resource name of the run.
	Resource string
	// Action that follows.
	Action Action
	// Fields that differ; of an adopted run, the name that it had.
	Fields []string
}

// String returns the change in one line.
func (c Change) String() string {
	s := string(c.Action) + " " + c.Resource
	if len(c.Fields) > 0 {
		s += " (" + strings.Join(c.Fields, ", ") + ")"
	}

	return s
}

// Removes is true when something may be gone by the change.
func (c Change) Removes() bool { return c.Action == Remove || c.Action == MayRemove }

// Changes returns what it means for the runs of an XR when the inputs of a pipeline become
// others, both as package input reads them. It compares what is written, without an XR: there
// is one Change for each run that differs, and one for a whole set.
func Changes(before, after []map[string]any) []Change {
	old, now := writtenRuns(before), writtenRuns(after)

	var changes []Change

	adopted := map[string]bool{}

	for _, resource := range manifest.SortedKeys(now) {
		was, ok := old[resource]
		if !ok {
			if name := adoptedFrom(now[resource], old, now); name != "" {
				adopted[name] = true
				changes = append(changes, Change{Resource: resource, Action: Adopt, Fields: []string{"was " + name}})
				was, ok = old[name], true
			}
		}

		if !ok {
			changes = append(changes, Change{Resource: resource, Action: Create})
			continue
		}

		if c, differs := differ(resource, was, now[resource]); differs {
			changes = append(changes, c)
		}
	}

	for _, resource := range manifest.SortedKeys(old) {
		if now[resource] == nil && !adopted[resource] {
			changes = append(changes, Change{Resource: resource, Action: Remove})
		}
	}

	return changes
}

// writtenRuns returns the runs of inputs by their composition resource names, with the
// defaults merged in, and with the locals of the input if they refer to any.
func writtenRuns(inputs []map[string]any) map[string]map[string]any {
	runs := map[string]map[string]any{}

	for _, in := range inputs {
		templates, _ := merge(in)
		for _, t := range templates {
			object := maps.Clone(t.object)

			if text, err := json.Marshal(object); err == nil && in["locals"] != nil && strings.Contains(string(text), "locals.") {
				object["locals"] = in["locals"]
			}

			runs[t.resource()] = object
		}
	}

	return runs
}

// adoptedFrom returns the name of the run that another one adopts: a previous name of
// which there is no run any more; "" for none.
func adoptedFrom(run map[string]any, old, now map[string]map[string]any) string {
	names, _ := run["previousNames"].([]any)
	for _, resource := range manifest.SortedKeys(old) {
		if now[resource] == nil && slices.Contains(names, any(resource)) {
			return resource
		}
	}

	return ""
}

// differ says what the difference between two runs means, if there is any.
func differ(resource string, was, is map[string]any) (Change, bool) {
	c := Change{Resource: resource, Action: Update}

	all := maps.Clone(was)
	maps.Copy(all, is)

	for _, name := range manifest.SortedKeys(all) {
		if reflect.DeepEqual(was[name], is[name]) {
			continue
		}

		action := Update

		switch name {
		case "name", "resourceName", "previousNames":
			continue
		case "labels", "annotations", "runPolicy", "dependsOn", "usages", "readyWhen", "removal", "prune", "managementPolicies", "deletionPolicy",
			"writeConnectionSecretToRef", "retryLimit", "forks", "verbosity":
		case "when", "forEach", "forEachKey":
			action = MayRemove
		case "scope", "namespace":
			action = Hold
		default:
			action = RunAgain
		}

		c.Fields = append(c.Fields, name)
		c.Action = slices.MaxFunc([]Action{c.Action, action}, func(a, b Action) int {
			order := []Action{Update, RunAgain, Hold, MayRemove}
			return slices.Index(order, a) - slices.Index(order, b)
		})
	}

	return c, len(c.Fields) > 0
}
