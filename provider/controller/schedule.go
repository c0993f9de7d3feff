package controller

import (
	"context"
	"hash/fnv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/crossplane/crossplane-runtime/v2/pkg/meta"
	"github.com/crossplane/crossplane-runtime/v2/pkg/resource"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// jitter is the largest relative change of a poll interval, so that objects that were created together are not polled
// together for ever.
const jitter = 0.1

// longest is the longest poll interval. Additions to a longer one would overflow a time.Duration.
const longest = 100 * 365 * 24 * time.Hour

// leastMissing is the shortest time between two reconciles of an object with missing inputs. It is the longest pause of
// the runtime between two retries.
const leastMissing = time.Minute

// A schedule has the poll intervals of objects, and their last writes that the cache may not have yet.
type schedule struct {
	// poll is the default poll interval, and least the shortest one that an object may set.
	poll, least time.Duration

	mu sync.Mutex
	// written are the last writes of statuses, by object, until the cache has them.
	written map[types.NamespacedName]write
}

// A write has the version of an object after a write of its status, and the time until which the cache is waited for.
type write struct {
	version string
	until   time.Time
}

func newSchedule(poll, least time.Duration) *schedule {
	return &schedule{poll: poll, least: least, written: map[types.NamespacedName]write{}}
}

// interval returns the time between the end of a run of an object and its next periodic run. It does not change from
// one reconcile to the next.
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

// forget forgets the last write of an object.
func (p *schedule) forget(o client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.written, client.ObjectKeyFromObject(o))
}

// wrote records a write of the status of an object.
func (p *schedule) wrote(o client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.written[client.ObjectKeyFromObject(o)] = write{o.GetResourceVersion(), time.Now().Add(staleFor)}
}

// awaits is true if the version of an object in the cache is older than its last write. The API server would refuse the
// update after a reconcile of the older version.
func (p *schedule) awaits(name types.NamespacedName, version string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	if w, ok := p.written[name]; ok && time.Now().Before(w.until) && isOlder(version, w.version) {
		return true
	}

	delete(p.written, name)

	return false
}

// isOlder is true for a resource version that is known to be older than another one.
func isOlder(version, than string) bool {
	c, err := resourceversion.CompareResourceVersion(version, than)

	return err == nil && c < 0
}

// A look has the time of the next reconcile of an object without events.
type look struct {
	// next is the result of the reconcile; the zero value leaves it to the runtime.
	next reconcile.Result
	// despite is true if next also applies after a failure or a deletion, for which the runtime has its own retries.
	despite bool
}

type lookKey struct{}

// lookOf returns the look in the context of a reconcile.
func lookOf(ctx context.Context) *look {
	if l, ok := ctx.Value(lookKey{}).(*look); ok {
		return l
	}

	return &look{}
}

// nextLook requests the next reconcile after a time, unless an earlier one is requested.
func nextLook(ctx context.Context, after time.Duration, priority int, despite bool) {
	if l := lookOf(ctx); l.next.RequeueAfter == 0 || after < l.next.RequeueAfter {
		*l = look{reconcile.Result{RequeueAfter: after, Priority: &priority}, despite}
	}
}

// lookAgain requests the next reconcile at the earliest of these times: that of the decision or of the next poll, that
// of the next resolution of the content, and the end of the kept output and of its watch.
func (e *external) lookAgain(ctx context.Context, run common.AnsibleRun) {
	at := e.decision.Until

	switch {
	case e.refused != nil, e.Deleted && (at.IsZero() || e.err != nil):
		return // The runtime retries.
	case at.IsZero():
		at = e.Now.Add(e.Poll)
	}

	watched, _ := watchedUntil(run, e.Now)

	for _, other := range []time.Time{e.resolution.Due, expires(run), watched} {
		if other.After(e.Now) && other.Before(at) {
			at = other
		}
	}

	// An object with a result to record must not wait behind polls.
	despite, priority := e.Deleted || e.decision.Failure != nil, handler.LowPriority
	if despite || e.Active != nil {
		priority = newsPriority
	}

	nextLook(ctx, max(at.Sub(e.Now), time.Second), priority, despite)
}
