package dependents

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
)

const (
	// firstPause is how long a change waits for others before the object is woken. The pause doubles
	// with each change within calm, up to longestPause: another controller that fights with a run over
	// an object does not keep the provider busy.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	calm         = 10 * time.Minute
	// again is when objects are looked at again that could not be watched.
	again = 30 * time.Second
	// maxWatches of the accounts of one namespace, and of all of them.
	maxWatches, maxAllWatches = 500, 5000
	// reopen is the time between two watches of the same kind, at least.
	reopen = time.Second
)

// errChanged says that an object was changed or deleted, and errExpired that it is not known whether.
var (
	errChanged = errors.New("an object was changed")
	errExpired = errors.New("the watch is too old")
)

// A Subject is an AnsibleRun with dependents that are watched.
type Subject struct {
	UID types.UID
	// Account with the rights of the runs.
	Account inputs.Kubernetes
	// Kinds of objects to watch, as they were at the end of the last run.
	Kinds []common.DependentKind
}

// key of what is watched.
func (s Subject) key() string {
	text, _ := json.Marshal(s) //nolint:errchkjson,musttag // It has nothing that JSON does not have, and is only compared.

	return string(text)
}

// A Watcher watches the dependents of AnsibleRuns. Use New.
type Watcher struct {
	ctx    context.Context //nolint:containedctx // Watches go on from one reconcile to the next.
	client func(inputs.Kubernetes) (metadata.Interface, error)
	now    func() time.Time

	mu      sync.Mutex
	watches map[types.UID]*following
	// streaks of changes.
	streaks map[types.UID]streak
}

// A streak of changes, one soon after the other.
type streak struct {
	n    int
	last time.Time
}

// following is the watch of one AnsibleRun.
type following struct {
	key string
	// account of the watches, and how many there are; none if there were too many already.
	account inputs.Kubernetes
	watches int
	stop    context.CancelFunc
	changed bool
	// errs of kinds that cannot be watched, and err, which says so of all of them.
	errs []error
	err  error
	// listing is locked while objects of a kind are listed: there may be many kinds.
	listing sync.Mutex
}

// New returns a Watcher. Its watches end with the context. Client returns a client that has the rights
// of an account.
func New(ctx context.Context, client func(inputs.Kubernetes) (metadata.Interface, error)) *Watcher {
	return &Watcher{
		ctx: ctx, client: client, now: time.Now, watches: map[types.UID]*following{},
		streaks: map[types.UID]streak{},
	}
}

// Watch the dependents of an AnsibleRun, unless they are watched already. Wake is called when one was
// changed, when they cannot be watched, and when they can be watched again; perhaps at once from several goroutines.
func (w *Watcher) Watch(s Subject, wake func()) {
	w.mu.Lock()
	defer w.mu.Unlock()

	key := s.key()

	f, known := w.watches[s.UID]
	if known && f.key == key && f.watches > 0 {
		return
	}

	if known {
		f.stop()
		delete(w.watches, s.UID)
	}

	ctx, stop := context.WithCancel(w.ctx)
	f = &following{key: key, stop: stop, account: s.Account, errs: make([]error, len(s.Kinds)), err: w.full(s)}
	w.watches[s.UID] = f

	if f.err == nil {
		f.watches = len(s.Kinds)
		go w.follow(ctx, f, s, wake)
	}
}

// full returns an error if there are too many watches for those of a subject.
func (w *Watcher) full(s Subject) error {
	all, own := len(s.Kinds), len(s.Kinds)

	for _, f := range w.watches {
		if all += f.watches; f.account.Namespace == s.Account.Namespace {
			own += f.watches
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

// Changed is true if a dependent was changed or deleted since the last run. The error says why that
// is not known.
func (w *Watcher) Changed(s Subject) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	f, known := w.watches[s.UID]
	if !known || f.key != s.key() {
		return false, nil
	}

	return f.changed, f.err
}

// Stop to watch the dependents of an AnsibleRun.
func (w *Watcher) Stop(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if f, known := w.watches[uid]; known {
		f.stop()
		delete(w.watches, uid)
	}
}

// Forget an AnsibleRun that is gone.
func (w *Watcher) Forget(uid types.UID) {
	w.Stop(uid)

	w.mu.Lock()
	defer w.mu.Unlock()

	delete(w.streaks, uid)
}

// follow the dependents of a subject until one was changed. Each kind is watched by itself: one that cannot be does not
// keep the others from it.
func (w *Watcher) follow(ctx context.Context, f *following, s Subject, wake func()) {
	g, kinds := errgroup.WithContext(ctx)

	for i, k := range s.Kinds {
		tell := func(err error) {
			if w.tell(f, i, err) {
				wake()
			}
		}

		g.Go(func() error { return w.followKind(kinds, f, s, k, tell) })
	}

	if !errors.Is(g.Wait(), errChanged) || !wait(ctx, w.pause(s.UID)) {
		return
	}

	w.mu.Lock()
	f.changed, f.err = true, nil
	w.mu.Unlock()

	wake()
}

// tell that a kind cannot be watched, or is watched. It returns whether that is news.
func (w *Watcher) tell(f *following, kind int, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	was := f.err
	f.errs[kind] = err
	f.err = all(f.errs)

	return (was == nil) != (f.err == nil) || was != nil && was.Error() != f.err.Error()
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

// followKind follows the dependents of a kind until one was changed, or there is none to be changed.
func (w *Watcher) followKind(ctx context.Context, f *following, s Subject, k common.DependentKind,
	tell func(error),
) error {
	was := k.Digest

	for {
		now, err := w.watch(ctx, f, s, k, was, func() { tell(nil) })
		if now != nil {
			was = now.digest()
		}

		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, errChanged):
			return err
		case errors.Is(err, errExpired):
			// What has happened meanwhile is found when they are listed.
			continue
		}

		tell(err)

		if !wait(ctx, again) {
			return ctx.Err()
		}
	}
}

// pause before a change is told.
func (w *Watcher) pause(uid types.UID) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()

	s, now := w.streaks[uid], w.now()
	if now.Sub(s.last) > calm {
		s.n = 0
	}

	d := min(firstPause<<min(s.n, 10), longestPause)
	w.streaks[uid] = streak{n: s.n + 1, last: now.Add(d)}

	return d
}

// wait for a while. It is false if the context is done before.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()

	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// watch the dependents of a kind until one is not as it was. It returns them as they were when they were listed; nil if
// they cannot be.
func (w *Watcher) watch(ctx context.Context, f *following, s Subject, k common.DependentKind, was string,
	watching func(),
) (state, error) {
	c, err := w.client(s.Account)
	if err != nil {
		return nil, err
	}

	f.listing.Lock()
	all, err := list(ctx, c, s.UID, k)
	f.listing.Unlock()

	if err != nil {
		return nil, err
	}

	now, same := all.since(was)

	switch {
	case !same:
		return now, errChanged
	case len(now) == 0:
		watching()
		return now, nil
	}

	return now, watchKind(ctx, c, s.UID, k, now, all.at, watching)
}

// watchKind watches the objects of a kind from a version on.
func watchKind(ctx context.Context, c metadata.Interface, uid types.UID, k common.DependentKind, known state, at string,
	watching func(),
) error {
	r, err := resource(c, k)
	if err != nil {
		return err
	}

	o := options(uid)
	o.AllowWatchBookmarks = true

	for {
		o.ResourceVersion = at

		events, err := r.Watch(ctx, o)
		if kerrors.IsResourceExpired(err) || kerrors.IsGone(err) {
			return errExpired
		}

		if err != nil {
			return errors.Wrapf(err, "cannot watch %s", name(k))
		}

		watching()

		at, err = read(ctx, events, known, at)

		events.Stop()

		if err != nil {
			return err
		}

		// The API server ends each watch after some minutes.
		if !wait(ctx, reopen) {
			return ctx.Err()
		}
	}
}

// read events until a dependent was changed, or the watch ends. It returns the last version that it has
// read. Objects that are not known do not count: others may give them the label.
func read(ctx context.Context, events watch.Interface, known state, at string) (string, error) {
	for {
		var e watch.Event

		select {
		case <-ctx.Done():
			return at, ctx.Err()
		case next, ok := <-events.ResultChan():
			if !ok {
				return at, nil
			}

			e = next
		}

		o, ok := e.Object.(*metav1.PartialObjectMetadata)
		if !ok {
			if kerrors.IsResourceExpired(kerrors.FromObject(e.Object)) || kerrors.IsGone(kerrors.FromObject(e.Object)) {
				return at, errExpired
			}

			return at, errors.Wrap(kerrors.FromObject(e.Object), "cannot watch")
		}

		at = o.ResourceVersion
		was, mine := known[o.UID]

		switch {
		case !mine || e.Type == watch.Bookmark:
		case e.Type == watch.Deleted, o.DeletionTimestamp == nil && version(o) != was:
			return at, errChanged
		}
	}
}
