// Package pool schedules runs: a bounded number is carried out at a time, never two of
// one object, and namespaces take turns. Each reconcile tells it what its object wants,
// and is told what there is to show; the run begins once the status shows it. A backend
// carries the run out.
//
//	Want      a run is wanted: its object waits for its content, and for its turn
//	Want      its turn has come: the report has a start, and the status is to show it
//	Want      the status shows the run: it begins
//	Report    the object is woken when there is news, until the run has ended
//	Recorded  the status shows the end
package pool

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// reservationLimit is how long a free place is kept for an object that has its turn, until its status shows the run.
const reservationLimit = 15 * time.Second

// maxGone is the number of deleted objects that are remembered.
const maxGone = 1024

// A Pool schedules runs. Objects wait for a place, not runs: the reconcile of an object
// that was given a place decides with the inputs of that moment whether it takes it. The
// pool remembers the report of each run until the status shows its end.
type Pool struct {
	// leads is false when another provider may carry out runs.
	leads    func() bool
	observer Observer

	// provider is done, and leave makes it so, once the pool takes no more runs.
	provider context.Context //nolint:containedctx // It is not that of a call.
	leave    context.CancelFunc

	mu      sync.Mutex
	entries map[types.UID]*entry
	queues  map[common.Place]*queue
	// work waits for all runs in progress.
	work sync.WaitGroup
	// gone has the uids of the objects that were deleted last.
	gone *lru.Cache
}

// An Observer is told of runs.
type Observer interface {
	// Started is called once, when a run begins. It does not block.
	Started(r runs.Run)
	// Ended is called once, when a run has ended, with how long it took. It does not block.
	Ended(r runs.Run, report runs.Report, took time.Duration)
}

// A Place where runs are carried out.
type Place struct {
	// Execute a run.
	Execute runs.Execute
	// Await the content of a run before it takes a place, see content.Store; nil if runs do not wait for theirs.
	Await func(object types.UID, r content.Request, wake func()) (ended bool, err error)
	// Recorded says that the status of an object shows the end of a run; nil if nothing of a run is left by then.
	Recorded func(uid types.UID, runID string)
	// Runs at a time at most. If it is more than one, one of the places is for urgent runs only.
	Runs int
	// PerTenant is the number of runs of one tenant at most.
	PerTenant int
}

// An entry is an object that waits for a place, or has a run that is carried out.
type entry struct {
	uid    types.UID
	tenant string
	queue  *queue
	class  runs.Class
	queued time.Time
	report runs.Report
	wake   func(after time.Duration)

	// installing is true while the object waits for its content.
	installing bool
	// reservation of a place, which its timer ends; nil when no place is kept for the object.
	reservation *time.Timer
	// start of the run that the status is to show since its turn has come, or that it shows still; nil for none.
	start *metav1.Time

	// run that has taken its place, and what cancels it; nil before that.
	run    runs.Run
	cancel context.CancelFunc
	// wanted is done, and revoke makes it so, when another run is due in place of this one.
	wanted context.Context //nolint:containedctx // It is not that of the run.
	revoke context.CancelFunc
	// lent is true while the run waits in its Pod, so that its place does not count: then there may be more runs than
	// places. Its tenant keeps its share, so that its runs do not fill the cluster while they wait.
	lent bool
	// begun is when the run was, told when its object was told something last, and at when it is woken for more; zero
	// if it is not. Reported is true once there was a report of its content.
	begun, told, at time.Time
	reported        bool
	// abandoned is true for an object that is gone.
	abandoned bool
}

// New returns a pool of places, in which nothing begins while leads is false.
func New(places map[common.Place]Place, leads func() bool, o Observer) *Pool {
	p := &Pool{
		leads: leads, observer: o, entries: map[types.UID]*entry{}, queues: map[common.Place]*queue{},
		gone: lru.New(maxGone),
	}
	p.provider, p.leave = context.WithCancel(context.Background())

	for name, place := range places {
		p.queues[name] = newQueue(place)
	}

	return p
}

// A Want is what an object wants, as one look at it has found. The next one replaces it.
type Want struct {
	// UID of the object.
	UID types.UID
	// Run that is to begin; nil if none is.
	Run *runs.Run
	// Shown is the run that the status shows; nil if it shows none.
	Shown *common.Run
	// Keep a run that waits in its Pod, as its report says with its plan, also if another one is wanted, or none.
	// Otherwise it gives way, and goes on only if it has begun meanwhile.
	Keep bool
	// End the run, also if it has begun, or waits. It is over only when its report says so.
	End bool
	// Gone is true for an object that is gone: its run is ended, and forgotten once it is over.
	Gone bool
	// Wake is called whenever there is something new to report, and must not block. The object is to be looked at after a
	// while, unless it is before.
	Wake func(after time.Duration)
}

// Want says what an object wants. It returns the report to show, and whether its run has begun. Without a run, the run
// of the report has no id. A run that does not begin yet waits until its content is installed and its turn comes: then
// its run has a start, and it begins when the status shows that. Otherwise a run would be unknown to the next process
// if this one were killed. Nothing is kept of a run that waits but its report.
func (p *Pool) Want(w Want) (r runs.Report, begun bool) {
	var (
		q        *queue
		required content.Request
	)

	if w.Run != nil {
		q, r = p.queues[w.Run.Place()], w.Run.Report()
		r.Waits = true
		required, _ = w.Run.Requires() // The run reports a mistake.
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	// A reconcile that began before the object was gone may still want a run. No reconcile would follow that wants none.
	_, gone := p.gone.Get(w.UID)
	e, known := p.entries[w.UID]

	switch {
	case w.Gone:
		p.gone.Add(w.UID, nil)
		p.abandon(e)

		return runs.Report{}, false
	case known && w.End && e.report.Waits:
		p.withdraw(e)

		e.report = e.report.Canceled(time.Now())
		e.wake(0)

		return e.report, true
	case known && !e.report.Waits:
		e.heed(w)

		return e.report, true
	case w.Run == nil && known:
		e.forgetStart(w.Shown)
		p.withdraw(e)

		// What the status shows is known until it does not show it any more.
		if w.Shown == nil || w.Shown.ID != e.report.Run.ID {
			delete(p.entries, w.UID)
		}

		return runs.Report{}, false
	case w.Run == nil || gone || !known && p.Stopping():
		return runs.Report{}, false
	case !known:
		e = &entry{uid: w.UID, tenant: w.Run.Object.Tenant(), queue: q}
		p.entries[w.UID] = e
	case e.queue != q: // The configuration may say another place than when the object began to wait.
		p.withdraw(e)
		e.queue = q
	}

	e.report, e.wake = r, w.Wake
	run := *w.Run

	switch {
	case p.Stopping():
	case e.awaits(&run, required):
		e.report.Run.Phase = common.PhaseInstalling

		p.dequeue(e)
		p.dispatch(nil)
	case e.reservation == nil:
		p.enqueue(e, w.Run.Class())
	}

	if e.reservation == nil {
		e.forgetStart(w.Shown)

		return e.report, false
	}

	e.report.Run.StartTime, e.report.Run.Pod = e.start, w.Run.Pod()

	if isShown := equality.Semantic.DeepEqual(w.Shown, &e.report.Run); !isShown || !p.leads() {
		return e.report, false
	}

	// It begins in the place that was kept for it.
	e.reservation.Stop()
	e.reservation = nil
	run.Queued = e.queued

	e.awaitNothing()
	p.begin(e, run)

	return e.report, true
}

// awaits is true for an object whose content is being installed. If it cannot be, its run says why.
func (e *entry) awaits(r *runs.Run, required content.Request) bool {
	wake := e.wake
	ended, err := e.queue.Await(e.uid, required, func() { wake(0) })
	e.installing, r.Missing = !ended, err

	return e.installing
}

// awaitNothing any more.
func (e *entry) awaitNothing() {
	_, _ = e.queue.Await(e.uid, content.Request{}, nil)
	e.installing = false
}

// forgetStart of a run that has no turn any more, unless the status shows it still.
func (e *entry) forgetStart(shown *common.Run) {
	if shown == nil || shown.ID != e.report.Run.ID || shown.StartTime == nil {
		e.start = nil
	}
}

// heed what an object wants of its run, if that has begun.
func (e *entry) heed(w Want) {
	switch {
	case e.cancel == nil:
	case w.End:
		e.cancel()
	case e.report.Plan != "" && !w.Keep && (w.Run == nil || w.Run.Plan() != e.report.Plan):
		e.revoke()
	}
}

// enqueue an object, or leave it where it waits.
func (p *Pool) enqueue(e *entry, c runs.Class) {
	if q := e.queue; e.class != c || !slices.Contains(q.waiting[c], e) {
		q.drop(e)
		e.class, e.queued = c, time.Now()
		q.waiting[c] = append(q.waiting[c], e)
	}

	p.dispatch(e)
}

// Follow a run that a former provider has begun. It takes a place at once, since it may have one already, but no tenant
// has more than its share of those: the status may be made up, or show a run that has ended.
// Until more is known, its report says that it is in progress.
func (p *Pool) Follow(r runs.Run, wake func(after time.Duration)) {
	p.mu.Lock()
	defer p.mu.Unlock()

	uid := r.Object.UID
	_, gone := p.gone.Get(uid)
	e, known := p.entries[uid]

	madeUp := known && e.cancel != nil && e.run.Begun == nil

	if gone || p.Stopping() || madeUp || known && e.report.Run.ID == r.ID {
		return
	}

	// The cache did not show the run yet when another one was decided on, which no status shows, or was followed, which
	// is over then.
	p.abandon(e)

	e = &entry{
		uid: uid, tenant: r.Object.Tenant(), queue: p.queues[r.Place()], class: r.Class(), wake: wake, report: r.Report(),
	}
	e.report.Attaching = true
	p.entries[uid] = e

	if !e.queue.shares.Full(e.tenant) {
		e.queue.take(e)
	}

	p.begin(e, r)
	p.dispatch(nil)
}

// begin to carry a run out.
func (p *Pool) begin(e *entry, r runs.Run) {
	ctx, cancel := context.WithCancel(context.Background())
	e.run, e.report.Waits, e.cancel = r, false, cancel
	e.wanted, e.revoke = context.WithCancel(context.Background())
	e.begun, e.told = time.Now(), time.Now()

	p.work.Go(func() { p.carryOut(ctx, e) })
}

// Report tells an object what is known of its run; false if nothing is.
func (p *Pool) Report(uid types.UID) (runs.Report, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known {
		return runs.Report{}, false
	}

	e.told, e.at = time.Now(), time.Time{}

	return e.report, true
}

// Recorded says that the status shows the end of a run, of which nothing has to be known any more.
func (p *Pool) Recorded(uid types.UID, runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[uid]; known && e.report.Run.ID == runID {
		p.forget(e)
	}
}

// forget a run that has ended.
func (p *Pool) forget(e *entry) {
	if !e.report.Run.Phase.Finished() {
		return
	}

	if delete(p.entries, e.uid); e.cancel != nil {
		e.queue.Recorded(e.uid, e.report.Run.ID)
	}
}

// abandon the run of an object that is gone, if there is one.
func (p *Pool) abandon(e *entry) {
	switch {
	case e == nil:
	case e.cancel == nil:
		delete(p.entries, e.uid)
		p.withdraw(e)
	default:
		e.abandoned = true
		e.cancel()
		p.forget(e)
	}
}

// withdraw an object that waits for its content or its turn. Another one gets the place that is kept for it.
func (p *Pool) withdraw(e *entry) {
	e.awaitNothing()
	p.dequeue(e)
	p.dispatch(nil)
}

// dequeue takes an object out of the queue, or frees the place that is kept for it.
func (p *Pool) dequeue(e *entry) {
	e.queue.drop(e)

	if e.reservation != nil {
		e.reservation.Stop()
		e.reservation = nil
		e.queue.free(e)
	}
}

// Stop taking runs, drop those that have not begun, leave those that outlive the provider, and
// wait for the others. When the context is done the others are canceled, and waited for still.
// An object is woken for a run that was dropped only if its status may show a start. The next process wants the run
// again.
func (p *Pool) Stop(ctx context.Context) {
	p.stopTaking()
	defer context.AfterFunc(ctx, p.cancelAll)()

	p.work.Wait()
}

func (p *Pool) cancelAll() {
	p.mu.Lock()
	defer p.mu.Unlock()

	for _, e := range p.entries {
		if e.cancel != nil {
			e.cancel()
		}
	}
}

// Stats of a queue at one moment.
type Stats struct {
	// Urgent runs that wait for their turn, and Patient ones: retries and periodic
	// ones.
	Urgent, Patient int
	// Installing runs wait for their content.
	Installing int
	// Running runs, and how many may run at a time.
	Running, Limit int
}

// Stats of the queues, by their places.
func (p *Pool) Stats() map[common.Place]Stats {
	p.mu.Lock()
	defer p.mu.Unlock()

	all := map[common.Place]Stats{}

	for place, q := range p.queues {
		w := q.waiting
		s := Stats{Urgent: len(w[runs.Urgent]), Patient: len(w[runs.Retry]) + len(w[runs.Periodic]), Limit: q.Runs}
		s.Running, _ = q.running()

		for _, e := range p.entries {
			if e.queue == q && e.installing {
				s.Installing++
			}
		}

		all[place] = s
	}

	return all
}

// Unrecorded is the number of runs that have begun, or are shown so, and have no recorded end yet.
func (p *Pool) Unrecorded() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := 0

	for _, e := range p.entries {
		if e.cancel != nil || e.start != nil {
			n++
		}
	}

	return n
}

// Stopping is true once the pool takes no more runs.
func (p *Pool) Stopping() bool { return p.provider.Err() != nil }

// stopTaking refuses new runs from now on, drops those that have not begun, and leaves those
// that outlive the provider.
func (p *Pool) stopTaking() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.leave()

	for _, e := range p.entries {
		if e.cancel != nil {
			continue
		}

		if p.withdraw(e); e.start != nil {
			e.wake(0) // Its status may show that it has begun.
		}
	}
}

// dispatch gives free places to objects that wait, and wakes these, except one that is looked at now.
func (p *Pool) dispatch(but *entry) {
	for _, q := range p.queues {
		for !p.Stopping() {
			e := q.next()
			if e == nil {
				break
			}

			p.reserve(e)

			if e.start == nil {
				e.start = new(metav1.NewTime(time.Now().Truncate(time.Second)))
			}

			if e != but {
				e.wake(0)
			}
		}
	}
}

// reserve a place for an object, for reservationLimit.
func (p *Pool) reserve(e *entry) {
	var t *time.Timer

	t = time.AfterFunc(reservationLimit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		// The object may have another reservation by now.
		if e.reservation == t {
			p.withdraw(e)
			e.wake(0)
		}
	})
	e.reservation = t
}

// carryOut a run that has its place, to its end, and free the place. The backend blocks meanwhile.
func (p *Pool) carryOut(ctx context.Context, e *entry) {
	run, start := e.run, e.begun

	if run.Begun == nil {
		p.observer.Started(run)
	} else {
		start = run.Begun.StartTime.Time
	}

	report := e.queue.Execute(ctx, run, runs.Watch{
		Provider: p.provider, Wanted: e.wanted, Progress: func(r runs.Report) { p.progress(e, r) },
	})

	// The next provider reports a run that was left to it.
	detached := !report.Run.Phase.Finished()
	if !detached {
		p.observer.Ended(run, report, time.Since(start))
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	e.cancel()
	e.revoke()
	e.report, e.report.Tail = report, nil

	// Its inputs take memory, and hold secrets.
	e.run = runs.Run{Begun: run.Begun}

	if e.abandoned && !detached {
		e.queue.Recorded(e.uid, report.Run.ID)
	}

	// Another run of the object may have replaced it.
	if replaced := p.entries[e.uid] != e; !replaced && (e.abandoned || detached) {
		delete(p.entries, e.uid)
	}

	if !detached {
		e.wake(0)
	}

	e.queue.free(e)
	p.dispatch(nil)
}

// progress of a run, as its backend reports it: it is kept for the next reconcile, and the object told in time.
func (p *Pool) progress(e *entry, r runs.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := newsOf(e.report, r)
	e.report = r

	if e.lent = r.Plan != ""; e.lent {
		p.dispatch(nil)
	}

	e.tell(n)
}
