package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCheck(t *testing.T) {
	type want struct {
		warns bool
		err   error
	}

	cases := map[string]struct {
		reason string
		mode   Mode
		abi    int
		// unfiltered is true where system calls cannot be filtered.
		unfiltered bool
		want       want
	}{
		"New":            {reason: "A kernel that can confine is all that is asked for.", mode: Required, abi: 7},
		"Floor":          {reason: "The oldest that can is good enough.", mode: Required, abi: Floor},
		"Old":            {reason: "One that cannot keep files from being emptied cannot confine.", mode: Required, abi: Floor - 1, want: want{err: cmpopts.AnyError}},
		"None":           {reason: "Nor can one without Landlock.", mode: Required, want: want{err: cmpopts.AnyError}},
		"Unfiltered":     {reason: "Nor can one that lets every system call pass.", mode: Required, abi: 7, unfiltered: true, want: want{err: cmpopts.AnyError}},
		"UnfilteredBest": {reason: "Who asks for the best effort is told that, too.", mode: BestEffort, abi: 7, unfiltered: true, want: want{warns: true}},
		"BestEffort":     {reason: "Who asks for the best effort is warned when it is not enough.", mode: BestEffort, abi: 1, want: want{warns: true}},
		"BestEffortNew":  {reason: "And is not when it is.", mode: BestEffort, abi: 7},
		"BestEffortNone": {reason: "Nothing at all is an effort, too.", mode: BestEffort, want: want{warns: true}},
		"Off":            {reason: "Who turns it off is told what that means.", mode: Off, abi: 7, want: want{warns: true}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			warning, err := tc.mode.Check(tc.abi, !tc.unfiltered)
			if diff := cmp.Diff(tc.want.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nCheck(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want.warns, warning != ""); diff != "" {
				t.Errorf("%s\nCheck(...): -want a warning, +got one:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDomain(t *testing.T) {
	policy := Policy{
		Mode: Required, System: []string{"/usr"}, Read: []string{"/mirror"}, Write: []string{"/shared"},
		State: "/state", ServiceAccount: []string{"/token"}, Limits: Limits{Memory: 1},
	}

	type want struct {
		domain Domain
		err    error
	}

	cases := map[string]struct {
		reason string
		mode   Mode
		grant  Grant
		want   want
	}{
		"Nothing": {
			reason: "A run may read the system and what it needs, and write its own directory.",
			want:   want{domain: Domain{Confined: true, Read: []string{"/usr", "/mirror", "/state/set"}, Write: []string{"/shared", "/state/run"}, Limits: Limits{Memory: 1}}},
		},
		"Grant": {
			reason: "A configuration adds to that.",
			grant:  Grant{Read: []string{"/r"}, Write: []string{"/w"}, ServiceAccount: true},
			want: want{domain: Domain{
				Confined: true, Read: []string{"/usr", "/mirror", "/r", "/state/set", "/token"}, Write: []string{"/shared", "/w", "/state/run"}, Limits: Limits{Memory: 1},
			}},
		},
		"Off": {
			reason: "What is not confined is limited all the same.",
			mode:   Off,
			want:   want{domain: Domain{Limits: Limits{Memory: 1}}},
		},
		"State":    {reason: "Nobody is granted other runs.", grant: Grant{Read: []string{"/state/runs"}}, want: want{err: cmpopts.AnyError}},
		"Above":    {reason: "Nor what is above them.", grant: Grant{Write: []string{"/"}}, want: want{err: cmpopts.AnyError}},
		"Relative": {reason: "What a relative path means depends on the provider.", grant: Grant{Read: []string{"state"}}, want: want{err: cmpopts.AnyError}},
		"Dots":     {reason: "Where dots lead is for nobody to find out.", grant: Grant{Read: []string{"/srv/../state"}}, want: want{err: cmpopts.AnyError}},
		"Beside": {
			reason: "A name that only starts alike is another directory.",
			grant:  Grant{Read: []string{"/state2"}},
			want: want{domain: Domain{
				Confined: true, Read: []string{"/usr", "/mirror", "/state2", "/state/set"}, Write: []string{"/shared", "/state/run"}, Limits: Limits{Memory: 1},
			}},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := policy
			if tc.mode != "" {
				p.Mode = tc.mode
			}

			got, err := p.Domain([]string{"/state/set"}, []string{"/state/run"}, tc.grant)
			if diff := cmp.Diff(tc.want.err, err, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("%s\nDomain(...): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want.domain, got); diff != "" {
				t.Errorf("%s\nDomain(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
