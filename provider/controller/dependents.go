package controller

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
)

// Dependents watch what runs have made in the cluster.
type Dependents interface {
	// Forget an AnsibleRun that is gone.
	Forget(uid types.UID)
	// Watch the dependents of an AnsibleRun, and wake it when one was changed.
	Watch(s dependents.Subject, wake func())
	// Changed is true if one was changed since. The error says why that is not known.
	Changed(s dependents.Subject) (bool, error)
	// Stop to watch those of an AnsibleRun.
	Stop(uid types.UID)
}

// reported is what the runs of an object have set of the status of its XR.
func reported(o *common.AnsibleRunObservation) json.RawMessage {
	if o.Reported == nil {
		return nil
	}

	return o.Reported.Raw
}

// subject is the AnsibleRun with its dependents. It is false if these are not watched.
func (e *external) subject(run common.AnsibleRun) (dependents.Subject, bool) {
	k := e.inputs.Kubernetes
	if k == nil || !k.WatchDependents {
		return dependents.Subject{}, false
	}

	kinds := slices.DeleteFunc(slices.Clone(run.Observation().Dependents),
		func(d common.DependentKind) bool { return !k.Watches(d) })

	return dependents.Subject{UID: run.GetUID(), Account: *k, Kinds: kinds}, len(kinds) > 0
}

// drifted is true when a dependent was changed since the last run.
func (e *external) drifted(run common.AnsibleRun) bool {
	s, watched := e.subject(run)
	if !watched {
		return false
	}

	changed, _ := e.Dependents.Changed(s)

	return changed
}
