package lifecycle

import (
	"testing"
	"time"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
)

// A run that somebody has canceled is ended, and not tried again by itself.
func TestDecideCanceled(t *testing.T) {
	s := given(running(common.StatePresent), func(s *Situation) {
		s.Canceled, s.Recorded.LastRun = "2", &common.Run{ID: "2", Mode: common.ModeApply, Phase: common.PhaseRunning}
	})
	if !Decide(s).Cancel {
		t.Errorf("The run should be canceled.")
	}

	s.Canceled = "1"
	if Decide(s).Cancel {
		t.Errorf("Another run should go on.")
	}

	failed := lastFailed(common.StatePresent, digestA, 0, common.PhaseCanceled)
	canceled := func(s *Situation) { s.Canceled, s.Now = "2", t0.Add(9*s.Poll) }

	if got := Decide(given(failed, canceled)); got.Start != nil || !got.Exhausted || got.Failure == nil {
		t.Errorf("A canceled run should not be tried again, got %+v", got)
	}

	if got := Decide(given(failed, canceled, func(s *Situation) { s.Digest = digestB })).Start; got == nil {
		t.Errorf("Other inputs should be applied.")
	}

	if got := Decide(given(failed, canceled, func(s *Situation) { s.Request = "now" })).Start; got == nil {
		t.Errorf("A request should be answered.")
	}

	check := given(applied(digestB), canceled, func(s *Situation) {
		s.Policy, s.Now = common.CheckWhenObserve, t0.Add(time.Minute)
		s.Recorded.LastRun = &common.Run{ID: "2", Mode: common.ModeCheck, State: common.StatePresent, Phase: common.PhaseCanceled, InputsDigest: digestA, CompletionTime: at(0)}
	})
	if got := Decide(check); got.Start != nil || got.Until.IsZero() {
		t.Errorf("A canceled check should be made again when the next one is due, got %+v", got)
	}
}
