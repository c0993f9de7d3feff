package controller

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/provider/runs"
)

func TestWatchedUntil(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

	for name, tc := range map[string]struct {
		reason, value string
		want          bool
	}{
		"Watched": {"Somebody watches for another minute.", "2026-01-02T03:05:05Z", true},
		"Past":    {"Nobody watches any more.", "2026-01-02T03:04:05Z", false},
		"Never":   {"No annotation, no watch.", "", false},
		"ForEver": {"A time that is too far ahead is ignored.", "2026-01-02T03:09:06Z", false},
		"Longest": {"One that is not, is not.", "2026-01-02T03:09:05Z", true},
		"NoTime":  {"So is what is no time.", "true", false},
	} {
		t.Run(name, func(t *testing.T) {
			if _, got := watchedUntil(object(annotated(common.AnnotationWatch, tc.value)), now); got != tc.want {
				t.Errorf("\n%s\nwatchedUntil(%q): want %t, got %t", tc.reason, tc.value, tc.want, got)
			}
		})
	}
}

// TestLive saves what is new of watched runs, a few of each namespace at a time, until they are
// not watched any more.
func TestLive(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	outputs, text := &fakeOutputs{}, "PLAY\n"
	pool := &fakePool{report: &runs.Report{Run: common.Run{ID: "1", Phase: common.PhaseRunning}, Tail: func() string { return text }}}

	var woken []types.NamespacedName

	l := newLive(newConnector(pool, func(c *connector) {
		c.Outputs, c.recorder, c.now = outputs, &reasons{}, func() time.Time { return now }
		c.wake = func(n types.NamespacedName) { woken = append(woken, n) }
	}))

	for i := range maxLivePerNamespace + 1 {
		o := object()
		o.UID = types.UID(string(rune('a' + i)))
		l.watch(o, now.Add(time.Minute))
	}

	saves := []int{maxLivePerNamespace, 1, 0}
	for i, want := range saves {
		outputs.kept = nil
		now = now.Add(time.Second)

		if l.save(t.Context()); len(outputs.kept) != want {
			t.Errorf("%d: want %d outputs saved, got %d", i, want, len(outputs.kept))
		}
	}

	text += "ok\n"

	if l.save(t.Context()); len(outputs.kept) == 0 {
		t.Error("What is new should be saved.")
	}

	outputs.kept = nil
	pool.report.Run.Phase = common.PhaseSucceeded
	text += "more\n"

	if l.save(t.Context()); len(outputs.kept) != 0 {
		t.Error("The end of a run is for the reconciler to save.")
	}

	now = now.Add(time.Hour)
	l.save(t.Context())

	if diff := cmp.Diff(maxLivePerNamespace+1, len(woken)); diff != "" || len(l.watched) != 0 {
		t.Errorf("Objects that nobody watches should be woken, once, and forgotten: %d left\n%s", len(l.watched), diff)
	}
}

// slowOutputs are saved when the test says so.
type slowOutputs struct {
	fakeOutputs

	saving, saved chan struct{}
}

func (s *slowOutputs) Save(ctx context.Context, run common.AnsibleRun, kind schema.GroupVersionKind, r runs.Report) (*common.KeptOutput, error) {
	s.saving <- struct{}{}
	<-s.saved

	return s.fakeOutputs.Save(ctx, run, kind, r)
}

// TestLiveSlow saves the output of an object, which takes long. Another object does not wait for that, the end of the
// same object does, and nothing is saved after that.
func TestLiveSlow(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	outputs := &slowOutputs{saving: make(chan struct{}), saved: make(chan struct{})}
	p := &fakePool{report: &runs.Report{Run: common.Run{ID: "1", Phase: common.PhaseRunning}, Tail: func() string { return "PLAY" }}}
	l := newLive(newConnector(p, func(c *connector) {
		c.Outputs, c.recorder, c.now = outputs, &reasons{}, func() time.Time { return now }
	}))

	var all []*watched

	for _, uid := range []types.UID{"one", "other"} {
		o := object()
		o.UID = uid
		l.watch(o, now.Add(time.Minute))
		all = append(all, l.watched[uid])
	}

	ended := make(chan bool)

	go func() { ended <- l.saveOne(t.Context(), all[0]) }()

	<-outputs.saving
	l.hold("other", false)()

	held := make(chan struct{})

	go func() {
		l.hold("one", true)()
		close(held)
	}()

	select {
	case <-held:
		t.Error("What is saved should not be overtaken by its end.")
	default:
	}

	close(outputs.saved)
	<-held

	if !<-ended || len(outputs.kept) != 1 {
		t.Errorf("What is new should be saved: %v", outputs.kept)
	}

	if l.saveOne(t.Context(), all[0]) || len(outputs.kept) != 1 {
		t.Error("Nothing should be saved of an object that is not watched any more.")
	}
}
