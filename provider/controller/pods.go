package controller

import (
	"context"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pods"
)

// forgetting is how long it may take after the end of a run until the pool forgets it, and its Job is kept for as long
// as its configuration says. Until then nobody follows the Job, and nothing is wrong with it.
const forgetting = time.Minute

// StateOf tells what the object of a Job knows of its run. The Job says which object that is.
func StateOf(ctx context.Context, r client.Reader, ref pods.ObjectReference) (pods.State, error) {
	for _, k := range Kinds() {
		if k.GroupKind().String() != ref.GroupKind {
			continue
		}

		run, ok := k.object.DeepCopyObject().(common.AnsibleRun)
		if !ok {
			break
		}

		err := r.Get(ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, run)

		switch {
		case kerrors.IsNotFound(err), err == nil && string(run.GetUID()) != ref.UID:
			return pods.StateGone, nil
		case err != nil:
			return pods.StateUnknown, errors.Wrap(err, "cannot get the AnsibleRun of a Job")
		}

		last := run.Observation().LastRun

		switch {
		case last == nil:
			return pods.StateUnknown, nil
		case last.ID != ref.RunID:
			return pods.StateRecorded, nil
		case !last.Phase.Finished() || last.CompletionTime != nil && time.Since(last.CompletionTime.Time) < forgetting:
			return pods.StateUnknown, nil
		}

		return pods.StateRecorded, nil
	}

	return pods.StateUnknown, nil
}
