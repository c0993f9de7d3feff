package render

import (
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Kinds of Crossplane that keep what is used from being deleted.
// https://docs.crossplane.io/latest/managed-resources/usages/
const (
	apiVersionProtection = "protection.crossplane.io/v1beta1"
	kindUsage            = "Usage"
	kindClusterUsage     = "ClusterUsage"
)

// uses stands between two names in the composition resource name of a Usage.
const uses = " uses "

// usage of a composed resource by an AnsibleRun; nil when there can be none: a
// ClusterUsage tells of cluster-scoped objects only.
func usage(of, by map[string]any) map[string]any {
	namespace := manifest.Namespace(by)
	used := manifest.Namespace(of)

	ofName := manifest.Name(of)
	byName := manifest.Name(by)

	if namespace == "" && used != "" || ofName == "" || byName == "" {
		return nil
	}

	kind, metadata := kindClusterUsage, map[string]any{}
	ref := map[string]any{"name": ofName}

	if namespace != "" {
		kind = kindUsage
		metadata["namespace"] = namespace
	}

	// What is cluster scoped is in the namespace "", and not in that of the Usage.
	if used != namespace {
		ref["namespace"] = used
	}

	return map[string]any{
		"apiVersion": apiVersionProtection,
		"kind":       kind,
		"metadata":   metadata,
		"spec": map[string]any{
			"of":             map[string]any{"apiVersion": of["apiVersion"], "kind": of["kind"], "resourceRef": ref},
			"by":             map[string]any{"apiVersion": by["apiVersion"], "kind": by["kind"], "resourceRef": map[string]any{"name": byName}},
			"replayDeletion": true,
		},
	}
}

// isUsage is true for Usages of any scope.
func isUsage(o map[string]any) bool {
	return manifest.Text(o, "apiVersion") == apiVersionProtection && (manifest.Text(o, "kind") == kindUsage || manifest.Text(o, "kind") == kindClusterUsage)
}

// userOf a Usage: the namespace and the name of the AnsibleRun that uses another one;
// false for anything else.
func userOf(u map[string]any) (string, bool) {
	if !isUsage(u) {
		return "", false
	}

	return manifest.Namespace(u) + "/" + manifest.NestedText(u, "spec", "by", "resourceRef", "name"), manifest.NestedText(u, "spec", "by", "kind") == common.KindAnsibleRun
}
