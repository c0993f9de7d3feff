package common

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

func TestParseRoles(t *testing.T) {
	raw := func(text string) AnsibleRunParameters {
		return AnsibleRunParameters{Roles: &apiextensionsv1.JSON{Raw: []byte(text)}}
	}

	type want struct {
		roles []Role
		err   string
	}

	cases := map[string]struct {
		reason string
		p      AnsibleRunParameters
		want   want
	}{
		"None": {
			reason: "Parameters without roles have none.",
			p:      AnsibleRunParameters{Playbook: "a.b.c"},
		},
		"Role": {
			reason: "A single role should be a list of one.",
			p:      AnsibleRunParameters{Role: "a.b.c"},
			want:   want{roles: []Role{{Name: "a.b.c"}}},
		},
		"Mixed": {
			reason: "Strings and objects may stand side by side, in order.",
			p:      raw(`["a.b.c", {"name": "web", "src": "git+file:///web", "version": "v1"}]`),
			want:   want{roles: []Role{{Name: "a.b.c"}, {Name: "web", Src: "git+file:///web", Version: "v1"}}},
		},
		"TooMany": {
			reason: "The number of roles should be limited.",
			p:      raw(`["a` + strings.Repeat(`","a`, 100) + `"]`),
			want:   want{err: "spec.forProvider.roles must have at most 100 items, not 101"},
		},
		"NotAList": {
			reason: "Anything but a list should be an error.",
			p:      raw(`{"name": "web"}`),
			want:   want{err: "spec.forProvider.roles must be a list"},
		},
		"Empty": {
			reason: "An empty list should be an error.",
			p:      raw(`[]`),
			want:   want{err: "spec.forProvider.roles must not be empty"},
		},
		"EmptyName": {
			reason: "An empty string should be an error that names the item.",
			p:      raw(`["a", ""]`),
			want:   want{err: "spec.forProvider.roles[1]: must not be empty"},
		},
		"NoName": {
			reason: "An object without a name should be an error.",
			p:      raw(`[{"src": "x"}]`),
			want:   want{err: "spec.forProvider.roles[0]: must have a name"},
		},
		"UnknownField": {
			reason: "An unknown field should be an error, since it would be ignored.",
			p:      raw(`[{"name": "x", "vesion": "1"}]`),
			want:   want{err: `spec.forProvider.roles[0]: must be a string or an object {name, src, version}: json: unknown field "vesion"`},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.p.ParseRoles()
			if diff := cmp.Diff(tc.want.err, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nParseRoles(): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want.roles, got); diff != "" {
				t.Errorf("\n%s\nParseRoles(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseVars(t *testing.T) {
	type want struct {
		vars map[string]string
		err  string
	}

	cases := map[string]struct {
		reason string
		raw    string
		want   want
	}{
		"Map": {
			reason: "A map should be read with numbers as written.",
			raw:    `{"A": "x", "B": 12345678901234567890, "C": true, "D": null}`,
			want:   want{vars: map[string]string{"A": "x", "B": "12345678901234567890", "C": "true", "D": ""}},
		},
		"List": {
			reason: "A list of keys and values means the same.",
			raw:    `[{"key": "A", "value": "x"}, {"key": "B", "value": "1"}]`,
			want:   want{vars: map[string]string{"A": "x", "B": "1"}},
		},
		"Nested": {
			reason: "A value that an environment cannot hold should be an error.",
			raw:    `{"A": {"b": 1}}`,
			want:   want{err: `spec.vars: the value of "A" must be a string, a number or a boolean`},
		},
		"NoKey": {
			reason: "An item without a key should be an error.",
			raw:    `[{"value": "x"}]`,
			want:   want{err: "spec.vars[0] must have a key"},
		},
		"Neither": {
			reason: "Anything else should be an error.",
			raw:    `"A=x"`,
			want:   want{err: "spec.vars must be a map of names to values, or a list of {key, value}"},
		},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := (&ProviderConfigSpec{Vars: &apiextensionsv1.JSON{Raw: []byte(tc.raw)}}).ParseVars()
			if diff := cmp.Diff(tc.want.err, needs.Message(err)); diff != "" {
				t.Errorf("\n%s\nParseVars(): -want error, +got error:\n%s", tc.reason, diff)
			}

			if diff := cmp.Diff(tc.want.vars, got); diff != "" {
				t.Errorf("\n%s\nParseVars(): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
