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
)

// turnLimit is how long a free place is kept for an object whose turn has come. An
// object that was paused or deleted meanwhile does not take it.
const turnLimit = 15 * time.Second

// maxGone is the number of deleted objects that are remembered.
const maxGone = 1024

// A Pool schedules jobs. Objects wait for a place, not jobs: the reconcile of an object
// that was given a place decides with the inputs of that moment whether it takes it. The
// pool remembers the report of each job until it is told to forget it.
type Pool struct {
	executor executor.Executor
	limit    int
	now      func() time.Time

	mu      sync.Mutex
	stopped bool
	entries map[types.UID]*entry
	queue   *queue
	// running counts the places that are taken, or kept for an object.
	running int
	// preparations in progress, by their keys.
	preparations map[string]*preparation
	// work is all jobs and preparations in progress.
	work sync.WaitGroup
	// gone has the uids of the objects that were deleted last.
	gone *lru.Cache
}

// An entry is an object that waits for a place, or whose job is carried out.
type entry struct {
	uid    types.UID
	tenant string
	class  executor.Class
	queued time.Time
	report executor.Report
	wake   func()

	// preparation for what the object waits for; nil when it needs nothing.
	preparation *preparation

	// turn rings when a place was kept for long enough; nil unless one is.
	turn *time.Timer

	// job, and what ends it; nil until it has taken its place.
	job    executor.Job
	cancel context.CancelFunc
	pace   pace
	// timer tells news that have to wait; it rings at rings.
	timer *time.Timer
	rings time.Time
	// abandoned is true for an object that was deleted.
	abandoned bool
	// noted is closed by note once the job may begin.
	noted chan struct{}
	note  func()
}

// New returns a pool that carries out at most limit jobs at a time, and at most
// limitPerTenant of one tenant. If there may be more than one, one of them is always
// urgent.
func New(limit, limitPerTenant int, x executor.Executor) *Pool {
	return &Pool{
		executor: x, limit: limit, now: time.Now, entries: map[types.UID]*entry{}, preparations: map[string]*preparation{},
		queue: newQueue(limitPerTenant), gone: lru.New(maxGone),
	}
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
		e = &entry{uid: j.UID(), tenant: j.Object.Tenant()}
		p.entries[j.UID()] = e
	case e.cancel != nil:
		return false
	default:
		j.ID = e.report.Run.ID
	}

	e.report, e.wake = executor.NewReport(j), wake

	if !p.prepared(e, needs) {
		e.report.Run.Phase = common.PhaseInstalling

		p.leave(e)
		p.dispatch(nil)

		return false
	}

	if e.turn != nil {
		return true
	}

	if e.class != j.Class() || !p.queue.has(e) {
		p.queue.drop(e)
		e.class, e.queued = j.Class(), p.now()
		p.queue.push(e)
	}

	p.dispatch(e)

	return e.turn != nil
}

// Submit a job to the place that was acquired for it. It returns false if that is not
// kept any more.
func (p *Pool) Submit(j executor.Job) bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[j.UID()]
	if !known || e.turn == nil {
		return false
	}

	e.turn.Stop()
	e.turn = nil

	j.ID, j.Queued = e.report.Run.ID, e.queued
	if e.preparation != nil {
		j.Missing = e.preparation.err
	}

	p.unprepare(e)

	e.job, e.report = j, executor.NewReport(j)
	e.noted = make(chan struct{})
	e.note = sync.OnceFunc(func() { close(e.noted) })

	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel

	p.announce(e)
	p.work.Go(func() { p.carryOut(ctx, e) })

	return true
}

// Report what is known of the job of an object.
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

	withdrawn := e.cancel == nil && e.turn == nil && e.preparation == nil && !p.queue.has(e)
	if withdrawn || e.report.Run.Phase.Finished() {
		delete(p.entries, uid)
	}
}

// Cancel the job of an object. It is over only when its report says so. An object that
// waits for a place is withdrawn.
func (p *Pool) Cancel(uid types.UID) {
	p.Withdraw(uid)

	p.mu.Lock()
	defer p.mu.Unlock()

	if e, known := p.entries[uid]; known && e.cancel != nil {
		e.cancel()
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
	if e.cancel == nil || e.report.Run.Phase.Finished() {
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

func (p *Pool) withdraw(e *entry) {
	p.unprepare(e)
	p.leave(e)
}

// leave the queue, or the place that is kept.
func (p *Pool) leave(e *entry) {
	p.queue.drop(e)

	if e.turn != nil {
		e.turn.Stop()
		e.turn = nil
		p.free(e)
	}
}

// Stop taking jobs, drop those that have not begun, and wait for the others. When the
// context is done the others are canceled, and waited for still. No object is woken for
// a job that was dropped: the next process submits it again.
func (p *Pool) Stop(ctx context.Context) {
	p.refuse()
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

// Stats of a pool at one moment.
type Stats struct {
	// Urgent jobs that wait for their turn, and Patient ones: retries and periodic
	// ones.
	Urgent, Patient int
	// Installing are those that wait for what they need.
	Installing int
	// Running jobs, and how many may run at a time.
	Running, Limit int
}

// Stats of the pool.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()

	w := p.queue.waiting
	s := Stats{Urgent: len(w[executor.Urgent]), Patient: len(w[executor.Retry]) + len(w[executor.Periodic]), Running: p.running, Limit: p.limit}

	for _, e := range p.entries {
		if e.preparation != nil && !e.preparation.done {
			s.Installing++
		}
	}

	return s
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

// refuse new jobs, and end those that have not begun.
func (p *Pool) refuse() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.stopped = true

	for _, e := range p.entries {
		switch {
		case e.cancel == nil:
			p.withdraw(e)
		case !e.isNoted():
			e.cancel()
		}
	}
}

// dispatch the free places, and wake those who are given one, except for who asks.
func (p *Pool) dispatch(asks *entry) {
	for p.running < p.limit && !p.stopped {
		e := p.queue.next(p.limit)
		if e == nil {
			return
		}

		p.running++
		p.keep(e)

		if e != asks {
			e.wake()
		}
	}
}

// keep a place for an object, for some time.
func (p *Pool) keep(e *entry) {
	var t *time.Timer

	t = time.AfterFunc(turnLimit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()

		// It may have had another turn meanwhile.
		if e.turn == t {
			p.withdraw(e)
			p.dispatch(nil)
		}
	})
	e.turn = t
}

// free the place of an object.
func (p *Pool) free(e *entry) {
	p.queue.free(e)
	p.running--
}

func (p *Pool) carryOut(ctx context.Context, e *entry) {
	report := p.execute(ctx, e)

	p.mu.Lock()
	defer p.mu.Unlock()

	e.cancel()
	e.quiet()
	e.report = report

	if e.abandoned {
		delete(p.entries, e.uid)
	}

	// The inputs hold secrets. They are not needed any more.
	e.job = executor.Job{}

	e.wake()

	p.free(e)
	p.dispatch(nil)
}

func (p *Pool) execute(ctx context.Context, e *entry) executor.Report {
	if err := p.await(ctx, e); err != nil {
		return p.notBegun(e, err)
	}

	return p.executor.Execute(ctx, e.job, executor.Watch{Progress: func(r executor.Report) { p.progress(e, r) }})
}

func (p *Pool) progress(e *entry, r executor.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := newsOf(e.report, r)
	e.report = r

	p.tell(e, n)
}

// tell the object its news now, or when the pace allows it.
func (p *Pool) tell(e *entry, n news) {
	now := p.now()
	at := e.pace.at(now, n)

	switch {
	case !now.Before(at):
		e.quiet()
		e.pace.told(now, n)
		e.wake()
	case e.timer == nil || at.Before(e.rings):
		e.quiet()
		e.rings = at

		e.timer = time.AfterFunc(at.Sub(now), func() {
			p.mu.Lock()
			defer p.mu.Unlock()

			p.tell(e, n)
		})
	}
}

// quiet stops news that were to be told later.
func (e *entry) quiet() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}
