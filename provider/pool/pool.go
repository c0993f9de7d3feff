// Package pool carries out jobs, a bounded number at a time and never two of
// one object.
package pool

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/job"
)

// Errors of Submit.
var (
	// ErrBusy means that the pool still knows an earlier job of the object.
	ErrBusy = errors.New("an earlier run of this object has not been recorded yet")
	// ErrStopped means that the pool takes no more jobs.
	ErrStopped = errors.New("the provider is stopping")
	// ErrGone means that the object of a job is gone.
	ErrGone = errors.New("the object is gone")
)

// One in so many jobs is taken from those that can wait, so that they do not
// wait for ever.
const fairness = 4

// An Executor carries out one job. It tells the watch how it goes, and returns
// what is known at the end. It returns soon after its context is done, with
// nothing of the job left running.
type Executor interface {
	Execute(ctx context.Context, j job.Job, w job.Watch) job.Report
}

// An ExecutorFn is a function that carries out one job.
type ExecutorFn func(ctx context.Context, j job.Job, w job.Watch) job.Report

// Execute a job.
func (fn ExecutorFn) Execute(ctx context.Context, j job.Job, w job.Watch) job.Report {
	return fn(ctx, j, w)
}

// A Pool carries out jobs. It remembers the report of each until it is told to
// forget it.
type Pool struct {
	executor Executor
	limit    int
	now      func() time.Time

	mu      sync.Mutex
	stopped bool
	entries map[types.UID]*entry
	urgent  []*entry
	patient []*entry
	running int
	taken   int
	idle    chan struct{}
	// gone are the objects that went last.
	gone *lru.Cache
}

// An entry is a job that the pool knows.
type entry struct {
	job    job.Job
	report job.Report
	wake   func()
	cancel context.CancelFunc
	pace   pace
	// timer tells news that had to wait, when it rings.
	timer *time.Timer
	rings time.Time
	// abandoned by an object that is gone.
	abandoned bool
	// waited for its turn.
	waited bool
	// noted is closed by note once the job may begin.
	noted chan struct{}
	note  func()
}

// New returns a pool that carries out at most limit jobs at a time.
func New(limit int, e Executor) *Pool {
	idle := make(chan struct{})
	close(idle)

	return &Pool{executor: e, limit: limit, now: time.Now, entries: map[types.UID]*entry{}, idle: idle, gone: lru.New(1024)}
}

// Submit a job. It waits for its turn, urgent ones first. Wake is called
// whenever there is something new to report, and must not block.
func (p *Pool) Submit(j job.Job, wake func()) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.stopped {
		return ErrStopped
	}

	// A reconcile that began before may still want a run, which nobody would
	// ever forget.
	if _, gone := p.gone.Get(j.UID()); gone {
		return ErrGone
	}

	if _, known := p.entries[j.UID()]; known {
		return ErrBusy
	}

	j.Queued = p.now()
	e := &entry{job: j, report: job.NewReport(j), wake: wake, noted: make(chan struct{})}
	e.note = sync.OnceFunc(func() { close(e.noted) })
	p.entries[j.UID()] = e

	if j.Urgent() {
		p.urgent = append(p.urgent, e)
	} else {
		p.patient = append(p.patient, e)
	}

	p.dispatch()
	e.waited = e.cancel == nil

	return nil
}

// Report what is known of the job of an object.
func (p *Pool) Report(uid types.UID) (job.Report, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known {
		return job.Report{}, false
	}

	return e.report, true
}

// Forget the finished run of an object. It does nothing when the pool knows
// another run, or when the run has not finished.
func (p *Pool) Forget(uid types.UID, runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if known && e.report.Run.ID == runID && e.report.Run.Phase.Finished() {
		delete(p.entries, uid)
	}
}

// Cancel the job of an object. It is over only when its report says so.
func (p *Pool) Cancel(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known || e.report.Run.Phase.Finished() {
		return
	}

	if e.cancel != nil {
		e.cancel()
		return
	}

	p.unqueue(e)
	p.discard(e, "it was canceled before it began")
}

// Abandon the job of an object that is gone. It is canceled, and forgotten once
// it is over.
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
	if e.report.Run.Phase.Finished() {
		delete(p.entries, uid)
	}
}

// Withdraw the job of an object, unless it has begun. It is reported as one that
// was not started.
func (p *Pool) Withdraw(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if !known || e.cancel != nil || e.report.Run.Phase.Finished() {
		return
	}

	p.unqueue(e)
	p.discard(e, "something more urgent came up before it began")
}

// Stop taking jobs, discard those that have not begun, and wait for the rest.
// When the context is done the rest is canceled, and awaited still.
func (p *Pool) Stop(ctx context.Context) {
	idle := p.refuse()

	select {
	case <-idle:
		return
	case <-ctx.Done():
	}

	p.mu.Lock()
	for _, e := range p.entries {
		if e.cancel != nil {
			e.cancel()
		}
	}
	p.mu.Unlock()

	<-idle
}

// Stats of a pool at one moment.
type Stats struct {
	// Urgent and Patient jobs that wait for their turn.
	Urgent, Patient int
	// Running jobs, and how many may run at a time.
	Running, Limit int
}

// Stats of the pool.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()

	return Stats{Urgent: len(p.urgent), Patient: len(p.patient), Running: p.running, Limit: p.limit}
}

// Unrecorded is the number of jobs that are running, or whose reports were not
// forgotten yet.
func (p *Pool) Unrecorded() int {
	p.mu.Lock()
	defer p.mu.Unlock()

	return len(p.entries)
}

func (p *Pool) refuse() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.stopped = true

	for _, e := range append(p.urgent, p.patient...) {
		p.discard(e, "the provider was stopped before it began")
	}

	p.urgent, p.patient = nil, nil

	return p.idle
}

func (p *Pool) discard(e *entry, why string) {
	now := metav1.NewTime(p.now())
	e.report.Run.Phase = common.PhaseCanceled
	e.report.Run.Reason = job.ReasonNotStarted
	e.report.Run.Message = why
	e.report.Run.CompletionTime = &now
	e.job = job.Job{}
	e.wake()
}

func (p *Pool) unqueue(e *entry) {
	p.urgent = without(p.urgent, e)
	p.patient = without(p.patient, e)
}

func without(es []*entry, drop *entry) []*entry {
	kept := es[:0]

	for _, e := range es {
		if e != drop {
			kept = append(kept, e)
		}
	}

	return kept
}

// dispatch starts as many jobs as there are free places.
func (p *Pool) dispatch() {
	for p.running < p.limit {
		e := p.next()
		if e == nil {
			return
		}

		ctx, cancel := context.WithCancel(context.Background())
		e.cancel = cancel

		if p.running == 0 {
			p.idle = make(chan struct{})
		}

		p.running++
		p.announce(e)

		go p.carryOut(ctx, e, e.waited)
	}
}

// next takes the next job: an urgent one, but now and then one that can wait.
func (p *Pool) next() *entry {
	first, second := &p.urgent, &p.patient
	if p.taken%fairness == fairness-1 {
		first, second = second, first
	}

	for _, q := range []*[]*entry{first, second} {
		if len(*q) == 0 {
			continue
		}

		e := (*q)[0]
		*q = (*q)[1:]
		p.taken++

		return e
	}

	return nil
}

func (p *Pool) carryOut(ctx context.Context, e *entry, waited bool) {
	report := p.execute(ctx, e, waited)

	p.mu.Lock()
	defer p.mu.Unlock()

	e.cancel()
	e.quiet()
	e.report = report

	if e.abandoned {
		delete(p.entries, e.job.UID())
	}

	// The inputs hold secrets. They are not needed any more.
	e.job = job.Job{}

	e.wake()

	p.running--
	p.dispatch()

	if p.running == 0 {
		close(p.idle)
	}
}

func (p *Pool) execute(ctx context.Context, e *entry, waited bool) job.Report {
	if err := p.await(ctx, e, waited); err != nil {
		return p.notBegun(e, err)
	}

	return p.executor.Execute(ctx, e.job, job.Watch{Progress: func(r job.Report) { p.progress(e, r) }})
}

func (p *Pool) progress(e *entry, r job.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()

	n := newsOf(e.report, r)
	e.report = r

	p.tell(e, n)
}

// tell the news now, or when it is time.
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

		var t *time.Timer

		t = time.AfterFunc(at.Sub(now), func() {
			p.mu.Lock()
			defer p.mu.Unlock()

			// Something else may have been told meanwhile.
			if e.timer == t {
				p.tell(e, n)
			}
		})
		e.timer = t
	}
}

// quiet stops what was to be told later.
func (e *entry) quiet() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}
