package ansiblerun

import (
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"
)

// Every poll interval is longer or shorter by up to this share of it, so that
// objects that were created together are not polled together for ever.
const jitter = 0.1

// longest interval between two runs: never, to all who are there to see it, and
// far from what a duration can hold at most.
const longest = 100 * 365 * 24 * time.Hour

// leastMissing is the shortest time between two reconciles of an object in which
// something is missing. It is how long the runtime waits between two retries.
const leastMissing = time.Minute

// polls remember when the objects are to be looked at again.
type polls struct {
	poll, least time.Duration

	mu     sync.Mutex
	until  map[types.UID]time.Time
	timers map[types.UID]*time.Timer
	told   map[types.UID]string
	missed map[types.NamespacedName]time.Duration
}

func newPolls(poll, least time.Duration) *polls {
	return &polls{poll: poll, least: least, until: map[types.UID]time.Time{}, timers: map[types.UID]*time.Timer{}, told: map[types.UID]string{}, missed: map[types.NamespacedName]time.Duration{}}
}

// interval between the end of a run of an object and its next periodic run. It
// stays the same for an object, so that what is due does not depend on when
// somebody looks.
func (p *polls) interval(o resource.Object) time.Duration {
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

// set when an object is to be looked at again; the zero time means after its
// poll interval.
func (p *polls) set(uid types.UID, until time.Time) {
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
func (p *polls) forget(uid types.UID) {
	p.set(uid, time.Time{})

	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.told, uid)
}

// first is true when it is asked for the first time about a run of an object.
func (p *polls) first(uid types.UID, runID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	was := p.told[uid]
	p.told[uid] = runID

	return was != runID
}

// wakeAt calls wake after a while, unless the object is looked at before.
func (p *polls) wakeAt(uid types.UID, after time.Duration, wake func()) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.timers[uid] = time.AfterFunc(after, wake)
}

// after is how long to wait before an object is looked at again: a hook of the
// managed resource reconciler.
func (p *polls) after(mg resource.Managed, _ time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()

	until := p.until[mg.GetUID()]
	delete(p.until, mg.GetUID())

	if until.IsZero() {
		return p.interval(mg)
	}

	return max(time.Until(until), time.Second)
}

// miss notes, while an object is reconciled, that all that is wrong with it is that
// something is missing.
func (p *polls) miss(o resource.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.missed[client.ObjectKeyFromObject(o)] = max(p.interval(o), leastMissing)
}

// missing is how long to wait before an object is looked at again in which something
// is missing; false when that was not noted, or was not written to its status. It is
// asked for once.
func (p *polls) missing(name types.NamespacedName) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	d, ok := p.missed[name]
	delete(p.missed, name)

	return d, ok
}
