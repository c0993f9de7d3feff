package fakenode

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/content"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runner"
)

// nothing is to be installed.
type nothing struct{}

func (nothing) Installed(content.Request) (string, bool) { return "", true }

func (nothing) Ensure(context.Context, content.Request) (content.Set, func(), error) {
	return content.Set{}, func() {}, nil
}

// Run one task as the script says.
func (s Script) Run(ctx context.Context, spec runner.Spec, w events.Watch) (runner.Result, error) {
	sum := events.Summary{Started: true, Play: "script", Task: "work", Tasks: 1}
	w.Progress(sum)
	changed, err := s.Work(ctx, spec)
	if ctx.Err() != nil {
		return runner.Result{Phase: common.PhaseCanceled, Reason: runner.ReasonCanceled, Summary: sum}, nil //nolint:nilerr // That is a result.
	}
	sum.Ran, sum.Finished, sum.Processed = 1, true, 1
	if err != nil {
		sum.Totals.Failed = 1
		sum.Failures = []common.Failure{{Task: sum.Task, Host: "localhost", Message: err.Error()}}
		return runner.Result{Phase: common.PhaseFailed, Reason: runner.ReasonTaskFailed, Message: err.Error(), Summary: sum}, nil //nolint:nilerr // So is that.
	}
	sum.Totals.OK = 1
	if changed {
		sum.Totals.Changed = 1
		sum.Changed = []common.DriftTask{{Task: sum.Task, Host: "localhost"}}
	}
	return runner.Result{Phase: common.PhaseSucceeded, Summary: sum}, nil
}

// A log of a container, which grows until it is closed.
type log struct {
	mu     sync.Mutex
	text   []byte
	closed bool
	// changed is closed, and made again, when there is more.
	changed chan struct{}
}

func newLog() *log { return &log{changed: make(chan struct{})} }

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.tell()
	return len(p), nil
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.tell()
}

func (l *log) tell() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// after is what the log has from a position on, whether that is all there will be, and when
// there is more.
func (l *log) after(n int) (text []byte, closed bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text[n:], l.closed, l.changed
}

// serveLog of a Pod as a kubelet does. It always follows the whole log: the reader knows what it has read before.
func (n *Nodes) serveLog(w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	c, ok := n.all[n.pods[types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}]]
	n.mu.Unlock()
	if !ok {
		http.Error(w, "there is no such Pod", http.StatusNotFound)
		return
	}
	flush := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/plain")
	for at := 0; ; {
		text, closed, more := c.after(at)
		if _, err := w.Write(text); err != nil || flush.Flush() != nil || closed {
			return
		}
		at += len(text)
		select {
		case <-more:
		case <-r.Context().Done():
			return
		}
	}
}
