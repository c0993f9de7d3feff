// Package pods is an executor that gives each run a Pod of its own, which carries out the run as executor.Local does.
// The Pod has the name of the run's id, which the status of the object shows before the Pod is made. So a provider that
// follows finds the Pods that its predecessor made, and goes on following them: neither the end of a provider nor an
// upgrade interrupts a run.
//
// One run, from top to bottom (run.go, state.go, watch.go):
//
//	begin    make the Pod; then give it the Secret with its inputs, once, which names the Pod by its UID
//	attach   a former provider has begun it: a Pod with its Secret goes on, one without is deleted, no Pod has ended
//	follow   show what it waits for; once its container has started, read the reports in its log
//	conclude it ended without a last report: what the Pod shows says how
//	Forget   the result is recorded: the Secret goes, and the Pod once it was kept for long enough
//
// The Secret is the gate: a Pod without it never begins, and it begins no other Pod than the one that it names. The Pod
// needs no access to the API server unless its content does. What it reports comes back through its log, see package
// sealed.
package pods

import (
	"context"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/kubeapi"
	"github.com/crossplane-ansible/crossplane-ansible/provider/mac"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

const (
	// requestTimeout of what is done after a run, and of requests when a run is canceled.
	requestTimeout = 30 * time.Second
	// sweepEvery is how often Pods of runs that are not followed are looked for, and unfollowedFor how old they are at
	// least.
	sweepEvery    = time.Minute
	unfollowedFor = 2 * time.Minute
	// releasers clean up after so many runs at a time, while maxForgotten wait. The sweep finds the others.
	releasers    = 8
	maxForgotten = 10000
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

// Executor gives each run a Pod. Use New.
type Executor struct {
	config  Config
	watches *watches
	logs    kubernetes.Interface
	forget  chan runs.Run
	// kept has the UIDs of Pods that are deleted in time.
	kept sync.Map
	// unpacking has a place for each report that is unpacked: that takes memory.
	unpacking chan struct{}
	now       func() time.Time
}

var _ runs.Backend = &Executor{}

// New returns an executor. Start has to be called once the provider leads.
func New(c Config) (*Executor, error) {
	logs, err := kubernetes.NewForConfig(c.REST)
	if err != nil {
		return nil, errors.Wrap(err, "cannot make a client for logs")
	}

	return &Executor{
		config: c, logs: logs, now: time.Now, forget: make(chan runs.Run, maxForgotten),
		unpacking: make(chan struct{}, unpackers), watches: newWatches(c),
	}, nil
}

// Needs of a run: nothing. Its Pod installs the content.
func (x *Executor) Needs(runs.Run) runs.Needs { return runs.Needs{} }

// Start to look after Pods of runs that have ended, until the context is done.
func (x *Executor) Start(ctx context.Context) error {
	for range releasers {
		go x.releaseForgotten(ctx)
	}

	// With rights for the cluster one watch does for all namespaces.
	_, err := x.watches.of(ctx, "")
	all := err == nil

	t := time.NewTicker(sweepEvery)
	defer t.Stop()

	for {
		if !all {
			all = x.watchAll(ctx)
		}

		x.sweep(ctx)

		select {
		case <-t.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// watchAll namespaces in which a former provider may have left Pods. It is false when it has to be tried again.
func (x *Executor) watchAll(ctx context.Context) bool {
	namespaces, err := x.config.Namespaces(ctx)

	for _, ns := range namespaces {
		if _, e := x.watches.of(ctx, ns); e != nil {
			err = e
		}
	}

	if err != nil {
		x.config.Log.Info("WARNING: Cannot look for the Pods of former runs, trying again", "error", err)
	}

	return err == nil
}

// sweep up Pods that are not followed: those of objects that are gone or show another run, and those of a provider that
// ended right after it had recorded the run.
func (x *Executor) sweep(ctx context.Context) {
	for _, w := range x.watches.list() {
		l := &corev1.PodList{}
		if err := w.List(ctx, l, client.UnsafeDisableDeepCopy); err != nil {
			continue
		}

		for i := range l.Items {
			p := &l.Items[i]
			if err := x.sweepPod(ctx, p); err != nil {
				x.config.Log.Info("Cannot clean up after a run", "pod", p.Namespace+"/"+p.Name, "error", err)
			}
		}
	}
}

func (x *Executor) sweepPod(ctx context.Context, p *corev1.Pod) error {
	_, kept := x.kept.Load(p.UID)
	young := x.now().Sub(p.CreationTimestamp.Time) < unfollowedFor

	if kept || young || p.DeletionTimestamp != nil || p.Name != podName(p.Labels[labelRun]) ||
		x.watches.followed(keyOf(p)) {
		return nil
	}

	over, err := x.config.Over(ctx, ObjectReference{
		GroupKind: p.Annotations[annotationKind], Namespace: p.Annotations[annotationNamespace],
		Name: p.Annotations[annotationName],
		UID:  p.Labels[labelObject], RunID: p.Labels[labelRun],
	})

	switch {
	case err != nil || !over:
		return err
	case !stopped(p):
		return client.IgnoreNotFound(x.deletePod(ctx, p, false))
	}

	return x.release(ctx, p, finishedAt(p))
}

// Recorded is the end of a run: the credentials of its Pod go now, the Pod when it has been kept for as long as the configuration says.
// Nothing of it waits for the API server.
func (x *Executor) Recorded(r runs.Run) {
	select {
	case x.forget <- r:
	default:
	}
}

// releaseForgotten releases Pods of runs with results that were recorded, until the context is done.
func (x *Executor) releaseForgotten(ctx context.Context) {
	for {
		select {
		case r := <-x.forget:
			// The sweep tries again.
			if err := x.releasePodOf(ctx, r); err != nil {
				x.config.Log.Info("Cannot clean up after a run", "run", r.ID, "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

func (x *Executor) releasePodOf(ctx context.Context, r runs.Run) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()

	ref := r.Pod

	w, err := x.watches.of(ctx, ref.Namespace)
	if err != nil {
		return err
	}

	p := &corev1.Pod{}
	if err := w.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, p); err != nil {
		return errors.Wrap(client.IgnoreNotFound(err), "cannot get the Pod of the run")
	}

	// The status of an object may name the run of another one.
	if !isOwn(p, r.Object.UID) {
		return nil
	}

	// Its container ends after the last report.
	return x.release(ctx, p, x.now())
}

// release the Pod of a run that has ended: its Secrets go, and the Pod itself once it was kept for long enough.
func (x *Executor) release(ctx context.Context, p *corev1.Pod, ended time.Time) error {
	ref := common.PodReference{Namespace: p.Namespace, Name: p.Name}

	// Others may have changed the number.
	count, _ := strconv.Atoi(p.Annotations[annotationSecrets])
	for n := range min(count, maxSecrets) {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: secretName(ref, n)}}
		if err := x.config.Client.Delete(ctx, s); client.IgnoreNotFound(err) != nil {
			return errors.Wrap(err, "cannot remove a Secret of the run")
		}
	}

	x.kept.Store(p.UID, nil)
	time.AfterFunc(ended.Add(keepFor(p)).Sub(x.now()), func() {
		defer x.kept.Delete(p.UID)

		ctx, cancel := context.WithTimeout(x.config.Context, requestTimeout)
		defer cancel()

		_ = x.deletePod(ctx, p, false) // The sweep tries again.
	})

	return nil
}

// deletePod, and wait for nothing. If it has to be unchanged, it is as it was seen when it goes.
func (x *Executor) deletePod(ctx context.Context, p *corev1.Pod, unchanged bool) error {
	as := client.Preconditions{UID: &p.UID}
	if unchanged {
		as.ResourceVersion = &p.ResourceVersion
	}

	err := x.config.Client.Delete(ctx,
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}, as)
	if kerrors.IsConflict(err) && !unchanged {
		return nil // Another one has its name by now.
	}

	return errors.Wrap(err, "cannot delete the Pod of a run")
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
	return mac.Sum(x.config.Key, purpose, []byte(j.Object.Tenant()+"\x00"+j.Inputs.Config))
}
