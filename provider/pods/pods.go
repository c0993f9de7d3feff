// Package pods is the backend that gives each run a Pod of its own, which carries out the run as executor.Local does.
// The Pod has the name of the run's id, which the status of the object shows before the Pod is made. So a provider that
// follows finds the Pods that its predecessor made, and goes on following them: neither the end of a provider nor an
// upgrade interrupts a run.
//
// One run is followed by one goroutine (run.go). By what its Pod shows (state.go), it does what is next:
//
//	no Pod     begun here: make it; by a former provider: look for it, and for its Secret. None has ended
//	made       give it the Secret with its inputs, once, which names the Pod by its UID
//	given      show what it waits for; what cannot start for two minutes is given up
//	running    read the reports in the log
//	over       read the log to its end; without a last report, what the Pod shows says how it ended
//	recorded   the Secret goes, and the Pod once it was kept for long enough
//
// The Secret is the gate: a Pod without it never begins, and it begins no other Pod than the one that it names. The Pod
// needs no access to the API server unless its content does. What it reports comes back through its log, see package
// sealed.
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
	// requestTimeout of what is done after a run, and of requests when a run is canceled.
	requestTimeout = 30 * time.Second
	// sweepEvery is how often Pods of runs that are not followed are looked for, and unfollowedFor how old they are at
	// least. So many are read at once.
	sweepEvery    = 2 * time.Minute
	unfollowedFor = 2 * time.Minute
	sweepAtOnce   = 10
)

// A Config of a Backend.
type Config struct {
	// REST is how the API server is reached. Its requests must not be limited to few.
	REST *rest.Config
	// Client that reads from the API server, not from a cache.
	Client client.WithWatch
	// Own is what Pods take over from the provider's own one.
	Own func(ctx context.Context) (Own, error)
	// Template of all Pods: a PodTemplateSpec in JSON, which those of configurations are merged
	// over; nil for none.
	Template []byte
	// Args of the command in the Pod, beside those that the backend sets.
	Args []string
	// Env of the container, beside what templates say.
	Env []corev1.EnvVar
	// Cluster gives out tokens for runs that reach the API server.
	Cluster Cluster
	// Endpoint of the API server, for them.
	Endpoint kubeapi.Endpoint
	// Key of the provider.
	Key []byte
	// Leads is false once another provider may lead: no run begins then.
	Leads func() bool
	// Over tells whether the object of a run is gone, or shows its end, or another run.
	Over func(ctx context.Context, ref ObjectReference) (bool, error)
	// Namespaces in which runs may have left Pods.
	Namespaces func(ctx context.Context) ([]string, error)
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

// An ObjectReference names the AnsibleRun that a Pod belongs to.
type ObjectReference struct {
	// GroupKind of the object, as kind.group.
	GroupKind string
	// Namespace and Name of the object, and its UID.
	Namespace, Name, UID string
	// RunID is the id of the run.
	RunID string
}

// Backend gives each run a Pod. Use New.
type Backend struct {
	config Config
	logs   kubernetes.Interface
	// mine has the runs that are followed, by their keys, and the last Pod of each that has ended until that is deleted.
	mine sync.Map
	// unpacking bounds the reports that are unpacked at a time: that takes memory.
	unpacking *semaphore.Weighted
}

// New returns a Backend. Start has to be called once the provider leads.
func New(c Config) (*Backend, error) {
	logs, err := kubernetes.NewForConfig(c.REST)
	x := &Backend{config: c, logs: logs, unpacking: semaphore.NewWeighted(unpackers)}

	return x, errors.Wrap(err, "cannot make a client for logs")
}

// Execute a run: follow it to its end.
func (x *Backend) Execute(ctx context.Context, todo runs.Run, w runs.Watch) runs.Report {
	r := x.newRun(ctx, todo, w)

	x.mine.Store(r.key(), r)

	report := r.execute()

	// Not that of the next one, which may have begun to follow before this one has ended.
	if r.pod != nil && !r.gone && report.Run.Phase.Finished() {
		x.mine.CompareAndSwap(r.key(), r, r.pod)
	} else {
		x.mine.CompareAndDelete(r.key(), r)
	}

	return report
}

// Recorded runs have no work any more: the credentials of the Pod go now, the Pod when it has been kept for as long as
// the configuration says. Nothing of it waits for the API server.
func (x *Backend) Recorded(uid types.UID, runID string) {
	key := runKey{string(uid), runID}
	last, _ := x.mine.Load(key)

	p, ok := last.(*corev1.Pod)
	if !ok {
		return // It has made none, or the sweep finds it.
	}

	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
		defer cancel()

		if err := x.release(ctx, key, p); err != nil {
			x.config.Log.Info("Cannot clean up after a run, trying again", "run", runID, "error", err)
		}
	}()
}

// Start to look after Pods of runs that are not followed, until the context is done.
func (x *Backend) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := x.sweep(ctx); err != nil {
			x.config.Log.Info("Cannot look for the Pods of former runs, trying again", "error", err)
		}
	}, sweepEvery)

	return nil
}

// A runKey identifies a run. The id alone is what the status of an object says, which may be the
// id of another object's run.
type runKey struct{ object, run string }

// sweep up Pods that are not followed: those of objects that are gone or show another run, and those of a provider that
// ended right after it had recorded the run. They are in all of the cluster, or where the provider may look for them.
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

// sweepNamespace sweeps a namespace, or the cluster. Others may have made very many Pods with much in them.
func (x *Backend) sweepNamespace(ctx context.Context, namespace string) error {
	l := &corev1.PodList{}

	for {
		err := x.config.Client.List(ctx, l, client.InNamespace(namespace), client.HasLabels{labelRun},
			client.Limit(sweepAtOnce), client.Continue(l.Continue))
		if err != nil {
			return errors.Wrap(err, "cannot list Pods")
		}

		// One that others have made may never be swept up.
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

// release the Pod of a run that has ended: its Secrets go, and the Pod itself once it was kept for long enough.
func (x *Backend) release(ctx context.Context, key runKey, p *corev1.Pod) error {
	for n := range secretsOf(p) {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: secretName(p.Name, n)}}
		if err := x.config.Client.Delete(ctx, s); client.IgnoreNotFound(err) != nil {
			x.mine.Delete(key) // The sweep tries again.
			return errors.Wrap(err, "cannot remove a Secret of the run")
		}
	}

	// Others may have put much into the Pod.
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

// deletePod, and wait for nothing.
func (x *Backend) deletePod(ctx context.Context, p *corev1.Pod) error {
	err := x.config.Client.Delete(ctx,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}, client.Preconditions{UID: &p.UID})
	if kerrors.IsConflict(err) {
		return nil // Another one has its name by now.
	}

	return errors.Wrap(client.IgnoreNotFound(err), "cannot delete the Pod of a run")
}

// contentKey is the key of what Pods install for one configuration and one tenant.
func (x *Backend) contentKey(todo runs.Run) []byte {
	return mac.Sum(x.config.Key, "content of pods", contentOf(todo))
}

// contentDir is the name of the directory on a claim with what they install.
func (x *Backend) contentDir(todo runs.Run) string {
	return hex.EncodeToString(mac.Sum(x.config.Key, "directory of the content of pods", contentOf(todo))[:16])
}

// contentOf one configuration and one tenant.
func contentOf(todo runs.Run) []byte {
	return []byte(todo.Object.Tenant() + "\x00" + todo.Inputs.Config)
}
