package render

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// relations tell which of the observed AnsibleRuns depend on each other. All are
// known by their composition resource names.
type relations struct {
	// named are those that an entry of AnnotationDependsOn means: one, or all
	// members of a set, or what another step composes.
	named map[string][]string
	// unknown are members of a set by earlier names, which may be any of it.
	unknown map[string][]string
}

func (r *rendering) relate() relations {
	rel := relations{named: map[string][]string{}, unknown: map[string][]string{}}

	for _, resource := range manifest.SortedKeys(r.observed.Resources) {
		if isUsage(r.observed.Resources[resource]) {
			continue
		}

		rel.named[resource] = []string{resource}

		if set, _, ok := member(resource); ok {
			rel.named[set+allMembers] = append(rel.named[set+allMembers], resource)

			if run := r.composition.run(resource); run != nil && run.resource != set {
				rel.unknown[run.resource] = append(rel.unknown[run.resource], resource)
			}
		}
	}

	// What others were rendered after may have been called otherwise then.
	for resource, was := range r.called {
		rel.named[was] = append(rel.named[was], resource)

		if set, _, ok := member(was); ok {
			rel.named[set+allMembers] = append(rel.named[set+allMembers], resource)
		}
	}

	return rel
}

// of returns what is observed of an entry of AnnotationDependsOn.
func (rel relations) of(entry string) []string {
	named := rel.named[entry]

	if set, key, ok := member(entry); ok && (len(named) == 0 || key == "") {
		return slices.Concat(named, rel.unknown[set])
	}

	return named
}

// dependsOn returns the entries of AnnotationDependsOn.
func dependsOn(o map[string]any) []string {
	list, ok, _ := unstructured.NestedString(o, "metadata", "annotations", AnnotationDependsOn)
	if !ok {
		return nil
	}

	entries := strings.Split(list, ",")
	slices.Sort(entries)

	return slices.Compact(entries)
}

// settle what became of the runs of the Composition.
func (r *rendering) settle(runs []Run) {
	r.became = make(map[string]Reason, len(runs))
	for i := range runs {
		r.became[runs[i].Resource] = runs[i].Reason
	}
}

// spared is true for an item of a set that is gone, when one that depends on the
// set is Ready as it is rendered now: that is without the item.
func (r *rendering) spared(of, by string) bool {
	if _, _, ok := member(of); !ok || r.became[by] != Ready {
		return false
	}

	reason, wanted := r.became[of]
	run := r.composition.run(of)

	return run != nil && run.each != nil && (!wanted || reason == Skipped)
}

// after returns the observed resources that an AnsibleRun was rendered after.
func (r *rendering) after(resource string, o map[string]any) []string {
	var on []string

	for _, entry := range dependsOn(o) {
		for _, other := range r.relations.of(entry) {
			if other != resource && !r.spared(other, resource) {
				on = append(on, other)
			}
		}
	}

	return on
}

// dependents returns those AnsibleRuns that depend on each observed one, as they were
// rendered, or as they are wanted now: until they are gone.
func (r *rendering) dependents() map[string][]string {
	all := map[string][]string{}

	for _, resource := range manifest.SortedKeys(r.observed.Resources) {
		if !isAnsibleRun(r.observed.Resources[resource]) {
			continue
		}

		on := r.after(resource, r.observed.Resources[resource])

		if run := r.composition.run(resource); run != nil {
			_, key, _ := member(resource)

			for _, other := range r.composition.runs {
				if run.needs[other.name] {
					on = append(on, r.relations.of(run.entry(other, key))...)
				}
			}
		}

		slices.Sort(on)

		for _, other := range slices.Compact(on) {
			if other != resource && !r.spared(other, resource) {
				all[other] = append(all[other], resource)
			}
		}
	}

	for _, d := range r.departing {
		for _, other := range r.after(d.resource, d.object) {
			all[other] = append(all[other], d.String())
		}
	}

	return all
}

// entry of another run in AnnotationDependsOn of this one, or of its member with a
// key.
func (run *run) entry(on *run, key string) string {
	switch {
	case on.each == nil:
		return on.resource
	case run.pairs[on.name]:
		return memberOf(on.resource, key)
	}

	return on.resource + allMembers
}
