// Package pool schedules jobs: a bounded number is carried out at a time, never two of
// one object, and namespaces take turns. Reconcilers acquire a place, submit a job to
// it, are woken when there is something to report, and read the report. An executor
// carries the job out.
package pool

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/inputs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// reservationLimit is how long a free place is kept for an object whose turn has come. An
// object that was paused or deleted meanwhile does not take it.
const reservationLimit = 15 * time.Second

// maxGone is the number of deleted objects that are remembered.
const maxGone = 1024

// A Pool schedules jobs. Objects wait for a place, not jobs: the reconcile of an object
// that was given a place decides with the inputs of that moment whether it takes it. The
// pool remembers the report of each job until it is told to forget it.
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

// An entry is an object that waits for a place, or whose job is carried out.
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

	// reservation of a place, which its timer ends; nil when no place is kept for the object.
	reservation *time.Timer

	// job that has taken its place, and what cancels it; nil before that.
	job    executor.Job
	cancel context.CancelCauseFunc
	// provider is done, and leave makes it so, when the job is left to the next one.
	provider context.Context //nolint:containedctx // It is not that of the job.
	leave    context.CancelFunc
	// wanted is done, and revoke makes it so, when another job is due in place of this one.
	wanted context.Context //nolint:containedctx // It is not that of the job.
	revoke context.CancelFunc
	pace   pace
	// lent is true while the job waits for something else, so that its place does not count.
	lent bool
	// attached is true for a run that a former provider has begun, and shown for one that a status has shown since it
	// was submitted.
	attached, shown bool
	// extra is true for a job that has no place: the pool was attached to it, and its tenant has all that it may have.
	extra bool
	// held is true while the object is paused.
	held bool
	// tail reads the end of what the job has displayed so far; nil if it displays nothing.
	tail func() string
	// newsTimer wakes the object at newsAt, for news that have to wait.
	newsTimer *time.Timer
	newsAt    time.Time
	// abandoned is true for an object that was deleted.
	abandoned bool
	// noted is closed by note once the job may begin.
	noted chan struct{}
	note  func()
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

// Acquire a place for a job. It returns false if there is none, or if the job needs
// something first: then the object waits, and is woken when its turn comes. Nothing is
// kept of the job but its report and its needs. Wake is called whenever there is
// something new to report, too, and must not block.
func (p *Pool) Acquire(j executor.Job, wake func()) bool {
	needs := p.executor.Needs(j)

	p.mu.Lock()
	defer p.mu.Unlock()

	// A reconcile that began before the object was deleted may still want a run. No
	// reconcile would follow that has it forgotten.
	if _, gone := p.gone.Get(j.UID()); gone || p.stopped {
		return false
	}

	e, known := p.entries[j.UID()]

	switch {
	case !known:
		e = &entry{uid: j.UID(), tenant: j.Object.Tenant(), lane: p.lanes[j.Place()]}
		p.entries[j.UID()] = e
	case e.cancel != nil:
		return false
	default:
		j.ID = e.report.Run.ID
	}

	// The configuration may say another place than when the object began to wait.
	if l := p.lanes[j.Place()]; l != e.lane {
		p.dequeue(e)
		e.lane = l
	}

	e.report, e.wake = executor.NewReport(j), wake

	if !p.prepared(e, needs) {
		e.report.Run.Phase = common.PhaseInstalling

		p.dequeue(e)
		p.dispatch(nil)

		return false
	}

	if e.reservation != nil {
		return true
	}

	if e.class != j.Class() || !e.lane.has(e) {
		e.lane.drop(e)
		e.class, e.queued = j.Class(), p.now()
		e.lane.push(e)
	}

	p.dispatch(e)

	return e.reservation != nil
}

// Submit a job to the place that was acquired for it. It returns false if the place is not
// kept any more.
func (p *Pool) Submit(j executor.Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[j.UID()]
	if !known || e.reservation == nil {
		return false
	}

	e.reservation.Stop()
	e.reservation = nil

	j.ID, j.Queued = e.report.Run.ID, e.queued
	if e.preparation != nil {
		j.Missing = e.preparation.err
	}

	p.unprepare(e)

	e.job, e.report = j, executor.NewReport(j)
	p.begin(e, func() { p.announce(e) })

	return true
}

// Attach to a run that a former provider has begun, and that outlives it: the job says which.
// It takes a place at once, since it has one already, but no tenant has more than its share of those: the status may be
// made up, or show a run that has ended. Until more is known, its report
// says that it is in progress.
func (p *Pool) Attach(j executor.Job, wake func()) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[j.UID()]; known && e.report.Run.ID != j.ID {
		p.giveWay(e)
	}

	_, gone := p.gone.Get(j.UID())
	if _, known := p.entries[j.UID()]; known || gone || p.stopped {
		return
	}

	e := &entry{
		uid: j.UID(), tenant: j.Object.Tenant(), lane: p.lanes[j.Place()], class: j.Class(), wake: wake, job: j,
		report: executor.Report{Run: *j.Begun.DeepCopy(), Attaching: true}, attached: true,
		pace: pace{last: p.now(), pause: firstPause},
	}
	p.entries[e.uid] = e

	if e.extra = e.lane.shares.Full(e.tenant); !e.extra {
		e.lane.take(e)
		e.lane.count(e, 1)
	}

	// The status shows it.
	p.begin(e, func() { e.note() })
	p.dispatch(nil)
}

// giveWay to a run that has begun before: the cache did not show it yet when another one was decided on, or was
// attached to, which is over then. One that a status has shown may have begun as well, if somebody has made the status
// up.
func (p *Pool) giveWay(e *entry) {
	switch {
	case e.cancel == nil:
		p.withdraw(e)
	case e.attached:
		e.leave()
	case !e.attached && !e.shown:
		e.cancel(context.Canceled)
	default:
		return
	}

	delete(p.entries, e.uid)
}

// begin to carry a job out, after it was announced.
func (p *Pool) begin(e *entry, announce func()) {
	e.noted = make(chan struct{})
	e.note = sync.OnceFunc(func() { close(e.noted) })

	ctx, cancel := context.WithCancelCause(context.Background())
	e.cancel = cancel
	e.provider, e.leave = context.WithCancel(context.Background())
	e.wanted, e.revoke = context.WithCancel(context.Background())

	announce()
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

// Forget the finished run of an object, or the one that it does not wait for any
// more. It does nothing when the pool knows another run.
func (p *Pool) Forget(uid types.UID, runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known || e.report.Run.ID != runID {
		return
	}

	withdrawn := e.cancel == nil && e.reservation == nil && e.preparation == nil && !e.lane.has(e)
	if withdrawn || e.report.Run.Phase.Finished() {
		delete(p.entries, uid)
	}

	if e.report.Run.Phase.Finished() {
		p.executor.Forget(e.job)
	}
}

// Cancel the job of an object. It is over only when its report says so. An object that
// waits for a place is withdrawn.
func (p *Pool) Cancel(uid types.UID) {
	p.Withdraw(uid)

	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[uid]; known && e.cancel != nil {
		e.cancel(context.Canceled)
	}
}

// Revoke the job of an object whose report has a plan: another one is due. It ends unless it has begun meanwhile.
func (p *Pool) Revoke(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[uid]; known && e.revoke != nil {
		e.revoke()
	}
}

// Hold the job of an object that is paused, or not any more. One that waits for a place is withdrawn, and one whose
// report has a plan is revoked, now or when it comes to wait for so long.
func (p *Pool) Hold(uid types.UID, held bool) {
	if held {
		p.Withdraw(uid)
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known || e.revoke == nil {
		return
	}

	if e.held = held; held && e.report.Plan != "" {
		e.revoke()
	}
}

// Abandon the job of an object that was deleted. It is canceled, and forgotten once it
// is over.
func (p *Pool) Abandon(uid types.UID) {
	p.Cancel(uid)

	p.mu.Lock()
	defer p.mu.Unlock()

	p.gone.Add(uid, nil)

	e, known := p.entries[uid]
	if !known {
		return
	}

	e.abandoned = true

	switch {
	case e.cancel == nil:
		delete(p.entries, uid)
	case e.report.Run.Phase.Finished():
		p.executor.Forget(e.job)
		delete(p.entries, uid)
	}
}

// Withdraw an object that waits for a place, and free the one that is kept for it. Its
// report stays until it is forgotten: the object may show it.
func (p *Pool) Withdraw(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[uid]; known && e.cancel == nil {
		p.withdraw(e)
		p.dispatch(nil)
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
// No object is woken for a job that was dropped: the next process submits it again.
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

// Unrecorded is the number of jobs that have taken their places and whose reports
// were not forgotten yet.
func (p *Pool) Unrecorded() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := 0

	for _, e := range p.entries {
		if e.cancel != nil {
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

// stopTaking refuses new jobs from now on, ends those that have not begun, and leaves those
// that outlive the provider.
func (p *Pool) stopTaking() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.stopped = true

	for _, e := range p.entries {
		switch {
		case e.cancel == nil:
			p.withdraw(e)
		case !e.isNoted():
			e.cancel(context.Canceled)
		case e.job.Place() == common.PlacePod:
			e.leave()
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

	// The inputs hold secrets. They are not needed any more.
	e.job = executor.Job{Spec: runner.Spec{
		ID: e.job.ID, Object: e.job.Object,
		Inputs: inputs.Inputs{Execution: e.job.Inputs.Execution},
	}}

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
	// A run that a former provider has begun is in progress.
	if e.job.Begun == nil {
		if err := p.awaitNoted(ctx, e); err != nil {
			return p.notBegun(e, err)
		}
	}

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

	if e.held && r.Plan != "" {
		e.revoke()
	}
}

// tell the object its news now, or when the pace allows it.
func (p *Pool) tell(e *entry, n news) {
	now := p.now()
	at := e.pace.at(now, n)

	switch {
	case !now.Before(at):
		e.stopNews()
		e.pace.told(now, n)
		e.wake()
	case e.newsTimer == nil || at.Before(e.newsAt):
		e.stopNews()
		e.newsAt = at

		e.newsTimer = time.AfterFunc(at.Sub(now), func() {
			p.mu.Lock()
			defer p.mu.Unlock()

			p.tell(e, n)
		})
	}
}

// stopNews stops the timer of news that were to be told later.
func (e *entry) stopNews() {
	if e.newsTimer != nil {
		e.newsTimer.Stop()
		e.newsTimer = nil
	}
}
