package observed

import (
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// Kinds of Crossplane that keep what is used from being deleted.
// https://docs.crossplane.io/latest/managed-resources/usages/
const (
	APIVersionProtection = "protection.crossplane.io/v1beta1"
	KindUsage            = "Usage"
	KindClusterUsage     = "ClusterUsage"
)

// IsUsage is true for Usages of any scope.
func IsUsage(o map[string]any) bool {
	return manifest.Text(o, "apiVersion") == APIVersionProtection && (manifest.Text(o, "kind") == KindUsage || manifest.Text(o, "kind") == KindClusterUsage)
}

// UserOf a Usage: the namespace and the name of the AnsibleRun that uses another one;
// false for anything else.
func UserOf(u map[string]any) (string, bool) {
	if !IsUsage(u) {
		return "", false
	}

	return manifest.Namespace(u) + "/" + manifest.NestedText(u, "spec", "by", "resourceRef", "name"), manifest.NestedText(u, "spec", "by", "kind") == common.KindAnsibleRun
}
