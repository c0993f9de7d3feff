package pods

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
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
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
	"github.com/crossplane-ansible/crossplane-ansible/provider/sealed"
	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// maxFlood is how much memory the logs of five hostile Pods may take, garbage included, in bytes.
const maxFlood = 256 << 20

// maxHeld is how much memory the reports of eight of them may take until their runs take them.
const maxHeld = 32 << 20

// TestLongAttackFlood has five Pods write to their logs as much as they can, until each has used up what
// the provider reads of a log at once. It measures the memory that this takes.
func TestLongAttackFlood(t *testing.T) {
	const pods = 5

	running := common.Run{Phase: common.PhaseRunning}
	values := sealed.Frame{Report: runs.Report{Run: running, Content: &common.Content{Collections: make([]common.ContentItem, 100_000)}}}
	long := sealed.Frame{Report: runs.Report{Run: running}}
	long.Report.Run.Message = strings.Repeat("x", sealed.MaxFrame-1000)

	for name, tc := range map[string]struct {
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
	} {
		t.Run(name, func(t *testing.T) {
			key := sealed.NewKey()
			text := bytes.NewBufferString(tc.text)

			w, err := sealed.NewWriter(text, key, "id", "pod")
			needs.OK(t, err)

			for range 10 {
				if err := w.Write(tc.frame); tc.text == "" && err != nil {
					t.Fatal(err)
				}
			}

			x := onLogs(t, text.Bytes())
			ends := make([]<-chan struct{}, pods)
			for n := range ends {
				ends[n] = flood(t, x, key)
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
				t.Errorf("That should be %d MiB at most.", maxFlood>>20)
			}
		})
	}
}

// TestLongAttackHeld has twenty Pods write reports that take little room in the log and much in memory. It
// measures what is kept of them until their runs take them.
func TestLongAttackHeld(t *testing.T) {
	const pods, values = 8, 130_000

	many := func(item string) string { return "[" + item + strings.Repeat(","+item, values) + "]" }

	for name, tc := range map[string]struct {
		reason string
		// text of a report after its number.
		text string
	}{
		"Tasks":    {"Tasks may be empty.", `"report":{"Run":{"phase":"Running"}},"tasks":` + many("{}")},
		"Outcomes": {"They may have nothing but what is counted.", `"report":{"Run":{"phase":"Running"}},"tasks":` + many(`{"Outcome":"ok"}`)},
		"Before":   {"What the provider knows itself is not kept.", `"report":{"Run":{"phase":"Running"},"Before":{"failures":` + many("{}") + "}}"},
		"Refused":  {"A report that is refused may be as large.", `"report":{"Run":{"phase":"Running"},"Content":{"collections":` + many("{}") + "}}"},
	} {
		t.Run(name, func(t *testing.T) {
			key := sealed.NewKey()
			line := sealedLine(t, key, `{"number":1,`+tc.text+"}")
			held := make([]sealed.Frame, pods)

			for n := range held {
				reader, err := sealed.NewReader(key, "id", "pod")
				needs.OK(t, err)

				l := &podLog{Backend: onCluster(t).Backend, reader: reader}
				if held[n], _, err = l.unpack(t.Context(), []byte(line)); err != nil || reader.Number == 0 {
					t.Fatalf("unpack(...): want it read, got %v", err)
				}
			}

			runtime.GC()

			stats := runtime.MemStats{}
			runtime.ReadMemStats(&stats)
			t.Logf("%s The logs of %d Pods hold %d MiB.", tc.reason, pods, stats.HeapAlloc>>20)

			if stats.HeapAlloc > maxHeld {
				t.Errorf("That should be %d MiB at most.", maxHeld>>20)
			}

			runtime.KeepAlive(held)
		})
	}
}

// sealedLine is the line of a log with a report, as an image writes it that has the key of its run.
func sealedLine(t *testing.T, key []byte, text string) string {
	t.Helper()

	packed := &bytes.Buffer{}

	z, err := flate.NewWriter(packed, flate.BestSpeed)
	needs.OK(t, err)

	_, _ = z.Write([]byte(text))
	_ = z.Close()

	block, err := aes.NewCipher(key)
	needs.OK(t, err)

	aead, err := cipher.NewGCMWithRandomNonce(block)
	needs.OK(t, err)

	return "ansible.crossplane.io/report:" + base64.StdEncoding.EncodeToString(aead.Seal(nil, nil, packed.Bytes(), []byte("id\x00pod"))) + "\n"
}

// onLogs returns an executor on a cluster where the log of each Pod is a text, again and again.
func onLogs(t *testing.T, text []byte) *Backend {
	t.Helper()

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write(text)
		}
	}))
	t.Cleanup(s.Close)

	logs, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL})
	needs.OK(t, err)

	x := onCluster(t).Backend
	x.logs = logs

	return x
}

// flood reads as much of a log at once as a run does that follows it. What it returns is closed at the end.
func flood(t *testing.T, x *Backend, key []byte) <-chan struct{} {
	t.Helper()

	// The rate is 0: with another one, a slow machine would never be done. A wait for more than the burst fails at once
	// because of the deadline of the context.
	pace := rate.NewLimiter(0, logBurst)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	t.Cleanup(cancel)

	reader, err := sealed.NewReader(key, "id", "pod")
	needs.OK(t, err)

	frames := make(chan sealed.Frame)
	l := &podLog{Backend: x, reader: reader, pace: pace, namespace: "ns", pod: "p", frames: frames, shown: &shown{}}
	r := onCluster(t)
	end := make(chan struct{})

	go func() {
		defer close(end)

		if err := l.readOnce(ctx); ctx.Err() == nil && !strings.Contains(err.Error(), "would exceed context deadline") {
			t.Errorf("readOnce(...): %v", err)
		}
	}()
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

	return end
}
