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
// most, so that objects that were created together are not polled together for ever.
const jitter = 0.1

// longest poll interval. A longer one would overflow a time.Duration when it is added
// to.
const longest = 100 * 365 * 24 * time.Hour

// leastMissing is the shortest time between two reconciles of an object that lacks inputs. It is
// the longest pause that the runtime makes between two retries.
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
	// announced are the ids of interrupted runs that were announced, by their objects.
	announced map[types.UID]string
	// pauses until the next reconcile, by the objects that lack inputs.
	pauses map[types.NamespacedName]time.Duration
	// written are the last writes of statuses, by their objects, until the cache shows them.
	written map[types.NamespacedName]write
}

// A write of a status led to a version, which is waited for until a time.
type write struct {
	version string
	until   time.Time
}

func newSchedule(poll, least time.Duration) *schedule {
	return &schedule{
		poll: poll, least: least, until: map[types.UID]time.Time{}, timers: map[types.UID]*time.Timer{},
		announced: map[types.UID]string{},
		pauses:    map[types.NamespacedName]time.Duration{}, written: map[types.NamespacedName]write{},
	}
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
func (p *schedule) forget(o client.Object) {
	p.set(o.GetUID(), time.Time{})

	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.announced, o.GetUID())
	delete(p.written, client.ObjectKeyFromObject(o))
}

// wrote notes that the status of an object was written.
func (p *schedule) wrote(o client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.written[client.ObjectKeyFromObject(o)] = write{o.GetResourceVersion(), time.Now().Add(staleFor)}
}

// lastWrite returns the last write of the status of an object, unless that was seen.
func (p *schedule) lastWrite(name types.NamespacedName) (write, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	w, ok := p.written[name]

	return w, ok
}

// saw notes that a write was seen, or is not waited for any more.
func (p *schedule) saw(name types.NamespacedName, w write) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.written[name] == w {
		delete(p.written, name)
	}
}

// announce notes that the interruption of a run is announced. It is false when it was before.
func (p *schedule) announce(uid types.UID, runID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	was := p.announced[uid]
	p.announced[uid] = runID

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

// noteMissing notes that an object which is being reconciled lacks inputs, and that nothing
// else is wrong with it.
func (p *schedule) noteMissing(o resource.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.pauses[client.ObjectKeyFromObject(o)] = max(p.interval(o), leastMissing)
}

// takeMissing returns how long to wait before an object that lacks inputs is reconciled
// again, and forgets it. It is false when noteMissing did not note the object.
func (p *schedule) takeMissing(name types.NamespacedName) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	d, ok := p.pauses[name]
	delete(p.pauses, name)

	return d, ok
}
