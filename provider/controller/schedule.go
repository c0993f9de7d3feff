package controller

import (
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

// jitter is the share of its length by which a poll interval is longer or shorter at
// most. Objects that were created together are not polled together for ever.
const jitter = 0.1

// longest poll interval. A longer one would overflow a time.Duration when it is added
// to.
const longest = 100 * 365 * 24 * time.Hour

// leastMissing is the shortest time between two reconciles of an object whose inputs
// are missing: the longest pause that the runtime makes between two retries.
const leastMissing = time.Minute

// A schedule knows when objects are reconciled again.
type schedule struct {
	// poll interval of objects that name none, and the shortest one that they may name.
	poll, least time.Duration

	mu sync.Mutex
	// until is when the runtime reconciles an object again instead of after its poll
	// interval.
	until map[types.UID]time.Time
	// timers wake objects that the runtime would reconcile later.
	timers map[types.UID]*time.Timer
	// told are the runs whose interruption was announced, by their objects.
	told map[types.UID]string
	// missed are the pauses of objects whose inputs are missing.
	missed map[types.NamespacedName]time.Duration
}

func newSchedule(poll, least time.Duration) *schedule {
	return &schedule{poll: poll, least: least, until: map[types.UID]time.Time{}, timers: map[types.UID]*time.Timer{}, told: map[types.UID]string{}, missed: map[types.NamespacedName]time.Duration{}}
}

// interval between the end of a run of an object and its next periodic run. An object
// always has the same one, however often it is reconciled.
func (p *schedule) interval(o resource.Object) time.Duration {
	d := p.poll
	if asked, ok := meta.GetPollInterval(o); ok {
		d = max(asked, p.least)
	}

	d = min(d, longest)

	h := fnv.New32a()
	_, _ = h.Write([]byte(o.GetUID()))
	share := float64(h.Sum32())/float64(1<<32)*2 - 1

	return d + time.Duration(share*jitter*float64(d))
}

// set when an object is reconciled again; the zero time means after its poll interval.
func (p *schedule) set(uid types.UID, until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if t, ok := p.timers[uid]; ok {
		t.Stop()
		delete(p.timers, uid)
	}

	if until.IsZero() {
		delete(p.until, uid)
		return
	}

	p.until[uid] = until
}

// forget an object.
func (p *schedule) forget(uid types.UID) {
	p.set(uid, time.Time{})

	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.told, uid)
}

// first is true when it is asked for the first time about a run of an object.
func (p *schedule) first(uid types.UID, runID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	was := p.told[uid]
	p.told[uid] = runID

	return was != runID
}

// wakeAt calls wake after a while, unless the object is reconciled before.
func (p *schedule) wakeAt(uid types.UID, after time.Duration, wake func()) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.timers[uid] = time.AfterFunc(after, wake)
}

// after is how long to wait before an object is reconciled again: a hook of the
// managed resource reconciler.
func (p *schedule) after(mg resource.Managed, _ time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()

	until := p.until[mg.GetUID()]
	delete(p.until, mg.GetUID())

	if until.IsZero() {
		return p.interval(mg)
	}

	return max(time.Until(until), time.Second)
}

// miss notes that an object which is being reconciled lacks inputs, and that nothing
// else is wrong with it.
func (p *schedule) miss(o resource.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.missed[client.ObjectKeyFromObject(o)] = max(p.interval(o), leastMissing)
}

// missing is how long to wait before an object that lacks inputs is reconciled again.
// It is false when miss did not note the object, or its status could not be written.
// The next call returns false.
func (p *schedule) missing(name types.NamespacedName) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	d, ok := p.missed[name]
	delete(p.missed, name)

	return d, ok
}
