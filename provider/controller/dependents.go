package controller

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/dependents"
)

// Dependents watches objects that runs have made in the cluster.
type Dependents interface {
	// Forget forgets an AnsibleRun that is gone.
	Forget(uid types.UID)
	// Watch watches the dependents of an AnsibleRun, and calls wake when one was changed. It returns whether one was
	// changed, or why that is not known.
	Watch(s dependents.Subject, wake func()) (changed bool, err error)
	// Stop stops watching the dependents of an AnsibleRun.
	Stop(uid types.UID)
}

// reported returns the part of the status of the XR that the runs of an object have set; nil for none.
func reported(o *common.AnsibleRunObservation) json.RawMessage {
	if o.Reported == nil {
		return nil
	}

	return o.Reported.Raw
}

// watchDependents watches the dependents of an object, except during a run. It returns whether one was changed since
// the last run. The error says why not all are watched.
func (e *external) watchDependents(run common.AnsibleRun) (changed bool, err error) {
	k, all := e.inputs.Kubernetes, run.Observation().Dependents

	var kinds []common.DependentKind
	if k != nil && k.WatchDependents && !e.Runs() {
		kinds = slices.DeleteFunc(slices.Clone(all), func(d common.DependentKind) bool { return !k.Watches(d) })
	}

	if len(kinds) == 0 {
		e.Dependents.Stop(run.GetUID())

		return false, nil
	}

	s, wake := dependents.Subject{UID: run.GetUID(), Account: *k, Kinds: kinds}, e.waker(run)

	changed, err = e.Dependents.Watch(s, func() { wake(0) })
	if err == nil && len(all) >= common.MaxDependents {
		err = errors.Errorf("objects of %d kinds are watched, and no others", common.MaxDependents)
	}

	return changed, err
}
