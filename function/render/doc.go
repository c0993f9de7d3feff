// Package render turns the input and what was observed into AnsibleRuns.
//
// Compile does once per input all that does not depend on an XR, and finds the
// mistakes of the Composition. Render does the rest for each XR; whatever goes
// wrong there is the state of a run, never an error.
package render

import (
	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/input/v1alpha1"
)

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
