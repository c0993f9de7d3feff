// Package pods is the backend that executes each run in a Pod of its own, in the way of executor.Local. The name of the
// Pod contains the id of the run, and is in the status of the object before the Pod is created. So the next provider
// finds the Pods of its predecessor, and follows them: neither the end of a provider nor an upgrade interrupts a run.
//
// One goroutine follows each run (run.go). The state of the Pod (state.go) determines its next step:
//
//	no Pod     create the Pod; for a run of the predecessor, find the Pod and its payload: without a Pod, the run is over
//	created    create its Secrets, once; the first Secret has the UID of the Pod
//	given      show why the Pod waits; a Pod that cannot start for two minutes is given up
//	running    read the reports in the log
//	over       read the log to its end; without a last report, the result follows from the state of the Pod
//	recorded   delete the Secrets, and the Pod after keepFor
//
// The first Secret is the gate: a Pod without it never begins, and it starts only the Pod that it names. The Pod needs
// no access to the API server unless its content does. Its reports come back through its log, see package sealed.
package pods

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const (
	// requestTimeout limits the requests of one step of a run, and of the cleanup after it.
	requestTimeout = 30 * time.Second
	// sweepEvery is the interval of the search for Pods of runs that are not followed. unfollowedFor is their minimum age,
	// and sweepAtOnce the number of Pods in one page of a list.
	sweepEvery    = 2 * time.Minute
	unfollowedFor = 2 * time.Minute
	sweepAtOnce   = 10
)

// A Config of a Backend.
type Config struct {
	// REST is the configuration of the client for logs. Its rate limit must allow many requests.
	REST *rest.Config
	// Client reads from the API server, and not from a cache.
	Client client.WithWatch
	// Own returns the attributes of the provider's own Pod for Pods of runs.
	Own func(ctx context.Context) (Own, error)
	// Template of all Pods: a PodTemplateSpec in JSON, which templates of configurations override; nil for none.
	Template []byte
	// Args of the command in the Pod, in addition to those of the backend.
	Args []string
	// Env of the container, in addition to that of templates.
	Env []corev1.EnvVar
	// Cluster issues tokens for runs with access to the API server.
	Cluster Cluster
	// Endpoint of the API server for these runs.
	Endpoint kubeapi.Endpoint
	// Key of the provider.
	Key []byte
	// Leads returns false once another provider may lead. Then runs do not begin.
	Leads func() bool
	// Over returns true if the object of a run is gone, or if its status has the end of the run, or another run.
	Over func(ctx context.Context, ref ObjectReference) (bool, error)
	// Namespaces returns the namespaces in which runs may have left Pods.
	Namespaces func(ctx context.Context) ([]string, error)
	// Log reports problems that the status of no object shows.
	Log logging.Logger
}

// Own has the attributes of the provider's own Pod for Pods of runs.
type Own struct {
	// Image of the provider.
	Image string
	// Namespace and PullSecrets of the Pod; empty if they are not known.
	Namespace   string
	PullSecrets []corev1.LocalObjectReference
}

// An ObjectReference names the AnsibleRun that a Pod belongs to.
type ObjectReference struct {
	// GroupKind of the object, as kind.group.
	GroupKind string
	// Namespace and Name of the object, and its UID.
	Namespace, Name, UID string
	// RunID is the id of the run.
	RunID string
}

// A Backend executes each run in a Pod. New makes one.
type Backend struct {
	config Config
	logs   kubernetes.Interface
	// mine maps a runKey to a *run in progress, or to the *corev1.Pod of an ended run until it is deleted.
	mine sync.Map
	// unpacking limits the number of reports that are unpacked at a time, to limit memory.
	unpacking *semaphore.Weighted
}

// New returns a Backend. Start must be called once the provider leads.
func New(c Config) (*Backend, error) {
	logs, err := kubernetes.NewForConfig(c.REST)
	x := &Backend{config: c, logs: logs, unpacking: semaphore.NewWeighted(unpackers)}

	return x, errors.Wrap(err, "cannot make a client for logs")
}

// Execute follows a run to its end, and returns its last report.
func (x *Backend) Execute(ctx context.Context, todo runs.Run, w runs.Watch) runs.Report {
	r := x.newRun(ctx, todo, w)

	x.mine.Store(r.key(), r)

	report := r.execute()

	// Compare, since another call may already follow the same run.
	if r.pod != nil && !r.gone && report.Run.Phase.Finished() {
		x.mine.CompareAndSwap(r.key(), r, r.pod)
	} else {
		x.mine.CompareAndDelete(r.key(), r)
	}

	return report
}

// Recorded cleans up after a run once its end is in the status of the object: it deletes the Secrets of the Pod now,
// and the Pod after keepFor. It does not wait for the API server.
func (x *Backend) Recorded(uid types.UID, runID string) {
	key := runKey{string(uid), runID}
	last, _ := x.mine.Load(key)

	p, ok := last.(*corev1.Pod)
	if !ok {
		return // The run has no Pod, or the sweep finds it.
	}

	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()

		if err := x.release(ctx, key, p); err != nil {
			x.config.Log.Info("Cannot clean up after a run, trying again", "run", runID, "error", err)
		}
	}()
}

// Start cleans up Pods of runs that are not followed, until the context is done.
func (x *Backend) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := x.sweep(ctx); err != nil {
			x.config.Log.Info("Cannot look for the Pods of former runs, trying again", "error", err)
		}
	}, sweepEvery)

	return nil
}

// A runKey identifies a run by the UID of its object and its id. The id alone comes from the status of an object, which
// may have the id of a run of another object.
type runKey struct{ object, run string }

// sweep cleans up Pods that are not followed: Pods of objects that are gone or show another run, and Pods of a provider
// that ended right after it had recorded the run. It searches the cluster, or the namespaces for which the provider has
// rights.
func (x *Backend) sweep(ctx context.Context) error {
	err := x.sweepNamespace(ctx, "")
	if !kerrors.IsForbidden(err) {
		return err
	}

	namespaces, err := x.config.Namespaces(ctx)
	for _, ns := range namespaces {
		err = errors.Join(err, x.sweepNamespace(ctx, ns))
	}

	return err
}

// sweepNamespace sweeps a namespace, or the cluster if it is empty. It reads small pages, since other clients may have
// created many large Pods with the label.
func (x *Backend) sweepNamespace(ctx context.Context, namespace string) error {
	l := &corev1.PodList{}

	for {
		err := x.config.Client.List(ctx, l, client.InNamespace(namespace), client.HasLabels{labelRun},
			client.Limit(sweepAtOnce), client.Continue(l.Continue))
		if err != nil {
			return errors.Wrap(err, "cannot list Pods")
		}

		// A Pod with another name was created by another client, and is never deleted.
		for i := range l.Items {
			p := &l.Items[i]
			if p.Name != "ansiblerun-"+p.Labels[labelRun] {
				continue
			}

			if err := x.sweepPod(ctx, p); err != nil {
				x.config.Log.Info("Cannot clean up after a Pod, trying again",
					"namespace", p.Namespace, "pod", p.Name, "error", err)
			}
		}

		if l.Continue == "" {
			return nil
		}
	}
}

func (x *Backend) sweepPod(ctx context.Context, p *corev1.Pod) error {
	key := runKey{p.Labels[labelObject], p.Labels[labelRun]}
	_, known := x.mine.Load(key)
	young := time.Since(p.CreationTimestamp.Time) < unfollowedFor

	if known || young || p.DeletionTimestamp != nil {
		return nil
	}

	over, err := x.config.Over(ctx, ObjectReference{
		GroupKind: p.Annotations[annotationKind], Namespace: p.Annotations[annotationNamespace],
		Name: p.Annotations[annotationName], UID: p.Labels[labelObject], RunID: p.Labels[labelRun],
	})

	switch {
	case err != nil || !over:
		return err
	case !stopped(p):
		return x.deletePod(ctx, p)
	}

	return x.release(ctx, key, p)
}

// release deletes the Secrets of the Pod of an ended run, and the Pod itself after keepFor.
func (x *Backend) release(ctx context.Context, key runKey, p *corev1.Pod) error {
	for n := range secretsOf(p) {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: secretName(p.Name, n)}}
		if err := x.config.Client.Delete(ctx, s); client.IgnoreNotFound(err) != nil {
			x.mine.Delete(key) // The sweep tries again.
			return errors.Wrap(err, "cannot remove a Secret of the run")
		}
	}

	// Only the name and the UID are kept in memory: other clients may have enlarged the Pod.
	left := keepFor(p) - time.Since(finishedAt(p))
	p = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID}}

	x.mine.Store(key, p)
	time.AfterFunc(left, func() {
		defer x.mine.Delete(key)

		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()

		_ = x.deletePod(ctx, p) // The sweep tries again.
	})

	return nil
}

// deletePod deletes a Pod with its UID as a precondition. It does not wait for the end of the Pod.
func (x *Backend) deletePod(ctx context.Context, p *corev1.Pod) error {
	err := x.config.Client.Delete(ctx,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}, client.Preconditions{UID: &p.UID})
	if kerrors.IsConflict(err) {
		return nil // Another Pod has its name now.
	}

	return errors.Wrap(client.IgnoreNotFound(err), "cannot delete the Pod of a run")
}

// contentKey returns the key of the digests of content that Pods install for one configuration and one tenant.
func (x *Backend) contentKey(todo runs.Run) []byte {
	return mac.Sum(x.config.Key, "content of pods", contentOf(todo))
}

// contentDir returns the name of the directory on a claim for the content of one configuration and one tenant.
func (x *Backend) contentDir(todo runs.Run) string {
	return hex.EncodeToString(mac.Sum(x.config.Key, "directory of the content of pods", contentOf(todo))[:16])
}

// contentOf identifies the configuration and the tenant of a run.
func contentOf(todo runs.Run) []byte {
	return []byte(todo.Object.Tenant() + "\x00" + todo.Inputs.Config)
}
