package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSecrets(t *testing.T) {
	p := Policy{State: "/state", ServiceAccount: []string{"/run/token"}}
	if diff := cmp.Diff([]string{"/run/token", "/state"}, p.secrets()); diff != "" {
		t.Errorf("secrets(): -want, +got:\n%s", diff)
	}

	p.Read = []string{"/run"}
	if diff := cmp.Diff([]string{"/state"}, p.secrets()); diff != "" {
		t.Errorf("A token that a flag allows to all runs should be no secret: -want, +got:\n%s", diff)
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

	for name, tc := range map[string]struct {
		reason string
		mode   Mode
		grant  Grant
		want   want
	}{
		"Nothing": {
			reason: "A run may read the system and its files, and write its own directory.",
			want:   want{domain: Domain{Confined: true, Read: []string{"/usr", "/mirror", "/state/set"}, Write: []string{"/shared", "/state/run"}, Limits: Limits{Memory: 1}}},
		},
		"Grant": {
			reason: "A grant adds paths.",
			grant:  Grant{Read: []string{"/r"}, Write: []string{"/w"}, ServiceAccount: true},
			want: want{domain: Domain{
				Confined: true, Read: []string{"/usr", "/mirror", "/r", "/state/set", "/token"}, Write: []string{"/shared", "/w", "/state/run"}, Limits: Limits{Memory: 1},
			}},
		},
		"Off": {
			reason: "Without confinement the limits remain.",
			mode:   Off,
			want:   want{domain: Domain{Limits: Limits{Memory: 1}}},
		},
		"State":    {reason: "A path in the state directory is refused.", grant: Grant{Read: []string{"/state/runs"}}, want: want{err: cmpopts.AnyError}},
		"Above":    {reason: "A path above the state directory is refused.", grant: Grant{Write: []string{"/"}}, want: want{err: cmpopts.AnyError}},
		"Relative": {reason: "A relative path is refused.", grant: Grant{Read: []string{"state"}}, want: want{err: cmpopts.AnyError}},
		"Dots":     {reason: "A path with dots is refused.", grant: Grant{Read: []string{"/srv/../state"}}, want: want{err: cmpopts.AnyError}},
		"Beside": {
			reason: "A path that starts with the name of the state directory is allowed.",
			grant:  Grant{Read: []string{"/state2"}},
			want: want{domain: Domain{
				Confined: true, Read: []string{"/usr", "/mirror", "/state2", "/state/set"}, Write: []string{"/shared", "/state/run"}, Limits: Limits{Memory: 1},
			}},
		},
	} {
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
