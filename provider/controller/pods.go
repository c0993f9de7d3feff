package controller

import (
	"context"
	"maps"
	"slices"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
)

// forgetting is the longest time between the end of a run and its end in the pool. For this time, its Pod is not
// followed, but must not be swept.
const forgetting = time.Minute

// Over returns true if the run of a Pod that is not followed is over: its object is gone, or its status has the end of
// the run, or another run.
func Over(ctx context.Context, r client.Reader, s *runtime.Scheme, ref pods.ObjectReference) (bool, error) {
	for _, k := range runKinds() {
		if k.GroupKind().String() != ref.GroupKind {
			continue
		}

		run := newOf[common.AnsibleRun](s, k, k.Kind)
		err := r.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, run)

		switch {
		case kerrors.IsNotFound(err), err == nil && string(run.GetUID()) != ref.UID:
			return true, nil
		case err != nil:
			return false, errors.Wrap(err, "cannot get the AnsibleRun of a Pod")
		}

		last := run.Observation().LastRun
		if last == nil || last.ID != ref.RunID {
			return last != nil, nil
		}

		return last.Phase.Finished() &&
			(last.CompletionTime == nil || time.Since(last.CompletionTime.Time) >= forgetting), nil
	}

	return false, nil
}

// PodNamespaces returns the namespaces of the Pods of the last runs of all objects.
func PodNamespaces(ctx context.Context, r client.Client) ([]string, error) {
	all := map[string]bool{}

	for _, k := range runKinds() {
		l := newOf[resource.ManagedList](r.Scheme(), k, k.Kind+"List")
		if err := r.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			return nil, errors.Wrap(err, "cannot list AnsibleRuns")
		}

		for _, o := range l.GetItems() {
			run, ok := o.(common.AnsibleRun)
			if ok && run.Observation().LastRun != nil && run.Observation().LastRun.Pod != nil {
				all[run.Observation().LastRun.Pod.Namespace] = true
			}
		}
	}

	return slices.Collect(maps.Keys(all)), nil
}
