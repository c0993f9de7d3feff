package pods

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/events"
	"github.com/crossplane-ansible/crossplane-ansible/provider/executor"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
)

// maxFlood is how much memory the logs of five hostile Pods may take, garbage included, in bytes.
const maxFlood = 256 << 20

// TestAttackFlood has five Pods write to their logs as much as they can, until each has used up what
// the provider reads of a log at once. It measures the memory that this takes.
func TestAttackFlood(t *testing.T) {
	const pods = 5

	running := common.Run{Phase: common.PhaseRunning}
	values := sealed.Frame{Report: executor.Report{Run: running, Content: &common.Content{Collections: make([]common.ContentItem, 100_000)}}}
	tasks := sealed.Frame{Report: executor.Report{Run: running}, Tasks: make([]events.TaskResult, 20_000)}
	long := sealed.Frame{Report: executor.Report{Run: running}}
	long.Report.Run.Message = strings.Repeat("x", sealed.MaxFrame-1000)

	cases := map[string]struct {
		reason string
		// text of the log, again and again, or else a frame that it has.
		text  string
		frame sealed.Frame
	}{
		"NoNewline": {reason: "A line may have no end.", text: strings.Repeat("x", 1<<20)},
		"NoFrames":  {reason: "A line may only begin as a report does.", text: "ansible.crossplane.io/report:" + strings.Repeat("A", 2*sealed.MaxLine) + "\n"},
		"Empty":     {reason: "A report may have nothing.", text: strings.Repeat("ansible.crossplane.io/report:\n", 1<<10)},
		"Text":      {reason: "A report may be as long as it can be, in very little room.", frame: long},
		"Values":    {reason: "A report may have as many values as it can.", frame: values},
		"Tasks":     {reason: "So may the tasks in it.", frame: tasks},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			key := sealed.NewKey()
			text := bytes.NewBufferString(tc.text)

			w, err := sealed.NewWriter(text, key, "id", "pod")
			if err != nil {
				t.Fatal(err)
			}

			for range 10 {
				if err := w.Write(tc.frame); tc.text == "" && err != nil {
					t.Fatal(err)
				}
			}

			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for r.Context().Err() == nil {
					_, _ = w.Write(text.Bytes())
				}
			}))
			defer s.Close()

			logs, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
			if err != nil {
				t.Fatal(err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			x := onCluster(t).Executor
			x.logs = logs

			paces := make([]*rate.Limiter, pods)
			for n := range paces {
				paces[n] = flood(ctx, t, x, key)
			}

			peak := uint64(0)

			for again := true; again; time.Sleep(time.Millisecond) {
				stats := runtime.MemStats{}
				runtime.ReadMemStats(&stats)
				peak = max(peak, stats.HeapAlloc)

				again = false
				for _, p := range paces {
					again = again || p.Tokens() > 0
				}
			}

			t.Logf("%s The logs of %d Pods took %d MiB.", tc.reason, pods, peak>>20)

			if peak > maxFlood {
				t.Errorf("That should be %d MiB at most.", maxFlood>>20)
			}
		})
	}
}

// flood reads a log, as a run does that follows it. It returns how much more may be read at once.
func flood(ctx context.Context, t *testing.T, x *Executor, key []byte) *rate.Limiter {
	t.Helper()

	reader, err := sealed.NewReader(key, "id", "pod")
	if err != nil {
		t.Fatal(err)
	}

	frames := make(chan sealed.Frame)
	l := podLog{Executor: x, reader: reader, pace: newPace(), namespace: "ns", pod: "p", frames: frames, shown: &shown{}}
	r := onCluster(t)

	go func() { _, _, _ = l.readOnce(ctx, nil) }()
	go func() {
		for {
			select {
			case f := <-frames:
				r.take(f)
			case <-ctx.Done():
				return
			}
		}
	}()

	return l.pace
}
