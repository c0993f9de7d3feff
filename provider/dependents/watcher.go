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
	// firstPause is how long a change waits for others before the object is woken. The pause doubles
	// with each change, up to longestPause, until there was none for twice as long: another controller that fights with a
	// run over an object does not keep the provider busy.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// again is when objects are looked at again that could not be watched.
	again = 30 * time.Second
	// maxWatches of the accounts of one namespace, and of all of them.
	maxWatches, maxAllWatches = 500, 5000
	// reopen is the time between two watches of the same kind, at least.
	reopen = time.Second
)

// errChanged says that an object was changed or deleted.
var errChanged = errors.New("an object was changed")

// A Subject is an AnsibleRun with dependents that are watched.
type Subject struct {
	UID types.UID
	// Account with the rights of the runs.
	Account inputs.Kubernetes
	// Kinds of objects to watch, as they were at the end of the last run.
	Kinds []common.DependentKind
}

// A Watcher watches the dependents of AnsibleRuns. Use New.
type Watcher struct {
	ctx    context.Context //nolint:containedctx // Watches go on from one reconcile to the next.
	client func(inputs.Kubernetes) (metadata.Interface, error)
	pauses *flowcontrol.Backoff

	mu      sync.Mutex
	watches map[types.UID]*following
}

// following is the watch of one AnsibleRun.
type following struct {
	subject Subject
	stop    context.CancelFunc
	changed bool
	// errs of kinds that cannot be watched, or that of all of them.
	errs []error
	// listing is locked while objects of a kind are listed: there may be many kinds.
	listing sync.Mutex
}

// New returns a Watcher. Its watches end with the context. Client returns a client that has the rights
// of an account.
func New(ctx context.Context, client func(inputs.Kubernetes) (metadata.Interface, error)) *Watcher {
	return &Watcher{
		ctx: ctx, client: client, pauses: flowcontrol.NewBackOff(firstPause, longestPause),
		watches: map[types.UID]*following{},
	}
}

// Watch the dependents of an AnsibleRun, unless they are watched already. It returns whether one was changed or deleted
// since the last run. The error says why that is not known. Wake is called when one was changed, when they cannot be
// watched, and when they can be watched again; perhaps at once from several goroutines.
func (w *Watcher) Watch(s Subject, wake func()) (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	f, known := w.watches[s.UID]
	if known && equality.Semantic.DeepEqual(f.subject, s) {
		return f.changed, all(f.errs)
	}

	w.stop(s.UID)

	if err := w.full(s); err != nil {
		return false, err
	}

	ctx, stop := context.WithCancel(w.ctx)
	f = &following{subject: s, stop: stop, errs: make([]error, len(s.Kinds))}
	w.watches[s.UID] = f

	go w.follow(ctx, f, wake)

	return false, nil
}

// full returns an error if there are too many watches for those of a subject.
func (w *Watcher) full(s Subject) error {
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

// Stop to watch the dependents of an AnsibleRun.
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

// follow the dependents of a subject until one was changed. Each kind is watched by itself: one that cannot be does not
// keep the others from it.
func (w *Watcher) follow(ctx context.Context, f *following, wake func()) {
	g, kinds := errgroup.WithContext(ctx)

	for i, k := range f.subject.Kinds {
		tell := func(err error) {
			if w.tell(f, i, err) {
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

// tell that a kind cannot be watched, or is watched. It returns whether that is news.
func (w *Watcher) tell(f *following, kind int, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	was := fmt.Sprint(all(f.errs))
	f.errs[kind] = err

	return fmt.Sprint(all(f.errs)) != was
}

// all errors as one: the first, and how many others there are.
func all(errs []error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })

	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}

	return errors.Errorf("%w; and %d more kinds cannot be watched", errs[0], len(errs)-1)
}

// followKind looks at the dependents of a kind, again and again, until one was changed or there is none to be changed.
// What happens between two looks is found at the next one.
func (w *Watcher) followKind(ctx context.Context, f *following, k common.DependentKind, tell func(error)) error {
	for {
		left, err := w.look(ctx, f, &k, tell)
		pause := reopen

		switch {
		case errors.Is(err, errChanged):
			return err
		case err != nil && ctx.Err() == nil:
			tell(err)

			pause = again
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

// pause before a change is told.
func (w *Watcher) pause(uid types.UID) time.Duration {
	w.pauses.Next(string(uid), time.Now())

	return w.pauses.Get(string(uid))
}

// wait for a while. It is false if the context is done before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// look at the dependents of a kind: list them, note in which state they are, and watch them until one is changed or the
// watch ends. It is false if there are none. The error is errChanged if one is not as it was. Objects that are not
// known do not count: others may give them the label.
func (w *Watcher) look(ctx context.Context, f *following, k *common.DependentKind, tell func(error)) (bool, error) {
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

	known, same := all.since(k.Digest)
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
			break // The version is too old, for example. All are listed again.
		}

		was, mine := known[o.UID]
		if mine && (e.Type == watch.Deleted || o.DeletionTimestamp == nil && version(o) != was) {
			return true, errChanged
		}
	}

	return true, nil
}
