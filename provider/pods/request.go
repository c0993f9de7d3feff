package pods

import (
	"context"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

const (
	// againAfter is how long to wait before a request that has failed is sent again. That doubles, up to againAtMost.
	againAfter  = 2 * time.Second
	againAtMost = time.Minute
	// rightsTries is how often rights are asked for again before a run lacks them: an API server
	// that has just started knows no roles yet, and allows nothing.
	rightsTries = 2
	// lostFor is how long a namespace is gone until its runs are taken for ended: a Pod may take its time.
	lostFor = 2 * time.Minute
)

// A refusal is an error of the API server that the same request would get again.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// isRefusal is true for an error of the API server that the same request would get again.
func isRefusal(err error) bool {
	return kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) || kerrors.IsNotFound(err) || kerrors.IsForbidden(err) &&
		!isQuota(err) || kerrors.IsRequestEntityTooLargeError(err)
}

// isQuota is true for an error of a ResourceQuota.
func isQuota(err error) bool {
	return kerrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// sleep until then, or until the context is done.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// watched starts the watch of the namespace of the run, unless there is one.
func (r *run) watched(ctx context.Context) error {
	for tries := 0; ; tries++ {
		_, err := r.watches.of(ctx, r.ref.Namespace)
		if err == nil || tries == rightsTries || !executor.LacksAccess(err) || sleep(ctx, againAfter) != nil {
			return err
		}
	}
}

// insist on a request: one that fails for a reason that may pass is sent again.
func (r *run) insist(ctx context.Context, request func() error) error {
	for again := againAfter; ; again = min(2*again, againAtMost) {
		err := request()

		switch {
		case err == nil:
			return nil
		case errors.As(err, new(*refusal)), executor.LacksAccess(err):
			return err
		case isRefusal(err):
			if e := r.explained(ctx, err); executor.LacksAccess(e) {
				return e
			}

			return &refusal{err}
		}

		r.waits(err.Error())

		if err := sleep(ctx, again); err != nil {
			return err
		}
	}
}

// post an object of the run. Sent is true if it is there, or may be: the answer to a request may be lost. What is there
// at the first try is of others.
func (r *run) post(ctx context.Context, o client.Object) (sent bool, err error) {
	err = r.insist(ctx, func() error {
		err := r.config.Client.Create(ctx, o)

		switch {
		case kerrors.IsAlreadyExists(err) && sent:
			return r.adoptPosted(ctx, o)
		case kerrors.IsAlreadyExists(err):
			return taken(o)
		case err == nil || !isRefusal(err) && !isQuota(err):
			sent = true
		}

		return err
	})

	return sent, err
}

// adoptPosted adopts an object that an earlier request may have made. Others may have made another one of its name.
func (r *run) adoptPosted(ctx context.Context, o client.Object) error {
	var err error

	found, key := false, client.ObjectKeyFromObject(o)

	switch o := o.(type) {
	case *corev1.Pod:
		is := &corev1.Pod{}
		if err = r.config.Client.Get(ctx, key, is); isOwn(is, r.job.Object.UID) {
			*o, found = *is, true
		}
	case *corev1.Secret:
		is := &corev1.Secret{}
		err = r.config.Client.Get(ctx, key, is)
		found = reflect.DeepEqual(is.Data, o.Data) && reflect.DeepEqual(is.OwnerReferences, o.OwnerReferences)
	}

	switch {
	case err != nil:
		return errors.Wrap(err, "cannot get what was made for the run")
	case !found:
		return taken(o)
	}

	return nil
}

// taken is the error for an object that is there, and was not made for the run.
func taken(o client.Object) error {
	return &refusal{errors.Errorf("%s/%s is there already, and something else has made it", o.GetNamespace(), o.GetName())}
}

// unseen is what follows when the API server does not show the Pod. It is true when the run has ended.
func (r *run) unseen(ctx context.Context, err error, cancel bool) bool {
	if r.isLost(ctx, err) {
		return r.lost() != nil
	}

	if cancel && r.canceled.IsZero() {
		r.cancel(ctx, nil)
	}

	if message := r.explained(ctx, err).Error(); r.begun {
		r.says(message)
	} else {
		r.waits(message)
	}

	return false
}

// explained is an error that says which rights are missing and which command grants them, if that is so.
func (r *run) explained(ctx context.Context, err error) error {
	if kerrors.IsForbidden(err) {
		if e := checkRights(ctx, r.config.Client, r.ref.Namespace); executor.LacksAccess(e) {
			return e
		}
	}

	return err
}

// isLost is true for a run that the provider may not see, and of which nothing can be left. Kubernetes
// deletes the RoleBindings of a namespace with everything else in it, so that nothing may ever see the run
// again.
func (r *run) isLost(ctx context.Context, err error) bool {
	denied := kerrors.IsForbidden(err) || executor.LacksAccess(err)
	_, gone := r.sight.last()

	switch {
	case !denied || !gone && !isDeleted(ctx, r.config.Client, r.ref.Namespace):
		r.lostSince = time.Time{}
	case r.lostSince.IsZero():
		r.lostSince = r.now()
	default:
		return r.now().Sub(r.lostSince) > lostFor
	}

	return false
}

// isDeleted is true for a namespace that is being deleted, or is not there. The provider may make Secrets
// in all namespaces, and read none of these.
func isDeleted(ctx context.Context, kube client.Client, namespace string) bool {
	err := kube.Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "ansiblerun-"}}, client.DryRunAll)

	return kerrors.IsNotFound(err) || kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
