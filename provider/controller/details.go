package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/config"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// writeDetails writes the connection Secret in the way of crossplane-runtime, and returns its UID.
func (c *connector) writeDetails(ctx context.Context, run common.AnsibleRun, details map[string][]byte,
) (types.UID, error) {
	var secret *corev1.Secret

	switch o := run.(type) {
	case resource.LocalConnectionSecretOwner:
		secret = resource.LocalConnectionSecretFor(o, c.kind)
	case resource.ConnectionSecretOwner:
		secret = resource.ConnectionSecretFor(o, c.kind)
	default:
		return "", errors.New("the object has no connection secret")
	}

	secret.Data = details

	a := resource.NewApplicatorWithRetry(resource.NewAPIPatchingApplicator(c.kube), resource.IsAPIErrorWrapped, nil)
	err := a.Apply(ctx, secret, resource.ConnectionSecretMustBeControllableBy(run.GetUID()))

	return secret.UID, err
}

// isGone is true when a Secret does not exist, or has another UID.
func (c *connector) isGone(ctx context.Context, key types.NamespacedName, uid string) (bool, error) {
	for _, r := range []client.Reader{c.metadata, c.kube} {
		m := &metav1.PartialObjectMetadata{}
		m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(config.KindSecret))

		err := r.Get(ctx, key, m)
		if err == nil && string(m.UID) == uid {
			return false, nil
		}

		if err != nil && !kerrors.IsNotFound(err) {
			return false, errors.Wrapf(err, "cannot get the connection secret %q", key)
		}
	}

	return true, nil
}

// publish writes the connection details of the last successful apply into the Secret, if it does not have them. It
// returns true if the provider does not know them any more, so that only another run can publish them.
func (e *external) publish(ctx context.Context, run common.AnsibleRun, r runs.Report) (bool, error) {
	key, wanted := config.ConnectionSecret(run)
	d := run.Observation().ConnectionDetails

	switch {
	case d == nil || !wanted:
		return false, nil
	case isIn(d, key):
		return e.isGone(ctx, key, d.UID)
	case len(r.ConnectionDetails) == 0, r.Run.Mode != common.ModeApply, r.Run.State != common.StatePresent:
		return true, nil
	}

	uid, err := e.writeDetails(ctx, run, r.ConnectionDetails)
	if err != nil {
		return false, errors.Wrap(err, "cannot publish connection details")
	}

	d.Namespace, d.Name, d.UID = key.Namespace, key.Name, string(uid)

	return false, nil
}

// published is true when the connection details of a run are in the Secret, or when the object needs no Secret or is
// deleted.
func published(run common.AnsibleRun, r runs.Report) bool {
	key, wanted := config.ConnectionSecret(run)
	d := run.Observation().ConnectionDetails

	return len(r.ConnectionDetails) == 0 || !wanted || meta.WasDeleted(run) || d == nil || d.RunID == r.Run.ID &&
		isIn(d, key)
}

// isIn is true when connection details were written to the Secret with a name.
func isIn(d *common.PublishedDetails, key types.NamespacedName) bool {
	return d.Name == key.Name && d.Namespace == key.Namespace
}
