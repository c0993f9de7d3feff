package render

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// compositionResource is the composition resource name of a composed resource.
func compositionResource(o map[string]any) string {
	return manifest.Annotation(o, "crossplane.io/composition-resource-name")
}

// AnnotationDependsOn of an AnsibleRun lists the composition resource names of
// the runs that it was rendered after, separated by commas. It tells what must
// outlive it when its run is gone from the Composition.
const AnnotationDependsOn = v1alpha1.Group + "/depends-on"

// LabelComposite of an AnsibleRun holds the uid of the XR that composes it. Core
// takes its own labels away from what it deletes.
const LabelComposite = v1alpha1.Group + "/composite-uid"

// AnnotationPrune of an AnsibleRun is never when it stays although its run is gone
// from the Composition.
const (
	AnnotationPrune = v1alpha1.Group + "/prune"
	never           = "never"
)

// AnnotationAllowRemoval of an XR says how many members of which sets may go at
// once, as in user=12,disk=3.
const AnnotationAllowRemoval = v1alpha1.Group + "/allow-removal"

// API versions of AnsibleRuns.
const (
	apiVersionCluster    = common.GroupCluster + "/" + common.Version
	apiVersionNamespaced = common.GroupNamespaced + "/" + common.Version
)

// Conditions of an AnsibleRun, and their status.
const (
	conditionReady  = "Ready"
	conditionSynced = "Synced"

	conditionTrue    = "True"
	conditionFalse   = "False"
	conditionUnknown = "Unknown"
)

// contents are the fields that say what to run. A run has exactly one.
var contents = [...]string{"role", "roles", "playbook", "playbooks", "playbookInline"} //nolint:gochecknoglobals // Go has no constant arrays.

// coreMetadata are the labels and annotations that core adds to composed
// resources.
var coreMetadata = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	"crossplane.io/composite",
	"crossplane.io/claim-name",
	"crossplane.io/claim-namespace",
	"crossplane.io/composition-resource-name",
}

// ownedAnnotations of AnsibleRuns are nobody else's.
var ownedAnnotations = [...]string{common.AnnotationRunPolicy, AnnotationDependsOn, AnnotationPrune} //nolint:gochecknoglobals // Go has no constant arrays.

// isAnsibleRun is true for AnsibleRuns of either group.
func isAnsibleRun(o map[string]any) bool {
	group, _, _ := strings.Cut(manifest.Text(o, "apiVersion"), "/")
	return manifest.Text(o, "kind") == common.KindAnsibleRun && (group == common.GroupCluster || group == common.GroupNamespaced)
}

func ownAnnotations(o map[string]any) map[string]any {
	own := map[string]any{}

	all, _ := manifest.Nested(o, "metadata", "annotations").(map[string]any)

	for _, name := range ownedAnnotations {
		if v, ok := all[name]; ok {
			own[name] = v
		}
	}

	return own
}

// condition returns the status and the message of a condition of an AnsibleRun. The
// status is Unknown when the condition does not tell of the current generation.
func condition(o map[string]any, typ string) (status, message string) {
	c := manifest.Condition(o, typ)
	if c == nil || !manifest.IsCurrent(o, c) {
		return conditionUnknown, ""
	}

	return manifest.Text(c, "status"), manifest.Text(c, "message")
}

// isReady is true when an observed AnsibleRun is Ready and Synced in its current
// generation, and not being deleted.
func isReady(o map[string]any) bool {
	ready, _ := condition(o, conditionReady)
	synced, _ := condition(o, conditionSynced)

	return ready == conditionTrue && synced == conditionTrue && !manifest.IsDeleted(o)
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

// deletesContent is true for an AnsibleRun whose content runs with state absent when it is
// deleted.
func deletesContent(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	policies, set := spec["managementPolicies"].([]any)

	return manifest.Text(spec, "deletionPolicy") != "Orphan" && (!set || slices.Contains(policies, "*") || slices.Contains(policies, "Delete"))
}

// workload tells AnsibleRuns apart by what they do, where, and with which variables.
func workload(o map[string]any) string {
	spec, _ := o["spec"].(map[string]any)
	parameters, _ := spec["forProvider"].(map[string]any)

	of := manifest.Pick(parameters, append(contents[:], "hosts", "inventoryInline", "inventories", "limit", "vars", "unsafeVars", "varFiles")...)
	ref, _ := spec["providerConfigRef"].(map[string]any)
	of["providerConfigRef"] = manifest.Pick(ref, "name")

	// Maps are printed in the order of their keys.
	return fmt.Sprintf("%#v", manifest.Canonical(of))
}
