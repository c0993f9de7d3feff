package tree

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTimes reads from AnsibleRuns when they run next.
func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	night := time.Date(2026, 11, 25, 2, 0, 0, 0, time.UTC)

	const (
		window    = "window: {cron: '0 2 * * *', duration: 1h}"
		immediate = "window: {cron: '0 2 * * *', duration: 1h, changes: Immediate}"
		retries   = "lastApply: {id: a, result: Failed, attempts: 2, nextRetryTime: '2026-11-24T12:00:10Z'}"
		ended     = "lastRun: {id: a, phase: Succeeded, completionTime: '2026-11-24T11:00:00Z'}"
	)

	type times struct {
		Retry, Periodic Moment
		GaveUp          bool
	}

	cases := map[string]struct {
		reason                 string
		metadata, spec, status string
		want                   times
	}{
		"None":      {reason: "Nothing says when the provider looks again.", status: ended},
		"Retry":     {reason: "A retry has a time.", status: retries, want: times{Retry: Moment{At: now.Add(10 * time.Second)}}},
		"Check":     {reason: "So has a check of what is not applied.", status: "lastRun: {id: a, mode: Check, phase: Failed, completionTime: '2026-11-24T11:00:00Z'}, nextRunTime: '2026-11-24T12:00:10Z'", want: times{Retry: Moment{At: now.Add(10 * time.Second)}, Periodic: Moment{At: now.Add(10 * time.Second)}}},
		"Held":      {reason: "A retry waits for the window.", spec: window, status: retries, want: times{Retry: Moment{At: night, Window: true}}},
		"NotHeld":   {reason: "Unless only periodic runs do.", spec: immediate, status: retries, want: times{Retry: Moment{At: now.Add(10 * time.Second)}}},
		"Exhausted": {reason: "What was tried as often as it may be has no retry.", spec: "retryLimit: 2", status: retries, want: times{GaveUp: true}},
		"Canceled":  {reason: "Nor has what was canceled.", metadata: "annotations: {ansible.crossplane.io/cancel: a}", status: retries, want: times{GaveUp: true}},
		"Window":    {reason: "A periodic run waits for the window.", spec: immediate, status: ended, want: times{Periodic: Moment{At: night, Window: true}}},
		"Schedule":  {reason: "A schedule says when there is one.", spec: "schedule: {cron: '0 20 * * *'}", status: ended, want: times{Periodic: Moment{At: now.Add(8 * time.Hour)}}},
		"Both":      {reason: "What is due in between waits.", spec: "schedule: {cron: '0 20 * * *'}, " + window, status: ended, want: times{Periodic: Moment{At: night, Window: true}}},
		"Asked":     {reason: "Content may ask for its next run.", status: ended + ", nextRunTime: '2026-11-24T13:00:00Z'", want: times{Periodic: Moment{At: now.Add(time.Hour)}}},
		"OnChange":  {reason: "Without a schedule there may be no periodic runs.", metadata: "annotations: {ansible.crossplane.io/runPolicy: RunOnChange}", spec: window, status: ended},
		"Wrong":     {reason: "A calendar that the provider refuses says nothing.", spec: "window: {cron: 'never', duration: 1h}", status: ended},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			n := run(t, "a", tc.metadata, "forProvider: {"+tc.spec+"}", "atProvider: {"+tc.status+"}")

			if diff := cmp.Diff(tc.want, times{n.Retry(now), n.Periodic(now), n.GaveUp()}); diff != "" {
				t.Errorf("\n%s\nOf(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCanceled(t *testing.T) {
	const status = "atProvider: {lastRun: {id: a, phase: Canceled}}"

	cases := map[string]struct {
		reason, metadata string
		want             bool
	}{
		"Somebody": {reason: "The annotation names the run.", metadata: "annotations: {ansible.crossplane.io/cancel: a}", want: true},
		"Before":   {reason: "It may name an earlier one.", metadata: "annotations: {ansible.crossplane.io/cancel: b}"},
		"Provider": {reason: "Without it the provider has ended the run."},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := run(t, "a", tc.metadata, "", status).Canceled; got != tc.want {
				t.Errorf("\n%s\nCanceled: want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
