package compile

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/ansiblerun"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// CouldBe is true for an AnsibleRun that the run may have rendered: with all literal values
// of its content, hosts and variables.
func (run *Run) CouldBe(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	was, _ := spec["forProvider"].(map[string]any)
	literal := ansiblerun.ContentFields[:]

	config, _ := run.Object.spec["providerConfigRef"].(map[string]any)
	ref, _ := spec["providerConfigRef"].(map[string]any)

	if run.Object.names[manifest.Text(config, "name")] == nil && manifest.Text(config, "name") != manifest.Text(ref, "name") {
		return false
	}

	if run.Inventory == nil {
		literal = append(literal, "hosts", "inventoryInline")
	}

	if run.Object.settings["limit"] == nil {
		literal = append(literal, "limit")
	}

	if len(run.Object.names) == 0 {
		literal = append(literal, "inventories", "varFiles")
	}

	if !manifest.Equal(manifest.Pick(run.Object.parameters, literal...), manifest.Pick(was, literal...)) {
		return false
	}

	vars, _ := was["vars"].(map[string]any)
	unsafe, _ := was["unsafeVars"].(map[string]any)
	all := maps.Clone(vars)

	if all == nil {
		all = map[string]any{}
	}

	maps.Copy(all, unsafe)

	for name, t := range run.vars {
		v, ok := all[name]
		if !ok && !t.Computed() || ok && !t.MayBe(v) {
			return false
		}

		delete(all, name)
	}

	return len(all) == 0 || len(run.from) > 0
}

// previousMistakes are names that cannot be those of a composed resource, or that two
// runs have had.
func previousMistakes(templates []template) field.ErrorList {
	var errs field.ErrorList

	seen, resources := map[string]bool{}, map[string]bool{}
	for _, t := range templates {
		resources[t.resource()] = true
	}

	for _, t := range templates {
		for i, name := range t.PreviousNames {
			path := t.path.Child("previousNames").Index(i)

			switch {
			case strings.Contains(name, "${"):
			case name == "" || strings.ContainsAny(name, ", "):
				errs = append(errs, field.Invalid(path, name, "cannot be the name of a composed resource"))
			case resources[name]:
				errs = append(errs, field.Invalid(path, name, "is a run of this Composition"))
			case seen[name]:
				errs = append(errs, field.Duplicate(path, name))
			}

			seen[name] = true
		}
	}

	return errs
}

// previousSets returns the sets that have adopted the members of other sets, by the names
// of these. It also tells where members belong whose items are gone, and which have no
// key any more. A name that two sets claim belongs to neither.
func previousSets(runs []*Run, templates []template) map[string]*Run {
	sets := map[string]*Run{}

	for i, run := range runs {
		for _, name := range templates[i].PreviousNames {
			set, _, ok := strings.Cut(name, "[")
			if run.ForEach == nil || !ok || strings.Contains(set, "${") {
				continue
			}

			if other, ok := sets[set]; ok && other != run {
				sets[set] = nil
				continue
			}

			sets[set] = run
		}
	}

	for _, run := range runs {
		delete(sets, run.Resource)
	}

	return sets
}
