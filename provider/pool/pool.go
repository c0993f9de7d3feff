// Package pool schedules runs. The number of runs at a time is limited, an object has one run at a time, and tenants
// take turns. Each reconcile calls Want with the run that its object needs, and writes the returned report into the
// status. The run begins once the status shows it. A backend executes it.
//
//	Want      the object waits for its content, and for its turn
//	Want      its turn has come: the report has a start time, which must be written into the status
//	Want      the status shows the run: it begins
//	Report    the object is woken for news until the run has ended
//	Recorded  the status shows the end of the run
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

// reservationLimit is the time for which a free place is reserved for an object until its status shows the run.
const reservationLimit = 15 * time.Second

// maxGone is the number of deleted objects that are remembered.
const maxGone = 1024

// A Pool schedules runs. Objects wait for a place, and not runs: when an object gets a place, its reconcile decides
// with the present inputs whether it takes the place. The pool keeps the report of each run until the status shows its
// end.
type Pool struct {
	// leads returns false when another provider may execute runs.
	leads    func() bool
	observer Observer

	// provider is done once the pool accepts no more runs. leave ends it.
	provider context.Context //nolint:containedctx // It outlives calls.
	leave    context.CancelFunc

	mu      sync.Mutex
	entries map[types.UID]*entry
	queues  map[common.Place]*queue
	// work counts the runs in progress.
	work sync.WaitGroup
	// gone has the UIDs of the last deleted objects.
	gone *lru.Cache
}

// An Observer is notified of runs.
type Observer interface {
	// Started is called once, when a run begins. It does not block.
	Started(r runs.Run)
	// Ended is called once, when a run has ended, with how long it took. It does not block.
	Ended(r runs.Run, report runs.Report, took time.Duration)
}

// A Place is a backend with limits.
type Place struct {
	// Execute executes a run.
	Execute runs.Execute
	// Await installs the content of a run before the run takes a place, see content.Store; nil if runs do not wait for it.
	Await func(object types.UID, r content.Request, wake func()) (ended bool, err error)
	// Recorded is called once the status of an object shows the end of a run; nil for a backend that has nothing to clean
	// up.
	Recorded func(uid types.UID, runID string)
	// Runs is the largest number of runs at a time. If it is more than one, one of the places is for urgent runs only.
	Runs int
	// PerTenant is the largest number of runs of one tenant.
	PerTenant int
}

// An entry is an object with a run that waits or has begun.
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
	// reservation is the timer of a reserved place; nil if no place is reserved for the object.
	reservation *time.Timer
	// start is the start time that the status shows or must show once the turn of the object has come; nil for none.
	start *metav1.Time
	// run is the run that has begun, and cancel cancels it; nil before that.
	run    runs.Run
	cancel context.CancelFunc
	// wanted is done when another run is due instead of this one. revoke ends it.
	wanted context.Context //nolint:containedctx // The run has another context.
	revoke context.CancelFunc
	// lent is true while the run waits in its Pod, so that its place does not count: there may be more runs than places.
	// It still counts for its tenant, so that waiting runs do not fill the cluster.
	lent bool
	// begun is the start of the run, told the time of the last report to its object, and at the time at which the object
	// is woken for news; zero for none. reported is true after the first report of the content.
	begun, told, at time.Time
	reported        bool
	// abandoned is true if the object is gone.
	abandoned bool
}

// New returns a pool of places. Runs do not begin while leads returns false.
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

// A Want is the decision of a reconcile of an object. It replaces the previous one.
type Want struct {
	// UID of the object.
	UID types.UID
	// Run is the wanted run; nil for none.
	Run *runs.Run
	// Shown is the run in the status; nil for none.
	Shown *common.Run
	// Keep is true to keep a run that waits in its Pod, and so has a plan in its report, although another run or none is
	// wanted. Otherwise such a run is revoked, and goes on only if it has already begun.
	Keep bool
	// End is true to end the run in any state. The run is over only once its report says so.
	End bool
	// Gone is true for an object that is gone: its run is ended, and then forgotten.
	Gone bool
	// Wake is called for news, and must not block. The object must be reconciled after a time, unless it is reconciled
	// earlier.
	Wake func(after time.Duration)
}

// Want takes the decision of a reconcile. It returns the report for the status, and whether the run has begun. Without
// a run, the run of the report has no id. A run waits until its content is installed and its turn has come. Then its
// report has a start time, and the run begins once the status shows it: otherwise the next process would not know the
// run if this one was killed. The pool keeps only the report of a waiting run.
func (p *Pool) Want(w Want) (r runs.Report, begun bool) {
	var (
		q        *queue
		required content.Request
	)

	if w.Run != nil {
		q, r = p.queues[w.Run.Place()], w.Run.Report()
		r.Waits = true
		required, _ = w.Run.Requires() // The run reports the error.
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	// A reconcile that began before the object was gone may still want a run, and no further reconcile would withdraw it.
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

		// The entry stays as long as the status shows its run.
		if w.Shown == nil || w.Shown.ID != e.report.Run.ID {
			delete(p.entries, w.UID)
		}

		return runs.Report{}, false
	case w.Run == nil || gone || !known && p.Stopping():
		return runs.Report{}, false
	case !known:
		e = &entry{uid: w.UID, tenant: w.Run.Object.Tenant(), queue: q}
		p.entries[w.UID] = e
	case e.queue != q: // The configuration has changed the place of the waiting object.
		p.withdraw(e)
		e.queue = q
	}

	e.report, e.wake = r, w.Wake
	run := *w.Run

	switch {
	case p.Stopping():
	case e.awaitsContent(&run, required):
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

	// The run begins in the reserved place.
	e.reservation.Stop()
	e.reservation = nil
	run.Queued = e.queued

	e.stopAwaiting()
	p.begin(e, run)

	return e.report, true
}

// awaitsContent is true while the content of an object is being installed. An error of the installation is stored in
// the run.
func (e *entry) awaitsContent(r *runs.Run, required content.Request) bool {
	wake := e.wake
	ended, err := e.queue.Await(e.uid, required, func() { wake(0) })
	e.installing, r.Missing = !ended, err

	return e.installing
}

// stopAwaiting stops waiting for content.
func (e *entry) stopAwaiting() {
	_, _ = e.queue.Await(e.uid, content.Request{}, nil)
	e.installing = false
}

// forgetStart clears the start time of a run without a place, unless the status still shows it.
func (e *entry) forgetStart(shown *common.Run) {
	if shown == nil || shown.ID != e.report.Run.ID || shown.StartTime == nil {
		e.start = nil
	}
}

// heed cancels or revokes a run that has begun, if the object wants that.
func (e *entry) heed(w Want) {
	switch {
	case e.cancel == nil:
	case w.End:
		e.cancel()
	case e.report.Plan != "" && !w.Keep && (w.Run == nil || w.Run.Plan() != e.report.Plan):
		e.revoke()
	}
}

// enqueue adds an object to the queue of a class, unless it is already there.
func (p *Pool) enqueue(e *entry, c runs.Class) {
	if q := e.queue; e.class != c || !slices.Contains(q.waiting[c], e) {
		q.drop(e)
		e.class, e.queued = c, time.Now()
		q.waiting[c] = append(q.waiting[c], e)
	}

	p.dispatch(e)
}

// Follow follows a run that the predecessor has begun. The run takes a place at once, within the share of its tenant:
// the status may be forged, or show a run that has ended. Until its backend reports, the report is that of a run in
// progress.
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

	// The entry comes from an older version of the object in the cache: a run that no status shows, or a followed run that
	// is over.
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

// begin starts the execution of a run.
func (p *Pool) begin(e *entry, r runs.Run) {
	ctx, cancel := context.WithCancel(context.Background())
	e.run, e.report.Waits, e.cancel = r, false, cancel
	e.wanted, e.revoke = context.WithCancel(context.Background())
	e.begun, e.told = time.Now(), time.Now()

	p.work.Go(func() { p.carryOut(ctx, e) })
}

// Report returns the report of the run of an object; false if there is none.
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

// Recorded forgets a run once the status shows its end.
func (p *Pool) Recorded(uid types.UID, runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[uid]; known && e.report.Run.ID == runID {
		p.forget(e)
	}
}

// forget removes a run that has ended, and calls Recorded of its place.
func (p *Pool) forget(e *entry) {
	if !e.report.Run.Phase.Finished() {
		return
	}

	if delete(p.entries, e.uid); e.cancel != nil {
		e.queue.Recorded(e.uid, e.report.Run.ID)
	}
}

// abandon ends and forgets the run of an object that is gone, if any.
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

// withdraw removes an object that waits for its content or its turn. Another object gets its reserved place.
func (p *Pool) withdraw(e *entry) {
	e.stopAwaiting()
	p.dequeue(e)
	p.dispatch(nil)
}

// dequeue removes an object from the queue, and frees its reserved place.
func (p *Pool) dequeue(e *entry) {
	e.queue.drop(e)

	if e.reservation != nil {
		e.reservation.Stop()
		e.reservation = nil
		e.queue.free(e)
	}
}

// Stop stops accepting runs, drops runs that have not begun, leaves runs that outlive the provider, and waits for the
// others. The end of the context cancels the others; Stop still waits for them. The object of a dropped run is woken
// only if its status may show a start time. The next process wants the run again.
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

// Stats has the present numbers of runs of a queue.
type Stats struct {
	// Urgent and Patient are the numbers of runs that wait for their turn. Retries and periodic runs are patient.
	Urgent, Patient int
	// Installing is the number of runs that wait for their content.
	Installing int
	// Running is the number of runs in progress, and Limit the largest number.
	Running, Limit int
}

// Stats returns the statistics of the queues by place.
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

// Unrecorded returns the number of runs that have begun, or have a start time in the status, and have no recorded end.
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

// Stopping is true once the pool accepts no more runs.
func (p *Pool) Stopping() bool { return p.provider.Err() != nil }

// stopTaking stops accepting runs, drops runs that have not begun, and leaves runs that outlive the provider.
func (p *Pool) stopTaking() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.leave()

	for _, e := range p.entries {
		if e.cancel != nil {
			continue
		}

		if p.withdraw(e); e.start != nil {
			e.wake(0) // The status may have a start time.
		}
	}
}

// dispatch gives free places to waiting objects, and wakes them, except the one that is being reconciled.
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

// reserve reserves a place for an object for reservationLimit.
func (p *Pool) reserve(e *entry) {
	var t *time.Timer

	t = time.AfterFunc(reservationLimit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		// The object may have another reservation now.
		if e.reservation == t {
			p.withdraw(e)
			e.wake(0)
		}
	})
	e.reservation = t
}

// carryOut executes a run to its end, and then frees its place.
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

	// The next provider follows a run that was left.
	detached := !report.Run.Phase.Finished()
	if !detached {
		p.observer.Ended(run, report, time.Since(start))
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	e.cancel()
	e.revoke()
	e.report, e.report.Tail = report, nil

	// The inputs need memory, and contain secrets.
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

// progress stores a report of the backend for the next reconcile, and wakes the object in time.
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
