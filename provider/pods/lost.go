package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// lostFor is how long nothing is to be seen of a run any more, until it is taken for ended: its Pod may take
// its time to end.
const lostFor = 2 * time.Minute

// errLost is the error of a run of which nothing can be learned any more.
var errLost = errors.New("the run is lost")

// unseen is what follows when the API server does not show the run. It is true when the run has ended.
func (r *run) unseen(ctx context.Context, err error) bool {
	if !kerrors.IsForbidden(err) {
		r.waits(err.Error())

		return false
	}

	if r.isLost(ctx) {
		r.conclude(view{})

		return true
	}

	r.says(r.explained(ctx, err).Error())

	return false
}

// explained is an error that says which rights are missing and which command grants them, if they were there
// before and are not any more.
func (r *run) explained(ctx context.Context, err error) error {
	if kerrors.IsForbidden(err) {
		if e := checkRights(ctx, r.config.Client, r.ref.Namespace); executor.LacksAccess(e) {
			return e
		}
	}

	return err
}

// isLost is true for a run that the provider may not see, and of which nothing can be left. Kubernetes
// deletes the RoleBindings of a namespace with everything else in it, so that nobody may ever see the run
// again.
func (r *run) isLost(ctx context.Context) bool {
	if !r.isGone(ctx) {
		r.lostSince = time.Time{}

		return false
	}

	if r.lostSince.IsZero() {
		r.lostSince = r.now()
	}

	return r.now().Sub(r.lostSince) > lostFor
}

// isGone is true once the watch has shown that nothing is left of the run, or its namespace is deleted.
func (r *run) isGone(ctx context.Context) bool {
	if r.scope != nil && !r.scope.blind.Load() {
		if v, err := r.known(ctx, false); err == nil && v.gone() {
			return true
		}
	}

	return isDeleted(ctx, r.config.Client, r.ref.Namespace)
}

// isDeleted is true for a namespace that is being deleted, or is not there. The provider may make Secrets
// in all namespaces, and read none of these.
func isDeleted(ctx context.Context, kube client.Client, namespace string) bool {
	err := kube.Create(ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "ansiblerun-"}}, client.DryRunAll)

	return kerrors.IsNotFound(err) || kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}
