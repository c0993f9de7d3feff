package pods

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// begin the run, or find the one that was begun.
func (r *run) begin(ctx context.Context) error {
	r.report = executor.NewReport(r.job)
	r.report.Run.Job, r.report.Run.StartTime = &r.ref, r.time()

	if r.job.Begun != nil {
		r.report.Run = *r.job.Begun.DeepCopy()

		return r.attach()
	}

	for tries := 0; ; tries++ {
		var err error

		r.scope, err = r.scopes.of(ctx, r.ref.Namespace)

		switch {
		case err == nil:
			return r.create(ctx)
		case tries == rightsTries || !errors.As(err, new(*rights.Error)):
			return err
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(retryEvery):
		}
	}
}

// create the Job of the run and its Secrets. A request that fails for a reason that may pass is
// sent again: it may have arrived.
func (r *run) create(ctx context.Context) error {
	// Nothing is made for a run that cannot reach what it is to manage.
	if err := r.grantable(ctx); err != nil {
		return err
	}

	p := Payload{
		Spec: r.job.Spec, Request: r.job.Request, Before: r.job.Before, Key: sealed.NewKey(),
		ContentKey: r.contentKey(r.job), Cluster: r.config.Endpoint,
	}
	p.Before.Content = r.job.Known

	r.key = p.Key

	secrets, err := secretsOf(r.job, p)
	if err != nil {
		return err
	}

	var names []string

	parts := map[string][]byte{}

	for _, s := range secrets {
		names = append(names, s.Name)
		maps.Copy(parts, s.Data)
	}

	own, err := r.config.Own(ctx)
	if err != nil {
		return &refusal{err}
	}

	j, err := r.newJob(r.job, own, names)
	if err != nil {
		return &refusal{err}
	}

	if len(j.Spec.Template.Spec.SchedulingGates) > 0 {
		r.plan = r.job.Plan()
	}

	// The Pod waits for the Secrets, which the Job owns, so that nothing is left of them.
	r.asked = true

	if err := r.make(ctx, j); err != nil {
		return err
	}

	r.uid = j.UID
	secrets[0].Annotations = map[string]string{annotationProof: r.payloadProof(r.uid, parts)}

	if err := r.give(ctx, ownedBy(j), secrets); err != nil {
		if ctx.Err() == nil {
			_ = r.delete(ctx)
		}

		return err
	}

	return nil
}

// ownedBy is a reference to a Job. It does not block the deletion of the Job: where the admission plugin
// OwnerReferencesPermissionEnforcement is on, as in OpenShift, that takes a right to its finalizers.
func ownedBy(j *batchv1.Job) metav1.OwnerReference {
	o := metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))
	o.BlockOwnerDeletion = nil

	return *o
}

// give the run its Secrets, which its Job owns.
func (r *run) give(ctx context.Context, owner metav1.OwnerReference, secrets []*corev1.Secret) error {
	if err := r.grant(ctx, owner); err != nil {
		return err
	}

	for _, s := range secrets {
		s.OwnerReferences = []metav1.OwnerReference{owner}

		if err := r.make(ctx, s); err != nil {
			return err
		}
	}

	return nil
}

// make an object. It is there already if an answer of the API server was lost.
func (r *run) make(ctx context.Context, o client.Object) error {
	return r.insist(ctx, func() error {
		err := r.config.Client.Create(ctx, o)
		if kerrors.IsAlreadyExists(err) {
			err = r.find(ctx, o)
		}

		return err
	})
}

// insist on a request: one that fails for a reason that may pass is sent again.
func (r *run) insist(ctx context.Context, request func() error) error {
	for {
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

		// Others may have a place meanwhile, so that very many may ask.
		again := retryEvery
		if r.report.Plan != "" {
			again = lookEvery
		}

		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(again):
		}
	}
}

// find an object that was made. Whoever may write Jobs and Secrets in the namespace may have
// made another one of its name.
func (r *run) find(ctx context.Context, o client.Object) error {
	found := false

	switch o := o.(type) {
	case *batchv1.Job:
		if err := r.config.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return errors.Wrap(err, "cannot get the Job of the run")
		}

		found = r.owns(o)
	case *corev1.Secret:
		is := &corev1.Secret{}
		if err := r.config.Client.Get(ctx, client.ObjectKeyFromObject(o), is); err != nil {
			return errors.Wrap(err, "cannot get a Secret of the run")
		}

		found = reflect.DeepEqual(is.Data, o.Data) && reflect.DeepEqual(is.OwnerReferences, o.OwnerReferences)
	}

	if !found {
		return &refusal{errors.Errorf("%s/%s is there already, and somebody else has made it", o.GetNamespace(), o.GetName())}
	}

	return nil
}

// A refusal is an error of the API server that the same request would get again.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// isQuota is true for an error of a ResourceQuota.
func isQuota(err error) bool {
	return kerrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}
