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

// A job waits for Noted for noteLimit at most. Its object is woken every noteAgain.
const (
	noteLimit = time.Minute
	noteAgain = 2 * time.Second
)

// Reasons why a job does not begin.
var (
	errCanceled = errors.New("it was canceled before it began")
	errNotNoted = errors.New("the API server took no note of it for " + noteLimit.String())
)

// Noted says that the status of an object shows the run that is about to begin. A job that may
// change something, or that outlives the provider, begins only then: a run that no status shows
// would be unknown to the next process if this one were killed.
func (p *Pool) Noted(uid types.UID, runID string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	e, known := p.entries[uid]
	if known && e.note != nil && e.report.Run.ID == runID {
		e.shown = true
		e.note()
	}
}

// announce reports that a job is about to begin. A check run need not wait for Noted if it ends with
// the provider. The pool is locked.
func (p *Pool) announce(e *entry) {
	now := metav1.NewTime(p.now().Truncate(time.Second))
	e.report.Run.StartTime, e.report.Run.Pod = &now, e.job.Reference()
	e.pace = pace{last: p.now(), pause: firstPause}

	if e.job.Mode != common.ModeApply && e.job.Place() != common.PlacePod {
		e.note()
	}
}

// awaitNoted waits until a job was noted. The reconcile that has submitted the job writes its
// status. If that fails the object is woken again and again.
func (p *Pool) awaitNoted(ctx context.Context, e *entry) error {
	ctx, cancel := context.WithTimeoutCause(ctx, noteLimit, errNotNoted)
	defer cancel()

	again := time.NewTicker(noteAgain)
	defer again.Stop()

	for {
		select {
		case <-again.C:
			e.wake()
			continue
		case <-e.noted:
		case <-ctx.Done():
		}

		// The job may have been canceled in the moment when it was noted.
		if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
			return err
		}

		return errCanceled
	}
}

func (e *entry) isNoted() bool {
	select {
	case <-e.noted:
		return true
	default:
		return false
	}
}

// notBegun returns the report on a job that was about to begin, and did not.
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
