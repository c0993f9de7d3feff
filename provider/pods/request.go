package pods

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const (
	// againAfter is how long to wait before a request that has failed is sent again. That doubles, up to againAtMost.
	againAfter  = 2 * time.Second
	againAtMost = time.Minute
	// rightsTries is how often rights are asked for again before a run lacks them: an API server
	// that has just started knows no roles yet, and allows nothing.
	rightsTries = 2
)

// A refusal is an error that the same request would get again.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// isRefusal is true for an error that the same request would get again.
func isRefusal(err error) bool {
	return errors.As(err, new(*refusal)) || kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) ||
		kerrors.IsNotFound(err) || kerrors.IsForbidden(err) && !isQuota(err) || kerrors.IsRequestEntityTooLargeError(err)
}

// isQuota is true for an error of a ResourceQuota.
func isQuota(err error) bool {
	return kerrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// post an object of the run, with a mark that nothing else knows. The answer to an earlier request may have been lost,
// and others may have made another object of its name.
func (r *run) post(ctx context.Context, o client.Object) error {
	key := client.ObjectKeyFromObject(o)
	mark := hex.EncodeToString(mac.Sum(r.sealKey, "request", fmt.Appendf(nil, "%T %s", o, key)))
	o.SetAnnotations(labels.Merge(o.GetAnnotations(), map[string]string{annotationMark: mark}))

	err := r.config.Client.Create(ctx, o)
	if !kerrors.IsAlreadyExists(err) {
		return err
	}

	if err := r.config.Client.Get(ctx, key, o); err != nil {
		return errors.Wrap(err, "cannot get what was made for the run")
	}

	if o.GetAnnotations()[annotationMark] != mark {
		return &refusal{errors.Errorf("%s is there already, and something else has made it", key)}
	}

	return nil
}

// failed is called when a request has. The run may have to end by that. Otherwise that or another one is sent again.
func (r *run) failed(ctx context.Context, err error) {
	if !isQuota(err) {
		err = rights.Explained(err, func() error { return CheckRights(ctx, r.config.Client, r.ref.Namespace) })
	}

	r.again = min(againAfter<<min(r.failures, maxDoubled), againAtMost)
	r.failures++

	if r.pod != nil {
		r.again = min(r.again, lookEvery)
	}

	lacks := rights.Lacks(err)

	switch {
	case r.given && (lacks || kerrors.IsForbidden(err)) && isDeleted(ctx, r.config.Client, r.ref.Namespace):
		// Nothing may ever see the run again: Kubernetes deletes the RoleBindings of a namespace with all else in it.
		r.gone, r.unseen, r.again = true, nil, 0
	case r.given || r.why != nil || lacks && r.failures <= rightsTries:
	case lacks:
		r.giveUp(end{common.PhaseFailed, common.ReasonForbidden, err.Error(), true})
		r.report.NotBefore = time.Now().Add(runs.AccessAgain)
	case isRefusal(err):
		r.giveUp(end{common.PhaseFailed, common.ReasonPodNotStarted, err.Error(), true})
	}

	if r.begun || r.pod == nil && r.todo.Begun != nil {
		r.says(err.Error())
		return
	}

	r.waits(common.PhaseQueued, err.Error())
}

// isDeleted is true for a namespace that is being deleted, or is not there. The provider may make Secrets
// in all namespaces, and read none of these.
func isDeleted(ctx context.Context, kube client.Client, namespace string) bool {
	err := kube.Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "ansiblerun-"}}, client.DryRunAll)

	return kerrors.IsNotFound(err) || kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
