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

// jitter is the share of its length by which a poll interval is longer or shorter at
// most, so that objects that were created together are not polled together for ever.
const jitter = 0.1

// longest poll interval. A longer one would overflow a time.Duration when it is added
// to.
const longest = 100 * 365 * 24 * time.Hour

// leastMissing is the shortest time between two reconciles of an object that lacks inputs. It is
// the longest pause that the runtime makes between two retries.
const leastMissing = time.Minute

// A schedule says how often objects are polled, and remembers of each what the cache may not show yet.
type schedule struct {
	// poll interval of objects that name none, and the shortest one that they may name.
	poll, least time.Duration

	mu sync.Mutex
	// written are the last writes of statuses, by their objects, until the cache shows them.
	written map[types.NamespacedName]write
}

// A write of a status led to a version, which is waited for until a time.
type write struct {
	version string
	until   time.Time
}

func newSchedule(poll, least time.Duration) *schedule {
	return &schedule{poll: poll, least: least, written: map[types.NamespacedName]write{}}
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

// forget an object.
func (p *schedule) forget(o client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.written, client.ObjectKeyFromObject(o))
}

// wrote notes that the status of an object was written.
func (p *schedule) wrote(o client.Object) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.written[client.ObjectKeyFromObject(o)] = write{o.GetResourceVersion(), time.Now().Add(staleFor)}
}

// awaits is true for an object, of which the cache shows a version, or none if it is gone, and does not show the status
// yet that was written last. The API server would refuse what follows from an older one, after all the work.
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

// A look is one reconcile of an object, which finds out when the next one follows if nothing happens before.
type look struct {
	// next look; the zero value leaves that to the runtime.
	next reconcile.Result
	// despite is true if the runtime is told of a failure or a deletion, which it would try again by itself.
	despite bool
}

type lookKey struct{}

// lookOf a context, which is that of the reconcile.
func lookOf(ctx context.Context) *look {
	if l, ok := ctx.Value(lookKey{}).(*look); ok {
		return l
	}

	return &look{}
}

// nextLook follows after a while, unless another one follows before.
func nextLook(ctx context.Context, after time.Duration, priority int, despite bool) {
	if l := lookOf(ctx); l.next.RequeueAfter == 0 || after < l.next.RequeueAfter {
		*l = look{reconcile.Result{RequeueAfter: after, Priority: &priority}, despite}
	}
}

// lookAgain when the decision says so, or at the next poll, or when the content is due, or the output expires or is not
// watched any more, if that is earlier.
func (e *external) lookAgain(ctx context.Context, run common.AnsibleRun) {
	at := e.decision.Until

	switch {
	case e.refused != nil, e.Deleted && (at.IsZero() || e.err != nil):
		return // No time is known at which that changes.
	case at.IsZero():
		at = e.Now.Add(e.Poll)
	}

	watched, _ := watchedUntil(run, e.Now)

	for _, other := range []time.Time{e.resolution.Due, expires(run), watched} {
		if other.After(e.Now) && other.Before(at) {
			at = other
		}
	}

	// An object with a result to be recorded would wait behind those that are polled.
	despite, priority := e.Deleted || e.decision.Failure != nil, handler.LowPriority
	if despite || e.Active != nil {
		priority = newsPriority
	}

	nextLook(ctx, max(at.Sub(e.Now), time.Second), priority, despite)
}
