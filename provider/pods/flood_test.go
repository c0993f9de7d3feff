package pods

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// maxFlood is the largest memory for the logs of five hostile Pods, including garbage, in bytes.
const maxFlood = 256 << 20

// TestLongAttackFlood has five Pods that write as much as possible into their logs, until each has used up the burst
// of a log. It measures the memory that this needs.
func TestLongAttackFlood(t *testing.T) {
	const pods = 5

	values := runs.Report{Content: &common.Content{Collections: make([]common.ContentItem, 100_000)}}
	long := runs.Report{}
	long.Run.Message = strings.Repeat("x", sealed.MaxFrame-1000)

	for name, tc := range map[string]struct {
		reason string
		// text is repeated in the log; if it is empty, report is.
		text   string
		report runs.Report
	}{
		"NoNewline": {reason: "A line may be endless.", text: strings.Repeat("x", 1<<20)},
		"NoFrames":  {reason: "A line may only begin like a report.", text: "ansible.crossplane.io/report:" + strings.Repeat("A", 2*sealed.MaxLine) + "\n"},
		"Empty":     {reason: "A report may be empty.", text: strings.Repeat("ansible.crossplane.io/report:\n", 1<<10)},
		"Text":      {reason: "A small line may unpack to the longest report.", report: long},
		"Values":    {reason: "A report may have as many values as possible.", report: values},
	} {
		t.Run(name, func(t *testing.T) {
			key := sealed.NewKey()
			text := bytes.NewBufferString(tc.text)

			w, err := sealed.NewWriter(text, key, "id", "pod")
			needs.OK(t, err)

			for n := range 10 {
				tc.report.Run.Phase = []common.RunPhase{common.PhaseInstalling, common.PhaseRunning}[n%2]
				if err := w.Report(tc.report); tc.text == "" && err != nil {
					t.Fatal(err)
				}
			}

			c := newCluster(t)
			c.log, c.endless = text.String(), true
			ends := make([]<-chan struct{}, pods)
			for n := range ends {
				ends[n] = flood(t, c.x, key)
			}

			peak := uint64(0)
			tick := time.NewTicker(time.Millisecond)

			for n := 0; n < pods; {
				select {
				case <-ends[n]:
					n++
				case <-tick.C:
					stats := runtime.MemStats{}
					runtime.ReadMemStats(&stats)
					peak = max(peak, stats.HeapAlloc)
				}
			}

			t.Logf("%s The logs of %d Pods took %d MiB.", tc.reason, pods, peak>>20)

			if peak > maxFlood {
				t.Errorf("The memory should be %d MiB at most.", maxFlood>>20)
			}
		})
	}
}

// repeated is a reader of a text that is repeated endlessly.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)

	return n, nil
}

// flood reads the burst of a log like a run that follows it. The channel is closed at the end.
func flood(t *testing.T, x *Backend, key []byte) <-chan struct{} {
	t.Helper()

	// The rate is 0: with a positive rate, a slow machine might never end. A wait for more than the burst fails at once
	// because of the deadline of the context.
	pace := rate.NewLimiter(0, logBurst)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)

	reader, err := sealed.NewReader(key, "id", "pod")
	needs.OK(t, err)

	r := onCluster(t)
	r.Backend, r.log.reader, r.log.pace = x, reader, pace
	end := make(chan struct{})

	go func() {
		defer close(end)

		if err := r.readOnce(ctx); ctx.Err() == nil && !strings.Contains(err.Error(), "would exceed context deadline") {
			t.Errorf("readOnce(...): %v", err)
		}
	}()
	go func() {
		for {
			select {
			case got := <-r.reports:
				r.take(got)
			case <-ctx.Done():
				return
			}
		}
	}()

	return end
}
