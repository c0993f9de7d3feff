package render

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
)

// parameters are the fields that go into spec.forProvider as they are.
var parameters = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"role", "roles", "playbook", "playbooks", "playbookInline", "hosts",
	"varFiles", "inventoryInline", "inventories", "executableInventory",
	"limit", "tags", "skipTags", "forks", "verbosity", "timeout", "retryLimit", "stateVariable",
}

// object returns the AnsibleRun of a run, without its variables.
func object(t template, namespaced bool) (map[string]any, field.ErrorList) {
	scope, errs := scopeOf(t, namespaced)

	errs = append(errs, oneContent(t)...)

	config, cerrs := configRef(t, scope)
	errs = append(errs, cerrs...)

	metadata, merrs := metadata(t)
	errs = append(errs, merrs...)

	provider := map[string]any{}
	for _, p := range parameters {
		if v, ok := t.object[p]; ok {
			provider[p] = v
		}
	}

	spec := map[string]any{"forProvider": provider, "providerConfigRef": config}
	if v, ok := t.object["managementPolicies"]; ok {
		spec["managementPolicies"] = v
	}

	apiVersion := apiVersionNamespaced

	if scope == v1alpha1.ScopeCluster {
		apiVersion = apiVersionCluster
	}

	if v, ok := t.object["deletionPolicy"]; ok {
		spec["deletionPolicy"] = v

		if scope != v1alpha1.ScopeCluster {
			errs = append(errs, field.Forbidden(t.path.Child("deletionPolicy"), "only cluster-scoped runs have a deletionPolicy; use managementPolicies"))
		}
	}

	return map[string]any{
		"apiVersion": apiVersion,
		"kind":       common.KindAnsibleRun,
		"metadata":   metadata,
		"spec":       spec,
	}, errs
}

// scopeOf a run.
func scopeOf(t template, namespaced bool) (v1alpha1.Scope, field.ErrorList) {
	scope := v1alpha1.Scope(text(t.object, "scope"))
	path := t.path.Child("namespace")
	namespace := text(t.object, "namespace")

	switch {
	case namespaced && scope == v1alpha1.ScopeCluster:
		return scope, field.ErrorList{field.Forbidden(t.path.Child("scope"), "a namespaced XR can only have namespaced runs")}
	case namespaced && namespace != "":
		return scope, field.ErrorList{field.Forbidden(path, "the runs of a namespaced XR are in its own namespace")}
	case namespaced:
		return v1alpha1.ScopeNamespaced, nil
	case scope == v1alpha1.ScopeNamespaced && namespace == "":
		return scope, field.ErrorList{field.Required(path, "a namespaced run of a cluster-scoped XR needs a namespace")}
	case scope != v1alpha1.ScopeNamespaced && namespace != "":
		return scope, field.ErrorList{field.Forbidden(path, "only with scope: Namespaced")}
	case scope == "":
		return v1alpha1.ScopeCluster, nil
	}

	return scope, nil
}

// oneContent reports a run with no content, or with more than one.
func oneContent(t template) field.ErrorList {
	var set []string

	for _, c := range contents {
		if _, ok := t.object[c]; ok {
			set = append(set, c)
		}
	}

	all := strings.Join(contents[:len(contents)-1], ", ") + " and " + contents[len(contents)-1]

	switch len(set) {
	case 0:
		return field.ErrorList{field.Required(t.path, "exactly one of "+all+" must be set, here or in defaults")}
	case 1:
		return nil
	}

	return field.ErrorList{field.Forbidden(t.path, "exactly one of "+all+" must be set, not "+strings.Join(set, " and "))}
}

// configRef of a run. Cluster-scoped runs only know one kind, and do not say
// it.
func configRef(t template, scope v1alpha1.Scope) (map[string]any, field.ErrorList) {
	ref, _ := t.object["providerConfigRef"].(map[string]any)
	kind, name := text(ref, "kind"), text(ref, "name")

	if name == "" {
		name = "default"
	}

	if scope == v1alpha1.ScopeCluster {
		if kind != "" && kind != "ProviderConfig" {
			return nil, field.ErrorList{field.Invalid(t.path.Child("providerConfigRef", "kind"), kind, "a cluster-scoped run can only refer to a ProviderConfig")}
		}

		return map[string]any{"name": name}, nil
	}

	if kind == "" {
		kind = "ClusterProviderConfig"
	}

	return map[string]any{"kind": kind, "name": name}, nil
}

// metadata of an AnsibleRun.
func metadata(t template) (map[string]any, field.ErrorList) {
	m := map[string]any{}

	if ns := text(t.object, "namespace"); ns != "" {
		m["namespace"] = ns
	}

	if labels, ok := t.object["labels"].(map[string]any); ok && len(labels) > 0 {
		m["labels"] = labels
	}

	annotations, _ := t.object["annotations"].(map[string]any)

	for _, own := range []string{common.AnnotationRunPolicy, AnnotationDependsOn} {
		if _, ok := annotations[own]; ok {
			return nil, field.ErrorList{field.Forbidden(t.path.Child("annotations").Key(own), "this annotation follows from other fields of the run")}
		}
	}

	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}

	if policy := text(t.object, "runPolicy"); policy != "" {
		annotations[common.AnnotationRunPolicy] = policy
	}

	if len(annotations) > 0 {
		m["annotations"] = annotations
	}

	return m, nil
}
