package observed

import (
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// API version and kinds of Usages, which protect an object from deletion while another one uses it.
// https://docs.crossplane.io/latest/managed-resources/usages/
const (
	APIVersionProtection = "protection.crossplane.io/v1beta1"
	KindUsage            = "Usage"
	KindClusterUsage     = "ClusterUsage"
)

// IsUsage is true for a Usage or a ClusterUsage.
func IsUsage(o map[string]any) bool {
	return manifest.Text(o, "apiVersion") == APIVersionProtection &&
		(manifest.Text(o, "kind") == KindUsage || manifest.Text(o, "kind") == KindClusterUsage)
}

// UserOf returns the AnsibleRun in spec.by of a Usage as namespace/name; false when the object is not a Usage, or its
// user is not an AnsibleRun.
func UserOf(u map[string]any) (string, bool) {
	if !IsUsage(u) {
		return "", false
	}

	return manifest.Namespace(u) + "/" + manifest.NestedText(u, "spec", "by", "resourceRef",
		"name"), manifest.NestedText(u, "spec", "by", "kind") == common.KindAnsibleRun
}
