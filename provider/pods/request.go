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
	// againAfter is the pause before a failed request is repeated. It doubles up to againAtMost.
	againAfter  = 2 * time.Second
	againAtMost = time.Minute
	// rightsTries is the number of repeated checks before a right counts as missing: an API server that has just started
	// does not know the roles yet, and forbids all requests.
	rightsTries = 2
)

// A refusal is an error that would repeat if the request was repeated.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// isRefusal is true for an error that would repeat if the request was repeated.
func isRefusal(err error) bool {
	return errors.As(err, new(*refusal)) || kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) ||
		kerrors.IsNotFound(err) || kerrors.IsForbidden(err) && !isQuota(err) || kerrors.IsRequestEntityTooLargeError(err)
}

// isQuota is true for an error of a ResourceQuota.
func isQuota(err error) bool {
	return kerrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// post creates an object of the run, with a mark that only the provider can compute. If the object exists, the mark
// tells whether an earlier request without an answer has created it, or another client.
func (r *run) post(ctx context.Context, o client.Object) error {
	key := client.ObjectKeyFromObject(o)
	mark := hex.EncodeToString(mac.Sum(r.sealKey, "request", fmt.Appendf(nil, "%T %s", o, key)))
	o.SetAnnotations(labels.Merge(o.GetAnnotations(), map[string]string{annotationMark: mark}))

	err := r.config.Client.Create(ctx, o)
	if !kerrors.IsAlreadyExists(err) {
		return err
	}

	if err := r.config.Client.Get(ctx, key, o); err != nil {
		return errors.Wrap(err, "cannot get the object that was created for the run")
	}

	if o.GetAnnotations()[annotationMark] != mark {
		return &refusal{errors.Errorf("%s already exists, and another client has created it", key)}
	}

	return nil
}

// failed handles the error of a request: it gives the run up, or sets the pause before the next step, and shows the
// error.
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
		// The provider may never see the Pod again: the deletion of a namespace includes the RoleBindings in it.
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

// isDeleted is true for a namespace that is being deleted, or does not exist. The provider may create Secrets in all
// namespaces, but may not be allowed to read namespaces.
func isDeleted(ctx context.Context, kube client.Client, namespace string) bool {
	err := kube.Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "ansiblerun-"}}, client.DryRunAll)

	return kerrors.IsNotFound(err) || kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
