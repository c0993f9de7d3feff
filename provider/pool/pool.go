// Package pool schedules jobs: a bounded number is carried out at a time, never two of
// one object, and namespaces take turns. Each reconcile tells it what its object wants,
// and is told what there is to show; the job begins once the status shows it. An executor
// carries the job out.
//
//	Want      a job is wanted: its object waits for what the job needs, and for its turn
//	Want      its turn has come: the report has a start, and the status is to show it
//	Want      the status shows the run: it begins
//	Report    the object is woken when there is news, until the run has ended
//	Recorded  the status shows the end
package pool

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// reservationLimit is how long a free place is kept for an object that has its turn, until its status shows the run.
const reservationLimit = 15 * time.Second

// maxGone is the number of deleted objects that are remembered.
const maxGone = 1024

// A Pool schedules jobs. Objects wait for a place, not jobs: the reconcile of an object
// that was given a place decides with the inputs of that moment whether it takes it. The
// pool remembers the report of each job until the status shows its end.
type Pool struct {
	executor executor.Executor
	now      func() time.Time

	mu      sync.Mutex
	stopped bool
	entries map[types.UID]*entry
	lanes   map[common.Place]*lane
	// preparations in progress, by their keys.
	preparations map[string]*preparation
	// work waits for all jobs and preparations in progress.
	work sync.WaitGroup
	// gone has the uids of the objects that were deleted last.
	gone *lru.Cache
}

// Limits of the jobs that are carried out at a time.
type Limits struct {
	// Jobs at most. If it is more than one, one of the places is for urgent jobs only.
	Jobs int
	// PerTenant is the number of jobs of one tenant at most.
	PerTenant int
}

// A lane has the jobs of one place, which do not wait for those of another one.
type lane struct {
	*queue

	limit int
	// running counts the places that are taken, or kept for an object, without those that are lent.
	running int
}

// count the place of an object, or do not count it any more: n is 1 or -1.
func (l *lane) count(e *entry, n int) {
	l.running += n

	if e.class != executor.Urgent {
		l.patient += n
	}
}

// An entry is an object that waits for a place, or has a job that is carried out.
type entry struct {
	uid    types.UID
	tenant string
	lane   *lane
	class  executor.Class
	queued time.Time
	report executor.Report
	wake   func()

	// preparation for what the object waits for; nil when it needs nothing.
	preparation *preparation

	// reservation of a place, which its timer ends; nil when no place is kept for the object. Its run is shown with a
	// start since its turn has come.
	reservation *time.Timer
	start       *metav1.Time

	// job that has taken its place, and what cancels it; nil before that.
	job    executor.Job
	cancel context.CancelCauseFunc
	// provider is done, and leave makes it so, when the job is left to the next one.
	provider context.Context //nolint:containedctx // It is not that of the job.
	leave    context.CancelFunc
	// wanted is done, and revoke makes it so, when another job is due in place of this one.
	wanted context.Context //nolint:containedctx // It is not that of the job.
	revoke context.CancelFunc
	// lent is true while the job waits for something else, so that its place does not count.
	lent bool
	// attached is true for a run that a former provider has begun.
	attached bool
	// extra is true for a job that has no place: the pool was attached to it, and its tenant has all that it may have.
	extra bool
	// tail reads the end of what the job has displayed so far; nil if it displays nothing.
	tail func() string
	// begun is when the job was, told when its object was told something last, and reported is true once that was a
	// report of its content.
	begun, told time.Time
	reported    bool
	// newsTimer wakes the object at newsAt, for news that have to wait.
	newsTimer *time.Timer
	newsAt    time.Time
	// abandoned is true for an object that is gone.
	abandoned bool
}

// New returns a pool that has lanes with these limits.
func New(x executor.Executor, limits map[common.Place]Limits) *Pool {
	p := &Pool{
		executor: x, now: time.Now, entries: map[types.UID]*entry{}, preparations: map[string]*preparation{},
		lanes: map[common.Place]*lane{}, gone: lru.New(maxGone),
	}

	for place, l := range limits {
		p.lanes[place] = &lane{queue: newQueue(l.PerTenant), limit: l.Jobs}
	}

	return p
}

// A Want is what an object wants, as one look at it has found. The next one replaces it.
type Want struct {
	// UID of the object.
	UID types.UID
	// Job that is to begin; nil if none is.
	Job *executor.Job
	// Shown is the run that the status shows; nil if it shows none.
	Shown *common.Run
	// Drop the run that waits, as its report says with its plan: it is not the one that is wanted. It ends unless it has
	// begun meanwhile.
	Drop bool
	// End the run, also if it has begun, or waits. It is over only when its report says so.
	End bool
	// Gone is true for an object that is gone: its run is ended, and forgotten once it is over.
	Gone bool
	// Wake is called whenever there is something new to report, and must not block.
	Wake func()
}

// Want says what an object wants. It returns the report to show, and whether its run has begun. Without a run, the run
// of the report has no id. A job that does not begin yet waits until it has what it needs and its turn comes: then its
// run has a start, and it begins when the status shows that. Otherwise a run would be unknown to the next process if
// this one were killed. Nothing is kept of a job that waits but its report and its needs.
func (p *Pool) Want(w Want) (r executor.Report, begun bool) {
	var needs executor.Needs
	if w.Job != nil {
		needs = p.executor.Needs(*w.Job)
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

		return executor.Report{}, false
	case known && w.End && e.waits():
		p.withdraw(e)
		p.dispatch(nil)

		e.report = e.report.Canceled(p.now())
		e.wake()

		return e.report, true
	case known && !e.waits():
		e.heed(w)

		return e.report, true
	case w.Job == nil && known:
		e.start = nil
		p.withdraw(e)
		p.dispatch(nil)

		// What the status shows is known until it does not show it any more.
		if w.Shown == nil || w.Shown.ID != e.report.Run.ID {
			delete(p.entries, w.UID)
		}
	case w.Job != nil && !gone && (known || !p.stopped):
		return p.wait(w, needs)
	}

	return executor.Report{}, false
}

// waits is true for an object with a run that has not begun.
func (e *entry) waits() bool { return e.cancel == nil && !e.report.Run.Phase.Finished() }

// heed what an object wants of its run, if that has begun.
func (e *entry) heed(w Want) {
	switch {
	case e.cancel == nil:
	case w.End:
		e.cancel(context.Canceled)
	case w.Drop && e.report.Plan != "":
		e.revoke()
	}
}

// wait for what a job needs, and for the turn of its object, and begin what the status shows.
func (p *Pool) wait(w Want, needs executor.Needs) (r executor.Report, begun bool) {
	j := *w.Job
	e, known := p.entries[w.UID]

	if known {
		j.ID = e.report.Run.ID
	} else {
		e = &entry{uid: w.UID, tenant: j.Object.Tenant(), lane: p.lanes[j.Place()]}
		p.entries[w.UID] = e
	}

	// The configuration may say another place than when the object began to wait.
	if l := p.lanes[j.Place()]; l != e.lane {
		p.dequeue(e)
		e.lane = l
	}

	e.report, e.wake = executor.NewReport(j), w.Wake

	switch {
	case p.stopped:
	case !p.prepared(e, needs):
		e.report.Run.Phase = common.PhaseInstalling

		p.dequeue(e)
		p.dispatch(nil)
	case e.reservation == nil:
		p.enqueue(e, j.Class())
	}

	if e.reservation == nil {
		e.start = nil

		return e.report, false
	}

	r = e.report
	r.Run.StartTime, r.Run.Pod = e.start, j.Reference()

	if !equality.Semantic.DeepEqual(w.Shown, &r.Run) {
		return r, false
	}

	e.reservation.Stop()
	e.reservation = nil
	j.Queued = e.queued

	if e.preparation != nil {
		j.Missing = e.preparation.err
	}

	p.unprepare(e)
	p.begin(e, j, r)

	return r, true
}

// enqueue an object, or leave it where it waits.
func (p *Pool) enqueue(e *entry, c executor.Class) {
	if e.class != c || !e.lane.has(e) {
		e.lane.drop(e)
		e.class, e.queued = c, p.now()
		e.lane.push(e)
	}

	p.dispatch(e)
}

// Follow a run that a former provider has begun, and that outlives it: the job says which.
// It takes a place at once, since it has one already, but no tenant has more than its share of those: the status may be
// made up, or show a run that has ended. Until more is known, its report
// says that it is in progress.
func (p *Pool) Follow(j executor.Job, wake func()) {
	p.mu.Lock()
	defer p.mu.Unlock()

	_, gone := p.gone.Get(j.UID())
	e, known := p.entries[j.UID()]

	switch {
	case gone, p.stopped, known && e.report.Run.ID == j.ID:
		return
	case !known:
	// The cache did not show the run yet when another one was decided on, which no status shows, or was followed, which
	// is over then.
	case e.cancel == nil:
		p.withdraw(e)
	case e.attached:
		e.leave()
	default:
		return // The status was made up.
	}

	e = &entry{
		uid: j.UID(), tenant: j.Object.Tenant(), lane: p.lanes[j.Place()], class: j.Class(), wake: wake, attached: true,
	}
	p.entries[e.uid] = e

	if e.extra = e.lane.shares.Full(e.tenant); !e.extra {
		e.lane.take(e)
		e.lane.count(e, 1)
	}

	p.begin(e, j, executor.Report{Run: *j.Begun.DeepCopy(), Attaching: true})
	p.dispatch(nil)
}

// begin to carry a job out.
func (p *Pool) begin(e *entry, j executor.Job, r executor.Report) {
	ctx, cancel := context.WithCancelCause(context.Background())
	e.job, e.report, e.cancel = j, r, cancel
	e.provider, e.leave = context.WithCancel(context.Background())
	e.wanted, e.revoke = context.WithCancel(context.Background())
	e.begun, e.told = p.now(), p.now()

	p.work.Go(func() { p.carryOut(ctx, e) })
}

// Report returns what is known of the job of an object; false if nothing is.
func (p *Pool) Report(uid types.UID) (executor.Report, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known {
		return executor.Report{}, false
	}

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
		p.executor.Forget(e.job)
	}
}

// abandon the job of an object that is gone, if there is one.
func (p *Pool) abandon(e *entry) {
	switch {
	case e == nil:
	case e.cancel == nil:
		delete(p.entries, e.uid)
		p.withdraw(e)
		p.dispatch(nil)
	default:
		e.abandoned = true
		e.cancel(context.Canceled)
		p.forget(e)
	}
}

// withdraw an object from its preparation, the queue, or the place that is kept for it.
func (p *Pool) withdraw(e *entry) {
	p.unprepare(e)
	p.dequeue(e)
}

// dequeue takes an object out of the queue, or frees the place that is kept for it.
func (p *Pool) dequeue(e *entry) {
	e.lane.drop(e)

	if e.reservation != nil {
		e.reservation.Stop()
		e.reservation = nil
		p.free(e)
	}
}

// Stop taking jobs, drop those that have not begun, leave those that outlive the provider, and
// wait for the others. When the context is done the others are canceled, and waited for still.
// An object is woken for a job that was dropped only if its status may show a start. The next process wants the job
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
			e.cancel(context.Canceled)
		}
	}
}

// Stats of a lane at one moment.
type Stats struct {
	// Urgent jobs that wait for their turn, and Patient ones: retries and periodic
	// ones.
	Urgent, Patient int
	// Installing jobs wait for what they need.
	Installing int
	// Running jobs, and how many may run at a time.
	Running, Limit int
}

// Stats of the lanes, by their places.
func (p *Pool) Stats() map[common.Place]Stats {
	p.mu.Lock()
	defer p.mu.Unlock()

	all := map[common.Place]Stats{}

	for place, l := range p.lanes {
		w := l.waiting
		s := Stats{
			Urgent: len(w[executor.Urgent]), Patient: len(w[executor.Retry]) + len(w[executor.Periodic]),
			Running: l.running, Limit: l.limit,
		}

		for _, e := range p.entries {
			if e.lane == l && e.preparation != nil && !e.preparation.done {
				s.Installing++
			}
		}

		all[place] = s
	}

	return all
}

// Unrecorded is the number of jobs that have begun, or are shown so, and have no recorded end yet.
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

// Stopping is true once the pool takes no more jobs.
func (p *Pool) Stopping() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.stopped
}

// stopTaking refuses new jobs from now on, drops those that have not begun, and leaves those
// that outlive the provider.
func (p *Pool) stopTaking() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.stopped = true

	for _, e := range p.entries {
		switch {
		case e.cancel != nil && e.job.Place() == common.PlacePod:
			e.leave()
		case e.cancel != nil:
		default:
			p.withdraw(e)

			if e.start != nil {
				e.wake() // Its status may show that it has begun.
			}
		}
	}
}

// dispatch gives free places to objects that wait, and wakes these, except the one that asks.
func (p *Pool) dispatch(asks *entry) {
	for _, l := range p.lanes {
		for l.running < l.limit && !p.stopped {
			e := l.next(l.limit)
			if e == nil {
				break
			}

			l.count(e, 1)
			p.reserve(e)

			if e.start == nil {
				e.start = new(metav1.NewTime(p.now().Truncate(time.Second)))
			}

			if e != asks {
				e.wake()
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
			p.dispatch(nil)
			e.wake()
		}
	})
	e.reservation = t
}

// free the place of an object.
func (p *Pool) free(e *entry) {
	if e.extra {
		return
	}

	e.lane.shares.Take(e.tenant)

	if !e.lent {
		e.lane.count(e, -1)
	}
}

// lend the place of a job that waits to others, or take it back: then there may be more jobs than places. The tenant
// keeps its share, so that its jobs do not fill the cluster while they wait.
func (p *Pool) lend(e *entry, waits bool) {
	if e.extra || e.lent == waits {
		return
	}

	if e.lent = waits; !waits {
		e.lane.count(e, 1)
		return
	}

	e.lane.count(e, -1)
	p.dispatch(nil)
}

func (p *Pool) carryOut(ctx context.Context, e *entry) {
	report := p.execute(ctx, e)

	p.mu.Lock()
	defer p.mu.Unlock()

	e.cancel(nil)
	defer e.leave()
	defer e.revoke()
	e.stopNews()
	e.report, e.tail = report, nil

	e.job = e.job.WithoutInputs()

	// The next provider reports a run that was left to it.
	detached := e.provider.Err() != nil && !report.Run.Phase.Finished()

	if e.abandoned && !detached {
		p.executor.Forget(e.job)
	}

	// Another run of the object may have replaced it.
	if replaced := p.entries[e.uid] != e; !replaced && (e.abandoned || detached) {
		delete(p.entries, e.uid)
	}

	if !detached {
		e.wake()
	}

	p.free(e)
	p.dispatch(nil)
}

func (p *Pool) execute(ctx context.Context, e *entry) executor.Report {
	return p.executor.Execute(ctx, e.job, executor.Watch{
		Provider: e.provider,
		Wanted:   e.wanted,
		Progress: func(r executor.Report) { p.progress(e, r) },
		Tail: func(read func() string) {
			p.mu.Lock()
			defer p.mu.Unlock()

			e.tail = read
		},
	})
}

// Live returns what is known of the job in progress of an object, with the end of what it has
// displayed so far as its Output; false if no job has displayed anything.
func (p *Pool) Live(uid types.UID) (executor.Report, bool) {
	p.mu.Lock()

	e, known := p.entries[uid]
	if !known || e.tail == nil || e.abandoned {
		p.mu.Unlock()

		return executor.Report{}, false
	}

	r, read := e.report, e.tail

	p.mu.Unlock()

	// A long text takes its time.
	r.Output = read()

	return r, r.Output != "" && !r.Run.Phase.Finished()
}

func (p *Pool) progress(e *entry, r executor.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := newsOf(e.report, r)
	e.report = r

	p.lend(e, r.Plan != "")
	p.tell(e, n)
}
