package pods

import (
	"context"
	"crypto/hmac"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/rights"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// attach to the run that a former provider has begun. Its inputs are in its Secrets. A run that is
// canceled meanwhile may be in progress: it ends once it is found.
func (r *run) attach() error {
	for tries := 0; ; tries++ {
		try, stop := context.WithTimeout(r.watch.Provider, requestTimeout)
		err := r.tryAttach(try)

		stop()

		if err == nil {
			return nil
		}

		r.config.Log.Info("Cannot follow a run, trying again", "job", r.ref.Namespace+"/"+r.ref.Name, "error", err)

		lacks := errors.As(err, new(*rights.Error))
		if lacks && r.isLost(r.watch.Provider) {
			return errLost
		}

		if !lacks || tries >= rightsTries {
			r.waits(err.Error())
		}

		again := retryEvery
		if lacks && tries >= rightsTries {
			again = executor.AccessAgain
		}

		select {
		case <-time.After(again):
		case <-r.watch.Provider.Done():
			return err
		}
	}
}

func (r *run) tryAttach(ctx context.Context) error {
	sc, err := r.scopes.of(ctx, r.ref.Namespace)
	if err != nil {
		return err
	}

	if err := r.readPayload(ctx); err != nil {
		return err
	}

	r.scope = sc

	return nil
}

// readPayload adopts what the run was begun with. Without its Secrets the run has not begun, or nothing can be known of
// it. Whoever may write Secrets may have made others, which take as much memory as a report.
func (r *run) readPayload(ctx context.Context) error {
	select {
	case r.unpacking <- struct{}{}:
	case <-ctx.Done():
		return errors.Wrap(ctx.Err(), "cannot read the inputs of the run")
	}

	defer func() { <-r.unpacking }()

	parts, err := r.parts(ctx)
	if err != nil {
		return err
	}

	if p, err := joinPayload(parts); err == nil && len(p.Key) == sealed.KeySize {
		r.adopt(p)
	}

	return nil
}

// parts of the payload that the provider has given the run; none if there are others. They tell the
// UID of the Job, too.
func (r *run) parts(ctx context.Context) (map[string][]byte, error) {
	parts := map[string][]byte{}
	proof := ""

	var uid types.UID

	for size := 0; size <= maxPayload; {
		n := len(parts)
		s := &corev1.Secret{}

		err := r.config.Client.Get(ctx, client.ObjectKey{Namespace: r.ref.Namespace, Name: secretName(r.ref, n)}, s)
		if kerrors.IsNotFound(err) {
			break
		}

		if err != nil {
			return nil, errors.Wrap(err, "cannot read the inputs of the run")
		}

		if n == 0 {
			proof = s.Annotations[annotationProof]

			if job := metav1.GetControllerOf(s); job != nil {
				uid = job.UID
			}
		}

		part := s.Data[partName(n)]
		if len(part) == 0 {
			break
		}

		parts[partName(n)] = part
		size += len(part)
	}

	if !hmac.Equal([]byte(proof), []byte(r.payloadProof(uid, parts))) {
		return nil, nil
	}

	r.uid = uid

	return parts, nil
}

// adopt what a run was begun with. Which run of which object it is, says the object.
func (r *run) adopt(p Payload) {
	execution := r.job.Inputs.Execution

	// One that has begun may wait, too.
	if r.report.Run.Phase == common.PhaseQueued {
		r.plan = executor.Job{Spec: p.Spec, Request: p.Request}.Plan()
	}

	r.key = p.Key
	r.job.Attempt, r.job.Timeout, r.job.Request, r.job.Before = p.Spec.Attempt, p.Spec.Timeout, p.Request, p.Before
	r.job.Known = p.Before.Content
	r.job.Object = p.Spec.Object
	r.job.Inputs = p.Spec.Inputs
	r.job.Inputs.Execution = execution

	shown := r.report.Run
	r.report = executor.NewReport(r.job)
	shown.InputsDigest, shown.MetadataDigest = r.report.Run.InputsDigest, r.report.Run.MetadataDigest
	r.report.Run = shown
}
