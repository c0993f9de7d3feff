package sealed

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

// every is the time between two reports, at least. A new phase, and the end, are reported at once.
const every = 500 * time.Millisecond

// A Reporter writes the reports of a run to the log of its Pod, and what a terminal would show.
type Reporter struct {
	w   *Writer
	log io.Writer

	mu sync.Mutex
	// next frame, which timer writes.
	next  Frame
	timer *time.Timer
	phase common.RunPhase
}

// NewReporter to a log, by a writer of the same log.
func NewReporter(w *Writer, log io.Writer) *Reporter { return &Reporter{w: w, log: log} }

// Progress reports what is known so far.
func (r *Reporter) Progress(report runs.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.next.Report = report

	switch {
	case report.Run.Phase != r.phase:
		r.phase = report.Run.Phase
		_ = r.flush() // The last report says all that is in one that cannot be written.
	case r.timer == nil:
		r.timer = time.AfterFunc(every, func() {
			r.mu.Lock()
			defer r.mu.Unlock()

			if r.timer != nil {
				_ = r.flush()
			}
		})
	}
}

// Display text in the log.
func (r *Reporter) Display(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	_, _ = io.WriteString(r.log, strings.TrimRight(text, "\n")+"\n")
}

// End with the last report.
func (r *Reporter) End(report runs.Report) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.next.Report, r.next.Final = report, true

	return r.flush()
}

// flush the next frame. The reporter is locked.
func (r *Reporter) flush() error {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}

	f := r.next
	r.next = Frame{}

	return r.w.Write(f)
}
