package main

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/crossplane-ansible/crossplane-ansible/provider/galaxy"
	test "github.com/crossplane-ansible/crossplane-ansible/test/needs"
)

// A bug report has to name the versions.
func TestVersions(t *testing.T) {
	absent := func(context.Context, galaxy.Program) error { return errors.New("not found") }

	for name, tc := range map[string]struct {
		reason string
		run    galaxy.Command
		want   string
	}{
		"Real": {
			reason: "The tools are asked for theirs.",
			run:    galaxy.Exec,
			want:   `^provider-ansible dev\ncommit unknown\ngo1\.\S+\nansible-core 2\.\d+\.\d+\nansible-runner 2\.\d+\.\d+$`,
		},
		"Absent": {
			reason: "Where there are no tools, the rest is said still.",
			run:    absent,
			want:   `^provider-ansible dev\ncommit unknown\ngo1\.\S+\nansible-core not found\nansible-runner not found$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "Real" {
				test.Ansible(t)
			}

			if got := versions(t.Context(), tc.run); !regexp.MustCompile(tc.want).MatchString(got) {
				t.Errorf("\n%s\nversions(…) = %q, want a match of %s", tc.reason, got, tc.want)
			}
		})
	}
}
