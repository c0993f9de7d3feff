// Package pods is an executor that gives each run a Pod of its own: a Job whose Pod carries
// out the run as executor.Local does. The Job has the name of the run's id, which the status
// of the object shows before the Job is made. So a provider that follows finds the Jobs that
// its predecessor made, and goes on following them: neither the end of a provider nor an
// upgrade interrupts a run.
//
// The Pod gets its inputs in a Secret, and needs no access to the API server unless its content
// does. What it reports comes back through its log, see package sealed.
package pods

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/keyed"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
)

const (
	// requestTimeout of what is done after a run, and of requests when a run is canceled.
	requestTimeout = 30 * time.Second
	// sweepEvery is how often Jobs are looked for whose runs nobody follows, and
	// unfollowedFor how old they are at least.
	sweepEvery    = time.Minute
	unfollowedFor = 2 * time.Minute
)

// A Config of an executor.
type Config struct {
	// Context of the provider. Watches end with it.
	Context context.Context //nolint:containedctx // It outlives each call of the executor.
	// REST is how the API server is reached. Its requests must not be limited to few.
	REST *rest.Config
	// Client that reads from the API server, not from a cache.
	Client client.Client
	// Own is what Pods take over from the provider's own one.
	Own func(ctx context.Context) (Own, error)
	// Template of all Pods: a PodTemplateSpec in JSON, which those of configurations are merged
	// over; nil for none.
	Template []byte
	// Args of the command in the Pod, beside those that the executor sets.
	Args []string
	// Env of the container, beside what templates say.
	Env []corev1.EnvVar
	// Cluster gives out tokens for runs that reach the API server.
	Cluster Cluster
	// Endpoint of the API server, for them.
	Endpoint kubeapi.Endpoint
	// Key of the provider.
	Key []byte
	// Status tells what the object of a run shows, for Jobs whose runs nobody follows.
	Status func(ctx context.Context, ref ObjectReference) (State, error)
	// Namespace in which most runs are to have Pods; empty if that is not known. Start logs which
	// rights are missing there.
	Namespace string
	// Log of what no object shows.
	Log logging.Logger
}

// Own is what Pods take over from the provider's own one.
type Own struct {
	// Image of the provider.
	Image string
	// Namespace of the Pod, and the PullSecrets there with which its image is pulled; empty if
	// that is not known.
	Namespace   string
	PullSecrets []corev1.LocalObjectReference
}

// An ObjectReference names the AnsibleRun that a Job belongs to.
type ObjectReference struct {
	// GroupKind of the object, as kind.group.
	GroupKind string
	// Namespace and Name of the object, and its UID.
	Namespace, Name, UID string
	// RunID is the id of the run.
	RunID string
}

// A State says what an object knows of a run.
type State int

const (
	// StateUnknown is that of a run that the object may still be about to follow.
	StateUnknown State = iota
	// StateRecorded is that of a run whose result the object shows, or that it has replaced.
	StateRecorded
	// StateGone is that of a run whose object is gone.
	StateGone
)

// Executor gives each run a Pod. Use New.
type Executor struct {
	config Config
	scopes *scopes
	logs   kubernetes.Interface
	forget chan executor.Job
	// unpacking has a place for each report that is unpacked: that takes memory.
	unpacking chan struct{}
	// asking has one for each page of Pods that is read from the API server.
	asking *semaphore.Weighted
	// events has a *sparing for each namespace.
	events sync.Map
	now    func() time.Time
}

var _ executor.Executor = &Executor{}

// New returns an executor. Start has to be called once the provider leads.
func New(c Config) (*Executor, error) {
	logs, err := kubernetes.NewForConfig(c.REST)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for logs")
	}

	return &Executor{
		config: c, logs: logs, now: time.Now, forget: make(chan executor.Job, maxForgotten),
		unpacking: make(chan struct{}, unpackers), asking: semaphore.NewWeighted(askers),
		scopes: &scopes{config: c, all: map[string]*scope{}, followers: map[runKey]chan struct{}{}},
	}, nil
}

// Needs of a job: nothing. Its Pod installs the content.
func (x *Executor) Needs(executor.Job) executor.Needs { return executor.Needs{} }

// Start to look after Jobs whose runs have ended, until the context is done.
func (x *Executor) Start(ctx context.Context) error {
	// With rights for the cluster one watch does for all namespaces.
	err := x.scopes.startCluster(ctx)
	if err != nil {
		x.config.Log.Debug("Watching the Jobs of each namespace by itself", "error", err)

		if x.config.Namespace != "" {
			if _, err := x.scopes.of(ctx, x.config.Namespace); err != nil {
				x.config.Log.Info("WARNING: Cannot run Pods yet", "error", err)
			}
		}
	}

	found := err == nil

	go x.cleanAll(ctx)

	t := time.NewTicker(sweepEvery)
	defer t.Stop()

	for {
		if !found {
			found = x.findLeft(ctx)
		}

		x.sweep(ctx)

		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// findLeft finds the namespaces in which a former provider has left something, to watch them. Secrets may
// be listed in all of them. It is false when it has to be tried again.
func (x *Executor) findLeft(ctx context.Context) bool {
	l := &metav1.PartialObjectMetadataList{}
	l.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))

	var err error

	namespaces := map[string]bool{}

	// Whoever may write Secrets may have written very many.
	for more := true; more && err == nil; more = l.Continue != "" {
		err = x.config.Client.List(ctx, l, client.HasLabels{labelRun}, client.Limit(page), client.Continue(l.Continue))

		for _, s := range l.Items {
			namespaces[s.Namespace] = true
		}
	}

	for ns := range namespaces {
		if _, e := x.scopes.of(ctx, ns); e != nil {
			err = e
		}
	}

	if err != nil {
		x.config.Log.Info("Cannot look for what former runs have left, trying again", "error", err)
	}

	return err == nil
}

// sweep up Jobs that nobody follows: the runs of objects that are gone, and those whose
// provider ended right after it had recorded them.
func (x *Executor) sweep(ctx context.Context) {
	for _, sc := range x.scopes.list() {
		l := &batchv1.JobList{}
		if err := sc.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			continue
		}

		for i := range l.Items {
			if err := x.sweepJob(ctx, l.Items[i].DeepCopy()); client.IgnoreNotFound(err) != nil {
				x.config.Log.Info("Cannot clean up after a run", "job", l.Items[i].Namespace+"/"+l.Items[i].Name, "error", err)
			}
		}
	}
}

func (x *Executor) sweepJob(ctx context.Context, j *batchv1.Job) error {
	// What was suspended before it was complete never ends.
	released := j.Annotations[annotationReleased] == "true" && (!view{job: j}.suspended() || !completed(j).IsZero())
	if !x.made(j) || released || x.scopes.followed(keyOf(j)) || x.now().Sub(j.CreationTimestamp.Time) < unfollowedFor {
		return nil
	}

	state, err := x.config.Status(ctx, ObjectReference{
		GroupKind: j.Annotations[annotationKind], Namespace: j.Annotations[annotationNamespace],
		Name: j.Annotations[annotationName],
		UID:  j.Labels[labelObject], RunID: j.Labels[labelRun],
	})

	switch {
	case err != nil || state == StateUnknown:
		return err
	case completed(j).IsZero():
		return x.deleteJob(ctx, j)
	}

	return x.release(ctx, j.Namespace, j)
}

// deleteJob deletes a Job, and waits for nothing. Its Pod is told to end first.
func (x *Executor) deleteJob(ctx context.Context, j *batchv1.Job) error {
	err := x.config.Client.Delete(ctx, j, client.PropagationPolicy(metav1.DeletePropagationForeground),
		client.Preconditions{UID: &j.UID})

	return errors.Wrap(client.IgnoreNotFound(err), "cannot delete the Job of a run")
}

// contentKey is the key of what Pods install for one configuration and one tenant.
func (x *Executor) contentKey(j executor.Job) []byte {
	return x.derived("content of pods", j)
}

// contentDir is the name of the directory on a claim with what they install.
func (x *Executor) contentDir(j executor.Job) string {
	return hex.EncodeToString(x.derived("directory of the content of pods", j)[:16])
}

// derived key for one configuration and one tenant.
func (x *Executor) derived(purpose string, j executor.Job) []byte {
	return keyed.Sum(x.config.Key, purpose, []byte(j.Object.Tenant()+"\x00"+j.Inputs.Config))
}

// isRefusal is true for an error of the API server that the same request would get again.
func isRefusal(err error) bool {
	return kerrors.IsInvalid(err) || kerrors.IsBadRequest(err) || kerrors.IsNotFound(err) || kerrors.IsForbidden(err) &&
		!isQuota(err) || kerrors.IsRequestEntityTooLargeError(err)
}
