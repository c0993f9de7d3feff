package lifecycle

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv2 "github.com/crossplane/crossplane/apis/v2/core/v2"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/apis/common/calendar"
)

// within sets a window that opens an hour after t0, at 04:04, for an hour.
func within(t *testing.T, changes common.ChangePolicy) option {
	t.Helper()

	c, errs := calendar.New(nil, &common.Window{Times: common.Times{Cron: "4 4 * * *"}, Duration: metav1.Duration{Duration: time.Hour}, Changes: changes})
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	return func(s *Situation) { s.Calendar = c }
}

func TestWindow(t *testing.T) {
	const wait, immediate = common.ChangesWait, common.ChangesImmediate

	opens := time.Date(2026, 1, 2, 4, 4, 0, 0, time.UTC)
	due := func(s *Situation) { s.Now, s.Poll = t0.Add(30*time.Minute), 10*time.Minute }
	open := func(s *Situation) { s.Now = opens }
	absent := func(s *Situation) { s.Deleted = true }
	failed := func(s *Situation) {
		lastFailed(common.StatePresent, digestA, 1, common.PhaseFailed)(s)
		s.Now = t0.Add(3 * time.Minute)
	}

	clean := func(digest string) option {
		return func(s *Situation) {
			s.Policy = common.CheckWhenObserve
			s.Recorded.LastRun = &common.Run{ID: "3", Mode: common.ModeCheck, State: common.StatePresent, Trigger: common.TriggerRequested, Phase: common.PhaseSucceeded, InputsDigest: digest, CompletionTime: at(0)}
		}
	}
	awaits := func(s *Situation) { s.Approvals.Required = true }
	agreed := func(asked common.RunTrigger) option {
		return func(s *Situation) {
			s.Recorded.Drift, s.Recorded.Approval = &common.Drift{Changed: 1}, &common.ApprovalObservation{State: common.ApprovalApproved}
			s.Recorded.LastRun = &common.Run{ID: "3", Mode: common.ModeCheck, State: common.StatePresent, Trigger: asked, Phase: common.PhaseSucceeded, InputsDigest: digestA, CompletionTime: at(0)}
		}
	}

	for name, tc := range map[string]struct {
		reason  string
		changes common.ChangePolicy
		os      []option
		starts  bool
		fails   bool
	}{
		"Created":          {reason: "A creation should wait.", changes: wait},
		"CreatedNow":       {reason: "With Immediate it should not wait.", changes: immediate, starts: true},
		"CreatedOpen":      {reason: "A run should begin in the window.", changes: wait, os: []option{open}, starts: true},
		"Changed":          {reason: "A change should wait.", changes: wait, os: []option{applied(digestB)}},
		"ChangedNow":       {reason: "With Immediate it should not wait.", changes: immediate, os: []option{applied(digestB)}, starts: true},
		"Periodic":         {reason: "A periodic run should wait.", changes: wait, os: []option{applied(digestA), due}},
		"PeriodicNow":      {reason: "A periodic run should wait also with Immediate.", changes: immediate, os: []option{applied(digestA), due}},
		"PeriodicOpen":     {reason: "A run should begin in the window.", changes: immediate, os: []option{applied(digestA), open}, starts: true},
		"Checked":          {reason: "A check should wait.", changes: wait, os: []option{applied(digestB), func(s *Situation) { s.Policy = common.CheckWhenObserve }}},
		"Requested":        {reason: "A requested run should not wait.", changes: wait, os: []option{applied(digestA), func(s *Situation) { s.Request = "now" }}, starts: true},
		"CreatedRequested": {reason: "A requested first run should not wait.", changes: wait, os: []option{func(s *Situation) { s.Request = "now" }}, starts: true},
		"DeletedAsked":     {reason: "A requested deletion should not wait.", changes: wait, os: []option{applied(digestA), absent, func(s *Situation) { s.Request = "now" }}, starts: true},
		"FollowsRequest": {reason: "An apply that follows from a requested check should not wait.", changes: wait, os: []option{applied(digestB), func(s *Situation) {
			s.Policy, s.Recorded.Drift = common.CheckWhenObserve, &common.Drift{Changed: 1}
			s.Recorded.LastRun = &common.Run{ID: "3", Mode: common.ModeCheck, State: common.StatePresent, Trigger: common.TriggerRequested, Phase: common.PhaseSucceeded, InputsDigest: digestA, CompletionTime: at(0)}
		}}, starts: true},
		"Predicted":        {reason: "The check of a change that needs an approval should not wait.", changes: wait, os: []option{applied(digestB), awaits}, starts: true},
		"PredictedDrift":   {reason: "A periodic check should wait.", changes: immediate, os: []option{applied(digestA), due, awaits}},
		"PredictedAbsent":  {reason: "The check of a deletion that needs an approval should not wait.", changes: wait, os: []option{applied(digestA), absent, awaits}, starts: true},
		"Approved":         {reason: "An approved apply should wait.", changes: wait, os: []option{applied(digestB), awaits, agreed(common.TriggerChanged)}},
		"ApprovedAsked":    {reason: "A request for a check should not start the approved apply.", changes: wait, os: []option{applied(digestB), awaits, agreed(common.TriggerRequested)}},
		"ApprovedNow":      {reason: "A request should start the approved apply.", changes: wait, os: []option{applied(digestB), awaits, agreed(common.TriggerChanged), func(s *Situation) { s.Request = "now" }}, starts: true},
		"ApprovedOpen":     {reason: "An approved apply should begin in the window.", changes: wait, os: []option{applied(digestB), awaits, agreed(common.TriggerChanged), open}, starts: true},
		"Looked":           {reason: "A preview should not wait.", changes: wait, os: []option{applied(digestA), func(s *Situation) { s.Request = askedCheck }}, starts: true},
		"Deleted":          {reason: "A deletion should wait.", changes: wait, os: []option{applied(digestA), absent}},
		"DeletedNow":       {reason: "With Immediate it should not wait.", changes: immediate, os: []option{applied(digestA), absent}, starts: true},
		"DeletedRequested": {reason: "A request for a failed deletion should not wait.", changes: wait, os: []option{absent, lastFailed(common.StateAbsent, "absent.3", 1, common.PhaseFailed), func(s *Situation) { s.Request = "now" }}, starts: true},
		"Retried":          {reason: "A retry should wait, and show the failure.", changes: wait, os: []option{failed}, fails: true},
		"RetriedAbsent":    {reason: "A deletion should wait, and not show the failure of an apply.", changes: wait, os: []option{absent, failed}},

		// A request for a check without predicted changes does not apply to later runs.
		"CleanUnpublished": {reason: "A run that publishes connection details should wait.", changes: wait, os: []option{applied(digestA), clean(digestA), func(s *Situation) { s.Unpublished = true }}},
		"CleanChanged":     {reason: "A change after a clean check should wait.", changes: wait, os: []option{applied(digestB), clean(digestB)}},
		"CleanPolicy":      {reason: "A change without a check should wait.", changes: wait, os: []option{applied(digestB), clean(digestB), policy(common.ObserveAndDelete)}},
		"FoundDeleted": {reason: "A request for a check with predicted changes does not apply to a deletion.", changes: wait, os: []option{applied(digestA), clean(digestA), absent, func(s *Situation) {
			s.Recorded.Drift = &common.Drift{Changed: 1}
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(append(tc.os, within(t, tc.changes))...)
			got := Decide(s)

			if (got.Start != nil) != tc.starts || got.Held == tc.starts || got.Held && !got.Until.Equal(opens) || (got.Failure != nil) != tc.fails {
				t.Errorf("%s\nDecide(...): got %+v", tc.reason, got)
			}

			if s.Deleted || s.Recorded.AppliedDigest == digestA || tc.fails {
				return
			}

			c := Ready(s, xpv2.Condition{})
			if waits := c.Reason == common.ReasonWaitingForWindow; waits == tc.starts {
				t.Errorf("%s\nReady(...): got %+v", tc.reason, c)
			}
		})
	}
}

// TestCloses has a run that still waits when its window closes, and then waits for the next window.
func TestCloses(t *testing.T) {
	opens := time.Date(2026, 1, 2, 4, 4, 0, 0, time.UTC)

	for name, tc := range map[string]struct {
		reason string
		now    time.Time
		os     []option
		starts bool
		until  time.Time
	}{
		"Open":      {"The next decision is at the end of the window.", opens, nil, true, opens.Add(time.Hour)},
		"Closed":    {"After the end of the window, the run waits for the next one.", opens.Add(time.Hour), nil, false, opens.AddDate(0, 0, 1)},
		"Requested": {"A requested run does not wait.", opens.Add(time.Hour), []option{func(s *Situation) { s.Request = "now" }}, true, time.Time{}},
		"Preview":   {"A preview does not wait.", opens.Add(time.Hour), []option{func(s *Situation) { s.Request, s.Recorded.Preview = askedCheck, &common.Preview{RunID: "2"} }}, true, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := given(append(tc.os, within(t, common.ChangesWait))...)
			s.Now, s.Active = tc.now, &Active{Queued: true}

			got := Decide(s)
			if (got.Start != nil) != tc.starts || !got.Until.Equal(tc.until) {
				t.Errorf("%s\nDecide(...): %+v", tc.reason, got)
			}
		})
	}
}

// TestSchedule has a schedule, which replaces the poll interval.
func TestSchedule(t *testing.T) {
	c, errs := calendar.New(&common.Times{Cron: "30 * * * *"}, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}

	due := time.Date(2026, 1, 2, 3, 30, 0, 0, time.UTC)

	for _, p := range []common.RunPolicy{common.ObserveAndDelete, common.CheckWhenObserve, common.RunOnChange} {
		s := given(applied(digestA), func(s *Situation) {
			s.Policy, s.Calendar, s.Now = p, c, due.Add(-time.Second)
			s.Recorded.LastRun = &common.Run{ID: "1", Phase: common.PhaseSucceeded, InputsDigest: digestA, CompletionTime: at(0)}
		})

		if got := Decide(s); got.Start != nil || !got.Until.Equal(due) {
			t.Errorf("%s: no run should start before its time: %+v", p, got)
		}

		s.Now = due.Add(24 * time.Hour)
		if got := Decide(s).Start; got == nil || got.Trigger != common.TriggerPoll {
			t.Errorf("%s: missed runs should be made up for once: %+v", p, got)
		}
	}

	// A run that the content has requested takes precedence.
	s := given(applied(digestA), func(s *Situation) { s.Calendar, s.Recorded.NextRunTime = c, at(2*time.Minute) })
	if got := Decide(s); !got.Until.Equal(t0.Add(2 * time.Minute)) {
		t.Errorf("The run should start at the time that the content has requested: %+v", got)
	}
}
