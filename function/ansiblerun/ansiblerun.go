// Package ansiblerun reads observed AnsibleRuns as JSON: annotations, labels and status, and from the managed fields
// what core, the Crossplane controller, has applied.
package ansiblerun

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
	"github.com/crossplane-ansible/crossplane-ansible/function/manifest"
)

// AnnotationDependsOn of an AnsibleRun lists the composition resource names of its dependencies, separated by commas.
// The function reads it when the run is no longer in the Composition: the dependencies must outlive the AnsibleRun.
const AnnotationDependsOn = v1alpha1.Group + "/depends-on"

// AllKeys follows the name of a set in an entry of AnnotationDependsOn that stands for all members.
const AllKeys = "[]"

// LabelComposite of an AnsibleRun has the UID of its XR. It also selects AnsibleRuns that are being deleted, from which
// core removes its own labels.
const LabelComposite = v1alpha1.Group + "/composite-uid"

// LabelCompositeName of a composed resource has the name of its XR. Core keeps it when the XR is deleted.
const LabelCompositeName = "crossplane.io/composite"

// LabelInUse is "true" on a resource that a Usage protects. The function sets it on new AnsibleRuns that get a Usage,
// so that core does not have to add it.
const LabelInUse = "crossplane.io/in-use"

// AnnotationPrune is PruneNever on an AnsibleRun that stays when its run is no longer in the Composition.
const (
	AnnotationPrune = v1alpha1.Group + "/prune"
	PruneNever      = "never"
)

// AnnotationRun of an AnsibleRun has the name of its run, if its composition resource name is a previous name.
const AnnotationRun = v1alpha1.Group + "/run"

// AnnotationAllowRemoval of an XR says how many members of sets may be removed at once, as in user=12,disk=3.
const AnnotationAllowRemoval = v1alpha1.Group + "/allow-removal"

// API versions of AnsibleRuns.
const (
	APIVersionCluster    = common.GroupCluster + "/" + common.Version
	APIVersionNamespaced = common.GroupNamespaced + "/" + common.Version
)

// Types and statuses of conditions of an AnsibleRun.
const (
	ConditionReady  = "Ready"
	ConditionSynced = "Synced"

	ConditionTrue    = "True"
	ConditionFalse   = "False"
	ConditionUnknown = "Unknown"
)

// TypeAnsibleRunsReady is the type of the condition of an XR that says which of its AnsibleRuns are not ready, and why.
const TypeAnsibleRunsReady = "AnsibleRunsReady"

// Reasons of AnsibleRunsReady with a message that is not about runs.
const (
	// ReasonInvalidInput means that the input in the Composition is invalid.
	ReasonInvalidInput = "InvalidInput"
	// ReasonTooLarge means that the desired state is larger than core can receive.
	ReasonTooLarge = "TooLarge"
	// ReasonInvalidStatus means that all runs are ready, but the status, conditions or connection details have
	// problems.
	ReasonInvalidStatus = "InvalidStatus"
)

// WaitingFor begins the line in the message of AnsibleRunsReady about a run that waits for others.
const WaitingFor = "waiting for "

// ContentFields are the fields with the content of a run. A run has exactly one of them.
var ContentFields = [...]string{"role", "roles", "playbook", "playbooks", "playbookInline"} //nolint:gochecknoglobals // Go has no constant arrays.

// CoreMetadata are the labels and annotations that core adds to composed resources.
var CoreMetadata = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	LabelCompositeName,
	"crossplane.io/claim-name",
	"crossplane.io/claim-namespace",
	"crossplane.io/composition-resource-name",
}

// OwnedAnnotations are the annotations of AnsibleRuns that only the function sets.
var OwnedAnnotations = [...]string{ //nolint:gochecknoglobals // Go has no constant arrays.
	common.AnnotationRunPolicy,
	meta.AnnotationKeyPollInterval,
	common.AnnotationKeepOutput,
	AnnotationDependsOn,
	AnnotationPrune,
}

// Is is true for AnsibleRuns of either group.
func Is(o map[string]any) bool {
	group, _, _ := strings.Cut(manifest.Text(o, "apiVersion"), "/")
	return manifest.Text(o, "kind") == common.KindAnsibleRun &&
		(group == common.GroupCluster || group == common.GroupNamespaced)
}

// ownAnnotations returns the OwnedAnnotations that an AnsibleRun has, with their values.
func ownAnnotations(o map[string]any) map[string]any {
	own := map[string]any{}

	all, _ := manifest.Nested(o, "metadata", "annotations").(map[string]any)

	for _, name := range OwnedAnnotations {
		if v, ok := all[name]; ok {
			own[name] = v
		}
	}

	return own
}

// CompositionResource returns the composition resource name of a composed resource.
func CompositionResource(o map[string]any) string {
	return manifest.Annotation(o, "crossplane.io/composition-resource-name")
}

// Condition returns a condition of an AnsibleRun, with a message of one line. It has only the status Unknown when it is
// missing or not of the current generation.
func Condition(o map[string]any, typ xpv2.ConditionType) xpv2.Condition {
	c := manifest.Condition(o, string(typ))
	if c == nil || !manifest.IsCurrent(o, c) {
		return xpv2.Condition{Status: ConditionUnknown}
	}

	return xpv2.Condition{
		Status: corev1.ConditionStatus(manifest.Text(c, "status")),
		Reason: xpv2.ConditionReason(manifest.Text(c, "reason")), Message: OneLine(manifest.Text(c, "message")),
	}
}

// OneLine returns a message with single spaces in place of line breaks and other white space.
func OneLine(message string) string { return strings.Join(strings.Fields(message), " ") }

// Deleting returns the part of a message about an AnsibleRun that is being deleted, with the message of its condition
// Deletable when that is False: "is being deleted: the run failed".
func Deleting(o map[string]any) string {
	c := Condition(o, common.TypeDeletable)
	if c.Status != ConditionFalse || c.Message == "" {
		return "is being deleted"
	}

	return "is being deleted: " + c.Message
}

// IsReady is true when an observed AnsibleRun is Ready and Synced in its current generation, and not being deleted.
func IsReady(o map[string]any) bool {
	return Condition(o, ConditionReady).Status == ConditionTrue &&
		Condition(o, ConditionSynced).Status == ConditionTrue && !manifest.IsDeleted(o)
}

// DependsOn returns the entries of AnnotationDependsOn, sorted and without duplicates.
func DependsOn(o map[string]any) []string {
	list, ok, _ := unstructured.NestedString(o, "metadata", "annotations", AnnotationDependsOn)
	if !ok {
		return nil
	}

	entries := strings.Split(list, ",")
	slices.Sort(entries)

	return slices.Compact(entries)
}

// KeepDependsOn returns a rendered AnsibleRun with the entries of AnnotationDependsOn of the observed one added.
func KeepDependsOn(rendered, observed map[string]any) map[string]any {
	on := DependsOn(rendered)
	before := slices.DeleteFunc(DependsOn(observed), func(entry string) bool { return slices.Contains(on, entry) })

	if len(before) == 0 {
		return rendered
	}

	all := slices.Sorted(slices.Values(slices.Concat(on, before)))

	return manifest.Overlay(rendered,
		map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{AnnotationDependsOn: strings.Join(all, ",")}},
		})
}

// DeletesContent is true when the deletion of an AnsibleRun runs its content with state absent.
func DeletesContent(o map[string]any) bool {
	spec, _ := o["spec"].(map[string]any)
	policies, set := spec["managementPolicies"].([]any)

	return manifest.Text(spec, "deletionPolicy") != "Orphan" &&
		manifest.NestedText(spec, "forProvider", "onDelete", "policy") != string(common.DeleteKeep) &&
		(!set || slices.Contains(policies, "*") || slices.Contains(policies, "Delete"))
}

// Workload returns a key that is equal for AnsibleRuns with the same content, hosts and variables.
func Workload(o map[string]any) string {
	spec, _ := o["spec"].(map[string]any)
	parameters, _ := spec["forProvider"].(map[string]any)

	of := manifest.Pick(parameters, append(ContentFields[:], "project", "hosts", "env", "inventoryInline", "inventories",
		"limit", "vars", "unsafeVars", "varFiles")...)
	ref, _ := spec["providerConfigRef"].(map[string]any)
	of["providerConfigRef"] = manifest.Pick(ref, "name")

	// fmt prints maps in the order of their keys.
	return fmt.Sprintf("%#v", manifest.Canonical(of))
}

// Withheld returns messages with the reason and the remedy, by the name of each output and each reported status field
// that an AnsibleRun withholds because it contains a secret.
func Withheld(o map[string]any) (outputs, reported map[string]string) {
	of := func(list string) map[string]string {
		all, _, _ := unstructured.NestedStringMap(o, "status", "atProvider", list)
		for name, why := range all {
			all[name] = "is withheld: " + why +
				"; let the content publish it as a connection detail, or keep the secret out of the output"
		}

		return all
	}

	return of("withheldOutputs"), of("withheldReported")
}
