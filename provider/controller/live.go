package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/event"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

const (
	// liveEvery is how often the output of a run in progress is saved at most.
	liveEvery = 2 * time.Second
	// maxLive is how many outputs are saved each time, and maxLivePerNamespace how many of one
	// namespace: many annotated objects must not keep the API server busy. Those that were saved
	// last wait.
	maxLive             = 16
	maxLivePerNamespace = 4
)

// live saves the output of watched runs in progress. It reads what the pool knows in
// memory, and makes a request only for a watched run that has displayed something new.
type live struct {
	*connector

	mu      sync.Mutex
	watched map[types.UID]*watched
}

// A watched object has its name and owner, and nothing else.
type watched struct {
	run   common.AnsibleRun
	until time.Time

	// saving is locked while the output of the object is saved, or its end is kept: nothing of a run in progress
	// replaces that. Another object never waits for it.
	saving sync.Mutex
	// over is true once the object is not watched any more, of which nothing is saved.
	over bool
	// id and output of the run that were saved last.
	id, output string
	// saved is when something was saved last. The lock of all objects guards it.
	saved time.Time
}

func newLive(c *connector) *live { return &live{connector: c, watched: map[types.UID]*watched{}} }

// watch the output of an object until a time.
func (l *live) watch(run common.AnsibleRun, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if w, ok := l.watched[run.GetUID()]; ok {
		w.until = until
		return
	}

	o, ok := run.DeepCopyObject().(common.AnsibleRun)
	if !ok {
		return
	}

	*o.Parameters(), *o.Observation() = common.AnsibleRunParameters{}, common.AnsibleRunObservation{}
	l.watched[run.GetUID()] = &watched{run: o, until: until}
}

// hold the output of an object: nothing of it is saved before the hold is released, and nothing at all if the object
// is not watched any more.
func (l *live) hold(uid types.UID, over bool) (release func()) {
	l.mu.Lock()
	w, ok := l.watched[uid]

	if over {
		delete(l.watched, uid)
	}

	l.mu.Unlock()

	if !ok {
		return func() {}
	}

	w.saving.Lock()
	w.over = w.over || over

	return w.saving.Unlock
}

// run until the context is done.
func (l *live) run(ctx context.Context) {
	t := time.NewTicker(liveEvery)
	defer t.Stop()

	for {
		select {
		case <-t.C:
			l.save(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// save what is new of runs that are watched. An object that is not watched any more is woken: a
// reconcile removes what was saved.
func (l *live) save(ctx context.Context) {
	left, of := maxLive, map[string]int{}

	for _, w := range l.current() {
		if left == 0 || of[w.run.GetNamespace()] == maxLivePerNamespace {
			continue
		}

		if l.saveOne(ctx, w) {
			left--
			of[w.run.GetNamespace()]++
		}
	}
}

// current are the objects that are watched, those first that were not saved for the longest time.
func (l *live) current() []*watched {
	l.mu.Lock()
	defer l.mu.Unlock()

	var all []*watched

	for uid, w := range l.watched {
		if l.now().Before(w.until) {
			all = append(all, w)
			continue
		}

		delete(l.watched, uid)
		l.wake(client.ObjectKeyFromObject(w.run))
	}

	slices.SortFunc(all, func(a, b *watched) int {
		return cmp.Or(a.saved.Compare(b.saved), cmp.Compare(a.run.GetUID(), b.run.GetUID()))
	})

	return all
}

// saveOne saves the output of an object. It is false if there is nothing new.
func (l *live) saveOne(ctx context.Context, w *watched) bool {
	r, _ := l.Pool.Report(w.run.GetUID())
	if r.Tail == nil {
		return false
	}

	// It takes time to find the secrets in a text.
	r.Output = r.Tail()

	w.saving.Lock()
	defer w.saving.Unlock()

	// The run may have ended meanwhile.
	if now, _ := l.Pool.Report(w.run.GetUID()); r.Output == "" || w.over || now.Run.ID != r.Run.ID ||
		now.Run.Phase.Finished() || r.Run.ID == w.id && r.Output == w.output {
		return false
	}

	ctx, cancel := context.WithTimeout(ctx, keepTimeout)
	defer cancel()

	l.mu.Lock()
	w.saved = l.now()
	l.mu.Unlock()

	if _, err := l.Outputs.Save(ctx, w.run, l.kind.GroupVersionKind, r); err != nil {
		l.recorder.Event(w.run, event.Warning(ReasonCannotKeepOutput, err))
		return true
	}

	w.id, w.output = r.Run.ID, r.Output

	return true
}
