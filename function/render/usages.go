package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Kinds of Crossplane that keep what is used from being deleted.
// https://docs.crossplane.io/latest/managed-resources/usages/
const (
	apiVersionProtection = "protection.crossplane.io/v1beta1"
	kindUsage            = "Usage"
	kindClusterUsage     = "ClusterUsage"
)

// usages returns a Usage for each two observed runs of which one was rendered
// after the other: when both are deleted, the one that depends goes first. They
// are named by composition resource names.
func (r *rendering) usages() map[string]map[string]any {
	usages := map[string]map[string]any{}

	for _, by := range sortedKeys(r.observed.Resources) {
		user := r.observed.Resources[by]
		if !isAnsibleRun(user) || !hasDependencies(user) || !r.holds(by) {
			continue
		}

		for _, of := range sortedKeys(r.observed.Resources) {
			used := r.observed.Resources[of]
			// Two that use each other could never be deleted.
			if of == by || !isAnsibleRun(used) || !dependsOn(user, of) || dependsOn(used, by) {
				continue
			}

			if u := usage(used, user); u != nil {
				usages[by+" uses "+of] = u
			}
		}
	}

	return usages
}

func hasDependencies(o map[string]any) bool {
	_, ok, _ := unstructured.NestedString(o, fieldMetadata, fieldAnnotations, AnnotationDependsOn)
	return ok
}

// holds is true for runs that hold what they depend on: all that do not say
// otherwise.
func (r *rendering) holds(resource string) bool {
	for _, run := range r.composition.runs {
		if run.makes(resource) {
			return run.usages
		}
	}

	return true
}

// usage of one AnsibleRun by another; nil when there can be none, between runs of
// different scopes.
func usage(of, by map[string]any) map[string]any {
	namespace, _, _ := unstructured.NestedString(by, fieldMetadata, fieldNamespace)
	used, _, _ := unstructured.NestedString(of, fieldMetadata, fieldNamespace)

	ofName, _, _ := unstructured.NestedString(of, fieldMetadata, fieldName)
	byName, _, _ := unstructured.NestedString(by, fieldMetadata, fieldName)

	if (namespace == "") != (used == "") || ofName == "" || byName == "" {
		return nil
	}

	kind, metadata := kindClusterUsage, map[string]any{}
	ref := map[string]any{fieldName: ofName}

	if namespace != "" {
		kind = kindUsage
		metadata[fieldNamespace] = namespace
	}

	if used != namespace {
		ref[fieldNamespace] = used
	}

	return map[string]any{
		fieldAPIVersion: apiVersionProtection,
		fieldKind:       kind,
		fieldMetadata:   metadata,
		fieldSpec: map[string]any{
			"of":             map[string]any{fieldAPIVersion: of[fieldAPIVersion], fieldKind: of[fieldKind], "resourceRef": ref},
			"by":             map[string]any{fieldAPIVersion: by[fieldAPIVersion], fieldKind: by[fieldKind], "resourceRef": map[string]any{fieldName: byName}},
			"replayDeletion": true,
		},
	}
}

// isUsage is true for Usages of any scope.
func isUsage(o map[string]any) bool {
	return text(o, fieldAPIVersion) == apiVersionProtection && (text(o, fieldKind) == kindUsage || text(o, fieldKind) == kindClusterUsage)
}

// users returns the composition resource names of those that an observed Usage
// says use an AnsibleRun. Core would refuse to delete it.
func (r *rendering) users(resource string) []string {
	var users []string

	name, _, _ := unstructured.NestedString(r.observed.Resources[resource], fieldMetadata, fieldName)

	for _, u := range sortedKeys(r.observed.Resources) {
		o := r.observed.Resources[u]
		if !isUsage(o) {
			continue
		}

		if of, _, _ := unstructured.NestedString(o, fieldSpec, "of", "resourceRef", fieldName); of == name {
			users = append(users, u)
		}
	}

	return users
}
