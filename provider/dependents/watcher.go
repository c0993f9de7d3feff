package dependents

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

const (
	// firstPause is the time between a change and the wake-up of the AnsibleRun. The pause doubles with each change, up to
	// longestPause, until there was no change for twice as long. It keeps a controller that fights with a run over an
	// object from keeping the provider busy.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// retryAfter is the time until a failed watch is tried again.
	retryAfter = 30 * time.Second
	// maxWatches is the number of watches for the accounts of one namespace, and maxAllWatches for all of them.
	maxWatches, maxAllWatches = 500, 5000
	// reopen is the shortest time between two watches of the same kind.
	reopen = time.Second
)

// errChanged means that an object was changed or deleted.
var errChanged = errors.New("an object was changed")

// A Subject is an AnsibleRun with dependents to watch.
type Subject struct {
	UID types.UID
	// Account is the ServiceAccount with the rights of the runs.
	Account inputs.Kubernetes
	// Kinds of objects to watch, with the digests at the end of the last run.
	Kinds []common.DependentKind
}

// A Watcher watches the dependents of AnsibleRuns. New makes one.
type Watcher struct {
	ctx    context.Context //nolint:containedctx // Watches go on from one reconcile to the next.
	client func(inputs.Kubernetes) (metadata.Interface, error)
	pauses *flowcontrol.Backoff

	mu      sync.Mutex
	watches map[types.UID]*subjectWatch
}

// subjectWatch is the state of the watches of one AnsibleRun.
type subjectWatch struct {
	subject Subject
	stop    context.CancelFunc
	changed bool
	// errs has an error for each kind that cannot be watched.
	errs []error
	// listing serializes the lists of the kinds, of which there may be many.
	listing sync.Mutex
}

// New returns a Watcher. Its watches end with the context. Client returns a client with the rights of an account.
func New(ctx context.Context, client func(inputs.Kubernetes) (metadata.Interface, error)) *Watcher {
	return &Watcher{
		ctx: ctx, client: client, pauses: flowcontrol.NewBackOff(firstPause, longestPause),
		watches: map[types.UID]*subjectWatch{},
	}
}

// Watch the dependents of an AnsibleRun, unless they are watched already. It returns whether a dependent was changed or
// deleted since the last run. The error says why that is unknown. Wake is called when a dependent was changed, when a
// kind cannot be watched, and when it can be watched again, also concurrently.
func (w *Watcher) Watch(s Subject, wake func()) (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	f, known := w.watches[s.UID]
	if known && equality.Semantic.DeepEqual(f.subject, s) {
		return f.changed, joined(f.errs)
	}

	w.stop(s.UID)

	if err := w.checkLimits(s); err != nil {
		return false, err
	}

	ctx, stop := context.WithCancel(w.ctx)
	f = &subjectWatch{subject: s, stop: stop, errs: make([]error, len(s.Kinds))}
	w.watches[s.UID] = f

	go w.follow(ctx, f, wake)

	return false, nil
}

// checkLimits returns an error if the watches of a subject would exceed a limit.
func (w *Watcher) checkLimits(s Subject) error {
	all, own := len(s.Kinds), len(s.Kinds)

	for _, f := range w.watches {
		if all += len(f.subject.Kinds); f.subject.Account.Namespace == s.Account.Namespace {
			own += len(f.subject.Kinds)
		}
	}

	switch {
	case own > maxWatches:
		return errors.Errorf("the accounts of namespace %q would have %d watches, and may have %d: name kinds that need "+
			"none in ignoreDependents", s.Account.Namespace, own, maxWatches)
	case all > maxAllWatches:
		return errors.Errorf("the provider would have %d watches, and may have %d", all, maxAllWatches)
	}

	return nil
}

// Stop watching the dependents of an AnsibleRun.
func (w *Watcher) Stop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.stop(uid)
}

func (w *Watcher) stop(uid types.UID) {
	if f, known := w.watches[uid]; known {
		f.stop()
		delete(w.watches, uid)
	}
}

// Forget an AnsibleRun that is gone.
func (w *Watcher) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.stop(uid)
	w.pauses.Reset(string(uid))
}

// follow the dependents of a subject until one was changed. The kinds are watched independently: a failing watch does
// not stop the others.
func (w *Watcher) follow(ctx context.Context, f *subjectWatch, wake func()) {
	g, kinds := errgroup.WithContext(ctx)

	for i, k := range f.subject.Kinds {
		tell := func(err error) {
			if w.setError(f, i, err) {
				wake()
			}
		}

		g.Go(func() error { return w.followKind(kinds, f, k, tell) })
	}

	if !errors.Is(g.Wait(), errChanged) || !wait(ctx, w.pause(f.subject.UID)) {
		return
	}

	w.mu.Lock()
	f.changed, f.errs = true, nil
	w.mu.Unlock()

	wake()
}

// setError records the error of a kind, or nil if it is watched. It returns whether the joined errors have changed.
func (w *Watcher) setError(f *subjectWatch, kind int, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	was := fmt.Sprint(joined(f.errs))
	f.errs[kind] = err

	return fmt.Sprint(joined(f.errs)) != was
}

// joined returns one error for several: the first one, with the number of the others.
func joined(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })

	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}

	return errors.Errorf("%w; and %d more kinds cannot be watched", errs[0], len(errs)-1)
}

// followKind watches the dependents of a kind until one was changed or none is left. A change between two watches is
// found by the list of the next one.
func (w *Watcher) followKind(ctx context.Context, f *subjectWatch, k common.DependentKind, tell func(error)) error {
	for {
		left, err := w.watchKind(ctx, f, &k, tell)
		pause := reopen

		switch {
		case errors.Is(err, errChanged):
			return err
		case err != nil && ctx.Err() == nil:
			tell(err)

			pause = retryAfter
		case err == nil && !left:
			tell(nil)
			return nil
		}

		// The API server ends each watch after some minutes.
		if !wait(ctx, pause) {
			return ctx.Err()
		}
	}
}

// pause returns the time to wait before the wake-up.
func (w *Watcher) pause(uid types.UID) time.Duration {
	w.pauses.Next(string(uid), time.Now())

	return w.pauses.Get(string(uid))
}

// wait returns true after a time, or false once the context is done.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// watchKind lists the dependents of a kind, records their digest, and watches them until one is changed or the watch
// ends. It returns false if there are none. The error is errChanged if the digest differs from the recorded one.
// Objects that are labeled later are ignored, since any client may set the label.
func (w *Watcher) watchKind(
	ctx context.Context, f *subjectWatch, k *common.DependentKind, tell func(error),
) (bool, error) {
	c, err := w.client(f.subject.Account)
	if err != nil {
		return true, err
	}

	f.listing.Lock()
	all, err := list(ctx, c, f.subject.UID, *k)
	f.listing.Unlock()

	if err != nil {
		return true, err
	}

	known, same := all.compare(k.Digest)
	if !same {
		return true, errChanged
	}

	if len(known) == 0 {
		return false, nil
	}

	k.Digest = known.digest()

	events, err := resource(c, *k).Watch(ctx,
		metav1.ListOptions{LabelSelector: Label(f.subject.UID), ResourceVersion: all.at})
	if err != nil {
		return true, errors.Wrapf(err, "cannot watch %s", name(*k))
	}
	defer context.AfterFunc(ctx, events.Stop)()
	defer events.Stop()

	tell(nil)

	for e := range events.ResultChan() {
		o, ok := e.Object.(*metav1.PartialObjectMetadata)
		if !ok {
			break // An error, such as a resource version that is too old: the objects are listed again.
		}

		was, mine := known[o.UID]
		if mine && (e.Type == watch.Deleted || o.DeletionTimestamp == nil && version(o) != was) {
			return true, errChanged
		}
	}

	return true, nil
}
