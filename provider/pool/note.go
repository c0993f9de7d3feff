package pool

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane/crossplane-runtime/v2/pkg/errors"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
)

// How long a job waits to be noted, and how often its object is woken meanwhile.
const (
	noteLimit = time.Minute
	noteAgain = 2 * time.Second
)

// errNotNoted means that nothing could be written for as long as a job may wait.
var errNotNoted = errors.New("the API server took no note of it for " + noteLimit.String())

// Noted says that a run of an object is on record as one that is about to begin.
// Only then does a job begin that may change something: were this process killed
// in the middle of one that is not, nobody would ever know of it.
func (p *Pool) Noted(uid types.UID, runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if known && e.note != nil && e.report.Run.ID == runID {
		e.note()
	}
}

// announce that a job is about to begin. The pool is locked.
func (p *Pool) announce(e *entry) {
	now := metav1.NewTime(p.now().Truncate(time.Second))
	e.report.Run.StartTime = &now
	e.pace = pace{last: p.now(), pause: firstPause}

	if e.job.Mode != common.ModeApply {
		e.note()
	}
}

// await that a job was noted. Who submits it does so; if that fails its object is
// woken.
func (p *Pool) await(ctx context.Context, e *entry) error {
	again := time.NewTimer(noteAgain)
	defer again.Stop()

	limit := time.NewTimer(noteLimit)
	defer limit.Stop()

	for {
		select {
		case <-e.noted:
			return canceled(ctx)
		case <-ctx.Done():
			return canceled(ctx)
		case <-limit.C:
			return errNotNoted
		case <-again.C:
			e.wake()
			again.Reset(noteAgain)
		}
	}
}

// canceled is an error when a job was canceled, also in the moment when it was noted.
func canceled(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.New("it was canceled before it began")
	}

	return nil
}

func (e *entry) isNoted() bool {
	select {
	case <-e.noted:
		return true
	default:
		return false
	}
}

// notBegun is the report on a job that was about to begin.
func (p *Pool) notBegun(e *entry, why error) executor.Report {
	p.mu.Lock()
	defer p.mu.Unlock()

	now := metav1.NewTime(p.now().Truncate(time.Second))
	r := e.report
	r.Run.Phase = common.PhaseCanceled
	r.Run.Reason = executor.ReasonNotStarted
	r.Run.Message = why.Error()
	r.Run.CompletionTime = &now

	return r
}
