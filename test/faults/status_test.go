package main

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crossplane-ansible/crossplane-ansible/apis/common"
	"github.com/crossplane-ansible/crossplane-ansible/test/faults/ledger"
)

func TestForgotten(t *testing.T) {
	began := time.Date(2026, 1, 1, 12, 0, 0, 500, time.UTC)
	at := func(d time.Duration) *metav1.Time { return new(metav1.NewTime(began.Add(d).Truncate(time.Second))) }
	last := &ledger.Run{ID: "last", Mode: ledger.ModeApply, Began: began}

	cases := map[string]struct {
		reason string
		apply  *common.Apply
		last   *ledger.Run
		want   bool
	}{
		"NeverApplied": {
			reason: "An object whose applies never began has nothing to remember.",
			apply:  &common.Apply{ID: "other", Result: common.PhaseFailed, CompletionTime: at(0)},
		},
		"Known": {
			reason: "The status has the last apply.",
			apply:  &common.Apply{ID: "last", Result: common.PhaseFailed, CompletionTime: at(time.Minute)},
			last:   last,
		},
		"None": {
			reason: "The status has no apply at all.",
			last:   last,
			want:   true,
		},
		"LaterNotBegun": {
			reason: "A later apply is in progress, and its play has not begun.",
			apply:  &common.Apply{ID: "other"},
			last:   last,
		},
		"LaterWithoutContent": {
			reason: "A later apply did not get as far as its play.",
			apply:  &common.Apply{ID: "other", Result: common.PhaseTimedOut, CompletionTime: at(time.Minute)},
			last:   last,
		},
		"EarlierWithoutContent": {
			reason: "An apply that ended before the last one began is older than what must be known.",
			apply:  &common.Apply{ID: "other", Result: common.PhaseTimedOut, CompletionTime: at(-time.Minute)},
			last:   last,
			want:   true,
		},
		"LaterSucceeded": {
			reason: "An apply that succeeded must have begun.",
			apply:  &common.Apply{ID: "other", Result: common.PhaseSucceeded, CompletionTime: at(time.Minute)},
			last:   last,
			want:   true,
		},
		"EarlierInLedger": {
			reason: "The status has an apply that the ledger knows, and that is not the last.",
			apply:  &common.Apply{ID: "before", Result: common.PhaseFailed, CompletionTime: at(time.Minute)},
			last:   last,
			want:   true,
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			find := func(id string) *ledger.Run {
				if id == "before" || id == "last" {
					return &ledger.Run{ID: id}
				}

				return nil
			}

			if got := forgotten(tc.apply, tc.last, find); got != tc.want {
				t.Errorf("\n%s\nforgotten(...): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}
