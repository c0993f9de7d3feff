package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/pool"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// fakePool is a pool with one run, which the test controls.
type fakePool struct {
	// now is the clock; nil for t0. begins is called before each run begins; it may be nil.
	now    func() time.Time
	begins func(runs.Run)
	// job is the last run that has begun.
	job    runs.Run
	report *runs.Report
	queued bool
	turn   bool
	// free is true if a place is always free.
	free bool
	// lasts is true if a canceled run goes on for a while.
	lasts bool
	// start is the start time of the run since its turn has come.
	start metav1.Time
	// lacks is true if the content is not installed, and installing if the object waits
	// for it.
	lacks, installing bool

	// The recorded calls.
	wants               []pool.Want
	submitted, followed []runs.Run
	forgotten           []string
}

// clock returns the time of the pool.
func (p *fakePool) clock() time.Time {
	if p.now == nil {
		return t0
	}

	return p.now()
}

// Want gives the object a place if one is free, and begins the run in the status.
func (p *fakePool) Want(w pool.Want) (runs.Report, bool) {
	p.wants = append(p.wants, w)

	switch {
	case w.Gone:
		return runs.Report{}, false
	case p.report != nil && (w.End || !p.report.Waits):
		if w.End && !p.lasts {
			p.cancel()
		}

		return *p.report, true
	case w.Run == nil:
		p.queued, p.turn, p.installing = false, false, false

		if p.report != nil && (w.Shown == nil || w.Shown.ID != p.report.Run.ID) {
			p.report = nil
		}

		return runs.Report{}, false
	}

	r := w.Run.Report()
	r.Waits = true
	p.report = &r

	if p.installing = p.lacks; p.lacks {
		r.Run.Phase = common.PhaseInstalling
		p.queued, p.turn = false, false

		return r, false
	}

	if p.free && !p.turn {
		p.queued = true
		p.announce()
	}

	if p.queued = !p.turn; p.queued {
		return r, false
	}

	r.Run.StartTime, r.Run.Pod = p.start.DeepCopy(), w.Run.Pod()

	if !equality.Semantic.DeepEqual(w.Shown, &r.Run) {
		return r, false
	}

	p.job, p.turn, r.Waits = *w.Run, false, false
	p.submitted = append(p.submitted, p.job)
	shown := r

	if p.begins != nil {
		p.begins(p.job)
	}

	return shown, true
}

// Stopping returns false.
func (p *fakePool) Stopping() bool { return false }

// Report returns the report of the run.
func (p *fakePool) Report(types.UID) (runs.Report, bool) {
	if p.report == nil {
		return runs.Report{}, false
	}

	return *p.report, true
}

// Recorded forgets the run.
func (p *fakePool) Recorded(_ types.UID, id string) {
	if p.report != nil && p.report.Run.ID == id && p.ended() {
		p.report = nil
		p.forgotten = append(p.forgotten, id)
	}
}

// Follow follows a run of the predecessor. A run without a Pod has ended with the predecessor.
func (p *fakePool) Follow(r runs.Run, _ func(time.Duration)) {
	known := p.report != nil && (!p.report.Waits || p.report.Run.ID == r.ID)
	if p.followed = append(p.followed, r); known || r.Pod() != nil {
		return
	}

	p.queued, p.turn, p.installing = false, false, false
	report := r.Report()
	p.report = new(report.Interrupted(p.clock()))
}

// cancel cancels the run in any state.
func (p *fakePool) cancel() {
	switch {
	case p.report == nil || p.ended():
	case p.began(), p.report.Waits:
		p.queued, p.turn, p.installing = false, false, false
		p.end(common.PhaseCanceled)
	default:
		p.discard()
	}
}

func (p *fakePool) began() bool { return p.report != nil && p.report.Run.Phase == common.PhaseRunning }

func (p *fakePool) ended() bool { return p.report != nil && p.report.Run.Phase.Finished() }

// announce gives the object a place.
func (p *fakePool) announce() {
	if p.queued {
		p.queued, p.turn, p.start = false, true, metav1.NewTime(p.clock().Truncate(time.Second))
	}
}

// install installs the content.
func (p *fakePool) install() {
	p.lacks, p.installing = false, false
	p.queued = p.queued || p.report != nil && p.report.Waits
}

// begin begins the run in the status.
func (p *fakePool) begin() {
	if p.report != nil && !p.report.Waits && p.report.Run.Phase == common.PhaseQueued {
		p.report.Run.Phase = common.PhaseRunning
	}
}

func (p *fakePool) end(phase common.RunPhase) {
	now := metav1.NewTime(p.clock())
	p.report.Waits, p.report.Run.Phase, p.report.Run.CompletionTime = false, phase, &now

	if phase != common.PhaseSucceeded {
		p.report.Run.Message = "it ended as " + string(phase)
	}
}

func (p *fakePool) discard() {
	p.end(common.PhaseCanceled)
	p.report.Run.Reason = runs.ReasonNotStarted
}
