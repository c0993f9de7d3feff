package pods

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

const (
	// leftFor is how long a Pod may go on after the last report of its run.
	leftFor = 2 * time.Minute
	// maxForgotten is how many Jobs wait to be released. The sweep finds the others.
	maxForgotten = 10000
	// gatherFor is how long a Job waits for others.
	gatherFor = 500 * time.Millisecond
	// maxTogether is how many Jobs are released by one of the releasers of a namespace. One request removes their
	// Secrets, which the API server does one after the other.
	maxTogether = 10
	releasers   = 8
)

// Forget a job: the credentials of its Pod go now, the Job when it has been kept for as long as
// the configuration says. Nothing of it waits for the API server.
func (x *Executor) Forget(j executor.Job) {
	select {
	case x.forget <- j:
	default:
	}
}

// cleanAll cleans up after runs whose results were recorded, until the context is done.
func (x *Executor) cleanAll(ctx context.Context) {
	for {
		select {
		case j := <-x.forget:
			x.cleanIn(ctx, x.gather(ctx, j))
		case <-ctx.Done():
			return
		}
	}
}

// gather the jobs that are forgotten soon after one, by the namespaces of their Pods.
func (x *Executor) gather(ctx context.Context, first executor.Job) map[string][]executor.Job {
	all := map[string][]executor.Job{first.Reference().Namespace: {first}}

	t := time.NewTimer(gatherFor)
	defer t.Stop()

	for range releasers*maxTogether - 1 {
		select {
		case j := <-x.forget:
			ns := j.Reference().Namespace
			all[ns] = append(all[ns], j)
		case <-t.C:
			return all
		case <-ctx.Done():
			return all
		}
	}

	return all
}

// cleanIn cleans up in some namespaces. None waits for another one.
func (x *Executor) cleanIn(ctx context.Context, jobs map[string][]executor.Job) {
	g := &errgroup.Group{}

	for ns, of := range jobs {
		g.Go(func() error {
			// The sweep tries again.
			if err := x.clean(ctx, ns, of); err != nil {
				x.config.Log.Info("Cannot clean up after runs", "namespace", ns, "error", err)
			}

			return nil
		})
	}

	_ = g.Wait()
}

// clean up after runs in a namespace.
func (x *Executor) clean(ctx context.Context, namespace string, jobs []executor.Job) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	sc, err := x.scopes.of(ctx, namespace)
	if err != nil {
		return err
	}

	var made []*batchv1.Job

	for _, job := range jobs {
		j := &batchv1.Job{}
		own := runKey{string(job.Object.UID), job.ID}

		// The status of an object may name the Job of another one.
		if err := sc.Get(ctx, client.ObjectKey{Namespace: namespace, Name: job.Reference().Name}, j); err == nil &&
			x.made(j) && keyOf(j) == own {
			made = append(made, j)
		}
	}

	if len(made) == 0 {
		return nil
	}

	return x.release(ctx, namespace, made...)
}

// release Jobs of a namespace: remove their Secrets, and have Kubernetes remove them in time.
func (x *Executor) release(ctx context.Context, namespace string, jobs ...*batchv1.Job) error {
	g := &errgroup.Group{}
	g.SetLimit(releasers)

	for some := range slices.Chunk(jobs, maxTogether) {
		g.Go(func() error {
			if err := x.removeSecrets(ctx, namespace, some); err != nil {
				return err
			}

			var errs []error
			for _, j := range some {
				errs = append(errs, errors.Wrapf(x.expire(ctx, j), "cannot have the Job %q removed", j.Name))
			}

			return errors.Join(errs...)
		})
	}

	return g.Wait()
}

func (x *Executor) removeSecrets(ctx context.Context, namespace string, jobs []*batchv1.Job) error {
	var ids []string
	for _, j := range jobs {
		ids = append(ids, j.Labels[labelRun])
	}

	of, err := labels.NewRequirement(labelRun, selection.In, ids)
	if err != nil {
		return errors.Wrap(err, "cannot select the Secrets of runs")
	}

	s := client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*of)}

	return errors.Wrap(x.config.Client.DeleteAllOf(ctx, &corev1.Secret{}, client.InNamespace(namespace), s),
		"cannot remove the Secrets of runs")
}

// expire has Kubernetes remove a Job when it has been kept for long enough.
func (x *Executor) expire(ctx context.Context, j *batchv1.Job) error {
	keep := keepFor(j)
	if keep == 0 {
		return client.IgnoreNotFound(
			x.config.Client.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}

	was := j.DeepCopy()
	j.Annotations[annotationReleased] = "true"
	j.Spec.TTLSecondsAfterFinished = new(int32(keep.Seconds()))

	// A container that a podTemplate or a webhook has added may outlive that of the run, and
	// nothing removes a Job that has not ended.
	if began := j.Status.StartTime; began != nil && completed(j).IsZero() {
		j.Spec.ActiveDeadlineSeconds = new(int64((x.now().Sub(began.Time) + leftFor).Seconds()))
	}

	return client.IgnoreNotFound(x.config.Client.Patch(ctx, j, client.MergeFrom(was)))
}
