package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// stay lets observed runs that are to go stay where they have to. It adds those that
// are gone from the Composition.
func (r *rendering) stay(runs []Run) []Run {
	stays := map[string]Run{}

	going := r.going(runs)
	going = r.doubt(going, stays)
	going = r.retain(going, stays)
	going = r.bound(going, stays)
	going = r.renamed(runs, going, stays)
	r.leave(going, stays)

	for i := range runs {
		s, ok := stays[runs[i].Resource]
		if !ok {
			continue
		}

		s.Name = runs[i].Name
		runs[i] = s
		delete(stays, s.Resource)
	}

	for _, resource := range manifest.SortedKeys(stays) {
		runs = append(runs, stays[resource])
	}

	return runs
}

// going returns the observed AnsibleRuns that nothing wants, by their composition
// resource names, in order.
func (r *rendering) going(runs []Run) []string {
	wanted := map[string]bool{}
	for i := range runs {
		wanted[runs[i].Resource] = runs[i].Reason != Skipped
	}

	var going []string

	for resource := range r.observed.Resources {
		if _, ok := r.observed.run(resource); ok && !wanted[resource] && !r.foreign(resource) {
			going = append(going, resource)
		}
	}

	slices.Sort(going)

	return going
}

// retain those that are not to be pruned. It returns the others.
func (r *rendering) retain(going []string, stays map[string]Run) []string {
	return slices.DeleteFunc(going, func(resource string) bool {
		prune := manifest.Annotation(r.observed.Resources[resource], AnnotationPrune)
		retained := prune == never

		if run := r.composition.run(resource); run != nil {
			retained = !run.prune
		}

		if retained {
			stays[resource] = r.keep(Run{Name: resource, Resource: resource, Reason: Retained, Messages: []string{"not wanted any more, and stays, since prune is false"}})
		}

		return retained
	})
}

// bound how many members of a set go at once: more of them stay all. It returns
// the others.
func (r *rendering) bound(going []string, stays map[string]Run) []string {
	members := map[*run][]string{}

	for _, resource := range going {
		if run := r.composition.run(resource); run != nil && run.each != nil && run.atMost != nil {
			members[run] = append(members[run], resource)
		}
	}

	for run, leave := range members {
		there := 0

		for resource := range r.observed.Resources {
			if _, ok := r.observed.run(resource); ok && r.composition.run(resource) == run {
				there++
			}
		}

		if len(leave) <= max(atMost(*run.atMost, there), r.allowed(run.name)) {
			continue
		}

		stays[run.resource] = Run{Name: run.name, Resource: run.resource, Reason: RemovalHeld, Messages: []string{fmt.Sprintf(
			"%d of %d would be removed, and removal.atMost is %s; to remove them, annotate the XR with %s: %s=%d", len(leave), there, run.atMost, AnnotationAllowRemoval, run.name, len(leave))}}

		for _, resource := range leave {
			stays[resource] = r.keep(Run{Name: resource, Resource: resource, Reason: RemovalHeld})
		}
	}

	return slices.DeleteFunc(going, func(resource string) bool {
		_, ok := stays[resource]
		return ok
	})
}

// atMost so many of those that there are.
func atMost(limit intstr.IntOrString, there int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&limit, there, false)
	if err != nil {
		return 0
	}

	return n
}

// allowed is how many members of a set the XR lets go at once.
func (r *rendering) allowed(name string) int {
	list := manifest.Annotation(r.observed.XR, AnnotationAllowRemoval)

	for entry := range strings.SplitSeq(list, ",") {
		set, number, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if n, err := strconv.Atoi(number); err == nil && set == name {
			return n
		}
	}

	return 0
}

// removalBound is what removal.atMost can be. An API server takes any rule for that
// in a schema for too expensive.
var removalBound = regexp.MustCompile(`^([0-9]{1,9}|(100|[1-9]?[0-9])%)$`)

// atMostOf a set.
func atMostOf(t template) (*intstr.IntOrString, field.ErrorList) {
	removal, ok := t.object["removal"].(map[string]any)
	if !ok {
		return nil, nil
	}

	path := t.path.Child("removal")
	if _, ok := t.object["forEach"]; !ok {
		return nil, field.ErrorList{field.Forbidden(path, "only with forEach")}
	}

	text := fmt.Sprint(removal["atMost"])
	if !removalBound.MatchString(text) {
		return nil, field.ErrorList{field.Invalid(path.Child("atMost"), removal["atMost"], "must be a number that is not negative, or a share such as 10%")}
	}

	limit := intstr.Parse(text)

	return &limit, nil
}

// leave only those on which nothing depends that there is.
func (r *rendering) leave(going []string, stays map[string]Run) {
	blocked := r.blocked(going)

	for _, resource := range manifest.SortedKeys(blocked) {
		stays[resource] = r.keep(Run{
			Name:     resource,
			Resource: resource,
			Reason:   Leaving,
			Messages: []string{"not wanted any more, but has to stay for " + strings.Join(blocked[resource], ", ")},
		})
	}

	r.remain(blocked, stays)
}

// remain with what stays for good, in which nobody waits for anything: what that
// depends on.
func (r *rendering) remain(blocked map[string][]string, stays map[string]Run) {
	goes := func(resource string) bool { return stays[resource].Reason != Retained }

	for again := true; again; {
		again = false

		for resource, by := range blocked {
			if !goes(resource) || slices.ContainsFunc(by, goes) {
				continue
			}

			run := stays[resource]
			run.Reason = Retained
			run.Messages = []string{"not wanted any more, and stays with " + strings.Join(by, ", ")}
			stays[resource], again = run, true
		}
	}
}

// blocked returns those that cannot go yet, each with what depends on it.
func (r *rendering) blocked(going []string) map[string][]string {
	if len(going) == 0 {
		return nil
	}

	blocked := map[string][]string{}
	dependents, users := r.dependents(), r.users()

	for _, resource := range going {
		by := dependents[resource]
		if len(by) == 0 {
			// A Usage that is left goes by itself.
			by = users[resource]
		}

		if len(by) > 0 {
			blocked[resource] = by
		}
	}

	// What is to go as a whole and depends on each other only has no order to
	// go in.
	for _, resource := range going {
		if by, ok := blocked[resource]; !ok || slices.ContainsFunc(by, func(d string) bool { return !slices.Contains(going, d) }) {
			return blocked
		}
	}

	return nil
}

// removed returns the composition resource names of those observed runs of the
// Composition that nothing keeps. What is gone from it may be a later step's.
func (r *rendering) removed(runs []Run) []string {
	kept := map[string]bool{}
	for i := range runs {
		kept[runs[i].Resource] = runs[i].Desired != nil
	}

	var names []string

	for _, resource := range manifest.SortedKeys(r.observed.Resources) {
		o, ok := r.observed.run(resource)
		if ok && !kept[resource] && !manifest.IsDeleted(o) && !r.observed.Earlier[resource] && r.composition.run(resource) != nil {
			names = append(names, r.calls(resource))
		}
	}

	return names
}
